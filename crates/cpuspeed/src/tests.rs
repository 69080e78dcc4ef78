//! The worked example, each option, ties, groups, walks over several steps, and how steps are found.
use crate::{
    DaemonOptions, FileOptions, Group, OptionError, Pin, Sums, Walker, Wish, discover, discover_listed, wish, within,
};

const SERVER: [u32; 7] = [2_400_000, 2_267_000, 2_133_000, 2_000_000, 1_867_000, 1_733_000, 1_600_000];

/// Sums of a CPU that has been idle for such shares of so many seconds, in hundredths of a second.
fn after(percents: &[u64]) -> Sums {
    let idle = percents.iter().map(|percent| percent * 2).sum();
    Sums { user: 200 * percents.len() as u64 - idle, idle, ..Sums::default() }
}

fn alone() -> Group {
    Group::new(DaemonOptions::default(), SERVER.to_vec(), vec![Sums::default()])
}

#[test]
fn the_worked_example_goes_up_and_down() {
    let (mut group, percents) = (alone(), [80, 80, 20, 25, 10, 26]);
    let mut clocks = Vec::new();
    for end in 1..=percents.len() {
        group.look(&[after(&percents[..end])]);
        clocks.push(group.khz().unwrap() / 1_000);
    }
    assert_eq!(clocks, [2267, 2133, 2267, 2267, 2400, 2267]);
}

fn idle(percent: u64) -> Sums {
    Sums { user: 100 - percent, idle: percent, ..Sums::default() }
}

#[test]
fn thresholds_are_compared_as_whole_percents() {
    let of = |options: &DaemonOptions, sums: &Sums| wish(options, &Sums::default(), sums);
    let usual = DaemonOptions::default();
    for (percent, wished) in [
        (0, Wish::Fastest),
        (10, Wish::Fastest),
        (11, Wish::Faster),
        (24, Wish::Faster),
        (25, Wish::Stay),
        (26, Wish::Slower),
        (100, Wish::Slower),
    ] {
        assert_eq!(of(&usual, &idle(percent)), wished, "{percent} % idle");
    }
    // 25.9 % is 25 %.
    assert_eq!(of(&usual, &Sums { user: 741, idle: 259, ..Sums::default() }), Wish::Stay);
    let tuned = DaemonOptions { fast_up_percent: 2, threshold_percent: 50, ..usual };
    assert_eq!([5, 49, 50, 51].map(|percent| of(&tuned, &idle(percent))), {
        [Wish::Faster, Wish::Faster, Wish::Stay, Wish::Slower]
    });
}

#[test]
fn nice_and_waiting_time_are_idle_unless_they_are_ignored() {
    let nice = Sums { user: 30, nice: 60, idle: 10, ..Sums::default() };
    let waits = Sums { user: 30, iowait: 60, idle: 10, ..Sums::default() };
    let usual = DaemonOptions::default();
    for (sums, ignoring) in
        [(nice, DaemonOptions { ignore_nice: true, ..usual }), (waits, DaemonOptions { ignore_iowait: true, ..usual })]
    {
        assert_eq!(wish(&usual, &Sums::default(), &sums), Wish::Slower, "70 of 100");
        assert_eq!(wish(&ignoring, &Sums::default(), &sums), Wish::Stay, "10 of 40");
    }
    let both = Sums { user: 90, nice: 400, iowait: 400, idle: 10, ..Sums::default() };
    let ignoring = DaemonOptions { ignore_nice: true, ignore_iowait: true, ..usual };
    assert_eq!(wish(&ignoring, &Sums::default(), &both), Wish::Fastest, "10 of 100");
}

#[test]
fn time_in_the_kernel_is_busy() {
    let sums = Sums { system: 80, idle: 20, ..Sums::default() };
    assert_eq!(wish(&DaemonOptions::default(), &Sums::default(), &sums), Wish::Faster);
}

#[test]
fn without_time_between_two_looks_nothing_moves() {
    let mut group = alone();
    assert!(group.look(&[Sums::default()]).walk.is_empty());
    let backwards = wish(&DaemonOptions::default(), &idle(90), &Sums::default());
    assert_eq!(backwards, Wish::Stay);
}

#[test]
fn a_group_takes_the_fastest_wish_of_its_cpus() {
    let now = vec![Sums::default(); 3];
    let mut group = Group::new(DaemonOptions::default(), SERVER.to_vec(), now);
    group.look(&[idle(90), idle(90), idle(90)]);
    assert_eq!(group.khz(), Some(2_267_000));
    let more = |percent: u64| Sums { user: 10 + 100 - percent, idle: 90 + percent, ..Sums::default() };
    group.look(&[more(90), more(25), more(90)]);
    assert_eq!(group.khz(), Some(2_267_000), "one of them stays, so all do");
}

#[test]
fn a_move_over_several_steps_goes_through_each() {
    let mut group = alone();
    for looks in 1..=9 {
        let walked = group.look(&[after(&vec![90; looks])]).walk;
        assert!(walked.len() <= 1, "down is one step at a time: {walked:?}");
    }
    assert_eq!(group.khz(), Some(1_600_000));
    let mut percents = vec![90; 9];
    percents.push(0);
    let up = group.look(&[after(&percents)]).walk;
    assert_eq!(up, [1_733_000, 1_867_000, 2_000_000, 2_133_000, 2_267_000, 2_400_000]);
}

#[test]
fn the_ends_of_the_table_hold() {
    let mut group = Group::new(DaemonOptions::default(), vec![2_400_000], vec![Sums::default()]);
    assert!(group.look(&[idle(100)]).walk.is_empty());
    let mut none = Group::new(DaemonOptions::default(), Vec::new(), vec![Sums::default()]);
    assert!(none.look(&[idle(100)]).walk.is_empty() && none.khz().is_none());
}

#[test]
fn speeds_bound_the_steps() {
    assert_eq!(within(&SERVER, Some(1_800_000), Some(2_267_000)), SERVER[1..5]);
    assert_eq!(within(&SERVER, None, None), SERVER);
}

#[test]
fn steps_are_found_by_asking() {
    let at_least = |khz: u32| SERVER.iter().copied().filter(|step| *step >= khz).min();
    assert_eq!(discover(1_600_000, 2_400_000, at_least), SERVER);
    // A driver that takes every clock: 0.8 GHz in steps of 25, then 50, then 100 MHz.
    let every = discover(1_600_000, 2_400_000, Some);
    assert_eq!((every.len(), every.first(), every.last()), (9, Some(&2_400_000), Some(&1_600_000)));
    assert!(discover(1_600_000, 2_400_000, |_| None).is_empty());
    assert_eq!(discover(0, 10_000, Some), [10_000]);
}

#[test]
fn options_that_make_no_daemon_are_refused() {
    let usual = DaemonOptions::default();
    assert_eq!(usual.check(), Ok(()));
    assert_eq!(usual.interval_ms(), 2_000);
    assert_eq!(DaemonOptions { interval_tenths: 0, ..usual }.check(), Err(OptionError::Interval(0)));
    assert_eq!(DaemonOptions { fast_up_percent: 25, ..usual }.check(), Err(OptionError::Thresholds(25, 25)));
    assert_eq!(DaemonOptions { threshold_percent: 101, ..usual }.check(), Err(OptionError::Thresholds(10, 101)));
    let speeds = DaemonOptions { min_khz: Some(2), max_khz: Some(1), ..usual };
    assert_eq!(speeds.check(), Err(OptionError::Speeds(2, 1)));
}

#[test]
fn a_walker_sets_looks_and_sleeps_in_turn() {
    let mut walker = Walker::new(alone());
    assert!(!walker.looks_next());
    let woken = walker.wake(&[]);
    assert_eq!((woken.decision, woken.khz, woken.sleep_ms), (None, Some(2_400_000), 2_010), "it begins at the top");
    let woken = walker.wake(&[after(&[90])]);
    assert_eq!((woken.khz, woken.sleep_ms), (Some(2_267_000), 2_010));
    assert_eq!(woken.decision.unwrap().idle_percent, Some(90));
    walker.wake(&[after(&[90, 90])]);
    let up = walker.wake(&[after(&[90, 90, 5])]);
    assert_eq!((up.khz, up.sleep_ms), (Some(2_267_000), 10), "a pause, and on to the next step without looking");
    assert!(!walker.looks_next());
    assert_eq!(walker.wake(&[]).khz, Some(2_400_000));
}

#[test]
fn a_pinned_walker_does_not_look_until_it_is_let_go() {
    let mut walker = Walker::new(alone());
    walker.wake(&[]);
    walker.pin(Some(Pin::Slowest), &[]);
    let walked: Vec<u32> = std::iter::from_fn(|| walker.wake(&[]).khz).collect();
    assert_eq!(walked, SERVER[1..]);
    assert_eq!(walker.wake(&[after(&[0])]).khz, None, "busy, and it stays");
    walker.pin(Some(Pin::Fastest), &[]);
    assert_eq!(std::iter::from_fn(|| walker.wake(&[]).khz).last(), Some(2_400_000));
    walker.pin(None, &[after(&[0])]);
    assert_eq!(walker.wake(&[after(&[0])]).khz, None, "no time has passed");
    assert_eq!(walker.wake(&[after(&[0, 90])]).khz, Some(2_267_000), "what came before it was let go does not count");
}

#[test]
fn steps_are_found_in_the_drivers_list_as_by_asking() {
    let mut listed = SERVER;
    listed.reverse();
    assert_eq!(discover_listed(&listed, 1_600_000, 2_400_000), SERVER);
    assert_eq!(discover_listed(&listed, 1_800_000, 2_300_000), SERVER[1..5], "between the limits");
    assert_eq!(discover_listed(&[], 1_600_000, 2_400_000), discover(1_600_000, 2_400_000, Some));
}

#[test]
fn a_configuration_says_busy_where_the_daemon_says_idle() {
    let text = "# MAX_SPEED=1\nDRIVER=\nMAX_SPEED=2267000 # top\nMIN_SPEED=\"1600000\"\nUP_THRESHOLD=80\n\
                DOWN_THRESHOLD=\nIGNORE_NICE=1\nGOVERNOR=ondemand\nOPTS=\"$OPTS -i 10\"\n";
    let in_file = FileOptions::parse(text).unwrap();
    let options = in_file.over(DaemonOptions { min_khz: Some(5), ..DaemonOptions::default() });
    assert_eq!((options.min_khz, options.max_khz), (Some(1_600_000), Some(2_267_000)));
    assert_eq!((options.fast_up_percent, options.threshold_percent, options.ignore_nice), (20, 25, true));
    assert_eq!(in_file.other_governor.as_deref(), Some("ondemand"));
    assert_eq!(in_file.unused, ["OPTS=$OPTS -i 10"]);
    let userspace = FileOptions::parse("GOVERNOR='userspace'\n").unwrap();
    assert_eq!(userspace, FileOptions::default());
    let wrong = FileOptions::parse("A=1\nUP_THRESHOLD=120\n").unwrap_err().to_string();
    assert_eq!(wrong, "line 2: UP_THRESHOLD is '120'; write a percentage, 0 to 100");
}
