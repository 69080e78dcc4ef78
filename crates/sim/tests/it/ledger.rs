//! What is turned is written down, undone, and done again on the next boot if it was set to stay.
use powerband_machine::{Action, Before, Errno, Hold, MemoryLedger, Turn, Undone, World};
use powerband_record::Side;
use powerband_sim::{SimError, SimWorld};

use crate::rig::{alone, cpufreq, quiet, read, turn};

fn governor(name: &str, before: &str, hold: Hold) -> Turn {
    let path = cpufreq(0, "scaling_governor");
    let undo = Some(Action::WriteFile { path: path.clone(), text: before.into() });
    Turn { undo, before: Before::Reads(before.into()), ..turn(&path, name, hold) }
}

fn boot(store: &MemoryLedger) -> SimWorld {
    let mut world = alone(quiet("quadcore"));
    world.keep_ledger(Side::Near, Box::new(store.clone())).unwrap();
    world
}

#[test]
fn what_is_set_is_there_after_the_next_boot_and_can_be_undone() {
    let store = MemoryLedger::default();
    let mut world = boot(&store);
    let path = cpufreq(0, "scaling_governor");
    let machine = world.machine(Side::Near).unwrap();
    machine.act(&governor("powersave", "ondemand", Hold::Set)).unwrap();
    machine.act(&governor("performance", "powersave", Hold::Held)).unwrap();
    assert_eq!(machine.open_entries().len(), 2);

    let mut again = boot(&store);
    assert_eq!(read(&mut again, &path), "powersave\n");
    let machine = again.machine(Side::Near).unwrap();
    let entries = machine.open_entries();
    assert_eq!(machine.undo(entries[1].id, false).unwrap(), Undone::Rebooted, "what was held is forgotten");
    assert_eq!(machine.undo(entries[0].id, false).unwrap(), Undone::Undone);
    assert_eq!(read(&mut again, &path), "ondemand\n");
    assert!(store.bytes.borrow().is_empty());
}

#[test]
fn somebody_elses_value_is_left_alone() {
    let mut world = boot(&MemoryLedger::default());
    let machine = world.machine(Side::Near).unwrap();
    let acted = machine.act(&governor("powersave", "ondemand", Hold::Set)).unwrap();
    machine.act(&turn(&cpufreq(0, "scaling_governor"), "performance", Hold::Held)).unwrap();
    assert!(matches!(machine.undo(acted.entry, false).unwrap(), Undone::Foreign { .. }));
    assert_eq!(machine.undo(acted.entry, true).unwrap(), Undone::Undone);
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_governor")), "ondemand\n");
}

#[test]
fn programs_are_refused_in_words_and_missing_sides_by_name() {
    let mut world = boot(&MemoryLedger::default());
    let run = Turn { action: Action::Run { argv: vec!["ethtool".into()], user: None }, ..turn("/", "", Hold::Held) };
    let acted = world.machine(Side::Near).unwrap().act(&run).unwrap();
    assert_eq!(acted.errno, Some(Errno::EOPNOTSUPP));
    assert!(acted.words.unwrap().contains("'ethtool'"));
    assert!(matches!(
        world.keep_ledger(Side::Far, Box::new(MemoryLedger::default())),
        Err(SimError::NoMachine(Side::Far))
    ));
    assert!(world.machine(Side::Far).is_none() && world.machine(Side::Both).is_none());
}

#[test]
fn an_ordinary_file_comes_and_goes() {
    let mut world = boot(&MemoryLedger::default());
    let path = "/etc/powerband.conf";
    let undo = Some(Action::RemoveFile { path: path.into() });
    let machine = world.machine(Side::Near).unwrap();
    let acted = machine.act(&Turn { undo, ..turn(path, "x\n", Hold::Set) }).unwrap();
    assert_eq!(machine.read(path).unwrap(), "x\n");
    assert_eq!(machine.undo(acted.entry, false).unwrap(), Undone::Undone);
    assert_eq!(machine.read(path), Err(Errno::ENOENT));
}
