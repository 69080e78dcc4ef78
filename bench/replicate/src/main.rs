//! How long doing the published experiments again takes: the time of the simulated machines next to real time, events a second,
//! and the goal of a minute on two CPUs. Exit code 1 when a claim fails or the goal is missed.
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde::{Deserialize, Serialize};

/// Times `powerband replicate`, all articles in one run.
#[derive(Debug, Parser)]
struct Arguments {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// The goal, s, and the CPUs it is for.
const GOAL_S: f64 = 60.0;
const GOAL_CPUS: usize = 2;

/// What `replicate --json` tells, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Told {
    articles: Vec<Article>,
    fails: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Article {
    name: String,
    ran: Vec<Ran>,
}

#[derive(Debug, Deserialize)]
struct Ran {
    machine_s: f64,
    events: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    version: u32,
    cpus: usize,
    rows: Vec<Row>,
    /// Real time of all of it, s.
    real_s: f64,
    events_per_s: f64,
    /// Time of the simulated machines over real time.
    speedup: f64,
    /// Real time over the goal.
    of_goal: f64,
    fails: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    article: String,
    plans: usize,
    machine_s: f64,
    events: u64,
}

fn main() -> ExitCode {
    bench_built::end("bench-replicate", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let powerband = bench_built::powerband()?;
    let began = Instant::now();
    let mut replicate = Command::new(powerband);
    replicate.args(["--json", "replicate"]).env_remove("POWERBAND_MACHINE").stdin(Stdio::null());
    let output = replicate.output().context("cannot start powerband")?;
    let real_s = began.elapsed().as_secs_f64();
    let complaint = || format!("replicate told: {}", String::from_utf8_lossy(&output.stderr).trim().to_owned());
    let told: Told = serde_json::from_slice(&output.stdout).with_context(complaint)?;
    let report = report(told, real_s);
    if arguments.json {
        bench_built::print(&serde_json::to_string_pretty(&report)?)
    } else {
        say(&report)
    }
    let in_time = report.of_goal <= 1.0 || report.cpus < GOAL_CPUS;
    Ok(bench_built::goals(in_time && report.fails.is_empty()))
}

fn report(told: Told, real_s: f64) -> Report {
    let row = |article: Article| Row {
        plans: article.ran.len(),
        machine_s: article.ran.iter().map(|ran| ran.machine_s).sum(),
        events: article.ran.iter().map(|ran| ran.events).sum(),
        article: article.name,
    };
    let rows: Vec<Row> = told.articles.into_iter().map(row).collect();
    let events: u64 = rows.iter().map(|row| row.events).sum();
    let machine_s: f64 = rows.iter().map(|row| row.machine_s).sum();
    Report {
        version: 1,
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        rows,
        real_s,
        events_per_s: events as f64 / real_s,
        speedup: machine_s / real_s,
        of_goal: real_s / GOAL_S,
        fails: told.fails,
    }
}

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn say(report: &Report) {
    println!("{:20} {:>6} {:>16} {:>14}", "article", "plans", "machine time s", "events");
    for row in &report.rows {
        println!("{:20} {:>6} {:>16.0} {:>14}", row.article, row.plans, row.machine_s, row.events);
    }
    println!(
        "all in {:.1} s on {} CPUs: {:.2} of the goal of {GOAL_S:.0} s, {:.0} times as fast as the machines, {:.1} million events a second",
        report.real_s,
        report.cpus,
        report.of_goal,
        report.speedup,
        report.events_per_s / 1e6
    );
    for what in &report.fails {
        println!("does not come out again: {what}");
    }
}
