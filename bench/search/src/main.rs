//! Searches replayed on measured and on simulated surfaces: how many settings are tried until one within 5 % of the best is
//! among them, what the final answer is worth, and the same for random order, a grid and Optuna. Exit code 1 when ours
//! misses its marks.

mod contest;
mod model_table;
mod optuna;
mod picture;
mod score;
mod searchers;
mod simulated;
mod surface;
mod wide;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::ReplayTable;

use contest::{Entrant, Searcher, Surface, Terms};
use score::Score;
use surface::{Knobs, Runs};

/// Replays searches for the cheapest setting that keeps a latency on measured and simulated surfaces.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder with keyvalue-200k.csv and keyvalue-600k.csv; without it, simulated surfaces alone.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Searches on each surface.
    #[arg(long, default_value_t = 24)]
    seeds: u64,
    /// First seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Limit of the 99th percentile, in µs.
    #[arg(long, default_value_t = 500.0)]
    bound: f64,
    /// Noise, times what was measured.
    #[arg(long, default_value_t = 1.0)]
    louder: f64,
    /// Exceed the bound by no more than this share while searching (0.10).
    #[arg(long)]
    safe: Option<f64>,
    /// A bound between 350 and 700 µs and three quarters of the settings, drawn anew for each search.
    #[arg(long)]
    varied: bool,
    /// Only surfaces whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Ours alone, without all others.
    #[arg(long)]
    ours: bool,
    /// Searches of Optuna's tree samplers on each surface, fetched from PyPI; 0 leaves them out.
    #[arg(long, default_value_t = 4)]
    optuna: u64,
    /// Searches of Optuna's Gaussian process on each surface: fetches some gigabytes, and takes a minute each.
    #[arg(long, default_value_t = 0)]
    gp: u64,
    /// Sets of twelve settings from which the model predicts all others, and ten times as many
    /// explanations of a gain.
    #[arg(long, default_value_t = 10)]
    sets: u64,
    /// Draw regret against settings tried into this file.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Only the time to a question, and the memory, of searches among 100,000 settings.
    #[arg(long)]
    wide: bool,
    /// Do not use the known trends: 0 for none, −1 for all reversed.
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
    trends: f64,
}

/// Settings tried until a close one, median and 95th percentile, that ours must reach at a bound of 500 µs.
const MARKS: [(&str, Knobs, f64, f64); 4] = [
    ("200k", Knobs::Two, 4.0, 4.0),
    ("600k", Knobs::Two, 6.0, 10.0),
    ("200k", Knobs::Three, 3.0, 4.0),
    ("600k", Knobs::Three, 9.0, 10.0),
];

/// Confirmed settings that may break the bound, as a share.
const MAX_BROKEN: f64 = 0.01;

fn main() -> ExitCode {
    match race(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn race(arguments: &Arguments) -> Result<bool> {
    if arguments.wide {
        wide::lines(arguments.seed)?.iter().for_each(|line| say(line));
        return Ok(true);
    }
    let terms = Terms { seed: arguments.seed, louder: arguments.louder, safe: arguments.safe };
    let mut entrants = entrants(arguments);
    let mut panels = Vec::new();
    let mut well = true;
    let surfaces = surfaces(arguments)?;
    say(Score::HEADER);
    for surface in &surfaces {
        let mut lines = Vec::new();
        for entrant in &mut entrants {
            complain(&format!("{}: {} …", surface.name, entrant.searcher.name()));
            let (score, line) = contest::play(surface, entrant, terms)?;
            say(&score.row(&surface.name, entrant.searcher.name()));
            lines.push(line);
            if let (Searcher::Ours, Some((median, high))) = (&entrant.searcher, surface.mark)
                && !score.reaches(median, high, MAX_BROKEN)
            {
                let name = &surface.name;
                say(&format!("{name}: missed; tried should be {median:.0} / {high:.0}, broken at most {MAX_BROKEN}"));
                well = false;
            }
        }
        panels.push(contest::panel(surface, lines));
    }
    if !arguments.ours && arguments.sets > 0 {
        model_rows(&surfaces, arguments);
    }
    if let Some(file) = &arguments.svg {
        let drawn = picture::svg(&panels).context("nothing was raced, so there is no picture")?;
        std::fs::write(file, drawn).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(well)
}

fn model_rows(surfaces: &[Surface<'_>], arguments: &Arguments) {
    say("\nmedian error on all settings but twelve");
    for surface in surfaces {
        let columns = model_table::columns(&(surface.table)(arguments.seed), arguments.sets, arguments.louder);
        for (metric, column) in ["watts", "tail"].iter().zip(columns.iter().flatten()) {
            say(&format!("{:<14} {metric:<6} {}", surface.name, column.words()));
        }
    }
}

/// Who takes part. Optuna's absence is told, and no failure.
fn entrants(arguments: &Arguments) -> Vec<Entrant> {
    let ours = Entrant { searcher: Searcher::Ours, seeds: arguments.seeds };
    if arguments.ours {
        return vec![ours];
    }
    let fixed = |name, order| Entrant { searcher: Searcher::Fixed { name, order }, seeds: arguments.seeds };
    let mut all = vec![ours, fixed("random", searchers::random), fixed("grid", searchers::grid)];
    if arguments.optuna > 0 || arguments.gp > 0 {
        complain("looking for Optuna, or fetching it from PyPI …");
    }
    match contest::optuna(&folder(), arguments.optuna, arguments.gp) {
        Ok(peers) => all.extend(peers),
        Err(words) => say(&format!("Optuna is left out: {words}")),
    }
    all
}

/// A folder of our own in the target folder, next to the one this program was built into.
fn folder() -> PathBuf {
    let program = std::env::current_exe().ok();
    let target = program.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_path_buf);
    target.unwrap_or_else(|| PathBuf::from("target")).join("bench-search")
}

/// Surfaces whose name was asked for, with the marks ours must reach there.
fn surfaces(arguments: &Arguments) -> Result<Vec<Surface<'_>>> {
    let mut all = Vec::new();
    let plain = arguments.louder == 1.0 && !arguments.varied && arguments.safe.is_none() && arguments.trends == 1.0;
    if let Some(data) = &arguments.data {
        for (load, knobs, median, high) in MARKS {
            let runs = Runs::read(&data.join(format!("keyvalue-{load}.csv")))?;
            let name = format!("{load}, {}", if knobs == Knobs::Two { "two" } else { "three" });
            let table = Box::new(move |seed| machine(arguments, &runs, knobs, seed));
            let mark = (plain && arguments.bound == 500.0).then_some((median, high));
            all.push(Surface { name, table, mark });
        }
    } else {
        say("no --data: simulated surfaces alone");
    }
    for family in simulated::families() {
        let name = format!("sim, {}", family.name);
        let tables = family.tables;
        let table = Box::new(move |seed| trended(arguments, tables[(seed % tables.len() as u64) as usize].clone()));
        all.push(Surface { name, table, mark: None });
    }
    all.retain(|surface| surface.name.contains(&arguments.only));
    Ok(all)
}

/// The machine of one seed.
fn machine(arguments: &Arguments, runs: &Runs, knobs: Knobs, seed: u64) -> ReplayTable {
    let mut table = runs.table(knobs, arguments.bound);
    if arguments.varied {
        let limit_us = Draws::new(seed, Purpose::Trial, 3, 0).between(350.0, 700.0);
        table = table.varied(seed, 0.75, limit_us.ln());
    }
    trended(arguments, table)
}

fn trended(arguments: &Arguments, mut table: ReplayTable) -> ReplayTable {
    let (goal, tail) = &mut table.trends;
    goal.iter_mut().chain(tail).for_each(|trend| *trend *= arguments.trends);
    table
}

#[expect(clippy::print_stdout, reason = "the table is what a benchmark is for")]
fn say(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "progress and errors of a program")]
fn complain(words: &str) {
    eprintln!("bench-search: {words}");
}
