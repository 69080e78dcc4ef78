//! The engine on one SQLite file. SQL that only reads is here, SQL that derives in `derive`.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use powerband_record::{Counts, Event, ExperimentHeader, FleetTask, Metric, Started};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, TransactionBehavior, params};

use crate::delivery::{Kept, Put};
use crate::engine::Engine;
use crate::row::{Member, SearchSummary, State, Summary};
use crate::{Basis, CalibratedNoise, StoreError, derive, schema};

/// How long we wait for another writer. Every write of ours takes milliseconds.
const WAIT: Duration = Duration::from_secs(10);

/// Experiments in one SQLite file.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) path: PathBuf,
    /// The file as it was opened: device and inode.
    file: Option<(u64, u64)>,
    pub(crate) db: Connection,
}

impl Local {
    /// Opens the store at `path`; makes its folder (0700) and the file (0600) when there is none, and brings an older
    /// one to the newest version.
    pub(crate) fn open(path: &Path) -> Result<Local, StoreError> {
        Self::open_waiting(path, WAIT)
    }

    /// The same for looking: one that may not be written is read as it is.
    pub(crate) fn open_to_look(path: &Path) -> Result<Local, StoreError> {
        Self::open(path).or_else(|error| match error {
            StoreError::CannotOpen { .. } | StoreError::CannotCreate { .. } => {
                let db = schema::open_unwritable(path, WAIT).map_err(|_| error)?;
                Ok(Local { path: path.to_owned(), file: schema::identity(path), db })
            }
            error => Err(error),
        })
    }

    fn open_waiting(path: &Path, wait: Duration) -> Result<Local, StoreError> {
        let db = schema::open(path, wait)?;
        Ok(Local { path: path.to_owned(), file: schema::identity(path), db })
    }

    /// A store that is forgotten when it is dropped.
    #[cfg(feature = "postgresql")]
    pub(crate) fn in_memory() -> Result<Local, StoreError> {
        let path = PathBuf::from(":memory:");
        Ok(Local { db: schema::in_memory(&path)?, file: None, path })
    }

    fn synchronous(&self, how: &str) -> Result<(), StoreError> {
        self.db.pragma_update(None, "synchronous", how).map_err(|error| self.sqlite(&error))
    }

    fn append_one(&mut self, id: i64, event: &Event) -> Result<(), StoreError> {
        let path = self.path.clone();
        let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(&path, &error);
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        require(&transaction, &path, id)?;
        let seq: i64 = transaction
            .prepare_cached("SELECT coalesce(max(seq) + 1, 0) FROM event WHERE experiment = ?1")
            .and_then(|mut query| query.query_row([id], |row| row.get(0)))
            .map_err(sqlite)?;
        let unstorable =
            |error: serde_json::Error| StoreError::Unstorable { experiment: id, seq, why: error.to_string() };
        let json = serde_json::to_string(event).map_err(unstorable)?;
        // What is derived comes from what is stored, so that deriving again later cannot give anything else. A number
        // that is not finite is null in JSON and stops here.
        let stored: Event = serde_json::from_str(&json).map_err(unstorable)?;
        transaction
            .prepare_cached("INSERT INTO event (experiment, seq, json) VALUES (?1, ?2, ?3)")
            .and_then(|mut insert| insert.execute(params![id, seq, json]))
            .map_err(sqlite)?;
        derive::enter(&transaction, id, &stored).map_err(|error| match error.sqlite_error_code() {
            // It does not follow from the events before it, e.g. the end of a trial that never began.
            Some(ErrorCode::ConstraintViolation) => {
                StoreError::Unstorable { experiment: id, seq, why: error.to_string() }
            }
            _ => sqlite(error),
        })?;
        transaction.commit().map_err(sqlite)
    }

    pub(crate) fn summary(&self, id: i64) -> Result<Summary, StoreError> {
        let found = self.summaries("WHERE id = ?1", [id])?.into_iter().next();
        found.ok_or_else(|| StoreError::NoExperiment(id.to_string()))
    }

    fn summaries(&self, which: &str, of: impl rusqlite::Params) -> Result<Vec<Summary>, StoreError> {
        let sqlite = |error: rusqlite::Error| self.sqlite(&error);
        let mut query = self.db.prepare_cached(&format!("{SUMMARY} {which} ORDER BY id")).map_err(sqlite)?;
        let rows = query.query_map(of, |row| Ok((row.get::<_, String>(1)?, summary(row)?))).map_err(sqlite)?;
        rows.map(|row| {
            let (header, mut summary) = row.map_err(sqlite)?;
            let header = parse_header(summary.id, &header)?;
            (summary.started_unix_s, summary.host, summary.owner) = (header.started_unix_s, header.host, header.owner);
            summary.fleet = header.fleet.map(|task| FleetTask { facts: BTreeMap::new(), ..task });
            Ok(summary)
        })
        .collect()
    }

    pub(crate) fn sqlite(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(&self.path, error)
    }
}

impl Engine for Local {
    #[cfg(test)]
    fn db(&self) -> Option<&Connection> {
        Some(&self.db)
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn is_in_place(&self) -> bool {
        schema::identity(&self.path) == self.file
    }

    fn save_displaced(&mut self) -> Result<PathBuf, StoreError> {
        let taken = self.path.try_exists().unwrap_or(true);
        let aside = self.path.with_extension(format!("saved-{}.sqlite", std::process::id()));
        let path = if taken { aside } else { self.path.clone() };
        schema::copy_to(&self.db, &path)?;
        Ok(path)
    }

    fn begin(&mut self, header: &ExperimentHeader) -> Result<i64, StoreError> {
        let path = self.path.clone();
        let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(&path, &error);
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        transaction.execute("INSERT INTO experiment (header) VALUES ('')", []).map_err(sqlite)?;
        let id = transaction.last_insert_rowid();
        write_header(&transaction, &path, id, header)?;
        transaction.commit().map_err(sqlite)?;
        Ok(id)
    }

    fn update_header(&mut self, id: i64, header: &ExperimentHeader) -> Result<(), StoreError> {
        write_header(&self.db, &self.path, id, header)
    }

    fn append(&mut self, id: i64, event: &Event) -> Result<(), StoreError> {
        if !self.is_in_place() {
            return Err(StoreError::Displaced { path: self.path.clone() });
        }
        if !matches!(event, Event::Closed(_)) {
            return self.append_one(id, event);
        }
        self.synchronous("FULL")?;
        let appended = self.append_one(id, event);
        self.synchronous("NORMAL")?;
        appended
    }

    fn rewind(&mut self, id: i64, seen: Basis<'_>, keep: usize, header: &ExperimentHeader) -> Result<(), StoreError> {
        let path = self.path.clone();
        let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(&path, &error);
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        let lines = read_lines(&transaction, &path, id)?;
        if (&read_header(&transaction, &path, id)?, lines.len()) != seen {
            return Err(StoreError::Changed(id));
        }
        let from = i64::try_from(keep).unwrap_or(i64::MAX);
        let aside = "INSERT INTO superseded (experiment, resumption, seq, json)
                     SELECT experiment, (SELECT coalesce(max(resumption), 0) + 1 FROM superseded WHERE experiment = ?1),
                     seq, json FROM event WHERE experiment = ?1 AND seq >= ?2";
        for sql in [aside, "DELETE FROM event WHERE experiment = ?1 AND seq >= ?2"] {
            transaction.execute(sql, params![id, from]).map_err(sqlite)?;
        }
        write_header(&transaction, &path, id, header)?;
        derive_again(&transaction, &path, id, &lines[..keep.min(lines.len())])?;
        transaction.commit().map_err(sqlite)
    }

    fn list(&self) -> Result<Vec<Summary>, StoreError> {
        self.summaries("", [])
    }

    fn of_fleet(&self, fleet: &str) -> Result<Vec<Member>, StoreError> {
        let sqlite = |error: rusqlite::Error| self.sqlite(&error);
        let sql =
            "SELECT id, header, state FROM experiment WHERE json_extract(header, '$.fleet.fleet') = ?1 ORDER BY id";
        let mut query = self.db.prepare_cached(sql).map_err(sqlite)?;
        let row = |row: &Row| Ok((row.get(0)?, row.get::<_, String>(1)?, State::parse(row.get_ref(2)?.as_str()?)));
        let rows = query.query_map([fleet], row).map_err(sqlite)?;
        rows.map(|row| {
            let (id, header, state) = row.map_err(sqlite)?;
            Ok(Member { id, header: parse_header(id, &header)?, state })
        })
        .collect()
    }

    fn require(&self, id: i64) -> Result<(), StoreError> {
        require(&self.db, &self.path, id)
    }

    fn noise(&self, host: &str, started: &Started, metric: &Metric) -> Result<Option<CalibratedNoise>, StoreError> {
        self.latest_noise(host, started, metric)
    }

    fn keys(&self) -> Result<Vec<(i64, String)>, StoreError> {
        self.keys_of("")
    }

    fn kept(&self, id: i64, key: &str, first: usize) -> Result<Kept, StoreError> {
        self.kept_from(id, key, first)
    }

    fn put(&mut self, kept: &Kept, known: Option<i64>, same_number: bool) -> Result<Put, StoreError> {
        self.take(kept, known, same_number)
    }

    fn header(&self, id: i64) -> Result<ExperimentHeader, StoreError> {
        read_header(&self.db, &self.path, id)
    }

    fn newest(&self) -> Result<Option<i64>, StoreError> {
        self.db.query_row("SELECT max(id) FROM experiment", [], |row| row.get(0)).map_err(|error| self.sqlite(&error))
    }

    fn rederive(&mut self, id: i64) -> Result<Vec<String>, StoreError> {
        let path = self.path.clone();
        let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(&path, &error);
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        let lines = read_lines(&transaction, &path, id)?;
        let before = dump(&transaction, id).map_err(sqlite)?;
        derive_again(&transaction, &path, id, &lines)?;
        let after = dump(&transaction, id).map_err(sqlite)?;
        transaction.commit().map_err(sqlite)?;
        let differs = before.into_iter().zip(after).filter(|(before, after)| before != after);
        Ok(differs.map(|((table, _), _)| table).collect())
    }

    fn withdraw(&mut self, id: i64) -> Result<bool, StoreError> {
        let path = self.path.clone();
        let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(&path, &error);
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        require(&transaction, &path, id)?;
        let kept = "SELECT EXISTS (SELECT 1 FROM trial WHERE experiment = ?1 AND state = 'valid')
                        OR EXISTS (SELECT 1 FROM superseded WHERE experiment = ?1)";
        if transaction.query_row(kept, [id], |row| row.get(0)).map_err(sqlite)? {
            return Ok(false);
        }
        // The trigger that keeps events is set aside for this transaction, which nobody sees half done.
        let guard: String = transaction
            .query_row("SELECT sql FROM sqlite_schema WHERE name = 'event_is_never_removed'", [], |row| row.get(0))
            .map_err(sqlite)?;
        transaction.execute_batch("DROP TRIGGER event_is_never_removed").map_err(sqlite)?;
        let removed = derive::clear(&transaction, id)
            .and_then(|()| transaction.execute("DELETE FROM event WHERE experiment = ?1", [id]))
            .and_then(|_| transaction.execute("DELETE FROM experiment WHERE id = ?1", [id]))
            .and_then(|_| {
                let newest = "UPDATE sqlite_sequence SET seq = (SELECT coalesce(max(id), 0) FROM experiment)
                              WHERE name = 'experiment'";
                transaction.execute(newest, [])
            });
        removed.and_then(|_| transaction.execute_batch(&guard)).map_err(sqlite)?;
        transaction.commit().map_err(sqlite)?;
        Ok(true)
    }

    fn lines(&self, id: i64) -> Result<Vec<String>, StoreError> {
        read_lines(&self.db, &self.path, id)
    }
}

const SUMMARY: &str = "
    SELECT id, header, title, machine, far, load, state, reason, blocks, ended_ns,
           (SELECT count(*) FROM setting s WHERE s.experiment = e.id),
           (SELECT count(*) FROM trial t WHERE t.experiment = e.id AND t.state = 'valid' AND t.block > 0),
           (SELECT count(*) FROM trial t WHERE t.experiment = e.id AND t.state = 'void'),
           (SELECT count(*) FROM verdict v WHERE v.experiment = e.id AND v.verdict <> 'undecided'),
           (SELECT count(*) FROM verdict v WHERE v.experiment = e.id AND v.verdict = 'undecided'),
           (SELECT label FROM setting s WHERE s.experiment = e.id AND s.setting = e.knee),
           (SELECT json_extract(json, '$.search.goal.better') || ' ' || json_extract(json, '$.search.goal.name')
            FROM event v WHERE v.experiment = e.id AND v.seq = 0),
           (SELECT json_extract(json, '$.search.end') FROM event v
            WHERE v.experiment = e.id ORDER BY seq DESC LIMIT 1),
           (SELECT label FROM setting s WHERE s.experiment = e.id AND s.setting =
            (SELECT json_extract(json, '$.search.setting') FROM event v
             WHERE v.experiment = e.id ORDER BY seq DESC LIMIT 1))
    FROM experiment e";

fn summary(row: &Row) -> rusqlite::Result<Summary> {
    let (load, reason): (Option<String>, Option<String>) = (row.get(5)?, row.get(7)?);
    let ended_ns: Option<i64> = row.get(9)?;
    Ok(Summary {
        id: row.get(0)?,
        started_unix_s: 0,
        host: String::new(),
        owner: None,
        fleet: None,
        title: row.get(2)?,
        machine: row.get(3)?,
        far: row.get(4)?,
        load: load.and_then(|text| serde_json::from_str(&text).ok()),
        state: State::parse(row.get_ref(6)?.as_str()?),
        reason: reason.and_then(|text| serde_json::from_str(&text).ok()),
        counts: Counts {
            settings: row.get(10)?,
            blocks: row.get(8)?,
            trials: row.get(11)?,
            voids: row.get(12)?,
            decided: row.get(13)?,
            open: row.get(14)?,
        },
        ended_ns: ended_ns.and_then(|ns| u64::try_from(ns).ok()),
        knee: row.get(15)?,
        search: search(row.get(16)?, row.get(17)?, row.get(18)?),
    })
}

/// What a search is about, from the way and the name of its goal.
fn search(goal: Option<String>, end: Option<String>, answer: Option<String>) -> Option<SearchSummary> {
    let goal = goal?;
    let (better, name) = goal.split_once(' ')?;
    let way = if better == "higher" { "most" } else { "least" };
    Some(SearchSummary { sought: format!("{way} {name}"), end, answer })
}

pub(crate) fn parse_header(id: i64, text: &str) -> Result<ExperimentHeader, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Unreadable {
        experiment: id,
        seq: -1,
        why: error.to_string(),
    })
}

pub(crate) fn parse_events(id: i64, lines: &[String]) -> Result<Vec<Event>, StoreError> {
    let unreadable =
        |seq, error: serde_json::Error| StoreError::Unreadable { experiment: id, seq, why: error.to_string() };
    (0..).zip(lines).map(|(seq, line)| serde_json::from_str(line).map_err(|error| unreadable(seq, error))).collect()
}

fn require(db: &Connection, path: &Path, id: i64) -> Result<(), StoreError> {
    let there = db
        .prepare_cached("SELECT 1 FROM experiment WHERE id = ?1")
        .and_then(|mut query| query.exists([id]))
        .map_err(|error| StoreError::from_sqlite(path, &error))?;
    if there { Ok(()) } else { Err(StoreError::NoExperiment(id.to_string())) }
}

pub(crate) fn read_header(db: &Connection, path: &Path, id: i64) -> Result<ExperimentHeader, StoreError> {
    let header: Option<String> = db
        .query_row("SELECT header FROM experiment WHERE id = ?1", [id], |row| row.get(0))
        .optional()
        .map_err(|error| StoreError::from_sqlite(path, &error))?;
    parse_header(id, &header.ok_or_else(|| StoreError::NoExperiment(id.to_string()))?)
}

/// Empties everything derived of one experiment and fills it from these lines.
pub(crate) fn derive_again(db: &Connection, path: &Path, id: i64, lines: &[String]) -> Result<(), StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    derive::clear(db, id).map_err(sqlite)?;
    parse_events(id, lines)?.iter().try_for_each(|event| derive::enter(db, id, event)).map_err(sqlite)
}

pub(crate) fn write_header(db: &Connection, path: &Path, id: i64, header: &ExperimentHeader) -> Result<(), StoreError> {
    let header = ExperimentHeader { id, ..header.clone() };
    let text = serde_json::to_string(&header).map_err(|error| StoreError::Unstorable {
        experiment: id,
        seq: -1,
        why: error.to_string(),
    })?;
    let changed = db
        .execute("UPDATE experiment SET header = ?2 WHERE id = ?1", params![id, text])
        .map_err(|error| StoreError::from_sqlite(path, &error))?;
    if changed == 1 { Ok(()) } else { Err(StoreError::NoExperiment(id.to_string())) }
}

pub(crate) fn read_lines(db: &Connection, path: &Path, id: i64) -> Result<Vec<String>, StoreError> {
    require(db, path, id)?;
    db.prepare_cached("SELECT json FROM event WHERE experiment = ?1 ORDER BY seq")
        .and_then(|mut query| query.query_map([id], |row| row.get(0))?.collect())
        .map_err(|error| StoreError::from_sqlite(path, &error))
}

/// Every derived row as text, by table.
fn dump(db: &Connection, id: i64) -> rusqlite::Result<Vec<(String, Vec<String>)>> {
    let tables = derive::TABLES
        .iter()
        .map(|(table, order)| (*table, format!("SELECT * FROM {table} WHERE experiment = ?1 ORDER BY {order}")));
    let own = ("experiment", format!("SELECT {} FROM experiment WHERE id = ?1", derive::DERIVED));
    tables.chain([own]).map(|(table, sql)| Ok((table.to_owned(), dump_rows(db, &sql, id)?))).collect()
}

fn dump_rows(db: &Connection, sql: &str, id: i64) -> rusqlite::Result<Vec<String>> {
    let mut query = db.prepare(sql)?;
    let columns = query.column_count();
    let text = |row: &Row| -> rusqlite::Result<String> {
        let cells: rusqlite::Result<Vec<String>> = (0..columns)
            .map(|i| {
                Ok(match row.get_ref(i)? {
                    ValueRef::Text(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                    other => format!("{other:?}"),
                })
            })
            .collect();
        Ok(cells?.join(" "))
    };
    query.query_map([id], text)?.collect()
}

#[cfg(test)]
mod tests;
