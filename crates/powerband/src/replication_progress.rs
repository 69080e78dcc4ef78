//! A line on the terminal while an article is done again: which of its plans are done, and what the last trial brought.
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use powerband_experiment::{Journal, JournalError};
use powerband_record::Event;
use powerband_report::text::{State, progress};

use crate::output;

/// The line of one article, taken away when dropped; nothing where nobody looks at standard error.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// For an article of so many plans.
    pub(super) fn new(article: &str, plans: usize) -> Self {
        let bar = ProgressBar::new(plans as u64).with_prefix(article.to_owned());
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {elapsed_precise} {prefix}: {pos} of {len} plans; {wide_msg}")
        {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// For the events of one of its plans.
    pub(super) fn of(&self, plan: &str) -> Watched {
        Watched { plan: plan.to_owned(), bar: self.0.clone(), seen: State::default(), events: Vec::new() }
    }

    /// A plan is through.
    pub(super) fn one_done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Keeps what a plan brings, and tells it.
pub(super) struct Watched {
    plan: String,
    bar: ProgressBar,
    seen: State,
    pub(super) events: Vec<Event>,
}

impl Journal for Watched {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        if !self.bar.is_hidden() {
            self.seen.see(event);
            if let Some(line) = progress(event, &self.seen) {
                output::progress(&self.bar, &format!("{}: {line}", self.plan));
            }
        }
        self.events.record(event)
    }
}
