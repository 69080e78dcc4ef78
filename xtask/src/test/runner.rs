//! Running test binaries: groups in lanes, one group of a lane after the other, what they print line by line and counted.
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};

use super::built::{Binary, FEATURES};
use super::times::{Times, Timing, timed};
use crate::cargo::{for_tests, locked, patient_cargo, shown};
use crate::tally::{Reader, Tally};

/// What runs as one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// A test binary.
    Binary(Binary),
    /// The examples in the libraries' documentation.
    Examples,
    /// Formatting, clippy, tidy.
    Lint,
}

impl Job {
    /// How it is called in what is printed.
    pub(crate) fn title(&self) -> String {
        match self {
            Job::Binary(binary) => binary.title(),
            Job::Examples => "examples".to_owned(),
            Job::Lint => "lint".to_owned(),
        }
    }
}

/// What a group may run next to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Groups of the three other lanes.
    #[default]
    Ordinary,
    /// The same; most of its time it waits for a guest.
    Aside,
    /// The same; most of its time it waits for systems that boot.
    Booting,
    /// The same; it compiles, with the CPU time that is left over.
    Compiling,
    /// Nothing.
    Quiet,
}

/// Test binaries that run under the same conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) jobs: Vec<Job>,
    /// How many of them at once.
    pub(crate) at_once: usize,
    /// How many tests of each at once.
    pub(crate) threads: usize,
    pub(crate) lane: Lane,
    /// Whether its tests need the command for boards.
    pub(crate) on_board: bool,
    /// Whether a test that fails is repeated once: processes and guests may be starved, computing cannot.
    pub(crate) repeats: bool,
    /// What of each binary it runs: words that tests' names are chosen by.
    pub(crate) words: Vec<String>,
}

/// Tests that failed and may have been starved by what ran next to them: they run a second time, alone.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    /// The tests: a group of one binary.
    pub(crate) group: Group,
    /// The counts of the binary's first run.
    pub(crate) first: Tally,
    /// Its variables.
    pub(crate) variables: Vec<(String, PathBuf)>,
}

/// Tests of one binary that are repeated at most. More failures than these are no chance.
const MAX_REPEATED: usize = 5;

impl Group {
    /// The test binaries of which it runs all tests.
    pub(crate) fn binaries(&self) -> impl Iterator<Item = &Binary> {
        let whole = self.words.is_empty();
        self.jobs
            .iter()
            .filter_map(move |job| if let Job::Binary(binary) = job { whole.then_some(binary) } else { None })
    }

    /// The tests that failed in a binary of this group, as a group to run again; nothing if they decide at once.
    fn again(&self, job: &Job, tally: &Tally) -> Option<Group> {
        let tests = tally.failed_tests().filter(|tests| (1..=MAX_REPEATED).contains(&tests.len()))?;
        let words = std::iter::once("--exact").chain(tests).map(str::to_owned).collect();
        let one = Group { jobs: vec![job.clone()], at_once: 1, threads: 1, words, ..self.clone() };
        self.repeats.then_some(one)
    }
}

/// What surrounds tests.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    /// Their temporary folder.
    pub(crate) temporary: &'a Path,
    /// Their variables: the command that was built with them, also for boards' architectures, and where snapshots are.
    pub(crate) variables: &'a [(String, PathBuf)],
    /// Where times go, if they are asked for.
    pub(crate) times: Option<&'a Times>,
}

/// Runs a group and counts, but for binaries of which tests are to be repeated.
///
/// # Errors
/// When a binary cannot be started or its output not be read.
pub(crate) fn run(group: &Group, around: &Surroundings) -> Result<(Tally, Vec<Again>)> {
    let waiting: Mutex<VecDeque<&Job>> = Mutex::new(group.jobs.iter().collect());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || -> Result<(Tally, Vec<Again>)> {
        let (mut sum, mut again) = (Tally::default(), Vec::new());
        while let Some(job) = next() {
            let first = one(job, group, around)?;
            match group.again(job, &first) {
                Some(group) => again.push(Again { group, first, variables: around.variables.to_vec() }),
                None => sum.add(first),
            }
        }
        Ok((sum, again))
    };
    let ended: Vec<Result<(Tally, Vec<Again>)>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..group.at_once.max(1)).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Ok((Tally::failure("a test binary panicked"), Vec::new()))))
            .collect()
    });
    let (mut sum, mut again) = (Tally::default(), Vec::new());
    for ended in ended {
        let (tally, more) = ended?;
        sum.add(tally);
        again.extend(more);
    }
    Ok((sum, again))
}

fn one(job: &Job, group: &Group, around: &Surroundings) -> Result<Tally> {
    let mut command = match job {
        Job::Binary(binary) => {
            let mut command = for_tests(&binary.path);
            // As cargo does it.
            command.current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
            command.args(["--test-threads", &group.threads.to_string()]).args(&group.words);
            command
        }
        Job::Examples => {
            let mut command = patient_cargo();
            // Of the whole workspace, as the tests were built: with other features much would be compiled again.
            command.arg("test").args(locked()).args(["--quiet", "--workspace", "--doc", "--features", FEATURES]);
            command
        }
        Job::Lint => return super::lint(),
    };
    command.env("TMPDIR", around.temporary);
    command.envs(around.variables.iter().map(|(name, value)| (name, value)));
    match around.times.filter(|_| matches!(job, Job::Binary(_))) {
        Some(times) => {
            let (mut timing, begun) = (Timing::of(&job.title()), Instant::now());
            let tally = counted(&mut timed(&command), &job.title(), &mut timing)?;
            times.add(timing, begun.elapsed());
            Ok(tally)
        }
        None => counted(&mut command, &job.title(), &mut Timing::default()),
    }
}

/// Runs a test binary, passes its output on line by line, each behind the title, and counts.
fn counted(command: &mut Command, title: &str, timing: &mut Timing) -> Result<Tally> {
    eprintln!("$ {}", shown(command));
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", shown(command)))?;
    let mut reader = Reader::of(title);
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            if timing.line(line.trim_end()) {
                continue;
            }
            // A whole line at once: others print too.
            let mut out = std::io::stdout().lock();
            writeln!(out, "{title}: {line}")?;
            out.flush()?;
            reader.line(line.trim_end());
        }
    }
    let success = child.wait()?.success();
    Ok(reader.end(success))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::test::built::Kind;

    /// A script in place of a test binary.
    pub(crate) fn binary(folder: &Path, name: &str, script: &str) -> Job {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (package, folder) = ("powerband".to_owned(), folder.to_path_buf());
        Job::Binary(Binary { package, folder, kind: Kind::Integration, name: name.to_owned(), path })
    }

    #[test]
    fn all_of_a_group_run_where_they_belong_and_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let ok = "echo 'running 2 tests'
            echo 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'";
        let place = format!(
            "[ \"$TMPDIR:$POWERBAND_BUILT:$PWD:$2\" = /tmp/t:/t/powerband:{}:3 ] && {{ {ok}; }}",
            folder.path().display()
        );
        let crashes = "echo 'running 1 test'; exit 101";
        let group = Group {
            jobs: vec![
                binary(folder.path(), "place", &place),
                binary(folder.path(), "crashes", crashes),
                binary(folder.path(), "fine", ok),
            ],
            at_once: 2,
            threads: 3,
            ..Group::default()
        };
        let variables = [("POWERBAND_BUILT".to_owned(), PathBuf::from("/t/powerband"))];
        let (tally, _) =
            run(&group, &Surroundings { temporary: Path::new("/tmp/t"), variables: &variables, times: None }).unwrap();
        assert_eq!((tally.passed, tally.failed), (4, 1));
    }

    #[test]
    fn tests_that_failed_are_run_again_alone() {
        let folder = tempfile::tempdir().unwrap();
        let starved = "echo 'running 2 tests'
            if [ \"$3 $4\" = '--exact slow' ]; then
                echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out'; exit
            fi
            printf '%s\\n' '---- slow stdout ----' 'too late'
            echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out'; exit 101";
        let jobs = vec![binary(folder.path(), "starved", starved)];
        let mut group = Group { jobs, at_once: 2, threads: 3, ..Group::default() };
        let around = Surroundings { temporary: Path::new("/tmp/t"), variables: &[], times: None };
        let (tally, again) = run(&group, &around).unwrap();
        assert_eq!((tally.failed, again.len()), (1, 0));
        group.repeats = true;
        let (mut tally, again) = run(&group, &around).unwrap();
        assert_eq!((tally.passed, tally.failed, again.len()), (0, 0, 1));
        tally.add(again[0].first.clone());
        tally.repeat(run(&again[0].group, &around).unwrap().0);
        assert_eq!(tally.to_string(), "2 passed, 0 failed, 1 repeated once");
    }
}
