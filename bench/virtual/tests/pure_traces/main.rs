//! What governors decide under a stated load: a real kernel as it was recorded, against a simulated machine by its rules. Needs no
//! kernel. `traces` of the guest tier makes the recording.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed")]
mod compared;
mod played;
#[expect(dead_code, reason = "the guest tier makes what is replayed here")]
mod recording;
#[expect(dead_code, reason = "the sweep draws cases too")]
mod score;
mod simulated;
mod trace;

use compared::compared;
use recording::Recording;
use trace::Trace;

#[test]
fn simulated_governors_decide_as_the_recorded_kernels() {
    let recording = Recording::kept();
    recording.assert_current();
    let wrong = compared(&recording::cases(), &recording.trace);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
#[should_panic(expected = "record it anew by `cargo xtask sweep --only traces`")]
fn a_recording_of_something_else_fails_with_the_command_that_records_anew() {
    Recording { inputs: "0123456789abcdef".into(), ..Recording::kept() }.assert_current();
}

#[test]
fn what_is_recorded_reads_as_what_was_printed() {
    let printed = "ktime 5.000001\nsched_clk 6.000002\ncpu_clk 6.000003\nasleep 70\nwrote 8 /a/b userspace\n\
        slept 1 2\nnice 3 4\nread 9 /a/c 5 6|7 8\nasleep 90\nktime 9.1\nsched_clk 9.2\ncpu_clk 9.3\n\
        player-65 [000] d..2. 1.000010: sched_switch: prev_comm=player prev_pid=65 prev_prio=120 prev_state=S ==> \
        next_comm=swapper/0 next_pid=0 next_prio=120\n\
        <idle>-0 [000] d.h2. 1.000310: sched_waking: comm=kworker/0:1 pid=9 prio=120 target_cpu=000\n\
        <idle>-0 [000] d..2. 1.000314: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
        next_comm=kworker/0:1 next_pid=9 next_prio=120\n\
        kworker/0:1-9 [000] ..... 1.000320: workqueue_execute_start: work struct 0000: function dbs_work_handler\n\
        kworker/0:1-9 [000] ..... 1.000330: cpu_frequency: state=1600000 cpu_id=0\n\
        kworker/0:1-9 [000] d..2. 1.000340: sched_switch: prev_comm=kworker/0:1 prev_pid=9 prev_prio=125 prev_state=I ==> \
        next_comm=player next_pid=65 next_prio=125\n";
    let trace = Trace::printed(printed);
    assert_eq!((trace.clocks_ns, &trace.asleep_ns[..]), ([5_000_001, 6_000_002, 6_000_003], &[70, 90][..]));
    assert_eq!((trace.writes.len(), trace.reads.len(), trace.events.len()), (1, 1, 6));
    let recorded = trace.recorded();
    assert!(recorded.ends_with("1000010s0.120<65.120\n300a9.120 4r9 6w9 10f1600000 10s65.125<9.125 \n"), "{recorded}");
    assert_eq!(Trace::read(&recorded), trace);
}

#[test]
fn the_hash_is_the_published_one() {
    assert_eq!(
        [recording::fnv1a(b""), recording::fnv1a(b"a"), recording::fnv1a(b"foobar")],
        [0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8]
    );
}
