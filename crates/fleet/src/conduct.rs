//! Conducting a fleet: tasks are started in the drawn order, results are looked at in that order alone, and what is not needed
//! any more is cancelled.
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::{
    Attempt, Attempts, Ended, Fleet, FleetError, Folder, Launcher, NodeStanding, Reader, Seen, State, Stops, best,
    patience::Patience, standings,
};

/// How long tasks may take to restore once they were asked to end, before they count as not confirmed.
const RESTORING: Duration = Duration::from_secs(90);

/// How long a task that has handed back its last event may take to end.
const GOING: Duration = Duration::from_secs(10);

/// Why a fleet ended that was cancelled.
pub(crate) const CANCELLED: &str = "cancelled";

/// How long a look at the launcher may fail before that ends the fleet.
const UNANSWERED: Duration = Duration::from_secs(600);

/// A look at the results of the first nodes of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// How many nodes of the order.
    pub nodes: u32,
    /// Whether every verdict is given, so that no further node is needed.
    pub decided: bool,
}

/// Decides from results.
pub trait Judge {
    /// The latest look that the nodes of the drawn order allow; each with whether it is finished or given up, and the attempt
    /// that counts, if any. The answer depends on these alone.
    ///
    /// # Errors
    /// A sentence, where the results cannot be compared.
    fn look(&mut self, nodes: &[(bool, Option<&Attempt>)]) -> Result<Look, String>;
}

/// Hears how it goes.
pub trait Listener {
    /// How the nodes are getting on.
    fn standing(&mut self, nodes: &[NodeStanding]);
    /// What a look came to.
    fn look(&mut self, look: &Look);
    /// Something to be known.
    fn note(&mut self, words: &str);
}

/// What a fleet is conducted with.
pub struct Conduct<'a> {
    /// The fleet.
    pub fleet: &'a Fleet,
    /// Its folder.
    pub folder: &'a Folder,
    /// What starts its tasks.
    pub launcher: &'a mut dyn Launcher,
    /// What decides.
    pub judge: &'a mut dyn Judge,
    /// Who hears of it.
    pub listener: &'a mut dyn Listener,
    /// Whether to stop.
    pub stops: Stops,
    /// How long nothing may be heard of a task that is said to run, or whose node is said to be away, before the node is given up;
    /// and how long one may run on after everything is decided.
    pub give_up: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Everything was decided by the first nodes of the order.
    Decided(u32),
    /// Every node is done or lost.
    Nodes,
    /// It was cancelled; the nodes of which nobody knows whether they restored everything.
    Cancelled(Vec<String>),
}

/// Starts what is to be started and waits until nothing more comes.
///
/// # Errors
/// [`FleetError`]: no task can be started, or the launcher or the folder is gone. Tasks that run then run on.
pub fn conduct(with: Conduct<'_>) -> Result<End, FleetError> {
    Conducting::new(with, 0).run()
}

struct Conducting<'a> {
    with: Conduct<'a>,
    reader: Reader,
    /// Positions whose task was started by us or still lived when we came.
    started: BTreeSet<u32>,
    /// Nodes at the beginning of the order that were finished when results were last looked at.
    finished: usize,
    /// Nodes of the order at the last look.
    looked: u32,
    /// Nodes that were reported as lost.
    lost: BTreeSet<u32>,
    /// Whose node is to be given up.
    patience: Patience,
}

impl<'a> Conducting<'a> {
    fn new(with: Conduct<'a>, looked: u32) -> Conducting<'a> {
        let patience = Patience::new(with.give_up);
        let (reader, started, lost) = (Reader::default(), BTreeSet::new(), BTreeSet::new());
        Conducting { with, reader, started, finished: 0, looked, lost, patience }
    }

    fn run(mut self) -> Result<End, FleetError> {
        let mut answered = Instant::now();
        let mut first = true;
        loop {
            if self.with.stops.asked() || self.with.folder.is_to_cancel() {
                return self.cancel();
            }
            let seen = match self.with.launcher.look(self.with.fleet) {
                Ok(seen) => seen,
                // A controller that restarts is back soon.
                Err(FleetError::Refused { why, .. }) if answered.elapsed() < UNANSWERED && !first => {
                    self.with.listener.note(&why);
                    self.pause();
                    continue;
                }
                Err(error) => return Err(error),
            };
            answered = Instant::now();
            if first {
                self.take_on(&seen)?;
                first = false;
            }
            let attempts = self.reader.read(self.with.folder, self.with.fleet)?;
            self.give_up(&seen, &attempts)?;
            let nodes = standings(self.with.fleet, self.with.folder, &attempts, &seen);
            let nodes = self.as_started(nodes);
            self.with.listener.standing(&nodes);
            self.note_lost(&nodes);
            self.end_doubles(&nodes, &seen)?;
            if let Some(at) = self.look(&nodes, &attempts) {
                return self.leave_rest(at);
            }
            if nodes.iter().all(NodeStanding::is_final) {
                self.with.folder.end(&Ended { reason: "nodes".into(), nodes: self.with.fleet.size() })?;
                self.end_jobs()?;
                return Ok(End::Nodes);
            }
            if !self.start_next(&nodes)? {
                self.pause();
            }
        }
    }

    /// Waits for the tasks that still live when we come, also where their nodes were given up.
    fn take_on(&mut self, seen: &BTreeMap<u32, Seen>) -> Result<(), FleetError> {
        self.started.extend(seen.iter().filter(|(_, seen)| seen.is_live()).map(|(at, _)| *at));
        let starts = self.with.folder.starts();
        let given_up = self.started.iter().filter(|at| starts.get(at).is_some_and(|start| start.given_up));
        given_up.into_iter().try_for_each(|at| self.with.folder.note_start(*at, None))
    }

    /// A node that was lost before we came is not started yet.
    fn as_started(&self, mut nodes: Vec<NodeStanding>) -> Vec<NodeStanding> {
        for node in &mut nodes {
            if !self.started.contains(&node.position)
                && matches!(node.state, State::Lost | State::NotNeeded | State::Cancelled)
            {
                node.state = State::NotStarted;
            }
        }
        nodes
    }

    /// Starts tasks in the drawn order while fewer than allowed are under way; whether it started one.
    fn start_next(&mut self, nodes: &[NodeStanding]) -> Result<bool, FleetError> {
        let under_way = |node: &&NodeStanding| matches!(node.state, State::Pending | State::Running | State::Requeued);
        let busy = nodes.iter().filter(under_way).count();
        let free = usize::try_from(self.with.fleet.at_once).unwrap_or(usize::MAX).saturating_sub(busy);
        let next: Vec<&NodeStanding> = nodes.iter().filter(|node| node.state == State::NotStarted).take(free).collect();
        for node in &next {
            let refused = self.with.launcher.start(self.with.fleet, self.with.folder, node.position)?;
            if let Some(why) = &refused {
                self.with.listener.note(&format!("{}: {why}", node.node));
            }
            self.with.folder.note_start(node.position, refused)?;
            self.started.insert(node.position);
        }
        Ok(!next.is_empty())
    }

    /// Looks at the first nodes of the order once more of them are done or given up; how many it took to decide everything.
    fn look(&mut self, nodes: &[NodeStanding], attempts: &Attempts) -> Option<u32> {
        let finished = |node: &NodeStanding| matches!(node.state, State::Done | State::Lost);
        let first = nodes.iter().take_while(|node| finished(node)).count();
        if first <= self.finished {
            return None;
        }
        self.finished = first;
        let counts = |node: &NodeStanding| attempts.get(&node.position).and_then(|all| best(all));
        let results: Vec<_> = nodes.iter().map(|node| (finished(node), counts(node))).collect();
        match self.with.judge.look(&results) {
            Ok(look) if look.nodes > self.looked => {
                self.looked = look.nodes;
                self.with.listener.look(&look);
                (look.decided && look.nodes < self.with.fleet.size()).then_some(look.nodes)
            }
            Ok(_) => None,
            Err(why) => {
                self.with.listener.note(&why);
                None
            }
        }
    }

    /// Everything is decided: what waits is cancelled. What runs may end, but not for ever: the verdict does not need it, and a
    /// launcher may not have noticed that it is dead.
    fn leave_rest(mut self, at: u32) -> Result<End, FleetError> {
        self.with.folder.end(&Ended { reason: "decided".into(), nodes: at })?;
        let until = Instant::now() + self.with.give_up;
        loop {
            if self.with.stops.asked() || self.with.folder.is_to_cancel() {
                return self.cancel().map(|end| match end {
                    End::Cancelled(unsure) if unsure.is_empty() => End::Decided(at),
                    end => end,
                });
            }
            let seen = self.with.launcher.look(self.with.fleet)?;
            let waiting = |(at, seen): (&u32, &Seen)| matches!(seen, Seen::Waiting { .. }).then_some(*at);
            let waiting: Vec<u32> = seen.iter().filter_map(waiting).collect();
            if !waiting.is_empty() {
                self.with.launcher.cancel(self.with.fleet, &waiting)?;
            }
            let attempts = self.reader.read(self.with.folder, self.with.fleet)?;
            let nodes = standings(self.with.fleet, self.with.folder, &attempts, &seen);
            self.with.listener.standing(&nodes);
            let running: Vec<&NodeStanding> = nodes.iter().filter(|node| node.state == State::Running).collect();
            if running.is_empty() {
                self.end_jobs()?;
                return Ok(End::Decided(at));
            }
            if Instant::now() >= until {
                for node in &running {
                    self.with.listener.note(&format!("{} still runs and is not needed; it is cancelled", node.node));
                }
                let positions: Vec<u32> = running.iter().map(|node| node.position).collect();
                self.with.launcher.cancel(self.with.fleet, &positions)?;
                return Ok(End::Decided(at));
            }
            self.pause();
        }
    }

    /// Says which nodes are lost and why, once, and keeps that: a launcher forgets it.
    fn note_lost(&mut self, nodes: &[NodeStanding]) {
        for node in nodes.iter().filter(|node| node.state == State::Lost) {
            if !self.lost.insert(node.position) {
                continue;
            }
            let why = node.why.clone().unwrap_or_default();
            self.with.listener.note(&format!("{} is lost: {why}", node.node));
            // What cannot be kept, as on a full disk, was said.
            drop(self.with.folder.note_start(node.position, Some(why)));
        }
    }

    /// A node whose blocks are all there needs no second run of its task.
    fn end_doubles(&mut self, nodes: &[NodeStanding], seen: &BTreeMap<u32, Seen>) -> Result<(), FleetError> {
        let waits = |node: &&NodeStanding| matches!(seen.get(&node.position), Some(Seen::Waiting { .. }));
        let done: Vec<u32> =
            nodes.iter().filter(|node| node.state == State::Done).filter(waits).map(|node| node.position).collect();
        if done.is_empty() { Ok(()) } else { self.with.launcher.cancel(self.with.fleet, &done) }
    }

    /// Gives up nodes of which nothing more can be expected, and asks their tasks to end.
    fn give_up(&mut self, seen: &BTreeMap<u32, Seen>, attempts: &Attempts) -> Result<(), FleetError> {
        let gone = self.patience.exhausted(seen, attempts);
        for (at, why) in &gone {
            let name = self.with.fleet.node(*at).map(|node| node.name.as_str()).unwrap_or_default();
            self.with.listener.note(&format!("{name} is lost: {why}"));
            self.with.folder.note_given_up(*at, why.clone())?;
            self.lost.insert(*at);
        }
        let positions: Vec<u32> = gone.iter().map(|(at, _)| *at).collect();
        if gone.is_empty() { Ok(()) } else { self.with.launcher.cancel(self.with.fleet, &positions) }
    }

    /// Every result is there: what the launcher still has is on its way out, or is the job of a dead node, to run again later.
    fn end_jobs(&mut self) -> Result<(), FleetError> {
        let until = Instant::now() + GOING;
        loop {
            let seen = self.with.launcher.look(self.with.fleet)?;
            let live = seen.iter().filter(|(at, seen)| seen.is_live() && !self.patience.has_ended(**at));
            let live: Vec<u32> = live.map(|(at, _)| *at).collect();
            if live.is_empty() || self.with.stops.asked() {
                return Ok(());
            }
            if Instant::now() >= until {
                return self.with.launcher.cancel(self.with.fleet, &live);
            }
            self.pause();
        }
    }

    /// Asks every task to end, and waits until they have.
    fn cancel(&mut self) -> Result<End, FleetError> {
        let fleet = self.with.fleet;
        let until = Instant::now() + RESTORING;
        let mut asked = BTreeSet::new();
        self.with.listener.note("tasks restore what they set, then it ends; Ctrl-C again ends it at once");
        loop {
            let seen = self.with.launcher.look(fleet)?;
            let live: Vec<u32> = seen.iter().filter(|(_, seen)| seen.is_live()).map(|(at, _)| *at).collect();
            let new: Vec<u32> = live.iter().copied().filter(|at| asked.insert(*at)).collect();
            if !new.is_empty() {
                self.with.launcher.cancel(fleet, &new)?;
            }
            let attempts = self.reader.read(self.with.folder, fleet)?;
            let nodes = standings(fleet, self.with.folder, &attempts, &seen);
            self.with.listener.standing(&nodes);
            let is_ended = self.with.stops.asked_again();
            if is_ended {
                self.with.launcher.end();
            }
            if live.is_empty() || is_ended || Instant::now() >= until {
                self.with.folder.end(&Ended { reason: CANCELLED.into(), nodes: self.looked })?;
                return Ok(End::Cancelled(unconfirmed(&nodes)));
            }
            std::thread::sleep(Duration::from_millis(self.with.launcher.period_ms().min(500)));
        }
    }

    fn pause(&self) {
        let until = Instant::now() + Duration::from_millis(self.with.launcher.period_ms());
        while Instant::now() < until && !self.with.stops.asked() {
            std::thread::sleep(Duration::from_millis(50).min(until.saturating_duration_since(Instant::now())));
        }
    }
}

/// The nodes whose task began and of which nobody knows whether it restored everything.
fn unconfirmed(nodes: &[NodeStanding]) -> Vec<String> {
    nodes.iter().filter(|node| node.restored == Some(false)).map(|node| node.node.clone()).collect()
}

/// Cancels a fleet that nobody conducts: asks its tasks to end, and waits until they have. Answers the nodes of which nobody
/// knows whether they restored everything.
///
/// # Errors
/// As [`conduct`].
pub fn cancel(
    fleet: &Fleet,
    folder: &Folder,
    launcher: &mut dyn Launcher,
    listener: &mut dyn Listener,
    stops: Stops,
) -> Result<Vec<String>, FleetError> {
    struct Nobody;
    impl Judge for Nobody {
        fn look(&mut self, _: &[(bool, Option<&Attempt>)]) -> Result<Look, String> {
            Ok(Look { nodes: 0, decided: false })
        }
    }
    let with = Conduct { fleet, folder, launcher, judge: &mut Nobody, listener, stops, give_up: RESTORING };
    let looked = folder.ended().map_or(0, |ended| ended.nodes);
    let mut all = Conducting::new(with, looked);
    match all.cancel()? {
        End::Cancelled(unsure) => Ok(unsure),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests;
