//! The daemon cpuspeed by powerband, on a real kernel's cpufreq: what it sets, what it leaves when killed, and compared with governors.
use crate::desk::{Desk, on_desk};

#[test]
fn pace_sets_real_frequencies_a_killed_one_leaves_nothing_and_it_is_compared_with_a_governor() {
    on_desk(|desk| {
        let before = desk.knobs();
        let pid = desk.start("setsid powerband pace cpuspeed -i 2 -v");
        desk.until("the lowest frequency is set on both CPUs", |desk| {
            let knobs = desk.knobs();
            let is_set = (0..2).all(|cpu| knobs.contains(&format!("policy{cpu}/scaling_governor: userspace")));
            is_set && desk.states() == [3, 3]
        });
        // A CPU that is busy goes to the highest at once.
        let busy = desk.start("taskset 1 sh -c 'while :; do :; done'");
        desk.until("the busy CPU runs at the highest frequency", |desk| desk.states()[0] == 0);
        desk.sh(&format!("kill {busy}; kill -KILL {pid}"));
        desk.until("the guardian has restored everything", |desk| desk.knobs() == before);
        desk.until_nobody();

        let words = "try -q 'daemon=none,powerband pace cpuspeed -i 2' --load counter --for 2s --runs 2 -w 0";
        let report = desk.json(words);
        let settings = report["settings"].as_array().unwrap();
        assert_eq!(settings.len(), 2, "{report}");
        let cpu_s = |at: usize| settings[at]["levels"]["daemon_cpu_s"]["typical"].as_f64().unwrap();
        assert!(cpu_s(0) == 0.0 && cpu_s(1) > 0.0, "{report}");
        assert_eq!(report["restored"]["failed"], serde_json::json!([]));
        assert_eq!(desk.knobs(), before);
        desk.until_nobody();
    });
}
