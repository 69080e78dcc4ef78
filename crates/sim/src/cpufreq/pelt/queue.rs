//! A CPU's run queue as schedutil sees it: its clock, its signal, the estimates of its runnable tasks.
use super::Signal;

/// Full speed and full capacity in fixed point.
const ONE_SHIFT: u32 = 10;

/// The signals of one CPU.
#[derive(Clone, Debug)]
pub struct Queue {
    wall_ns: u64,
    clock_ns: u64,
    lost_ns: u64,
    signal: Signal,
    running: bool,
    /// Current task, if the engine named one.
    pub(crate) task: Option<u32>,
    capacity: u64,
    speed: u64,
    /// Sum of the estimates of runnable tasks.
    pub(crate) estimate: u32,
    /// How often this CPU entered idle, when it last did, and when it last left it, ns.
    pub(crate) idle_entries: u64,
    pub(crate) idle_since_ns: u64,
    pub(crate) woken_ns: u64,
    window_ended: bool,
    /// On the signals' clock: when the CPU's first task after idleness came to run, and when its present task did, ns.
    busy_from_ns: u64,
    ran_from_ns: u64,
}

/// Brings a signal to `clock_ns`. What it stands for has been running since `from_ns`, or not at all. True if a window ended.
#[inline]
pub(super) fn counted(signal: &mut Signal, clock_ns: u64, from_ns: Option<u64>) -> bool {
    signal.is_behind(clock_ns) && count(signal, clock_ns, from_ns)
}

fn count(signal: &mut Signal, clock_ns: u64, from_ns: Option<u64>) -> bool {
    let Some(from_ns) = from_ns else { return signal.update(clock_ns, false) };
    let ended = signal.update(from_ns.min(clock_ns), false);
    ended | (from_ns < clock_ns && signal.update(clock_ns, true))
}

impl Queue {
    /// An idle CPU of `capacity` (1..=1024) whose clock is at `speed` 1024ths of its highest.
    #[must_use]
    pub fn new(now_ns: u64, capacity: u32, speed: u32) -> Self {
        Queue {
            wall_ns: now_ns,
            clock_ns: now_ns,
            lost_ns: 0,
            signal: Signal::zero(now_ns),
            running: false,
            task: None,
            capacity: u64::from(capacity),
            speed: u64::from(speed),
            estimate: 0,
            idle_entries: 0,
            idle_since_ns: now_ns,
            woken_ns: 0,
            window_ended: true,
            busy_from_ns: 0,
            ran_from_ns: 0,
        }
    }

    /// The same queue, so far after the beginning of a window, ns.
    #[must_use]
    pub(crate) fn within(mut self, phase_ns: u64) -> Self {
        self.signal = Signal::zero_within(self.clock_ns, phase_ns);
        self
    }

    pub(super) fn signal(&self) -> &Signal {
        &self.signal
    }

    /// What it was made with, 1..=1024.
    #[expect(clippy::cast_possible_truncation, reason = "it came as 32 bits")]
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity as u32
    }

    /// Utilisation of fair tasks as of the last update, 0..=1024.
    #[must_use]
    pub fn util(&self) -> u32 {
        self.signal.util()
    }

    /// What the signals of this CPU's tasks are measured against, ns.
    #[must_use]
    pub fn clock_ns(&self) -> u64 {
        self.clock_ns - self.lost_ns
    }

    /// Brings the clock to the present.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        if now_ns <= self.wall_ns {
            return;
        }
        let passed = now_ns - self.wall_ns;
        self.wall_ns = now_ns;
        if self.running {
            let at_capacity = (passed * self.capacity) >> ONE_SHIFT;
            self.clock_ns += (at_capacity * self.speed) >> ONE_SHIFT;
        } else {
            self.clock_ns = self.wall_ns;
        }
    }

    /// Brings clock and signal to the present.
    #[inline]
    pub fn update(&mut self, now_ns: u64) {
        self.advance(now_ns);
        let clock_ns = self.clock_ns();
        self.window_ended |= counted(&mut self.signal, clock_ns, self.running.then_some(self.busy_from_ns));
    }

    /// The present task has been switched to, which took this long; before it the CPU was idle, or not.
    pub(crate) fn switched(&mut self, was_idle: bool, took_ns: u64) {
        self.ran_from_ns = self.clock_ns() + took_ns;
        if was_idle {
            self.busy_from_ns = self.ran_from_ns;
        }
    }

    /// On the signals' clock: when the present task came to run, ns.
    pub(super) fn ran_from_ns(&self) -> u64 {
        self.ran_from_ns
    }

    /// Whether the CPU is idle.
    pub(crate) fn is_idle(&self) -> bool {
        !self.running
    }

    /// From now on a fair task runs, or the CPU is idle.
    pub fn set_running(&mut self, running: bool, now_ns: u64) {
        self.update(now_ns);
        if self.running && !running {
            self.idle_entries += 1;
            self.idle_since_ns = now_ns;
            if self.signal.is_saturated() {
                self.lost_ns += self.wall_ns - self.clock_ns;
            }
            self.clock_ns = self.wall_ns;
        }
        self.running = running;
    }

    /// The clock goes at another speed (1024ths of its highest) from now on. While a limit is lowered it may be above the new highest; the
    /// kernel counts that as the highest (Linux 6.12 drivers/base/arch_topology.c, arch/x86/kernel/cpu/aperfmperf.c).
    pub fn set_speed(&mut self, speed: u32, now_ns: u64) {
        self.advance(now_ns);
        self.speed = u64::from(speed).min(1 << ONE_SHIFT);
    }

    /// Whether a window has ended since this was last asked, up to `now_ns`.
    pub fn take_window_end(&mut self, now_ns: u64) -> bool {
        self.update(now_ns);
        std::mem::take(&mut self.window_ended)
    }
}
