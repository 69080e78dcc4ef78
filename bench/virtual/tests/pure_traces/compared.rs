//! Comparing what a real kernel decided with what the model does.
use super::played::{Episode, Played};
use super::score::Case;
use super::simulated::{replayed, replayed_about};
use super::trace::Trace;

/// A simulated change is seen when it begins and counted when it is done: one may lie across either edge of a case.
const SIMULATED_UNDER_WAY: usize = 1;

/// How often a case that was decided otherwise is replayed with times as unsure as they are.
const REPLAYS: u64 = 60;

/// Compares each case; a line for each that is further apart than it may be. A decision may hang on less than the times are
/// known to: then the model, with times off by no more than that, decides as the kernel did.
pub(crate) fn compared(cases: &[Case], trace: &Trace) -> Vec<String> {
    let played = Played::of(trace);
    let (real, simulated) = (played.cases(), replayed(&played));
    assert_eq!((real.len(), simulated.len()), (cases.len(), cases.len()));
    eprintln!("window phase {} ns, idle edges {} ns", played.phase_ns(), played.edges_ns());
    eprintln!("{:<70} {:>9}  {:>13}  same decisions", "case", "apart, pp", "changes");
    let mut apart = Vec::new();
    for (number, ((case, real), model)) in cases.iter().zip(&real).zip(&simulated).enumerate() {
        let agree = real.agrees_with_itself(0) && model.agrees_with_itself(SIMULATED_UNDER_WAY);
        assert!(agree, "{}: {real:?} {model:?}", case.name());
        let line = told(case, real, model);
        eprintln!("{line}");
        if !close(case, real, model) {
            apart.push((number, line));
        }
    }
    for seed in 1..=REPLAYS {
        if apart.is_empty() {
            break;
        }
        let about = replayed_about(&played, seed);
        apart.retain(|(number, line)| {
            let found = close(&cases[*number], &real[*number], &about[*number]);
            if found {
                eprintln!("it hangs on 2 µs, as replay {seed} shows: {line}");
            }
            !found
        });
    }
    apart.into_iter().map(|(_, line)| line).collect()
}

fn close(case: &Case, real: &Episode, model: &Episode) -> bool {
    let changes = real.changes.len();
    real.apart_percent(model) <= case.limit_percent() && changes.abs_diff(model.changes.len()) <= 1 + changes / 50
}

fn told(case: &Case, real: &Episode, model: &Episode) -> String {
    let (apart, same) = (real.apart_percent(model), real.first_difference(model));
    format!("{:<70} {apart:>9.2}  {:>5} / {:>5}  {same}", case.name(), real.changes.len(), model.changes.len())
}
