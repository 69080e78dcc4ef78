//! `cargo xtask test`: the tiers in order, a time for each, and one closing line that counts everything.
pub(crate) mod needs;
mod temporary;
pub(crate) mod tiers;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cargo::{cargo, cargo_for_tests, counted, in_ci, succeeds};
use crate::metadata::packages;
use crate::tally::Tally;
use crate::{tidy, value};
use needs::Fetch;
use temporary::Temporary;
use tiers::Tier;

/// Reads the words behind `test`: the tiers asked for, in their own order; all when none is named.
///
/// # Errors
/// When a word is not an option or not a tier.
pub(crate) fn parse(words: &[String]) -> Result<Vec<Tier>> {
    let mut asked = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let names = match word.strip_prefix("--tier=") {
            Some(names) => names,
            None if word == "--tier" => value("--tier", &mut words)?,
            None => anyhow::bail!("'{word}' means nothing to test\n\n{}", crate::USAGE),
        };
        for name in names.split(',') {
            asked.push(Tier::named(name).with_context(|| format!("there is no tier '{name}'\n\n{}", crate::USAGE))?);
        }
    }
    Ok(Tier::ALL.into_iter().filter(|tier| asked.is_empty() || asked.contains(tier)).collect())
}

/// Runs the tiers and answers whether nothing failed.
///
/// # Errors
/// When cargo cannot be started at all.
pub(crate) fn run(asked: &[Tier]) -> Result<bool> {
    let mut fetch = Fetch::begin(&Tier::needs(asked));
    let mut sum = Tally::default();
    let mut times = Vec::new();
    for tier in asked {
        let begun = Instant::now();
        let tally = one(*tier, &mut fetch)?;
        if let Some(tally) = tally {
            sum.add(tally);
            times.push((*tier, begun.elapsed(), tally));
        }
    }
    println!();
    for (tier, time, tally) in &times {
        println!("{}", timing(*tier, *time, *tally));
    }
    println!("{sum}");
    Ok(sum.well())
}

/// One tier; `None` when there is nothing in it.
fn one(tier: Tier, fetch: &mut Fetch) -> Result<Option<Tally>> {
    println!("── {tier}");
    if tier == Tier::Lint {
        return Ok(Some(lint()?));
    }
    let runs = tier.runs(&packages()?);
    if runs.is_empty() {
        println!("nothing here yet");
        return Ok(None);
    }
    if let Err(why) = fetch.ready(tier.programs()) {
        eprintln!("the tier {tier} cannot run: {why}");
        return Ok(Some(could_not_run(in_ci())));
    }
    let temporary = Temporary::make()?;
    let mut tally = Tally::default();
    for words in runs {
        let mut command = cargo_for_tests();
        command.env("TMPDIR", temporary.path()).arg("test").args(locked()).args(words);
        tally.add(counted(&mut command)?);
    }
    let left = temporary.left()?;
    if !left.is_empty() {
        eprintln!("the tier {tier} left in its temporary folder: {}", left.join(", "));
    }
    tally.add(Tally::check(left.is_empty()));
    Ok(Some(tally))
}

/// What a tier counts as that could not run.
fn could_not_run(in_ci: bool) -> Tally {
    if in_ci { Tally::check(false) } else { Tally { skipped: 1, ..Tally::default() } }
}

/// Formatting, clippy, tidy: one check each. All are made, whatever the first says.
fn lint() -> Result<Tally> {
    let mut tally = Tally::check(succeeds(cargo().args(["fmt", "--all", "--check"]))?);
    let mut clippy = cargo();
    clippy.arg("clippy").args(locked()).args(["--workspace", "--all-targets", "--", "-D", "warnings"]);
    tally.add(Tally::check(succeeds(&mut clippy)?));
    let tidy = tidy::run().unwrap_or_else(|error| {
        eprintln!("tidy: {error:#}");
        false
    });
    tally.add(Tally::check(tidy));
    Ok(tally)
}

/// A change whose Cargo.lock is stale must not pass by silently making a new one.
fn locked() -> Option<&'static str> {
    in_ci().then_some("--locked")
}

fn timing(tier: Tier, time: Duration, tally: Tally) -> String {
    format!("{:<9}{:>7.1} s   {tally}", tier.to_string(), time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Vec<Tier>> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn tiers_are_picked_by_name_and_run_in_their_own_order() {
        assert_eq!(parsed(&[]).unwrap(), Tier::ALL);
        assert_eq!(parsed(&["--tier", "host", "--tier=lint"]).unwrap(), [Tier::Lint, Tier::Host]);
        assert_eq!(parsed(&["--tier", "pure,pure"]).unwrap(), [Tier::Pure]);
        for bad in [&["--tier", "fast"][..], &["--tier"], &["pure"]] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_tier_that_could_not_run_fails_where_it_decides() {
        assert!(!could_not_run(true).well());
        assert_eq!(could_not_run(false).to_string(), "0 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn a_tier_has_its_time() {
        let line = timing(Tier::Pure, Duration::from_millis(61_250), Tally { passed: 12, ..Tally::default() });
        assert_eq!(line, "pure        61.2 s   12 passed, 0 failed");
    }
}
