//! The power goes in the middle of a trial.
use crate::desk::{Desk, on_desk};
use crate::owner::Owner;

/// Work that stays the first time it runs at the setting, and tells of it. On the disk, so that the power cut keeps it.
const STAYS_ONCE: &str = "case $(cat /var/lib/knob) in 20*) [ -e /var/lib/been ] || { touch /var/lib/been; sync; \
                          echo here >/tmp/here; sleep 600; };; esac; sleep 1.2";

/// What is tried, and by this seed first: the current settings, and two knobs of which one is a file of the disk.
fn tried() -> Vec<&'static str> {
    let words =
        ["try", "-q", "-s", "a:", "-s", "b:governor=powersave file:/var/lib/knob=20", "--blocks", "2", "--seed", "2"];
    let more = ["--warmup", "0", "--settle", "0", "--metric", "real_s:lower", "--", "sh", "-c", STAYS_ONCE];
    [&words[..], &more[..]].concat()
}

/// Cuts the power as soon as the work stays, and looks at what the boot finds.
fn cut(desk: &mut Desk, before: &str) {
    desk.until("a trial holds the setting", |desk| {
        desk.states() == [3, 3] && desk.sh("cat /tmp/here 2>/dev/null; true").trim() == "here"
    });
    // The kernel would write the turned file out within half a minute anyhow; then the cut is at its worst.
    desk.sh("sync");
    desk.reset().unwrap();
    assert_eq!(desk.knobs(), before);
    assert_eq!(desk.sh("cat /var/lib/knob").trim(), "20");
}

/// Nothing is turned and the experiment has gone to its end.
fn is_whole(desk: &mut Desk, report: &serde_json::Value, before: &str) {
    assert_eq!(report["restored"]["failed"], serde_json::json!([]));
    let blocks: Vec<u64> = report["settings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["levels"]["real_s"]["trials"].as_u64())
        .collect();
    assert_eq!(blocks, [2, 2], "{report}");
    // The first trial had ended before the cut, and is not among those that were run again.
    let kept = &report["header"]["resumed"][0]["kept_events"];
    assert!(kept.as_u64().is_some_and(|kept| kept > 1), "{report}");
    assert_eq!(desk.knobs(), before);
    assert_eq!(desk.sh("cat /var/lib/knob; rm /var/lib/been").trim(), "10");
    assert_eq!(desk.json(&["info", "turned"])["turned"], serde_json::json!([]));
}

#[test]
fn after_a_power_cut_an_experiment_goes_on_where_it_was() {
    on_desk(resumes);
}

fn resumes(mut desk: Desk) {
    let before = desk.knobs();
    desk.sh("echo 10 >/var/lib/knob; rm -f /var/lib/been");
    let words: Vec<String> = tried().iter().map(|word| format!("'{word}'")).collect();
    desk.start(&format!("setsid powerband {}", words.join(" ")));
    cut(&mut desk, &before);
    let list = desk.json(&["list"]);
    let last = list["experiments"].as_array().unwrap().iter().max_by_key(|it| it["id"].as_u64()).unwrap().to_string();
    assert!(last.contains("interrupted"), "{last}");
    // A file of a disk outlives the power; the next command that turns anything puts it back first.
    let found = desk.powerband(0, &["with", "governor=performance", "--", "cat", "/var/lib/knob"]);
    assert_eq!(found.trim(), "10");
    let report = desk.json(&["resume", "-q"]);
    is_whole(&mut desk, &report, &before);
}

#[test]
fn a_machine_that_loses_its_power_is_lost_and_found_again() {
    on_desk(is_lost);
}

fn is_lost(mut desk: Desk) {
    let before = desk.knobs();
    desk.sh("echo 10 >/var/lib/knob; rm -f /var/lib/been");
    let owner = Owner::of(&desk, None);
    let running = owner.start(&tried());
    cut(&mut desk, &before);
    let (_, why) = running.end(8);
    assert!(why.contains("lost the near machine") && why.contains("resume"), "{why}");
    // Whatever turns there next puts the file back first.
    let (out, _) = owner.run(0, &["with", "governor=performance", "--", "cat", "/var/lib/knob"]);
    assert_eq!(out.trim(), "10");
    let report = owner.json(&["resume", "-q"]);
    is_whole(&mut desk, &report, &before);
}
