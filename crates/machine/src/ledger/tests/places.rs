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

fn turned(path: &str, net_ns: Option<u64>) -> (Ledger, Shared, EntryId) {
    let store = Shared::default();
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap().in_network(net_ns);
    let id = ledger.intend(&turn(path, "0", "1", Hold::Set), &mut with_address("02:00:00:00:00:01")).unwrap();
    ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
    (ledger, store, id)
}

/// What undoing it from somewhere else comes to, and how often something was done.
fn undo_from(store: &Shared, id: EntryId, net_ns: Option<u64>, address: &'static str, force: bool) -> (Undone, u32) {
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
        assert!(store.0.borrow().is_empty());
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
    let store = Shared::default();
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
    assert!(!String::from_utf8_lossy(&store.0.borrow()).contains("origin"), "what is the same everywhere says nothing");
    let entry = Ledger::load(Box::new(store), "boot1").unwrap().find(id).cloned().unwrap();
    assert_eq!(entry.origin, Origin::default());
}
