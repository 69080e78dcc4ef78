//! A kernel that patches its own code while it runs, as it does for tracepoints and for packets whose time is asked for.
use crate::desk::{Desk, on_desk};

/// Rounds of switching tracepoints on and off.
const ROUNDS: u32 = 200;

/// Two processes keep the second CPU in the code that is patched.
const SWITCHING: &str = "mount -t tracefs tracefs /sys/kernel/tracing && cd /sys/kernel/tracing/events || exit 1
taskset 2 sh -c 'while :; do cat /proc/uptime >/dev/null; done' & one=$!
taskset 2 sh -c 'while :; do sleep 0.001; done' & two=$!
round=0
while [ $round -lt ROUNDS ]; do
    for on in 1 0; do for event in sched irq timer; do echo $on >$event/enable || exit 1; done; done
    round=$((round + 1))
done
kill $one $two
cd / && umount /sys/kernel/tracing
echo $round";

#[test]
fn a_breakpoint_that_the_kernel_has_removed_holds_no_cpu() {
    on_desk(goes_on);
}

fn goes_on(mut desk: Desk) {
    let ran = desk.script(SWITCHING.replace("ROUNDS", &ROUNDS.to_string())).unwrap();
    assert_eq!(ran.text().trim(), ROUNDS.to_string(), "{}", String::from_utf8_lossy(&ran.err));
    // How many there are is the host's affair; that none holds a CPU is not.
    eprintln!("stale breakpoints, by CPU: {:?}", [0, 1].map(|cpu| desk.stale_breakpoints(cpu).unwrap()));
}
