//! A line on the terminal while an article is done again: which of its plans are done, and what the last trial brought.
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use powerband_record::Event;
use powerband_report::text::{ProgressState, progress};
use powerband_session::replicate::ArticleProgress;

use crate::output;

/// The line of one article, taken away when dropped; nothing where nobody looks at standard error.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// For an article of so many plans.
    pub(crate) fn new(article: &str, plans: usize) -> Self {
        let bar = ProgressBar::new(plans as u64).with_prefix(article.to_owned());
        if !crate::streams::terminals().err() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {elapsed_precise} {prefix}: {pos} of {len} plans; {wide_msg}")
        {
            bar.set_style(style);
        }
        Progress(bar)
    }
}

impl ArticleProgress for Progress {
    fn of(&self, plan: &str) -> Box<dyn FnMut(&Event)> {
        let (plan, bar, mut seen) = (plan.to_owned(), self.0.clone(), ProgressState::default());
        Box::new(move |event| {
            if bar.is_hidden() {
                return;
            }
            seen.see(event);
            if let Some(line) = progress(event, &seen) {
                output::progress(&bar, &format!("{plan}: {line}"));
            }
        })
    }

    fn plan_done(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
