//! Ranks: threads that are started together, compute equal shares and wait, asleep, for the last of them.
use powerband_record::{Among, ExitStatus, primes_below};
use serde_json::json;

use crate::board::Board;
use crate::noise::{WHOLE_PPB, scaled};
use crate::process::Body;
use crate::schedule::{Booking, Task};

/// What ranks cost on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanksSpec {
    /// Threads of one rank that compute.
    pub threads: u32,
    /// From the launcher's start to that of the threads, asleep, ns.
    pub start_ns: u64,
    /// What the kernel does for each thread before it computes, cycles.
    pub start_cycles: u64,
    /// Cycles of one division by which a number is tested, thousandths; divisions of numbers that turn out to be no primes
    /// are not counted, so theirs are in it.
    pub millicycles_per_division: u64,
    /// How long a thread stays on a CPU that is slower than another at work before it is moved to an idle one, ns.
    pub stay_ns: u64,
}

impl RanksSpec {
    /// All cycles of counting the primes below a limit: each is divided by every third number up to its root, and the
    /// mean root of those below a limit is two thirds of the limit's.
    fn cycles(&self, primes: u64, limit: u64) -> u128 {
        let divisions = u128::from(primes) * u128::from(limit.isqrt()) * 2 / 9;
        divisions * u128::from(self.millicycles_per_division) / 1_000
    }
}

/// A load of ranks.
#[derive(Debug)]
pub(crate) struct Ranks {
    ranks: u32,
    primes: u64,
    /// What each thread computes, cycles.
    share: u64,
    /// Its threads but the first, which is the process's task.
    pub(crate) others: Vec<u32>,
    /// Threads that are not done.
    left: u32,
}

impl Ranks {
    /// All `primes` below `limit`, counted by so many ranks, or the share of them among those of several machines.
    pub(crate) fn new(spec: &RanksSpec, ranks: u32, among: Option<Among>, limit: u64, primes: u64) -> Self {
        let ranks = ranks.max(1);
        let Among { first, all } = among.unwrap_or(Among { first: 0, all: ranks });
        let left = ranks * spec.threads;
        let threads = u128::from(all.max(ranks)) * u128::from(spec.threads);
        let share = spec.cycles(primes, limit).div_ceil(threads);
        // The counts of all machines add up to all primes.
        let before = |rank: u64| u128::from(primes) * u128::from(rank) / u128::from(all.max(1));
        let primes = before(u64::from(first) + u64::from(ranks)) - before(u64::from(first));
        let primes = u64::try_from(primes).unwrap_or(u64::MAX);
        let share = u64::try_from(share).unwrap_or(u64::MAX).max(1);
        Ranks { ranks, primes, share, others: Vec::new(), left }
    }
}

impl Board {
    /// How many primes there are below a limit: every trial of an experiment asks for the same.
    pub(crate) fn primes_below(&mut self, limit: u64) -> u64 {
        match self.primes {
            Some((known, primes)) if known == limit => primes,
            _ => self.primes.insert((limit, primes_below(limit))).1,
        }
    }

    /// How many CPUs are online.
    pub(crate) fn online(&self) -> u32 {
        u32::try_from(self.cpus.iter().filter(|cpu| cpu.online).count()).unwrap_or(u32::MAX)
    }

    pub(crate) fn start_ranks(&mut self, process: u32, mut task: Task) {
        let factor_ppb = self.process(process).factors.cpu_ppb;
        let Some(spec) = self.profile.ranks.clone() else { return };
        let Body::Ranks(ranks) = &mut self.process(process).body else { return };
        let whole = u128::from(ranks.share) * u128::from(factor_ppb) / u128::from(WHOLE_PPB);
        ranks.share = u64::try_from(whole).unwrap_or(u64::MAX).max(1);
        let others = ranks.left - 1;
        (task.booking, task.stay_ns) = (Booking::Kernel, Some(spec.stay_ns));
        task.give(scaled(spec.start_cycles, factor_ppb).max(1));
        let others: Vec<u32> = (0..others).map(|_| self.new_task(task.clone())).collect();
        let first = self.new_task(task);
        let this = self.process(process);
        this.task = Some(first);
        if let Body::Ranks(ranks) = &mut this.body {
            ranks.others = others;
        }
        let at_ns = self.now_ns.saturating_add(spec.start_ns);
        self.set_timer(process, at_ns);
    }

    /// The launcher is done with what comes before its ranks.
    pub(crate) fn ranks_timer(&mut self, process: u32) {
        let this = self.process(process);
        let (Body::Ranks(ranks), Some(first)) = (&this.body, this.task) else { return };
        for task in [&[first], ranks.others.as_slice()].concat() {
            self.wake(task);
        }
    }

    /// A thread is started, or has computed its share.
    pub(crate) fn rank_done(&mut self, process: u32, task: u32) {
        let starts = self.task(task).booking == Booking::Kernel;
        self.task(task).booking = Booking::User;
        let Body::Ranks(ranks) = &mut self.process(process).body else { return };
        if starts {
            let share = ranks.share;
            return self.go_on(task, share);
        }
        ranks.left -= 1;
        if ranks.left > 0 {
            return self.rest(task);
        }
        let (primes, ranks) = (ranks.primes, ranks.ranks);
        let this = self.process(process);
        let seconds = (this.user_ns + this.system_ns) as f64 / 1e9;
        let report = json!({ "primes": primes, "ranks": ranks, "cpu_seconds": seconds });
        self.exit(process, ExitStatus::Code(0), Some(report), String::new());
    }
}
