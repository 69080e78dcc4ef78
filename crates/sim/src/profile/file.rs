//! The shape of a machine file as written, and its checks.
use std::collections::BTreeMap;

use powerband_record::CpuList;
use serde::Deserialize;

use super::cpufreq::Cpufreq;
use super::rules_name;
use super::{IdleStep, InstructionSet, KernelRules, NetworkSpec, NoiseSpec, PowerSpec, Profile, ProfileError};
use crate::cpuidle::{IdleSpec, IdleState};
use crate::nic::{Driver, Stmmac};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    name: String,
    title: String,
    kernel: String,
    rules: String,
    rules_why: String,
    cpus: Cpus,
    cpufreq: Cpufreq,
    power: Power,
    cpuidle: Option<super::idle::Cpuidle>,
    balance: Option<super::balance::Balance>,
    cpuspeed: Option<super::cpuspeed::Cpuspeed>,
    network: Network,
    ranks: Option<super::ranks::Ranks>,
    serve: Option<super::serve::Serve>,
    #[serde(default)]
    meters: super::meters::Meters,
    thermal: Option<super::thermal::Thermal>,
    variation: Option<super::variation::Variation>,
    #[serde(default)]
    noise: Noise,
    #[serde(default)]
    cannot: Vec<String>,
    #[serde(default)]
    sources: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cpus {
    pub(super) possible: CpuList,
    pub(super) present: CpuList,
    #[serde(default = "one")]
    packages: u32,
    nodes: Option<u32>,
    memory_gib: Option<f64>,
    #[serde(default)]
    caches: Vec<super::cache::Cache>,
    throttle_counts: Option<bool>,
    #[serde(default = "one")]
    threads: u32,
    thread_speed: Option<f64>,
    arch: String,
    model: String,
    signature: Option<[u32; 3]>,
    bogomips: f64,
    tsc_khz: Option<u32>,
    cycles_per_iteration: f64,
    pub(super) hz: u32,
    pub(super) nohz: bool,
    slice_ms: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Power {
    platform_w: f64,
    #[serde(default)]
    package_w: f64,
    #[serde(default)]
    package_idle_w: f64,
    #[serde(default)]
    package_idle_after_us: f64,
    capacitance_nf: f64,
    #[serde(default)]
    memory_w: f64,
    volts: Vec<f64>,
    #[serde(default)]
    leakage_ma: f64,
    #[serde(default = "one_volt")]
    leakage_at_volts: f64,
    #[serde(default)]
    leakage_per_volt: f64,
    #[serde(default)]
    idle: Vec<Idle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Idle {
    name: String,
    after_us: f64,
    running_share: f64,
    leakage_share: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    link_mbit_s: f64,
    client_mbit_s: Option<f64>,
    latency_us: f64,
    loopback_us: f64,
    window_bytes: u64,
    receive_cycles_per_bit: f64,
    receive_own_ns_per_bit: f64,
    send_cycles_per_bit: f64,
    send_own_ns_per_bit: f64,
    exchange_cycles: u64,
    answer_cycles: Option<u64>,
    #[serde(default)]
    interrupt_cycles: u64,
    #[serde(default)]
    writer_wake_cycles: u64,
    write_cycles: Option<u64>,
    driver: Option<String>,
    clock_mhz: Option<u32>,
    least_units: Option<u32>,
    default_units: Option<u32>,
    tx_usecs: Option<u32>,
    tx_frames: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Noise {
    sigma: f64,
    link_sigma: f64,
    rtt_sigma: f64,
    drift_per_hour: f64,
    rho: f64,
    heavy_tails: bool,
    outlier_share: f64,
    outlier_size: f64,
    interrupt_us: f64,
    wake_us: f64,
    late_share: f64,
    late_us: f64,
}

fn one() -> u32 {
    1
}

fn one_volt() -> f64 {
    1.0
}

pub(super) fn wrong<T>(key: &str, why: impl Into<String>) -> Result<T, ProfileError> {
    Err(ProfileError::Value { key: key.into(), why: why.into() })
}

/// `value` in `low..=high`, times `unit`, as an integer.
pub(super) fn scaled(key: &str, value: f64, unit: f64, (low, high): (f64, f64)) -> Result<u64, ProfileError> {
    if value.is_finite() && value >= low && value <= high {
        Ok((value * unit + 0.5) as u64)
    } else {
        wrong(key, format!("is {value}, outside {low} to {high}"))
    }
}

impl File {
    pub(super) fn checked(self) -> Result<Profile, ProfileError> {
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(usable) {
            return wrong("name", "must be letters, digits, '-' or '_'");
        }
        let rules = [KernelRules::V2_6_18, KernelRules::V2_6_32, KernelRules::V6_1]
            .into_iter()
            .find(|r| rules_name(*r) == self.rules);
        let Some(rules) = rules else {
            return wrong("rules", format!("are '{}'; write 2.6.18, 2.6.32 or 6.1", self.rules));
        };
        self.cpus.check()?;
        let arch = match self.cpus.arch.as_str() {
            "arm" => InstructionSet::Arm,
            "x86" => InstructionSet::X86,
            other => return wrong("cpus.arch", format!("is '{other}'; write arm or x86")),
        };
        let cpus = &self.cpus;
        let idle = self.cpuidle.as_ref().map(|cpuidle| cpuidle.spec(rules)).transpose()?;
        let thread_ppm = cpus.thread_ppm(idle.is_some())?;
        let mut cpufreq = self.cpufreq.config(rules, cpus)?;
        cpufreq.thread_stride = thread_ppm.and(u32::try_from(cpus.present.len() / 2).ok());
        let intels = cpufreq.pstate.is_some_and(|own| own.cppc.is_none());
        Ok(Profile {
            cpufreq,
            power: self.power.spec(&self.cpufreq, idle.as_ref(), cpus.present.len())?,
            idle,
            balance: {
                let present = cpus.present.len();
                let spec = |it: &super::balance::Balance| it.spec(rules, present, cpus.packages, cpus.threads);
                self.balance.as_ref().map(spec).transpose()?
            },
            cpuspeed: {
                let clocks = &self.cpufreq.frequencies_khz;
                self.cpuspeed.as_ref().map(|daemon| daemon.options(clocks)).transpose()?
            },
            network: self.network.spec()?,
            ranks: self.ranks.as_ref().map(super::ranks::Ranks::spec).transpose()?,
            serve: self.serve.as_ref().map(super::serve::Serve::spec).transpose()?,
            meters: self.meters.specs(cpus.packages, cpus.threads, &cpus.present)?,
            thermal: self.thermal.as_ref().map(super::thermal::Thermal::spec).transpose()?,
            variation: self.variation.as_ref().map(super::variation::Variation::spec).transpose()?,
            noise: self.noise.spec()?,
            tsc_khz: cpus.tsc_khz,
            bogomips_hundredths: scaled("cpus.bogomips", cpus.bogomips, 100.0, (0.0, 1e6))?,
            counter_millicycles: scaled("cpus.cycles_per_iteration", cpus.cycles_per_iteration, 1e3, (1.0, 1e9))?,
            slice_ns: scaled("cpus.slice_ms", cpus.slice_ms, 1e6, (0.1, 1e4))?,
            packages: cpus.packages,
            nodes: cpus.nodes.unwrap_or(cpus.packages),
            caches: self.cpus.caches.iter().map(super::cache::Cache::spec).collect::<Result<_, _>>()?,
            throttle_counts: cpus.throttle_counts.unwrap_or(arch == InstructionSet::X86 && intels),
            memory_kib: {
                let kib = |gib| scaled("cpus.memory_gib", gib, 1024.0 * 1024.0, (0.001, 1e6));
                cpus.memory_gib.map(kib).transpose()?
            },
            signature: cpus.signature,
            threads: cpus.threads,
            thread_ppm,
            arch,
            name: self.name,
            title: self.title,
            kernel: self.kernel,
            rules_why: self.rules_why,
            possible: self.cpus.possible,
            present: self.cpus.present,
            model: self.cpus.model,
            cannot: self.cannot,
            sources: self.sources,
        })
    }
}

impl Cpus {
    fn check(&self) -> Result<(), ProfileError> {
        let present = self.present.as_slice();
        if present.is_empty() || present.iter().zip(0..).any(|(&cpu, place)| cpu != place) {
            return wrong("cpus.present", "must begin at CPU 0 and leave none out");
        }
        if present.iter().any(|&cpu| !self.possible.contains(cpu)) {
            return wrong("cpus.present", "names a CPU that cpus.possible does not");
        }
        if self.possible.as_slice().last().is_some_and(|&last| last >= 1024) {
            return wrong("cpus.possible", "goes beyond CPU 1023");
        }
        let packages = usize::try_from(self.packages).unwrap_or(0);
        if packages == 0 || !present.len().is_multiple_of(packages) {
            return wrong("cpus.packages", "must divide the number of present CPUs");
        }
        if self.nodes.is_some_and(|nodes| nodes == 0 || !self.packages.is_multiple_of(nodes)) {
            return wrong("cpus.nodes", "must divide the number of packages");
        }
        if self.threads != 1 && (self.threads != 2 || !present.len().is_multiple_of(2 * packages)) {
            return wrong("cpus.threads", "must be 1, or 2 with an even number of CPUs in each package");
        }
        if !(50..=1000).contains(&self.hz) {
            return wrong("cpus.hz", "must be 50 to 1000");
        }
        Ok(())
    }

    /// What a thread retires while its sibling works too, of what it does alone, millionths.
    fn thread_ppm(&self, has_idle_states: bool) -> Result<Option<u64>, ProfileError> {
        let Some(speed) = self.thread_speed else { return Ok(None) };
        if self.threads < 2 || !has_idle_states {
            return wrong("cpus.thread_speed", "needs cpus.threads = 2 and cpuidle.states");
        }
        scaled("cpus.thread_speed", speed, 1e6, (0.5, 1.0)).map(Some)
    }
}

impl Power {
    fn spec(&self, cpufreq: &Cpufreq, chosen: Option<&IdleSpec>, cpus: usize) -> Result<PowerSpec, ProfileError> {
        let frequencies_khz = &cpufreq.frequencies_khz;
        if self.volts.len() != frequencies_khz.len() || self.volts.iter().any(|v| !(0.1..=5.0).contains(v)) {
            return wrong("power.volts", "must give a voltage of 0.1 to 5 V for each of cpufreq.frequencies_khz");
        }
        let limit = (0.0, 1e5);
        let uw = |key, watts| scaled(key, watts, 1e6, limit);
        scaled("power.capacitance_nf", self.capacitance_nf, 1.0, (0.0, 1e4))?;
        scaled("power.leakage_ma", self.leakage_ma, 1.0, limit)?;
        scaled("power.leakage_at_volts", self.leakage_at_volts, 1.0, (0.1, 5.0))?;
        scaled("power.leakage_per_volt", self.leakage_per_volt, 1.0, (0.0, 10.0))?;
        let leakage = |volts: f64| {
            self.leakage_ma * 1e-3 * volts * libm::exp(self.leakage_per_volt * (volts - self.leakage_at_volts))
        };
        scaled("power.memory_w", self.memory_w, 1.0, limit)?;
        let memory_w = self.memory_w / cpus.max(1) as f64;
        let mut steps = Vec::new();
        for (khz, volts) in cpufreq.curve(&self.volts) {
            // Memory draws by how many CPUs work, whatever their clock.
            let running_w = self.capacitance_nf * 1e-9 * volts * volts * f64::from(khz) * 1e3 + memory_w;
            steps.push((khz, uw("power.capacitance_nf", running_w)?, uw("power.leakage_ma", leakage(volts))?));
        }
        let idle = match chosen {
            Some(chosen) => self.steps_of(chosen)?,
            None => self.idle_steps()?,
        };
        Ok(PowerSpec {
            platform_uw: uw("power.platform_w", self.platform_w)?,
            package_uw: uw("power.package_w", self.package_w)?,
            package_idle_uw: uw("power.package_idle_w", self.package_idle_w)?,
            package_idle_after_ns: scaled("power.package_idle_after_us", self.package_idle_after_us, 1e3, (0.0, 1e9))?,
            steps,
            idle,
        })
    }

    /// The steps a sleeping CPU sinks through.
    fn idle_steps(&self) -> Result<Vec<IdleStep>, ProfileError> {
        if self.idle.first().is_none_or(|first| first.after_us != 0.0)
            || self.idle.windows(2).any(|pair| pair[0].after_us >= pair[1].after_us)
        {
            return wrong("power.idle", "must begin with after_us = 0 and go on in rising order");
        }
        let idle = self.idle.iter().map(|state| {
            Ok(IdleStep {
                name: state.name.clone(),
                after_ns: scaled("power.idle.after_us", state.after_us, 1e3, (0.0, 1e9))?,
                running_ppm: scaled("power.idle.running_share", state.running_share, 1e6, (0.0, 1.0))?,
                leakage_ppm: scaled("power.idle.leakage_share", state.leakage_share, 1e6, (0.0, 1.0))?,
            })
        });
        idle.collect()
    }

    /// What stands in their place where CPUs choose: the states that do not poll.
    fn steps_of(&self, chosen: &IdleSpec) -> Result<Vec<IdleStep>, ProfileError> {
        if !self.idle.is_empty() || self.package_idle_after_us != 0.0 {
            return wrong(
                "power.idle",
                "and power.package_idle_after_us are left out where cpuidle.states are given, which say it",
            );
        }
        let step = |state: &IdleState| IdleStep {
            name: state.name.clone(),
            after_ns: state.residency_ns,
            running_ppm: state.running_ppm,
            leakage_ppm: state.leakage_ppm,
        };
        Ok(chosen.states.iter().filter(|state| !state.polls).map(step).collect())
    }
}

impl Network {
    fn spec(&self) -> Result<NetworkSpec, ProfileError> {
        let cost = (0.0, 1e6);
        if self.window_bytes < 1_448 || self.window_bytes > 1 << 30 {
            return wrong("network.window_bytes", "must be 1448 to 1073741824");
        }
        let answer_cycles = self.answer_cycles.unwrap_or(self.exchange_cycles);
        for (key, cycles) in [
            ("network.exchange_cycles", self.exchange_cycles),
            ("network.answer_cycles", answer_cycles),
            ("network.interrupt_cycles", self.interrupt_cycles),
            ("network.writer_wake_cycles", self.writer_wake_cycles),
            ("network.write_cycles", self.write_cycles.unwrap_or(0)),
        ] {
            if cycles > 1_000_000_000_000 {
                return wrong(key, "is beyond 10^12");
            }
        }
        let client = |mbit_s| scaled("network.client_mbit_s", mbit_s, 1e3, (0.001, self.link_mbit_s));
        Ok(NetworkSpec {
            client_kbit_s: self.client_mbit_s.map(client).transpose()?,
            link_kbit_s: scaled("network.link_mbit_s", self.link_mbit_s, 1e3, (0.001, 1e6))?,
            latency_ns: scaled("network.latency_us", self.latency_us, 1e3, (0.0, 1e7))?,
            loopback_ns: scaled("network.loopback_us", self.loopback_us, 1e3, (0.0, 1e7))?,
            window_bytes: self.window_bytes,
            receive_millicycles_per_bit: scaled(
                "network.receive_cycles_per_bit",
                self.receive_cycles_per_bit,
                1e3,
                cost,
            )?,
            receive_own_ps_per_bit: scaled("network.receive_own_ns_per_bit", self.receive_own_ns_per_bit, 1e3, cost)?,
            send_millicycles_per_bit: scaled("network.send_cycles_per_bit", self.send_cycles_per_bit, 1e3, cost)?,
            send_own_ps_per_bit: scaled("network.send_own_ns_per_bit", self.send_own_ns_per_bit, 1e3, cost)?,
            exchange_cycles: self.exchange_cycles,
            answer_cycles,
            interrupt_cycles: self.interrupt_cycles,
            writer_wake_cycles: self.writer_wake_cycles,
            write_cycles: self.write_cycles,
            driver: self.driver()?,
        })
    }

    fn driver(&self) -> Result<Option<Driver>, ProfileError> {
        let own = [self.least_units, self.default_units, self.tx_usecs, self.tx_frames];
        if self.driver.as_deref() != Some("stmmac") && own.iter().any(Option::is_some) {
            return wrong(
                "network",
                "has least_units, default_units, tx_usecs or tx_frames, which belong to the driver stmmac",
            );
        }
        match (self.driver.as_deref(), self.clock_mhz) {
            (None, None) => Ok(None),
            (Some("e1000e"), None) => Ok(Some(Driver::E1000e)),
            (Some("i40e"), None) => Ok(Some(Driver::I40e)),
            (Some("stmmac"), Some(clock_mhz @ 16..=1_000)) => {
                let like_6_1 = Stmmac::new(clock_mhz);
                let stmmac = Stmmac {
                    least_units: self.least_units.unwrap_or(like_6_1.least_units),
                    default_units: self.default_units.unwrap_or(like_6_1.default_units),
                    tx_usecs: self.tx_usecs.unwrap_or(like_6_1.tx_usecs),
                    tx_frames: self.tx_frames.unwrap_or(like_6_1.tx_frames),
                    ..like_6_1
                };
                let why = stmmac.fault().map_or(Ok(()), |(key, why)| wrong(key, why));
                why.map(|()| Some(Driver::Stmmac(stmmac)))
            }
            (Some("stmmac"), _) => wrong("network.clock_mhz", "must be 16 to 1000 with the driver stmmac"),
            (Some("e1000e" | "i40e") | None, Some(_)) => {
                wrong("network.clock_mhz", "belongs to the driver stmmac alone")
            }
            (Some(other), _) => {
                wrong("network.driver", format!("is '{other}'; write e1000e, i40e or stmmac, or leave it out"))
            }
        }
    }
}

impl Noise {
    fn spec(&self) -> Result<NoiseSpec, ProfileError> {
        let sigmas =
            [("noise.sigma", self.sigma), ("noise.link_sigma", self.link_sigma), ("noise.rtt_sigma", self.rtt_sigma)];
        for (key, sigma) in sigmas {
            scaled(key, sigma, 1.0, (0.0, 1.0))?;
        }
        scaled("noise.drift_per_hour", self.drift_per_hour.abs(), 1.0, (0.0, 10.0))?;
        scaled("noise.rho", self.rho.abs(), 1.0, (0.0, 0.999))?;
        scaled("noise.outlier_share", self.outlier_share, 1.0, (0.0, 1.0))?;
        scaled("noise.outlier_size", self.outlier_size, 1.0, (-0.9, 100.0))?;
        scaled("noise.late_share", self.late_share, 1.0, (0.0, 1.0))?;
        let delays = [
            ("noise.interrupt_us", self.interrupt_us),
            ("noise.wake_us", self.wake_us),
            ("noise.late_us", self.late_us),
        ];
        for (key, delay_us) in delays {
            scaled(key, delay_us, 1.0, (0.0, 1e6))?;
        }
        Ok(NoiseSpec {
            sigma: self.sigma,
            link_sigma: self.link_sigma,
            rtt_sigma: self.rtt_sigma,
            drift_per_hour: self.drift_per_hour,
            rho: self.rho,
            heavy_tails: self.heavy_tails,
            outlier_share: self.outlier_share,
            outlier_size: self.outlier_size,
            interrupt_us: self.interrupt_us,
            wake_us: self.wake_us,
            late_share: self.late_share,
            late_us: self.late_us,
        })
    }
}
