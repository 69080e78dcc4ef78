//! What a processor does by itself: it runs at the clock chosen and draws what that costs. A thread of ours reads the
//! P-states from the guest's ports, sets the pace of its CPU threads, and writes what they draw into the meter's port.
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::board::{Board, METER_PORT, STATE_PORTS};
use crate::error::{BenchError, Result};
use crate::pace::Pace;
use crate::qmp::Qmp;

/// How often the ports are read.
const LOOK: Duration = Duration::from_millis(10);
/// How many looks the meter averages over.
const WINDOW: u32 = 10;
/// Share of one CPU of this machine that the highest clock gets, millionths. Below all of it, because what the emulator
/// itself needs and what other processes take would else hit the highest clock alone.
const TOP_SHARE: u64 = 750_000;

/// What the silicon did last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Power written into the meter, mW.
    pub power_mw: u64,
    /// P-state of each CPU, 0 the fastest.
    pub states: Vec<u8>,
    /// Share of the last window each CPU's thread ran, millionths.
    pub ran: Vec<u64>,
    /// What stopped it, if something did.
    pub trouble: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    fixed_mw: Mutex<Option<u64>>,
    readings: Mutex<Readings>,
}

/// The running silicon of one guest. It stops when dropped.
#[derive(Debug)]
pub(crate) struct Silicon {
    shared: Arc<Shared>,
    /// Where each CPU thread's run time stands.
    pub(crate) times: Vec<PathBuf>,
    thread: Option<JoinHandle<()>>,
}

impl Silicon {
    /// Takes the guest's CPU threads and begins.
    pub(crate) fn begin(board: Board, pace: Pace, process: u32, threads: &[u64], qmp: Qmp) -> Result<Self> {
        pace.take(process, threads)?;
        let shared = Arc::new(Shared::default());
        let times: Vec<PathBuf> =
            threads.iter().map(|thread| format!("/proc/{process}/task/{thread}/schedstat").into()).collect();
        let shares = vec![0; threads.len()];
        let mut work = Work { board, pace, times: times.clone(), shares, qmp, shared: Arc::clone(&shared) };
        let thread = std::thread::spawn(move || {
            if let Err(error) = work.run() {
                locked(&work.shared.readings).trouble = Some(error.to_string());
            }
        });
        Ok(Silicon { shared, times, thread: Some(thread) })
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
    board: Board,
    pace: Pace,
    /// Where each thread's run time stands.
    times: Vec<PathBuf>,
    /// Share each CPU has now, millionths.
    shares: Vec<u64>,
    qmp: Qmp,
    shared: Arc<Shared>,
}

/// One CPU since the meter was last written.
#[derive(Clone, Copy, Debug, Default)]
struct Passed {
    ran_ns: u64,
    /// Run time the clock chosen allowed, ns.
    allowed_ns: u64,
    /// Clock × time, kHz × ns, for the mean clock of the window.
    clock: u128,
}

impl Work {
    fn run(&mut self) -> Result<()> {
        let mut before = self.run_times()?;
        let mut seen = Instant::now();
        loop {
            let (mut passed, mut window_ns) = (vec![Passed::default(); self.times.len()], 0);
            for _ in 0..WINDOW {
                if self.shared.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(LOOK);
                let look_ns = u64::try_from(seen.elapsed().as_nanos()).unwrap_or(u64::MAX);
                seen = Instant::now();
                window_ns += look_ns;
                let now = self.run_times()?;
                for (cpu, passed) in passed.iter_mut().enumerate() {
                    passed.ran_ns += now[cpu] - before[cpu];
                    passed.allowed_ns += look_ns * self.shares[cpu].max(1) / 1_000_000;
                    passed.clock += u128::from(self.look(cpu)?) * u128::from(look_ns);
                }
                before = now;
            }
            self.write_meter(&passed, window_ns)?;
        }
    }

    /// Reads a CPU's P-state, gives it its pace, and answers its clock, kHz.
    fn look(&mut self, cpu: usize) -> Result<u32> {
        let number = self.qmp.port(STATE_PORTS[cpu])?;
        // While the guest boots its serial driver tries these registers out.
        let states = &self.board.states;
        let fastest = states[0];
        let state = states.get(usize::from(number)).copied().unwrap_or(fastest);
        let share = TOP_SHARE * u64::from(state.khz) / u64::from(fastest.khz);
        if self.shares[cpu] != share {
            self.pace.set_share(cpu, share)?;
            self.shares[cpu] = share;
        }
        let mut readings = locked(&self.shared.readings);
        readings.states.resize(self.shares.len(), 0);
        readings.states[cpu] = number;
        Ok(state.khz)
    }

    fn write_meter(&mut self, passed: &[Passed], window_ns: u64) -> Result<()> {
        let cpus: Vec<(u32, u64)> = passed
            .iter()
            .map(|passed| {
                let busy = u128::from(passed.ran_ns) * u128::from(window_ns) / u128::from(passed.allowed_ns.max(1));
                let clock = passed.clock / u128::from(window_ns.max(1));
                let clock = self.board.nearest_khz(u32::try_from(clock).unwrap_or(u32::MAX));
                (clock, u64::try_from(busy).unwrap_or(u64::MAX))
            })
            .collect();
        let fixed = *locked(&self.shared.fixed_mw);
        let byte = self.board.meter_byte(fixed.unwrap_or_else(|| self.board.draw_mw(&cpus, window_ns)));
        self.qmp.set_port(METER_PORT, byte)?;
        let mut readings = locked(&self.shared.readings);
        readings.power_mw = u64::from(byte) * self.board.meter_step_mw;
        readings.ran = passed.iter().map(|passed| passed.ran_ns * 1_000_000 / window_ns.max(1)).collect();
        Ok(())
    }

    fn run_times(&self) -> Result<Vec<u64>> {
        self.times.iter().map(|path| run_time_ns(path)).collect()
    }
}

/// How long a thread ran since it began, ns, from its `schedstat`.
pub(crate) fn run_time_ns(path: &Path) -> Result<u64> {
    let text = fs::read_to_string(path).map_err(BenchError::file("read", path))?;
    let time = text.split(' ').next().and_then(|first| first.parse().ok());
    time.ok_or_else(|| BenchError::Missing(format!("{} holds no run time", path.display())))
}
