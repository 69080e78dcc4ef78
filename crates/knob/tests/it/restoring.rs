//! Putting back: everything, from anywhere, in spite of others.
use powerband_knob::*;
use powerband_machine::{Change, EntryId, Errno, Hold};
use powerband_record::Setting;

use crate::fake::{Fake, ROOT, Rules, cpufreq};

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

#[test]
fn tunables_of_a_governor_that_stays_in_use_are_not_kept() {
    let mut machine = found(Rules::default(), FOUND[0]);
    let setting = Setting::parse("governor@policy0=performance").unwrap();
    let applied = apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap();
    assert_eq!(applied.entries.len(), 1);
    // Somebody tunes the governor the other policy still runs: not ours to overwrite.
    machine.meddle(&format!("{ROOT}/ondemand/up_threshold"), "33");
    assert!(restore(&mut machine, &applied.entries, false).complete());
    assert_eq!(machine.show(&format!("{ROOT}/ondemand/up_threshold")), "33");
}

#[test]
fn somebody_elses_governor_is_left_alone_with_what_hangs_on_it() {
    let mut machine = found(Rules::default(), FOUND[0]);
    let before = machine.files.clone();
    let setting = Setting::parse("governor=performance").unwrap();
    let applied = apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap();
    for policy in ["policy0", "policy2"] {
        machine.meddle(&format!("{ROOT}/{policy}/scaling_governor"), "powersave");
    }
    let restored = restore(&mut machine, &applied.entries, false);
    assert_eq!(restored.foreign.len(), 2, "{restored:?}");
    assert!(restored.failed.is_empty(), "{restored:?}");
    assert_eq!(restored.foreign[0].found, "powersave");
    assert_eq!(machine.policy(0, "scaling_governor"), "powersave");
    let restored = restore(&mut machine, &applied.entries, true);
    assert!(restored.complete(), "{restored:?}");
    assert_eq!(machine.files, before);
}

#[test]
fn what_cannot_be_put_back_is_named() {
    let mut machine = cpufreq(2, 1, Rules::default());
    let setting = Setting::parse("governor=performance").unwrap();
    let applied = apply(&mut machine, &setting, Hold::Held, &Selection::everywhere()).unwrap();
    machine.refuse.insert(format!("{ROOT}/policy1/scaling_governor"), Errno::EBUSY);
    let restored = restore(&mut machine, &applied.entries, false);
    assert_eq!(restored.left(), ["cpufreq.governor at policy1 (device or resource busy (EBUSY))"]);
    assert!(!machine.open_entries().is_empty(), "stays in the ledger");
}

#[test]
fn two_commands_are_undone_one_after_the_other() {
    let mut machine = found(Rules::default(), FOUND[0]);
    let before = machine.files.clone();
    let all = Selection::everywhere();
    let mut steps = Vec::new();
    for text in ["governor@policy0=performance", "governor=powersave", "governor=conservative freq_step=9"] {
        steps.push(apply(&mut machine, &Setting::parse(text).unwrap(), Hold::Set, &all).unwrap());
    }
    while let Some(applied) = steps.pop() {
        assert!(restore(&mut machine, &applied.entries, false).complete());
    }
    assert_eq!(machine.files, before);
}

#[test]
fn a_limit_read_back_too_early_is_known_for_ours_and_another_is_not() {
    for (somebody_elses, left) in [(None, 0), (Some("1600000"), 1)] {
        let mut machine = cpufreq(1, 1, Rules { late: true, ..Rules::default() });
        let before = machine.files.clone();
        let setting = Setting::parse("max_freq=2100MHz").unwrap();
        let applied = apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap();
        assert_eq!(machine.open_entries()[0].reads_back.as_deref(), Some("2400000"), "taken before it took effect");
        assert_eq!(machine.policy(0, "scaling_max_freq"), "2000000");
        if let Some(limit) = somebody_elses {
            machine.meddle(&format!("{ROOT}/policy0/scaling_max_freq"), limit);
        }
        assert_eq!(restore(&mut machine, &applied.entries, false).foreign.len(), left);
        assert_eq!(machine.files == before, left == 0);
    }
}

#[test]
fn a_speed_held_down_by_a_limit_does_not_come_up_after_undo() {
    for hold in [Hold::Held, Hold::Set] {
        let mut machine = found(Rules::default(), "governor=userspace freq=1600MHz");
        let before = machine.files.clone();
        let setting = Setting::parse("freq=2400MHz max_freq=1600MHz").unwrap();
        let applied = apply(&mut machine, &setting, hold, &Selection::everywhere()).unwrap();
        assert_eq!(machine.policy(0, "scaling_setspeed"), "1600000", "reads as before all the while");
        assert!(restore(&mut machine, &applied.entries, false).complete());
        assert_eq!(machine.files, before);
    }
}
