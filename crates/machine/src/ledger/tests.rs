//! The ledger's format and bookkeeping, over a store in memory.
use std::collections::BTreeMap;

use super::*;
use crate::Hold;

mod damaged;
mod places;

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
    ledger.done(id, None, Some(turn.asked.clone()), &mut |_| {}).unwrap();
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
    let store = MemoryLedger::default();
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
    assert!(store.bytes.borrow().is_empty(), "nothing open, nothing kept");
}

#[test]
fn what_stays_for_long_keeps_the_file_short() {
    let store = MemoryLedger::default();
    let mut files: BTreeMap<_, _> = ["/etc/a", "/etc/b"].map(|p| (p.to_owned(), "0".to_owned())).into();
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap();
    let stays = set(&mut ledger, &mut files, &turn("/etc/a", "0", "1", Hold::Set));
    let mut longest = 0;
    for _ in 0..1000 {
        let held = set(&mut ledger, &mut files, &turn("/etc/b", "0", "1", Hold::Held));
        longest = longest.max(store.bytes.borrow().len());
        assert_eq!(undo(&mut ledger, &mut files, held, false), Undone::Undone);
    }
    assert!(longest < MAX_BYTES + 2048, "{longest} bytes");
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap();
    assert_eq!(ledger.open().iter().map(|entry| entry.id).collect::<Vec<_>>(), [stays]);
    assert_eq!(undo(&mut ledger, &mut files, stays, false), Undone::Undone);
    assert_eq!((files["/etc/a"].as_str(), store.bytes.borrow().len()), ("0", 0));
}

#[test]
fn a_reboot_forgets_sysfs_but_not_files() {
    let store = MemoryLedger::default();
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
    ledger.done(id, Some(Errno::EINVAL), Some("0".into()), &mut |_| {}).unwrap();
    assert!(ledger.open().is_empty());
}

#[test]
fn a_refusal_is_believed_only_where_what_reads_back_is_what_was_there() {
    let write = |before: Option<&str>, to: &str| Turn {
        before: before.map(str::to_owned),
        ..turn("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456", to, Hold::Set)
    };
    let known = Some("4096\t131072\t6291456");
    for (turn, errno, reads, closed) in [
        (write(known, "8192 0 1"), Some(Errno::EINVAL), known, true),
        (write(known, "8192 0 1"), Some(Errno::EINVAL), Some("8192\t131072\t6291456"), false),
        (write(known, "8192 0 1"), Some(Errno::EIO), None, false),
        // What shows an outcome hides a request.
        (write(None, "8192 0 1"), Some(Errno::EINVAL), known, false),
        (write(known, "8192 0 1"), None, known, false),
        // What is only kept was written as it read.
        (Turn { undo: Some(write(None, "7").action), ..write(None, "7") }, Some(Errno::EINVAL), Some("7"), true),
        (Turn { undo: Some(write(None, "7").action), ..write(None, "7") }, Some(Errno::EINVAL), Some("8"), false),
    ] {
        let store = MemoryLedger::default();
        let mut ledger = Ledger::load(Box::new(store.clone()), "boot").unwrap();
        let id = ledger.intend(&turn, &mut nothing).unwrap();
        ledger.done(id, errno, reads.map(str::to_owned), &mut |_| panic!("it was written down")).unwrap();
        let later = Ledger::load(Box::new(store), "boot").unwrap();
        assert_eq!(
            (ledger.open().is_empty(), later.open().is_empty()),
            (closed, closed),
            "{errno:?} {reads:?} {turn:?}"
        );
    }
}

#[test]
fn what_was_refused_in_part_is_restored() {
    let mut ledger = Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap();
    let mut files: BTreeMap<String, String> = [("/etc/a".to_owned(), "half".to_owned())].into();
    let id = ledger.intend(&turn("/etc/a", "before", "asked", Hold::Set), &mut nothing).unwrap();
    ledger.done(id, Some(Errno::ENOSPC), Some("half".into()), &mut |_| {}).unwrap();
    assert_eq!(undo(&mut ledger, &mut files, id, false), Undone::Undone);
    assert_eq!(files["/etc/a"], "before");
    assert!(ledger.open().is_empty());
}

#[test]
fn a_place_that_refuses_the_undo_as_it_refused_the_action_is_as_before() {
    // A limit that one may not write; a file that could not be made, behind a link that leads nowhere.
    let limit = Turn { before: None, ..turn("/sys/limit", "2000", "1000", Hold::Held) };
    let made =
        Turn { undo: Some(Action::RemoveFile { path: "/etc/new".into() }), ..turn("/etc/new", "", "1", Hold::Held) };
    for (turn, reads, errno) in [
        (&limit, Ok("2000"), Errno::EACCES),
        (&limit, Ok("1000"), Errno::EIO),
        (&Turn { before: None, ..made }, Err(Errno::ENOENT), Errno::EEXIST),
    ] {
        let mut ledger = Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap();
        let mut now: Result<String, Errno> = reads.map(|_| "2000".to_owned());
        let id = ledger.intend(turn, &mut |_| now.clone()).unwrap();
        now = reads.map(str::to_owned);
        ledger.done(id, Some(errno), now.clone().ok(), &mut |_| {}).unwrap();
        assert_eq!(ledger.open().len(), 1);
        let undone = ledger.undo(id, false, &mut |_| now.clone(), &mut |_| Err(errno)).unwrap();
        let is_back = reads != Ok("1000");
        assert_eq!((undone == Undone::AlreadyBack, ledger.open().is_empty()), (is_back, is_back), "{undone:?}");
    }
}

/// A store that takes so many records and no more.
struct Full(MemoryLedger, u32);

impl LedgerStore for Full {
    fn place(&self) -> String {
        self.0.place()
    }
    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        self.0.load()
    }
    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.1 = self.1.checked_sub(1).ok_or(Errno::ENOSPC)?;
        self.0.append(bytes)
    }
    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.0.replace(bytes)
    }
    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.0.set_aside(lines)
    }
}

#[test]
fn what_cannot_be_written_down_is_taken_back_unless_a_refusal_can_be_believed() {
    for (errno, reads, times) in
        [(None, "1", 1), (Some(Errno::EINVAL), "0", 0), (Some(Errno::EINVAL), "1", 1), (Some(Errno::EINVAL), "half", 1)]
    {
        let mut ledger = Ledger::load(Box::new(Full(MemoryLedger::default(), 1)), "boot").unwrap();
        let id = ledger.intend(&turn("/etc/a", "0", "1", Hold::Held), &mut nothing).unwrap();
        let mut taken_back = 0;
        let done = ledger.done(id, errno, Some(reads.into()), &mut |_| taken_back += 1);
        assert!(done.is_err());
        assert_eq!((taken_back, ledger.open().len()), (times, 1), "{errno:?} {reads}");
    }
}

#[test]
fn a_program_that_failed_may_have_done_half_and_is_compared() {
    for (now, outcome) in [("half", Undone::Undone), ("before", Undone::AlreadyBack)] {
        let store = MemoryLedger::default();
        let mut ledger = Ledger::load(Box::new(store.clone()), "boot").unwrap();
        let program = |word: &str| Action::Run { argv: vec![word.into()], user: None };
        let place = crate::CommandPlace { line: "show", user: None }.to_string();
        let undo = Some(program("undo"));
        let failed = Turn { action: program("set"), undo, ..turn(&place, "before", "asked", Hold::Held) };
        let id = ledger.intend(&failed, &mut nothing).unwrap();
        ledger.done(id, Some(Errno::EIO), Some(now.into()), &mut |_| {}).unwrap();
        // Anyone who comes after a kill finds it too.
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
fn a_group_whose_making_and_removal_are_refused_alike_may_be_there() {
    for (errno, is_closed) in
        [(Errno::EIO, false), (Errno::EBUSY, false), (Errno::EOPNOTSUPP, true), (Errno::EROFS, true)]
    {
        let mut ledger = Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap();
        let group = || "load".to_owned();
        let turn = Turn {
            action: Action::MakeGroup { group: group(), quota: crate::CpuQuota { millionths: 500_000 } },
            undo: Some(Action::RemoveGroup { group: group() }),
            before: None,
            read_back: None,
            ..turn("", "", "50%", Hold::Held)
        };
        let id = ledger.intend(&turn, &mut nothing).unwrap();
        ledger.done(id, Some(errno), None, &mut |_| {}).unwrap();
        let undone = ledger.undo(id, false, &mut nothing, &mut |_| Err(errno)).unwrap();
        assert_eq!((undone == Undone::AlreadyBack, ledger.open().is_empty()), (is_closed, is_closed), "{errno:?}");
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
        ledger.done(id, None, Some(rounded(100).to_string()), &mut |_| {}).unwrap();
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

/// A driver of two timers that counts in steps, checks both values of a request, and takes nothing above its highest steps.
fn stepped(card: &mut [u32; 2], asked: &crate::Coalescing) -> Result<(), Errno> {
    let of = |name, now| asked.get(name).unwrap_or(now);
    let [rx, tx] = [of("rx-usecs", card[0]), of("tx-usecs", card[1])];
    if rx > 600 || tx > 40_000 || rx > tx {
        return Err(Errno::EINVAL);
    }
    *card = [rx * 50 / 256 * 256 / 50, tx * 10 / 64 * 64 / 10];
    Ok(())
}

#[test]
fn values_of_one_request_that_a_driver_rounds_come_back_together() {
    for before in [[261, 40_000], [261, 38_406], [5, 6], [261, 300]] {
        let mut card = [0, 0];
        let set = |[rx, tx]: [u32; 2]| {
            let values = [("rx-usecs".to_owned(), rx), ("tx-usecs".to_owned(), tx)];
            Action::Coalesce { device: "eth0".into(), values: crate::Coalescing(values.into()) }
        };
        let reads = |[rx, tx]: [u32; 2]| format!("{tx} {rx}");
        // As the request has its parameters, not as the alphabet.
        let place = "coalesce:eth0/tx-usecs,rx-usecs";
        let turn =
            Turn { action: set([100, 1_000]), undo: Some(set(before)), ..turn(place, &reads(before), "", Hold::Held) };
        let mut ledger = Ledger::load(Box::new(MemoryLedger::default()), "boot").unwrap();
        let id = ledger.intend(&turn, &mut nothing).unwrap();
        let asked = crate::Coalescing([("rx-usecs".to_owned(), 100), ("tx-usecs".to_owned(), 1_000)].into());
        stepped(&mut card, &asked).unwrap();
        ledger.done(id, None, Some(reads(card)), &mut |_| {}).unwrap();
        let card = std::cell::Cell::new(card);
        let mut read = |path: &str| match path {
            _ if path == place => Ok(reads(card.get()) + "\n"),
            _ => Err(Errno::ENOENT),
        };
        let undone = ledger.undo(id, false, &mut read, &mut |action| {
            let Action::Coalesce { values, .. } = action else { return Err(Errno::EINVAL) };
            let mut now = card.get();
            stepped(&mut now, values).map(|()| card.set(now))
        });
        assert_eq!(undone.unwrap(), Undone::Undone);
        // What the driver can show at all comes back as it read; the other value stays as near as it was.
        let mut once = [0, 0];
        let Action::Coalesce { values, .. } = set(before) else { unreachable!() };
        stepped(&mut once, &values).unwrap();
        for (place, most) in [600, 40_000].into_iter().enumerate() {
            let shows = |value: u32| if place == 0 { value * 50 / 256 * 256 / 50 } else { value * 10 / 64 * 64 / 10 };
            let reachable = (0..=most).any(|value| shows(value) == before[place]);
            let wanted = if reachable { before[place] } else { once[place] };
            assert_eq!(card.get()[place], wanted, "{before:?}");
        }
    }
}
