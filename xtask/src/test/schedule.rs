//! What runs next to what. Guests take a part of the CPUs and mostly wait, so their tier runs next to the others; quiet binaries of
//! all tiers run alone, when everything else has ended.
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::built::Built;
use super::lint;
use super::runner::{self, Group, Surroundings};
use super::temporary::{PATIENCE, Place};
use super::tiers::Tier;
use crate::tally::Tally;

/// One tier that can run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) tier: Tier,
    pub(crate) place: Place,
    pub(crate) groups: Vec<Group>,
}

/// How a tier ended, and how long it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) tier: Tier,
    pub(crate) time: Duration,
    pub(crate) tally: Tally,
}

/// Runs all, and answers how each ended, in their order.
///
/// # Errors
/// When a test binary cannot be started.
pub(crate) fn all(runs: &[Run], built: &Built) -> Result<Vec<Ended>> {
    all_within(runs, built, PATIENCE)
}

fn all_within(runs: &[Run], built: &Built, patience: Duration) -> Result<Vec<Ended>> {
    let begin = |run: &Run| Ended { tier: run.tier, time: Duration::ZERO, tally: Tally::default() };
    let mut ended: Vec<Ended> = runs.iter().map(begin).collect();
    let mut aside: Vec<(&Run, &mut Ended)> = Vec::new();
    let mut others: Vec<(&Run, &mut Ended)> = Vec::new();
    for pair in runs.iter().zip(&mut ended) {
        if pair.0.tier.runs_aside() { aside.push(pair) } else { others.push(pair) }
    }
    std::thread::scope(|scope| {
        let aside = scope.spawn(|| loud(&mut aside, built));
        loud(&mut others, built)?;
        aside.join().map_err(|_| anyhow!("running tests panicked"))?
    })?;
    for (run, ended) in runs.iter().zip(&mut ended) {
        let begun = Instant::now();
        for group in run.groups.iter().filter(|group| group.is_quiet) {
            ended.tally.add(runner::run(group, &surroundings(run, built))?);
        }
        ended.tally.add(nothing_left(run, patience)?);
        ended.time += begun.elapsed();
    }
    Ok(ended)
}

/// Everything that bears others next to it.
fn loud(runs: &mut [(&Run, &mut Ended)], built: &Built) -> Result<()> {
    for (run, ended) in runs {
        println!("── {}", run.tier);
        let begun = Instant::now();
        if run.tier == Tier::Lint {
            ended.tally.add(lint()?);
        }
        for group in run.groups.iter().filter(|group| !group.is_quiet) {
            ended.tally.add(runner::run(group, &surroundings(run, built))?);
        }
        ended.time += begun.elapsed();
    }
    Ok(())
}

fn surroundings<'a>(run: &'a Run, built: &'a Built) -> Surroundings<'a> {
    Surroundings { temporary: run.place.path(), programs: &built.programs }
}

/// A check that the tests of a tier left nothing of ours.
fn nothing_left(run: &Run, patience: Duration) -> Result<Tally> {
    if run.groups.is_empty() {
        return Ok(Tally::default());
    }
    let left = run.place.left_after(patience)?;
    Ok(Tally::check(
        left.is_empty(),
        &format!("the tier {} left in its temporary folder: {}", run.tier, left.join(", ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::runner::tests::binary;
    use crate::test::temporary::Temporary;

    /// A script that ends well, and is a test binary with one test.
    fn passing(script: &str) -> String {
        format!(
            "{script}; echo 'running 1 test'
            echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'"
        )
    }

    #[test]
    fn guests_run_next_to_others_and_what_is_quiet_when_all_have_ended() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = Temporary::make().unwrap();
        let run = |tier: Tier, name: &str, script: &str, is_quiet: bool| {
            let jobs = vec![binary(folder.path(), name, script)];
            Run {
                tier,
                place: temporary.of(tier).unwrap(),
                groups: vec![Group { jobs, at_once: 1, threads: 1, is_quiet }],
            }
        };
        // Each of the first two waits until the other has begun.
        let waits = |ours: &str, other: &str| {
            passing(&format!(
                "touch {ours}; for i in $(seq 600); do [ -e {other} ] && break; sleep 0.1; done; [ -e {other} ] || exit 1"
            ))
        };
        let runs = [
            run(Tier::Pure, "pure", &waits("pure-ran", "guest-ran"), false),
            run(Tier::Host, "quiet", &passing("[ -e guest-ended ] || exit 1; touch \"$TMPDIR\"/powerband-left"), true),
            run(
                Tier::Guest,
                "guest",
                &format!("{}; sleep 0.5; touch guest-ended", waits("guest-ran", "pure-ran")),
                false,
            ),
        ];
        // What it left is found at once.
        let ended = all_within(&runs, &Built::default(), Duration::ZERO).unwrap();
        let counts: Vec<_> = ended.iter().map(|ended| (ended.tier, ended.tally.passed, ended.tally.failed)).collect();
        assert_eq!(counts, [(Tier::Pure, 2, 0), (Tier::Host, 1, 1), (Tier::Guest, 2, 0)]);
        assert_eq!(ended[1].tally.failures, ["the tier host left in its temporary folder: powerband-left"]);
    }
}
