//! What governors decide under a stated load: the real kernel in counted time against a simulated machine by its rules.
mod played;
mod score;
mod simulated;

use powerband_bench_virtual::{Options, run_counted};

use crate::desk::had;
use played::Played;
use score::{Case, score};

/// Records every change of clock and every thread's stretches, plays the score, and shows all of it.
const SCRIPT: &str = "mount -t tracefs tracefs /sys/kernel/tracing
cd /sys/kernel/tracing
echo mono >trace_clock
echo 60000 >buffer_size_kb
for event in power/cpu_frequency sched/sched_switch sched/sched_waking workqueue/workqueue_execute_start; do
    echo 1 >events/$event/enable
done
chmod 755 /root/player
mount -t debugfs debugfs /sys/kernel/debug
/root/player /root/score
sed -n 's/^\\(ktime\\|cpu_clk\\) *: /\\1 /p' /sys/kernel/debug/sched/debug
echo 0 >tracing_on
grep -v '^#' trace | sed 's/^ *//; s/ \\+/ /g'";

/// Plays cases in a guest; what it printed.
fn in_the_guest(cases: &[Case]) -> Option<String> {
    let mut options = Options::machine("quadcore").unwrap();
    let player = std::fs::read(env!("CARGO_BIN_EXE_bench-player")).unwrap();
    options.files.push(("root/player".into(), player));
    options.files.push(("root/score".into(), score(cases).into_bytes()));
    had(run_counted(&options, SCRIPT))
}

/// Compares each case; a line for each that differs by more than it may.
fn compared(cases: &[Case], printed: &str) -> Vec<String> {
    let played = Played::read(printed);
    let simulated = simulated::replayed(&played);
    let mut wrong = Vec::new();
    eprintln!("{:<52} {:>9}  {:>13}  {:>13}", "case", "apart, pp", "changes", "same decisions");
    for (number, case) in cases.iter().enumerate() {
        let (real, model) = (&played.cases()[number], &simulated[number]);
        let apart = real.apart_percent(model);
        let line = format!(
            "{:<52} {apart:>9.2}  {:>5} / {:>5}  {}",
            case.name(),
            real.changes.len(),
            model.changes.len(),
            real.first_difference(model)
        );
        eprintln!("{line}");
        if apart > case.limit_percent() {
            wrong.push(line);
        }
    }
    wrong
}

#[test]
fn governors_decide_as_the_kernels_do() {
    let cases = score::all(20_120_417);
    let Some(printed) = in_the_guest(&cases) else { return };
    if let Ok(path) = std::env::var("TMP_TRACE_OUT") {
        std::fs::write(path, &printed).unwrap();
    }
    let wrong = compared(&cases, &printed);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn tmp_offline() {
    let Ok(path) = std::env::var("TMP_TRACE_IN") else { return };
    let cases = score::all(20_120_417);
    let printed = std::fs::read_to_string(path).unwrap();
    let wrong = compared(&cases, &printed);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
