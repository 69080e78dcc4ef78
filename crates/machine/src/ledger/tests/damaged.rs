//! Ledgers that were cut off, altered or never were any.
use super::*;

/// A ledger of four entries, one of them closed, and where its lines begin.
fn written() -> (MemoryLedger, Vec<OpenEntry>) {
    let store = MemoryLedger::default();
    let mut files = BTreeMap::new();
    let mut ledger = load(&store);
    for path in ["/etc/a", "/etc/b \"PBL1\"", "/etc/c", "/etc/d"] {
        let hold = if path == "/etc/c" { Hold::Set } else { Hold::Held };
        set(&mut ledger, &mut files, &turn(path, "0", "1", hold));
    }
    ledger.close(EntryId(2), Undone::Undone).unwrap();
    let open = ledger.open().to_vec();
    (store, open)
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
        let open = [0, 1, 1, 2, 2, 3, 3, 4, 4, 3][lines];
        assert_eq!((ledger.open().len(), ledger.damage()), (open, &[][..]), "cut at {cut}");
        assert_eq!(*store.bytes.borrow(), whole[..cut]);
        let before = ledger.open().len();
        ledger.intend(&held("/etc/new"), &mut nothing).unwrap();
        let after = load(&store);
        assert_eq!((after.open().len(), after.damage()), (before + 1, &[][..]), "cut at {cut}");
    }
}

#[test]
fn an_altered_byte_is_told_of_and_costs_no_other_entry() {
    let (store, open) = written();
    let whole = store.bytes.borrow().clone();
    for place in 0..whole.len() {
        let flipped = [whole[place] ^ 1, whole[place] ^ 0x80];
        for byte in flipped.iter().chain(b"\0\n\"}1P ").copied() {
            if byte == whole[place] {
                continue;
            }
            whole.clone_into(&mut store.bytes.borrow_mut());
            store.aside.borrow_mut().clear();
            store.bytes.borrow_mut()[place] = byte;
            let mut ledger = load(&store);
            let told = format!("byte {place} made {byte:#x}");
            // What is open is as it was written, but for what came of it; nothing else is ever acted on.
            for found in ledger.open() {
                let ours = open.iter().any(|it| it.id == found.id && it.turn == found.turn);
                let again = found.id == EntryId(2) && found.turn.site == "/etc/b \"PBL1\"";
                assert!(ours || again, "{told}");
            }
            let lost = open.iter().filter(|it| ledger.find(it.id).is_none()).count();
            let mut damage = ledger.damage().to_vec();
            damage.retain(|damage| damage.matters);
            assert!(lost <= damage.len() && damage.len() <= 1, "{told}: {lost} {damage:?}");
            // Set aside, it is out of the way and still there.
            let left = ledger.open().to_vec();
            ledger.set_damage_aside().unwrap();
            let after = load(&store);
            assert!(after.damage().is_empty() && after.open() == left, "{told}");
            let kept = store.aside.borrow().clone();
            assert_eq!(kept.is_empty(), damage.is_empty(), "{told}");
            assert!(damage.iter().all(|it| kept.starts_with(&it.bytes)), "{told}");
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
    let mut told = ledger.damage().iter().map(|it| format!("{it}: {}\n", it.story())).collect::<String>();
    assert_eq!(ledger.open().len(), 2);
    let garbled = text.replacen("\"knob\":\"file:/etc/a\"", "\"kn#b\":", 1).replacen("\"id\":1", "\"id\":#", 1);
    *store.bytes.borrow_mut() = garbled.into_bytes();
    let damage = &load(&store).damage()[0].clone();
    told += &format!("{damage}: {}", damage.story());
    insta::assert_snapshot!("damage", told);
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
        assert!(matches!(ledger.damage(), [one] if !one.matters), "line {line}");
        ledger.set_damage_aside().unwrap();
        assert!(store.aside.borrow().is_empty() && load(&store).damage().is_empty());
    }
}

#[test]
fn what_was_done_and_is_announced_no_more_is_told_of() {
    let (store, _) = written();
    let text = String::from_utf8(store.bytes.borrow().clone()).unwrap();
    *store.bytes.borrow_mut() = text.split_once('\n').unwrap().1.as_bytes().to_vec();
    let mut ledger = load(&store);
    let [lost] = ledger.damage() else { panic!("{:?}", ledger.damage()) };
    assert_eq!((lost.to_string(), lost.matters), ("entry 1".to_owned(), true));
    let done = lost.bytes.clone();
    // Its number goes to no other entry, nor does its line get lost when all others are closed.
    for id in ids(&ledger) {
        ledger.close(id, Undone::Undone).unwrap();
    }
    assert!(!store.bytes.borrow().is_empty());
    ledger.set_damage_aside().unwrap();
    assert_eq!((store.aside.borrow().clone(), store.bytes.borrow().len()), (done, 0));
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
    let program = b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe\n";
    for garbage in [&program[..], b"# settings\nworkers 4\n", &[0xff; 4096]] {
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
    // So is one with a single entry. A mark that is no version's is an altered line of ours.
    let one = newer.lines().take(1).collect::<String>() + "\n";
    for text in [&newer, &one] {
        *store.bytes.borrow_mut() = text.clone().into_bytes();
        let refused = Ledger::load(Box::new(store.clone()), "boot1").err();
        let Some(LedgerError::Untrusted { why, .. }) = refused else { panic!("{refused:?}") };
        assert!(why.contains("PBL2") && *store.bytes.borrow() == text.as_bytes(), "{why}");
    }
    *store.bytes.borrow_mut() = one.replace("PBL2 ", "PBL! ").into_bytes();
    assert!(load(&store).damage()[0].matters);
}

#[test]
fn what_is_cut_off_is_named_and_takes_no_whole_record_along() {
    let (store, open) = written();
    let whole = store.bytes.borrow().clone();
    let last = Turn { knob: "sysctl.vm.swappiness".into(), ..held("/sys/last") };
    let id = load(&store).intend(&last, &mut nothing).unwrap();
    let all = store.bytes.borrow().clone();
    // The newline before the last line became another byte, and the last line is cut off.
    let late = all.len() - 40;
    for (newline, cut) in [(b'\n', late), (b'X', late), (b'X', whole.len() + 3)] {
        let mut bytes = all[..cut].to_vec();
        bytes[whole.len() - 1] = newline;
        *store.bytes.borrow_mut() = bytes;
        let mut ledger = load(&store);
        assert_eq!(ledger.open(), open, "at {cut}");
        let tail = ledger.torn_tail().unwrap().clone();
        let told = (tail.entry, tail.knob.clone(), tail.is_intent());
        let knob = Some("sysctl.vm.swappiness".to_owned());
        let wanted = if cut == late { (Some(id), knob, true) } else { (None, None, false) };
        assert_eq!(told, wanted, "at {cut}");
        // The next record is whole, and nothing before it is lost.
        let next = ledger.intend(&held("/sys/next"), &mut nothing).unwrap();
        let later = load(&store);
        let wanted: Vec<EntryId> = open.iter().map(|entry| entry.id).chain([next]).collect();
        assert_eq!((ids(&later), later.torn_tail().is_none()), (wanted, true), "at {cut}");
    }
}

#[test]
fn interrupted_while_it_is_set_aside_a_line_is_kept_twice_and_not_lost() {
    let (store, open) = written();
    store.bytes.borrow_mut()[30] ^= 1;
    let before = store.bytes.borrow().clone();
    let mut stuck = Ledger::load(Box::new(Full(store.clone(), u32::MAX, false)), "boot1").unwrap();
    assert!(matches!(stuck.set_damage_aside(), Err(LedgerError::Unwritable { .. })));
    assert_eq!((&*store.bytes.borrow(), stuck.damage().len()), (&before, 1));
    let line = store.aside.borrow().clone();
    load(&store).set_damage_aside().unwrap();
    assert_eq!(*store.aside.borrow(), [&line[..], &line].concat());
    assert_eq!(load(&store).open(), &open[1..]);
}
