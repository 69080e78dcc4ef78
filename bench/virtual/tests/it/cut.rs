//! The power goes in the middle of a trial.
use crate::desk::desk;

#[test]
fn a_power_cut_amid_a_trial_leaves_nothing_turned_and_keeps_the_experiment() {
    let Some(mut desk) = desk() else { return };
    let before = desk.knobs();
    let kept = desk.json(&["list"])["experiments"].as_array().map_or(0, Vec::len);
    desk.sh("echo 10 >/var/lib/knob");
    // The load itself tells that it runs at the setting, and stays: before, every setting is turned once for a moment.
    desk.start(
        "setsid powerband try -s a: -s 'b:governor=powersave file:/var/lib/knob=20' --warmup 0 --settle 0 --blocks 500 \
         --margin 0.01% -- sh -c 'case $(cat /var/lib/knob) in 20*) echo here >/tmp/here; sleep 600;; esac'",
    );
    desk.until("a trial holds the setting", |desk| {
        desk.states() == [3, 3] && desk.sh("cat /tmp/here 2>/dev/null; true").trim() == "here"
    });
    // The kernel would write the turned file out within half a minute anyhow; then the cut is at its worst.
    desk.sh("sync");
    desk.reset().unwrap();
    assert_eq!(desk.knobs(), before);
    let list = desk.json(&["list"]);
    assert_eq!(list["experiments"].as_array().map_or(0, Vec::len), kept + 1, "{list}");
    // A file of a disk outlives the power; the next command that turns anything puts it back first.
    assert_eq!(desk.sh("cat /var/lib/knob").trim(), "20");
    desk.powerband(0, &["with", "governor=performance", "--", "true"]);
    assert_eq!(desk.sh("cat /var/lib/knob").trim(), "10");
    assert_eq!(desk.json(&["info", "turned"])["turned"], serde_json::json!([]));
    assert_eq!(desk.knobs(), before);
}
