//! A kernel that patches its own code while it runs, as it does for tracepoints and for packets whose time is asked for.
use crate::desk::{Desk, on_paced_desk};

/// Rounds of switching tracepoints on and off, while two processes keep the second CPU in the code that is patched.
const SWITCHING: &str = "cd /sys/kernel/tracing/events || exit 1
taskset 2 sh -c 'while :; do cat /proc/uptime >/dev/null; done' & one=$!
taskset 2 sh -c 'while :; do sleep 0.001; done' & two=$!
round=0
while [ $round -lt 20 ]; do
    for on in 1 0; do for event in sched irq timer; do echo $on >$event/enable || exit 1; done; done
    round=$((round + 1))
done
kill $one $two
echo $round";

#[test]
fn a_breakpoint_that_the_kernel_has_removed_holds_no_cpu() {
    on_paced_desk(|desk| {
        desk.sh("mount -t tracefs tracefs /sys/kernel/tracing");
        // How many there are is the host's affair, one in forty rounds; that none holds a CPU is not.
        let mut stale = 0;
        for _ in 0..10 {
            assert_eq!(desk.sh(SWITCHING), "20\n");
            stale = [0, 1].map(|cpu| desk.stale_breakpoints(cpu).unwrap()).iter().sum();
            if stale > 0 {
                break;
            }
        }
        eprintln!("{stale} stale breakpoints");
    });
}
