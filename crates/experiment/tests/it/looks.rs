//! How often a long experiment is looked at, and what its end is judged by.
use powerband_experiment::{FormulaBench, run};
use powerband_record::{CloseReason, Event, Finding};

use crate::{noisy, started};

const SECOND: u64 = 1_000_000_000;

/// Two settings that are alike, never the same at this margin, for so many blocks or seconds; and how many looks there were:
/// each brings another difference.
fn alike(blocks: u32, budget_s: Option<u64>) -> (Finding, usize) {
    let mut experiment = started(&["a", "b"], 21);
    (experiment.max_blocks, experiment.budget_ns) = (blocks, budget_s.map(|seconds| seconds * SECOND));
    experiment.margin = 1e-9;
    let mut bench = FormulaBench::new(SECOND, noisy(21, 0.01, vec![1.0, 1.0]));
    let mut journal = Vec::new();
    let finding = run(&experiment, &mut bench, &mut journal).unwrap();
    let mut changes: Vec<u64> = journal
        .iter()
        .filter_map(|event| match event {
            Event::BlockDone(done) => done.verdicts.first().map(|verdict| verdict.change.to_bits()),
            _ => None,
        })
        .collect();
    changes.dedup();
    (finding, changes.len())
}

#[test]
fn looks_grow_rarer_in_a_long_experiment_and_the_last_block_is_looked_at() {
    let (finding, looks) = alike(451, None);
    assert_eq!((finding.reason, finding.blocks, finding.verdicts[0].blocks), (CloseReason::Blocks, 451, 451));
    // All of the first 200 that can be compared, and every second to fourth of the others.
    assert!((250..310).contains(&looks), "{looks}");
}

#[test]
fn an_experiment_that_runs_out_of_time_between_two_looks_is_judged_by_all_its_blocks() {
    for budget_s in 900..912 {
        let (finding, _) = alike(1000, Some(budget_s));
        assert_eq!(finding.reason, CloseReason::Budget);
        assert!(finding.blocks > 200, "{}", finding.blocks);
        assert_eq!(finding.verdicts[0].blocks, finding.blocks, "{budget_s} s");
    }
}
