//! What is counted of a sleep, and the ladder.
use powerband_machine::Errno;

use super::*;

const US: u64 = 1_000;

/// States by name, with what it takes to leave them and what makes them worth entering, us.
pub(super) fn states(all: &[(&str, u64, u64)]) -> Vec<IdleState> {
    let state = |&(name, exit, residency): &(&str, u64, u64)| IdleState {
        name: name.into(),
        desc: String::new(),
        exit_ns: exit * US,
        residency_ns: residency * US,
        running_ppm: 0,
        leakage_ppm: 0,
        polls: name == "POLL",
    };
    all.iter().map(state).collect()
}

const FOUR: [(&str, u64, u64); 4] = [("POLL", 0, 0), ("C1", 3, 6), ("C3", 20, 80), ("C6", 200, 800)];

fn machine(governor: IdleGovernor) -> Cpuidle {
    let spec =
        IdleSpec { driver: "intel_idle".into(), governors: IdleGovernor::ALL.into(), governor, states: states(&FOUR) };
    Cpuidle::new(spec, 1)
}

const QUESTION: Question = Question {
    next_timer_ns: 40_000 * US,
    next_tick_ns: 4_000 * US,
    tick_ns: 4_000 * US,
    tick_stopped: false,
    iowaiters: 0,
    limit_ns: NO_LIMIT_NS,
};

#[test]
fn a_sleep_counts_as_too_deep_or_too_shallow() {
    let mut idle = machine(IdleGovernor::Menu);
    let counted = |idle: &Cpuidle, state| {
        [IdleFile::Usage, IdleFile::Time, IdleFile::Above, IdleFile::Below]
            .map(|file| idle.show(0, state, file).trim().parse::<u64>().unwrap())
    };
    for (for_us, counts) in [(79, [1, 79, 1, 0]), (80, [2, 159, 1, 0]), (819, [3, 978, 1, 0]), (820, [4, 1_798, 1, 1])]
    {
        idle.woke(0, 2, for_us * US, false, 4_000 * US);
        assert_eq!(counted(&idle, 2), counts, "{for_us}");
    }
    idle.set_disabled(0, 3, "7\n").unwrap();
    idle.woke(0, 2, 5_000 * US, false, 4_000 * US);
    assert_eq!(counted(&idle, 2)[3], 1, "no deeper one is enabled");
    assert_eq!(idle.show(0, 3, IdleFile::Disable), "1\n");
    assert_eq!(idle.set_disabled(0, 3, "yes"), Err(Errno::EINVAL));
    idle.begin_anew(0);
    assert_eq!((counted(&idle, 2), idle.show(0, 3, IdleFile::Disable).as_str()), ([0; 4], "0\n"));
}

#[test]
fn the_ladder_goes_down_after_four_long_sleeps_and_up_after_a_short_one() {
    let mut idle = machine(IdleGovernor::Ladder);
    let mut sleep = |for_us: u64| {
        let state = idle.choose(0, &QUESTION).state;
        idle.woke(0, state, for_us * US, false, 4_000 * US);
        state
    };
    let slept: Vec<usize> = (0..10).map(|_| sleep(5_000)).collect();
    assert_eq!(slept, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
    assert_eq!([sleep(300), sleep(5), sleep(5), sleep(5)], [3, 2, 1, 1]);
}

#[test]
fn a_limit_or_a_switch_makes_the_ladder_climb() {
    let mut idle = machine(IdleGovernor::Ladder);
    for _ in 0..9 {
        let state = idle.choose(0, &QUESTION).state;
        idle.woke(0, state, 5_000 * US, false, 4_000 * US);
    }
    assert_eq!(idle.choose(0, &Question { limit_ns: 20 * US, ..QUESTION }).state, 2);
    assert_eq!(idle.choose(0, &Question { limit_ns: 0, ..QUESTION }).state, 0);
    assert_eq!(idle.set_governor("teo"), Err(Errno::EINVAL));
    idle.set_governor("menu\n").unwrap();
    assert_eq!(idle.show_system(SystemFile::Governor), "menu\n");
}
