//! What runs next to what, in four lanes. Guests and systems that boot in containers take a part of the CPUs and mostly wait, so
//! each kind runs next to the others.
//! What only compiles, clippy and the command for boards, gets the CPU time that is left over. Quiet binaries of all tiers run alone,
//! when everything else has ended.
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::built::Built;
use super::runner::{self, Again, Group, Lane, Surroundings};
use super::temporary::{PATIENCE, Place};
use super::tiers::Tier;
use super::times::Times;
use crate::boards;
use crate::tally::Tally;

/// One tier that can run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) tier: Tier,
    pub(crate) place: Place,
    pub(crate) groups: Vec<Group>,
}

/// How a tier ended, and how long it ran, its lanes together.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) tier: Tier,
    pub(crate) time: Duration,
    pub(crate) tally: Tally,
    /// Tests to run a second time, when nothing else runs.
    again: Vec<Again>,
}

/// A program, and the variable that names it to tests.
pub(crate) type Named = (String, PathBuf);

/// What surrounds the lanes.
#[derive(Clone, Copy)]
struct Around<'a> {
    built: &'a Built,
    /// Builds the command for boards.
    for_boards: &'a (dyn Fn() -> Result<Named> + Sync),
    /// How long is waited for what tests leave.
    patience: Duration,
    /// Where times go, if they are asked for.
    times: Option<&'a Times>,
}

/// Runs all, and answers how each ended, in their order, and how long the command for boards took to build.
///
/// # Errors
/// When a test binary cannot be started.
pub(crate) fn all(runs: &[Run], built: &Built, times: Option<&Times>) -> Result<(Vec<Ended>, Option<Duration>)> {
    all_within(runs, Around { built, for_boards: &|| boards::built("armhf"), patience: PATIENCE, times })
}

fn all_within(runs: &[Run], around: Around) -> Result<(Vec<Ended>, Option<Duration>)> {
    let has_boards = runs.iter().flat_map(|run| &run.groups).any(|group| group.on_board);
    let (send, boards) = channel();
    let (mut lanes, built_in) = std::thread::scope(|scope| {
        let compiling = scope.spawn(move || {
            let begun = Instant::now();
            let built_in = has_boards.then(|| send.send((around.for_boards)()).map(|()| begun.elapsed()));
            // Whoever would have used it has ended with an error of its own.
            lane(Lane::Compiling, runs, around, None).map(|ended| (ended, built_in.and_then(Result::ok)))
        });
        let aside = scope.spawn(move || lane(Lane::Aside, runs, around, Some(&boards)));
        let booting = scope.spawn(move || lane(Lane::Booting, runs, around, None));
        let ordinary = lane(Lane::Ordinary, runs, around, None)?;
        let panicked = |_| anyhow!("running tests panicked");
        let aside = aside.join().map_err(panicked)??;
        let booted = booting.join().map_err(panicked)??;
        let (compiled, built_in) = compiling.join().map_err(panicked)??;
        anyhow::Ok((vec![ordinary, aside, booted, compiled], built_in))
    })?;
    lanes.push(lane(Lane::Quiet, runs, around, None)?);
    let of = |(place, run): (usize, &Run)| {
        let mut ended = Ended { tier: run.tier, time: Duration::ZERO, tally: Tally::default(), again: Vec::new() };
        for lane in &lanes {
            ended.time += lane[place].time;
            ended.tally.add(lane[place].tally.clone());
            for again in &lane[place].again {
                let begun = Instant::now();
                let mut tally = again.first.clone();
                tally.repeat(second(run, again, around)?);
                ended.tally.add(tally);
                ended.time += begun.elapsed();
            }
        }
        ended.tally.add(nothing_left(run, around.patience)?);
        Ok(ended)
    };
    Ok((runs.iter().enumerate().map(of).collect::<Result<_>>()?, built_in))
}

/// What all tiers have of one lane, and how it ended by tier; `boards` tells of the command for boards once it is built.
fn lane(lane: Lane, runs: &[Run], around: Around, boards: Option<&Receiver<Result<Named>>>) -> Result<Vec<Ended>> {
    let tier = |run: &Run| {
        let begun = Instant::now();
        let (mut tally, mut again, mut variables) = (Tally::default(), Vec::new(), around.built.variables.clone());
        for group in run.groups.iter().filter(|group| group.lane == lane) {
            println!("── {}", run.tier);
            match boards.filter(|_| group.on_board).map(Receiver::recv) {
                Some(Ok(Ok(program))) => variables.push(program),
                Some(Ok(Err(error))) => tally.add(Tally::failure(&format!("{error:#}"))),
                Some(Err(_)) | None => {}
            }
            let surroundings = Surroundings { temporary: run.place.path(), variables: &variables, times: around.times };
            let (counts, failed) = runner::run(group, &surroundings)?;
            tally.add(counts);
            again.extend(failed);
        }
        Ok(Ended { tier: run.tier, time: begun.elapsed(), tally, again })
    };
    runs.iter().map(tier).collect()
}

/// The second run of tests that failed.
fn second(run: &Run, again: &Again, around: Around) -> Result<Tally> {
    println!("── {}, again", run.tier);
    let surroundings = Surroundings { temporary: run.place.path(), variables: &again.variables, times: around.times };
    Ok(runner::run(&Group { repeats: false, ..again.group.clone() }, &surroundings)?.0)
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
    fn guests_and_what_compiles_run_next_to_others_and_what_is_quiet_when_all_have_ended() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = Temporary::make().unwrap();
        let group = |name: &str, script: &str, lane: Lane| {
            let jobs = vec![binary(folder.path(), name, script)];
            Group { jobs, at_once: 1, threads: 1, lane, on_board: name == "boards", repeats: false, words: Vec::new() }
        };
        let run = |tier: Tier, groups: Vec<Group>| Run { tier, place: temporary.of(tier).unwrap(), groups };
        // Each of two waits until the other has begun.
        let waits = |ours: &str, other: &str| {
            passing(&format!(
                "touch {ours}; for i in $(seq 600); do [ -e {other} ] && break; sleep 0.1; done; [ -e {other} ] || exit 1"
            ))
        };
        let quiet = passing("[ -e board-ended -a -e linted ] || exit 1; touch \"$TMPDIR\"/powerband-left");
        let on_board = passing("[ -e guest-ran ] && [ \"$BOARD\" = /b ] || exit 1; touch board-ended");
        let lint = waits("linted", "board-ended");
        let runs = [
            run(Tier::Lint, vec![group("lint", &lint, Lane::Compiling)]),
            run(Tier::Pure, vec![group("pure", &waits("pure-ran", "guest-ran"), Lane::Ordinary)]),
            run(Tier::Host, vec![group("quiet", &quiet, Lane::Quiet)]),
            run(
                Tier::Guest,
                vec![
                    group("guest", &waits("guest-ran", "pure-ran"), Lane::Aside),
                    group("boards", &on_board, Lane::Aside),
                ],
            ),
        ];
        // While a guest runs.
        let for_boards = || {
            let guest_ran = |_: usize| {
                std::thread::sleep(Duration::from_millis(100));
                folder.path().join("guest-ran").exists()
            };
            anyhow::ensure!((0..600).any(guest_ran), "no guest runs");
            Ok(("BOARD".to_owned(), "/b".into()))
        };
        // What it left is found at once.
        let around =
            Around { built: &Built::default(), for_boards: &for_boards, patience: Duration::ZERO, times: None };
        let (ended, built_in) = all_within(&runs, around).unwrap();
        let counts: Vec<_> = ended.iter().map(|ended| (ended.tier, ended.tally.passed, ended.tally.failed)).collect();
        assert_eq!(counts, [(Tier::Lint, 2, 0), (Tier::Pure, 2, 0), (Tier::Host, 1, 1), (Tier::Guest, 3, 0)]);
        assert_eq!(ended[2].tally.failures[0].title, "the tier host left in its temporary folder: powerband-left");
        assert!(built_in.is_some());
    }
}
