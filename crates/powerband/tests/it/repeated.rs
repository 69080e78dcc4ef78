//! The same words give the same journal, to the byte, on every machine and in every build.
use crate::desk::Desk;

/// FNV-1a of the events of `--seed 7 run plans/router.toml`, the header left out, debug and release alike. Whoever
/// changes the model, the plan or the statistics on purpose changes this one line; the test prints the new value.
const ROUTER_SEED_7: u64 = 0x8072_9f69_1694_4cf2;

/// Events of the router's plan under these options.
fn router(words: &[&str]) -> Vec<String> {
    let desk = Desk::new();
    desk.run(words).ended(0);
    desk.journal()
}

fn fnv1a(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_same_seed_gives_the_same_journal_and_another_seed_another() {
    let first = router(&["--seed", "7", "run", "plans/router.toml"]);
    assert!(first.len() > 50, "{} events", first.len());
    assert_eq!(
        first,
        router(&["run", "plans/router.toml", "--seed", "7"]),
        "the option stands before or behind the verb"
    );
    assert_ne!(first, router(&["--seed", "8", "run", "plans/router.toml"]));
}

#[test]
fn a_machine_is_named_before_or_behind_the_verb() {
    let plan = ["run", "plans/counter.toml", "--blocks", "2"];
    let before = router(&[&["--machine", "sim:quadcore"], &plan[..]].concat());
    let behind = router(&[&plan[..], &["--machine", "sim:quadcore"]].concat());
    assert_eq!(before, behind);
    assert_eq!(before, router(&plan), "the plan names the same machine");
}

#[test]
fn a_seed_behind_the_machines_name_is_its_seed() {
    let plan = ["run", "plans/counter.toml", "--blocks", "2", "--machine"];
    let noise = |lines: Vec<String>| lines.into_iter().filter(|line| line.contains("trial_done")).collect::<Vec<_>>();
    let one = noise(router(&[&plan[..], &["sim:quadcore#1"]].concat()));
    let two = noise(router(&[&plan[..], &["sim:quadcore#2"]].concat()));
    assert_ne!(one, two);
    assert_eq!(two, noise(router(&[&plan[..], &["sim:quadcore#2"]].concat())));
}

#[test]
fn debug_and_release_give_the_journal_that_is_written_down() {
    let lines = router(&["--seed", "7", "run", "plans/router.toml"]);
    let hash = fnv1a(&lines);
    assert_eq!(hash, ROUTER_SEED_7, "the journal is now 0x{hash:016x}; if that was meant, write it into ROUTER_SEED_7");
}

#[test]
fn what_is_shown_again_is_what_was_shown() {
    let desk = Desk::new();
    let first = desk.report(&["run", "plans/router.toml"]);
    let again = desk.report(&["show", "last"]);
    assert_eq!(first, again);
    assert_eq!(desk.run(&["export", "1"]).ended(0).report(), first);
    let text = desk.run(&["show"]).ended(0).out;
    assert!(text.contains("\n500MHz (the knee): same throughput within 5 %, "), "{text}");
}
