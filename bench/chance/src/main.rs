//! Error rates by simulation: tables of cases, each played thousands of times from a seed, printed as Markdown. Exit code 1 when a
//! limit is broken.

#![expect(clippy::unwrap_used, reason = "the cases are constants: one that cannot be played is a mistake in a table")]
#![expect(clippy::print_stdout, reason = "it prints its tables")]

mod descriptions;
mod fleets;
mod noises;
mod paths;
mod row;
mod searches;
mod surfaces;
mod verdicts;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use clap::Parser;
use powerband_stats::{Rules, Scale, Spending};
use powerband_testkit::formula::run_seed;
use row::{Cell, Row, Table};

/// Measures error rates on machines whose truth is known, and holds them against their limits.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seed of all noise and order.
    #[arg(long, default_value_t = 20)]
    seed: u64,
    /// Tables of this part (verdicts, fleet-statistics, searches), or those whose title contains these words.
    #[arg(long, default_value = "")]
    only: String,
    /// Experiments of each case in place of the table's number; limits are printed, but hold for that number alone.
    #[arg(long)]
    runs: Option<u32>,
}

/// One set of boundaries for all.
fn spending() -> Arc<Spending> {
    static SPENDING: LazyLock<Arc<Spending>> = LazyLock::new(Arc::default);
    Arc::clone(&SPENDING)
}

/// Rules on the linear scale with an absolute margin.
fn linear(margin: f64) -> Rules {
    Rules { scale: Scale::Linear, margin, ..Rules::default() }
}

fn main() -> ExitCode {
    let asked = Arguments::parse();
    let all = [
        noises::tables(),
        verdicts::tables(),
        paths::tables(),
        descriptions::tables(),
        fleets::tables(),
        searches::tables(),
    ];
    let (mut broken, mut cases) = (Vec::new(), 0);
    for (number, table) in (0..).zip(all.into_iter().flatten()) {
        if table.part == asked.only || table.title.contains(&asked.only) {
            let cells = measured(&table, asked.seed, number, asked.runs);
            print(&table, &cells);
            cases += table.rows.len();
            for (row, cells) in table.rows.iter().zip(cells) {
                for ((limit, cell), column) in row.limits.iter().zip(cells).zip(table.columns) {
                    if !limit.holds(cell) {
                        broken.push(format!(
                            "{}: {}, {}: {column}: {:.4}, limit {limit:?}",
                            table.title, row.label, row.detail, cell.mean
                        ));
                    }
                }
            }
        }
    }
    for line in &broken {
        println!("BROKEN {line}");
    }
    println!("{cases} cases from seed {}, {} limits broken", asked.seed, broken.len());
    ExitCode::from(u8::from(!broken.is_empty() || cases == 0))
}

/// All rows of a table, as many at a time as there are CPUs.
fn measured(table: &Table, seed: u64, number: u64, runs: Option<u32>) -> Vec<Vec<Cell>> {
    let next = AtomicUsize::new(0);
    let cells: Vec<Mutex<Vec<Cell>>> = table.rows.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while let Some((place, row)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, table.rows.get(at)?)))
        {
            *cells[place].lock().unwrap() = played(row, table.columns.len(), runs.unwrap_or(row.runs), |run| {
                run_seed(seed, 1000 * number + place as u64, run)
            });
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    cells.into_iter().map(|cells| cells.into_inner().unwrap()).collect()
}

fn played(row: &Row, columns: usize, runs: u32, key: impl Fn(u64) -> u64) -> Vec<Cell> {
    let all: Vec<Vec<f64>> = (0..u64::from(runs)).map(|run| (row.play)(key(run))).collect();
    (0..columns)
        .map(|column| Cell::of(all.iter().map(|values| values.get(column).copied().unwrap_or(f64::NAN))))
        .collect()
}

fn print(table: &Table, cells: &[Vec<Cell>]) {
    println!(
        "\n## {}\n\nLimits: {}.\n\n| case | {} |\n|---{}|",
        table.title,
        table.from,
        table.columns.join(" | "),
        "|---".repeat(table.columns.len())
    );
    let mut at = 0;
    for same in table.rows.chunk_by(|a, b| a.label == b.label) {
        let rows = &cells[at..at + same.len()];
        at += same.len();
        let shown = |column: usize| {
            let means = || rows.iter().map(|cells| cells[column].mean).filter(|mean| !mean.is_nan());
            let digits = if table.columns[column].contains('%') { 1 } else { 2 };
            let (least, most) = (means().fold(f64::INFINITY, f64::min), means().fold(f64::NEG_INFINITY, f64::max));
            match (format!("{least:.digits$}"), format!("{most:.digits$}")) {
                _ if least > most => "-".to_owned(),
                (least, most) if least == most => least,
                (least, most) => format!("{least}-{most}"),
            }
        };
        let columns: Vec<String> = (0..table.columns.len()).map(shown).collect();
        println!("| {} | {} |", same[0].label, columns.join(" | "));
    }
}
