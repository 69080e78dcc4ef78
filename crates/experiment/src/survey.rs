//! A survey: every setting a fixed number of times, with nothing to decide. For what is held against figures measured
//! elsewhere, where stopping as soon as settings can be told apart would leave each of them as uncertain as that takes.
use powerband_record::{BlockDone, Event, Outcome, PlannedTrial, Started, Void};
use powerband_stats::{block_order, slots};

use crate::{Bench, Fatal, Halt, Journal};

/// A trial that does not count is repeated this often in all.
const TRIES: u32 = 3;

/// Runs as many blocks as `started` allows at most, each setting once in each, in random order, after the same warm-up
/// trials.
///
/// # Errors
/// [`Halt::Fatal`] when it cannot go on, [`Halt::Void`] with the first trial that could not be made to count.
pub fn survey(started: &Started, bench: &mut dyn Bench, journal: &mut dyn Journal) -> Result<(), Halt> {
    let began_ns = bench.now_ns();
    journal.record(&Event::Started(Box::new(started.clone())))?;
    // Figures measured elsewhere are of every setting, also of those that are the same here.
    let _ = bench.rehearse()?;
    let every: Vec<usize> = (1..started.settings.len()).collect();
    let mut next_trial = 0;
    let mut trial = |block: u32, setting: usize, bench: &mut dyn Bench, journal: &mut dyn Journal| {
        let setting = u32::try_from(setting).unwrap_or(u32::MAX);
        let planned = PlannedTrial { trial: next_trial, block, setting, copy: 0, at_ns: bench.now_ns() - began_ns };
        next_trial += 1;
        one(planned, began_ns, bench, journal)
    };
    for _ in 0..started.warmup {
        // What does not count anyway need not be valid.
        let _ = trial(0, 0, bench, journal)?;
    }
    for block in 1..=started.max_blocks {
        for slot in block_order(started.seed, block - 1, &slots(1, &every)) {
            let mut why = None;
            for _ in 0..TRIES {
                why = trial(block, slot.setting, bench, journal)?.err();
                if !why.as_ref().is_some_and(|why| *why != Void::Stopped) {
                    break;
                }
            }
            if let Some(why) = why {
                return Err(why.into());
            }
        }
        let at_ns = bench.now_ns() - began_ns;
        journal.record(&Event::BlockDone(BlockDone {
            block,
            at_ns,
            verdicts: Vec::new(),
            requirements: Vec::new(),
            knee: None,
            search: None,
        }))?;
    }
    let (entries, failed) = (bench.restored(), bench.left());
    journal.record(&Event::Restored { entries, failed, changed: Vec::new() })?;
    Ok(())
}

/// One trial with its events.
fn one(
    planned: PlannedTrial,
    began_ns: u64,
    bench: &mut dyn Bench,
    journal: &mut dyn Journal,
) -> Result<Result<Outcome, Void>, Fatal> {
    journal.record(&Event::TrialStarted(planned))?;
    let answer = Halt::split(bench.trial(&planned, journal))?;
    let (trial, at_ns) = (planned.trial, bench.now_ns() - began_ns);
    journal.record(&match &answer {
        Ok(outcome) => Event::TrialDone { trial, at_ns, outcome: outcome.clone() },
        Err(why) => Event::TrialVoid { trial, at_ns, why: why.clone() },
    })?;
    Ok(answer)
}
