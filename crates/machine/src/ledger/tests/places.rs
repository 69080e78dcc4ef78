//! Entries that belong to a network namespace, a device or a boot.
use super::*;

const OURS: &str = "02:00:00:00:00:01";
const QUEUE: &str = "/sys/class/net/eth9/tx_queue_len";

/// A machine with one device of this address, where everything reads 1.
fn with_address(address: &'static str) -> impl FnMut(&str) -> Result<String, Errno> {
    move |path| match path {
        "/sys/class/net/eth9/address" if address.is_empty() => Err(Errno::ENOENT),
        "/sys/class/net/eth9/address" => Ok(format!("{address}\n")),
        _ => Ok("1\n".into()),
    }
}

fn turned(turn: &Turn, net_ns: Option<u64>) -> (Ledger, MemoryLedger, EntryId) {
    let store = MemoryLedger::default();
    let mut ledger = load(&store).in_network(net_ns);
    let id = ledger.intend(turn, &mut with_address(OURS)).unwrap();
    ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
    (ledger, store, id)
}

fn set_at(path: &str, net_ns: Option<u64>) -> (Ledger, MemoryLedger, EntryId) {
    turned(&turn(path, "0", "1", Hold::Set), net_ns)
}

/// What undoing it from somewhere else comes to, and how often something was done.
type From = (Option<u64>, &'static str, bool);

fn undo_from(store: &MemoryLedger, id: EntryId, (net_ns, address, force): From) -> (Undone, u32) {
    let mut ledger = load(store).in_network(net_ns);
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
    let (here, there) = (Some(4001), Some(4002));
    for path in ["/proc/sys/net/core/somaxconn", QUEUE, "/sys/devices/virtual/net/eth9/mtu"] {
        let (_, store, id) = set_at(path, here);
        for (force, undone) in [(false, Undone::Elsewhere), (true, Undone::GivenUp)] {
            assert_eq!(undo_from(&store, id, (there, OURS, force)), (undone, 0), "{path}");
        }
        let (_, store, id) = set_at(path, here);
        assert_eq!(undo_from(&store, id, (here, OURS, false)), (Undone::Undone, 1), "{path}");
        assert!(store.bytes.borrow().is_empty());
    }
    // This one is the whole machine's.
    let (_, store, id) = set_at("/proc/sys/vm/swappiness", here);
    assert_eq!(undo_from(&store, id, (there, "", false)), (Undone::Undone, 1));
}

#[test]
fn another_device_of_that_name_is_not_touched() {
    let ours = OURS.to_owned();
    for path in [QUEUE, "/proc/sys/net/ipv4/conf/eth9/forwarding", "/proc/sys/net/ipv6/neigh/eth9/gc_stale_time"] {
        for address in ["02:00:00:00:00:02", ""] {
            let (_, store, id) = set_at(path, None);
            let found = Some(address.to_owned()).filter(|address| !address.is_empty());
            let other = Undone::OtherDevice { device: "eth9".into(), ours: ours.clone(), found };
            assert_eq!(undo_from(&store, id, (None, address, false)), (other, 0), "{path}");
            assert_eq!(undo_from(&store, id, (None, address, true)), (Undone::GivenUp, 0), "{path}");
        }
    }
    // This names no device.
    let (_, store, id) = set_at("/proc/sys/net/ipv4/conf/all/forwarding", None);
    assert_eq!(undo_from(&store, id, (None, "", false)), (Undone::Undone, 1));
}

#[test]
fn coalescing_belongs_to_its_namespace_and_its_device() {
    let mut turn = turn("coalesce:eth9/rx-usecs", "3", "1", Hold::Set);
    let set = |value| coalescing("eth9", &[("rx-usecs", value)]);
    (turn.action, turn.undo) = (set(1), Some(set(3)));
    let (ledger, store, id) = turned(&turn, Some(4001));
    assert_eq!(undo_from(&store, id, (Some(4002), OURS, false)), (Undone::Elsewhere, 0));
    let (outcome, acts) = undo_from(&store, id, (Some(4001), "02:00:00:00:00:02", false));
    assert!(matches!(outcome, Undone::OtherDevice { .. }) && acts == 0, "{outcome:?}");
    assert!(ledger.find(id).unwrap().is_over("boot2", &mut nothing));
    // This card reads 1 whatever it is told: 3 and what may be rounded down to it are tried, then 3 stands.
    assert_eq!(undo_from(&store, id, (Some(4001), OURS, false)), (Undone::Undone, 4));
}

#[test]
fn what_another_boot_has_forgotten_is_over_and_what_lasts_is_not() {
    let (state, kernel) = (("/sys/a", true), ("/proc/sys/net/core/somaxconn", true));
    for (path, over) in [state, kernel, ("/etc/a", false)] {
        let (ledger, _, id) = set_at(path, Some(4001));
        let is_over = |boot| ledger.find(id).unwrap().is_over(boot, &mut nothing);
        assert_eq!(["boot1", "boot2", ""].map(is_over), [false, over, false], "{path}");
    }
}

#[test]
fn an_entry_without_an_origin_reads_as_before() {
    let (_, store, id) = set_at("/etc/a", Some(4001));
    // What is the same everywhere is not written.
    assert!(!String::from_utf8_lossy(&store.bytes.borrow()).contains("origin"));
    assert_eq!(load(&store).find(id).unwrap().origin, EntryOrigin::default());
}

#[test]
fn a_file_is_not_restored_through_a_link_that_leads_elsewhere_by_now() {
    let store = MemoryLedger::default();
    let mut ledger = load(&store);
    let leads_to = |place: &'static str| {
        move |path: &str| Ok(if path.starts_with("resolved:") { place.to_owned() } else { "1".to_owned() })
    };
    let id = ledger.intend(&turn("/etc/link", "0", "1", Hold::Held), &mut leads_to("/etc/one\n")).unwrap();
    ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
    let mut written = 0;
    let mut act = |_: &Action| {
        written += 1;
        Ok(())
    };
    let other = ledger.undo(id, true, &mut leads_to("/etc/other\n"), &mut act).unwrap();
    assert!(matches!(&other, Undone::Failed { why } if why.contains("/etc/one")), "{other:?}");
    assert_eq!(ledger.undo(id, false, &mut leads_to("/etc/one\n"), &mut act), Ok(Undone::Undone));
    assert_eq!(written, 1);
}

#[test]
fn machines_with_one_ledger_each_see_their_own() {
    let store = MemoryLedger::default();
    let name = |host: &str| EntryOrigin::machine_name(host, "installed together");
    let on = |host: &str, boot: &str| booted(&store, boot).on_machine(name(host));
    let mut files = files(&["/proc/sys/a", "/etc/b"]);
    let mut one = on("one", "boot1");
    let ids = ["/proc/sys/a", "/etc/b"].map(|path| set(&mut one, &mut files, &held(path)));

    // Another boot, as every machine's is to the others: nothing of it is over.
    let mut other = on("other", "boot2");
    assert_eq!((other.open().len(), other.of_others().len()), (0, 2));
    for id in &ids {
        assert_eq!(undo(&mut other, &mut files, *id, true), Undone::AlreadyBack);
    }
    assert!(files.values().all(|text| text == "1"));
    let mine = set(&mut other, &mut files, &held("/etc/c"));
    assert!(!ids.contains(&mine));
    undo(&mut other, &mut files, mine, false);

    // Restarted under another name in the same boot, it still knows its own; so does a later boot.
    assert_eq!(on("renamed", "boot1").open().len(), 2);
    let mut later = on("one", "boot3");
    for (id, undone) in ids.into_iter().zip([Undone::Rebooted, Undone::Undone]) {
        assert_eq!(undo(&mut later, &mut files, id, false), undone);
    }
    assert!(store.bytes.borrow().is_empty());
}

#[test]
fn what_a_dead_owner_held_is_not_written_over_edits_of_a_later_boot() {
    let long = "600 and more\n";
    let mut held = turn("/etc/a", long, "1\n", Hold::Held);
    held.before = Before::Reads(long.trim_end().into());
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
            let mut ledger = load(&store);
            let id = ledger.intend(&held, &mut nothing).unwrap();
            if acted {
                ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
            }
            let mut files: Files = [("/etc/a".to_owned(), now.to_owned())].into();
            let mut later = booted(&store, boot);
            let undone = matches!(undo(&mut later, &mut files, id, false), Undone::Foreign { .. });
            let found = (undone, files["/etc/a"].as_str(), later.open().len());
            assert_eq!(found, (foreign, left, usize::from(foreign)), "{now:?} in {boot}");
            undo(&mut later, &mut files, id, true);
            assert_eq!((files["/etc/a"].as_str(), later.open().len()), (long, 0));
        }
    }
}
