//! Settings that ask for different values and come to the same: they are not compared with one another.
use powerband_experiment::{Fatal, Past, Plan, WorldBench, resolve, run};
use powerband_record::{Event, Finding};
use powerband_sim::{Profile, SimWorld};

use crate::count;
use crate::resumed::{Full, gone_on};

/// The CPUs of `sim:quadcore` run at 1600, 1867, 2133 or 2400 MHz: a frequency between two of them becomes the upper one.
fn plan(settings: &str) -> Plan {
    let reference = settings.trim_start_matches('"').split([':', '"']).next().unwrap();
    let text = format!(
        "machine = \"sim:quadcore\"\nwith = \"governor=userspace\"\nsettings = [{settings}]\nreference = \"{reference}\"\nmetrics = [\"power_w\"]\nblocks = 4\nwarmup = 2\ncpus = \"0\"
         [load]\nkind = \"counter\"\nfor = \"200ms\"\n"
    );
    Plan::parse("p", &text).unwrap()
}

fn world() -> SimWorld {
    SimWorld::new(Profile::builtin("quadcore").unwrap(), None, 1).unwrap()
}

fn measured(settings: &str) -> (Result<Finding, Fatal>, Vec<Event>) {
    let begun = resolve(&plan(settings), &mut world()).unwrap();
    let (mut machines, mut journal) = (world(), Vec::new());
    let found = run(&begun.started, &mut WorldBench::new(&mut machines, &begun), &mut journal);
    (found, journal)
}

/// The settings that were left out before the first trial, with why.
fn left(journal: &[Event]) -> Vec<(u32, &str)> {
    let left = journal.iter().filter_map(|event| match event {
        Event::SettingLeft { setting, block: 0, why } => Some((*setting, why.as_str())),
        _ => None,
    });
    left.collect()
}

#[test]
fn where_all_became_the_same_there_is_nothing_to_compare() {
    let (found, journal) = measured("\"one: freq=2200MHz\", \"other: freq=2300MHz\"");
    let why = found.unwrap_err().to_string();
    assert_eq!(why, "nothing to compare: both became 2400 MHz (cpufreq.freq at policy0)");
    assert_eq!(count(&journal, |event| matches!(event, Event::TrialStarted(_))), 0);
}

#[test]
fn what_became_another_has_no_trials() {
    let settings = "\"low: freq=1600MHz\", \"high: freq=2200MHz\", \"higher: freq=2300MHz\"";
    let (found, journal) = measured(settings);
    let finding = found.unwrap();
    let why = "equal to high: both became 2400 MHz (cpufreq.freq at policy0)";
    let [(higher, told)] = left(&journal)[..] else { panic!("{journal:?}") };
    assert_eq!(told, why);
    let of_higher = |event: &Event| matches!(event, Event::TrialStarted(trial) if trial.setting == higher);
    assert_eq!(count(&journal, of_higher), 0);
    assert!(finding.verdicts.iter().all(|verdict| verdict.setting != higher));
    assert!(finding.blocks > 0 && !finding.verdicts.is_empty(), "{finding:?}");
}

#[test]
fn a_setting_may_be_compared_with_itself() {
    let (found, journal) = measured("\"one: freq=2000MHz\", \"other: freq=2000MHz\"");
    assert_eq!((found.unwrap().blocks > 0, left(&journal)), (true, Vec::new()));
}

#[test]
fn what_was_left_out_is_left_out_when_it_goes_on() {
    let settings = "\"low: freq=1600MHz\", \"high: freq=2200MHz\", \"higher: freq=2300MHz\"";
    let (_, whole) = measured(settings);
    let begun = resolve(&plan(settings), &mut world()).unwrap();
    for past in [Past::Computed, Past::Recalled] {
        for end in (1..whole.len()).step_by(7) {
            let mut cut = Full(Vec::new(), end);
            let mut machines = world();
            let stopped = run(&begun.started, &mut WorldBench::new(&mut machines, &begun), &mut cut);
            assert!(matches!(stopped, Err(Fatal::Journal(_))), "{stopped:?}");
            let mut machines = world();
            let mut bench = WorldBench::new(&mut machines, &begun);
            let all = gone_on(&begun.started, &cut.0, past, &mut bench).unwrap();
            assert_eq!(left(&all), left(&whole), "{past:?} after {end}");
            if past == Past::Computed {
                assert_eq!(all, whole, "after {end}");
            }
        }
    }
}
