//! Entries that belong to a network namespace, a device or a boot.
use super::*;
use crate::Coalescing;

const QUEUE: &str = "/sys/class/net/eth9/tx_queue_len";

/// A machine with one device of this address, where everything reads 1.
fn with_address(address: &'static str) -> impl FnMut(&str) -> Result<String, Errno> {
    move |path| match path {
        "/sys/class/net/eth9/address" if address.is_empty() => Err(Errno::ENOENT),
        "/sys/class/net/eth9/address" => Ok(format!("{address}\n")),
        _ => Ok("1\n".into()),
    }
}

fn turned(path: &str, net_ns: Option<u64>) -> (Ledger, MemoryLedger, EntryId) {
    let store = MemoryLedger::default();
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap().in_network(net_ns);
    let id = ledger.intend(&turn(path, "0", "1", Hold::Set), &mut with_address("02:00:00:00:00:01")).unwrap();
    ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
    (ledger, store, id)
}

/// What undoing it from somewhere else comes to, and how often something was done.
fn undo_from(
    store: &MemoryLedger,
    id: EntryId,
    net_ns: Option<u64>,
    address: &'static str,
    force: bool,
) -> (Undone, u32) {
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap().in_network(net_ns);
    let mut acts = 0;
    let mut act = |_: &Action| {
        acts += 1;
        Ok(())
    };
    let outcome = ledger.undo(id, force, &mut with_address(address), &mut act).unwrap();
    assert_eq!(ledger.find(id).is_some(), outcome.stays_open());
    (outcome, acts)
}

#[test]
fn another_namespace_is_not_touched_and_can_be_let_go() {
    for path in ["/proc/sys/net/core/somaxconn", QUEUE, "/sys/devices/virtual/net/eth9/mtu"] {
        let (_, store, id) = turned(path, Some(4001));
        assert_eq!(undo_from(&store, id, Some(4002), "02:00:00:00:00:01", false), (Undone::Elsewhere, 0), "{path}");
        assert_eq!(undo_from(&store, id, Some(4002), "02:00:00:00:00:01", true), (Undone::GivenUp, 0), "{path}");
        let (_, store, id) = turned(path, Some(4001));
        assert_eq!(undo_from(&store, id, Some(4001), "02:00:00:00:00:01", false), (Undone::Undone, 1), "{path}");
        assert!(store.bytes.borrow().is_empty());
    }
    let (_, store, id) = turned("/proc/sys/vm/swappiness", Some(4001));
    assert_eq!(undo_from(&store, id, Some(4002), "", false), (Undone::Undone, 1), "it is the whole machine's");
}

#[test]
fn another_device_of_that_name_is_not_touched() {
    for path in [QUEUE, "/proc/sys/net/ipv4/conf/eth9/forwarding", "/proc/sys/net/ipv6/neigh/eth9/gc_stale_time"] {
        for (found, told) in [("02:00:00:00:00:02", Some("02:00:00:00:00:02")), ("", None)] {
            let (_, store, id) = turned(path, None);
            let (ours, found_there) = ("02:00:00:00:00:01".to_owned(), told.map(str::to_owned));
            let other = Undone::OtherDevice { device: "eth9".into(), ours, found: found_there };
            assert_eq!(undo_from(&store, id, None, found, false), (other, 0), "{path}");
            assert_eq!(undo_from(&store, id, None, found, true), (Undone::GivenUp, 0), "{path}");
        }
    }
    let (_, store, id) = turned("/proc/sys/net/ipv4/conf/all/forwarding", None);
    assert_eq!(undo_from(&store, id, None, "", false), (Undone::Undone, 1), "it names no device");
}

#[test]
fn coalescing_belongs_to_its_namespace_and_its_device() {
    let coalesce = |value| {
        let values = Coalescing([("rx-usecs".to_owned(), value)].into());
        Action::Coalesce { device: "eth9".into(), values }
    };
    let mut turn = turn("coalesce:eth9/rx-usecs", "3", "1", Hold::Set);
    (turn.action, turn.undo) = (coalesce(1), Some(coalesce(3)));
    let store = MemoryLedger::default();
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap().in_network(Some(4001));
    let id = ledger.intend(&turn, &mut with_address("02:00:00:00:00:01")).unwrap();
    ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
    assert_eq!(undo_from(&store, id, Some(4002), "02:00:00:00:00:01", false), (Undone::Elsewhere, 0));
    let (outcome, acts) = undo_from(&store, id, Some(4001), "02:00:00:00:00:02", false);
    assert!(matches!(outcome, Undone::OtherDevice { .. }) && acts == 0, "{outcome:?}");
    assert!(ledger.find(id).unwrap().is_over("boot2"), "a reboot forgets it");
    // This card reads 1 whatever it is told: 3 and what may be rounded down to it are tried, then 3 stands.
    assert_eq!(undo_from(&store, id, Some(4001), "02:00:00:00:00:01", false), (Undone::Undone, 4));
}

#[test]
fn what_another_boot_has_forgotten_is_over_and_what_lasts_is_not() {
    for (path, over) in [("/sys/a", true), ("/proc/sys/net/core/somaxconn", true), ("/etc/a", false)] {
        let (ledger, _, id) = turned(path, Some(4001));
        let entry = ledger.find(id).unwrap();
        assert_eq!([entry.is_over("boot1"), entry.is_over("boot2"), entry.is_over("")], [false, over, false], "{path}");
    }
}

#[test]
fn an_entry_without_an_origin_reads_as_before() {
    let (_, store, id) = turned("/etc/a", Some(4001));
    assert!(
        !String::from_utf8_lossy(&store.bytes.borrow()).contains("origin"),
        "what is the same everywhere says nothing"
    );
    let entry = Ledger::load(Box::new(store), "boot1").unwrap().find(id).cloned().unwrap();
    assert_eq!(entry.origin, EntryOrigin::default());
}

#[test]
fn machines_with_one_ledger_each_see_their_own() {
    let store = MemoryLedger::default();
    let name = |host: &str| EntryOrigin::machine_name(host, "installed together");
    let on = |host: &str, boot: &str| Ledger::load(Box::new(store.clone()), boot).unwrap().on_machine(name(host));
    let mut files: BTreeMap<_, _> = ["/sys/a", "/etc/b"].map(|path| (path.to_owned(), "0".to_owned())).into();
    let mut one = on("one", "boot1");
    let ids: Vec<EntryId> =
        ["/sys/a", "/etc/b"].map(|path| set(&mut one, &mut files, &turn(path, "0", "1", Hold::Held))).into();

    // Another boot, as every machine's is to the others: nothing of it is over.
    let mut other = on("other", "boot2");
    assert!(other.open().is_empty());
    assert_eq!(other.of_others().len(), 2);
    for id in &ids {
        assert_eq!(undo(&mut other, &mut files, *id, true), Undone::AlreadyBack);
    }
    assert_eq!((files["/sys/a"].as_str(), files["/etc/b"].as_str()), ("1", "1"), "not ours to touch");
    let mine = set(&mut other, &mut files, &turn("/etc/c", "0", "1", Hold::Held));
    assert!(!ids.contains(&mine));
    undo(&mut other, &mut files, mine, false);

    // Restarted under another name in the same boot, it still knows its own; so does a later boot.
    assert_eq!(on("renamed", "boot1").open().len(), 2);
    let mut later = on("one", "boot3");
    assert_eq!(undo(&mut later, &mut files, ids[0], false), Undone::Rebooted);
    assert_eq!(undo(&mut later, &mut files, ids[1], false), Undone::Undone);
    assert!(store.bytes.borrow().is_empty());
}

#[test]
fn what_a_dead_owner_held_is_not_written_over_edits_of_a_later_boot() {
    let held = |before: &str, asked: &str| Turn {
        before: Some(before.trim_end().into()),
        ..turn("/etc/a", before, asked, Hold::Held)
    };
    let (long, short) = ("600 and more\n", "1\n");
    for (now, boot, left, foreign) in [
        // In the boot it was held in, what somebody else writes is a disturbance.
        ("mended by hand\n", "boot1", long, false),
        ("mended by hand\n", "boot2", "mended by hand\n", true),
        ("1\n", "boot2", long, false),
        // The power was cut before the rest of the longer text was cut off.
        ("1\n0 and more\n", "boot2", long, false),
        ("600 and more\n", "boot2", long, false),
    ] {
        for acted in [true, false] {
            let store = MemoryLedger::default();
            let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap();
            let id = ledger.intend(&held(long, short), &mut nothing).unwrap();
            if acted {
                ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
            }
            let mut files: BTreeMap<_, _> = [("/etc/a".to_owned(), now.to_owned())].into();
            let mut later = Ledger::load(Box::new(store), boot).unwrap();
            let undone = undo(&mut later, &mut files, id, false);
            assert_eq!(matches!(undone, Undone::Foreign { .. }), foreign, "{now:?} in {boot}: {undone:?}");
            assert_eq!(
                (files["/etc/a"].as_str(), later.open().len()),
                (left, usize::from(foreign)),
                "{now:?} in {boot}"
            );
            undo(&mut later, &mut files, id, true);
            assert_eq!((files["/etc/a"].as_str(), later.open().len()), (long, 0));
        }
    }
}
