//! An open-loop driver: windows of stated wall, idle, iowait and nice time, whatever the clock does.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{
    BootConfig, CpuTimes, Cpufreq, FrequencyChange, Governor, KernelRules, OtherClasses, PolicyConfig, Util,
};

/// Ascending table of a small board, kHz.
pub(crate) const OMAP: [u32; 5] = [125_000, 250_000, 500_000, 550_000, 600_000];
/// Descending table of a server, kHz.
pub(crate) const SRV: [u32; 7] = [2_400_000, 2_267_000, 2_133_000, 2_000_000, 1_867_000, 1_733_000, 1_600_000];

/// Time sums of every CPU, as the trace states them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) idle_ns: Vec<u64>,
    pub(crate) iowait_ns: Vec<u64>,
    pub(crate) nice_ns: Vec<u64>,
    pub(crate) running: Vec<bool>,
    pub(crate) fair_util: Option<u32>,
    pub(crate) other: OtherClasses,
    pub(crate) average_khz: Option<u32>,
}

impl Sums {
    pub(crate) fn new(cpus: usize) -> Self {
        let zeros = || vec![0; cpus];
        let running = vec![true; cpus];
        Sums { idle_ns: zeros(), iowait_ns: zeros(), nice_ns: zeros(), running, ..Sums::default() }
    }
}

impl CpuTimes for Sums {
    fn idle_ns(&self, cpu: u32) -> u64 {
        self.idle_ns[cpu as usize]
    }
    fn iowait_ns(&self, cpu: u32) -> u64 {
        self.iowait_ns[cpu as usize]
    }
    fn nice_ns(&self, cpu: u32) -> u64 {
        self.nice_ns[cpu as usize]
    }
    fn running(&self, cpu: u32) -> bool {
        self.running[cpu as usize]
    }
    fn average_khz(&self, _cpu: u32) -> Option<u32> {
        self.average_khz
    }
    fn other_classes(&self, _cpu: u32) -> OtherClasses {
        self.other
    }
    fn fair_util(&self, _cpu: u32) -> Option<u32> {
        self.fair_util
    }
}

/// One window of one CPU, µs. What is neither idle, iowait nor nice is ordinary busy time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) wall: u64,
    pub(crate) idle: u64,
    pub(crate) iowait: u64,
    pub(crate) nice: u64,
}

impl Window {
    /// A window of `wall` µs with this load, percent.
    pub(crate) fn load(wall: u64, percent: u64) -> Self {
        Window { wall, idle: wall - wall * percent / 100, ..Window::default() }
    }
}

/// A machine with its trace's time.
pub(crate) struct Bench {
    pub(crate) cpufreq: Cpufreq,
    pub(crate) sums: Sums,
    pub(crate) now_ns: u64,
}

/// One policy of one CPU with this table, booted at `khz` under `governor`; latency 10 µs.
pub(crate) fn config(rules: KernelRules, table: &[u32], khz: u32, governor: Governor) -> BootConfig {
    let mut config = BootConfig::new(rules, vec![PolicyConfig::new(vec![0], table)]);
    config.policies[0].initial_khz = khz;
    config.default_governor = governor;
    config
}

impl Bench {
    pub(crate) fn new(config: BootConfig) -> Self {
        let sums = Sums::new(config.possible_cpus as usize);
        let cpufreq = Cpufreq::new(config, 0, &sums).unwrap();
        Bench { cpufreq, sums, now_ns: 0 }
    }

    /// Sums of CPU 0 after a window; nothing is asked of the governor.
    pub(crate) fn pass(&mut self, window: Window) {
        for cpu in 0..self.sums.idle_ns.len() {
            self.pass_on(cpu, window);
        }
        self.now_ns += window.wall * 1000;
    }

    /// Adds a window's times to a CPU, without letting time pass.
    pub(crate) fn pass_on(&mut self, cpu: usize, window: Window) {
        self.sums.idle_ns[cpu] += window.idle * 1000;
        self.sums.iowait_ns[cpu] += window.iowait * 1000;
        self.sums.nice_ns[cpu] += window.nice * 1000;
    }

    /// The scheduler calls on CPU 0, and what that queues is done.
    pub(crate) fn event(&mut self) {
        self.cpufreq.utilisation(0, self.now_ns, Util::Direct, &self.sums);
        self.run();
    }

    /// Does what is due now; changes of clock are over afterwards.
    pub(crate) fn run(&mut self) {
        self.cpufreq.run_due(self.now_ns, &self.sums);
    }

    /// A window, then a sample; gives the clock chosen, MHz (kHz / 1000).
    pub(crate) fn sample(&mut self, window: Window) -> u32 {
        self.pass(window);
        self.event();
        self.mhz()
    }

    /// The clock the core is at, MHz.
    pub(crate) fn mhz(&mut self) -> u32 {
        self.number("scaling_cur_freq") / 1000
    }

    /// The same load for one period after the other; the clocks chosen.
    pub(crate) fn loads(&mut self, period_us: u64, percents: &[u64]) -> Vec<u32> {
        percents.iter().map(|&percent| self.sample(Window::load(period_us, percent))).collect()
    }

    pub(crate) fn read(&mut self, file: &str) -> Result<String, Errno> {
        self.cpufreq.read(&format!("cpu0/cpufreq/{file}"), self.now_ns, true, &self.sums)
    }

    pub(crate) fn write(&mut self, file: &str, text: &str) -> Result<(), Errno> {
        self.cpufreq.write(&format!("cpu0/cpufreq/{file}"), text, self.now_ns, &self.sums)
    }

    pub(crate) fn read_at(&mut self, path: &str) -> Result<String, Errno> {
        self.cpufreq.read(path, self.now_ns, true, &self.sums)
    }

    pub(crate) fn write_at(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        self.cpufreq.write(path, text, self.now_ns, &self.sums)
    }

    pub(crate) fn number(&mut self, file: &str) -> u32 {
        self.read(file).unwrap().trim_end().parse().unwrap()
    }

    pub(crate) fn changes(&mut self) -> Vec<FrequencyChange> {
        let mut changes = Vec::new();
        self.cpufreq.take_changes(&mut changes);
        changes
    }
}
