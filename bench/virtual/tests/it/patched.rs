//! A kernel that patches its own code while it runs, as it does for tracepoints and for packets whose time is asked for.
use powerband_bench_virtual::{Guest, Options};

use crate::desk::on_own;

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
echo $round";

#[test]
fn a_breakpoint_that_the_kernel_has_removed_holds_no_cpu() {
    on_own(|| Guest::boot(&Options::machine("quadcore")?), goes_on);
}

fn goes_on(guest: &mut Guest) {
    let ran = guest.script(SWITCHING.replace("ROUNDS", &ROUNDS.to_string())).unwrap();
    assert_eq!(ran.text().trim(), ROUNDS.to_string(), "{}", String::from_utf8_lossy(&ran.err));
    // How many there are is the host's affair; that none holds a CPU is not.
    eprintln!("stale breakpoints, by CPU: {:?}", [0, 1].map(|cpu| guest.stale_breakpoints(cpu).unwrap()));
}
