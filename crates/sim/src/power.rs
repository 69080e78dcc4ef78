//! What a machine draws: a running CPU, one that sleeps ever deeper, a package, the rest. Integers: µW × ns = fJ.

/// One idle state, reached by sleeping long enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleStep {
    /// Name.
    pub name: String,
    /// Idle time after which a CPU is in it, ns; the first is 0.
    pub after_ns: u64,
    /// Share of the running power still drawn, millionths.
    pub running_ppm: u64,
    /// Share of the leakage still there, millionths.
    pub leakage_ppm: u64,
}

/// The power model of a machine. A running CPU draws C·V²·f and its leakage V·I₀·exp(α(V−V₀)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSpec {
    /// Everything that never changes, µW.
    pub platform_uw: u64,
    /// A package with a CPU awake, µW.
    pub package_uw: u64,
    /// A package asleep, µW.
    pub package_idle_uw: u64,
    /// Idle time of all its CPUs after which a package sleeps, ns.
    pub package_idle_after_ns: u64,
    /// (kHz, running power of one CPU in µW, leakage of one CPU in µW), in the driver's order.
    pub steps: Vec<(u32, u64, u64)>,
    /// Idle states, shallow first.
    pub idle: Vec<IdleStep>,
}

/// All of a power, millionths.
pub(crate) const WHOLE_PPM: u64 = 1_000_000;

/// µW × ns, which is fJ.
fn fj(power_uw: u64, for_ns: u64) -> u128 {
    u128::from(power_uw) * u128::from(for_ns)
}

impl PowerSpec {
    /// Running power and leakage of one CPU at `khz`, µW. Nothing at a clock that is not in the table.
    #[must_use]
    pub fn at(&self, khz: u32) -> (u64, u64) {
        self.steps.iter().find(|step| step.0 == khz).map_or((0, 0), |&(_, running, leakage)| (running, leakage))
    }

    /// What one CPU draws asleep in state `state` (an index into the idle states) at a clock, µW.
    fn asleep_uw(&self, state: &IdleStep, (running, leakage): (u64, u64)) -> u64 {
        (running * state.running_ppm + leakage * state.leakage_ppm) / 1_000_000
    }

    /// Energy of one CPU that draws shares of its running power and of its leakage, fJ.
    pub(crate) fn share_fj((running, leakage): (u64, u64), (of_running, of_leakage): (u64, u64), for_ns: u64) -> u128 {
        fj((running * of_running + leakage * of_leakage) / WHOLE_PPM, for_ns)
    }

    /// Energy of one CPU that runs, or stands still for a change of clock, fJ.
    #[must_use]
    pub fn awake_fj(&self, at: (u64, u64), running_ns: u64, standing_ns: u64) -> u128 {
        let running = fj(at.0 + at.1, running_ns);
        if standing_ns == 0 {
            return running;
        }
        let standing = self.idle.first().map_or(0, |state| at.0 * state.running_ppm / 1_000_000) + at.1;
        running + fj(standing, standing_ns)
    }

    /// Energy of one idle CPU from `from_ns` to `to_ns` after it fell asleep, fJ.
    #[must_use]
    pub fn asleep_fj(&self, at: (u64, u64), from_ns: u64, to_ns: u64) -> u128 {
        let mut sum = 0;
        for (place, state) in self.idle.iter().enumerate() {
            let end = self.idle.get(place + 1).map_or(u64::MAX, |deeper| deeper.after_ns).min(to_ns);
            let begin = state.after_ns.max(from_ns);
            if begin < end {
                sum += fj(self.asleep_uw(state, at), end - begin);
            }
        }
        sum
    }

    /// Energy of one package from `from_ns` to `to_ns` after its last CPU fell asleep, fJ.
    #[must_use]
    pub fn package_asleep_fj(&self, from_ns: u64, to_ns: u64) -> u128 {
        let border = self.package_idle_after_ns.clamp(from_ns, to_ns);
        fj(self.package_uw, border - from_ns) + fj(self.package_idle_uw, to_ns - border)
    }

    /// Energy of one package with a CPU awake, fJ.
    #[must_use]
    pub fn package_awake_fj(&self, for_ns: u64) -> u128 {
        fj(self.package_uw, for_ns)
    }

    /// Energy of everything else, fJ.
    #[must_use]
    pub fn platform_fj(&self, for_ns: u64) -> u128 {
        fj(self.platform_uw, for_ns)
    }
}

/// When a package was last looked at, and how many of its CPUs are awake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    awake: u32,
    since_ns: u64,
    asleep_since_ns: u64,
    energy_fj: u128,
}

impl Package {
    /// One whose CPUs are all awake, at boot.
    pub(crate) fn awake(cpus: u32) -> Self {
        Package { awake: cpus, ..Package::default() }
    }

    /// Energy since boot up to `now_ns`, fJ.
    pub(crate) fn energy_fj(&self, spec: &PowerSpec, now_ns: u64) -> u128 {
        self.energy_fj
            + if self.awake > 0 {
                spec.package_awake_fj(now_ns - self.since_ns)
            } else {
                spec.package_asleep_fj(self.since_ns - self.asleep_since_ns, now_ns - self.asleep_since_ns)
            }
    }

    /// One of its CPUs woke or fell asleep.
    pub(crate) fn turned(&mut self, spec: &PowerSpec, woke: bool, now_ns: u64) {
        let border = if woke { self.awake == 0 } else { self.awake == 1 };
        if border {
            self.energy_fj = self.energy_fj(spec, now_ns);
            (self.since_ns, self.asleep_since_ns) = (now_ns, now_ns);
        }
        self.awake = if woke { self.awake + 1 } else { self.awake.saturating_sub(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> PowerSpec {
        let step = |name: &str, after_ns, running_ppm, leakage_ppm| IdleStep {
            name: name.into(),
            after_ns,
            running_ppm,
            leakage_ppm,
        };
        PowerSpec {
            platform_uw: 1_000,
            package_uw: 50,
            package_idle_uw: 10,
            package_idle_after_ns: 100,
            steps: vec![(1_000_000, 600, 40)],
            idle: vec![step("C1", 0, 500_000, 1_000_000), step("C2", 100, 0, 500_000)],
        }
    }

    #[test]
    fn a_sleep_sinks_through_its_states_however_it_is_cut() {
        let (spec, at) = (spec(), (600, 40));
        assert_eq!(spec.asleep_fj(at, 0, 300), 100 * 340 + 200 * 20);
        let cut: u128 =
            [(0, 60), (60, 100), (100, 101), (101, 300)].map(|(a, b)| spec.asleep_fj(at, a, b)).iter().sum();
        assert_eq!(cut, spec.asleep_fj(at, 0, 300));
        assert_eq!(spec.awake_fj(at, 10, 5), 640 * 10 + 340 * 5);
    }

    #[test]
    fn a_package_sleeps_when_all_its_cpus_do() {
        let (spec, mut package) = (spec(), Package::default());
        package.turned(&spec, true, 1_000);
        package.turned(&spec, true, 1_100);
        package.turned(&spec, false, 1_200);
        package.turned(&spec, false, 1_500);
        let asleep = |ns: u128| 100 * 50 + (ns - 100) * 10;
        assert_eq!(package.energy_fj(&spec, 2_000), asleep(1_000) + 500 * 50 + asleep(500));
    }
}
