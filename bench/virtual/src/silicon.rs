//! What a processor does by itself: it runs at the clock chosen and draws what that costs. A thread of ours reads the
//! P-states from the guest's ports, sets the pace of its CPUs, and writes what they draw into the meter's port.
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::chip::Chip;
use crate::error::Result;
use crate::pace::Pace;
use crate::qmp::Qmp;

/// How often the ports are read.
const LOOK: Duration = Duration::from_millis(10);
/// How many looks the meter averages over.
const WINDOW: u32 = 10;
/// Instructions a second at the highest clock. An undisturbed CPU of a usual host emulates two to four times as many: what it
/// has missed while others ran, it catches up with.
const TOP_PER_S: u64 = 100_000_000;

/// What the silicon did last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Power written into the meter, mW.
    pub power_mw: u64,
    /// P-state of each CPU, 0 the fastest.
    pub states: Vec<u8>,
    /// Instructions a second each CPU ran in the last window.
    pub ran_per_s: Vec<u64>,
    /// What stopped it, if something did.
    pub trouble: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Whether speed follows the clock.
    paced: AtomicBool,
    fixed_mw: Mutex<Option<u64>>,
    readings: Mutex<Readings>,
}

/// The running silicon of one guest. It stops when dropped.
#[derive(Debug)]
pub(crate) struct Silicon {
    shared: Arc<Shared>,
    pace: Arc<Pace>,
    thread: Option<JoinHandle<()>>,
}

impl Silicon {
    /// Begins; the CPUs are free until they are paced.
    pub(crate) fn begin(chip: Chip, pace: Pace, qmp: Qmp) -> Self {
        let (shared, pace) = (Arc::new(Shared::default()), Arc::new(pace));
        let cpus = vec![Cpu::default(); chip.cpus()];
        let mut work = Work { chip, pace: Arc::clone(&pace), cpus, qmp, shared: Arc::clone(&shared) };
        let thread = std::thread::spawn(move || {
            if let Err(error) = work.run() {
                locked(&work.shared.readings).trouble = Some(error.to_string());
            }
        });
        Silicon { shared, pace, thread: Some(thread) }
    }

    /// Lets speed follow the clock, or lets the guest go as fast as it can, as while it boots.
    pub(crate) fn set_paced(&self, paced: bool) {
        self.shared.paced.store(paced, Ordering::Relaxed);
    }

    /// How many instructions a CPU has run since it began.
    pub(crate) fn instructions(&self, cpu: usize) -> Result<u64> {
        self.pace.instructions(cpu)
    }

    pub(crate) fn stale_breakpoints(&self, cpu: usize) -> Result<u64> {
        self.pace.stale_breakpoints(cpu)
    }

    pub(crate) fn readings(&self) -> Readings {
        locked(&self.shared.readings).clone()
    }

    pub(crate) fn fix_power(&self, power_mw: Option<u64>) {
        *locked(&self.shared.fixed_mw) = power_mw;
    }
}

impl Drop for Silicon {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What went wrong in it is in the readings.
            let _ = thread.join();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's own.
struct Work {
    chip: Chip,
    pace: Arc<Pace>,
    cpus: Vec<Cpu>,
    qmp: Qmp,
    shared: Arc<Shared>,
}

/// One CPU as it was at the last look.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// Instructions it had run.
    run: u64,
    /// Instructions a second that its clock allows.
    clock_per_s: u64,
    /// Instructions a second that the plugin allows: the same or 0.
    told_per_s: u64,
}

/// One CPU since the meter was last written.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    run: u64,
    /// Instructions the clock chosen allowed.
    allowed: u64,
    /// Clock × time, kHz × ns, for the mean clock of the window.
    clock: u128,
}

impl Work {
    fn run(&mut self) -> Result<()> {
        let mut seen = Instant::now();
        loop {
            let (mut passed, mut window_ns) = (vec![Passed::default(); self.cpus.len()], 0);
            for _ in 0..WINDOW {
                if self.shared.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(LOOK);
                let look_ns = u64::try_from(seen.elapsed().as_nanos()).unwrap_or(u64::MAX);
                seen = Instant::now();
                window_ns += look_ns;
                let frequencies = self.chip.khz(&mut self.qmp)?;
                for (cpu, (passed, khz)) in passed.iter_mut().zip(frequencies).enumerate() {
                    let run = self.pace.instructions(cpu)?;
                    passed.run += run - std::mem::replace(&mut self.cpus[cpu].run, run);
                    passed.allowed += per(self.cpus[cpu].clock_per_s, look_ns);
                    passed.clock += u128::from(khz) * u128::from(look_ns);
                    self.set_pace(cpu, khz)?;
                }
            }
            self.write_meter(&passed, window_ns)?;
        }
    }

    /// Gives a CPU the pace of its frequency.
    fn set_pace(&mut self, cpu: usize, khz: u32) -> Result<()> {
        let this = &mut self.cpus[cpu];
        this.clock_per_s = TOP_PER_S * u64::from(khz) / u64::from(self.chip.top_khz());
        let tell = if self.shared.paced.load(Ordering::Relaxed) { this.clock_per_s } else { 0 };
        if std::mem::replace(&mut this.told_per_s, tell) != tell {
            self.pace.set_rate(cpu, tell)?;
        }
        let mut readings = locked(&self.shared.readings);
        readings.states.resize(self.cpus.len(), 0);
        readings.states[cpu] = self.chip.state(khz);
        Ok(())
    }

    fn write_meter(&mut self, passed: &[Passed], window_ns: u64) -> Result<()> {
        let cpus: Vec<(u32, u64)> = passed
            .iter()
            .map(|passed| {
                let busy = u128::from(passed.run) * u128::from(window_ns) / u128::from(passed.allowed.max(1));
                let clock = passed.clock / u128::from(window_ns.max(1));
                (u32::try_from(clock).unwrap_or(u32::MAX), u64::try_from(busy).unwrap_or(u64::MAX))
            })
            .collect();
        let fixed = *locked(&self.shared.fixed_mw);
        let power_mw = self.chip.show_power(&mut self.qmp, &cpus, window_ns, fixed)?;
        let mut readings = locked(&self.shared.readings);
        readings.power_mw = power_mw;
        let per_s = |run: u64| u128::from(run) * 1_000_000_000 / u128::from(window_ns.max(1));
        let ran_per_s = passed.iter().map(|passed| u64::try_from(per_s(passed.run)).unwrap_or(u64::MAX));
        readings.ran_per_s = ran_per_s.collect();
        Ok(())
    }
}

/// How much of something that comes at a rate a second comes in a time.
fn per(per_s: u64, time_ns: u64) -> u64 {
    u64::try_from(u128::from(per_s) * u128::from(time_ns) / 1_000_000_000).unwrap_or(u64::MAX)
}
