//! The power goes in the middle of a trial.
use powerband_bench_virtual::Guest;
use serde_json::{Value, json};

use crate::desk::{Desk, on_desk};
use crate::owner::Owner;

/// What is tried, and by this seed first: the current settings, and two knobs of which one is a file of the disk. The work stays
/// the first time it runs at the setting, and tells of it on the disk, so that the power cut keeps it.
const TRIED: &str = "try -q -s a: -s 'b:governor=powersave file:/var/lib/knob=20' --blocks 2 --seed 2 --warmup 0 --settle 0 \
    --metric real_s:lower -- sh /var/lib/work";
const WORK: &[u8] =
    b"case $(cat /var/lib/knob) in 20*) [ -e /var/lib/been ] || { touch /var/lib/been; sync; echo here >/tmp/here; \
    sleep 600; };; esac; sleep 0.5\n";

/// What is there before it is tried.
fn prepared(desk: &mut Guest) -> String {
    desk.put("/var/lib/work", WORK).unwrap();
    desk.sh("echo 10 >/var/lib/knob; sync");
    desk.knobs()
}

/// Cuts the power as soon as the work stays, and looks at what the boot finds.
fn cut(desk: &mut Guest, before: &str, by: impl Fn(&mut Guest)) {
    desk.until("a trial holds the setting", |desk| {
        desk.states() == [3, 3] && desk.sh("cat /tmp/here 2>/dev/null; true").trim() == "here"
    });
    // The kernel would write the turned file out within half a minute anyhow; then the cut is at its worst.
    desk.sh("sync");
    by(desk);
    assert_eq!(desk.knobs(), before);
    assert_eq!(desk.sh("cat /var/lib/knob").trim(), "20");
}

/// Nothing is turned and the experiment has gone to its end.
fn is_whole(desk: &mut Guest, report: &Value, before: &str) {
    assert_eq!(report["restored"]["failed"], json!([]));
    let settings = report["settings"].as_array().unwrap().iter();
    let blocks: Vec<u64> = settings.filter_map(|it| it["levels"]["real_s"]["trials"].as_u64()).collect();
    assert_eq!(blocks, [2, 2], "{report}");
    // The first trial had ended before the cut, and is not among those that were run again.
    let kept = &report["header"]["resumed"][0]["kept_events"];
    assert!(kept.as_u64().is_some_and(|kept| kept > 1), "{report}");
    assert_eq!(desk.sh("cat /var/lib/knob").trim(), "10");
    desk.is_as(before, "resumed");
}

#[test]
fn after_a_power_cut_an_experiment_goes_on_where_it_was() {
    on_desk(|desk| {
        let before = prepared(desk);
        desk.start(&format!("setsid powerband {TRIED}"));
        cut(desk, &before, |desk| desk.reset().unwrap());
        let list = desk.json("list");
        let last =
            list["experiments"].as_array().unwrap().iter().max_by_key(|it| it["id"].as_u64()).unwrap().to_string();
        assert!(last.contains("interrupted"), "{last}");
        // A file of a disk outlives the power; the next command that turns anything puts it back first.
        assert_eq!(desk.powerband(0, "with governor=performance -- cat /var/lib/knob").trim(), "10");
        let report = desk.json("resume -q");
        is_whole(desk, &report, &before);
    });
}

#[test]
fn a_machine_that_loses_its_power_is_lost_and_found_again() {
    on_desk(|desk| {
        let before = prepared(desk);
        let owner = Owner::of(desk, None);
        let running = owner.start(TRIED);
        cut(desk, &before, |desk| desk.reset().unwrap());
        let (_, why) = running.end(8);
        assert!(why.contains("lost the near machine") && why.contains("resume"), "{why}");
        // Whatever turns there next puts the file back first.
        assert_eq!(owner.run(0, "with governor=performance -- cat /var/lib/knob").0.trim(), "10");
        is_whole(desk, &owner.json("resume -q"), &before);
    });
}
