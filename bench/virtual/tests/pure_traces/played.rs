//! What a guest's trace says of a score: writes, every thread's stretches, changes of clock, and the governor's own figures.
use std::collections::BTreeMap;

use powerband_sim::Stretch;

use super::trace::{Event, Step, Trace};

/// The trace shows whole µs: in the middle of one it is least wrong, ns.
const TRACED_NS: u64 = 500;

/// From the scheduler's look at its clock until the switch is traced, ns: to another thread, and to none, which it looks for
/// elsewhere first.
const SWITCH_NS: u64 = 4_000;
const IDLE_SWITCH_NS: u64 = 3_000;

/// From the trace of a waking until the scheduler has looked at its clock, ns.
const WAKE_NS: u64 = 2_000;

/// What the first tick in an idle time takes of it, ns.
pub(crate) const IDLE_TICK_NS: u32 = 4_000;

/// Length of a tick, and the time within which it wakes what it wakes, ns.
const TICK_NS: (u64, u64) = (4_000_000, 20_000);

/// The idle thread that is current for less than this, ns, has not come to idling: something was to be done already.
const BRIEF_NS: u64 = 20_000;

/// One case as it was: the clock at its beginning and each change until its end.
#[derive(Clone, Debug)]
pub(crate) struct Episode {
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    pub(crate) first_khz: u32,
    /// When, and to which clock, kHz.
    pub(crate) changes: Vec<(u64, u32)>,
    /// What the governor's statistics said at the end: 10 ms spent in each state, and transitions.
    pub(crate) said: (Vec<(u32, u64)>, usize),
}

/// A thread's stretches; the last one may be open. A simulated governor takes its own samples, so a worker's that takes nothing
/// else are no part of the load.
#[derive(Clone, Debug, Default)]
struct Thread {
    stretches: Vec<Stretch>,
    open_ns: Option<u64>,
    samples: u32,
    other_work: u32,
}

/// By how much a guest's clocks were ahead of the player's, the time since boot, before the score, modulo 2^64, ns. They do not
/// tick at quite the same rate: over a score some 2 µs are gained.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    /// The trace's.
    trace_ns: u64,
    /// The scheduler's, which gains nothing on the trace's.
    scheduler_ns: u64,
}

impl Ahead {
    fn of(trace: &Trace) -> Self {
        let [boot_ns, trace_ns, scheduler_ns] = trace.clocks_ns;
        Ahead { trace_ns: trace_ns.wrapping_sub(boot_ns), scheduler_ns: scheduler_ns.wrapping_sub(boot_ns) }
    }

    /// The time since boot of a time of the trace.
    fn boot_ns(self, trace_ns: u64) -> u64 {
        trace_ns.wrapping_sub(self.trace_ns)
    }
}

/// Everything a guest printed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Played {
    /// When, where, what.
    pub(crate) writes: Vec<Step>,
    reads: Vec<Step>,
    ahead: Ahead,
    threads: BTreeMap<u32, Thread>,
    /// How long the CPU was idle, as the kernel has it: before and behind the score, ns.
    asleep_ns: Vec<u64>,
    /// When it last switched to the idle thread, if nothing was woken since; how often it idled and for how long
    /// without a tick, ns.
    idle_since_ns: Option<u64>,
    idle: (u64, u64),
    changes: Vec<(u64, u32)>,
}

impl Played {
    pub(crate) fn of(trace: &Trace) -> Played {
        let mut played = Played {
            writes: trace.writes.clone(),
            reads: trace.reads.clone(),
            asleep_ns: trace.asleep_ns.clone(),
            ahead: Ahead::of(trace),
            ..Played::default()
        };
        for (at_us, event) in &trace.events {
            played.event(played.ahead.boot_ns(at_us * 1_000 + TRACED_NS), event);
        }
        played
    }

    fn event(&mut self, at_ns: u64, event: &Event) {
        match *event {
            Event::Frequency(khz) => self.changes.push((at_ns, khz)),
            Event::Work { thread, samples } => {
                let thread = self.threads.entry(thread).or_default();
                if samples {
                    thread.samples += 1;
                } else {
                    thread.other_work += 1;
                }
            }
            Event::Waking { thread, priority } => {
                let idle = self.roused(at_ns);
                self.opened(thread, priority == 0 && idle, at_ns + WAKE_NS);
            }
            Event::Switch { from, runnable, to } => {
                if !runnable {
                    // Before its switch away is traced, the scheduler has read its clock.
                    let took_ns = if to.0 == 0 { IDLE_SWITCH_NS } else { SWITCH_NS };
                    self.closed(from.0, at_ns - took_ns, from.1 > 120);
                }
                self.opened(to.0, to.1 == 0 && from.0 == 0, at_ns);
                self.roused(at_ns);
                self.idle_since_ns = (to.0 == 0).then_some(at_ns);
            }
        }
    }

    /// The CPU has something to do. Whether it was idle.
    fn roused(&mut self, at_ns: u64) -> bool {
        let since_ns = self.idle_since_ns.take();
        if let Some(since_ns) = since_ns.filter(|since_ns| at_ns - since_ns >= BRIEF_NS) {
            let ticked = (at_ns - TICK_NS.1) / TICK_NS.0 > since_ns / TICK_NS.0;
            let tick_ns = if ticked { u64::from(IDLE_TICK_NS) } else { 0 };
            self.idle = (self.idle.0 + 1, self.idle.1 + at_ns - since_ns - tick_ns);
        }
        since_ns.is_some()
    }

    /// A thread wants to run. The one that stops an idle CPU is unknown to the governors; where it takes the place of an
    /// ordinary one, that is a callback.
    fn opened(&mut self, thread: u32, unknown: bool, at_ns: u64) {
        if thread != 0 && !unknown {
            self.threads.entry(thread).or_default().open_ns.get_or_insert(at_ns);
        }
    }

    fn closed(&mut self, thread: u32, until_ns: u64, nice: bool) {
        let this = self.threads.entry(thread).or_default();
        let (samples, other_work) = (std::mem::take(&mut this.samples), std::mem::take(&mut this.other_work));
        let only_samples = samples > 0 && other_work == 0;
        if let Some(from_ns) = this.open_ns.take()
            && !only_samples
        {
            this.stretches.push(Stretch { from_ns, until_ns: until_ns.max(from_ns), nice });
        }
    }

    /// How far into one of its windows the scheduler's clock was at boot, ns.
    pub(crate) fn phase_ns(&self) -> u64 {
        self.ahead.scheduler_ns % (1024 * 1024)
    }

    /// By how much the kernel has each idle time shorter than the time between two stretches, ns: idleness begins behind
    /// the switch to its idle thread and ends with the interrupt that wakes something.
    pub(crate) fn edges_ns(&self) -> u64 {
        let (times, between_ns) = self.idle;
        (between_ns + times * (IDLE_SWITCH_NS + WAKE_NS)).saturating_sub(self.asleep_ns[1] - self.asleep_ns[0])
            / times.max(1)
    }

    /// What each thread ran.
    pub(crate) fn stretches(&self) -> Vec<Vec<Stretch>> {
        self.threads.values().map(|thread| thread.stretches.clone()).collect()
    }

    /// When each case began and ended: statistics reset, statistics read.
    pub(crate) fn spans(&self) -> Vec<(u64, u64)> {
        let begins = self.writes.iter().filter(|(_, path, _)| path.ends_with("/reset"));
        let ends = self.reads.iter().filter(|(_, path, _)| path.ends_with("/time_in_state"));
        begins.zip(ends).map(|(begin, end)| (begin.0, end.0)).collect()
    }

    pub(crate) fn cases(&self) -> Vec<Episode> {
        let said: Vec<(Vec<(u32, u64)>, usize)> = self
            .reads
            .chunks(2)
            .map(|pair| (times(&pair[0].2.replace('|', "\n")), pair[1].2.parse().unwrap()))
            .collect();
        let spans = self.spans();
        spans.iter().zip(said).map(|(&span, said)| Episode::cut(span, &self.changes, said)).collect()
    }
}

/// The text of `time_in_state`.
pub(crate) fn times(text: &str) -> Vec<(u32, u64)> {
    let line = |line: &str| line.split_once(' ').map(|(khz, time)| (khz.parse().unwrap(), time.parse().unwrap()));
    text.lines().filter_map(line).collect()
}

impl Episode {
    /// The part of a list of changes that lies in a span.
    pub(crate) fn cut(span: (u64, u64), changes: &[(u64, u32)], said: (Vec<(u32, u64)>, usize)) -> Self {
        let (from_ns, until_ns) = span;
        let before = changes.iter().rfind(|(at_ns, _)| *at_ns <= from_ns);
        let within = changes.iter().filter(|(at_ns, _)| (from_ns + 1..until_ns).contains(at_ns));
        let first_khz = before.map_or(0, |(_, khz)| *khz);
        Episode { from_ns, until_ns, first_khz, changes: within.copied().collect(), said }
    }

    /// ns at each clock.
    fn times(&self) -> BTreeMap<u32, u64> {
        let mut times = BTreeMap::new();
        let (mut since_ns, mut clock) = (self.from_ns, self.first_khz);
        for &(at_ns, khz) in self.changes.iter().chain([&(self.until_ns, 0)]) {
            *times.entry(clock).or_insert(0) += at_ns - since_ns;
            (since_ns, clock) = (at_ns, khz);
        }
        times
    }

    /// Whether the governor's own statistics say the same as the changes, but for so many that may have been under way when
    /// the statistics were reset or read.
    pub(crate) fn agrees_with_itself(&self, under_way: usize) -> bool {
        let times = self.times();
        let of = |khz| times.get(khz).copied().unwrap_or(0) / 10_000_000;
        self.said.1.abs_diff(self.changes.len()) <= under_way
            && self.said.0.iter().all(|(khz, units)| of(khz).abs_diff(*units) <= 1)
    }

    /// By how many points of a hundred the share of time in a state differs, where it differs most.
    pub(crate) fn apart_percent(&self, other: &Episode) -> f64 {
        let (mine, theirs) = (self.times(), other.times());
        let clocks = mine.keys().chain(theirs.keys());
        let of = |times: &BTreeMap<u32, u64>, clock| times.get(clock).copied().unwrap_or(0);
        let most = clocks.map(|clock| of(&mine, clock).abs_diff(of(&theirs, clock))).max().unwrap_or(0);
        most as f64 * 100.0 / (self.until_ns - self.from_ns) as f64
    }

    /// How far both decided the same, and the first decisions that differ.
    pub(crate) fn first_difference(&self, other: &Episode) -> String {
        let clocks = |episode: &Episode| -> Vec<u32> { episode.changes.iter().map(|(_, khz)| *khz).collect() };
        let (mine, theirs) = (clocks(self), clocks(other));
        let same = mine.iter().zip(&theirs).take_while(|(mine, theirs)| mine == theirs).count();
        let late = |at: usize| self.changes[at].0.abs_diff(other.changes[at].0);
        // The same decision at another time is another decision, if a tick or more lies between.
        let in_time = (0..same).take_while(|&at| late(at) < 1_000_000).count();
        if self.first_khz != other.first_khz {
            return format!("none: began at {} and {}", self.first_khz, other.first_khz);
        }
        if in_time == mine.len() && in_time == theirs.len() {
            return "all".to_owned();
        }
        let shown = |episode: &Episode| {
            episode.changes.get(in_time).map_or_else(
                || "none".to_owned(),
                |(at_ns, khz)| format!("{khz} at {:.3} ms", (at_ns - self.from_ns) as f64 / 1e6),
            )
        };
        format!("{in_time}, then {} / {} (from {} ns)", shown(self), shown(other), self.from_ns)
    }
}
