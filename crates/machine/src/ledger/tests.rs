//! The ledger's format and bookkeeping, over a store in memory.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::*;
use crate::Hold;

mod damaged;
mod places;

/// A store whose bytes the test can see and break, and what was set aside from it.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>, Rc<RefCell<Vec<u8>>>);

impl LedgerStore for Shared {
    fn place(&self) -> String {
        "test".into()
    }
    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        Ok(self.0.borrow().clone())
    }
    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }
    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        *self.0.borrow_mut() = bytes.to_vec();
        Ok(())
    }
    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.1.borrow_mut().extend_from_slice(lines);
        Ok(())
    }
}

/// A machine without any files.
fn nothing(_: &str) -> Result<String, Errno> {
    Err(Errno::ENOENT)
}

fn turn(path: &str, from: &str, to: &str, hold: Hold) -> Turn {
    Turn {
        action: Action::WriteFile { path: path.into(), text: to.into() },
        undo: Some(Action::WriteFile { path: path.into(), text: from.into() }),
        hold,
        knob: format!("file:{path}"),
        site: path.into(),
        asked: to.into(),
        before: Some(from.into()),
        read_back: Some(path.into()),
        step: None,
    }
}

/// Acts on a map of files through the ledger, as a machine would.
fn set(ledger: &mut Ledger, files: &mut BTreeMap<String, String>, turn: &Turn) -> EntryId {
    let id = ledger.intend(turn, &mut nothing).unwrap();
    if let Action::WriteFile { path, text } = &turn.action {
        files.insert(path.clone(), text.clone());
    }
    ledger.done(id, None, Some(turn.asked.clone())).unwrap();
    id
}

fn undo(ledger: &mut Ledger, files: &mut BTreeMap<String, String>, id: EntryId, force: bool) -> Undone {
    let seen = files.clone();
    ledger
        .undo(id, force, &mut |path| seen.get(path).cloned().ok_or(Errno::ENOENT), &mut |action| {
            if let Action::WriteFile { path, text } = action {
                files.insert(path.clone(), text.clone());
            }
            Ok(())
        })
        .unwrap()
}

#[test]
fn entries_survive_a_reload_and_are_undone_in_three_ways() {
    let store = Shared::default();
    let mut files: BTreeMap<_, _> = ["/etc/a", "/etc/b", "/etc/c"].map(|p| (p.to_owned(), "0".to_owned())).into();
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap();
    let ids: Vec<_> = ["/etc/a", "/etc/b", "/etc/c"]
        .iter()
        .map(|p| set(&mut ledger, &mut files, &turn(p, "0", "1", Hold::Set)))
        .collect();
    files.insert("/etc/b".into(), "7".into());
    files.insert("/etc/c".into(), "0".into());

    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap();
    assert_eq!(ledger.open().len(), 3);
    assert_eq!(undo(&mut ledger, &mut files, ids[0], false), Undone::Undone);
    assert_eq!(undo(&mut ledger, &mut files, ids[1], false), Undone::Foreign { found: "7".into(), ours: "1".into() });
    assert_eq!(undo(&mut ledger, &mut files, ids[2], false), Undone::AlreadyBack);
    assert_eq!(files["/etc/a"], "0");
    assert_eq!(files["/etc/b"], "7", "somebody else's value is not overwritten");
    assert_eq!(undo(&mut ledger, &mut files, ids[1], true), Undone::Undone);
    assert!(store.0.borrow().is_empty(), "nothing open, nothing kept");
}

#[test]
fn a_reboot_forgets_sysfs_but_not_files() {
    let store = Shared::default();
    let mut files: BTreeMap<_, _> = ["/sys/a", "/etc/b"].map(|p| (p.to_owned(), "0".to_owned())).into();
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap();
    let ids: Vec<_> =
        ["/sys/a", "/etc/b"].iter().map(|p| set(&mut ledger, &mut files, &turn(p, "0", "1", Hold::Set))).collect();
    let mut ledger = Ledger::load(Box::new(store), "boot2").unwrap();
    assert_eq!(undo(&mut ledger, &mut files, ids[0], false), Undone::Rebooted);
    assert_eq!(undo(&mut ledger, &mut files, ids[1], false), Undone::Undone);
}

#[test]
fn a_refused_action_leaves_nothing_open() {
    let mut ledger = Ledger::load(Box::new(MemoryLedger::default()), "boot1").unwrap();
    let id = ledger.intend(&turn("/sys/a", "0", "1", Hold::Held), &mut nothing).unwrap();
    ledger.done(id, Some(Errno::EINVAL), Some("0".into())).unwrap();
    assert!(ledger.open().is_empty());
}

#[test]
fn a_program_that_failed_may_have_done_half_and_is_compared() {
    for (now, outcome) in [("half", Undone::Undone), ("before", Undone::AlreadyBack)] {
        let store = Shared::default();
        let mut ledger = Ledger::load(Box::new(store.clone()), "boot").unwrap();
        let program = |word: &str| Action::Run { argv: vec![word.into()], user: None };
        let place = crate::CommandPlace { line: "show", user: None }.to_string();
        let undo = Some(program("undo"));
        let failed = Turn { action: program("set"), undo, ..turn(&place, "before", "asked", Hold::Held) };
        let id = ledger.intend(&failed, &mut nothing).unwrap();
        ledger.done(id, Some(Errno::EIO), Some(now.into())).unwrap();
        // Whoever comes after a kill finds it too.
        let mut later = Ledger::load(Box::new(store), "boot").unwrap();
        assert_eq!(later.open().len(), 1);
        let mut acted = Vec::new();
        let done = later.undo(id, false, &mut |_| Ok(format!("{now}\n")), &mut |action| {
            acted.push(action.clone());
            Ok(())
        });
        assert_eq!(done.unwrap(), outcome);
        assert_eq!(acted.len(), usize::from(now == "half"));
        assert!(later.open().is_empty());
    }
}

#[test]
fn what_a_driver_rounds_down_comes_back_as_it_read() {
    // Steps of so many us, as a clock of the card makes them; one card takes nothing above its highest step.
    for (before, most) in [(261, 600), (819, 1_310), (5, 600), (261, 261)] {
        let rounded = |value: u32| value * 50 / 256 * 256 / 50;
        let place = "coalesce:eth0/rx-usecs";
        let set = |value: u32| Action::Coalesce {
            device: "eth0".into(),
            values: crate::Coalescing([("rx-usecs".to_owned(), value)].into()),
        };
        let mut ledger = Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap();
        let asked =
            Turn { action: set(100), undo: Some(set(before)), ..turn(place, &before.to_string(), "100", Hold::Held) };
        let id = ledger.intend(&asked, &mut nothing).unwrap();
        ledger.done(id, None, Some(rounded(100).to_string())).unwrap();
        let card = std::cell::Cell::new(rounded(100));
        let mut read = |path: &str| match path {
            _ if path == place => Ok(format!("{}\n", card.get())),
            _ => Err(Errno::ENOENT),
        };
        let outcome = ledger.undo(id, false, &mut read, &mut |action| {
            let Action::Coalesce { values, .. } = action else { return Err(Errno::EINVAL) };
            let value = values.get("rx-usecs").unwrap();
            let taken = value <= most;
            taken.then(|| card.set(rounded(value))).ok_or(Errno::EINVAL)
        });
        assert_eq!(outcome.unwrap(), Undone::Undone);
        let reachable = (0..=most).any(|value| rounded(value) == before);
        assert_eq!(card.get(), if reachable { before } else { rounded(before) }, "{before} of at most {most}");
    }
}
