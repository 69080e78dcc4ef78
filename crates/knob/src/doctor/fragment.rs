//! The lines to merge into a configuration: only such as take effect, each with the lines it depends on.
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::config::{Config, SymbolState};
use super::symbol::{ALL, Area, DEFAULTS, Kind, Symbol, row};

/// Drivers that take the CPU over from others once they are there: never added to a kernel that has a driver.
const TAKES_OVER: [&str; 2] = ["X86_INTEL_PSTATE", "X86_AMD_PSTATE"];

/// On by itself where several CPUs are, and brings intel_pstate.
const SELECTS_INTEL_PSTATE: &str = "SCHED_MC_PRIO";

/// A configuration with what is to be added.
#[derive(Debug)]
pub(super) struct Fragment<'a> {
    config: &'a Config,
    /// States to be, by symbol; `Off` for what makes room.
    plan: BTreeMap<&'static str, SymbolState>,
    /// Their order: what others need first.
    order: Vec<&'static str>,
    /// What cannot be turned on by a line, with what it lacks.
    pub(super) out_of_reach: Vec<(&'static str, String)>,
    /// Why the governor asked for cannot be the default.
    pub(super) no_default: Option<String>,
}

impl<'a> Fragment<'a> {
    /// What turns on all that is off, with `default` (a name of [`DEFAULTS`]) as the governor at boot.
    pub(super) fn of(config: &'a Config, default: Option<&str>) -> Fragment<'a> {
        let (plan, order) = (BTreeMap::new(), Vec::new());
        let mut fragment = Fragment { config, plan, order, out_of_reach: Vec::new(), no_default: None };
        for symbol in ALL.iter().filter(|symbol| is_wanted(symbol, config, default)) {
            if let Err(lacks) = fragment.turn_on(symbol.name) {
                fragment.out_of_reach.push((symbol.name, lacks));
            }
        }
        if let Some(default) = default {
            fragment.no_default = fragment.make_default(default).err();
        }
        fragment
    }

    /// The lines, as a configuration has them.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |name: &&str| match self.plan.get(name) {
            Some(SymbolState::Built) => Some(format!("CONFIG_{name}=y")),
            Some(SymbolState::Module) => Some(format!("CONFIG_{name}=m")),
            Some(SymbolState::Off) => Some(format!("# CONFIG_{name} is not set")),
            _ => None,
        };
        self.order.iter().filter_map(line).collect()
    }

    /// Whether a frequency driver is enabled once the lines are merged.
    pub(super) fn brings_driver(&self) -> bool {
        let is_driver = |name: &str| row(name, self.config).is_some_and(|symbol| symbol.area == Area::Driver);
        has_driver(self.config) || self.plan.iter().any(|(name, state)| state.is_on() && is_driver(name))
    }

    /// How a symbol stands once the lines are merged.
    fn state(&self, name: &str) -> SymbolState {
        self.plan.get(name).copied().unwrap_or_else(|| self.config.state(name))
    }

    fn set(&mut self, name: &'static str, state: SymbolState) {
        if self.plan.insert(name, state).is_none() {
            self.order.push(name);
        }
    }

    /// Plans a symbol and all it needs, or nothing; how it then stands, or the symbol that is not to be had.
    fn turn_on(&mut self, name: &str) -> Result<SymbolState, String> {
        let state = self.state(name);
        if state.is_on() {
            return Ok(state);
        }
        // One of several that no line brings: given or not.
        if let Some(given) = name.split('|').map(|one| self.state(one)).filter(|state| state.is_on()).max() {
            return Ok(given);
        }
        let symbol = row(name, self.config).ok_or_else(|| name.to_owned())?;
        let before = (self.plan.clone(), self.order.clone());
        let mut most = SymbolState::Built;
        for need in symbol.needs {
            match self.turn_on(need) {
                Ok(state) => most = most.min(state),
                Err(lacks) => {
                    (self.plan, self.order) = before;
                    return Err(lacks);
                }
            }
        }
        let state = match symbol.kind {
            // What is only in the kernel or not may need a module and is in the kernel all the same.
            Kind::Bool => SymbolState::Built,
            Kind::Module if self.config.has("MODULES") => SymbolState::Module,
            Kind::Built | Kind::Module => most,
        };
        self.set(symbol.name, state);
        Ok(state)
    }

    /// Plans the governor at boot: it built in, its symbol of the choice on, the others off.
    fn make_default(&mut self, name: &str) -> Result<(), String> {
        let Some(&(_, governor, default)) = DEFAULTS.iter().find(|(known, ..)| *known == name) else {
            return Err(format!("there is no governor {name}"));
        };
        if self.config.has(default) {
            return Ok(());
        }
        let follows_load = matches!(name, "ondemand" | "conservative");
        if follows_load
            && self.config.version() >= (5, 8, 0)
            && self.state("X86_INTEL_PSTATE").is_on()
            && self.state("SMP").is_on()
        {
            return Err(format!("a kernel with intel_pstate and several CPUs does not take {name} as its default"));
        }
        self.choice_has(name)?;
        self.turn_on(governor).map_err(|lacks| format!("{name} needs CONFIG_{lacks}, which this kernel has not"))?;
        if self.state(governor) != SymbolState::Built {
            self.set(governor, SymbolState::Built);
        }
        for (_, _, other) in DEFAULTS.iter().filter(|(_, _, other)| *other != default) {
            if self.config.has(other) {
                self.set(other, SymbolState::Off);
            }
        }
        self.set(default, SymbolState::Built);
        if follows_load {
            self.keep_out_intel_pstate();
        }
        Ok(())
    }

    /// Whether kernels of this age offer a governor as the default: 2.6.18 has two of them, 2.6.32 all, of which powersave is
    /// kept for experts (it no longer is in a 4.4).
    fn choice_has(&self, name: &str) -> Result<(), String> {
        let version = self.config.version();
        if version < (2, 6, 24) && !matches!(name, "performance" | "userspace") {
            return Err("kernels before Linux 2.6.24 take performance and userspace alone".to_owned());
        }
        let expert = if version < (2, 6, 38) { "EMBEDDED" } else { "EXPERT" };
        if name == "powersave" && version < (4, 4, 0) && !self.config.has(expert) {
            return Err(format!("kernels of this age take powersave only with CONFIG_{expert}"));
        }
        Ok(())
    }

    /// Where a kernel gets its second CPU by these lines, a default of it would bring intel_pstate along (SCHED_MC_PRIO
    /// selects it, since Linux 4.10).
    fn keep_out_intel_pstate(&mut self) {
        let unasked =
            self.config.state(SELECTS_INTEL_PSTATE) == SymbolState::Absent && self.config.version() >= (4, 10, 0);
        if unasked && self.plan.contains_key("SMP") && self.config.has("CPU_SUP_INTEL") {
            self.set(SELECTS_INTEL_PSTATE, SymbolState::Off);
        }
    }
}

/// Whether a symbol should be on.
fn is_wanted(symbol: &Symbol, config: &Config, default: Option<&str>) -> bool {
    let takes_over = TAKES_OVER.contains(&symbol.name);
    // With it these two could not be the default.
    let in_the_way = symbol.name == TAKES_OVER[0] && matches!(default, Some("ondemand" | "conservative"));
    symbol.area != Area::Below
        && symbol.applies(config)
        && !(takes_over && !config.has(symbol.name) && (has_driver(config) || in_the_way))
}

/// Drivers by other names than `…CPUFREQ`.
const OTHER_DRIVERS: [&str; 4] = ["X86_POWERNOW", "X86_SPEEDSTEP", "X86_P4_CLOCKMOD", "X86_LONGHAUL"];

/// Whether a driver that changes the clock is there, of any kind.
pub(super) fn has_driver(config: &Config) -> bool {
    let is_driver = |name: &str| {
        // Some have more behind it: ARM_QCOM_CPUFREQ_NVMEM.
        let named = (name.starts_with("X86_") || name.starts_with("ARM_")) && name.contains("CPUFREQ")
            || name.ends_with("CPUFREQ_HW")
            || OTHER_DRIVERS.iter().any(|driver| name.starts_with(driver));
        named || row(name, config).is_some_and(|symbol| symbol.area == Area::Driver)
    };
    // Linux 3.3 builds OMAP's with the processor, without a symbol of its own.
    let unnamed = config.has("ARCH_OMAP2PLUS") && ((3, 3, 0)..(3, 4, 0)).contains(&config.version());
    unnamed || config.on().any(is_driver)
}
