//! A member of a rig: what each kind of machine offers so that the World can wait for all of them at once, and what it reports.
use powerband_machine::{Machine, ProcessId};
use rustix::event::{PollFd, PollFlags};

/// What a machine must offer to be waited for together with others.
pub(crate) trait Member {
    /// As the machine it is.
    fn machine(&mut self) -> &mut dyn Machine;

    /// Adds what to poll.
    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>);

    /// Takes what is ready; `ready` answers what [`Member::watch`] added, in its order; `now_ns` is when poll returned.
    fn collect(&mut self, now_ns: u64, ready: &[PollFlags], news: &mut Vec<MemberEvent>);

    /// When it wants to be tended next: a sample of a watch is due, a peer has to be told that we are here.
    fn next_due_ns(&self) -> Option<u64>;

    /// Does what is due.
    fn tend(&mut self);

    /// Silence is announced, ns; 0 ends it.
    fn hush(&mut self, _for_ns: u64) {}

    /// Why it can no longer be reached.
    fn lost(&self) -> Option<String> {
        None
    }

    /// Kills and reaps what it runs.
    fn end_loads(&mut self) {}
}

/// What a machine reports.
#[derive(Debug)]
pub(crate) enum MemberEvent {
    /// Built-in work said something.
    Said(ProcessId, serde_json::Value),
    /// A process has ended.
    Ended(ProcessId),
    /// Somebody else has written.
    Wrote,
    /// It can no longer be reached, and why.
    Lost(String),
}
