//! The ledger's format and bookkeeping, over a store in memory.
use std::collections::BTreeMap;

use super::*;
use crate::Hold;

mod damaged;
mod outlived;
mod places;
mod refused;

/// A machine without any files.
fn nothing(_: &str) -> Result<String, Errno> {
    Err(Errno::ENOENT)
}

type Files = BTreeMap<String, String>;

/// Files that read 0.
fn files(paths: &[&str]) -> Files {
    paths.iter().map(|path| ((*path).to_owned(), "0".to_owned())).collect()
}

fn load(store: &MemoryLedger) -> Ledger {
    booted(store, "boot1")
}

fn booted(store: &MemoryLedger, boot: &str) -> Ledger {
    Ledger::load(Box::new(store.clone()), boot).unwrap()
}

fn writing(path: &str, text: &str) -> Action {
    let (path, text) = (path.into(), text.into());
    Action::WriteFile { path, text }
}

fn turn(path: &str, from: &str, to: &str, hold: Hold) -> Turn {
    Turn {
        action: writing(path, to),
        undo: Some(writing(path, from)),
        hold,
        knob: format!("file:{path}"),
        site: path.into(),
        asked: to.into(),
        before: Before::Reads(from.into()),
        read_back: Some(path.into()),
        step: None,
        moves: BTreeMap::new(),
    }
}

/// A turn from 0 to 1 that is held.
fn held(path: &str) -> Turn {
    turn(path, "0", "1", Hold::Held)
}

/// Announces a turn in a ledger, and what came of it.
fn begin(ledger: &mut Ledger, turn: &Turn, errno: Option<Errno>, reads: &str) -> EntryId {
    let id = ledger.intend(turn, &mut nothing).unwrap();
    let reads = Some(reads.to_owned()).filter(|text| !text.is_empty());
    ledger.done(id, errno, reads, &mut |_| {}).unwrap();
    id
}

fn ids(ledger: &Ledger) -> Vec<EntryId> {
    ledger.open().iter().map(|entry| entry.id).collect()
}

/// Acts on a map of files through the ledger, as a machine would.
fn set(ledger: &mut Ledger, files: &mut Files, turn: &Turn) -> EntryId {
    let id = ledger.intend(turn, &mut nothing).unwrap();
    if let Action::WriteFile { path, text } = &turn.action {
        files.insert(path.clone(), text.clone());
    }
    ledger.done(id, None, Some(turn.asked.clone()), &mut |_| {}).unwrap();
    id
}

fn undo(ledger: &mut Ledger, files: &mut Files, id: EntryId, force: bool) -> Undone {
    let seen = files.clone();
    let mut read = |path: &str| seen.get(path).cloned().ok_or(Errno::ENOENT);
    let undone = ledger.undo(id, force, &mut read, &mut |action| {
        if let Action::WriteFile { path, text } = action {
            files.insert(path.clone(), text.clone());
        }
        Ok(())
    });
    undone.unwrap()
}

#[test]
fn entries_survive_a_reload_and_are_undone_in_three_ways() {
    let store = MemoryLedger::default();
    let mut files: Files = files(&["/etc/a", "/etc/b", "/etc/c"]);
    let mut ledger = load(&store);
    let one = |path: &&str| set(&mut ledger, &mut files, &turn(path, "0", "1", Hold::Set));
    let ids: Vec<_> = ["/etc/a", "/etc/b", "/etc/c"].iter().map(one).collect();
    files.insert("/etc/b".into(), "7".into());
    files.insert("/etc/c".into(), "0".into());

    let mut ledger = load(&store);
    assert_eq!(ledger.open().len(), 3);
    let foreign = Undone::Foreign { found: "7".into(), ours: "1".into() };
    for (id, undone) in ids.iter().zip([Undone::Undone, foreign, Undone::AlreadyBack]) {
        assert_eq!(undo(&mut ledger, &mut files, *id, false), undone);
    }
    // Somebody else's value is not overwritten.
    assert_eq!((files["/etc/a"].as_str(), files["/etc/b"].as_str()), ("0", "7"));
    assert_eq!(undo(&mut ledger, &mut files, ids[1], true), Undone::Undone);
    assert!(store.bytes.borrow().is_empty());
}

#[test]
fn what_stays_for_long_keeps_the_file_short() {
    let store = MemoryLedger::default();
    let mut files: Files = files(&["/etc/a", "/etc/b"]);
    let mut ledger = load(&store);
    let long = turn("/etc/a", "0", "1", Hold::Set);
    let stays = set(&mut ledger, &mut files, &long);
    let mut longest = 0;
    for _ in 0..1000 {
        let id = set(&mut ledger, &mut files, &held("/etc/b"));
        longest = longest.max(store.bytes.borrow().len());
        assert_eq!(undo(&mut ledger, &mut files, id, false), Undone::Undone);
    }
    assert!(longest < MAX_BYTES + 2048, "{longest} bytes");
    let mut ledger = load(&store);
    assert_eq!(ids(&ledger), [stays]);
    assert_eq!(undo(&mut ledger, &mut files, stays, false), Undone::Undone);
    assert!(files["/etc/a"] == "0" && store.bytes.borrow().is_empty());
}

#[test]
fn a_reboot_forgets_sysfs_but_not_files() {
    let store = MemoryLedger::default();
    let mut files: Files = files(&["/proc/sys/a", "/etc/b"]);
    let mut ledger = load(&store);
    for (path, undone) in [("/proc/sys/a", Undone::Rebooted), ("/etc/b", Undone::Undone)] {
        let id = set(&mut ledger, &mut files, &turn(path, "0", "1", Hold::Set));
        assert_eq!(undo(&mut booted(&store, "boot2"), &mut files, id, false), undone);
    }
}

#[test]
fn a_refused_action_leaves_nothing_open() {
    let mut ledger = load(&MemoryLedger::default());
    begin(&mut ledger, &held("/sys/a"), Some(Errno::EINVAL), "0");
    assert!(ledger.open().is_empty());
}

#[test]
fn a_refusal_is_believed_only_where_what_reads_back_is_what_was_there() {
    let place = "/proc/sys/net/ipv4/tcp_rmem";
    let known = "4096\t131072\t6291456";
    let of = |before: &str, kept: bool| {
        let undo = if kept { writing(place, "7") } else { writing(place, "4096 131072 6291456") };
        let before = match before {
            "" if kept => Before::Saved { saved: "7".into() },
            "" => Before::Outcome { outcome: known.into() },
            before => Before::Reads(before.into()),
        };
        let to = if kept { "7" } else { "8192 0 1" };
        let undo = Some(undo);
        Turn { before, undo, ..turn(place, "", to, Hold::Set) }
    };
    // What shows an outcome hides a request; what is only kept was written as it read.
    for (before, kept, errno, reads, closed) in [
        (known, false, Some(Errno::EINVAL), known, true),
        (known, false, Some(Errno::EINVAL), "8192\t131072\t6291456", false),
        (known, false, Some(Errno::EIO), "", false),
        ("", false, Some(Errno::EINVAL), known, false),
        (known, false, None, known, false),
        ("", true, Some(Errno::EINVAL), "7", true),
        ("", true, Some(Errno::EINVAL), "8", false),
    ] {
        let store = MemoryLedger::default();
        let mut ledger = load(&store);
        begin(&mut ledger, &of(before, kept), errno, reads);
        let later = load(&store).open().is_empty();
        assert_eq!((ledger.open().is_empty(), later), (closed, closed), "{errno:?} {reads:?}");
    }
}

#[test]
fn what_was_refused_in_part_is_restored() {
    let mut ledger = load(&MemoryLedger::default());
    let mut files: Files = [("/etc/a".to_owned(), "half".to_owned())].into();
    let half = turn("/etc/a", "before", "asked", Hold::Set);
    let id = begin(&mut ledger, &half, Some(Errno::ENOSPC), "half");
    assert_eq!(undo(&mut ledger, &mut files, id, false), Undone::Undone);
    assert!(files["/etc/a"] == "before" && ledger.open().is_empty());
}

#[test]
fn a_place_that_refuses_the_undo_as_it_refused_the_action_is_as_before() {
    // A limit that one may not write; a file that could not be made, behind a link that leads nowhere.
    let mut limit = turn("/sys/limit", "2000", "1000", Hold::Held);
    let mut made = turn("/etc/new", "", "1", Hold::Held);
    made.undo = Some(Action::RemoveFile { path: "/etc/new".into() });
    (limit.before, made.before) = (Before::Outcome { outcome: "2000".into() }, Before::Unknown);
    for (turn, reads, errno) in [
        (&limit, Ok("2000"), Errno::EACCES),
        (&limit, Ok("1000"), Errno::EIO),
        (&made, Err(Errno::ENOENT), Errno::EEXIST),
    ] {
        let mut ledger = load(&MemoryLedger::default());
        let mut now: Result<String, Errno> = reads.map(|_| "2000".to_owned());
        let id = ledger.intend(turn, &mut |_| now.clone()).unwrap();
        now = reads.map(str::to_owned);
        ledger.done(id, Some(errno), now.clone().ok(), &mut |_| {}).unwrap();
        assert_eq!(ledger.open().len(), 1);
        let undone = ledger.undo(id, false, &mut |_| now.clone(), &mut |_| Err(errno)).unwrap();
        let found = (undone == Undone::AlreadyBack, ledger.open().is_empty());
        assert_eq!(found, (reads != Ok("1000"), reads != Ok("1000")), "{undone:?}");
    }
}

#[test]
fn a_kernel_file_that_is_gone_is_not_waited_for() {
    let group = "/sys/fs/cgroup/load/hugetlb.2MB.max";
    // As the kernel answers a write that would make a file, by itself or through a shell.
    for errno in [Errno::ENOENT, Errno::EACCES, Errno::EPERM] {
        for (path, now, undone) in [
            (group, Err(Errno::ENOENT), Some(Undone::AlreadyBack)),
            // It is there, or may come back.
            (group, Ok("1".to_owned()), None),
            ("/etc/a", Err(Errno::ENOENT), None),
        ] {
            let mut ledger = load(&MemoryLedger::default());
            let id = begin(&mut ledger, &turn(path, "0", "1", Hold::Set), None, "1");
            let outcome = ledger.undo(id, false, &mut |_| now.clone(), &mut |_| Err(errno)).unwrap();
            let undone = undone.unwrap_or(Undone::Failed { why: errno.to_string() });
            assert_eq!(outcome, undone, "{path} {errno}");
        }
    }
}

/// A store that takes so many records and no more, and may not be replaced as a whole.
struct Full(MemoryLedger, u32, bool);

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
        if self.2 { self.0.replace(bytes) } else { Err(Errno::ENOSPC) }
    }
    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.0.set_aside(lines)
    }
}

#[test]
fn what_cannot_be_written_down_is_taken_back_unless_a_refusal_can_be_believed() {
    let refused = Some(Errno::EINVAL);
    for (errno, reads, times) in [(None, "1", 1), (refused, "0", 0), (refused, "1", 1), (refused, "half", 1)] {
        let mut ledger = Ledger::load(Box::new(Full(MemoryLedger::default(), 1, true)), "boot1").unwrap();
        let id = ledger.intend(&held("/etc/a"), &mut nothing).unwrap();
        let mut taken_back = 0;
        let done = ledger.done(id, errno, Some(reads.into()), &mut |_| taken_back += 1);
        assert!(done.is_err());
        assert_eq!((taken_back, ledger.open().len()), (times, 1), "{reads}");
    }
}

#[test]
fn a_program_that_failed_may_have_done_half_and_is_compared() {
    for (now, outcome) in [("half", Undone::Undone), ("before", Undone::AlreadyBack)] {
        let store = MemoryLedger::default();
        let mut ledger = load(&store);
        let program = |word: &str| Action::Run { argv: vec![word.into()], user: None };
        let mut failed = turn("command:show", "before", "asked", Hold::Held);
        (failed.action, failed.undo) = (program("set"), Some(program("undo")));
        let id = begin(&mut ledger, &failed, Some(Errno::EIO), now);
        // Anyone who comes after a kill finds it too.
        let mut later = load(&store);
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
    let (io, busy) = ((Errno::EIO, false), (Errno::EBUSY, false));
    for (errno, is_closed) in [io, busy, (Errno::EOPNOTSUPP, true), (Errno::EROFS, true)] {
        let mut ledger = load(&MemoryLedger::default());
        let (group, quota) = ("load".to_owned(), crate::CpuQuota { millionths: 500_000 });
        let mut turn = turn("", "", "50%", Hold::Held);
        (turn.before, turn.read_back) = (Before::Unknown, None);
        turn.undo = Some(Action::RemoveGroup { group: group.clone() });
        turn.action = Action::MakeGroup { group, quota };
        let id = begin(&mut ledger, &turn, Some(errno), "");
        let undone = ledger.undo(id, false, &mut nothing, &mut |_| Err(errno)).unwrap();
        let found = (undone == Undone::AlreadyBack, ledger.open().is_empty());
        assert_eq!(found, (is_closed, is_closed), "{errno:?}");
    }
}

/// Sets coalescing values of a card.
fn coalescing(device: &str, values: &[(&str, u32)]) -> Action {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value));
    let (device, values) = (device.into(), crate::Coalescing(values.collect()));
    Action::Coalesce { device, values }
}

#[test]
fn what_a_driver_rounds_down_comes_back_as_it_read() {
    // Steps of so many us, as a clock of the card makes them; one card takes nothing above its highest step.
    for (before, most) in [(261, 600), (819, 1_310), (5, 600), (261, 261)] {
        let rounded = |value: u32| value * 50 / 256 * 256 / 50;
        let place = "coalesce:eth0/rx-usecs";
        let set = |value: u32| coalescing("eth0", &[("rx-usecs", value)]);
        let mut ledger = load(&MemoryLedger::default());
        let mut asked = turn(place, &before.to_string(), "100", Hold::Held);
        (asked.action, asked.undo) = (set(100), Some(set(before)));
        let id = begin(&mut ledger, &asked, None, &rounded(100).to_string());
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
        let wanted = if reachable { before } else { rounded(before) };
        assert_eq!(card.get(), wanted, "{before} of at most {most}");
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
        let set = |[rx, tx]: [u32; 2]| coalescing("eth0", &[("rx-usecs", rx), ("tx-usecs", tx)]);
        let reads = |[rx, tx]: [u32; 2]| format!("{tx} {rx}");
        // As the request has its parameters, not as the alphabet.
        let place = "coalesce:eth0/tx-usecs,rx-usecs";
        let mut turn = turn(place, &reads(before), "", Hold::Held);
        (turn.action, turn.undo) = (set([100, 1_000]), Some(set(before)));
        let mut ledger = load(&MemoryLedger::default());
        let Action::Coalesce { values, .. } = &turn.action else { unreachable!() };
        stepped(&mut card, values).unwrap();
        let id = begin(&mut ledger, &turn, None, &reads(card));
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
        for (at, most, step, by) in [(0, 600, 50, 256), (1, 40_000, 10, 64)] {
            let mut shown = (0..=most).map(|value: u32| value * step / by * by / step);
            let reachable = shown.any(|value| value == before[at]);
            assert_eq!(card.get()[at], [once, before][usize::from(reachable)][at], "{before:?}");
        }
    }
}
