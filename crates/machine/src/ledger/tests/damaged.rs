//! Ledgers that were cut off, altered or never were any.
use super::*;

/// A ledger of four entries, one of them closed, and where its lines begin.
fn written() -> (MemoryLedger, Vec<OpenEntry>) {
    let store = MemoryLedger::default();
    let mut files = BTreeMap::new();
    let mut ledger = Ledger::load(Box::new(store.clone()), "boot1").unwrap();
    let hold = |path: &str| if path == "/etc/c" { Hold::Set } else { Hold::Held };
    for path in ["/etc/a", "/etc/b \"PBL1\"", "/etc/c", "/etc/d"] {
        set(&mut ledger, &mut files, &turn(path, "0", "1", hold(path)));
    }
    ledger.close(EntryId(2), Undone::Undone).unwrap();
    let open = ledger.open().to_vec();
    (store, open)
}

fn load(store: &MemoryLedger) -> Ledger {
    Ledger::load(Box::new(store.clone()), "boot1").unwrap()
}

#[test]
fn a_torn_tail_was_never_acted_on() {
    let (store, _) = written();
    let whole = store.bytes.borrow().clone();
    for cut in 0..whole.len() {
        *store.bytes.borrow_mut() = whole[..cut].to_vec();
        let mut ledger = load(&store);
        // Whole but for its newline is whole.
        let lines = whole[..=cut].iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(ledger.open().len(), [0, 1, 1, 2, 2, 3, 3, 4, 4, 3][lines], "cut at {cut}");
        assert_eq!(ledger.damage(), [], "cut at {cut}");
        assert_eq!(*store.bytes.borrow(), whole[..cut], "looking writes nothing");
        let before = ledger.open().len();
        ledger.intend(&turn("/etc/new", "0", "1", Hold::Held), &mut nothing).unwrap();
        assert_eq!(load(&store).open().len(), before + 1, "cut at {cut}");
        assert_eq!(load(&store).damage(), [], "cut at {cut}");
    }
}

#[test]
fn an_altered_byte_is_told_of_and_costs_no_other_entry() {
    let (store, open) = written();
    let whole = store.bytes.borrow().clone();
    for place in 0..whole.len() {
        for byte in [whole[place] ^ 1, whole[place] ^ 0x80, 0, b'\n', b'"', b'}', b'1', b'P', b' '] {
            if byte == whole[place] {
                continue;
            }
            whole.clone_into(&mut store.bytes.borrow_mut());
            store.aside.borrow_mut().clear();
            store.bytes.borrow_mut()[place] = byte;
            let mut ledger = load(&store);
            let told = format!("byte {place} made {byte:#x}");
            // What is open is as it was written, but for what came of it; nothing else is ever acted on.
            let is_ours = |found: &OpenEntry| open.iter().any(|it| it.id == found.id && it.turn == found.turn);
            let again = |found: &OpenEntry| found.id == EntryId(2) && found.turn.site == "/etc/b \"PBL1\"";
            assert!(ledger.open().iter().all(|found| is_ours(found) || again(found)), "{told}");
            let lost = open.iter().filter(|it| ledger.find(it.id).is_none()).count();
            let damage: Vec<Damage> = ledger.damage().iter().filter(|damage| damage.matters).cloned().collect();
            assert!(lost <= damage.len() && lost <= 1 && damage.len() <= 1, "{told}: {lost} {damage:?}");
            // Set aside, it is out of the way and still there.
            let left = ledger.open().to_vec();
            ledger.set_damage_aside().unwrap();
            let after = load(&store);
            assert_eq!((after.damage(), after.open()), (&[][..], &left[..]), "{told}");
            let kept = store.aside.borrow().clone();
            assert_eq!(kept.is_empty(), damage.is_empty(), "{told}");
            assert!(damage.iter().all(|damage| kept.starts_with(&damage.bytes)), "{told}");
        }
    }
}

#[test]
fn it_says_which_entry_it_was() {
    let (store, _) = written();
    let text = String::from_utf8(store.bytes.borrow().clone()).unwrap();
    let altered = text.replacen("\"asked\":\"1\"", "\"asked\":\"2\"", 1);
    *store.bytes.borrow_mut() = altered.into_bytes();
    let ledger = load(&store);
    let told: Vec<String> = ledger.damage().iter().map(|damage| format!("{damage}: {}", damage.story())).collect();
    assert_eq!(told, ["entry 1: it set file:/etc/a, which read 0 before"]);
    assert_eq!(ledger.open().len(), 2);
    let garbled = text.replacen("\"knob\":\"file:/etc/a\"", "\"kn#b\":", 1).replacen("\"id\":1", "\"id\":#", 1);
    *store.bytes.borrow_mut() = garbled.into_bytes();
    let damage = &load(&store).damage()[0].clone();
    assert_eq!((damage.to_string(), damage.story()), ("line 1".into(), "it no longer says what it set".into()));
}

#[test]
fn what_was_closed_later_is_no_loss() {
    let (store, _) = written();
    let text = String::from_utf8(store.bytes.borrow().clone()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (line, field) in [(2, "\"asked\""), (3, "\"errno\""), (8, "\"outcome\"")] {
        let mut broken: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        broken[line] = broken[line].replacen(field, "\"Xsked\"", 1);
        *store.bytes.borrow_mut() = broken.concat().into_bytes();
        let mut ledger = load(&store);
        let harmless: Vec<bool> = ledger.damage().iter().map(|damage| damage.matters).collect();
        assert_eq!(harmless, [false], "line {line}");
        ledger.set_damage_aside().unwrap();
        assert!(store.aside.borrow().is_empty() && load(&store).damage().is_empty());
    }
}

#[test]
fn damage_is_kept_until_somebody_sets_it_aside() {
    let (store, open) = written();
    store.bytes.borrow_mut()[30] ^= 1;
    let mut ledger = load(&store);
    for entry in &open[1..] {
        ledger.close(entry.id, Undone::Undone).unwrap();
    }
    assert!(ledger.open().is_empty() && !store.bytes.borrow().is_empty());
    assert_eq!(load(&store).damage().len(), 1);
    ledger.set_damage_aside().unwrap();
    assert!(store.bytes.borrow().is_empty() && !store.aside.borrow().is_empty());
}

#[test]
fn what_never_was_a_ledger_is_refused() {
    for garbage in [&b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe\n"[..], b"# settings\nworkers 4\n", &[0xff; 4096]] {
        let store = MemoryLedger::default();
        *store.bytes.borrow_mut() = garbage.to_vec();
        let refused = Ledger::load(Box::new(store.clone()), "boot1").err();
        assert!(matches!(refused, Some(LedgerError::Untrusted { .. })), "{refused:?}");
        assert_eq!(*store.bytes.borrow(), garbage);
    }
}

#[test]
fn a_ledger_of_another_version_is_left_to_its_powerband() {
    let (store, _) = written();
    let newer = String::from_utf8(store.bytes.borrow().clone()).unwrap().replace("PBL1 ", "PBL2 ");
    *store.bytes.borrow_mut() = newer.clone().into_bytes();
    let refused = Ledger::load(Box::new(store.clone()), "boot1").err().unwrap().to_string();
    assert!(refused.contains("another version, PBL2"), "{refused}");
    assert_eq!(*store.bytes.borrow(), newer.as_bytes());
    // So is one with a single entry. A mark that is no version's is an altered line of ours.
    let one = newer.lines().take(1).collect::<String>() + "\n";
    *store.bytes.borrow_mut() = one.clone().into_bytes();
    let refused = Ledger::load(Box::new(store.clone()), "boot1").err().unwrap().to_string();
    assert!(refused.contains("another version, PBL2"), "{refused}");
    *store.bytes.borrow_mut() = one.replace("PBL2 ", "PBL! ").into_bytes();
    assert!(load(&store).damage()[0].matters);
}

#[test]
fn what_is_cut_off_is_named_and_takes_no_whole_record_along() {
    let (store, open) = written();
    let whole = store.bytes.borrow().clone();
    let last = Turn { knob: "sysctl.vm.swappiness".into(), ..turn("/sys/last", "0", "1", Hold::Held) };
    let id = load(&store).intend(&last, &mut nothing).unwrap();
    let all = store.bytes.borrow().clone();
    // The newline before the last line became another byte, and the last line is cut off.
    for (newline, cut) in [(b'\n', all.len() - 40), (b'X', all.len() - 40), (b'X', whole.len() + 3)] {
        let mut bytes = all[..cut].to_vec();
        bytes[whole.len() - 1] = newline;
        *store.bytes.borrow_mut() = bytes;
        let mut ledger = load(&store);
        assert_eq!(ledger.open(), open, "at {cut}");
        let tail = ledger.torn_tail().unwrap().clone();
        let told = (cut > whole.len() + 3).then(|| (Some(id), Some("sysctl.vm.swappiness".to_owned())));
        assert_eq!((tail.entry, tail.knob.clone()), told.unwrap_or_default(), "at {cut}");
        assert_eq!(tail.is_intent(), cut > whole.len() + 3);
        // The next record is whole, and nothing before it is lost.
        let next = ledger.intend(&turn("/sys/next", "0", "1", Hold::Held), &mut nothing).unwrap();
        let later = load(&store);
        let ids: Vec<EntryId> = open.iter().map(|entry| entry.id).chain([next]).collect();
        assert_eq!(later.open().iter().map(|entry| entry.id).collect::<Vec<_>>(), ids, "at {cut}");
        assert!(later.torn_tail().is_none());
    }
}

/// A store whose whole file cannot be replaced: a full disk, or a death right before it.
struct Stuck(MemoryLedger);

impl LedgerStore for Stuck {
    fn place(&self) -> String {
        self.0.place()
    }
    fn load(&mut self) -> Result<Vec<u8>, LedgerError> {
        self.0.load()
    }
    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.0.append(bytes)
    }
    fn replace(&mut self, _: &[u8]) -> Result<(), Errno> {
        Err(Errno::ENOSPC)
    }
    fn set_aside(&mut self, lines: &[u8]) -> Result<(), Errno> {
        self.0.set_aside(lines)
    }
}

#[test]
fn interrupted_while_it_is_set_aside_a_line_is_kept_twice_and_not_lost() {
    let (store, open) = written();
    store.bytes.borrow_mut()[30] ^= 1;
    let before = store.bytes.borrow().clone();
    let mut stuck = Ledger::load(Box::new(Stuck(store.clone())), "boot1").unwrap();
    assert!(matches!(stuck.set_damage_aside(), Err(LedgerError::Unwritable { .. })));
    assert_eq!((&*store.bytes.borrow(), stuck.damage().len()), (&before, 1));
    let line = store.aside.borrow().clone();
    load(&store).set_damage_aside().unwrap();
    assert_eq!(*store.aside.borrow(), [&line[..], &line].concat());
    assert_eq!(load(&store).open(), &open[1..]);
}
