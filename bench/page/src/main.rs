//! What a page of ten million readings takes next to one of ten thousand: writing it next to reading its journal, its size, the
//! memory, and in Chromium the time from a pointer's move to the values. Exit code 1 when it is over 3 MB.
mod made_up;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use serde::{Deserialize, Serialize};

/// Writes pages of experiments with few and with many readings and moves a pointer over them. Chromium, node and the modules of
/// the pages' tests where they are there (`cargo xtask test --tier services` fetches them).
#[derive(Debug, Parser)]
struct Arguments {
    /// Readings of the large experiment.
    #[arg(long, default_value_t = 10_000_000)]
    readings: u64,
    /// How often each is written; medians are told.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Readings of the small experiment.
const FEW: u64 = 10_000;
/// The goal, bytes.
const GOAL_BYTES: u64 = 3_000_000;

#[derive(Debug, Serialize)]
struct Report {
    version: u32,
    few: Row,
    many: Row,
    /// Of the pointer's move to the values, many over few.
    hover_ratio: Option<f64>,
    within_goal: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    readings: u64,
    journal_bytes: u64,
    page_bytes: u64,
    /// Median time to print the report as JSON, which reads the whole journal, s.
    read_s: f64,
    /// Median time to write the page, s.
    write_s: f64,
    /// Most memory while writing the page, MiB.
    write_peak_mib: f64,
    /// Median time from a move to the values, ms.
    hover_ms: Option<f64>,
    /// The same of one move in a hundred, ms.
    hover_p99_ms: Option<f64>,
    opened_ms: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Hovered {
    opened_ms: f64,
    moves_ms: Vec<f64>,
    known: usize,
}

fn main() -> ExitCode {
    bench_built::end("bench-page", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let powerband = bench_built::powerband()?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let file = |name: &str| folder.path().join(name);
    let mut few = written(&powerband, FEW, arguments.runs, &file("few"))?;
    let mut many = written(&powerband, arguments.readings, arguments.runs, &file("many"))?;
    let hovered = hovered(&[page(&file("few")), page(&file("many"))])?;
    if let [of_few, of_many] = &hovered[..] {
        few.hovered(of_few)?;
        many.hovered(of_many)?;
    }
    let within_goal = many.page_bytes < GOAL_BYTES;
    let hover_ratio = many.hover_ms.zip(few.hover_ms).map(|(many, few)| many / few);
    let report = Report { version: 1, few, many, hover_ratio, within_goal };
    if arguments.json {
        bench_built::print(&serde_json::to_string_pretty(&report)?)
    } else {
        say(&report)
    }
    Ok(bench_built::goals(within_goal))
}

fn page(stem: &Path) -> PathBuf {
    stem.with_extension("html")
}

/// Makes an experiment and its page, again and again.
fn written(powerband: &Path, readings: u64, runs: usize, stem: &Path) -> Result<Row> {
    let store = stem.with_extension("sqlite");
    made_up::write(&store, readings)?;
    let command = |words: &[&str]| {
        let mut command = Command::new(powerband);
        command.arg("--store").arg(&store).args(words).stdin(Stdio::null()).stdout(Stdio::null());
        command.env("XDG_STATE_HOME", stem.with_extension("state"));
        command
    };
    let file = page(stem).display().to_string();
    let (mut reads, mut writes, mut peak_kib) = (Vec::new(), Vec::new(), 0);
    for _ in 0..runs.max(1) {
        reads.push(timed(&mut command(&["--json", "show"]))?.0);
        let (took, kib) = timed(&mut command(&["report", "-o", &file, "--force"]))?;
        writes.push(took);
        peak_kib = peak_kib.max(kib);
    }
    Ok(Row {
        readings,
        journal_bytes: size(&store)?,
        page_bytes: size(&page(stem))?,
        read_s: median(reads),
        write_s: median(writes),
        write_peak_mib: peak_kib as f64 / 1024.0,
        hover_ms: None,
        hover_p99_ms: None,
        opened_ms: None,
    })
}

fn size(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?.len())
}

/// How long a command took, s, and the most memory it was seen to have, KiB. The kernel keeps the most, so that only what comes
/// after the last look is missed.
fn timed(command: &mut Command) -> Result<(f64, u64)> {
    let began = Instant::now();
    let mut child = command.spawn().context("cannot start powerband")?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    loop {
        let told = fs::read_to_string(&status).unwrap_or_default();
        let peak = told.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        peak_kib = peak_kib.max(peak.unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            ensure!(ended.success(), "powerband ended with {ended}");
            return Ok((began.elapsed().as_secs_f64(), peak_kib));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Moves a pointer over pages; nothing where no browser is at hand.
fn hovered(pages: &[PathBuf]) -> Result<Vec<Hovered>> {
    let ours = std::env::current_exe().context("cannot find this program")?;
    let modules = ours.ancestors().map(|folder| folder.join("page-modules")).find(|folder| folder.is_dir());
    let Some(modules) = modules.filter(|_| Path::new("/usr/bin/chromium").exists()) else { return Ok(Vec::new()) };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("hover.mjs");
    let output = Command::new("node").arg(script).arg(modules).args(pages).output().context("cannot start node")?;
    ensure!(output.status.success(), "the browser: {}", String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).context("the browser told something else")
}

impl Row {
    fn hovered(&mut self, of: &Hovered) -> Result<()> {
        let count = of.moves_ms.len();
        ensure!(of.known * 10 >= count * 9, "only {} of {count} moves showed values", of.known);
        let mut sorted = of.moves_ms.clone();
        sorted.sort_by(f64::total_cmp);
        self.hover_p99_ms = sorted.get(count * 99 / 100).copied();
        self.hover_ms = Some(median(sorted));
        self.opened_ms = Some(of.opened_ms);
        Ok(())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn say(report: &Report) {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    println!("{:34} {:>14} {:>14} {:>8}", "", "few", "many", "ratio");
    let Report { few, many, .. } = report;
    let line = |name: &str, few: Option<f64>, many: Option<f64>| {
        let ratio = few.zip(many).map(|(few, many)| many / few);
        println!(
            "{name:34} {:>14} {:>14} {:>8}",
            number(few),
            number(many),
            ratio.map_or("-".into(), |it| format!("{it:.2}"))
        );
    };
    line("readings, thousands", Some(few.readings as f64 / 1e3), Some(many.readings as f64 / 1e3));
    line("journal, MB", Some(few.journal_bytes as f64 / 1e6), Some(many.journal_bytes as f64 / 1e6));
    line("page, MB", Some(few.page_bytes as f64 / 1e6), Some(many.page_bytes as f64 / 1e6));
    line("reading the journal, s", Some(few.read_s), Some(many.read_s));
    line("writing the page, s", Some(few.write_s), Some(many.write_s));
    line("most memory while writing, MiB", Some(few.write_peak_mib), Some(many.write_peak_mib));
    line("opening the page, ms", few.opened_ms, many.opened_ms);
    line("move to values, median, ms", few.hover_ms, many.hover_ms);
    line("move to values, 99 of 100, ms", few.hover_p99_ms, many.hover_p99_ms);
    let goal = if report.within_goal { "under" } else { "over" };
    println!("the large page is {goal} the {} MB that are the goal", GOAL_BYTES / 1_000_000);
}
