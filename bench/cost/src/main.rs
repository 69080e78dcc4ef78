//! What looking costs: `powerband watch --log` ten times a second next to perf, sar, a loop of psutil and a
//! bare loop over the same files, all at once; CPU time and wake-ups by the kernel's own counts. Exit code 1 when ours wakes
//! more often than it looks, or another is cheaper.
mod counts;
mod tree;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use serde::Serialize;

use crate::counts::Counts;

/// Races `powerband watch --log` against other ways to look ten times a second. Needs root; perf, sysstat and psutil where
/// they are there.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long everyone is counted, s.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(2..=600))]
    seconds: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Set where the mount namespace is already a private one: the command that races.
    #[arg(long, hide = true)]
    inside: Option<PathBuf>,
    /// Set in the bare loop: the files it reads.
    #[arg(long, hide = true, num_args = 1..)]
    bare: Vec<PathBuf>,
}

/// What everyone may do before it is counted: start, and open its files.
const WARM: Duration = Duration::from_secs(3);

/// Time from sample to sample.
const INTERVAL: Duration = Duration::from_millis(100);

/// The goals: share of a CPU, and of what the next best takes for a sample.
const GOAL_SHARE: f64 = 0.0002;
const GOAL_OF_NEXT: f64 = 0.1;

/// One way to look.
struct Contender {
    name: &'static str,
    /// Looks a second; sar looks once at most.
    rate: u32,
    command: Command,
}

#[derive(Debug, Serialize)]
struct Report {
    version: u32,
    seconds: u64,
    sources: usize,
    rows: Vec<Row>,
    marks: Vec<Mark>,
}

#[derive(Debug, Serialize)]
struct Row {
    contender: &'static str,
    looks_per_s: u32,
    cpu_percent: f64,
    us_per_look: f64,
    wakeups_per_s: f64,
    /// Its CPU time for a look over ours.
    over_ours: f64,
}

/// One thing that ours should meet.
#[derive(Debug, Serialize)]
struct Mark {
    what: String,
    met: bool,
    /// Whether missing it is a failure, and no goal that is still ahead.
    must: bool,
}

fn main() -> ExitCode {
    bench_built::end("bench-cost", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !arguments.bare.is_empty() {
        return tree::read_forever(&arguments.bare, INTERVAL);
    }
    let Some(powerband) = &arguments.inside else { return begin() };
    tree::build()?;
    let report = race(arguments, powerband)?;
    if arguments.json {
        bench_built::print(&serde_json::to_string_pretty(&report).context("cannot write JSON")?)
    } else {
        print_table(&report)
    }
    let failed = report.marks.iter().any(|mark| mark.must && !mark.met);
    Ok(bench_built::goals(!failed))
}

fn begin() -> Result<ExitCode> {
    ensure!(rustix::process::geteuid().is_root(), "only root may mount a tree of sensors; run it as root");
    bench_built::begin_with_own_mounts()
}

/// Our own way to look.
fn ours(powerband: &Path, work: &Path) -> Contender {
    let mut ours = Command::new(powerband);
    ours.args(["watch", "--interval", "100ms", "--force", "--log"]).arg(work.join("log.csv"));
    ours.env("POWERBAND_STATE_DIR", work.join("state")).env_remove("POWERBAND_MACHINE");
    Contender { name: OURS, rate: 10, command: ours }
}

/// Everyone else, `files` being what ours reads.
fn others(files: &[PathBuf], work: &Path) -> Result<Vec<Contender>> {
    let mut bare = Command::new(std::env::current_exe().context("cannot find this program")?);
    bare.arg("--bare").args(files);
    let mut perf = Command::new("perf");
    perf.args(["stat", "-a", "-x,", "-I", "100", "-e", EVENTS, "-o"]).arg(work.join("perf.csv"));
    let mut sar = Command::new("sar");
    sar.args(["-u", "ALL", "-w", "-I", "ALL", "1"]).env("LC_ALL", "C");
    let mut psutil = Command::new("/usr/bin/python3");
    psutil.args(["-c", &tree::psutil_loop(files, INTERVAL)]);
    Ok(vec![
        Contender { name: BARE, rate: 10, command: bare },
        Contender { name: "perf stat -a -I 100, 8 events", rate: 10, command: perf },
        Contender { name: "sar -u ALL -w -I ALL 1", rate: 1, command: sar },
        Contender { name: "psutil loop over the same files", rate: 10, command: psutil },
    ])
}

const OURS: &str = "powerband watch --log";
const BARE: &str = "bare loop over the same files";
const EVENTS: &str =
    "context-switches,cpu-migrations,page-faults,cpu-clock,task-clock,minor-faults,major-faults,alignment-faults";

fn race(arguments: &Arguments, powerband: &Path) -> Result<Report> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut ours = ours(powerband, work.path());
    let child = start(&mut ours).context("cannot start powerband watch")?;
    let files = tree::opened_by(child.id()).inspect_err(|_| counts::end_group(child.id()))?;
    let mut running: Vec<(Contender, Child)> = vec![(ours, child)];
    for mut contender in others(&files, work.path())? {
        // One that is not installed does not race.
        if let Ok(child) = start(&mut contender) {
            running.push((contender, child));
        }
    }
    std::thread::sleep(WARM);
    let count = |running: &[(Contender, Child)]| {
        running.iter().map(|(_, child)| Counts::of_group(child.id())).collect::<Vec<_>>()
    };
    let before = count(&running);
    std::thread::sleep(Duration::from_secs(arguments.seconds));
    let after = count(&running);
    let mut counted = Vec::new();
    for ((contender, mut child), (before, after)) in running.into_iter().zip(before.into_iter().zip(after)) {
        let lives = child.try_wait().is_ok_and(|ended| ended.is_none());
        counts::end_group(child.id());
        let _ = child.wait();
        // One that could not do what it was asked for has ended long before.
        if lives {
            counted.push((contender, after.since(&before)));
        }
    }
    reported(arguments, files.len(), &counted)
}

/// Starts one, with nothing to read and nowhere to print, in a group of its own.
fn start(contender: &mut Contender) -> std::io::Result<Child> {
    let quiet = contender.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.process_group(0).spawn()
}

fn reported(arguments: &Arguments, sources: usize, counted: &[(Contender, Counts)]) -> Result<Report> {
    let seconds = arguments.seconds as f64;
    let per_look =
        |(contender, counts): &(Contender, Counts)| counts.run_ns as f64 / 1e3 / seconds / f64::from(contender.rate);
    let ours =
        counted.iter().find(|(contender, _)| contender.name == OURS).context("powerband watch has ended early")?;
    let our_us = per_look(ours);
    let rows: Vec<Row> = counted
        .iter()
        .map(|it| Row {
            contender: it.0.name,
            looks_per_s: it.0.rate,
            cpu_percent: it.1.run_ns as f64 / 1e7 / seconds,
            us_per_look: per_look(it),
            wakeups_per_s: it.1.wakeups as f64 / seconds,
            over_ours: per_look(it) / our_us,
        })
        .collect();
    let peers = counted.iter().filter(|(contender, _)| ![OURS, BARE].contains(&contender.name));
    let next = peers.clone().map(per_look).fold(f64::INFINITY, f64::min);
    let share = ours.1.run_ns as f64 / 1e9 / seconds;
    let mark = |what: String, met: bool, must: bool| Mark { what, met, must };
    let marks = vec![
        mark("wakes no more often than it looks".into(), ours.1.wakeups as f64 <= seconds * 10.0 * 1.05 + 2.0, true),
        mark("is cheaper than each of the others".into(), our_us < next, true),
        mark(format!("takes {} % of a CPU at most", 100.0 * GOAL_SHARE), share <= GOAL_SHARE, false),
        mark(format!("takes {GOAL_OF_NEXT} of the next best at most"), our_us <= GOAL_OF_NEXT * next, false),
    ];
    ensure!(peers.count() > 0, "none of the others is here; install perf, sysstat, python3-psutil");
    Ok(Report { version: 1, seconds: arguments.seconds, sources, rows, marks })
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its table")]
fn print_table(report: &Report) {
    println!("{} sources, everyone at once, counted for {} s", report.sources, report.seconds);
    println!(
        "{:<32} {:>7} {:>9} {:>12} {:>12} {:>10}",
        "", "looks/s", "% of CPU", "us for one", "wake-ups/s", "over ours"
    );
    for row in &report.rows {
        println!(
            "{:<32} {:>7} {:>9.3} {:>12.1} {:>12.1} {:>10.2}",
            row.contender, row.looks_per_s, row.cpu_percent, row.us_per_look, row.wakeups_per_s, row.over_ours
        );
    }
    for mark in &report.marks {
        let met = match (mark.met, mark.must) {
            (true, _) => "met",
            (false, true) => "MISSED",
            (false, false) => "not reached",
        };
        println!("{met}: {}", mark.what);
    }
}
