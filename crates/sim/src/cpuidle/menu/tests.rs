//! The governor's arithmetic, by hand.
use super::*;
use crate::cpuidle::Usage;

const US: u64 = 1_000;
const TICK: u64 = 4_000 * US;

/// POLL and the states of the Nehalem server: leaving and worth, us.
fn nehalem() -> Vec<IdleState> {
    crate::cpuidle::tests::states(&[("POLL", 0, 0), ("C1", 3, 6), ("C1E", 10, 20), ("C3", 20, 80), ("C6", 200, 800)])
}

fn with_ring(us: u64) -> Menu {
    Menu { ring: [us; RING], ..Menu::default() }
}

fn asked(next_timer_us: u64, next_tick_us: u64) -> Question {
    Question {
        next_timer_ns: next_timer_us * US,
        next_tick_ns: next_tick_us * US,
        tick_ns: TICK,
        tick_stopped: false,
        iowaiters: 0,
        limit_ns: u64::MAX,
    }
}

/// The name of what is chosen, and whether the tick is stopped.
fn chosen(menu: &mut Menu, question: &Question, disabled: &[usize]) -> (String, bool) {
    let states = nehalem();
    let usages: Vec<Usage> =
        (0..states.len()).map(|place| Usage { disabled: disabled.contains(&place), ..Usage::default() }).collect();
    let choice = menu.choose(&Among { states: &states, usages: &usages }, question);
    (states[choice.state].name.clone(), choice.stops_tick)
}

fn is(name: &str, stops_tick: bool) -> (String, bool) {
    (name.to_owned(), stops_tick)
}

#[test]
fn sleeps_that_agree_decide_before_the_timer() {
    let mut menu = with_ring(100);
    assert_eq!(chosen(&mut menu, &asked(3_000, 3_000), &[]), is("C3", false));
    menu.woke(&nehalem()[3], 100 * US, false, TICK);
    assert_eq!(menu.ring[0], 80);
    assert_eq!(menu.factors[3], 8_192 - 1_024 + 27);
}

#[test]
fn a_task_that_waits_for_input_lets_nothing_slow_be_chosen() {
    let question = Question { iowaiters: 1, ..asked(3_000, 3_000) };
    assert_eq!(chosen(&mut with_ring(100), &question, &[]), is("C1", false));
}

#[test]
fn long_sleeps_stop_the_tick() {
    assert_eq!(chosen(&mut with_ring(5_000), &asked(40_000, 4_000), &[]), is("C6", true));
}

#[test]
fn a_fresh_cpu_only_polls_until_ticks_have_told_it_better() {
    let mut menu = Menu::default();
    for _ in 0..RING {
        assert_eq!(chosen(&mut menu, &asked(100_000, 4_000), &[]), is("POLL", false));
        menu.woke(&nehalem()[0], TICK, true, TICK);
    }
    assert_eq!(menu.ring, [45_000; RING]);
    assert_eq!(chosen(&mut menu, &asked(100_000, 4_000), &[]), is("C6", true));
}

#[test]
fn outliers_upwards_are_left_out_and_a_scatter_says_nothing() {
    let ring = |ring| Menu { ring, ..Menu::default() };
    assert_eq!(ring([100, 110, 90, 105, 95, 100, 9_000, 8_000]).typical(50_000), Some(100));
    assert_eq!(ring([1, 2_000, 90, 30_000, 95, 700, 9_000, 8_000]).typical(50_000), None);
    assert_eq!(ring([100; 8]).typical(100), None, "no shorter than the timer");
}

#[test]
fn limits_and_disabled_states_are_respected() {
    let long = || with_ring(5_000);
    for (limit_us, name) in [(200, "C6"), (199, "C3"), (10, "C1E"), (3, "C1")] {
        let question = Question { limit_ns: limit_us * US, ..asked(40_000, 4_000) };
        assert_eq!(chosen(&mut long(), &question, &[]).0, name, "{limit_us}");
    }
    for limit_us in [0, 2] {
        let question = Question { limit_ns: limit_us * US, ..asked(40_000, 4_000) };
        assert_eq!(chosen(&mut long(), &question, &[]), is("POLL", false), "{limit_us}");
    }
    assert_eq!(chosen(&mut long(), &asked(40_000, 4_000), &[4]).0, "C3");
    assert_eq!(chosen(&mut long(), &asked(40_000, 4_000), &[1, 2, 3, 4]), is("POLL", false));
}

#[test]
fn a_tick_that_is_kept_ends_the_sleep_before_a_deep_state_is_worth_it() {
    assert_eq!(chosen(&mut with_ring(900), &asked(40_000, 500), &[]), is("C3", false));
    let stopped = Question { tick_stopped: true, ..asked(40_000, 40_000) };
    assert_eq!(chosen(&mut with_ring(900), &stopped, &[]), is("C6", true), "nothing but the timer will wake it");
}
