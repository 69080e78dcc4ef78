//! `cargo xtask sweep`: the long Monte Carlo forms of the tests, each round with a seed nobody has seen before.
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::cargo::{cargo, counted};
use crate::metadata::packages;
use crate::tally::Tally;
use crate::value;

/// Package, and the filter that picks its long forms (`""`: its tests look at [`LONG`] themselves).
const SWEPT: [(&str, &str); 2] = [("powerband-stats", ""), ("powerband", "sweep_")];

/// Asks tests for their long forms.
const LONG: &str = "POWERBAND_SWEEP";

/// The seed they start from.
const SEED: &str = "POWERBAND_SWEEP_SEED";

/// What to sweep.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Rounds.
    seeds: u32,
    /// The first round's seed; a fresh one when absent.
    seed: Option<u64>,
}

/// Reads the words behind `sweep`.
///
/// # Errors
/// When a word is not an option or not a number.
pub(crate) fn parse(words: &[String]) -> Result<Asked> {
    let mut asked = Asked { seeds: 1, seed: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => {
                let text = value(word, &mut words)?;
                asked.seeds = text.parse().ok().filter(|seeds| *seeds > 0).context("--seeds needs a number from 1")?;
            }
            "--seed" => {
                let text = value(word, &mut words)?;
                asked.seed = Some(text.parse().ok().context("--seed needs a number, as a sweep prints it")?);
            }
            _ => bail!("'{word}' means nothing to sweep\n\n{}", crate::USAGE),
        }
    }
    Ok(asked)
}

/// Runs the rounds and answers whether nothing failed.
///
/// # Errors
/// When cargo cannot be started at all.
pub(crate) fn run(asked: &Asked) -> Result<bool> {
    let packages = packages()?;
    let mut sum = Tally::default();
    let mut bad = Vec::new();
    let mut seed = asked.seed.unwrap_or_else(fresh_seed);
    for round in 1..=asked.seeds {
        println!("── round {round} of {}, seed {seed}", asked.seeds);
        let mut tally = Tally::default();
        for (package, filter) in SWEPT {
            if packages.iter().any(|known| known.name == package) {
                tally.add(one(package, filter, seed)?);
            }
        }
        if !tally.well() {
            bad.push(seed);
        }
        sum.add(tally);
        seed = next_seed(seed);
    }
    println!();
    for seed in bad {
        println!("failed with seed {seed}; again: cargo xtask sweep --seed {seed}");
    }
    if sum == Tally::default() {
        println!("no test took part");
    }
    println!("{sum}");
    Ok(sum.well() && sum.passed > 0)
}

fn one(package: &str, filter: &str, seed: u64) -> Result<Tally> {
    let mut command = cargo();
    command.env(LONG, "1").env(SEED, seed.to_string());
    command.args(["test", "--release", "--no-fail-fast", "-p", package]);
    if !filter.is_empty() {
        command.args(["--", filter]);
    }
    counted(&mut command)
}

/// The time of day, stirred: two sweeps never start alike.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    next_seed(since.as_secs().wrapping_mul(1_000_000_007) ^ u64::from(since.subsec_nanos()))
}

/// The seed of the next round (splitmix64, Steele, Lea and Flood 2014), kept below 2^53 so that every tool can hold it.
fn next_seed(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Asked> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        assert_eq!(parsed(&[]).unwrap(), Asked { seeds: 1, seed: None });
        assert_eq!(parsed(&["--seeds", "20", "--seed", "7"]).unwrap(), Asked { seeds: 20, seed: Some(7) });
        for bad in [&["--seeds", "0"][..], &["--seeds"], &["--seed", "x"], &["7"]] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rounds_differ_and_repeat_from_their_seed() {
        let seeds: Vec<u64> = std::iter::successors(Some(1), |seed| Some(next_seed(*seed))).take(1000).collect();
        let mut unique = seeds.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 1000);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
        assert_eq!(next_seed(0), 0xe220_a839_7b1d_cdaf >> 11, "the generator's published first value");
    }
}
