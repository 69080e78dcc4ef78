//! Time counted in instructions: the kernel's governors decide the same, run after run.
use powerband_bench_virtual::{BootOptions, run_counted};

use crate::desk::had;

/// Work that is counted, not timed, between sleeps, under a governor that looks at the load.
const SCRIPT: &str = "cd /sys/devices/system/cpu/cpu0/cpufreq
echo ondemand >scaling_governor
echo 1 >stats/reset
for turn in 1 2 3; do
    i=0
    while [ $i -lt 20000 ]; do i=$((i+1)); done
    sleep 0.3
done
cat stats/time_in_state stats/total_trans stats/trans_table /proc/uptime";

#[test]
fn two_counted_runs_are_alike_to_the_letter() {
    let options = BootOptions::machine("quadcore").unwrap();
    // At the same time: what the other takes of this machine is no part of a guest's time.
    let run = || had(run_counted(&options, SCRIPT));
    let runs: Option<Vec<String>> = std::thread::scope(|scope| {
        let runs = [(); 2].map(|()| scope.spawn(run));
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let Some(runs) = runs else { return };
    let transitions: Option<u32> = runs[0].lines().nth(4).and_then(|line| line.parse().ok());
    assert!(transitions.is_some_and(|count| count > 2), "the governor did nothing: {}", runs[0]);
    assert_eq!(runs[0], runs[1]);
}
