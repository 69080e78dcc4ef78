//! What `perf stat` prints: counts by event, on hybrid CPUs by kind of core, and what is no count.
use super::*;

#[test]
fn perf_counts_become_metrics_by_their_events() {
    let call = "perf stat -x, -e task-clock,context-switches,cycles,page-faults -- sleep 0.1";
    let text = "1.00,msec,task-clock,1002224,100.00,0.010,CPUs utilized\n1,,context-switches,1002224,100.00,997.781,/sec\n\
                <not supported>,,cycles,0,100.00,,\n74,,page-faults,1002224,80.00,73.836,K/sec\n";
    let reading = read_both(call, "", &format!("the program's own words, 1, 2\n{text}")).unwrap();
    assert_values(&reading, [("task_clock_ms", 1.0), ("context_switches", 1.0), ("page_faults", 74.0)]);
    assert_eq!(reading.missing["cycles"], "this machine cannot count cycles, says perf");
    assert!(reading.notes.iter().any(|note| note.contains("page-faults for 80 %")), "{:?}", reading.notes);
    let json =
        read_both("perf stat -j -e task-clock,context-switches,cycles true", "", include_str!("../printed/perf-j.txt"))
            .unwrap();
    assert_values(&json, [("task_clock_ms", 0.787_896), ("context_switches", 1.0)]);
    let repeated =
        read_both("perf stat -x, -r 3 -e task-clock -- true", "", include_str!("../printed/perf-r.txt")).unwrap();
    assert!(repeated.values["task_clock_ms"] > 0.0 && repeated.notes.is_empty(), "{repeated:?}");
    let by_user = "120,,cycles:u,1002224,100.00,,\n34.5,Joules,power/energy-pkg/,1002224,100.00,,\n7,,cpu/event=0x3c,umask=1/,5,100.00,,\n";
    let call = "perf stat -x , -e {cycles,power/energy-pkg/} -ecpu/event=0x3c,umask=1/ true";
    let reading = read_both(call, "", by_user).unwrap();
    assert_values(&reading, [("cycles", 120.0), ("energy_pkg_j", 34.5), ("cpu_event_0x3c_umask_1", 7.0)]);
    let apart =
        "5,,cycles:u,1,100.00,,\n6,,cycles:k,1,100.00,,\n7,,sched:sched_switch,1,100.00,,\n8,,faults,1,100.00,,\n";
    let reading =
        read_both("perf stat -x, -e cycles:u,cycles:k,sched:sched_switch,{faults}:S true", "", apart).unwrap();
    assert_values(&reading, [("cycles_u", 5.0), ("cycles_k", 6.0), ("sched_sched_switch", 7.0), ("page_faults", 8.0)]);
    let semicolons = read_both("perf stat -x; -e cs true", "", "3;;cs;477673;100.00;0.000;/sec\n").unwrap();
    assert_values(&semicolons, [("context_switches", 3.0)]);
}

#[test]
fn perf_sums_what_the_kinds_of_core_of_a_hybrid_cpu_counted() {
    let text = "100,,cpu_atom/cycles/,1000,40.00,,\n250,,cpu_core/cycles/,1000,60.00,,\n\
                <not counted>,,cpu_atom/instructions/u,0,0.00,,\n70,,cpu_core/instructions/u,1000,100.00,,\n3,,cs,1,100.00,,\n";
    let reading = read_both("perf stat -x, -e cycles,instructions:u,cs true", "", text).unwrap();
    assert_values(&reading, [("cycles", 350.0), ("instructions_u", 70.0), ("context_switches", 3.0)]);
    assert!(reading.notes.iter().any(|note| note.contains("sum over cpu_atom and cpu_core")), "{:?}", reading.notes);
    let json = r#"{"counter-value" : "100.0", "unit" : "", "event" : "cpu_atom/cycles/", "pcnt-running" : 100.0}
{"counter-value" : "5.0", "unit" : "", "event" : "cpu_core/cycles/", "pcnt-running" : 100.0}
"#;
    assert_values(&read_both("perf stat -j -e cycles true", "", json).unwrap(), [("cycles", 105.0)]);
    let one = read_both("perf stat -x, -e cpu_core/cycles/,cpu_atom/cycles/ true", "", text).unwrap();
    assert_values(&one, [("cpu_core_cycles", 250.0), ("cpu_atom_cycles", 100.0)]);
    let none =
        "<not supported>,,cpu_atom/cycles/,0,0.00,,\n<not supported>,,cpu_core/cycles/,0,0.00,,\n3,,cs,1,100.00,,\n";
    let reading = read_both("perf stat -x, -e cycles,cs true", "", none).unwrap();
    assert!(reading.missing["cycles"].contains("cannot count cycles"), "{reading:?}");
}

#[test]
fn perf_that_says_something_else_voids() {
    let call = "perf stat -x, -e task-clock true";
    let void = |stderr: &str, words: &str| {
        let why = read_both(call, "", stderr).unwrap_err();
        assert!(why.contains(words), "{why}");
    };
    void("", "printed no counts");
    void("              0.42 msec task-clock                       #    0.534 CPUs utilized\n", "printed no counts");
    void("nan,msec,task-clock,1,100.00,,\n", "no number");
    void("-5,msec,task-clock,1,100.00,,\n", "no number");
    void("5,sec,task-clock,1,100.00,,\n", "counted task-clock in sec");
    void("1.00,msec,task-clock,1,100.00,,\n2.00,msec,task-clock,1,100.00,,\n", "more than one count");
    let missed = read_both(call, "", "<not counted>,msec,task-clock,0,0.00,,\n").unwrap();
    assert!(missed.missing["task_clock_ms"].contains("did not get to count"), "{missed:?}");
}
