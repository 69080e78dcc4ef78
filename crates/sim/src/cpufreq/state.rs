//! What a running governor remembers of a policy, and what sampling governors make of an event by that alone.
use super::config::Governor;
use super::tunable::After;

/// What a running governor remembers of a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// No governor, or one that only follows the limits.
    Fixed,
    Userspace {
        asked_khz: u32,
    },
    Dbs(Dbs),
    Schedutil(Schedutil),
    Interactive(Interactive),
    /// The hardware chooses.
    Hardware,
}

/// A sampling governor on one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dbs {
    pub(crate) governor: Governor,
    /// When the queued work or timer runs.
    pub(crate) due_ns: Option<u64>,
    pub(crate) last_sample_ns: u64,
    /// The CPU whose callback queued the work, and its idle sum then, ns.
    pub(crate) queued_on: (u32, u64),
    pub(crate) delay_ns: u64,
    pub(crate) rate_mult: u32,
    /// A deferrable timer is overdue and waits for the CPU to wake.
    pub(crate) deferred: bool,
    pub(crate) woken: bool,
    pub(crate) split: Split,
    pub(crate) steps: Steps,
}

impl Dbs {
    /// Limits have changed and the clock has followed.
    pub(crate) fn limits_changed(&mut self, cur_khz: u32) {
        self.steps.requested = cur_khz;
        self.delay_ns = 0;
    }

    /// A tunable was written.
    pub(crate) fn tunable_written(&mut self, after: After) {
        match after {
            After::SampleSoon => self.delay_ns = 0,
            After::PlainRate => self.rate_mult = 1,
            After::Nothing | After::Snapshot | After::Boost { .. } => {}
        }
    }

    /// The scheduler's callback (6.1) on a CPU with this sum of idle time: true if a sample is now queued.
    pub(crate) fn scheduler_event(&mut self, now_ns: u64, worker_delay_ns: u32, cpu: u32, idle_ns: u64) -> bool {
        if self.due_ns.is_some() || now_ns.saturating_sub(self.last_sample_ns) < self.delay_ns {
            return false;
        }
        self.last_sample_ns = now_ns;
        self.queued_on = (cpu, idle_ns);
        self.due_ns = Some(now_ns + u64::from(worker_delay_ns));
        true
    }

    /// A CPU with an overdue deferrable timer wakes (2.6.32): true if the timer now runs.
    pub(crate) fn wake(&mut self, now_ns: u64) -> bool {
        let runs = std::mem::take(&mut self.deferred);
        if runs {
            self.due_ns = Some(now_ns);
            self.woken = true;
        }
        runs
    }
}

/// A period split between two clocks to come out below the one asked for (`powersave_bias`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Split {
    /// The lower clock, kHz; 0 when the period is not split.
    pub(crate) low_khz: u32,
    /// Length of the part at the lower clock, µs (ticks under 2.6.32).
    pub(crate) low: u32,
    /// Length of the part before it, at the higher clock.
    pub(crate) high: u32,
    /// The next work is the step down to the lower clock.
    pub(crate) sub_sample: bool,
}

/// Where conservative would like to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// The clock asked for, which small steps move between the table's entries, kHz.
    pub(crate) requested: u32,
    /// Samples since the last look downwards.
    pub(crate) down_skip: u32,
}

impl Steps {
    pub(crate) fn new(requested: u32) -> Self {
        Steps { requested, down_skip: 0 }
    }
}

/// schedutil on one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedutil {
    /// When the worker that changes the clock runs.
    pub(crate) worker_due_ns: Option<u64>,
    pub(crate) limits_changed: bool,
    pub(crate) forced: bool,
    pub(crate) last_change_ns: u64,
    pub(crate) next_khz: u32,
    pub(crate) raw_khz: u32,
}

/// interactive on one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interactive {
    pub(crate) due_ns: Option<u64>,
    pub(crate) pulse_until_ns: u64,
}
