//! A machine that is suspended in the middle of an experiment: its trial does not count and is repeated.
use powerband_experiment::{Plan, WorldBench, resolve, run};
use powerband_record::{Event, Finding, Void};
use powerband_sim::{Profile, SimWorld};

use crate::{SECOND, count};

const PLAN: &str = r#"
    machine = "sim:quadcore"
    settings = ["slow: governor=powersave", "quick: governor=performance"]
    metrics = ["power_w"]
    blocks = 4
    warmup = 2
    cpus = "0"
    [load]
    kind = "counter"
    for = "200ms"
"#;

/// The experiment on a machine that is suspended at these times, each for so long, ns.
fn measured(suspensions: &[(u64, u64)]) -> (Finding, Vec<Event>) {
    let world = || SimWorld::new(Profile::builtin("quadcore").unwrap(), None, 1).unwrap();
    let begun = resolve(&Plan::parse("p", PLAN).unwrap(), &mut world()).unwrap();
    let (mut machines, mut journal) = (world(), Vec::new());
    suspensions.iter().for_each(|&(at_ns, for_ns)| machines.suspend(at_ns, for_ns));
    let found = run(&begun.started, &mut WorldBench::new(&mut machines, &begun), &mut journal).unwrap();
    (found, journal)
}

#[test]
fn a_trial_over_a_suspend_is_void_and_repeated() {
    let (undisturbed, journal) = measured(&[]);
    let ends = journal.iter().filter_map(|event| match event {
        Event::TrialDone { at_ns, .. } => Some(*at_ns),
        _ => None,
    });
    let ends: Vec<u64> = ends.collect();
    // The load runs for the last 200 ms of a trial. After the first one of a block the machine settles, and nothing is measured.
    let (between, within) = (ends[2] + 1, ends[4] - SECOND / 10);
    let (finding, journal) = measured(&[(between, 20 * SECOND), (within, 30 * SECOND)]);
    let voids = journal.iter().filter_map(|event| match event {
        Event::TrialVoid { why, .. } => Some(why),
        _ => None,
    });
    let voids: Vec<&Void> = voids.collect();
    assert_eq!(voids, [&Void::Suspended { for_ns: 30 * SECOND }]);
    assert_eq!(voids[0].to_string(), "the machine was suspended for 30 s during the trial");
    assert_eq!((finding.voids, finding.trials), (1, undisturbed.trials));
    assert_eq!(count(&journal, |event| matches!(event, Event::TrialDone { .. })), ends.len());
}
