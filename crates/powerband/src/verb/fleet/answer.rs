//! What the results of a fleet say: judged by the report, looked at while it runs and at its end.
use std::collections::BTreeSet;

use powerband_fleet::{Attempt, Fleet, Folder, Judge, Look, Reader, State};
use powerband_record::{Event, ExperimentHeader, Verdict};
use powerband_report::fleet::{self as judged, FleetAnswer, FleetError};

use super::status;
use crate::exit::{Exit, Failure};

/// Experiments as the report takes them.
type Experiments = Vec<(ExperimentHeader, Vec<Event>)>;

/// Judges results while a fleet runs.
pub(super) struct Verdicts {
    order: Vec<String>,
}

impl Verdicts {
    pub(super) fn new(fleet: &Fleet) -> Verdicts {
        Verdicts { order: fleet.nodes.iter().map(|node| node.name.clone()).collect() }
    }
}

impl Judge for Verdicts {
    fn look(&mut self, nodes: &[(bool, Option<&Attempt>)]) -> Result<Look, String> {
        let complete = |attempt: &Option<&Attempt>| attempt.is_some_and(Attempt::is_complete);
        let given_up = self.order.iter().zip(nodes).filter(|(_, (finished, attempt))| *finished && !complete(attempt));
        let known = judged::Fleet {
            order: self.order.clone(),
            given_up: given_up.map(|(name, _)| name.clone()).collect(),
            ..judged::Fleet::default()
        };
        let finished = nodes.iter().filter(|(finished, _)| *finished).filter_map(|(_, attempt)| *attempt);
        match judged::answer(&finished.filter_map(experiment).collect::<Experiments>(), &known) {
            Ok(answer) => Ok(Look { nodes: answer.looked_at, decided: is_decided(&answer) }),
            Err(FleetError::Empty) => Ok(Look { nodes: 0, decided: false }),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Every setting has a verdict in every metric that decides.
fn is_decided(answer: &FleetAnswer) -> bool {
    let mut settings = answer.metrics.iter().flat_map(|metric| &metric.settings).peekable();
    settings.peek().is_some() && settings.all(|setting| setting.fleet.verdict != Verdict::Undecided)
}

fn experiment(attempt: &Attempt) -> Option<(ExperimentHeader, Vec<Event>)> {
    Some((attempt.header.clone()?, attempt.events.clone()))
}

/// What a fleet found so far.
pub(super) fn answer(fleet: &Fleet, folder: &Folder) -> Result<FleetAnswer, Failure> {
    let nodes = status::nodes(fleet, folder)?;
    let over = folder.ended().is_some();
    // Where everything was decided before the last node, the fleet is the nodes that were needed.
    let is_unneeded = |state| matches!(state, State::NotNeeded | State::Cancelled);
    let unneeded = nodes.iter().rev().take_while(|node| over && is_unneeded(node.state)).count();
    let size = nodes.len() - unneeded;
    let given_up: BTreeSet<String> =
        nodes.iter().filter(|node| node.state == State::Lost).map(|node| node.node.clone()).collect();
    let left_out = |state| u32::try_from(nodes[size..].iter().filter(|node| node.state == state).count()).unwrap_or(0);
    let known = judged::Fleet {
        order: nodes.iter().take(size).map(|node| node.node.clone()).collect(),
        given_up,
        over,
        not_needed: left_out(State::NotNeeded),
        cancelled: left_out(State::Cancelled),
        resume: Some(format!("powerband fleet resume {}", fleet.short())),
    };
    let attempts = Reader::default().read(folder, fleet)?;
    let of_size = |(mut header, events): (ExperimentHeader, Vec<Event>)| {
        if let Some(task) = &mut header.fleet {
            task.nodes = u32::try_from(size).unwrap_or(u32::MAX);
        }
        (header, events)
    };
    let experiments: Experiments = attempts.values().flatten().filter_map(experiment).map(of_size).collect();
    judged::answer(&experiments, &known).map_err(|error| Failure::new(Exit::Failed, error))
}
