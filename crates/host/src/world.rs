//! The World over the operating system: one poll(2) for everything that can happen.
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use powerband_machine::{Errno, Machine, Wake, World};
use powerband_record::{NodeName, Side};
use rustix::event::{PollFd, PollFlags};

use crate::access::AccessMachine;
use crate::local::LocalMachine;
use crate::member::{Member, MemberEvent};
use crate::recorded::RecordedMachine;
use crate::remote::RemoteMachine;
use crate::shell::ShellMachine;
use crate::signals::{StopPipes, UserPipes};

/// A machine of a rig: this one, one at a peer, or a recorded one.
pub struct HostMachine(Box<dyn Member>);

impl From<LocalMachine> for HostMachine {
    fn from(machine: LocalMachine) -> Self {
        HostMachine(Box::new(machine))
    }
}

impl From<AccessMachine> for HostMachine {
    fn from(machine: AccessMachine) -> Self {
        HostMachine(Box::new(machine))
    }
}

impl From<RemoteMachine> for HostMachine {
    fn from(machine: RemoteMachine) -> Self {
        HostMachine(Box::new(machine))
    }
}

impl From<ShellMachine> for HostMachine {
    fn from(machine: ShellMachine) -> Self {
        HostMachine(Box::new(machine))
    }
}

impl From<RecordedMachine> for HostMachine {
    fn from(machine: RecordedMachine) -> Self {
        HostMachine(Box::new(machine))
    }
}

/// What a wait that also listens to somebody came to.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The descriptor has something, or its end.
    Input,
    /// Anything else.
    Wake(Wake),
}

/// Real time and real machines.
///
/// While it lives SIGINT, SIGTERM and SIGHUP come as [`Wake::Stop`], each delivery once; once one has lived, these
/// signals no longer end the process by themselves.
pub struct HostWorld {
    members: Vec<(Side, Box<dyn Member>)>,
    stops: StopPipes,
    users: UserPipes,
    queue: VecDeque<Wake>,
    /// Whether something was told after the deadline, so that the deadline is next.
    told_overdue: bool,
}

impl HostWorld {
    /// A rig of one machine.
    ///
    /// # Errors
    /// The kernel's error number when no pipe for signals could be made.
    pub fn new(near: impl Into<HostMachine>) -> Result<Self, Errno> {
        Ok(HostWorld {
            members: vec![(Side::Near, near.into().0)],
            stops: StopPipes::new()?,
            users: UserPipes::none(),
            queue: VecDeque::new(),
            told_overdue: false,
        })
    }

    /// With a peer.
    #[must_use]
    pub fn with_far(mut self, far: impl Into<HostMachine>) -> Self {
        self.members.push((Side::Far, far.into().0));
        self
    }

    /// A rig of a list of machines, the first of which is the near one.
    ///
    /// # Errors
    /// As [`HostWorld::new`].
    pub fn of_nodes(first: (NodeName, HostMachine), others: Vec<(NodeName, HostMachine)>) -> Result<Self, Errno> {
        let world = HostWorld::new(first.1)?;
        let members = world.members.into_iter().map(|(_, member)| (Side::Node(first.0), member));
        let others = others.into_iter().map(|(name, machine)| (Side::Node(name), machine.0));
        Ok(HostWorld { members: members.chain(others).collect(), ..world })
    }

    /// Kills and reaps whatever runs on its machines.
    pub fn end_loads(&mut self) {
        self.members.iter_mut().for_each(|(_, member)| member.end_loads());
    }

    /// Waits as [`World::wait`] does, and for `input`. What a machine tells goes before it.
    pub(crate) fn wait_or_input(&mut self, input: BorrowedFd<'_>, until_ns: u64) -> Heard {
        loop {
            if let Some(wake) = self.queue.pop_front() {
                return Heard::Wake(wake);
            }
            if crate::now_ns() >= until_ns {
                return Heard::Wake(Wake::Deadline);
            }
            if self.gather(Some(until_ns), Some(input)) && self.queue.is_empty() {
                return Heard::Input;
            }
        }
    }

    /// Polls until `until_ns`, something that is due or something that happens, and queues what happened. Answers
    /// whether `input` has something.
    fn gather(&mut self, until_ns: Option<u64>, input: Option<BorrowedFd<'_>>) -> bool {
        let due = self.members.iter().filter_map(|(_, member)| member.next_due_ns());
        let wake_ns = due.chain(until_ns).min();
        let signals = self.stops.fds().chain(self.users.fds());
        let mut fds: Vec<PollFd<'_>> = signals.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let mut ends = vec![fds.len()];
        for (_, member) in &self.members {
            member.watch(&mut fds);
            ends.push(fds.len());
        }
        fds.extend(input.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let timeout = wake_ns.map(crate::time_until);
        let polled = rustix::event::poll(&mut fds, timeout.as_ref());
        let now_ns = crate::now_ns();
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        // Interrupted by a signal: its byte is in the pipe, and the next poll finds it.
        if polled.is_err() {
            self.tend();
            return false;
        }
        if ready[..ends[0]].iter().any(|flags| !flags.is_empty()) {
            self.queue.extend(self.stops.take().into_iter().map(Wake::Stop));
            self.queue.extend(self.users.take().into_iter().map(Wake::User));
        }
        let mut news = Vec::new();
        for ((side, member), span) in self.members.iter_mut().zip(ends.windows(2)) {
            member.collect(now_ns, &ready[span[0]..span[1]], &mut news);
            self.queue.extend(news.drain(..).map(|news| match news {
                MemberEvent::Said(process, said) => Wake::Said(*side, process, said),
                MemberEvent::Ended(process) => Wake::Ended(*side, process),
                MemberEvent::Wrote => Wake::Wrote(*side),
                MemberEvent::Lost(why) => Wake::Lost(*side, why),
            }));
        }
        // Only now: tending may open and close what was polled.
        self.tend();
        input.is_some() && ready.last().is_some_and(|flags| !flags.is_empty())
    }

    fn tend(&mut self) {
        self.members.iter_mut().for_each(|(_, member)| member.tend());
    }
}

impl World for HostWorld {
    fn now_ns(&self) -> u64 {
        crate::now_ns()
    }

    fn suspended_ns(&self) -> u64 {
        crate::suspended_ns()
    }

    fn machine(&mut self, side: Side) -> Option<&mut dyn Machine> {
        let place = self.members.iter().position(|(at, _)| *at == side).or((side == Side::Near).then_some(0))?;
        self.members.get_mut(place).map(|(_, member)| member.machine())
    }

    fn sides(&mut self) -> Vec<Side> {
        self.members.iter().map(|(side, _)| *side).collect()
    }

    fn wait(&mut self, until_ns: Option<u64>) -> Wake {
        let mut looked = false;
        loop {
            let overdue = until_ns.is_some_and(|until| crate::now_ns() >= until);
            // At most one piece of news goes before a deadline that has come, so that a talkative load cannot hide it.
            if overdue && self.told_overdue {
                self.told_overdue = false;
                return Wake::Deadline;
            }
            if let Some(wake) = self.queue.pop_front() {
                self.told_overdue = overdue;
                return wake;
            }
            // A deadline in the past still looks once at what is ready.
            if overdue && looked {
                return Wake::Deadline;
            }
            self.gather(until_ns, None);
            looked = true;
        }
    }

    fn hush(&mut self, for_ns: u64) {
        self.members.iter_mut().for_each(|(_, member)| member.hush(for_ns));
    }

    fn hear_user_signals(&mut self) -> Result<(), Errno> {
        self.users = UserPipes::new()?;
        Ok(())
    }

    fn lost(&self) -> Option<(Side, String)> {
        self.members.iter().find_map(|(side, member)| member.lost().map(|why| (*side, why)))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::os::fd::OwnedFd;
    use std::rc::Rc;

    use super::*;

    /// A member with a readable pipe that tending takes away, as a meter that is closed is.
    struct Changing {
        pipes: Vec<(OwnedFd, OwnedFd)>,
        /// What it was given each time something was collected: how many answers, for how many descriptors.
        collected: Rc<RefCell<Vec<(usize, usize)>>>,
    }

    impl Member for Changing {
        fn machine(&mut self) -> &mut dyn Machine {
            unreachable!("nobody asks for it")
        }

        fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
            fds.extend(self.pipes.iter().map(|(read, _)| PollFd::new(read, PollFlags::IN)));
        }

        fn collect(&mut self, _now_ns: u64, ready: &[PollFlags], _news: &mut Vec<MemberEvent>) {
            self.collected.borrow_mut().push((ready.len(), self.pipes.len()));
        }

        fn next_due_ns(&self) -> Option<u64> {
            Some(0)
        }

        fn tend(&mut self) {
            self.pipes.pop();
        }
    }

    #[test]
    fn what_is_collected_belongs_to_what_was_polled() {
        let collected = Rc::default();
        let pipes = (0..3).map(|_| rustix::pipe::pipe().unwrap()).collect();
        let member: Box<dyn Member> = Box::new(Changing { pipes, collected: Rc::clone(&collected) });
        let (stops, users) = (StopPipes::new().unwrap(), UserPipes::none());
        let (members, queue) = (vec![(Side::Near, member)], VecDeque::new());
        let mut world = HostWorld { members, stops, users, queue, told_overdue: false };
        for _ in 0..3 {
            world.gather(Some(0), None);
        }
        assert_eq!(*collected.borrow(), [(3, 3), (2, 2), (1, 1)]);
    }
}
