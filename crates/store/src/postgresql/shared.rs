//! The engine of a shared store: what is read comes from the database, what is written goes into the local file first.
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use powerband_record::{Event, ExperimentHeader, Metric, Started};

use super::address::Address;
use super::database::Database;
use crate::delivery::{Kept, Put};
use crate::engine::Engine;
use crate::local::Local;
use crate::row::{Member, Summary};
use crate::{Basis, CalibratedNoise, Notice, Purpose, StoreError, run_key};

/// How long an answer may take while an experiment waits, and while a person does.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long all answers of a delivery together may take while machines are set: their agents wait 10 s for us.
const DELIVERY: Duration = Duration::from_secs(8);
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// Between two deliveries; after failures, the first pause and the longest.
const PERIOD: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(crate) struct Shared {
    address: Address,
    journal: PathBuf,
    /// None while it cannot be reached.
    database: Option<Database>,
    /// Opened when something is to be written.
    local: Option<Local>,
    writing: Option<Writing>,
    notices: Vec<Notice>,
    attempts: Attempts,
}

/// The experiment that is being written.
#[derive(Debug)]
struct Writing {
    /// The number its callers know it by: the database's, or the local file's where the database could not give one.
    id: i64,
    local: i64,
    key: String,
    /// In the database, once it is there.
    number: Option<i64>,
    /// Events that the database has.
    delivered: usize,
}

/// When a delivery was tried last, and what came of it.
#[derive(Debug, Default)]
struct Attempts {
    last: Option<Instant>,
    failures: u32,
    trouble: Option<String>,
}

impl Attempts {
    fn is_due(&self) -> bool {
        let pause = match self.failures {
            0 => PERIOD,
            failures => FIRST_PAUSE.saturating_mul(1 << failures.min(8).saturating_sub(1)).min(MAX_PAUSE),
        };
        self.last.is_none_or(|last| last.elapsed() >= pause)
    }
}

impl Shared {
    /// None where a person only looks and there are no tables.
    pub(crate) fn open(url: &str, journal: &Path, purpose: Purpose) -> Result<Option<Shared>, StoreError> {
        let address = Address::parse(url)?;
        let mut shared = Shared {
            address,
            journal: journal.to_owned(),
            database: None,
            local: None,
            writing: None,
            notices: Vec::new(),
            attempts: Attempts::default(),
        };
        match purpose {
            Purpose::Look => {
                shared.database = Database::find(&shared.address, LONG_PATIENCE)?;
                return Ok(shared.database.is_some().then_some(shared));
            }
            Purpose::Deliver => shared.database = Some(Database::open(&shared.address, LONG_PATIENCE)?),
            Purpose::Write => {
                shared.local = Some(Local::open(journal)?);
                match Database::open(&shared.address, PATIENCE) {
                    Ok(database) => shared.database = Some(database),
                    Err(StoreError::Unreachable { why, .. }) => shared.is_away(why),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(Some(shared))
    }

    fn is_away(&mut self, why: String) {
        self.failed(why.clone());
        let place = self.address.place.clone();
        self.notices.push(Notice::Away { place, why, journal: self.journal.clone() });
    }

    fn failed(&mut self, why: String) {
        self.attempts.failures += 1;
        self.attempts.trouble = Some(why);
        self.attempts.last = Some(Instant::now());
        self.database = None;
    }

    fn database(&self) -> Result<&Database, StoreError> {
        self.database.as_ref().ok_or_else(|| StoreError::Unreachable {
            place: self.address.place.clone(),
            why: self.attempts.trouble.clone().unwrap_or_else(|| "it was not asked".to_owned()),
        })
    }

    fn written(&self, id: i64) -> Option<(&Local, &Writing)> {
        Some((self.local.as_ref()?, self.writing.as_ref().filter(|writing| writing.id == id)?))
    }

    fn written_mut(&mut self, id: i64) -> Result<(&mut Local, &mut Writing), StoreError> {
        let writing = self.writing.as_mut().filter(|writing| writing.id == id);
        self.local.as_mut().zip(writing).ok_or_else(|| StoreError::NoExperiment(id.to_string()))
    }

    /// Sends what the database does not have, if it is time. What cannot be sent now is sent later.
    fn deliver(&mut self, at_once: bool) {
        if at_once || self.attempts.is_due() {
            self.attempt(Some(Instant::now() + DELIVERY));
        }
    }

    fn attempt(&mut self, deadline: Option<Instant>) {
        match self.send(deadline) {
            Ok(()) => self.attempts = Attempts { last: Some(Instant::now()), ..Attempts::default() },
            Err(StoreError::Unreachable { why, .. }) => self.failed(why),
            Err(error) => self.failed(error.to_string()),
        }
    }

    fn send(&mut self, deadline: Option<Instant>) -> Result<(), StoreError> {
        let (Some(local), Some(writing)) = (&self.local, &mut self.writing) else { return Ok(()) };
        let database = match self.database.take() {
            Some(database) => database,
            None => Database::open(&self.address, PATIENCE)?,
        };
        let database = self.database.insert(database);
        database.wait_until(deadline);
        let kept = local.kept_from(writing.local, &writing.key, writing.delivered)?;
        let (count, put) = match database.put(&kept, false) {
            // The database lost what it had, e.g. by a restored backup.
            Err(StoreError::Changed(_)) => {
                let all = local.kept_from(writing.local, &writing.key, 0)?;
                (all.count(), database.put(&all, false)?)
            }
            put => (kept.count(), put?),
        };
        (writing.number, writing.delivered) = (Some(put.id), count);
        Ok(())
    }

    /// What is to be known when nothing more will be written.
    fn conclude(&mut self) {
        let Some(Writing { id, local, number, .. }) = self.writing else { return };
        let place = self.address.place.clone();
        match (self.attempts.trouble.clone(), number) {
            (Some(why), _) => {
                let journal = self.journal.clone();
                self.notices.push(Notice::Undelivered { place, why, journal, id: local });
            }
            (None, Some(number)) if number != id => self.notices.push(Notice::Delivered { place, number }),
            (None, _) => {}
        }
    }
}

impl Engine for Shared {
    fn place(&self) -> String {
        self.address.place.clone()
    }

    fn path(&self) -> &Path {
        &self.journal
    }

    fn is_in_place(&self) -> bool {
        self.local.as_ref().is_none_or(Engine::is_in_place)
    }

    fn save_displaced(&mut self) -> Result<PathBuf, StoreError> {
        match &mut self.local {
            Some(local) => local.save_displaced(),
            None => Ok(self.journal.clone()),
        }
    }

    fn begin(&mut self, header: &ExperimentHeader) -> Result<i64, StoreError> {
        let local = match &mut self.local {
            Some(local) => local,
            none => none.insert(Local::open(&self.journal)?),
        };
        let key = header.run.clone().unwrap_or_else(|| run_key::of_process(header));
        let id = local.begin(&ExperimentHeader { run: Some(key.clone()), ..header.clone() })?;
        self.writing = Some(Writing { id, local: id, key, number: None, delivered: 0 });
        if self.attempts.trouble.is_none() {
            match self.send(Some(Instant::now() + DELIVERY)) {
                Ok(()) => {}
                Err(StoreError::Unreachable { why, .. }) => self.is_away(why),
                // A right that is missing is missing later, too: better known before anything is measured.
                Err(error) => {
                    self.writing = None;
                    if let Some(local) = &mut self.local {
                        local.withdraw(id)?;
                    }
                    return Err(error);
                }
            }
        }
        let Some(writing) = &mut self.writing else { return Ok(id) };
        writing.id = writing.number.unwrap_or(id);
        Ok(writing.id)
    }

    fn update_header(&mut self, id: i64, header: &ExperimentHeader) -> Result<(), StoreError> {
        let (local, writing) = self.written_mut(id)?;
        local.update_header(writing.local, header)?;
        self.attempt(None);
        self.conclude();
        Ok(())
    }

    fn append(&mut self, id: i64, event: &Event) -> Result<(), StoreError> {
        let (local, writing) = self.written_mut(id)?;
        local.append(writing.local, event)?;
        match event {
            Event::TrialDone { .. } | Event::TrialVoid { .. } | Event::BlockDone(_) => self.deliver(false),
            Event::Closed(_) => self.deliver(self.attempts.trouble.is_none()),
            _ => {}
        }
        Ok(())
    }

    fn rewind(&mut self, id: i64, seen: Basis<'_>, keep: usize, header: &ExperimentHeader) -> Result<(), StoreError> {
        let (local, writing) = self.written_mut(id)?;
        let seen_here = ExperimentHeader { id: writing.local, ..seen.0.clone() };
        match local.rewind(writing.local, (&seen_here, seen.1), keep, header) {
            Err(StoreError::Changed(_)) => return Err(StoreError::Changed(id)),
            rewound => rewound?,
        }
        writing.delivered = 0;
        self.deliver(true);
        Ok(())
    }

    fn list(&self) -> Result<Vec<Summary>, StoreError> {
        self.database()?.list()
    }

    fn of_fleet(&self, fleet: &str) -> Result<Vec<Member>, StoreError> {
        self.database()?.of_fleet(fleet)
    }

    fn header(&self, id: i64) -> Result<ExperimentHeader, StoreError> {
        match self.written(id) {
            Some((local, writing)) => Ok(ExperimentHeader { id, ..local.header(writing.local)? }),
            None => self.database()?.header(id),
        }
    }

    fn lines(&self, id: i64) -> Result<Vec<String>, StoreError> {
        match self.written(id) {
            Some((local, writing)) => local.lines(writing.local),
            None => {
                let database = self.database()?;
                database.key(id)?;
                database.lines(id, 0)
            }
        }
    }

    fn newest(&self) -> Result<Option<i64>, StoreError> {
        self.database()?.newest()
    }

    fn require(&self, id: i64) -> Result<(), StoreError> {
        self.database()?.key(id).map(drop)
    }

    fn rederive(&mut self, id: i64) -> Result<Vec<String>, StoreError> {
        self.database()?.rederive(id)
    }

    fn withdraw(&mut self, id: i64) -> Result<bool, StoreError> {
        let (local, writing) = self.written_mut(id)?;
        let number = writing.number;
        if !local.withdraw(writing.local)? {
            return Ok(false);
        }
        self.writing = None;
        // Where it cannot be removed it is listed as interrupted.
        if let (Some(number), Some(database)) = (number, &self.database) {
            database.withdraw(number).ok();
        }
        Ok(true)
    }

    fn noise(&self, host: &str, started: &Started, metric: &Metric) -> Result<Option<CalibratedNoise>, StoreError> {
        match (&self.database, &self.local) {
            (None, Some(local)) => local.noise(host, started, metric),
            _ => self.database()?.noise(host, started, metric),
        }
    }

    fn take_over(&mut self, id: i64) -> Result<(), StoreError> {
        let database = self.database()?;
        let key = database.key(id)?;
        let kept = database.kept(id, &key, 0)?;
        let mut local = Local::open(&self.journal)?;
        let known = local.find(&key)?;
        let put = local.take(&kept, known, false)?;
        self.local = Some(local);
        self.writing = Some(Writing { id, local: put.id, key, number: Some(id), delivered: 0 });
        // What the file has more of it, from before.
        self.send(None)
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    fn keys(&self) -> Result<Vec<(i64, String)>, StoreError> {
        self.database()?.keys()
    }

    fn kept(&self, id: i64, key: &str, first: usize) -> Result<Kept, StoreError> {
        self.database()?.kept(id, key, first)
    }

    fn put(&mut self, kept: &Kept, _known: Option<i64>, same_number: bool) -> Result<Put, StoreError> {
        self.database()?.put(kept, same_number)
    }
}
