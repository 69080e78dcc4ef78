//! `cargo xtask bench up` and `rig`: boots guests, runs one command of powerband in the first or with them, and ends them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore talks to the terminal it was started from")]
use std::io::Write;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use powerband_bench_virtual::{
    BenchError, BootOptions, Cable, Guest, GuestKernel, OVER_THE_CABLE, Result, Speed, machine, measure, plug,
    powerband, tools, with_machines,
};

/// Boots a Linux kernel with P-states and a power meter in QEMU and runs a command of powerband there.
#[derive(Parser, Debug)]
#[command(bin_name = "cargo xtask bench", disable_help_subcommand = true)]
struct Words {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand, Debug)]
enum Chore {
    /// Run a command of powerband in a guest
    ///
    /// Its output and its code are passed on. With --two a verb that turns or measures gets `--far` for the second guest,
    /// unless it names one: e.g. `up --two -- try both/nic.rx-usecs@eth0=10,10000 --load ping`.
    Up(Up),
    /// Run a command of this machine's powerband with a guest as its machine
    ///
    /// It gets `--machine` for the guest, which has an agent behind a port of its own, and with --two `--far` for the second
    /// guest, unless it names others: e.g. `rig -- run plans/counter.toml`. Ledger and results go into a folder that is
    /// removed at the end, unless POWERBAND_STATE_DIR names one.
    Rig(Rig),
    /// Connect standard input and output with the agent behind a guest's port
    #[command(hide = true)]
    Plug {
        /// The port's socket
        socket: PathBuf,
    },
}

#[derive(Args, Debug)]
struct Guests {
    /// The machine whose clocks and power it has: a name in machines/sim, or the path of a machine file; or an ARM board
    /// (orangepi-pc, virt-armhf, virt-arm64)
    #[arg(long, value_name = "NAME", default_value = "quadcore")]
    machine: String,
    /// Boot this image in place of Debian's kernel; it needs virtio (PCI, block, console) and ext4 built in
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Boot a second machine at the other end of a cable: 10.0.0.2, itself being 10.0.0.1
    #[arg(long)]
    two: bool,
    /// Let the firmware offer idle states
    #[arg(long)]
    idle_states: bool,
}

#[derive(Args, Debug)]
struct Up {
    #[command(flatten)]
    guests: Guests,
    /// Measure how well its speed follows its clock, over this many rounds, instead of running a command
    #[arg(long, value_name = "ROUNDS", conflicts_with = "command")]
    clocks: Option<u32>,
    /// What powerband is told
    #[arg(last = true, value_name = "COMMAND", default_value = "info")]
    command: Vec<String>,
}

#[derive(Args, Debug)]
struct Rig {
    #[command(flatten)]
    guests: Guests,
    /// What powerband is told
    #[arg(last = true, value_name = "COMMAND", default_value = "info")]
    command: Vec<String>,
}

/// Somebody waits for his own experiment, and has Ctrl-C.
const UNHURRIED: Duration = Duration::from_secs(24 * 3600);

fn main() -> ExitCode {
    let done = match Words::parse().chore {
        Chore::Up(arguments) => up(&arguments),
        Chore::Rig(arguments) => rig(&arguments),
        Chore::Plug { socket } => plug(&socket).map(|()| 0),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// The guest and, when there are two, the other one.
fn boot(guests: &Guests) -> Result<(Guest, Option<Guest>)> {
    let mut options = BootOptions::machine(&guests.machine)?;
    options.kernel = guests.kernel.clone().map(GuestKernel::built);
    options.cable = guests.two.then_some(Cable::Open);
    options.tools = if guests.two && options.is_pc() { tools::for_cables() } else { Vec::new() };
    options.idle_states = guests.idle_states;
    let first = Guest::boot(&options)?;
    options.cable = guests.two.then(|| Cable::Into(first.cable()));
    let second = if guests.two { Some(Guest::boot(&options)?) } else { None };
    Ok((first, second))
}

/// Answers the code the command ended with.
fn up(arguments: &Up) -> Result<u8> {
    let (mut guest, second) = boot(&arguments.guests)?;
    if let Some(rounds) = arguments.clocks {
        print_speeds(&measure(&mut guest, rounds)?);
        return Ok(0);
    }
    let words = with_machines(&arguments.command, None, second.as_ref().map(|_| OVER_THE_CABLE));
    let words: Vec<&str> = std::iter::once("powerband").chain(words.iter().map(String::as_str)).collect();
    let ran = guest.run_within(&words, UNHURRIED)?;
    // Anyone who closed our output does not want the rest.
    let _ = std::io::stdout().write_all(&ran.out);
    let _ = std::io::stderr().write_all(&ran.err);
    Ok(u8::try_from(ran.code).unwrap_or(1))
}

/// Answers the code the command ended with.
fn rig(arguments: &Rig) -> Result<u8> {
    let (guest, second) = boot(&arguments.guests)?;
    // From here on a Ctrl-C is for powerband, which restores before it ends; the guests end after it.
    let interrupted = signal_hook::flag::register(signal_hook::consts::SIGINT, std::sync::Arc::default());
    interrupted.map_err(|why| BenchError::Missing(format!("Ctrl-C cannot be waited for: {why}")))?;
    let no_place =
        |why: std::io::Error| BenchError::Missing(format!("there is no place for ledger and results: {why}"));
    let us = std::env::current_exe().map_err(no_place)?;
    let state = tempfile::tempdir().map_err(no_place)?;
    let far = second.as_ref().map(|second| machine(second, &us));
    let program = powerband()?;
    let mut command = Command::new(&program);
    command.args(with_machines(&arguments.command, Some(&machine(&guest, &us)), far.as_deref()));
    if std::env::var_os("POWERBAND_STATE_DIR").is_none() {
        command.env("POWERBAND_STATE_DIR", state.path());
    }
    let status = command
        .status()
        .map_err(|why| BenchError::Program { program: program.display().to_string(), why: why.to_string() })?;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// What each clock gave, next to what it would give if speed followed the clock exactly.
fn print_speeds(speeds: &[Speed]) {
    let Some(fastest) = speeds.iter().max_by_key(|speed| speed.khz) else { return };
    println!(
        "{:>8}  {:>9}  {:>8}  {:>8}  {:>20}  {:>8}",
        "clock", "turns/s", "rounds ±", "of top", "10^6 instr/s, of top", "wanted"
    );
    for speed in speeds {
        let (turns_per_s, spread) = mean_and_spread(&speed.turns_per_s);
        let per_us = mean_and_spread(&speed.instructions_per_s).0;
        println!(
            "{:>4} MHz  {turns_per_s:>9.0}  {:>6.1} %  {:>8.3}  {:>12.1}{:>8.3}  {:>8.3}",
            speed.khz / 1000,
            spread * 100.0,
            turns_per_s / mean_and_spread(&fastest.turns_per_s).0,
            per_us / 1e6,
            per_us / mean_and_spread(&fastest.instructions_per_s).0,
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
