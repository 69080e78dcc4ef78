//! Our loads next to the field's own: `stream` and iperf3, `stream` and nuttcp, `ping` and ping, `ping` and sockperf, `wake` and
//! cyclictest, each pair on loopback and between two network namespaces, compared by `powerband try` itself. Exit code 1 when
//! ours is worse than its margin allows, or not shown to be as good.
mod namespaces;
mod pairs;
mod trial;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use serde::Serialize;
use serde_json::Value;

use crate::namespaces::{CPUS, Namespaces, Place};
use crate::pairs::{PAIRS, Pair};

/// Compares our loads with iperf3, nuttcp, ping, sockperf and cyclictest. Needs root for namespaces and real-time rank; a
/// peer that is not installed is told and left out.
#[derive(Debug, Parser)]
struct Arguments {
    /// Only pairs whose name has this in it.
    #[arg(long)]
    only: Option<String>,
    /// Most blocks of a comparison; a trial of four seconds of each in it.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=1000))]
    blocks: u32,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Set in a trial: the pair, the file that says whose turn it is, our command, and where it runs.
    #[arg(long, hide = true, num_args = 4, value_names = ["PAIR", "TURN", "POWERBAND", "PLACE"])]
    trial: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    version: u32,
    rows: Vec<Row>,
}

/// One comparison.
#[derive(Debug, Serialize)]
struct Row {
    pair: &'static str,
    place: &'static str,
    unit: &'static str,
    theirs: Option<f64>,
    ours: Option<f64>,
    /// Ours over theirs, less 1, and its interval.
    change: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    blocks: Option<u64>,
    margin: f64,
    verdict: String,
    passes: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.trial.as_slice() {
        [] => compare(&arguments),
        [pair, turn, powerband, place] => trial::run(pair, Path::new(turn), powerband, place),
        _ => Err(anyhow::anyhow!("a trial has four words")),
    };
    bench_built::end("bench-peers", done.map(bench_built::goals))
}

fn compare(arguments: &Arguments) -> Result<bool> {
    ensure!(rustix::process::geteuid().is_root(), "network namespaces and real-time rank need root; run it as root");
    ensure!(
        std::thread::available_parallelism()?.get() >= CPUS.len(),
        "each end needs a CPU of its own; this machine has one"
    );
    let powerband = bench_built::powerband()?;
    let namespaces = Namespaces::new()?;
    let mut report = Report { version: 1, rows: Vec::new() };
    let wanted = |pair: &&Pair| arguments.only.as_ref().is_none_or(|only| pair.name.contains(only.as_str()));
    for pair in PAIRS.iter().filter(wanted) {
        for place in pair.places() {
            let row = if installed(pair.program) {
                compared(pair, *place, &powerband, arguments)?
            } else {
                missing(pair, *place)
            };
            if !arguments.json {
                say(&row);
            }
            report.rows.push(row);
        }
    }
    drop(namespaces);
    ensure!(!report.rows.is_empty(), "no pair has that in its name");
    if arguments.json {
        bench_built::print(&serde_json::to_string_pretty(&report)?);
    }
    Ok(report.rows.iter().all(|row| row.passes))
}

fn installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// One comparison by our own method: whose turn it is stands in a file, which is the knob.
fn compared(pair: &'static Pair, place: Place, powerband: &Path, arguments: &Arguments) -> Result<Row> {
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let turn = work.path().join("turn");
    std::fs::write(&turn, "theirs\n").context("cannot write whose turn it is")?;
    let path = turn.display();
    let better = if pair.higher { "higher" } else { "lower" };
    let ours = std::env::current_exe().context("cannot find this program")?;
    let mut try_ = Command::new(powerband);
    try_.env("POWERBAND_STATE_DIR", work.path().join("state")).env_remove("POWERBAND_MACHINE").stdin(Stdio::null());
    try_.args(["try", "--json", "--as-root", "--settle", "0s", "--reference", "theirs"])
        .args(["-s", &format!("theirs:file:{path}=theirs"), "-s", &format!("ours:file:{path}=ours")])
        .args(["--blocks", &arguments.blocks.to_string(), "--margin", &format!("{}%", pair.margin * 100.0)])
        .args(["--metric", &format!(r"value=regex:^value ([0-9.e+-]+):{better}"), "--"])
        .arg(ours)
        .args(["--trial", pair.name])
        .arg(&turn)
        .arg(powerband)
        .arg(place.name());
    let output = try_.output().context("cannot start powerband")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        bail!("{} {}: {}", pair.name, place.name(), String::from_utf8_lossy(&output.stderr).trim());
    };
    Ok(row(pair, place, &value))
}

fn row(pair: &'static Pair, place: Place, report: &Value) -> Row {
    let setting = |label: &str| {
        let settings = report["settings"].as_array().into_iter().flatten();
        settings.clone().find(|setting| setting["label"] == label).cloned().unwrap_or_default()
    };
    let (theirs, ours) = (setting("theirs"), setting("ours"));
    let verdict = &ours["verdicts"]["value"];
    let word = verdict["verdict"].as_str().unwrap_or_else(|| report["reason"].as_str().unwrap_or("not measured"));
    let passes = word == "same" || (!pair.only_same && (word == "better" || not_worse(pair, verdict)));
    Row {
        pair: pair.name,
        place: place.name(),
        unit: pair.unit,
        theirs: theirs["levels"]["value"]["typical"].as_f64(),
        ours: ours["levels"]["value"]["typical"].as_f64(),
        change: verdict["change"].as_f64(),
        low: verdict["low"].as_f64(),
        high: verdict["high"].as_f64(),
        blocks: verdict["blocks"].as_u64(),
        margin: pair.margin,
        verdict: word.to_owned(),
        passes,
    }
}

/// Whether the whole interval lies on the better side of the margin, wherever in it the truth is.
fn not_worse(pair: &Pair, verdict: &Value) -> bool {
    let end = |key: &str| verdict[key].as_f64();
    match (end("low"), end("high")) {
        (Some(low), _) if pair.higher => low > -pair.margin,
        (_, Some(high)) if !pair.higher => high < pair.margin,
        _ => false,
    }
}

fn missing(pair: &'static Pair, place: Place) -> Row {
    let verdict = format!("{} is not installed", pair.program);
    let (margin, unit) = (pair.margin, pair.unit);
    let none = None;
    Row {
        pair: pair.name,
        place: place.name(),
        unit,
        theirs: none,
        ours: none,
        change: none,
        low: none,
        high: none,
        blocks: None,
        margin,
        verdict,
        passes: false,
    }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn say(row: &Row) {
    let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.4}"));
    let percent = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{:+.2}", value * 100.0));
    println!(
        "{:22} {:10} theirs {:>12} ours {:>12} {:7} {:>8} % ({} .. {}) of {} %: {} after {} blocks",
        row.pair,
        row.place,
        number(row.theirs),
        number(row.ours),
        row.unit,
        percent(row.change),
        percent(row.low),
        percent(row.high),
        row.margin * 100.0,
        row.verdict,
        row.blocks.unwrap_or(0),
    );
}
