//! What can be said of a machine file: the data behind `powerband sim show`.
use serde::Serialize;

use super::{Profile, rules_name};
use crate::cpufreq::PstateConfig;

/// A simulated machine in numbers and words, for people and for `--json`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Description {
    /// Name, as in `sim:NAME`.
    pub name: String,
    /// What it is.
    pub title: String,
    /// Rules it follows: `2.6.18`, `2.6.32` or `6.1`.
    pub rules: &'static str,
    /// Why these.
    pub rules_why: String,
    /// The kernel published for the machine it stands for.
    pub kernel: String,
    /// Built-in loads it has a model for.
    pub loads: Vec<&'static str>,
    /// CPUs that could be there, in the kernel's spelling.
    pub possible: String,
    /// CPUs that are there and online.
    pub present: String,
    /// Ticks a second.
    pub hz: u32,
    /// Frequency domains, each in the kernel's spelling.
    pub policies: Vec<String>,
    /// Governors, in the order the machine lists them.
    pub governors: Vec<&'static str>,
    /// Governor at boot.
    pub default_governor: &'static str,
    /// How long a change of clock takes, µs.
    pub transition_latency_us: f64,
    /// Clocks, in the driver's order, with what one CPU draws running and what it leaks.
    pub clocks: Vec<ClockDescription>,
    /// Drawn whatever happens, W.
    pub platform_w: f64,
    /// Idle states by depth.
    pub idle: Vec<IdleDescription>,
    /// Goodput of the link, Mbit/s.
    pub link_mbit_s: f64,
    /// That of one client of it, where it is a radio channel that clients share, Mbit/s.
    pub client_mbit_s: Option<f64>,
    /// Its share of the one-way time, µs.
    pub latency_us: f64,
    /// Driver of its card, where it is one whose coalescing is modelled.
    pub network_driver: Option<&'static str>,
    /// Cycles a received bit costs.
    pub receive_cycles_per_bit: f64,
    /// Cycles a sent bit costs.
    pub send_cycles_per_bit: f64,
    /// Cycles one iteration of the counter costs.
    pub counter_cycles: f64,
    /// Deviation of CPU cost from run to run, relative.
    pub noise_sigma: f64,
    /// The same of the link.
    pub noise_link_sigma: f64,
    /// The same of the round trip's time on the wire.
    pub noise_rtt_sigma: f64,
    /// Growth of costs in an hour, relative.
    pub noise_drift_per_hour: f64,
    /// How late an interrupt for a packet of a ping is on average, µs.
    pub noise_interrupt_us: f64,
    /// How late a process that sleeps for such a packet runs on average, µs, rare long delays included.
    pub noise_wake_us: f64,
    /// What it cannot do, a sentence each; what holds for every simulated machine comes first.
    pub cannot: Vec<String>,
    /// Where each parameter comes from.
    pub sources: Vec<(String, String)>,
}

/// One clock of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ClockDescription {
    /// Clock, kHz.
    pub khz: u32,
    /// What one running CPU draws on top of its leakage, W.
    pub running_w: f64,
    /// Leakage of one CPU, W.
    pub leakage_w: f64,
}

/// One idle state of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct IdleDescription {
    /// Name.
    pub name: String,
    /// Reached after this much idle time, µs; worth entering for at least as long where CPUs choose.
    pub after_us: f64,
    /// How long leaving it takes at worst, µs, where CPUs choose.
    pub exit_us: Option<f64>,
    /// Share of the running power still drawn.
    pub running_share: f64,
    /// Share of the leakage still there.
    pub leakage_share: f64,
}

/// What no simulated machine can do.
const NONE_CAN: [&str; 7] = [
    "It runs no programs: a command needs a stated demand (cycles, sleep), and it prints nothing.",
    "Memory, caches and disks are not modelled; a process's peak memory reads 0.",
    "/proc/sys values (vm/swappiness, kernel/numa_balancing, net/core/busy_poll) keep what is written and change nothing.",
    "Background activity is ten wake-ups of each idle CPU a second that cost nothing, until ten seconds after the last thing happened.",
    "Coalesced interrupts delay packets and are counted in /proc/interrupts; the CPU time that fewer of them save is not modelled.",
    "No packet of a ping is lost, and UDP and TCP cost the same; interrupts and wake-ups are late by chance for pings alone.",
    "TCP loses nothing and sends no more than its window: retransmits read 0 because none can happen.",
];

/// What holds where CPUs have no idle states to choose from, and where they have.
const SINKING: &str = "A CPU sinks into deeper idle states by time alone; leaving one costs no time.";
const CHOOSING: &str = "Leaving an idle state takes half of its worst time to all of it, evenly by chance, and draws full power; a polling \
     CPU polls until a timer, the tick or work comes.";

/// What holds where no balancing is modelled, and where it is.
const UNBALANCED: &str = "A running task is not moved to balance the load, but for a rank's thread on a slow CPU; only a CPU that falls idle takes \
     over one that waits.";
const BALANCED: &str = "Every wake-up is that of a task's own timer, on the CPU it slept on; who wakes whom, how warm a cache is, and ticks \
     of idle CPUs are not modelled.";

/// What the daemon cpuspeed is not.
const DAEMON: &str = "The daemon cpuspeed takes no CPU time, and knows the frequencies without trying them.";

/// What holds where there is no thermal zone, and where there is one.
const NO_HEAT: &str = "Temperature is not modelled.";
const HEAT: &str = "The temperature begins at that of the air and follows what CPUs and packages draw through one resistance and one \
     capacity; it slows nothing down and changes no leakage.";

/// The word a source begins with: `published`, `derived`, `assumed` or `fitted`; `None` for anything else.
#[must_use]
pub fn describe_source(text: &str) -> Option<&'static str> {
    ["published", "derived", "assumed", "fitted"].into_iter().find(|word| text.starts_with(word))
}

impl Profile {
    /// What there is to say about it.
    #[must_use]
    pub fn describe(&self) -> Description {
        let first = &self.cpufreq.policies[0];
        let spelled = |cpus: &[u32]| powerband_record::CpuList::new(cpus.to_vec()).to_string();
        let w = |uw: u64| uw as f64 / 1e6;
        let named = |khz: u32| {
            let named = |own: &PstateConfig| [own.min_khz, own.base_khz, own.turbo_khz].contains(&khz);
            self.cpufreq.pstate.as_ref().is_none_or(named)
        };
        let clocks = self
            .power
            .steps
            .iter()
            .filter(|step| named(step.0))
            .map(|&(khz, running, leakage)| ClockDescription { khz, running_w: w(running), leakage_w: w(leakage) });
        let network = &self.network;
        Description {
            name: self.name.clone(),
            title: self.title.clone(),
            rules: rules_name(self.cpufreq.rules),
            rules_why: self.rules_why.clone(),
            kernel: self.kernel.clone(),
            loads: self.loads(),
            possible: self.possible.to_string(),
            present: self.present.to_string(),
            hz: self.cpufreq.hz,
            policies: self.cpufreq.policies.iter().map(|policy| spelled(&policy.cpus)).collect(),
            governors: self.cpufreq.available_governors.iter().map(|governor| governor.name()).collect(),
            default_governor: self.cpufreq.default_governor.name(),
            transition_latency_us: f64::from(first.transition_latency_ns) / 1e3,
            clocks: clocks.collect(),
            platform_w: w(self.power.platform_uw),
            idle: self.describe_idle(),
            link_mbit_s: network.link_kbit_s as f64 / 1e3,
            client_mbit_s: network.client_kbit_s.map(|kbit_s| kbit_s as f64 / 1e3),
            latency_us: network.latency_ns as f64 / 1e3,
            network_driver: network.driver.map(crate::nic::Driver::name),
            receive_cycles_per_bit: network.receive_millicycles_per_bit as f64 / 1e3,
            send_cycles_per_bit: network.send_millicycles_per_bit as f64 / 1e3,
            counter_cycles: self.counter_millicycles as f64 / 1e3,
            noise_sigma: self.noise.sigma,
            noise_link_sigma: self.noise.link_sigma,
            noise_rtt_sigma: self.noise.rtt_sigma,
            noise_drift_per_hour: self.noise.drift_per_hour,
            noise_interrupt_us: self.noise.interrupt_us,
            noise_wake_us: self.noise.wake_us + self.noise.late_share * self.noise.late_us,
            cannot: self.describe_limits(),
            sources: self.sources.iter().map(|(key, source)| (key.clone(), source.clone())).collect(),
        }
    }

    /// Its idle states, those that were chosen among or those that are sunk through.
    fn describe_idle(&self) -> Vec<IdleDescription> {
        let share = |ppm: u64| ppm as f64 / 1e6;
        let us = |ns: u64| ns as f64 / 1e3;
        if let Some(idle) = &self.idle {
            let chosen = idle.states.iter().map(|state| IdleDescription {
                name: state.name.clone(),
                after_us: us(state.residency_ns),
                exit_us: Some(us(state.exit_ns)),
                running_share: share(state.running_ppm),
                leakage_share: share(state.leakage_ppm),
            });
            return chosen.collect();
        }
        let sunk = self.power.idle.iter().map(|state| IdleDescription {
            name: state.name.clone(),
            after_us: us(state.after_ns),
            exit_us: None,
            running_share: share(state.running_ppm),
            leakage_share: share(state.leakage_ppm),
        });
        sunk.collect()
    }

    fn describe_limits(&self) -> Vec<String> {
        let of_sleep = if self.idle.is_some() { CHOOSING } else { SINKING };
        let of_heat = if self.thermal.is_some() { HEAT } else { NO_HEAT };
        let of_balance = if self.balance.is_some() { BALANCED } else { UNBALANCED };
        let of_daemon = self.cpuspeed.map(|_| DAEMON);
        let general = NONE_CAN.into_iter().chain([of_sleep, of_heat, of_balance]).chain(of_daemon).map(str::to_owned);
        general.chain(self.cannot.iter().cloned()).collect()
    }
}
