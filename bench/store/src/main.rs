//! A million events delivered to PostgreSQL by 16 writers, over COPY of the same bytes into a table of the same shape by as many;
//! and a list of ten thousand experiments. Exit code 1 when the list takes longer than a second.
mod server;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use powerband_record::{Event, ExperimentHeader};
use powerband_store::{Purpose, Store, migrate};
use serde::Serialize;
use serde_json::json;

use crate::server::Server;

/// Starts a PostgreSQL server in a temporary folder and fills it. Needs root, and the package postgresql.
#[derive(Debug, Parser)]
struct Arguments {
    /// Events of all writers together.
    #[arg(long, default_value_t = 1_000_000)]
    events: usize,
    /// Writers at once.
    #[arg(long, default_value_t = 16)]
    writers: usize,
    /// Experiments that are listed.
    #[arg(long, default_value_t = 10_000)]
    listed: usize,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Experiments of a writer.
const EXPERIMENTS: usize = 50;
/// The goal for the list, s.
const GOAL_S: f64 = 1.0;

#[derive(Debug, Serialize)]
struct Report {
    version: u32,
    events: usize,
    writers: usize,
    bytes: u64,
    copy_s: f64,
    deliver_s: f64,
    copied_per_s: f64,
    delivered_per_s: f64,
    /// Events a second, delivered over copied.
    ratio: f64,
    /// All of them delivered again, which compares each and changes nothing, s.
    again_s: f64,
    listed: usize,
    list_s: f64,
    within_goal: bool,
}

fn main() -> ExitCode {
    bench_built::end("bench-store", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let mut permissions = fs::metadata(folder.path())?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(folder.path(), permissions)?;
    let files = written(arguments, folder.path())?;
    let server = Server::start(&folder.path().join("server"))?;
    let bytes = texts(&files)?;
    let copy_s = copied(&server, &files)?;
    let deliver = || delivered(&server.url(), &files);
    let (deliver_s, again_s) = (deliver()?, deliver()?);
    let events = arguments.events.div_ceil(arguments.writers * EXPERIMENTS) * arguments.writers * EXPERIMENTS;
    for table in ["copied", "powerband.event"] {
        let count = server.sql(&format!("SELECT count(*) FROM {table}"))?;
        ensure!(count == events.to_string(), "{table} has {count} events of {events}");
    }
    let list_s = listed(&server, arguments.listed)?;
    let per_s = |seconds: f64| events as f64 / seconds;
    let report = Report {
        version: 1,
        events,
        writers: arguments.writers,
        bytes,
        copy_s,
        deliver_s,
        copied_per_s: per_s(copy_s),
        delivered_per_s: per_s(deliver_s),
        ratio: copy_s / deliver_s,
        again_s,
        listed: arguments.listed,
        list_s,
        within_goal: list_s < GOAL_S,
    };
    bench_built::print(&if arguments.json { serde_json::to_string_pretty(&report)? } else { said(&report) });
    Ok(bench_built::goals(report.within_goal))
}

/// A file for each writer. The others are copies of the first with other keys.
fn written(arguments: &Arguments, folder: &Path) -> Result<Vec<PathBuf>> {
    let first = folder.join("0.sqlite");
    let mut store = Store::open(&first)?;
    let each = arguments.events.div_ceil(arguments.writers * EXPERIMENTS);
    for experiment in 0..EXPERIMENTS {
        let id = store.begin(&header(experiment)?)?;
        for number in 0..each {
            store.append(id, &event(number)?)?;
        }
    }
    drop(store);
    let mut files = vec![first.clone()];
    for writer in 1..arguments.writers {
        let file = folder.join(format!("{writer}.sqlite"));
        fs::copy(&first, &file)?;
        let db = rusqlite::Connection::open(&file)?;
        let keyed = "UPDATE experiment SET header = json_set(header, '$.run', printf('%016d%016d', ?1, id))";
        db.execute(keyed, [i64::try_from(writer)?])?;
        files.push(file);
    }
    Ok(files)
}

/// The same events as text for COPY, next to each file; how many bytes they are.
fn texts(files: &[PathBuf]) -> Result<u64> {
    let mut bytes = 0;
    for (writer, file) in files.iter().enumerate() {
        let db = rusqlite::Connection::open(file)?;
        let mut query = db.prepare("SELECT experiment, seq, json FROM event ORDER BY 1, 2")?;
        let mut rows = query.query([])?;
        let mut text = std::io::BufWriter::new(fs::File::create(file.with_extension("text"))?);
        while let Some(row) = rows.next()? {
            let (experiment, seq, json): (i64, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let json = json.replace('\\', "\\\\");
            writeln!(text, "{writer}{experiment:04}\t{seq}\t{json}")?;
        }
        text.flush()?;
        bytes += fs::metadata(file.with_extension("text"))?.len();
    }
    Ok(bytes)
}

/// How long COPY takes by as many writers, s.
fn copied(server: &Server, files: &[PathBuf]) -> Result<f64> {
    let table = "CREATE TABLE copied (experiment bigint NOT NULL, seq bigint NOT NULL, json text NOT NULL, PRIMARY KEY (experiment, seq))";
    server.sql(table)?;
    let began = Instant::now();
    let copy = |file: &PathBuf| {
        let words = format!("\\copy copied from '{}'", file.with_extension("text").display());
        server.psql().args(["-c", &words]).spawn().context("cannot start psql")
    };
    let running = files.iter().map(copy).collect::<Result<Vec<_>>>()?;
    for mut psql in running {
        ensure!(psql.wait()?.success(), "COPY failed");
    }
    Ok(began.elapsed().as_secs_f64())
}

/// How long delivering takes, s.
fn delivered(url: &str, files: &[PathBuf]) -> Result<f64> {
    let began = Instant::now();
    let deliver = |file: &Path| -> Result<()> {
        let from = Store::open(file)?;
        let mut to = Store::open_shared(url, file, Purpose::Deliver)?.context("it makes its tables")?;
        let moved = migrate(&from, &mut to, false)?;
        ensure!(moved.differ.is_empty(), "{:?}", moved.differ);
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = files.iter().map(|file| scope.spawn(|| deliver(file))).collect();
        running.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| anyhow::bail!("a writer panicked")))
    })?;
    Ok(began.elapsed().as_secs_f64())
}

/// How long it takes to connect and list so many experiments, s.
fn listed(server: &Server, count: usize) -> Result<f64> {
    let have: usize = server.sql("SELECT count(*) FROM powerband.experiment")?.parse()?;
    let more = "INSERT INTO powerband.experiment (run, header, state, summary)
                SELECT 'more' || n, header, state, summary FROM powerband.experiment, generate_series(1, $N) n
                WHERE id = (SELECT min(id) FROM powerband.experiment)";
    server.sql(&more.replace("$N", &count.saturating_sub(have).to_string()))?;
    let mut took = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let store = Store::open_shared(&server.url(), Path::new("none"), Purpose::Look)?.context("it has tables")?;
        let found = store.list()?.len();
        took.push(began.elapsed().as_secs_f64());
        ensure!(found == count.max(have), "{found} experiments are listed, and {count} are there");
    }
    took.sort_by(f64::total_cmp);
    Ok(took[took.len() / 2])
}

fn header(experiment: usize) -> Result<ExperimentHeader> {
    let header = json!({
        "journal_version": powerband_record::JOURNAL_VERSION, "id": 0, "run": format!("{:016}{:016}", 0, experiment + 1),
        "started_unix_s": 1_700_000_000, "host": "none", "powerband": "0", "command_line": ["powerband"],
    });
    serde_json::from_value(header).context("the shape of headers has changed")
}

/// The events of a plain experiment: a trial begins, a knob is set, the trial ends.
fn event(number: usize) -> Result<Event> {
    let (trial, at_ns) = (number / 3, number * 1_000_000_000);
    let event = match number % 3 {
        0 => {
            json!({"event": "trial_started", "trial": trial, "block": trial / 4 + 1, "setting": trial % 4, "copy": 0, "at_ns": at_ns})
        }
        1 => json!({"event": "landed", "trial": trial, "site": {
            "knob": "cpufreq.freq", "site": "policy0", "asked": "2400000", "reads_back": "2400000", "landed": "applied"}}),
        _ => json!({"event": "trial_done", "trial": trial, "at_ns": at_ns, "outcome": {"metrics": {
            "count": 1000.0 + (number % 97) as f64 / 7.0, "power_w": 45.0 + (number % 31) as f64 / 9.0, "energy_j": 450.125}}}),
    };
    serde_json::from_value(event).context("the shape of events has changed")
}

fn said(report: &Report) -> String {
    let Report { events, writers, copy_s, deliver_s, copied_per_s, delivered_per_s, ratio, again_s, .. } = report;
    format!(
        "{events} events ({:.0} MB), {writers} writers\n\
         COPY        {copy_s:8.2} s  {copied_per_s:10.0} events/s\n\
         delivered   {deliver_s:8.2} s  {delivered_per_s:10.0} events/s  ratio {ratio:.2}\n\
         once more   {again_s:8.2} s  (each compared, none changed)\n\
         list of {} experiments: {:.3} s ({} the goal of {GOAL_S} s)",
        report.bytes as f64 / 1e6,
        report.listed,
        report.list_s,
        if report.within_goal { "within" } else { "over" }
    )
}
