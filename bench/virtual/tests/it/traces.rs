//! What governors of real kernels in counted time decide, against a simulated machine by their rules. The chosen cases are recorded
//! and replayed by the pure tier; here they are played when the recording is of another kernel, and in every sweep.
use std::path::Path;

use powerband_bench_virtual::{run_counted, stripped};

use crate::desk::{had, sweep_seed, sweeps};
use crate::recorded::compared::compared;
use crate::recorded::recording::{Recording, SCRIPT, cases, options};
use crate::recorded::score::{self, Case};
use crate::recorded::trace::Trace;

/// Plays cases in so many guests at once; what each printed.
fn in_guests(count: usize, cases: &[Case]) -> Option<Vec<String>> {
    let player = stripped(Path::new(env!("CARGO_BIN_EXE_bench-player"))).unwrap();
    let options = options(player, cases);
    let run = || had(run_counted(&options, SCRIPT));
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

/// The chosen cases played in two guests, which agree with one another and with the model.
fn played() -> Option<Trace> {
    let cases = cases();
    let printed = in_guests(2, &cases)?;
    assert!(printed[0] == printed[1], "two runs of one score differ");
    let trace = Trace::printed(&printed[0]);
    let wrong = compared(&cases, &trace);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    Some(trace)
}

#[test]
fn governors_decide_as_the_kernels_do() {
    // Where the recording is of this kernel, the pure tier has compared them.
    if had(Recording::kept().is_of_this_machine()) == Some(false) {
        played();
    }
}

#[test]
fn sweep_record_what_the_kernels_governors_decide() {
    let Some(trace) = sweeps().then(played).flatten() else { return };
    let recording = Recording::made(trace).unwrap();
    eprintln!("{}", if recording == Recording::kept() { "recorded the same again" } else { "recorded anew" });
    recording.keep();
    assert_eq!(Recording::kept(), recording);
}

#[test]
fn sweep_governors_decide_as_the_kernels_do_anywhere() {
    if sweeps() {
        let seed = sweep_seed();
        let mut wrong = Vec::new();
        for seed in seed..seed + 4 {
            let cases = score::random(seed, 40);
            let Some(printed) = in_guests(1, &cases) else { return };
            wrong.extend(compared(&cases, &Trace::printed(&printed[0])));
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }
}
