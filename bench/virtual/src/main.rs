//! `cargo xtask bench up`: boots a guest, runs one command of powerband in it, and ends it.
#![expect(clippy::print_stderr, reason = "a chore talks to the terminal it was started from")]
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use powerband_bench_virtual::{Guest, Options, Result};

/// Boots a Linux kernel with P-states and a power meter in QEMU and runs a command of powerband in it.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask bench up")]
struct Arguments {
    /// The machine whose clocks and power it has: a name in machines/sim, or the path of a machine file
    #[arg(long, value_name = "NAME", default_value = "quadcore")]
    machine: String,
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
    let mut guest = Guest::boot(&Options::machine(&arguments.machine)?)?;
    let words: Vec<&str> = std::iter::once("powerband").chain(arguments.command.iter().map(String::as_str)).collect();
    let ran = guest.run(&words)?;
    // Whoever closed our output does not want the rest.
    let _ = std::io::stdout().write_all(&ran.out);
    let _ = std::io::stderr().write_all(&ran.err);
    Ok(u8::try_from(ran.code).unwrap_or(1))
}
