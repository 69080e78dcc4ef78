//! A line of progress on the terminal while an experiment runs.
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use powerband_record::Event;
use powerband_report::text::{ProgressState, progress};
use powerband_session::Progress;

use crate::output;

/// The line; nothing before the loop begins.
pub(crate) struct Bar {
    quiet: bool,
    bar: ProgressBar,
    seen: ProgressState,
}

impl Bar {
    /// Silent when `quiet` or when nobody looks at standard error.
    pub(crate) fn new(quiet: bool) -> Self {
        Bar { quiet, bar: ProgressBar::hidden(), seen: ProgressState::default() }
    }
}

impl Progress for Bar {
    fn begins(&mut self) {
        self.bar = ProgressBar::new_spinner();
        if self.quiet || !crate::streams::terminals().err() {
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
        } else {
            // Drawn at each event and never meanwhile: what ticks on would wake a CPU while a load is measured.
            self.bar.tick();
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
            self.bar.set_style(style);
        }
    }

    fn resumes(&mut self, kept: &[Event], limits: &[u32]) {
        kept.iter().for_each(|event| self.seen.see(event));
        self.bar.set_message("at the finished trials again");
        // The last of its block limits counts.
        limits.last().into_iter().for_each(|&limit| self.seen.extended_to(limit));
    }

    fn event(&mut self, event: &Event) {
        self.seen.see(event);
        if let Some(line) = progress(event, &self.seen) {
            output::progress(&self.bar, &line);
        }
    }

    fn tell(&mut self, words: &str) {
        output::progress(&self.bar, words);
    }

    fn ended(&mut self) {
        self.bar.finish_and_clear();
    }
}
