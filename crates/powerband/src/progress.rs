//! The journal of the command: every event into the store, and a line of progress on the terminal.
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use powerband_experiment::{Journal, JournalError};
use powerband_record::Event;
use powerband_report::text::{State, progress};
use powerband_store::Store;

use crate::output;

/// Writes into a store, shows progress.
pub(crate) struct StoreJournal<'a> {
    store: &'a mut Store,
    id: i64,
    bar: ProgressBar,
    seen: State,
}

impl<'a> StoreJournal<'a> {
    /// For one experiment; silent when `quiet` or when nobody looks at standard error.
    pub(crate) fn new(store: &'a mut Store, id: i64, quiet: bool) -> Self {
        let bar = ProgressBar::new_spinner();
        if quiet || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        } else {
            // Drawn at each event and never meanwhile: what ticks on would wake a CPU while a load is measured.
            bar.tick();
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
            bar.set_style(style);
        }
        StoreJournal { store, id, bar, seen: State::default() }
    }

    /// The same for an experiment that goes on: `stands` is what is in the store already.
    pub(crate) fn after(mut self, stands: &[Event]) -> Self {
        stands.iter().for_each(|event| self.seen.see(event));
        self.bar.set_message("at the finished trials again");
        self
    }

    /// The same for one that was extended: the last of its block limits counts.
    pub(crate) fn to(mut self, limits: &[u32]) -> Self {
        limits.last().into_iter().for_each(|&limit| self.seen.extended_to(limit));
        self
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Journal for StoreJournal<'_> {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        self.store.append(self.id, event).map_err(|error| JournalError { why: error.to_string() })?;
        self.seen.see(event);
        if let Some(line) = progress(event, &self.seen) {
            output::progress(&self.bar, &line);
        }
        Ok(())
    }

    fn tell(&mut self, words: &str) {
        output::progress(&self.bar, words);
    }
}
