//! Its decisions one by one, from the worked example and around it; its lists.
use powerband_machine::Errno;

use super::super::config::KernelRules;
use super::set::Ladder;
use super::*;

const MS: u64 = 1_000_000;

fn omap() -> FrequencyTable {
    let steps = [125_000, 250_000, 500_000, 550_000, 600_000].map(Into::into);
    FrequencyTable::new(steps.to_vec(), KernelRules::V2_6_32).unwrap()
}

fn set() -> Set {
    Set { hispeed_khz: 600_000, ..Set::new() }
}

fn at(khz: u32) -> Look {
    Look { target_khz: khz, floor_khz: khz, ..Look::default() }
}

/// One look after a time busy for so many percent at the clock of the target; the target then, and whether it was decided.
fn decide(look: &mut Look, set: &Set, now_ns: u64, busy_percent: u64) -> (u32, bool) {
    let table = omap();
    let scene = Scene { set, table: &table, limits: (125_000, 600_000), now_ns, boosted: set.boost };
    let work = busy_percent * u64::from(look.target_khz);
    let decided = scene.decide(look, work);
    (look.target_khz, decided)
}

#[test]
fn the_worked_example_holds() {
    let (mut look, set) = (at(250_000), set());
    assert_eq!(decide(&mut look, &set, 100 * MS, 50), (250_000, true), "138888 kHz would do, 250 MHz is the next");
    assert_eq!(decide(&mut look, &set, 120 * MS, 100), (600_000, true), "a burst");
    for ms in [140, 160, 180] {
        assert_eq!(decide(&mut look, &set, ms * MS, 20), (600_000, false), "{ms} ms: the floor holds for 80 ms");
    }
    assert_eq!(decide(&mut look, &set, 200 * MS, 20), (250_000, true));
}

#[test]
fn a_burst_goes_to_hispeed_freq_and_higher_only_after_a_delay() {
    let set = Set { hispeed_khz: 500_000, ..Set::new() };
    let mut look = at(125_000);
    assert_eq!(decide(&mut look, &set, 100 * MS, 100), (500_000, true));
    assert_eq!(decide(&mut look, &set, 110 * MS, 100), (500_000, false));
    assert_eq!(decide(&mut look, &set, 120 * MS, 100), (600_000, true));
}

#[test]
fn target_loads_pick_the_clock() {
    // A lower target load, a higher clock.
    for (loads, khz) in [("90", 500_000), ("45", 550_000), ("90 500000:40", 600_000), ("99", 250_000)] {
        let set = Set { target_loads: Ladder::parse(loads).unwrap(), ..set() };
        let mut look = Look { floor_khz: 0, ..at(250_000) };
        assert_eq!(decide(&mut look, &set, 1_000 * MS, 98).0, khz, "{loads}");
    }
}

#[test]
fn a_boost_keeps_clocks_up_and_leaves_no_floor() {
    let boosted = Set { boost: true, hispeed_khz: 500_000, ..Set::new() };
    let mut look = at(125_000);
    assert_eq!(decide(&mut look, &boosted, 100 * MS, 5), (500_000, true));
    assert_eq!(look.floor_khz, 125_000, "what a boost alone asked for need not be kept");
    let after = Set { boost: false, ..boosted };
    assert_eq!(decide(&mut look, &after, 120 * MS, 5), (125_000, true));
}

#[test]
fn lists_have_an_odd_count_of_numbers() {
    for text in ["90", "85 1000000:90", "85 1000000:90 1700000:99"] {
        assert_eq!(Ladder::parse(text).unwrap().show(), text);
    }
    assert_eq!(Ladder::parse("85:1000000 90\n").unwrap().show(), "85 1000000:90");
    for text in ["", "85 1000000", "a", "85  90 91", "-1", &"1 ".repeat(99)] {
        assert_eq!(Ladder::parse(text), Err(Errno::EINVAL), "{text}");
    }
    let ladder = Ladder::parse("85 1000000:90").unwrap();
    assert_eq!([0, 999_999, 1_000_000, 3_000_000].map(|khz| ladder.at(khz)), [85, 85, 90, 90]);
}
