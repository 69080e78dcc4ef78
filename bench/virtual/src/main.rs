//! `cargo xtask bench up`: boots a guest, runs one command of powerband in it, and ends it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the terminal it was started from")]
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use powerband_bench_virtual::{Cable, Guest, Options, Result, Speed, measure};

/// Boots a Linux kernel with P-states and a power meter in QEMU and runs a command of powerband in it.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask bench up")]
struct Arguments {
    /// The machine whose clocks and power it has: a name in machines/sim, or the path of a machine file
    #[arg(long, value_name = "NAME", default_value = "quadcore")]
    machine: String,
    /// Boot a second machine at the other end of a cable: 10.0.0.2, itself being 10.0.0.1
    #[arg(long)]
    two: bool,
    /// Measure how well its speed follows its clock, over this many rounds, instead of running a command
    #[arg(long, value_name = "ROUNDS", conflicts_with = "command")]
    clocks: Option<u32>,
    /// What powerband is told
    #[arg(last = true, value_name = "COMMAND", default_value = "info")]
    command: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("bench up: {error}");
            ExitCode::from(2)
        }
    }
}

/// Answers the code the command ended with.
fn run(arguments: &Arguments) -> Result<u8> {
    let mut options = Options::machine(&arguments.machine)?;
    options.cable = arguments.two.then_some(Cable::Open);
    let mut guest = Guest::boot(&options)?;
    options.cable = arguments.two.then(|| Cable::Into(guest.cable()));
    let _second = if arguments.two { Some(Guest::boot(&options)?) } else { None };
    if let Some(rounds) = arguments.clocks {
        print_speeds(&measure(&mut guest, rounds)?);
        return Ok(0);
    }
    let words: Vec<&str> = std::iter::once("powerband").chain(arguments.command.iter().map(String::as_str)).collect();
    let ran = guest.run(&words)?;
    // Whoever closed our output does not want the rest.
    let _ = std::io::stdout().write_all(&ran.out);
    let _ = std::io::stderr().write_all(&ran.err);
    Ok(u8::try_from(ran.code).unwrap_or(1))
}

/// What each clock gave, beside what it would give if speed followed the clock exactly.
fn print_speeds(speeds: &[Speed]) {
    let Some(fastest) = speeds.iter().max_by_key(|speed| speed.khz) else { return };
    println!(
        "{:>8}  {:>9}  {:>8}  {:>8}  {:>16}  {:>8}",
        "clock", "turns/s", "rounds ±", "of top", "host CPU, of top", "wanted"
    );
    for speed in speeds {
        let (turns_per_s, spread) = mean_and_spread(&speed.turns_per_s);
        let share = mean_and_spread(&speed.shares).0;
        println!(
            "{:>4} MHz  {turns_per_s:>9.0}  {:>6.1} %  {:>8.3}  {share:>8.3}{:>8.3}  {:>8.3}",
            speed.khz / 1000,
            spread * 100.0,
            turns_per_s / mean_and_spread(&fastest.turns_per_s).0,
            share / mean_and_spread(&fastest.shares).0,
            f64::from(speed.khz) / f64::from(fastest.khz)
        );
    }
}

/// Mean, and standard deviation as a share of it.
fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let count = u32::try_from(values.len()).map_or(1.0, f64::from);
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt() / mean)
}
