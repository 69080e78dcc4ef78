//! The race of `info`: a tree of 1,024 CPUs, mounted over this machine's own, is told by `powerband info --json` and by
//! `cpupower -c all frequency-info`, and read by bare loops over the files ours reads. Exit code 1 when ours misses its
//! marks.
mod bare;
mod facts;
mod tree;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use serde::Serialize;

/// Races `powerband info --json` against cpupower and against bare loops over the same files. Needs root.
#[derive(Debug, Parser)]
struct Arguments {
    /// CPUs of the tree.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(2..=8192))]
    cpus: u32,
    /// Rounds, in each of which every contender runs once.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Set where the mount namespace is already a private one: the command that races.
    #[arg(long, hide = true)]
    inside: Option<PathBuf>,
    /// Set in the bare loop: the list of files.
    #[arg(long, hide = true)]
    read: Option<PathBuf>,
    /// A command to run on the tree instead of the race.
    #[arg(last = true)]
    command: Vec<String>,
}

/// Where the tree is mounted.
const CPU: &str = "/sys/devices/system/cpu";

/// The most our wall time may be of the bare loop's.
const MAX_BARE: f64 = 1.2;

#[derive(Debug, Serialize)]
struct Report {
    version: u32,
    cpus: u32,
    rounds: u32,
    rows: Vec<Row>,
    marks: Vec<Mark>,
}

impl Report {
    fn is_met(&self) -> bool {
        self.marks.iter().all(|mark| mark.met)
    }
}

/// One thing that ours should meet.
#[derive(Debug, Serialize)]
struct Mark {
    what: String,
    met: bool,
}

/// One contender; the bare loops tell nothing.
#[derive(Debug, Serialize)]
struct Row {
    contender: &'static str,
    /// Median, from start to end.
    wall_ms: f64,
    facts: usize,
    /// Files it read, where that was looked at.
    files: Option<usize>,
    /// Median over the rounds of its wall time over cpupower's.
    over_cpupower: f64,
    /// The same over the bare loop over its own files.
    over_bare: Option<f64>,
}

/// In the order of the table. The part that tells what cpupower tells races against it; all parts and each part race
/// against bare loops.
const CONTENDERS: [&str; 5] = [
    "powerband info cpu --json",
    "powerband info --json",
    "cpupower -c all frequency-info",
    "bare loop over the files of info cpu",
    "bare loop over the files of info",
];
const PART: usize = 0;
const WHOLE: usize = 1;
const CPUPOWER: usize = 2;

fn main() -> ExitCode {
    bench_built::end("bench-info", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(list) = &arguments.read {
        return bare::read_all(list).map(|_| ExitCode::SUCCESS);
    }
    let Some(powerband) = &arguments.inside else { return begin() };
    // In memory, and gone with the namespace.
    rustix::mount::mount("bench-info", CPU, "tmpfs", rustix::mount::MountFlags::empty(), None)
        .context("cannot mount a tree over the CPUs")?;
    tree::build(Path::new(CPU), arguments.cpus)?;
    if let [program, words @ ..] = &arguments.command[..] {
        let status = Command::new(program).args(words).status().with_context(|| format!("cannot start {program}"))?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::from(1) });
    }
    let report = race(arguments, powerband)?;
    if arguments.json {
        bench_built::print(&serde_json::to_string_pretty(&report)?)
    } else {
        print_table(&report)
    }
    Ok(bench_built::goals(report.is_met()))
}

fn begin() -> Result<ExitCode> {
    ensure!(rustix::process::geteuid().is_root(), "only root may mount a tree over the CPUs; run it as root");
    bench_built::begin_with_own_mounts()
}

fn race(arguments: &Arguments, powerband: &Path) -> Result<Report> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let ours = |words: &[&str]| {
        let mut command = Command::new(powerband);
        // A ledger of nothing, and no option of the surroundings'.
        command.args(words).env("POWERBAND_STATE_DIR", work.path().join("state"));
        command.env_remove("POWERBAND_MACHINE").env_remove("POWERBAND_STORE");
        command
    };
    let ours = [&["info", "cpu", "--json"][..], &["info", "--json"]].map(|words| move || ours(words));
    let theirs = || {
        let mut command = Command::new("cpupower");
        command.args(["-c", "all", "frequency-info"]).env("LC_ALL", "C");
        command
    };
    let their_text = output(&mut theirs())?;
    let (mut told, mut lists) = (Vec::new(), Vec::new());
    for (number, ours) in ours.iter().enumerate() {
        let json = serde_json::from_str(&output(&mut ours())?).context("info --json is no JSON")?;
        let (we_see, they_see) = (facts::cpus_of_json(&json), facts::cpus_of_cpupower(&their_text));
        let all = arguments.cpus as usize;
        ensure!((we_see, they_see) == (all, all), "of {all} CPUs we told {we_see} and cpupower {they_see}");
        told.push(facts::of_json(&json));
        let files = bare::files_read_by(&mut ours(), work.path())?;
        let list = work.path().join(format!("files{number}"));
        std::fs::write(&list, files.join("\n")).context("cannot write the list of files")?;
        lists.push((list, files.len()));
    }
    told.extend([facts::of_cpupower(&their_text), 0, 0]);
    let this = std::env::current_exe().context("cannot find this program")?;
    let bare = |list: &Path| {
        let mut command = Command::new(&this);
        command.arg("--read").arg(list);
        command
    };
    let mut walls: [Vec<f64>; CONTENDERS.len()] = Default::default();
    for round in 0..arguments.rounds as usize {
        let mut commands = [ours[PART](), ours[WHOLE](), theirs(), bare(&lists[PART].0), bare(&lists[WHOLE].0)];
        // Each goes first, second and so on equally often.
        for turn in 0..commands.len() {
            let which = (round + turn) % commands.len();
            walls[which].push(wall_ms(&mut commands[which])?);
        }
    }
    let files = [0, 1].map(|number| lists.get(number).map(|(_, count)| *count));
    Ok(reported(arguments, &walls, &told, files))
}

fn reported(
    arguments: &Arguments,
    walls: &[Vec<f64>; CONTENDERS.len()],
    told: &[usize],
    files: [Option<usize>; 2],
) -> Report {
    let ratio = |ours: usize, others: usize| {
        median(walls[ours].iter().zip(&walls[others]).map(|(ours, other)| ours / other).collect())
    };
    let row = |number: usize| Row {
        contender: CONTENDERS[number],
        wall_ms: median(walls[number].clone()),
        facts: told[number],
        files: files.get(number % (CPUPOWER + 1)).copied().flatten().filter(|_| number != CPUPOWER),
        over_cpupower: ratio(number, CPUPOWER),
        over_bare: (number < CPUPOWER).then(|| ratio(number, number + CPUPOWER + 1)),
    };
    let rows: Vec<Row> = (0..CONTENDERS.len()).map(row).collect();
    let marks = marks(&rows);
    Report { version: 1, cpus: arguments.cpus, rounds: arguments.rounds, rows, marks }
}

/// What ours should meet: more told than cpupower in less time, and hardly more time than reading takes.
fn marks(rows: &[Row]) -> Vec<Mark> {
    let (ours, theirs) = (&rows[PART], &rows[CPUPOWER]);
    let facts = Mark {
        what: format!("{}: {} facts, cpupower {}", ours.contender, ours.facts, theirs.facts),
        met: ours.facts > theirs.facts,
    };
    let time = Mark {
        what: format!("{}: {:.2} of cpupower's time, below 1", ours.contender, ours.over_cpupower),
        met: ours.over_cpupower < 1.0,
    };
    let bare = rows.iter().filter_map(|row| row.over_bare.map(|ratio| (row, ratio)));
    let bare = bare.map(|(row, ratio)| Mark {
        what: format!("{}: {ratio:.2} of the bare loop's time, at most {MAX_BARE}", row.contender),
        met: ratio <= MAX_BARE,
    });
    [facts, time].into_iter().chain(bare).collect()
}

fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).with_context(|| format!("{name} printed what is no text"))
}

/// From start to end, ms; what it prints goes nowhere.
fn wall_ms(command: &mut Command) -> Result<f64> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {name}"))?;
    let wall = began.elapsed().as_secs_f64() * 1e3;
    ensure!(status.success(), "{name} ended with {status}");
    Ok(wall)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[expect(clippy::print_stdout, reason = "printing the result is what this program is for")]
fn print_table(report: &Report) {
    println!("{} CPUs, {} rounds", report.cpus, report.rounds);
    println!("{:36} {:>8} {:>8} {:>8} {:>13} {:>10}", "", "wall ms", "files", "facts", "over cpupower", "over bare");
    for row in &report.rows {
        let files = row.files.map_or_else(|| "-".into(), |files| files.to_string());
        let bare = row.over_bare.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
        let Row { contender, wall_ms, facts, over_cpupower, .. } = row;
        println!("{contender:36} {wall_ms:8.1} {files:>8} {facts:8} {over_cpupower:13.2} {bare:>10}");
    }
    for mark in &report.marks {
        println!("{} {}", if mark.met { "PASS" } else { "MISS" }, mark.what);
    }
    println!("{}", if report.is_met() { "PASS" } else { "FAIL" });
}
