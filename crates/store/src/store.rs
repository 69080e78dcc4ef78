//! The store as its callers see it, whichever engine keeps it.
use std::path::{Path, PathBuf};

use powerband_record::{Event, ExperimentHeader, Metric, Started};

use crate::engine::Engine;
use crate::local::{Local, parse_events};
use crate::row::{Member, Summary};
use crate::{CalibratedNoise, Notice, StoreError, attempts};

/// What a decision about an experiment rests on: its header, and how many events it had.
pub type Basis<'s> = (&'s ExperimentHeader, usize);

/// What a shared store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Reading what is there.
    Look,
    /// Writing an experiment as it happens.
    Write,
    /// Taking experiments of another store.
    Deliver,
}

/// Experiments in one SQLite file, or in a database that many machines share.
#[derive(Debug)]
pub struct Store {
    pub(crate) engine: Box<dyn Engine>,
}

impl Store {
    /// Opens the store at `path`; makes its folder (0700) and the file (0600) when there is none, and brings an older
    /// one to the newest version.
    ///
    /// # Errors
    /// [`StoreError::CannotCreate`], [`StoreError::CannotOpen`], [`StoreError::Full`], [`StoreError::NewerVersion`],
    /// [`StoreError::NotOurs`], [`StoreError::Corrupt`], or [`StoreError::Locked`] after ten seconds.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        Ok(Store { engine: Box::new(Local::open(path.as_ref())?) })
    }

    /// The same for looking at what is there: a store that may not be written is read as it is, and takes nothing.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_to_look(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        Ok(Store { engine: Box::new(Local::open_to_look(path.as_ref())?) })
    }

    /// Opens a shared store by its URL ([`crate::is_shared`]); none where one only looks and nothing was stored yet. `journal` is
    /// the SQLite file that experiments are written to first.
    ///
    /// # Errors
    /// [`StoreError::NoPostgresql`], [`StoreError::BadUrl`], [`StoreError::Denied`], [`StoreError::Server`], [`StoreError::NewerVersion`],
    /// [`StoreError::NotOurs`]; [`StoreError::Unreachable`], which for writing is a notice; as [`Store::open`] of the file.
    pub fn open_shared(url: &str, journal: &Path, purpose: Purpose) -> Result<Option<Store>, StoreError> {
        #[cfg(feature = "postgresql")]
        return Ok(
            crate::postgresql::Shared::open(url, journal, purpose)?.map(|shared| Store { engine: Box::new(shared) })
        );
        #[cfg(not(feature = "postgresql"))]
        {
            let _ = (journal, purpose);
            Err(StoreError::NoPostgresql { place: crate::without_password(url) })
        }
    }

    /// The store as a person names it, without a password.
    #[must_use]
    pub fn place(&self) -> String {
        self.engine.place()
    }

    /// The SQLite file that experiments are written to here.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.engine.path()
    }

    /// Whether the file is still the one that was opened: not deleted, moved or replaced.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.engine.is_in_place()
    }

    /// Writes everything to the store's place again when its file is gone from there, next to it when another file is there
    /// now. Answers where it is.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be written there.
    pub fn save_displaced(&mut self) -> Result<PathBuf, StoreError> {
        self.engine.save_displaced()
    }

    /// Begins an experiment; the header's `id` is replaced by the number answered.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::Locked`], [`StoreError::Io`].
    pub fn begin(&mut self, header: &ExperimentHeader) -> Result<i64, StoreError> {
        self.engine.begin(header)
    }

    /// Replaces the header of an experiment, e.g. once the observer's cost is known: the last thing written of it. A shared store
    /// is then sent everything it does not have.
    ///
    /// # Errors
    /// [`StoreError::NoExperiment`], and as [`Store::begin`].
    pub fn update_header(&mut self, id: i64, header: &ExperimentHeader) -> Result<(), StoreError> {
        self.engine.update_header(id, header)
    }

    /// Appends an event and derives from it, in one transaction that is committed when this returns. The last one,
    /// [`Event::Closed`], is synced to the disk with everything before it. A shared store is sent it soon: it never makes an
    /// experiment fail.
    ///
    /// # Errors
    /// [`StoreError::Displaced`], [`StoreError::Full`] (nothing of the earlier events is lost, and it can be tried again),
    /// [`StoreError::NoExperiment`], [`StoreError::Unstorable`] when a required number is not finite,
    /// [`StoreError::Locked`], [`StoreError::Io`].
    pub fn append(&mut self, id: i64, event: &Event) -> Result<(), StoreError> {
        self.engine.append(id, event)
    }

    /// Makes an experiment that is to be resumed complete here: in a shared store, the local file may lack it, or have more of it.
    /// Called before its header and events are read for resuming.
    ///
    /// # Errors
    /// [`StoreError::NoExperiment`], [`StoreError::Differs`], [`StoreError::Forked`], [`StoreError::Unreachable`], and as
    /// [`Store::open`].
    pub fn take_over(&mut self, id: i64) -> Result<(), StoreError> {
        self.engine.take_over(id)
    }

    /// What a person should know of the delivery to a shared store; each once.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.engine.take_notices()
    }

    /// Keeps the first `keep` events of an experiment, supersedes the others for ever and replaces the header, all
    /// in one transaction; `seen` is the header and the number of events all this was decided by. The second of two with the same
    /// finds them changed.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when they are no longer as seen, [`StoreError::NoExperiment`], and as [`Store::append`];
    /// then nothing is changed.
    pub fn rewind(
        &mut self,
        id: i64,
        seen: Basis<'_>,
        keep: usize,
        header: &ExperimentHeader,
    ) -> Result<(), StoreError> {
        self.engine.rewind(id, seen, keep, header)
    }

    /// All experiments, oldest first. Of the attempts of a node of a fleet it is the one that counts.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] for a header that is none, [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn list(&self) -> Result<Vec<Summary>, StoreError> {
        Ok(attempts::counting(self.engine.list()?))
    }

    /// The experiments of a fleet, by its key, oldest first: every attempt of every node.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn experiments_of_fleet(&self, fleet: &str) -> Result<Vec<Member>, StoreError> {
        self.engine.of_fleet(fleet)
    }

    /// The header of one experiment.
    ///
    /// # Errors
    /// [`StoreError::NoExperiment`], [`StoreError::Unreadable`], [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn header(&self, id: i64) -> Result<ExperimentHeader, StoreError> {
        self.engine.header(id)
    }

    /// The events of one experiment, in order.
    ///
    /// # Errors
    /// [`StoreError::NoExperiment`], [`StoreError::Unreadable`], [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn events(&self, id: i64) -> Result<Vec<Event>, StoreError> {
        parse_events(id, &self.engine.lines(id)?)
    }

    /// The header and the stored JSON lines of one experiment, byte for byte.
    ///
    /// # Errors
    /// As [`Store::header`].
    pub fn journal(&self, id: i64) -> Result<(ExperimentHeader, Vec<String>), StoreError> {
        Ok((self.header(id)?, self.engine.lines(id)?))
    }

    /// The newest experiment.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn newest(&self) -> Result<Option<i64>, StoreError> {
        self.engine.newest()
    }

    /// The experiment that `last` or a number means.
    ///
    /// # Errors
    /// [`StoreError::Empty`], [`StoreError::NoExperiment`], [`StoreError::NotAnId`].
    pub fn resolve(&self, text: &str) -> Result<i64, StoreError> {
        let text = text.trim();
        if text == "last" {
            return self.newest()?.ok_or(StoreError::Empty);
        }
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits {
            return Err(StoreError::NotAnId(text.into()));
        }
        let id: i64 = text.parse().map_err(|_| StoreError::NoExperiment(text.into()))?;
        self.engine.require(id).map(|()| id)
    }

    /// Builds everything derived of one experiment again from its events. Answers what had differed; nothing
    /// unless somebody else wrote into the store or an older version derived otherwise.
    ///
    /// # Errors
    /// As [`Store::events`] and [`Store::append`]; then nothing is changed.
    pub fn rederive(&mut self, id: i64) -> Result<Vec<String>, StoreError> {
        self.engine.rederive(id)
    }

    /// Removes an experiment that measured nothing: its load failed before the first valid trial. Answers whether it did;
    /// what has a valid trial, or was resumed, stays for ever.
    ///
    /// # Errors
    /// [`StoreError::NoExperiment`], and as [`Store::append`]; then nothing is changed.
    pub fn withdraw(&mut self, id: i64) -> Result<bool, StoreError> {
        self.engine.withdraw(id)
    }

    /// The noise of `metric` for an experiment that `host` is about to run: of the latest calibration on the same machine
    /// under the same system, with the same peer and the same load, by a meter that covers the same. `None` when there
    /// is none. What is measured must not depend on it once an experiment has begun: resuming and repeating read what
    /// `started` says.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn noise(&self, host: &str, started: &Started, metric: &Metric) -> Result<Option<CalibratedNoise>, StoreError> {
        self.engine.noise(host, started, metric)
    }
}

#[cfg(all(test, not(feature = "postgresql")))]
mod tests {
    use powerband_record::ErrorClass;

    use super::*;

    #[test]
    fn without_postgresql_it_is_said_how_to_get_it() {
        let url = "postgresql://me:secret@host/results";
        let error = Store::open_shared(url, Path::new("journal"), Purpose::Write).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this powerband was built without PostgreSQL, so that postgresql://me@host/results cannot be used; \
             build it with `cargo install --path crates/powerband --features postgresql`"
        );
        assert_eq!(error.class(), ErrorClass::Unsupported);
    }
}
