//! The order of one change, what belongs to it, and what an error means; with each part of the rule broken once.
use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::{Before, LedgerStore, MemoryLedger};

/// What happened, in order, to the store and to the device.
type Log = Rc<RefCell<Vec<String>>>;

/// A store that notes what is asked of it; an append or a reservation can be refused.
struct Store {
    log: Log,
    bytes: MemoryLedger,
    refused: Option<(&'static str, Errno)>,
    in_place: bool,
}

impl LedgerStore for Store {
    fn place(&self) -> String {
        "a ledger".into()
    }
    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        self.bytes.load()
    }
    fn reserve(&mut self, _turn: &Turn) -> Result<(), Errno> {
        self.log.borrow_mut().push("reserve".into());
        self.refused.filter(|(what, _)| *what == "reserve").map_or(Ok(()), |(_, errno)| Err(errno))
    }
    fn is_in_place(&self) -> bool {
        self.in_place
    }
    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let text = String::from_utf8_lossy(bytes);
        let kind = text.split('"').nth(3).unwrap().to_owned();
        let refused = self.refused.filter(|(what, _)| *what == kind);
        self.log.borrow_mut().push(format!("{kind}{}", if refused.is_some() { " refused" } else { "" }));
        refused.map_or_else(|| self.bytes.append(bytes), |(_, errno)| Err(errno))
    }
    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.bytes.replace(bytes)
    }
    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.bytes.set_aside(lines)
    }
}

/// A device of two files: writing "group" needs "above" written first.
struct Files {
    log: Log,
    identity: Identity,
    texts: std::collections::BTreeMap<String, String>,
    refuses: Option<Errno>,
    is_lost: bool,
    broken: Option<Rule>,
}

impl Files {
    fn write(&mut self, action: &Action) -> Result<(), Errno> {
        let Action::WriteFile { path, text } = action else { return Err(Errno::EOPNOTSUPP) };
        self.refuses.map_or(Ok(()), Err)?;
        self.texts.insert(path.clone(), text.clone());
        Ok(())
    }

    fn note(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }
}

fn turn(path: &str, hold: Hold) -> Turn {
    let write = |text: &str| Action::WriteFile { path: path.into(), text: text.into() };
    Turn {
        action: write("1"),
        undo: Some(write("0")),
        hold,
        knob: path.into(),
        site: path.into(),
        asked: "1".into(),
        before: Before::Reads("0".into()),
        read_back: Some(path.into()),
        step: None,
        moves: std::collections::BTreeMap::new(),
    }
}

fn displaced() -> LedgerError {
    LedgerError::Displaced { place: "a ledger".into() }
}

fn not_held(entry: EntryId) -> LedgerError {
    LedgerError::NotHeld { place: "a ledger".into(), entry: entry.0 }
}

impl Look for Files {
    fn identity(&self) -> &Identity {
        &self.identity
    }
    fn list(&mut self, _folder: &str) -> Result<Vec<Entry>, Errno> {
        Err(Errno::ENOENT)
    }
    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.texts.get(path).cloned().ok_or(Errno::ENOENT)
    }
    fn open(&mut self, _path: &str) -> Result<Handle, Errno> {
        Err(Errno::ENOSYS)
    }
    fn read_many(&mut self, _handles: &[Handle], _into: &mut Vec<Result<String, Errno>>) {}
    fn close(&mut self, _handle: Handle) {}}

impl Run for Files {
    fn spawn(&mut self, _job: &Job) -> Result<ProcessId, SpawnError> {
        Err(SpawnError::NotFound("nothing".into()))
    }
    fn end(&mut self, _process: ProcessId, _force: bool) {}
    fn finished(&mut self, _process: ProcessId) -> Option<Finished> {
        None
    }
}

impl Watch for Files {}

impl Device for Files {
    fn needs(&mut self, asked: &Turn) -> Option<Turn> {
        (asked.site == "group").then(|| turn("above", asked.hold))
    }
    fn prepare(&mut self, turn: &Turn) -> Result<Turn, LedgerError> {
        self.note("prepare");
        Ok(turn.clone())
    }
    fn perform(&mut self, _entry: EntryId, turn: &Turn) -> Result<Performed, LedgerError> {
        self.note("perform");
        let errno = self.write(&turn.action).err();
        Ok(Performed { errno, words: None, reads_back: self.texts.get(&turn.site).cloned() })
    }
    fn take_back(&mut self, action: &Action, entry: EntryId, _hold: Hold) -> Result<(), Errno> {
        self.note(format!("take back {}", entry.0));
        self.write(action)
    }
    fn let_go(&mut self, entries: &[EntryId]) {
        self.note(format!("let go {:?}", entries.iter().map(|entry| entry.0).collect::<Vec<_>>()));
    }
    fn closed(&mut self, entry: &OpenEntry, open: &[OpenEntry]) -> Vec<EntryId> {
        let above = open.iter().filter(|other| entry.turn.site == "group" && other.turn.site == "above");
        above.map(|above| above.id).collect()
    }
    fn lost(&self) -> Option<LedgerError> {
        self.is_lost.then(|| LedgerError::Lost { machine: "far".into(), why: "the cable".into() })
    }
    fn breaks(&self, rule: Rule) -> bool {
        self.broken == Some(rule)
    }
}

struct Scene {
    log: Log,
    machine: Ledgered<Files>,
}

impl Scene {
    fn with(refused: Option<(&'static str, Errno)>, in_place: bool) -> Scene {
        let log = Log::default();
        let store = Store { log: Rc::clone(&log), bytes: MemoryLedger::default(), refused, in_place };
        let identity = Identity {
            name: "test".into(),
            system: String::new(),
            boot_id: "boot".into(),
            address: String::new(),
            privileged: true,
            owner: 0,
        };
        let texts = ["file", "above", "group"].map(|path| (path.to_owned(), "0".to_owned())).into();
        let device = Files { log: Rc::clone(&log), identity, texts, refuses: None, is_lost: false, broken: None };
        let ledger = Ledger::load(Box::new(store), "boot").unwrap();
        Scene { log, machine: Ledgered::new(device, ledger) }
    }

    fn breaking(broken: Option<Rule>, refused: Option<(&'static str, Errno)>) -> Scene {
        let mut scene = Scene::with(refused, true);
        scene.machine.device_mut().broken = broken;
        scene
    }

    fn said(&self) -> String {
        self.log.take().join(", ")
    }

    fn act(&mut self, path: &str, hold: Hold) -> Acted {
        self.machine.act(&turn(path, hold)).unwrap()
    }

    /// Why a write to the file was not done.
    fn refused(&mut self) -> LedgerError {
        self.machine.act(&turn("file", Hold::Held)).unwrap_err()
    }

    fn undo(&mut self, entry: EntryId) -> Undone {
        self.machine.undo(entry, false).unwrap()
    }

    fn write(&mut self, path: &str, text: &str) {
        self.machine.device_mut().texts.insert(path.into(), text.into());
    }

    fn refuse(&mut self, errno: Errno) {
        self.machine.device_mut().refuses = Some(errno);
    }

    fn reads(&mut self, path: &str) -> String {
        self.machine.read(path).unwrap()
    }
}

#[test]
fn a_change_is_announced_done_and_recorded_in_this_order() {
    let mut scene = Scene::with(None, true);
    let acted = scene.act("file", Hold::Held);
    assert_eq!(scene.said(), "reserve, prepare, intent, perform, done");
    scene.machine.keep(&[acted.entry]).unwrap();
    assert_eq!(scene.said(), "kept, let go [1]");
    assert_eq!(scene.undo(acted.entry), Undone::Undone);
    assert_eq!(scene.said(), "take back 1, closed, let go [1]");
    // What is no entry is nobody's to undo.
    assert_eq!(scene.undo(acted.entry), Undone::AlreadyBack);
    assert_eq!(scene.said(), "");
    scene.refuse(Errno::EINVAL);
    assert_eq!(scene.act("file", Hold::Held).errno, Some(Errno::EINVAL));
    let said = scene.said();
    assert_eq!(said, "reserve, prepare, intent, perform, done, closed, let go [2]");
}

#[test]
fn what_is_held_is_written_again_without_a_record_and_restored_once() {
    let mut scene = Scene::with(None, true);
    scene.write("/sys/speed", "0");
    let entry = scene.act("/sys/speed", Hold::Held).entry;
    scene.said();
    for speed in 0..1_000 {
        let acted = scene.machine.rewrite(entry, &speed.to_string()).unwrap();
        assert_eq!((acted.entry, acted.reads_back), (entry, Some(speed.to_string())));
    }
    let said = scene.said();
    assert_eq!(said.matches("prepare, perform").count(), 1_000);
    assert!(!said.contains("intent") && !said.contains("done"));
    // Another owner, who only has the ledger, restores what was there before all of it.
    assert_eq!(scene.undo(entry), Undone::Undone);
    assert_eq!(scene.reads("/sys/speed"), "0");
    assert_eq!(scene.machine.rewrite(entry, "7"), Err(not_held(entry)));
    assert_eq!(scene.reads("/sys/speed"), "0");
}

#[test]
fn only_what_is_held_and_the_kernels_is_written_again() {
    let mut scene = Scene::with(None, true);
    scene.write("/sys/speed", "0");
    // A file outlives a boot, in which what reads otherwise than was recorded is somebody's edit.
    let ordinary = scene.act("file", Hold::Held).entry;
    let stays = scene.act("/sys/speed", Hold::Set).entry;
    for entry in [ordinary, stays, EntryId(77)] {
        assert_eq!(scene.machine.rewrite(entry, "7"), Err(not_held(entry)));
    }
    assert!(scene.reads("file") == "1" && scene.reads("/sys/speed") == "1");
    let mut scene = Scene::with(None, false);
    scene.write("/sys/speed", "0");
    let entry = scene.act("/sys/speed", Hold::Held).entry;
    assert_eq!(scene.machine.rewrite(entry, "7"), Err(displaced()));
}

#[test]
fn nothing_is_done_without_an_intent_and_nothing_stays_without_a_result() {
    for (refused, done) in [
        ("reserve", "reserve"),
        ("intent", "reserve, prepare, intent refused"),
        ("done", "reserve, prepare, intent, perform, done refused, take back 1"),
    ] {
        let mut scene = Scene::with(Some((refused, Errno::ENOSPC)), true);
        let error = scene.refused();
        assert!(matches!(error, LedgerError::Unwritable { errno: Errno::ENOSPC, .. }));
        assert_eq!((scene.said().as_str(), scene.reads("file").as_str()), (done, "0"));
    }
}

#[test]
fn a_ledger_that_is_no_longer_there_is_not_trusted_with_anything() {
    let displaced = displaced();
    let mut scene = Scene::with(Some(("reserve", Errno::ESTALE)), true);
    assert_eq!(scene.refused(), displaced);
    let mut scene = Scene::with(None, false);
    let acted = scene.act("file", Hold::Held);
    scene.said();
    assert_eq!(scene.machine.keep(&[acted.entry]).unwrap_err(), displaced);
    assert_eq!(scene.said(), "");
}

#[test]
fn what_a_change_needs_has_an_entry_of_its_own_and_goes_with_it() {
    let mut scene = Scene::with(None, true);
    let acted = scene.act("group", Hold::Held);
    let one = "reserve, prepare, intent, perform, done";
    assert_eq!(scene.said(), format!("{one}, {one}"));
    assert!(acted.entry == EntryId(2) && scene.reads("above") == "1");
    assert_eq!(scene.undo(acted.entry), Undone::Undone);
    let said = scene.said();
    assert_eq!(said, "take back 2, closed, let go [2], take back 1, closed, let go [1]");
    assert!(scene.reads("above") == "0" && scene.machine.open_entries().is_empty());
}

#[test]
fn a_lost_machine_is_named_whatever_went_wrong() {
    let mut scene = Scene::with(Some(("kept", Errno::ENOLINK)), true);
    let acted = scene.act("file", Hold::Held);
    scene.machine.device_mut().is_lost = true;
    let lost = scene.machine.device().lost().unwrap();
    assert_eq!(scene.machine.keep(&[acted.entry]).unwrap_err(), lost);
    // It may have been undone; nobody knows.
    assert_eq!(scene.machine.undo(acted.entry, false).unwrap_err(), lost);
}

#[test]
fn each_part_of_the_rule_can_be_broken() {
    let full = |record| Some((record, Errno::ENOSPC));
    let mut scene = Scene::breaking(Some(Rule::IntentFirst), None);
    scene.act("file", Hold::Held);
    assert_eq!(scene.said(), "reserve, prepare, perform, intent, done");

    let mut scene = Scene::breaking(Some(Rule::ResultIsRecorded), None);
    scene.act("file", Hold::Held);
    assert_eq!(scene.said(), "reserve, prepare, intent, perform");

    let mut scene = Scene::breaking(Some(Rule::UnrecordedIsTakenBack), full("done"));
    scene.refused();
    assert_eq!(scene.reads("file"), "1");

    let mut scene = Scene::breaking(Some(Rule::RefusalsAreProved), None);
    scene.refuse(Errno::EIO);
    scene.write("file", "half");
    scene.act("file", Hold::Held);
    assert_eq!(scene.machine.open_entries(), []);

    let mut scene = Scene::breaking(Some(Rule::OthersAreLeftAlone), None);
    let acted = scene.act("file", Hold::Set);
    scene.write("file", "theirs");
    assert_eq!(scene.undo(acted.entry), Undone::Undone);

    let mut scene = Scene::breaking(Some(Rule::FailedUndoStaysOpen), None);
    let acted = scene.act("file", Hold::Held);
    scene.refuse(Errno::EIO);
    scene.undo(acted.entry);
    assert_eq!(scene.machine.open_entries(), []);
}
