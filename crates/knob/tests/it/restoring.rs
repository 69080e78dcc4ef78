//! Putting back: everything, from anywhere, in spite of others.
use powerband_knob::*;
use powerband_machine::{Change, EntryId, Hold};
use powerband_record::Setting;

use crate::fake::{Fake, Rules, cpufreq};

const RULES: [Rules; 4] = [
    Rules { old_limits: false, late: false, per_policy: false },
    Rules { old_limits: true, late: false, per_policy: false },
    Rules { old_limits: false, late: true, per_policy: true },
    Rules { old_limits: true, late: false, per_policy: true },
];

const SETTINGS: [&str; 7] = [
    "governor=conservative up_threshold=98 down_threshold=95",
    "governor=conservative up_threshold=12 down_threshold=11 freq_step=10",
    "governor=userspace freq=1600MHz max_freq=2GHz",
    "governor@policy0=performance",
    "min_freq=2GHz max_freq=2GHz file:/tmp/new=1 file:/tmp/old=2",
    "governor=schedutil rate_limit_us=500 min_freq=2400MHz",
    "sampling_rate=50000 up_threshold=97",
];

/// States a machine may be found in, by what was set before.
const FOUND: [&str; 4] = [
    "sampling_down_factor=7 up_threshold=60",
    "governor=conservative down_threshold=85 up_threshold=90",
    "governor=conservative up_threshold=19 down_threshold=15 sampling_rate=33000",
    "governor=userspace freq=2GHz",
];

fn found(rules: Rules, state: &str) -> Fake {
    let mut machine = cpufreq(2, 2, rules);
    let setting = Setting::parse(state).unwrap();
    apply(&mut machine, &setting, Hold::Held, &Selection::everywhere()).unwrap();
    let mut fresh = cpufreq(2, 2, rules);
    fresh.files = machine.files;
    fresh.speeds = machine.speeds;
    fresh.files.insert("/tmp/old".into(), "1\n".into());
    fresh
}

/// The setting, with the governor in force for tunables that name none.
fn setting(machine: &mut Fake, text: &str) -> Option<Setting> {
    let setting = Setting::parse(text).unwrap();
    plan(&setting, machine, &Selection::everywhere()).ok().map(|_| setting)
}

#[test]
fn everything_comes_back_from_every_state() {
    let mut checked = 0;
    for (rules, state, text) in all_cases() {
        for hold in [Hold::Held, Hold::Set] {
            let mut machine = found(rules, state);
            let Some(setting) = setting(&mut machine, text) else { continue };
            let before = machine.files.clone();
            let applied = apply(&mut machine, &setting, hold, &Selection::everywhere()).unwrap();
            assert_ne!(machine.files, before);
            let restored = restore(&mut machine, &applied.entries, false);
            assert!(restored.complete() && restored.inexact.is_empty(), "{state} / {text}: {restored:?}");
            assert_eq!(machine.files, before, "{state} / {text}");
            assert!(machine.open_entries().is_empty());
            checked += 1;
        }
    }
    assert!(checked > 150, "{checked}");
}

#[test]
fn a_refusal_at_any_step_leaves_the_machine_as_it_was() {
    for (rules, state, text) in all_cases() {
        for step in 0.. {
            let mut machine = found(rules, state);
            let Some(setting) = setting(&mut machine, text) else { break };
            machine.refuse_action = Some(step);
            let before = machine.files.clone();
            let outcome = apply(&mut machine, &setting, Hold::Set, &Selection::everywhere());
            let Err(error) = outcome else {
                assert!(machine.acts <= step, "a refusal went unnoticed");
                break;
            };
            assert!(
                error.kind() == ErrorKind::Refused && step < machine.acts,
                "{state} / {text}, step {step}: {error}"
            );
            assert_eq!(machine.files, before, "{state} / {text}, step {step}");
            assert!(machine.open_entries().is_empty());
        }
    }
}

#[test]
fn an_heir_restores_from_the_ledger_alone() {
    for (rules, state, text) in all_cases() {
        let mut machine = found(rules, state);
        let Some(setting) = setting(&mut machine, text) else { continue };
        let before = machine.files.clone();
        apply(&mut machine, &setting, Hold::Held, &Selection::everywhere()).unwrap();
        let open: Vec<EntryId> = machine.open_entries().iter().map(|entry| entry.id).collect();
        for id in open.into_iter().rev() {
            machine.undo(id, false).unwrap();
        }
        assert_eq!(machine.files, before, "{state} / {text}");
    }
}

fn all_cases() -> impl Iterator<Item = (Rules, &'static str, &'static str)> {
    RULES.into_iter().flat_map(|rules| {
        FOUND.into_iter().flat_map(move |state| SETTINGS.into_iter().map(move |text| (rules, state, text)))
    })
}
