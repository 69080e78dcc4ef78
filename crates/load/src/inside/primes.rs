//! Counting primes by ranks: one process starts them, by Open MPI's `mpirun` or itself, and adds up what each prints.
//!
//! A rank is this program again, with its share as work. It prints its report, as there is no control descriptor for it, and
//! dies with anyone who started it.
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use powerband_record::{Among, Work};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{CONTROL_FD_VARIABLE, Failure, cpu_seconds, online};

/// Numbers are dealt to the ranks by so many at a time: in every such window as many have the divisors 2, 3, 5 and 7, so
/// that the shares take equally long.
const WINDOW: u32 = 210;

/// Where a rank that `mpirun` started finds which of how many it is: by Open MPI, and by PMIx alone.
const RANK_VARIABLES: [&str; 2] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK"];
const RANKS_VARIABLE: &str = "OMPI_COMM_WORLD_SIZE";

/// Starts the ranks, waits for all and adds up.
pub(super) fn launch(ranks: Option<u32>, limit: u64, mpirun: bool, among: Option<Among>) -> Result<Value, Failure> {
    let ranks = ranks.map_or_else(online, Ok)?;
    let Among { first, all } = among.unwrap_or(Among { first: 0, all: ranks });
    // mpirun numbers the ranks that it starts from 0.
    let children = if mpirun && among.is_none() {
        vec![start(&Work::command(by_mpirun(ranks, limit)?))?]
    } else {
        let share = |rank| Work::PrimesShare { rank: Some(first.saturating_add(rank)), ranks: all, limit };
        (0..ranks).map(|rank| start(&share(rank))).collect::<Result<_, _>>()?
    };
    let mut shares = BTreeMap::new();
    for child in children {
        let output = child.wait_with_output().map_err(Failure::of("cannot wait for a rank"))?;
        if !output.status.success() {
            let what = if mpirun { "mpirun" } else { "a rank" };
            return Err(Failure::of(what)(io::Error::other(format!("ended with {}", output.status))));
        }
        shares.extend(String::from_utf8_lossy(&output.stdout).lines().filter_map(told));
    }
    if shares.len() != ranks as usize || shares.keys().any(|rank| *rank >= u64::from(all)) {
        let why = format!("{} of {ranks} reported", shares.len());
        return Err(Failure::of("the ranks")(io::Error::other(why)));
    }
    let primes: u64 = shares.values().map(|(primes, _)| primes).sum();
    let seconds: f64 = shares.values().map(|(_, seconds)| seconds).sum();
    Ok(json!({ "primes": primes, "ranks": ranks, "cpu_seconds": seconds }))
}

/// What a rank printed: its number, its count, its CPU time; `None` for any other line.
fn told(line: &str) -> Option<(u64, (u64, f64))> {
    let value: Value = serde_json::from_str(line).ok()?;
    let report = value.get("report")?;
    Some((report["rank"].as_u64()?, (report["primes"].as_u64()?, report["cpu_seconds"].as_f64()?)))
}

/// This program, and the hidden verb that makes it do a piece of work: as we were started ourselves.
fn ourselves(work: &Work) -> Result<[String; 3], Failure> {
    // Of this process, as `self` would be another one where mpirun looks.
    let program = format!("/proc/{}/exe", std::process::id());
    let verb = std::env::args().nth(1).unwrap_or_default();
    let json = serde_json::to_string(work).map_err(|error| Failure::Work(error.to_string()))?;
    Ok([program, verb, json])
}

fn by_mpirun(ranks: u32, limit: u64) -> Result<Vec<String>, Failure> {
    let mut argv = vec!["mpirun".to_owned(), "--oversubscribe".into()];
    if rustix::process::geteuid().is_root() {
        argv.push("--allow-run-as-root".into());
    }
    argv.extend(["-n".into(), ranks.to_string()]);
    argv.extend(ourselves(&Work::PrimesShare { rank: None, ranks, limit })?);
    Ok(argv)
}

fn start(work: &Work) -> Result<Child, Failure> {
    let [program, verb, json] = ourselves(work)?;
    let mut child = Command::new(program);
    child.args([verb, json]).env_remove(CONTROL_FD_VARIABLE).stdin(Stdio::null()).stdout(Stdio::piped());
    child.spawn().map_err(Failure::of("cannot start a rank"))
}

/// Becomes mpirun, which ends with anyone who started us, and takes its ranks and what it made in /tmp along; returns only
/// with why it could not.
pub(super) fn become_mpirun(argv: &[String]) -> Failure {
    let Some((program, arguments)) = argv.split_first() else { return Failure::Work("an empty command".into()) };
    match end_with_parent(Signal::TERM) {
        Ok(()) => Failure::of(format!("cannot execute {program}"))(Command::new(program).args(arguments).exec()),
        Err(failure) => failure,
    }
}

fn end_with_parent(signal: Signal) -> Result<(), Failure> {
    let order = rustix::process::set_parent_process_death_signal(Some(signal));
    order.map_err(|error| Failure::of("cannot end with the parent")(error.into()))
}

/// Counts the share of one rank.
pub(super) fn share(rank: Option<u32>, ranks: u32, limit: u64) -> Result<Value, Failure> {
    end_with_parent(Signal::KILL)?;
    let rank = rank.map_or_else(|| rank_of_mpirun(ranks), Ok)?;
    let limit = u32::try_from(limit).map_err(|_| Failure::Work(format!("a limit of {limit}")))?;
    let primes = count(rank, ranks, limit);
    Ok(json!({ "rank": rank, "primes": primes, "cpu_seconds": cpu_seconds() }))
}

fn rank_of_mpirun(ranks: u32) -> Result<u32, Failure> {
    let number = |name: &&str| std::env::var(name).ok()?.parse::<u32>().ok();
    let all = number(&RANKS_VARIABLE).unwrap_or(ranks);
    let rank = RANK_VARIABLES.iter().find_map(number).filter(|rank| *rank < ranks && all == ranks);
    rank.ok_or_else(|| Failure::Work(format!("mpirun gave no rank of {ranks}")))
}

/// Primes below `limit` in every `ranks`-th window, from number `rank` on.
fn count(rank: u32, ranks: u32, limit: u32) -> u64 {
    let mut primes = 0;
    let mut from = rank.checked_mul(WINDOW);
    while let Some(first) = from.filter(|first| *first < limit) {
        let end = first.saturating_add(WINDOW).min(limit);
        primes += (first..end).filter(|number| is_prime(*number)).count() as u64;
        from = ranks.checked_mul(WINDOW).and_then(|step| first.checked_add(step));
    }
    primes
}

/// By division by what 2 and 3 do not divide: the CPU works, memory does not.
fn is_prime(number: u32) -> bool {
    if number < 5 || number.is_multiple_of(2) || number.is_multiple_of(3) {
        return number == 2 || number == 3;
    }
    let root = number.isqrt();
    (5..=root).step_by(6).all(|divisor| !number.is_multiple_of(divisor) && !number.is_multiple_of(divisor + 2))
}

#[cfg(test)]
mod tests {
    use powerband_record::primes_below;

    use super::*;

    #[test]
    fn ranks_together_count_every_prime_once() {
        for ranks in [1, 2, 3, 4, 7, 30, 1024] {
            for limit in [3, 5, 100, 210, 211, 100_000] {
                let all: u64 = (0..ranks).map(|rank| count(rank, ranks, limit)).sum();
                assert_eq!(all, primes_below(limit.into()), "{ranks} ranks below {limit}");
            }
        }
    }

    #[test]
    fn the_largest_numbers_are_tested_without_going_over() {
        assert!(is_prime(4_294_967_291) && !is_prime(u32::MAX) && !is_prime(65_521 * 65_521));
        // The last window of all has the two largest primes of 32 bits, 2^32 - 5 and 2^32 - 17.
        assert_eq!(count(20_452_225, 1 << 31, u32::MAX), 2);
    }

    #[test]
    fn shares_hold_equally_many_numbers_that_take_long() {
        for ranks in [2, 3, 4, 5, 6, 7, 18] {
            let shares: Vec<u64> = (0..ranks).map(|rank| count(rank, ranks, 1_000_000)).collect();
            let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
            assert!(most - least < least / 20, "{ranks}: {shares:?}");
        }
    }

    #[test]
    fn what_else_is_printed_is_not_taken_for_a_report() {
        let line = r#"{"report":{"rank":2,"primes":11,"cpu_seconds":0.5}}"#;
        assert_eq!(told(line), Some((2, (11, 0.5))));
        for other in ["", "mpirun: a warning", "{}", r#"{"report":{"rank":2}}"#] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
