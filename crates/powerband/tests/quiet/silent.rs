//! Between the start and the end of a load nothing of ours wakes up: by the kernel's own counts, read by the load itself.
use crate::desk::{Desk, split};

/// Prints how often the threads of its parent went to sleep of their own accord, before and after two seconds, once that
/// count has stood still for a while: what belongs to the start of the load is over then.
const SCRIPT: &str = r#"
count() { cat /proc/$PPID/task/*/status | awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum }'; }
before=$(count)
for look in $(seq 100); do
    sleep 0.5
    now=$(count)
    if [ "$now" = "$before" ]; then break; fi
    before=$now
done
sleep 2
echo "before $before after $(count)"
"#;

#[test]
fn nothing_of_ours_wakes_while_a_load_runs() {
    let desk = Desk::new();
    let words = split("--settle 0 --warmup 0 --blocks 1 --metric context_switches_per_s:info");
    let words = [&["try", "-s", "a:", "-s", "b:"][..], &words, &["--", "sh", "-c", SCRIPT]].concat();
    desk.run(&words).ended(0);
    let mut told = 0;
    for line in desk.journal() {
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        let Some(printed) = event["outcome"]["output"]["load"]["stdout"].as_str() else { continue };
        let words: Vec<&str> = printed.split_whitespace().collect();
        let ["before", before, "after", after] = words[..] else { panic!("{printed}") };
        assert!(before.parse::<u64>().unwrap() > 0, "{printed}");
        assert_eq!(before, after);
        told += 1;
    }
    assert!(told >= 2);
}
