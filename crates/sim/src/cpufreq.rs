//! The Linux cpufreq subsystem as arithmetic: policies, limits, files and governors of three kernels, without a clock of its own.
//!
//! Nothing here waits or draws a queue. The engine calls:
//! - [`Cpufreq::read`], [`Cpufreq::write`], [`Cpufreq::list`] for the files below `/sys/devices/system/cpu`;
//! - [`Cpufreq::current`], [`Cpufreq::enqueued`], [`Cpufreq::dequeued`] when a CPU's running task or queue changes
//!   (they keep the utilisation signals; nothing happens in them under the old rules);
//! - [`Cpufreq::utilisation`] after each enqueue and dequeue and at each tick of a busy CPU;
//! - [`Cpufreq::run_due`] when the instant of [`Cpufreq::next_due_ns`] has come;
//! - [`Cpufreq::take_changes`] after any of these, if [`Cpufreq::has_changes`].
use powerband_machine::Errno;

mod config;
mod times;

pub use config::{Boost, Config, Governor, PolicyConfig, Rules, Step};
pub use times::{Change, CpuTimes, Entry, OtherClasses, Util};

/// A machine's cpufreq: all policies and governors.
#[derive(Debug)]
pub struct Cpufreq {
    config: Config,
}

impl Cpufreq {
    /// Boots: every policy comes up and its default governor starts.
    ///
    /// # Errors
    /// EINVAL for a table with an entry twice, a policy without CPUs, or a CPU in two policies.
    pub fn new(config: Config, _now_ns: u64, _times: &dyn CpuTimes) -> Result<Self, Errno> {
        Ok(Cpufreq { config })
    }

    /// Names in a folder, given relative to `/sys/devices/system/cpu`, e.g. `cpufreq/policy0`; sorted.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR.
    pub fn list(&self, _dir: &str) -> Result<Vec<Entry>, Errno> {
        Ok(Vec::new())
    }

    /// What `cpuN/cpufreq` points to, relative to `cpuN`; `None` where it is itself the folder, or absent.
    #[must_use]
    pub fn link(&self, _cpu: u32) -> Option<String> {
        None
    }

    /// The text of a file.
    ///
    /// # Errors
    /// As the kernel: ENOENT, EISDIR, ENOTDIR, EACCES, EBUSY, EINVAL, ENODEV, EFBIG.
    pub fn read(
        &mut self,
        _path: &str,
        _now_ns: u64,
        _privileged: bool,
        _times: &dyn CpuTimes,
    ) -> Result<String, Errno> {
        Err(Errno::ENOENT)
    }

    /// Writes a file, as root.
    ///
    /// # Errors
    /// As the kernel: ENOENT, EISDIR, ENOTDIR, EACCES, EBUSY, EINVAL.
    pub fn write(&mut self, _path: &str, _text: &str, _now_ns: u64, _times: &dyn CpuTimes) -> Result<(), Errno> {
        Err(Errno::ENOENT)
    }

    /// The clock the silicon runs at now, kHz: the old one until a change is complete. 0 for a CPU in no policy.
    #[must_use]
    pub fn khz(&self, _cpu: u32) -> u32 {
        self.config.policies.first().map_or(0, |p| p.initial_khz)
    }

    /// The governor of a CPU's policy.
    #[must_use]
    pub fn governor(&self, _cpu: u32) -> Option<Governor> {
        None
    }

    /// When [`Cpufreq::run_due`] is next wanted, ns. May lie at or before the present.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<u64> {
        None
    }

    /// Does all that is due at `now_ns`: completed changes, delayed limits, timers and workers, lowest CPU first.
    pub fn run_due(&mut self, _now_ns: u64, _times: &dyn CpuTimes) {}

    /// The scheduler's callback on `cpu`. Call it after [`Cpufreq::current`], [`Cpufreq::enqueued`], [`Cpufreq::dequeued`]
    /// of the same instant. Cheap when the governor does not listen.
    pub fn utilisation(&mut self, _cpu: u32, _now_ns: u64, _why: Util, _times: &dyn CpuTimes) {}

    /// The fair task that runs on `cpu` from now on, `None` for an idle CPU (counts as an entry into idle).
    /// `task` is a small dense number of the engine's choice.
    pub fn current(&mut self, _cpu: u32, _task: Option<u32>, _now_ns: u64) {}

    /// `task` became runnable on `cpu`.
    pub fn enqueued(&mut self, _cpu: u32, _task: u32, _now_ns: u64) {}

    /// `task` left `cpu`'s queue, to sleep or (not `sleeps`) to move elsewhere. Call it before [`Cpufreq::current`]
    /// names its successor.
    pub fn dequeued(&mut self, _cpu: u32, _task: u32, _sleeps: bool, _now_ns: u64) {}

    /// Takes a CPU out of service or back. A policy without CPUs answers EBUSY and starts again with the governor it had.
    pub fn set_online(&mut self, _cpu: u32, _online: bool, _now_ns: u64, _times: &dyn CpuTimes) {}

    /// Firmware limits a policy (index in the configuration) to `khz`, or no longer.
    pub fn set_bios_limit(&mut self, _policy: u32, _khz: Option<u32>, _now_ns: u64, _times: &dyn CpuTimes) {}

    /// From now on the driver of a policy (index in the configuration) fails each change with this error, or works again.
    pub fn set_driver_fault(&mut self, _policy: u32, _fault: Option<Errno>) {}

    /// Whether [`Cpufreq::take_changes`] would give anything.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        false
    }

    /// Moves the changes of clock since last asked to the end of `out`, oldest first.
    pub fn take_changes(&mut self, _out: &mut Vec<Change>) {}
}
