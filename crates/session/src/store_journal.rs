//! The journal of a session: every event into the store first, then to the one who shows progress.
use powerband_experiment::{Journal, JournalError};
use powerband_record::{Event, ExperimentHeader};
use powerband_store::Store;

use crate::SessionError;

/// Shows how an experiment gets on.
pub trait Progress {
    /// Hears the header that the experiment is stored with, before anything of it happens.
    fn header(&mut self, _header: &ExperimentHeader) {}
    /// Hears that the loop begins.
    fn begins(&mut self);
    /// Hears, after that, that it resumes an experiment: what is kept of it, and the block limits it was extended to.
    fn resumes(&mut self, kept: &[Event], limits: &[u32]);
    /// Hears an event that is in the store.
    fn event(&mut self, event: &Event);
    /// Hears a few words about what is going on meanwhile.
    fn tell(&mut self, words: &str);
    /// Hears that the loop has ended.
    fn ended(&mut self);
}

/// Writes into a store and passes on.
pub(crate) struct StoreJournal<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) id: i64,
    pub(crate) progress: &'a mut dyn Progress,
}

impl<'a> StoreJournal<'a> {
    /// Begins an experiment in the store and answers its number, and what `run` came to, which fills its journal.
    ///
    /// # Errors
    /// When the store cannot take it; then nothing is run.
    pub(crate) fn begin<T>(
        store: &'a mut Store,
        header: &ExperimentHeader,
        progress: &'a mut dyn Progress,
        run: impl FnOnce(&mut Self) -> T,
    ) -> Result<(i64, T), SessionError> {
        let id = store.begin(header)?;
        progress.header(header);
        progress.begins();
        let mut journal = StoreJournal { store, id, progress };
        let found = run(&mut journal);
        journal.progress.ended();
        Ok((id, found))
    }
}

impl Journal for StoreJournal<'_> {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        self.store.append(self.id, event).map_err(|error| JournalError { why: error.to_string() })?;
        self.progress.event(event);
        Ok(())
    }

    fn tell(&mut self, words: &str) {
        self.progress.tell(words);
    }
}
