//! The load player: runs in a counted guest, keeps its CPU busy and idle by a score, and tells when each stretch really was.
//!
//! A score is a file of lines, named on the command line: `busy NS`, `sleep NS`, `nice N`, `write PATH TEXT`, `read PATH`.
//! Busy is work that is counted, measured once at the start, so a stretch takes the time asked for only at about that
//! speed. What it tells, when the score is over, is a line a step that others need to know: `slept FROM UNTIL`,
//! `nice AT N`, `wrote AT PATH TEXT`, `read AT PATH TEXT` with line ends as `|`, all times in ns since boot.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it talks to the script it was started from")]
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::ExitCode;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Rounds of work done to learn how long one takes.
const TRIAL: u64 = 100_000;

fn main() -> ExitCode {
    let score = std::env::args().nth(1).unwrap_or_default();
    match std::fs::read_to_string(&score).map_err(|why| why.to_string()).and_then(|score| play(&score)) {
        Ok(told) => {
            print!("{told}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("bench-player: {score}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Plays a score; what is told of it.
fn play(score: &str) -> Result<String, String> {
    let began_ns = now_ns();
    work(TRIAL);
    let trial_ns = (now_ns() - began_ns).max(1);
    // Nothing is allocated between steps.
    let mut told = String::with_capacity(score.len() * 4 + (1 << 20));
    for line in score.lines() {
        step(line, trial_ns, &mut told).map_err(|why| format!("'{line}': {why}"))?;
    }
    Ok(told)
}

fn step(line: &str, trial_ns: u64, told: &mut String) -> Result<(), String> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let number = || rest.parse::<u64>().map_err(|why| why.to_string());
    let done = match verb {
        "busy" => {
            work(number()?.saturating_mul(TRIAL) / trial_ns);
            Ok(())
        }
        "sleep" => {
            let from_ns = now_ns();
            sleep_until(from_ns + number()?)?;
            writeln!(told, "slept {from_ns} {}", now_ns())
        }
        "nice" => {
            let at_ns = now_ns();
            let level = rest.parse().map_err(|_| "not a level".to_owned())?;
            rustix::process::setpriority_process(None, level).map_err(|why| why.to_string())?;
            writeln!(told, "nice {at_ns} {level}")
        }
        "write" => {
            let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
            let at_ns = now_ns();
            std::fs::write(path, text).map_err(|why| why.to_string())?;
            writeln!(told, "wrote {at_ns} {path} {text}")
        }
        "read" => {
            let at_ns = now_ns();
            let text = std::fs::read_to_string(rest).map_err(|why| why.to_string())?;
            writeln!(told, "read {at_ns} {rest} {}", text.trim_end().replace('\n', "|"))
        }
        _ => return Err("no such step".into()),
    };
    done.map_err(|why| why.to_string())
}

/// Counted work in long stretches without a jump, which an emulator runs fastest.
fn work(rounds: u64) {
    let mut state = black_box(1_u64);
    for _ in 0..rounds {
        for _ in 0..32 {
            state ^= state << 7;
            state = state.wrapping_add(state >> 9);
        }
        state = black_box(state);
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

fn sleep_until(at_ns: u64) -> Result<(), String> {
    let seconds = i64::try_from(at_ns / 1_000_000_000).map_err(|why| why.to_string())?;
    let rest = i64::try_from(at_ns % 1_000_000_000).map_err(|why| why.to_string())?;
    let until = Timespec { tv_sec: seconds, tv_nsec: rest };
    clock_nanosleep_absolute(ClockId::Monotonic, &until).map_err(|why| why.to_string())
}
