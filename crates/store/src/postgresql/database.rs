//! What is asked of the database and written into it.
use std::time::{Duration, Instant};

use powerband_record::{ExperimentHeader, Metric, Started};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::address::Address;
use super::connection::Connection;
use super::tables;
use crate::delivery::{Changes, Derived, Kept, Put, Superseded, changes};
use crate::engine::Engine;
use crate::local::{Local, parse_header};
use crate::row::{Member, State, Summary};
use crate::{CalibratedNoise, StoreError, noise};

/// Bytes of events sent in one statement.
const CHUNK: usize = 2 << 20;

/// Calibrations looked at for a metric's noise, newest first.
const CALIBRATIONS: i64 = 20;

#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
}

impl Database {
    /// Connects, and makes the tables where there are none.
    pub(super) fn open(address: &Address, patience: Duration) -> Result<Database, StoreError> {
        let connection = Connection::open(address, patience)?;
        tables::make(&connection)?;
        Ok(Database { connection })
    }

    /// Connects for looking; none where there are no tables.
    pub(super) fn find(address: &Address, patience: Duration) -> Result<Option<Database>, StoreError> {
        let connection = Connection::open(address, patience)?;
        Ok(if tables::are_there(&connection)? { Some(Database { connection }) } else { None })
    }

    /// Waits for answers until then; without a time, each as long as patience lasts.
    pub(super) fn wait_until(&self, deadline: Option<Instant>) {
        self.connection.wait_until(deadline);
    }

    pub(super) fn place(&self) -> &str {
        self.connection.place()
    }

    pub(super) fn list(&self) -> Result<Vec<Summary>, StoreError> {
        let rows = self.connection.rows("SELECT id, summary FROM powerband.experiment ORDER BY id", &[])?;
        rows.iter().map(|row| self.summary(row)).collect()
    }

    fn summary(&self, row: &Row) -> Result<Summary, StoreError> {
        let id: i64 = self.connection.column(row, 0)?;
        let summary: Summary = serde_json::from_str(self.connection.column(row, 1)?)
            .map_err(|error| StoreError::Unreadable { experiment: id, seq: -1, why: error.to_string() })?;
        Ok(Summary { id, ..summary })
    }

    pub(super) fn of_fleet(&self, fleet: &str) -> Result<Vec<Member>, StoreError> {
        let sql = "SELECT id, header, state FROM powerband.experiment WHERE fleet = $1 ORDER BY id";
        let member = |row: &Row| {
            let id = self.connection.column(row, 0)?;
            let header = parse_header(id, self.connection.column(row, 1)?)?;
            Ok(Member { id, header, state: State::parse(self.connection.column(row, 2)?) })
        };
        self.connection.rows(sql, &[&fleet])?.iter().map(member).collect()
    }

    /// The key of an experiment.
    pub(super) fn key(&self, id: i64) -> Result<String, StoreError> {
        let row = self.connection.row("SELECT run FROM powerband.experiment WHERE id = $1", &[&id])?;
        self.connection.column(&row.ok_or_else(|| StoreError::NoExperiment(id.to_string()))?, 0)
    }

    pub(super) fn header(&self, id: i64) -> Result<ExperimentHeader, StoreError> {
        let row = self.connection.row("SELECT header FROM powerband.experiment WHERE id = $1", &[&id])?;
        let row = row.ok_or_else(|| StoreError::NoExperiment(id.to_string()))?;
        parse_header(id, self.connection.column(&row, 0)?)
    }

    pub(super) fn lines(&self, id: i64, first: usize) -> Result<Vec<String>, StoreError> {
        let first = i64::try_from(first).unwrap_or(i64::MAX);
        let sql = "SELECT json FROM powerband.event WHERE experiment = $1 AND seq >= $2 ORDER BY seq";
        self.connection.rows(sql, &[&id, &first])?.iter().map(|row| self.connection.column(row, 0)).collect()
    }

    pub(super) fn newest(&self) -> Result<Option<i64>, StoreError> {
        let row = self.connection.row("SELECT max(id) FROM powerband.experiment", &[])?;
        row.map_or(Ok(None), |row| self.connection.column(&row, 0))
    }

    pub(super) fn keys(&self) -> Result<Vec<(i64, String)>, StoreError> {
        let rows = self.connection.rows("SELECT id, run FROM powerband.experiment ORDER BY id", &[])?;
        rows.iter().map(|row| Ok((self.connection.column(row, 0)?, self.connection.column(row, 1)?))).collect()
    }

    pub(super) fn kept(&self, id: i64, key: &str, first: usize) -> Result<Kept, StoreError> {
        let mut kept = self.read(id, key, first)?;
        let sql = "SELECT id, summary, calibrates FROM powerband.experiment WHERE id = $1";
        if let Some(row) = self.connection.row(sql, &[&id])? {
            kept.derived = Some(Derived { summary: self.summary(&row)?, calibrates: self.connection.column(&row, 2)? });
        }
        Ok(kept)
    }

    fn read(&self, id: i64, key: &str, first: usize) -> Result<Kept, StoreError> {
        let header = self.header(id)?;
        let superseded = if first == 0 && !header.resumed.is_empty() { self.superseded(id)? } else { Vec::new() };
        Ok(Kept { id, key: key.to_owned(), header, first, lines: self.lines(id, first)?, superseded, derived: None })
    }

    fn superseded(&self, id: i64) -> Result<Vec<Superseded>, StoreError> {
        let sql = "SELECT resumption, seq, json FROM powerband.superseded WHERE experiment = $1 ORDER BY 1, 2";
        let row = |row: &Row| {
            let column = |at| self.connection.column(row, at);
            Ok(Superseded { resumption: column(0)?, seq: column(1)?, json: self.connection.column(row, 2)? })
        };
        self.connection.rows(sql, &[&id])?.iter().map(row).collect()
    }

    /// Takes what it lacks of an experiment.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when it lacks events before the first given; and nothing is changed by any error.
    pub(super) fn put(&self, kept: &Kept, same_number: bool) -> Result<Put, StoreError> {
        self.connection.transact(|| {
            let (id, is_new) = match self.locked(&kept.key)? {
                Some(id) => (id, false),
                None => self.insert(kept, same_number)?,
            };
            let there = if is_new { Kept::none_of(kept) } else { self.read(id, &kept.key, kept.first)? };
            if kept.first > 0 && self.count(id)? < kept.first {
                return Err(StoreError::Changed(id));
            }
            let found = changes(self.place(), kept, &there)?;
            self.apply(id, &found)?;
            if found.is_newer {
                self.describe(id, kept)?;
            }
            let events = (found.events.len() + found.superseded.len()) as u64;
            Ok(Put { id, is_new, events, already: found.already })
        })
    }

    fn count(&self, id: i64) -> Result<usize, StoreError> {
        let sql = "SELECT coalesce(max(seq) + 1, 0) FROM powerband.event WHERE experiment = $1";
        let row = self.connection.row(sql, &[&id])?;
        let count: i64 = row.map_or(Ok(0), |row| self.connection.column(&row, 0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The number of the experiment with this key, which nobody else changes until the transaction ends.
    fn locked(&self, key: &str) -> Result<Option<i64>, StoreError> {
        let row = self.connection.row("SELECT id FROM powerband.experiment WHERE run = $1 FOR UPDATE", &[&key])?;
        row.map(|row| self.connection.column(&row, 0)).transpose()
    }

    /// A row for an experiment that comes in, and whether it is new: another may deliver the same one at once.
    fn insert(&self, kept: &Kept, same_number: bool) -> Result<(i64, bool), StoreError> {
        if same_number && kept.id > 0 {
            // No other number is drawn meanwhile.
            self.connection.batch("LOCK TABLE powerband.experiment IN SHARE ROW EXCLUSIVE MODE")?;
            let numbered = "INSERT INTO powerband.experiment (id, run, header) VALUES ($1, $2, '')
                            ON CONFLICT DO NOTHING RETURNING id";
            if let Some(row) = self.connection.row(numbered, &[&kept.id, &kept.key])? {
                let next = "SELECT setval(pg_get_serial_sequence('powerband.experiment', 'id'),
                            (SELECT max(id) FROM powerband.experiment))";
                self.connection.rows(next, &[])?;
                return Ok((self.connection.column(&row, 0)?, true));
            }
        }
        let sql = "INSERT INTO powerband.experiment (run, header) VALUES ($1, '')
                   ON CONFLICT (run) DO NOTHING RETURNING id";
        match self.connection.row(sql, &[&kept.key])? {
            Some(row) => Ok((self.connection.column(&row, 0)?, true)),
            None => {
                let id = self.locked(&kept.key)?;
                Ok((id.ok_or_else(|| StoreError::NoExperiment(kept.key.clone()))?, false))
            }
        }
    }

    fn apply(&self, id: i64, found: &Changes<'_>) -> Result<(), StoreError> {
        for (resumption, from) in &found.moved {
            let aside = "INSERT INTO powerband.superseded (experiment, resumption, seq, json)
                         SELECT experiment, $2, seq, json FROM powerband.event WHERE experiment = $1 AND seq >= $3";
            self.connection.execute(aside, &[&id, resumption, from])?;
            let gone = "DELETE FROM powerband.event WHERE experiment = $1 AND seq >= $2";
            self.connection.execute(gone, &[&id, from])?;
        }
        for rows in chunks(&found.superseded, |row| row.2) {
            let rows = rows.iter().map(|(resumption, seq, line)| [&id as &(dyn ToSql + Sync), resumption, seq, line]);
            let into = "powerband.superseded (experiment, resumption, seq, json)";
            self.connection.copy(into, [Type::INT8, Type::INT8, Type::INT8, Type::TEXT], rows)?;
        }
        for rows in chunks(&found.events, |row| row.1) {
            let rows = rows.iter().map(|(seq, line)| [&id as &(dyn ToSql + Sync), seq, line]);
            self.connection.copy(
                "powerband.event (experiment, seq, json)",
                [Type::INT8, Type::INT8, Type::TEXT],
                rows,
            )?;
        }
        Ok(())
    }

    /// Writes the header and what is derived.
    fn describe(&self, id: i64, kept: &Kept) -> Result<(), StoreError> {
        let unstorable =
            |error: serde_json::Error| StoreError::Unstorable { experiment: id, seq: -1, why: error.to_string() };
        let derived = match &kept.derived {
            Some(derived) => derived.clone(),
            None => computed(kept)?,
        };
        let header = ExperimentHeader { id, ..kept.header.clone() };
        let header = serde_json::to_string(&header).map_err(unstorable)?;
        let summary = Summary { id, ..derived.summary };
        let text = serde_json::to_string(&summary).map_err(unstorable)?;
        let fleet = kept.header.fleet.as_ref().map(|task| task.fleet.as_str());
        let sql = "UPDATE powerband.experiment SET header = $2, fleet = $3, state = $4, calibrates = $5, summary = $6
                   WHERE id = $1";
        let state = summary.state.as_str();
        self.connection.execute(sql, &[&id, &header, &fleet, &state, &derived.calibrates, &text]).map(drop)
    }

    /// Computes the row of the list again; answers whether it had differed.
    pub(super) fn rederive(&self, id: i64) -> Result<Vec<String>, StoreError> {
        let kept = self.kept(id, &self.key(id)?, 0)?;
        let before = kept.derived.as_ref().map(|derived| derived.summary.clone());
        let derived = computed(&kept)?;
        let same = before == Some(Summary { id, ..derived.summary.clone() });
        self.connection.transact(|| self.describe(id, &Kept { derived: Some(derived), ..kept }))?;
        Ok(if same { Vec::new() } else { vec!["experiment".to_owned()] })
    }

    pub(super) fn withdraw(&self, id: i64) -> Result<(), StoreError> {
        self.connection.transact(|| {
            self.connection.batch("SET LOCAL powerband.withdraw = 'on'")?;
            self.connection.execute("DELETE FROM powerband.event WHERE experiment = $1", &[&id])?;
            self.connection.execute("DELETE FROM powerband.experiment WHERE id = $1", &[&id]).map(drop)
        })
    }

    pub(super) fn noise(
        &self,
        host: &str,
        started: &Started,
        metric: &Metric,
    ) -> Result<Option<CalibratedNoise>, StoreError> {
        let sql = "SELECT id, run FROM powerband.experiment WHERE calibrates = $1 ORDER BY id DESC LIMIT $2";
        for row in self.connection.rows(sql, &[&noise::key(host, started), &CALIBRATIONS])? {
            let id = self.connection.column(&row, 0)?;
            let mut local = Local::in_memory()?;
            local.take(&self.read(id, self.connection.column(&row, 1)?, 0)?, None, true)?;
            if let Some(found) = local.noise(host, started, metric)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// What is derived of an experiment, from its events.
fn computed(kept: &Kept) -> Result<Derived, StoreError> {
    let mut local = Local::in_memory()?;
    let put = local.take(kept, None, true)?;
    let derived = local.kept_from(put.id, &kept.key, 0)?.derived;
    derived.ok_or_else(|| StoreError::NoExperiment(kept.key.clone()))
}

/// Parts of at most [`CHUNK`] bytes, or of one row.
fn chunks<T>(rows: &[T], text: impl Fn(&T) -> &str) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let over = rest.iter().position(|row| {
            bytes += text(row).len();
            bytes > CHUNK
        });
        let (chunk, behind) = rest.split_at_checked(over.unwrap_or(rest.len()).max(1))?;
        rest = behind;
        Some(chunk)
    })
}
