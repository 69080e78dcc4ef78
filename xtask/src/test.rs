//! `cargo xtask test`: the tiers in order, a time for each, and one closing line that counts everything.
mod built;
mod changed;
pub(crate) mod needs;
mod runner;
mod schedule;
mod snapshots;
mod temporary;
pub(crate) mod tiers;
mod times;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cargo::{cargo, in_ci, locked, patient_cargo, succeeds};
use crate::metadata::{packages, target_folder};
use crate::tally::Tally;
use crate::{tidy, value};
use built::Built;
use needs::Fetch;
use runner::Group;
use schedule::Run;
use snapshots::Snapshots;
use temporary::Temporary;
use tiers::Tier;
use times::Times;

/// What to test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// In their own order.
    tiers: Vec<Tier>,
    /// Only what a change since a commit touches; the commit where one is named.
    changed: Option<Option<String>>,
    /// Whether tests of words replace their snapshots; only tests that may have some run.
    accept: bool,
    /// Whether times of binaries and tests are written to `test-times.md` in the target folder.
    times: bool,
}

/// Reads the words behind `test`: the tiers asked for; all when none is named.
///
/// # Errors
/// When a word is not an option or not a tier.
pub(crate) fn parse(words: &[String]) -> Result<Asked> {
    let mut asked = Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => asked.tiers.extend(Tier::QUICK),
            "--accept" => asked.accept = true,
            "--times" => asked.times = true,
            _ => {}
        }
        if ["--quick", "--accept", "--times"].contains(&word.as_str()) {
            continue;
        }
        if let Some(base) = word.strip_prefix("--changed") {
            let base = base.strip_prefix('=').map(str::to_owned);
            anyhow::ensure!(
                base.is_some() || word == "--changed",
                "'{word}' means nothing to test\n\n{}",
                crate::USAGE
            );
            asked.changed = Some(base);
            continue;
        }
        let names = match word.strip_prefix("--tier=") {
            Some(names) => names,
            None if word == "--tier" => value("--tier", &mut words)?,
            None => anyhow::bail!("'{word}' means nothing to test\n\n{}", crate::USAGE),
        };
        for name in names.split(',') {
            let tier = Tier::named(name).with_context(|| format!("there is no tier '{name}'\n\n{}", crate::USAGE))?;
            asked.tiers.push(tier);
        }
    }
    let usual = match (asked.accept, &asked.changed) {
        (true, _) => &[Tier::Pure][..],
        (false, Some(_)) => &[Tier::Lint, Tier::Pure, Tier::Host],
        (false, None) => &Tier::ALL,
    };
    let wanted = if asked.tiers.is_empty() { usual } else { &asked.tiers };
    asked.tiers = Tier::ALL.into_iter().filter(|tier| wanted.contains(tier)).collect();
    Ok(asked)
}

/// Runs the tiers and answers whether nothing failed.
///
/// # Errors
/// When cargo or a test binary cannot be started at all.
pub(crate) fn run(asked: &Asked) -> Result<bool> {
    let packages = packages()?;
    let change = asked.changed.as_ref().map(|base| changed::since(base.as_deref(), &packages)).transpose()?;
    let mut tests = change.as_ref().map_or_else(|| packages.clone(), |change| change.tested(&packages, &asked.tiers));
    tests.retain(|package| !asked.accept || snapshots::may_have(package));
    let tiers: Vec<Tier> = asked
        .tiers
        .iter()
        .copied()
        .filter(|tier| *tier == Tier::Lint || tests.iter().any(|package| tier.has_tests_of(package)))
        .collect();
    let mut fetch = Fetch::begin(&Tier::needs(&tiers));
    let mut rows = Vec::new();
    let mut built = Built::default();
    if !tests.is_empty() && tiers.iter().any(|tier| *tier != Tier::Lint) {
        let begun = Instant::now();
        let brought = built::build(&packages, &tests)?;
        // Tests that do not compile are one failure.
        let tally = if brought.is_none() { Tally::failure("the tests do not compile") } else { Tally::default() };
        rows.push(("build".to_owned(), begun.elapsed(), tally));
        built = brought.unwrap_or_default();
    }
    let (temporary, times, snapshots) = (Temporary::make()?, Times::default(), Snapshots::begin(asked.accept)?);
    built.variables.extend(snapshots.variables());
    let (mut runs, mut missing) = (Vec::new(), Vec::new());
    for tier in &tiers {
        match fetch.ready(tier.programs()) {
            Ok(()) => {
                runs.push(Run { tier: *tier, place: temporary.of(*tier)?, groups: tier.groups(&built) });
            }
            Err(why) => {
                eprintln!("the tier {tier} cannot run: {why}");
                missing.push((tier.to_string(), Duration::ZERO, could_not_run(in_ci(), *tier)));
            }
        }
    }
    let (ended, boards_built_in) = schedule::all(&runs, &built, asked.times.then_some(&times))?;
    let ran = runs.iter().flat_map(|run| &run.groups).flat_map(Group::binaries).collect::<Vec<_>>();
    rows.push(("snapshots".to_owned(), Duration::ZERO, snapshots.end(&ran)?));
    if asked.times {
        let path = target_folder()?.join("test-times.md");
        times.write(&path)?;
        println!("times of binaries and tests: {}", path.display());
    }
    rows.extend(boards_built_in.map(|time| ("build arm".to_owned(), time, Tally::default())));
    rows.extend(ended.iter().map(|ended| (ended.tier.to_string(), ended.time, ended.tally.clone())));
    rows.extend(missing);
    let mut sum = Tally::default();
    println!();
    rows.retain(|(_, time, tally)| !time.is_zero() || *tally != Tally::default());
    for (name, time, tally) in rows {
        println!("{}", timing(&name, time, &tally));
        sum.add(tally);
    }
    for test in &sum.repeated {
        println!("repeated once: {test}");
    }
    for failure in &sum.failures {
        println!("{failure}");
    }
    println!("{sum}");
    Ok(sum.well())
}

/// What a tier counts as that could not run.
fn could_not_run(in_ci: bool, tier: Tier) -> Tally {
    if in_ci {
        Tally::failure(&format!("the tier {tier} could not run"))
    } else {
        Tally { skipped: 1, ..Tally::default() }
    }
}

/// Formatting, clippy, documentation, tidy: one check each. All are made, whatever the first says.
fn lint() -> Result<Tally> {
    let mut tally = Tally::check(succeeds(cargo().args(["fmt", "--all", "--check"]))?, "cargo fmt --all --check");
    let everything = ["--workspace", "--all-targets", "--features", built::FEATURES];
    for what in [&everything[..], &["--package", "powerband", "--no-default-features"]] {
        let mut clippy = patient_cargo();
        clippy.arg("clippy").args(locked()).args(what).args(["--", "-D", "warnings"]);
        tally.add(Tally::check(succeeds(&mut clippy)?, &format!("cargo clippy {}", what.join(" "))));
    }
    let mut doc = patient_cargo();
    doc.arg("doc").args(locked()).args(["--workspace", "--no-deps", "--quiet", "--features", built::FEATURES]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    tally.add(Tally::check(succeeds(&mut doc)?, "cargo doc, without broken links"));
    let tidy = tidy::run().unwrap_or_else(|error| {
        eprintln!("tidy: {error:#}");
        false
    });
    tally.add(Tally::check(tidy, "cargo xtask tidy"));
    Ok(tally)
}

/// A line of the closing table; a build has no tests.
fn timing(name: &str, time: Duration, tally: &Tally) -> String {
    let line = format!("{name:<9}{:>7.1} s", time.as_secs_f64());
    if *tally == Tally::default() { line } else { format!("{line}   {tally}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Asked> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn tiers_are_picked_by_name_and_run_in_their_own_order() {
        assert_eq!(parsed(&[]).unwrap().tiers, Tier::ALL);
        assert_eq!(parsed(&["--tier", "host", "--tier=lint"]).unwrap().tiers, [Tier::Lint, Tier::Host]);
        assert_eq!(parsed(&["--tier", "pure,pure"]).unwrap().tiers, [Tier::Pure]);
        for bad in [&["--tier", "fast"][..], &["--tier"], &["pure"], &["--changedly"]] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_change_is_tested_by_what_takes_no_minutes() {
        let asked = parsed(&["--changed"]).unwrap();
        assert_eq!((asked.tiers, asked.changed), (vec![Tier::Lint, Tier::Pure, Tier::Host], Some(None)));
        let asked = parsed(&["--changed=v1", "--tier", "guest"]).unwrap();
        assert_eq!((asked.tiers, asked.changed), (vec![Tier::Guest], Some(Some("v1".to_owned()))));
        assert_eq!(parsed(&["--quick"]).unwrap().tiers, Tier::QUICK);
        assert_eq!(parsed(&["--accept"]).unwrap().tiers, [Tier::Pure]);
    }

    #[test]
    fn a_tier_that_could_not_run_fails_where_it_decides() {
        assert!(!could_not_run(true, Tier::Guest).well());
        assert_eq!(could_not_run(false, Tier::Guest).to_string(), "0 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn a_tier_has_its_time() {
        let line = timing("pure", Duration::from_millis(61_250), &Tally { passed: 12, ..Tally::default() });
        assert_eq!(line, "pure        61.2 s   12 passed, 0 failed");
        assert_eq!(timing("build", Duration::from_secs(320), &Tally::default()), "build      320.0 s");
    }
}
