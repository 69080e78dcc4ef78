//! Experiments of other stores in an SQLite file, and its own as other stores take them.
use powerband_record::ExperimentHeader;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::delivery::{Derived, Kept, Put, Superseded, changes};
use crate::local::{Local, derive_again, parse_header, read_lines, write_header};
use crate::{StoreError, noise, run_key};

impl Local {
    /// The number of the experiment with this key.
    #[cfg(any(test, feature = "postgresql"))]
    pub(crate) fn find(&self, key: &str) -> Result<Option<i64>, StoreError> {
        let found = self
            .db
            .query_row("SELECT id FROM experiment WHERE json_extract(header, '$.run') = ?1", [key], |row| row.get(0))
            .optional()
            .map_err(|error| self.sqlite(&error))?;
        if found.is_some() {
            return Ok(found);
        }
        let keys = self.keys_of("WHERE json_extract(header, '$.run') IS NULL")?;
        Ok(keys.into_iter().find(|(_, found)| found == key).map(|(id, _)| id))
    }

    /// Number and key of experiments. Those of older versions, which wrote none, have one computed from what they say.
    pub(crate) fn keys_of(&self, which: &str) -> Result<Vec<(i64, String)>, StoreError> {
        let sql = format!(
            "SELECT id, header, (SELECT json FROM event WHERE experiment = id AND seq = 0) FROM experiment {which} ORDER BY id"
        );
        let sqlite = |error: rusqlite::Error| self.sqlite(&error);
        let mut query = self.db.prepare(&sql).map_err(sqlite)?;
        let row = |row: &rusqlite::Row| Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?));
        let rows = query.query_map([], row).map_err(sqlite)?;
        let mut computed = run_key::Computed::default();
        rows.map(|row| {
            let (id, header, first) = row.map_err(sqlite)?;
            let header = parse_header(id, &header)?;
            let key = header.run.clone().unwrap_or_else(|| computed.key(&header, first.as_deref().unwrap_or_default()));
            Ok((id, key))
        })
        .collect()
    }

    /// See [`crate::engine::Engine::kept`].
    pub(crate) fn kept_from(&self, id: i64, key: &str, first: usize) -> Result<Kept, StoreError> {
        let mut kept = read(&self.db, &self.path, (id, key), first)?;
        let sqlite = |error: rusqlite::Error| self.sqlite(&error);
        let calibrated = "SELECT json FROM event WHERE experiment = ?1 AND seq = 0
                          AND EXISTS (SELECT 1 FROM calibration WHERE experiment = ?1)";
        let started: Option<String> =
            self.db.query_row(calibrated, [id], |row| row.get(0)).optional().map_err(sqlite)?;
        let calibrates = started.and_then(|started| noise::key_of_event(&kept.header.host, &started));
        kept.derived = Some(Derived { summary: self.summary(id)?, calibrates });
        Ok(kept)
    }

    /// See [`crate::engine::Engine::put`].
    pub(crate) fn take(&mut self, kept: &Kept, known: Option<i64>, same_number: bool) -> Result<Put, StoreError> {
        let path = self.path.clone();
        let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(&path, &error);
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        let id = match known {
            Some(id) => id,
            None => insert(&transaction, kept.id, same_number).map_err(sqlite)?,
        };
        let there = match known {
            Some(id) => read(&transaction, &path, (id, &kept.key), 0)?,
            None => Kept::none_of(kept),
        };
        let found = changes(&path.display().to_string(), kept, &there)?;
        for &(resumption, from) in &found.moved {
            let aside = "INSERT INTO superseded (experiment, resumption, seq, json)
                         SELECT experiment, ?2, seq, json FROM event WHERE experiment = ?1 AND seq >= ?3";
            transaction.execute(aside, params![id, resumption, from]).map_err(sqlite)?;
            let gone = "DELETE FROM event WHERE experiment = ?1 AND seq >= ?2";
            transaction.execute(gone, params![id, from]).map_err(sqlite)?;
        }
        let superseded = "INSERT INTO superseded (experiment, resumption, seq, json) VALUES (?1, ?2, ?3, ?4)";
        for &(resumption, seq, json) in &found.superseded {
            let mut insert = transaction.prepare_cached(superseded).map_err(sqlite)?;
            insert.execute(params![id, resumption, seq, json]).map_err(sqlite)?;
        }
        for &(seq, json) in &found.events {
            let event = "INSERT INTO event (experiment, seq, json) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare_cached(event).map_err(sqlite)?;
            insert.execute(params![id, seq, json]).map_err(sqlite)?;
        }
        if found.is_newer {
            write_header(&transaction, &path, id, &kept.header)?;
        }
        derive_again(&transaction, &path, id, &read_lines(&transaction, &path, id)?)?;
        transaction.commit().map_err(sqlite)?;
        let events = found.events.len() + found.superseded.len();
        Ok(Put { id, is_new: known.is_none(), events: events as u64, already: found.already })
    }
}

impl Kept {
    /// The same experiment in a store that has nothing of it.
    pub(crate) fn none_of(kept: &Kept) -> Kept {
        let header = ExperimentHeader { resumed: Vec::new(), observer_cpu_s: None, ..kept.header.clone() };
        Kept { header, lines: Vec::new(), superseded: Vec::new(), derived: None, ..kept.clone() }
    }
}

/// A row for an experiment that comes in.
fn insert(db: &Connection, id: i64, same_number: bool) -> rusqlite::Result<i64> {
    let taken = || db.prepare("SELECT 1 FROM experiment WHERE id = ?1")?.exists([id]);
    let number = if same_number && id > 0 && !taken()? { Some(id) } else { None };
    db.execute("INSERT INTO experiment (id, header) VALUES (?1, '')", [number])?;
    Ok(db.last_insert_rowid())
}

fn read(db: &Connection, path: &std::path::Path, (id, key): (i64, &str), first: usize) -> Result<Kept, StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let header = crate::local::read_header(db, path, id)?;
    let from = i64::try_from(first).unwrap_or(i64::MAX);
    let lines = db
        .prepare_cached("SELECT json FROM event WHERE experiment = ?1 AND seq >= ?2 ORDER BY seq")
        .and_then(|mut query| query.query_map([id, from], |row| row.get(0))?.collect())
        .map_err(sqlite)?;
    let row = |row: &rusqlite::Row| Ok(Superseded { resumption: row.get(0)?, seq: row.get(1)?, json: row.get(2)? });
    let superseded = match first {
        0 => db
            .prepare_cached("SELECT resumption, seq, json FROM superseded WHERE experiment = ?1 ORDER BY 1, 2")
            .and_then(|mut query| query.query_map([id], row)?.collect())
            .map_err(sqlite)?,
        _ => Vec::new(),
    };
    Ok(Kept { id, key: key.to_owned(), header, first, lines, superseded, derived: None })
}
