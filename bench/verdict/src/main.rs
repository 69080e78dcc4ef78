//! The race for machine time: sixteen experiments of known truth, five noises, our verdicts against ten repeats each
//! with Welch's test and against what readers make of other tools' output. Exit code 1 when ours misses its marks.

mod alike;
mod picture;

use clap::Parser;
use picture::Point;
use powerband_report::picture::chart::Chart;
use powerband_stats::noise::Noise;
use powerband_stats::{Error, Rules, Spending};
use powerband_testkit::race::{BUDGET_BLOCKS, Contender, EXPERIMENTS, NOISES, Procedure, RaceReading, Score, score};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Races our verdicts against ten repeats each and against other tools' habits, on formulas.
#[derive(Debug, Parser)]
struct Arguments {
    /// Runs of each experiment under each noise.
    #[arg(long, default_value_t = 300)]
    runs: u32,
    /// Seed of all noise and order.
    #[arg(long, default_value_t = 26)]
    seed: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Draw wrong verdicts against machine time into this file, every contender with less patience and with more, too.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// Trials over those of ten each, by noise, which ours must meet from both sides: a run that is cheaper than the
/// method can be has lost something on the way.
const EXPECTED_RATIO: [f64; 5] = [0.49, 0.36, 0.54, 0.43, 0.60];
/// Experiments of two settings alike for each run of the race.
const ALIKE_RUNS: u32 = 10;
const LONG_RUNS: u32 = 300;
const TOLERANCE_LONG: f64 = 0.03;
const TOLERANCE_SHORT: f64 = 0.06;
const MAX_WRONG_RUNS_PERCENT: f64 = 5.0;

#[derive(Debug, Serialize)]
struct Row {
    noise: &'static str,
    contender: &'static str,
    // Means over the experiments, each weighing the same however many settings it has.
    wrong_settings_percent: f64,
    wrong_experiments_percent: f64,
    undecided_percent: f64,
    ratio: f64,
    mean_of_ratios: f64,
    by_experiment: Vec<(&'static str, f64)>,
}

#[derive(Debug, Serialize)]
struct Report {
    version: u32,
    runs: u32,
    seed: u64,
    budget_blocks: u32,
    tolerance: f64,
    /// Mean of our ratios over the noises.
    average_ratio: f64,
    rows: Vec<Row>,
    /// Two settings alike, by noise and method.
    alike: Vec<alike::Cell>,
    misses: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let report = match race(arguments.runs, arguments.seed) {
        Ok(report) => report,
        Err(error) => {
            complain(&error.to_string());
            return ExitCode::from(2);
        }
    };
    if let Some(file) = &arguments.svg {
        let drawn = panels(&report).map_err(|why| why.to_string());
        let written = drawn.and_then(|panels| {
            let drawn = picture::svg(&panels).ok_or("nothing was raced, so there is no picture")?;
            std::fs::write(file, drawn).map_err(|why| format!("cannot write {}: {why}", file.display()))
        });
        if let Err(words) = written {
            complain(&words);
            return ExitCode::from(2);
        }
    }
    if arguments.json {
        print_json(&report)
    } else {
        print_table(&report)
    }
    if report.misses.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn race(runs: u32, seed: u64) -> Result<Report, Error> {
    let spending = Arc::new(Spending::new());
    let tolerance = if runs >= LONG_RUNS { TOLERANCE_LONG } else { TOLERANCE_SHORT };
    let mut rows = Vec::new();
    let mut misses = Vec::new();
    for (noise, expected) in NOISES.into_iter().zip(EXPECTED_RATIO) {
        for contender in Contender::ALL {
            let row = row(contender.name(), &contender.procedure(), noise, &spending, (runs, seed))?;
            if contender == Contender::Ours {
                misses.extend(missed(&row, expected, tolerance));
            }
            rows.push(row);
        }
    }
    let ours: Vec<f64> =
        rows.iter().filter(|row| row.contender == Contender::Ours.name()).map(|row| row.ratio).collect();
    let average_ratio = ours.iter().sum::<f64>() / ours.len().max(1) as f64;
    let alike = alike::cells(runs * ALIKE_RUNS, seed, &spending)?;
    Ok(Report { version: 1, runs, seed, budget_blocks: BUDGET_BLOCKS, tolerance, average_ratio, rows, alike, misses })
}

/// One contender on all experiments under one noise, so many runs of each from a seed.
fn row(
    contender: &'static str,
    procedure: &Procedure,
    noise: Noise,
    spending: &Arc<Spending>,
    (runs, seed): (u32, u64),
) -> Result<Row, Error> {
    let mut total = Score::default();
    let mut by_experiment = Vec::new();
    let (mut wrong, mut undecided) = (0.0, 0.0);
    for (index, experiment) in EXPERIMENTS.iter().enumerate() {
        let one = score(procedure, index, noise, spending, runs, seed)?;
        by_experiment.push((experiment.name, one.ratio()));
        wrong += one.wrong_settings_percent() / EXPERIMENTS.len() as f64;
        undecided += one.undecided_percent() / EXPERIMENTS.len() as f64;
        total.add(&one);
    }
    Ok(Row {
        noise: noise.name(),
        contender,
        wrong_settings_percent: wrong,
        wrong_experiments_percent: total.wrong_runs_percent(),
        undecided_percent: undecided,
        ratio: total.ratio(),
        mean_of_ratios: by_experiment.iter().map(|(_, ratio)| ratio).sum::<f64>() / EXPERIMENTS.len() as f64,
        by_experiment,
    })
}

/// Error rates to which ours is set in the picture, next to its 5 %.
const ALPHAS: [f64; 3] = [0.01, 0.10, 0.20];
/// Repeats of those who repeat a fixed number of times, next to ten.
const REPEATS: [usize; 4] = [3, 5, 20, 30];

/// What a contender is with less patience and with more; runs until they look steady are what they are.
fn patience(contender: Contender) -> (String, Vec<Procedure>) {
    let name = contender.name();
    let repeated = |reading| REPEATS.map(|runs| Procedure::Repeats(runs, reading)).to_vec();
    match contender {
        Contender::Ours => {
            let set = |alpha| Procedure::Blocks(Rules { alpha, ..Rules::default() });
            (format!("{name} (no ring: 1, 10 and 20 %)"), ALPHAS.map(set).to_vec())
        }
        Contender::TenWelch => (format!("{name} (no ring: 3, 5, 20, 30 each)"), repeated(RaceReading::Welch)),
        Contender::TenByEye => (format!("{name} (no ring: likewise)"), repeated(RaceReading::OneDeviation)),
        _ => (name.to_owned(), Vec::new()),
    }
}

/// A panel for each noise: the report's rows, and around them the same contenders with other patience.
fn panels(report: &Report) -> Result<Vec<Chart>, Error> {
    let spending = Arc::new(Spending::new());
    let panel = |noise: Noise| {
        let line = |contender: Contender| {
            let point = |row: &Row, usual: bool| Point {
                ratio: row.ratio,
                wrong_percent: row.wrong_settings_percent,
                undecided_percent: row.undecided_percent,
                usual,
            };
            let used = report.rows.iter().filter(|row| (row.noise, row.contender) == (noise.name(), contender.name()));
            let mut points: Vec<Point> = used.map(|row| point(row, true)).collect();
            let (name, others) = patience(contender);
            for procedure in &others {
                let asked = (report.runs, report.seed);
                points.push(point(&row(contender.name(), procedure, noise, &spending, asked)?, false));
            }
            points.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
            Ok(picture::line(name, &points))
        };
        let lines = Contender::ALL.into_iter().map(line).collect::<Result<_, Error>>()?;
        let words = match noise {
            Noise::Gauss => "independent",
            Noise::Ar => "like its neighbours",
            Noise::Sine => "on a slow wave",
            Noise::T3 => "with heavy tails",
            Noise::Contam => "with outliers",
            _ => "other noise",
        };
        Ok(picture::panel(&format!("{}: trials {words}", noise.name()), lines))
    };
    NOISES.into_iter().map(panel).collect()
}

/// What ours should have met and did not.
fn missed(row: &Row, expected: f64, tolerance: f64) -> Vec<String> {
    let mut misses = Vec::new();
    if row.wrong_experiments_percent > MAX_WRONG_RUNS_PERCENT {
        let have = row.wrong_experiments_percent;
        misses.push(format!("{}: {have:.1} % of experiments wrong, more than {MAX_WRONG_RUNS_PERCENT} %", row.noise));
    }
    if (row.ratio - expected).abs() > tolerance {
        misses.push(format!("{}: ratio {:.3}, not within {tolerance} of {expected}", row.noise, row.ratio));
    }
    misses
}

#[expect(clippy::print_stdout, reason = "printing the result is what this program is for")]
fn print_table(report: &Report) {
    let Report { runs, seed, budget_blocks, .. } = report;
    println!("{} experiments, {runs} runs each, seed {seed}, at most {budget_blocks} blocks", EXPERIMENTS.len());
    println!(
        "{:8} {:18} {:>16} {:>19} {:>11} {:>14} {:>15}",
        "noise", "contender", "wrong/setting %", "wrong/experiment %", "undecided %", "trials/ten", "mean of ratios"
    );
    for row in &report.rows {
        println!(
            "{:8} {:18} {:16.1} {:19.1} {:11.1} {:14.2} {:15.2}",
            row.noise,
            row.contender,
            row.wrong_settings_percent,
            row.wrong_experiments_percent,
            row.undecided_percent,
            row.ratio,
            row.mean_of_ratios
        );
    }
    println!("\nours, trials over ten each by experiment");
    let ours: Vec<&Row> = report.rows.iter().filter(|row| row.contender == Contender::Ours.name()).collect();
    for (index, experiment) in EXPERIMENTS.iter().enumerate() {
        let ratios: Vec<String> =
            ours.iter().map(|row| format!("{} {:.2}", row.noise, row.by_experiment[index].1)).collect();
        println!("{:16} {}", experiment.name, ratios.join("  "));
    }
    println!();
    for line in alike::lines(&report.alike) {
        println!("{line}");
    }
    for miss in &report.misses {
        println!("MISS {miss}");
    }
    println!("{}", if report.misses.is_empty() { "PASS" } else { "FAIL" });
}

#[expect(clippy::print_stdout, reason = "printing the result is what this program is for")]
fn print_json(report: &Report) {
    match serde_json::to_string_pretty(report) {
        Ok(text) => println!("{text}"),
        Err(error) => complain(&error.to_string()),
    }
}

#[expect(clippy::print_stderr, reason = "an error must reach whoever started the race")]
fn complain(words: &str) {
    eprintln!("bench-verdict: {words}");
}
