//! The World over the operating system: one poll(2) for everything that can happen.
use std::collections::VecDeque;

use powerband_machine::{Errno, Machine, ProcessId, Wake, World};
use powerband_record::Side;
use rustix::event::{PollFd, PollFlags};

use crate::local::LocalMachine;
use crate::signals::StopPipes;

/// What a machine must offer to be waited for together with others.
pub(crate) trait Member {
    /// As the machine it is.
    fn machine(&mut self) -> &mut dyn Machine;

    /// Adds what to poll.
    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>);

    /// Takes what is ready; `ready` answers what [`Member::watch`] added, in its order; `now_ns` is when poll returned.
    fn collect(&mut self, now_ns: u64, ready: &[PollFlags], news: &mut Vec<News>);

    /// When the next sample of a recorder is due.
    fn next_sample_ns(&self) -> Option<u64>;

    /// Takes the samples that are due.
    fn sample(&mut self);
}

/// What a machine reports.
#[derive(Debug)]
pub(crate) enum News {
    /// Built-in work said something.
    Said(ProcessId, serde_json::Value),
    /// A process has ended.
    Ended(ProcessId),
}

/// Real time and real machines; so far the near one.
///
/// While it lives SIGINT, SIGTERM and SIGHUP come as [`Wake::Stop`], each delivery once; once one has lived, these
/// signals no longer end the process by themselves.
pub struct HostWorld {
    members: Vec<(Side, Box<dyn Member>)>,
    stops: StopPipes,
    queue: VecDeque<Wake>,
    /// Whether something was told after the deadline, so that the deadline is next.
    told_overdue: bool,
}

impl HostWorld {
    /// A rig of one machine.
    ///
    /// # Errors
    /// The kernel's error number when no pipe for signals could be made.
    pub fn new(near: LocalMachine) -> Result<Self, Errno> {
        Ok(HostWorld {
            members: vec![(Side::Near, Box::new(near))],
            stops: StopPipes::new()?,
            queue: VecDeque::new(),
            told_overdue: false,
        })
    }

    /// Polls until `until_ns`, a sample that is due or something that happens, and queues what happened.
    fn gather(&mut self, until_ns: Option<u64>) {
        let samples = self.members.iter().filter_map(|(_, member)| member.next_sample_ns());
        let wake_ns = samples.chain(until_ns).min();
        let mut fds: Vec<PollFd<'_>> = self.stops.fds().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let mut ends = vec![fds.len()];
        for (_, member) in &self.members {
            member.watch(&mut fds);
            ends.push(fds.len());
        }
        let timeout = wake_ns.map(crate::time_until);
        let polled = rustix::event::poll(&mut fds, timeout.as_ref());
        let now_ns = crate::now_ns();
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        for (_, member) in &mut self.members {
            member.sample();
        }
        // Interrupted by a signal: its byte is in the pipe, and the next poll finds it.
        if polled.is_err() {
            return;
        }
        self.queue.extend(self.stops.take().into_iter().map(Wake::Stop));
        let mut news = Vec::new();
        for ((side, member), span) in self.members.iter_mut().zip(ends.windows(2)) {
            member.collect(now_ns, &ready[span[0]..span[1]], &mut news);
            self.queue.extend(news.drain(..).map(|news| match news {
                News::Said(process, said) => Wake::Said(*side, process, said),
                News::Ended(process) => Wake::Ended(*side, process),
            }));
        }
    }
}

impl World for HostWorld {
    fn now_ns(&self) -> u64 {
        crate::now_ns()
    }

    fn machine(&mut self, side: Side) -> Option<&mut dyn Machine> {
        self.members.iter_mut().find(|(at, _)| *at == side).map(|(_, member)| member.machine())
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
            self.gather(until_ns);
            looked = true;
        }
    }
}
