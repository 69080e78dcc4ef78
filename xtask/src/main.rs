//! The project's own chores. Arguments and exit codes only; each chore is a module.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the terminal it was started from")]
mod architecture;
mod bench;
mod boards;
mod cargo;
mod dist;
mod kernel_source;
mod metadata;
mod performance;
mod sweep;
mod tally;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
usage: cargo xtask CHORE

  test [--tier lint|pure|host|services|guest]…   check everything, or the tiers named
       [--quick]                                 what needs no component of the system and no root
       [--accept]                                replace the snapshots of words that differ, and remove those that no test reads
       [--times]                                 also write CPU and wall seconds of each test binary and the slowest tests
       [--changed[=COMMIT]]                      only what changed since a commit (default: since the branch left
                                                 origin/main), and the pure tests of what imports that
  tidy                                           the rules of the tree that no compiler holds
  sweep [--seeds N] [--seed S] [--only faults|chance|fleet-statistics|fleet|guests|traces|texts|doctor]
                                                 N stories of faults, tables of error rates, real kernels in guests
                                                 (which records what the pure tier replays), garbled texts, in release;
                                                 by their names alone traces: that recording, and doctor: a kernel's
                                                 configurator, and a kernel built by its answer
        --target arm64|armhf                     faults and the statistics in their short form, under an emulator
  dist [--only amd64|arm64|armhf]… [--check]     packages and tarballs with checksums, into dist/ of the target folder;
                                                 --check installs each in a Debian of its own, runs and removes it
  bench [NAME] [-- ARGUMENTS]                    the benchmarks under bench/, in release
  bench up [--machine NAME] [--two] [-- COMMAND] powerband in a kernel of its own, with P-states and a power meter
  bench rig [--machine NAME] [--two] [-- COMMAND]
                                                 powerband here, with that kernel as its machine
";

/// Every chore by name, for dispatch and for the check of what the documents promise.
const CHORES: [&str; 5] = ["test", "tidy", "sweep", "dist", "bench"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Does one chore and answers whether all was well.
fn run(words: &[String]) -> Result<bool> {
    let Some((chore, rest)) = words.split_first() else {
        bail!("which chore?\n\n{USAGE}");
    };
    match chore.as_str() {
        "test" => test::run(&test::parse(rest)?),
        "tidy" => {
            no_more(rest)?;
            tidy::run()
        }
        "sweep" => sweep::run(&sweep::parse(rest)?),
        "dist" => dist::run(&dist::parse(rest)?),
        "bench" => bench::run(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(true)
        }
        other => bail!("there is no chore '{other}'\n\n{USAGE}"),
    }
}

fn no_more(words: &[String]) -> Result<()> {
    match words.first() {
        Some(word) => bail!("'{word}' means nothing here\n\n{USAGE}"),
        None => Ok(()),
    }
}

/// The value of an option, or a sentence that says which one is missing.
fn value<'a>(option: &str, words: &mut impl Iterator<Item = &'a String>) -> Result<&'a str> {
    words.next().map(String::as_str).with_context(|| format!("{option} needs a value\n\n{USAGE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usage_names_every_chore() {
        for chore in CHORES {
            assert!(USAGE.lines().any(|line| line.trim_start().starts_with(chore)), "{chore}");
        }
    }

    #[test]
    fn an_unknown_chore_is_refused_by_name() {
        let error = run(&["dance".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("no chore 'dance'"), "{error}");
        assert!(run(&[]).is_err());
        assert!(run(&["tidy".to_owned(), "more".to_owned()]).is_err());
    }
}
