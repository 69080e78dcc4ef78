//! The part of a machine file on cpufreq: policies, their tables, governors, boost, and the maker's own driver.
use powerband_record::CpuList;
use serde::Deserialize;

use super::file::{Cpus, scaled, wrong};
use super::{BootConfig, Governor, KernelRules, PolicyConfig, ProfileError};
use crate::cpufreq::{BoostSupport, Cppc, Deaf, PstateConfig};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cpufreq {
    driver: String,
    pub(super) frequencies_khz: Vec<u32>,
    policies: Vec<CpuList>,
    transition_latency_us: u32,
    stall_us: f64,
    governors: Vec<String>,
    default_governor: String,
    initial_khz: u32,
    #[serde(default)]
    boost_khz: Vec<u32>,
    boost: Option<bool>,
    #[serde(default)]
    policy_boost: bool,
    #[serde(default)]
    policy_tunables: bool,
    pstate_khz: Option<[u32; 3]>,
    cppc: Option<Levels>,
    #[serde(default)]
    deaf: Deafness,
}

/// AMD's levels of performance.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Levels {
    highest_perf: u32,
    nominal_perf: u32,
    lowest_nonlinear_perf: u32,
}

/// Governors that do not hear what is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Deafness {
    ondemand_up: Option<u32>,
    conservative_down: Option<u32>,
}

/// A governor by its name, if the rules know it.
fn governor(key: &str, name: &str, rules: KernelRules) -> Result<Governor, ProfileError> {
    match Governor::ALL.into_iter().find(|governor| governor.name() == name) {
        Some(Governor::Schedutil) if rules != KernelRules::V6_1 => {
            wrong(key, "has schedutil, which only rules 6.1 know")
        }
        Some(Governor::Interactive) if rules != KernelRules::V2_6_32 => {
            wrong(key, "has interactive, which Android's kernels alone had, and only rules 2.6.32 know")
        }
        Some(governor) => Ok(governor),
        None => wrong(key, format!("has '{name}', which is no governor of Linux")),
    }
}

impl Cpufreq {
    pub(super) fn config(&self, rules: KernelRules, cpus: &Cpus) -> Result<BootConfig, ProfileError> {
        let mut sorted = self.frequencies_khz.clone();
        sorted.sort_unstable();
        if sorted.is_empty() || sorted[0] < 1_000 || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return wrong("cpufreq.frequencies_khz", "must be one or more different frequencies of at least 1000 kHz");
        }
        if sorted.last().is_some_and(|&top| top > 20_000_000) {
            return wrong("cpufreq.frequencies_khz", "goes beyond 20 GHz");
        }
        if !sorted.contains(&self.initial_khz) {
            return wrong("cpufreq.initial_khz", "is not one of cpufreq.frequencies_khz");
        }
        let mut members: Vec<u32> = self.policies.iter().flat_map(|policy| policy.as_slice()).copied().collect();
        members.sort_unstable();
        if members != cpus.present.as_slice() || self.policies.iter().any(CpuList::is_empty) {
            return wrong("cpufreq.policies", "must hold each present CPU once");
        }
        if self.transition_latency_us > 1_000_000 {
            return wrong("cpufreq.transition_latency_us", "is more than a second");
        }
        let stall = scaled("cpufreq.stall_us", self.stall_us, 1e3, (0.0, 1e6))?;
        let policies = self.policies.iter().map(|cpus| {
            let table = if self.pstate_khz.is_some() { &[][..] } else { &self.frequencies_khz };
            let mut policy = PolicyConfig::new(cpus.as_slice().to_vec(), table);
            for step in &mut policy.table {
                step.boost = self.boost_khz.contains(&step.khz);
            }
            policy.transition_latency_ns = self.transition_latency_us * 1_000;
            policy.stall_ns = u32::try_from(stall).unwrap_or(u32::MAX);
            policy.driver.clone_from(&self.driver);
            policy.initial_khz = self.initial_khz;
            // Firmware that limits nothing names the first of its states (ACPI's _PPC). Shown since 2.6.33.
            if self.driver == "acpi-cpufreq" && rules != KernelRules::V2_6_18 {
                policy.bios_limit_khz = table.iter().copied().max();
            }
            policy
        });
        let mut config = BootConfig::new(rules, policies.collect());
        config.hz = cpus.hz;
        config.nohz = cpus.nohz;
        config.possible_cpus = cpus.possible.as_slice().last().map_or(1, |last| last + 1);
        config.available_governors =
            self.governors.iter().map(|name| governor("cpufreq.governors", name, rules)).collect::<Result<_, _>>()?;
        config.default_governor = governor("cpufreq.default_governor", &self.default_governor, rules)?;
        if !config.available_governors.contains(&config.default_governor) {
            return wrong("cpufreq.default_governor", "is not among cpufreq.governors");
        }
        let Deafness { ondemand_up, conservative_down } = self.deaf;
        let stated = [ondemand_up, conservative_down].into_iter().flatten();
        if rules != KernelRules::V2_6_18 && stated.clone().next().is_some()
            || stated.into_iter().any(|it| !(1..=100).contains(&it))
        {
            return wrong("cpufreq.deaf", "must be percentages from 1 to 100, with rules 2.6.18");
        }
        config.deaf = Deaf { ondemand_up, conservative_down };
        self.extend(config)
    }
}

impl Cpufreq {
    /// What newer kernels have besides.
    fn extend(&self, mut config: BootConfig) -> Result<BootConfig, ProfileError> {
        let newer = self.boost.is_some() || self.policy_boost || self.policy_tunables || self.pstate_khz.is_some();
        if newer && config.rules != KernelRules::V6_1 {
            return wrong(
                "cpufreq",
                "has boost, policy_boost, policy_tunables or pstate_khz, which only rules 6.1 know",
            );
        }
        if self.boost_khz.iter().any(|khz| !self.frequencies_khz.contains(khz) || *khz == self.initial_khz) {
            return wrong("cpufreq.boost_khz", "must be among cpufreq.frequencies_khz, and not the frequency at boot");
        }
        let sold = self.frequencies_khz.iter().filter(|khz| !self.boost_khz.contains(khz)).count();
        if sold == 0 || (self.boost.is_none() && (self.policy_boost || !self.boost_khz.is_empty())) {
            return wrong("cpufreq.boost", "must say whether it is on at boot, and leave some frequencies without it");
        }
        config.boost = match (self.boost, self.boost_khz.is_empty()) {
            (None, _) => BoostSupport::Absent,
            (Some(on), true) if self.cppc.is_some() => BoostSupport::Range(on),
            (Some(on), true) => BoostSupport::Hardware(on),
            (Some(on), false) => BoostSupport::Table(on),
        };
        (config.policy_boost, config.per_policy_governors) = (self.policy_boost, self.policy_tunables);
        config.pstate = self.own_driver()?;
        Ok(config)
    }

    /// The maker's own driver, where the file names its clocks.
    fn own_driver(&self) -> Result<Option<PstateConfig>, ProfileError> {
        let Some([min_khz, base_khz, turbo_khz]) = self.pstate_khz else {
            return if self.cppc.is_some() { wrong("cpufreq.cppc", "needs cpufreq.pstate_khz") } else { Ok(None) };
        };
        let cppc = self.cppc.map(|Levels { highest_perf, nominal_perf, lowest_nonlinear_perf }| Cppc {
            highest_perf,
            nominal_perf,
            lowest_nonlinear_perf,
        });
        let own = PstateConfig { min_khz, base_khz, turbo_khz, cppc };
        let step_khz = own.step_khz();
        let whole = |khz: &u32| *khz > 0 && step_khz > 0 && khz.is_multiple_of(step_khz);
        let all = [min_khz, base_khz, turbo_khz, self.initial_khz];
        let range = (self.frequencies_khz.iter().min(), self.frequencies_khz.iter().max());
        let rising = min_khz < base_khz && base_khz <= turbo_khz;
        if !rising
            || !all.iter().all(whole)
            || range != (Some(&min_khz), Some(&turbo_khz))
            || self.boost.is_some() != cppc.is_some()
            || self.policies.iter().any(|policy| policy.len() != 1)
        {
            return wrong(
                "cpufreq.pstate_khz",
                "must be the lowest, the base and the turbo frequency in whole steps of 100000 (of a level with cpufreq.cppc), \
                 the first and the last of cpufreq.frequencies_khz, with a policy for each CPU, and boost only with cpufreq.cppc",
            );
        }
        let levels = cppc.is_none_or(|levels| {
            let Cppc { highest_perf, nominal_perf, lowest_nonlinear_perf } = levels;
            let base_mhz = base_khz / 1_000;
            base_khz == base_mhz * 1_000
                && (1..=255).contains(&highest_perf)
                && (1..=nominal_perf).contains(&lowest_nonlinear_perf)
                && levels.mhz(highest_perf, base_mhz) * 1_000 == turbo_khz
        });
        if !levels {
            return wrong(
                "cpufreq.cppc",
                "must be levels up to 255, of which highest_perf belongs to the turbo frequency as nominal_perf does to the base one",
            );
        }
        Ok(Some(own))
    }

    /// Clocks with their voltages: those of the table, or every step between the points that are given.
    pub(super) fn curve(&self, volts: &[f64]) -> Vec<(u32, f64)> {
        let mut points: Vec<(u32, f64)> = self.frequencies_khz.iter().copied().zip(volts.iter().copied()).collect();
        let Some([min_khz, base_khz, turbo_khz]) = self.pstate_khz else { return points };
        let step_khz = self.cppc.map_or(100_000, |levels| base_khz / levels.nominal_perf.max(1)).max(1);
        points.sort_unstable_by_key(|point| point.0);
        let between = |khz: u32| {
            let pair = points.windows(2).find(|pair| khz <= pair[1].0)?;
            let share = f64::from(khz - pair[0].0) / f64::from(pair[1].0 - pair[0].0);
            Some((khz, pair[0].1 + share * (pair[1].1 - pair[0].1)))
        };
        (min_khz / step_khz..=turbo_khz / step_khz).filter_map(|step| between(step * step_khz)).collect()
    }
}
