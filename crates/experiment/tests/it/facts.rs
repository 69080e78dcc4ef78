//! What is known of a machine at the beginning of an experiment, and of what somebody changed until it ended.
use powerband_experiment::facts;
use powerband_machine::{Turn, World};
use powerband_record::{Fact, FactChange, Side};
use powerband_sim::{Profile, SimWorld};

fn world(far: bool) -> SimWorld {
    let profile = || Profile::builtin("quadcore").unwrap();
    SimWorld::new(profile(), far.then(profile), 1).unwrap()
}

fn told<'a>(facts: &'a [Fact], what: &str) -> Option<&'a str> {
    let is = |fact: &&Fact| fact.side == Side::Near && fact.what == what;
    facts.iter().find(is).map(|fact| fact.value.as_str())
}

/// Writes to a file of the near machine, as anybody could.
fn write(world: &mut SimWorld, path: &str, text: &str) {
    let acted = world.machine(Side::Near).unwrap().act(&Turn::write(path, text));
    assert_eq!(acted.unwrap().errno, None);
}

#[test]
fn a_machine_is_told_by_its_clocks_states_and_meters() {
    let facts = facts(&mut world(false));
    for what in "release;model;online;driver;governor;upper limit, kHz;states;found".split(';') {
        assert!(told(&facts, what).is_some_and(|value| !value.is_empty()), "{what}: {facts:?}");
    }
    assert_eq!(told(&facts, "highest frequency, kHz"), Some("2400000"));
    // A meter comes with what it covers, and no clock's frequency is read.
    assert!(told(&facts, "found").unwrap().contains("modelled"));
    let clock = |fact: &Fact| fact.what.contains("cur_freq") || fact.what.contains("setspeed");
    assert!(!facts.iter().any(clock));
}

#[test]
fn what_somebody_changed_has_a_row_and_nothing_else_has() {
    let mut world = world(true);
    let then = facts(&mut world);
    // Both machines are known, and looking changes nothing.
    assert!(then.iter().any(|fact| fact.side == Side::Far));
    assert_eq!(Fact::changes(&then, &facts(&mut world)), []);
    // As this machine boots, for its clocks.
    let (was, other) = ("ondemand".to_owned(), "performance");
    write(&mut world, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", other);
    let changes = Fact::changes(&then, &facts(&mut world));
    let governor = changes.iter().find(|change| change.what == "governor").unwrap();
    let is = Some(format!("{was} on CPUs 0,2-3; {other} on CPUs 1"));
    let (part, what) = ("clocks".to_owned(), "governor".to_owned());
    assert_eq!(governor, &FactChange { side: Side::Near, part, what, was: Some(was), is });
    let is_clocks = |change: &FactChange| change.part == "clocks" && change.side == Side::Near;
    assert!(changes.iter().all(is_clocks), "{changes:?}");
}
