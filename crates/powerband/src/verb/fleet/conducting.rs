//! Waiting for a fleet: a line of progress, the looks, and what it came to.
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use powerband_fleet::{Conduct, End, Fleet, Folder, Listener, Look, NodeStanding, State, Stops, conduct as wait_for};
use powerband_record::parse_duration_ns;

use super::answer::Verdicts;
use super::{keep, launcher, report, status};
use crate::cli::{Shared, Waiting};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output;

/// How long a node may be away.
pub(super) fn give_up(waiting: &Waiting) -> Result<Duration, Failure> {
    let ns = parse_duration_ns(&waiting.give_up).map_err(|error| usage(format!("--give-up: {error}")))?;
    Ok(Duration::from_nanos(ns))
}

/// Conducts a fleet to its end and reports it.
pub(super) fn conduct(shared: &Shared, fleet: &Fleet, folder: &Folder, give_up: Duration, quiet: bool) -> Answer {
    let stops = Stops::listen().map_err(|error| Failure::new(Exit::CannotGoOn, error))?;
    folder.take()?;
    if !quiet {
        output::note(format!("fleet {} in {}", fleet.short(), folder.path().display()));
    }
    let mut launcher = launcher(fleet);
    let mut line = Line::new(quiet || shared.json);
    let mut judge = Verdicts::new(fleet);
    let with =
        Conduct { fleet, folder, launcher: &mut *launcher, judge: &mut judge, listener: &mut line, stops, give_up };
    let end = wait_for(with);
    line.bar.finish_and_clear();
    folder.release();
    let end = end?;
    keep::keep(shared, fleet, folder)?;
    check_begun(fleet, folder)?;
    match end {
        End::Cancelled(unsure) => Err(cancelled(fleet, &unsure)),
        End::Decided(_) | End::Nodes => report::print(shared, fleet, folder),
    }
}

/// That a task of any node began, where none was cancelled: what became of each node was said.
fn check_begun(fleet: &Fleet, folder: &Folder) -> Result<(), Failure> {
    let nodes = status::nodes(fleet, folder)?;
    // An attempt that began has a header, and with it a word on what was restored.
    if !nodes.iter().all(|node| node.state == State::Lost && node.restored.is_none()) {
        return Ok(());
    }
    let short = fleet.short();
    let sentence = format!(
        "no node of fleet {short} has begun; once that is mended, `powerband fleet resume {short}` starts them again, with \
         the plan as it was: a plan that has to change takes a new `powerband fleet run`"
    );
    Err(Failure::new(Exit::CannotGoOn, sentence))
}

/// What is said of a fleet that was cancelled.
pub(super) fn cancelled(fleet: &Fleet, unsure: &[String]) -> Failure {
    let short = fleet.short();
    if unsure.is_empty() {
        let sentence =
            format!("fleet {short} is cancelled, everything is restored; `powerband fleet resume {short}` goes on");
        return Failure::new(Exit::Stopped, sentence);
    }
    let sentence = format!(
        "fleet {short} is cancelled, but whether everything is restored could not be confirmed on {}; run `powerband undo --all` there",
        unsure.join(", ")
    );
    Failure::new(Exit::CannotRestore, sentence)
}

/// The line of progress.
struct Line {
    bar: ProgressBar,
    looked: String,
}

impl Line {
    fn new(quiet: bool) -> Line {
        let bar = ProgressBar::new_spinner();
        if quiet || !crate::streams::terminals().err() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
            bar.set_style(style);
        }
        Line { bar, looked: String::new() }
    }
}

impl Listener for Line {
    fn standing(&mut self, nodes: &[NodeStanding]) {
        output::progress(&self.bar, &format!("{}{}", status::summary(nodes), self.looked));
        self.bar.tick();
    }

    fn look(&mut self, look: &Look) {
        let what = if look.decided { "all decided" } else { "not all decided yet" };
        self.looked = format!("; after {} nodes: {what}", look.nodes);
    }

    fn note(&mut self, words: &str) {
        self.bar.suspend(|| output::note(words.to_owned()));
    }
}
