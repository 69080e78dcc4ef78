//! Rows of samples, to a file or standard output.
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use powerband_rig::Notes;

use super::error::unwritable;
use super::{WatchEnd, WatchError, Watched};
use crate::{MachineSample, Rows};

/// Where rows go, and in which form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTarget {
    /// Standard output when absent.
    path: Option<PathBuf>,
    json: bool,
}

impl LogTarget {
    /// A file, or `-` for standard output, as rows of CSV or lines of JSON; nothing when neither a file nor JSON is asked for.
    ///
    /// # Errors
    /// A sentence about a file whose name does not say its form.
    pub fn of(log: Option<&Path>, json: bool) -> Result<Option<LogTarget>, String> {
        let Some(path) = log else { return Ok(json.then_some(LogTarget { path: None, json })) };
        if path.as_os_str() == "-" {
            return Ok(Some(LogTarget { path: None, json }));
        }
        let json = match path.extension().and_then(|extension| extension.to_str()) {
            Some("csv") if !json => false,
            Some("jsonl" | "ndjson") => true,
            _ if json => return Err(format!("--json writes lines of JSON; call the file {}.jsonl", path.display())),
            _ => {
                let name = path.display();
                return Err(format!(
                    "the end of a log's name says its form: write {name}.csv or {name}.jsonl, or - for here"
                ));
            }
        };
        Ok(Some(LogTarget { path: Some(path.to_owned()), json }))
    }
}

/// Rows wait in memory no longer than this, ns: writing each by itself would cost as much as reading what it tells.
const WAIT_NS: u64 = 1_000_000_000;

/// An open log.
struct Log<'p> {
    target: LogTarget,
    file: Option<File>,
    rows: Rows,
    /// Rows that are not in the file yet.
    waiting: String,
    written_ns: u64,
    /// Prints a line where there is no file; answers whether anybody still reads.
    print: &'p mut dyn FnMut(&str) -> bool,
}

pub(super) fn run(
    watched: &mut Watched,
    target: Option<LogTarget>,
    print: &mut dyn FnMut(&str) -> bool,
    notes: &mut dyn Notes,
) -> Result<WatchEnd, WatchError> {
    let scene = watched.sampler.scene().clone();
    scene.missing.iter().for_each(|why| notes.note(why.clone().into()));
    if watched.pace.still() {
        notes.note(format!("{} is a recording, in which nothing moves: one row says it all", scene.machine).into());
    }
    let mut log = match target {
        Some(target) => Some(open(watched, target, print)?),
        None => None,
    };
    // Nothing lies before the first sample: it begins the time that the first row tells of.
    if !watched.pace.still() {
        watched.sample()?;
        watched.pace.taken();
    }
    while !watched.pace.done() {
        if !watched.pace.still()
            && let Some(end) = watched.pace.wait(watched.rig.world())?
        {
            log.map_or(Ok(()), |mut log| log.flush())?;
            return Ok(end);
        }
        let sample = watched.sample()?;
        watched.pace.taken();
        let now_ns = watched.rig.world().now_ns();
        watched.pace.catch_up(now_ns);
        if let Some(log) = &mut log
            && !log.write(watched, &sample)?
        {
            break;
        }
    }
    log.map_or(Ok(()), |mut log| log.flush())?;
    Ok(WatchEnd::Done)
}

fn open<'p>(
    watched: &Watched,
    target: LogTarget,
    print: &'p mut dyn FnMut(&str) -> bool,
) -> Result<Log<'p>, WatchError> {
    let file = target.path.as_ref().map(|path| {
        let opened = powerband_host::with_rights_for(path, || File::create(path));
        opened.map_err(|error| unwritable(path, error))
    });
    let file = file.transpose()?;
    let unix_ms = watched.pace.real().then(powerband_host::unix_time_ms);
    let rows = Rows::new(watched.sampler.scene(), watched.pace.start_ns(), unix_ms, watched.cost);
    let mut log = Log { target, file, rows, waiting: String::new(), written_ns: 0, print };
    if !log.target.json {
        let header = log.rows.csv_header();
        log.line(&header, 0)?;
    }
    Ok(log)
}

impl Log<'_> {
    /// Answers whether anybody still reads.
    fn write(&mut self, watched: &Watched, sample: &MachineSample) -> Result<bool, WatchError> {
        let cost = watched.cost.then(|| watched.spent());
        let line = if self.target.json { self.rows.jsonl(sample, cost) } else { self.rows.csv(sample, cost) };
        self.line(&line, sample.at_ns)
    }

    fn line(&mut self, line: &str, at_ns: u64) -> Result<bool, WatchError> {
        if self.file.is_none() {
            return Ok((self.print)(line));
        }
        self.waiting.push_str(line);
        self.waiting.push('\n');
        if at_ns == 0 || at_ns >= self.written_ns.saturating_add(WAIT_NS) {
            self.flush()?;
            self.written_ns = at_ns;
        }
        Ok(true)
    }

    /// Writes the rows that wait.
    fn flush(&mut self) -> Result<(), WatchError> {
        if let (Some(file), Some(path)) = (&mut self.file, &self.target.path) {
            file.write_all(self.waiting.as_bytes()).map_err(|error| unwritable(path, error))?;
        }
        self.waiting.clear();
        Ok(())
    }
}

/// However watching ends, what was seen is kept; an end that could not write has been told already.
impl Drop for Log<'_> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
