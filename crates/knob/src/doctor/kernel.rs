//! The kernel's configuration, held against what the catalogue needs.
use powerband_machine::{Errno, Look};
use powerband_sysfs::{module, proc, proc::OSRELEASE};
use serde::Serialize;

use super::config::{Arch, Config, SymbolState};
use super::fragment::{Fragment, has_driver};
use super::place::Place;
use super::symbol::{ALL, Area, DEFAULTS, Symbol, row};
use super::{DefaultGovernor, DoctorFinding, Section};
use crate::policy::policies;

/// The kernel whose rules the table of symbols follows.
const RULES: (u32, u32) = (6, 1);

/// Whether there is a clock to turn, as far as can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hardware {
    /// A configuration alone.
    Unknown,
    /// A driver changes the clock.
    Driven,
    /// None does, and one could.
    Undriven,
    /// A virtual machine without one: the host keeps the clock to itself.
    Virtual,
}

impl Hardware {
    pub(super) fn of(machine: &mut dyn Look, place: &Place) -> Hardware {
        match policies(machine, "cpufreq") {
            Ok(_) => Hardware::Driven,
            Err(_) if place.virtual_by.is_some() => Hardware::Virtual,
            Err(_) => Hardware::Undriven,
        }
    }
}

/// What is held against what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) config: &'a Config,
    /// Where it was read.
    pub(super) source: &'a str,
    pub(super) hardware: Hardware,
    pub(super) fragment: &'a Fragment<'a>,
    pub(super) default: Option<DefaultGovernor>,
}

/// A configuration as it is told to programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Kernel {
    /// Where it was read.
    pub source: String,
    /// Its version, if it tells it.
    pub release: Option<String>,
    /// Its architecture.
    pub arch: Arch,
    /// Every symbol the catalogue lives on.
    pub symbols: Vec<SymbolRow>,
    /// The lines that turn on what is off; empty when nothing is.
    pub fragment: Vec<String>,
    /// Whether a frequency driver that is known here is enabled once the lines are merged, or one is in charge now. True of a
    /// virtual machine, which needs none.
    pub has_driver: bool,
}

impl Kernel {
    pub(super) fn of(asked: &Asked<'_>, symbols: Vec<SymbolRow>) -> Kernel {
        Kernel {
            source: asked.source.to_owned(),
            release: asked.config.release.clone(),
            arch: asked.config.arch(),
            symbols,
            fragment: asked.fragment.lines(),
            has_driver: !lacks_driver(asked),
        }
    }

    /// Says that a kernel built with the fragment would have no policies, where no driver is enabled in it.
    #[must_use]
    pub fn driver_warning(&self) -> Option<&'static str> {
        (!self.has_driver).then_some(NO_DRIVER)
    }
}

fn lacks_driver(asked: &Asked<'_>) -> bool {
    matches!(asked.hardware, Hardware::Unknown | Hardware::Undriven) && !asked.fragment.brings_driver()
}

const NO_DRIVER: &str = "no frequency driver that is known here is enabled, and the fragment adds none: without one of this board the \
    kernel has no cpufreq policies";

/// One symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SymbolRow {
    /// With `CONFIG_`.
    pub symbol: String,
    /// How it stands.
    pub state: SymbolState,
    /// The menus that lead to it in `make menuconfig`.
    pub menu: &'static [&'static str],
    /// What it is called there; empty for one that follows others by itself.
    pub prompt: &'static str,
    /// What it brings.
    pub brings: &'static str,
    /// Its module, as modprobe takes it, where it is built as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<&'static str>,
    /// Whether that module is loaded; absent when it cannot be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<bool>,
    #[serde(skip)]
    row: &'static Symbol,
}

/// The configuration of the kernel that runs, and where it was read.
pub(super) fn find(machine: &mut dyn Look) -> Result<(Config, String), Section> {
    let mut refused = Vec::new();
    let release = match machine.read(OSRELEASE) {
        Ok(text) => text.trim().to_owned(),
        Err(errno) => {
            refused.extend((errno != Errno::ENOENT).then(|| format!("{OSRELEASE}: {errno}")));
            String::new()
        }
    };
    let mut places = vec![proc::CONFIG.to_owned()];
    if !release.is_empty() {
        places.extend([format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")]);
    }
    for place in &places {
        match machine.read(place) {
            Ok(text) => match Config::parse(&text) {
                Ok(config) => return Ok((config, place.clone())),
                Err(error) => refused.push(format!("{place} {error}")),
            },
            Err(Errno::ENOENT) => {}
            Err(errno) => refused.push(format!("{place}: {errno}")),
        }
    }
    let told = if refused.is_empty() { format!("not in {}", places.join(", ")) } else { refused.join("; ") };
    let note = DoctorFinding::note("configuration", told)
        .with("`modprobe configs` shows it where the kernel keeps it as a module; or name the file: --kernel FILE");
    Err(Section { name: "kernel", title: "kernel configuration".into(), findings: vec![note] })
}

/// The governors of the kernel that runs by its configuration: built in, or modules that are loaded. `None` where no
/// configuration can be read.
pub(crate) fn governors(machine: &mut dyn Look) -> Option<Vec<String>> {
    let (config, _) = find(machine).ok()?;
    let mut is_there = |symbol: &str| match config.state(symbol) {
        SymbolState::Built => true,
        SymbolState::Module => row(symbol, &config).is_some_and(|row| is_loaded(machine, row.module)),
        SymbolState::Absent | SymbolState::Off => false,
    };
    let there = DEFAULTS.iter().filter(|(_, governor, _)| is_there(governor));
    Some(there.map(|(name, ..)| (*name).to_owned()).collect())
}

/// Whether a module is loaded, by its name as modprobe takes it.
pub(super) fn is_loaded(machine: &mut dyn Look, module: &str) -> bool {
    machine.list(&module::folder(module)).is_ok()
}

/// The symbols that kernels like this one have.
pub(super) fn rows(asked: &Asked<'_>, loaded: &mut dyn FnMut(&str) -> Option<bool>) -> Vec<SymbolRow> {
    let (config, arch) = (asked.config, asked.config.arch());
    let shown = ALL.iter().filter(|row| row.applies(config) && (row.area != Area::Below || !config.has(row.name)));
    let rows = shown.map(|row| {
        let state = config.state(row.name);
        let module = (state == SymbolState::Module && !row.module.is_empty()).then_some(row.module);
        SymbolRow {
            symbol: format!("CONFIG_{}", row.name),
            state,
            menu: row.menu(arch),
            prompt: row.prompt,
            brings: row.brings,
            module,
            loaded: module.and_then(&mut *loaded),
            row,
        }
    });
    rows.collect()
}

/// One line a symbol, the governor at boot, the fragment.
pub(super) fn section(asked: &Asked<'_>, rows: &[SymbolRow]) -> Section {
    let config = asked.config;
    let release = config.release.as_deref().unwrap_or("of an untold version");
    let title = format!("kernel configuration ({}, {release}, {})", asked.source, config.arch().words());
    let lines = asked.fragment.lines();
    let added = |row: &SymbolRow| lines.iter().any(|line| line.starts_with(&format!("{}=", row.symbol)));
    let mut findings: Vec<DoctorFinding> = rows.iter().filter_map(|row| of_row(asked, row, added(row))).collect();
    if !has_driver(config) && config.arch() == Arch::Other && config.has("CPU_FREQ") {
        findings.push(DoctorFinding::note("drivers", "those of this architecture are not known here"));
    } else if lacks_driver(asked) {
        // A note: not every board's driver is known here.
        let todo =
            format!("enable the driver of this board at {}", super::symbol::clock_menu(config.arch()).join(" → "));
        findings.push(DoctorFinding::note("drivers", NO_DRIVER).with(todo));
    }
    findings.extend(of_default(asked));
    if !lines.is_empty() {
        let told = format!("{} lines enable what is off", lines.len());
        findings.push(DoctorFinding::note("fragment", told).with(
            "`powerband doctor --fragment > powerband.config`, then in the kernel's source \
             `scripts/kconfig/merge_config.sh -m .config powerband.config && make olddefconfig`",
        ));
        let (major, minor, _) = config.version();
        if (major, minor) != RULES {
            let told = format!("what depends on what is taken from Linux {}.{}", RULES.0, RULES.1);
            findings.push(
                DoctorFinding::note("rules", told)
                    .with("look after `make olddefconfig` whether each line is still there"),
            );
        }
    }
    Section { name: "kernel", title, findings }
}

/// What is told of one symbol; nothing of a driver that nobody misses.
fn of_row(asked: &Asked<'_>, found: &SymbolRow, added: bool) -> Option<DoctorFinding> {
    let row = found.row;
    let about = &found.symbol;
    if found.state.is_on() {
        let state = if found.state == SymbolState::Module { "a module" } else { "built in" };
        let ok = DoctorFinding::ok(about, format!("{state}: {}", row.brings));
        return Some(match (found.module, found.loaded) {
            // The kernel loads a governor when it is chosen.
            (Some(module), Some(false)) if row.area != Area::Cpufreq && !driven(asked, row) => {
                DoctorFinding::note(about, format!("a module that is not loaded: {}", row.brings))
                    .with(format!("`modprobe {module}`, where the hardware has it"))
            }
            (Some(module), Some(false)) => {
                DoctorFinding::ok(about, format!("{state} ({module}), not loaded: {}", row.brings))
            }
            _ => ok,
        });
    }
    if !added && matches!(row.area, Area::Driver | Area::Beside | Area::Below) {
        return None;
    }
    let told = format!("off: {}", row.brings);
    let todo = match asked.fragment.out_of_reach.iter().find(|(name, _)| *name == row.name) {
        Some((_, lacks)) => format!("no line enables it: it needs CONFIG_{lacks}, which this kernel has not"),
        None => format!("enable {}", row.path(asked.config.arch())),
    };
    let is_missing = match row.area {
        Area::Cpufreq => row.name != "CPU_FREQ_STAT" && asked.hardware != Hardware::Virtual,
        Area::Driver => matches!(asked.hardware, Hardware::Unknown | Hardware::Undriven) && !has_driver(asked.config),
        Area::Quota | Area::Files => true,
        Area::Beside | Area::Below => false,
    };
    Some(if is_missing {
        DoctorFinding::missing(about, told, todo)
    } else {
        DoctorFinding::note(about, told).with(todo)
    })
}

/// Whether a driver is none that anybody waits for, since another one is in charge.
fn driven(asked: &Asked<'_>, row: &Symbol) -> bool {
    row.area == Area::Driver && asked.hardware == Hardware::Driven
}

/// The governor at boot, and what stands against the one asked for.
fn of_default(asked: &Asked<'_>) -> Option<DoctorFinding> {
    const ABOUT: &str = "default governor";
    let now = DEFAULTS.iter().find(|(.., symbol)| asked.config.has(symbol)).map(|(name, ..)| *name);
    let Some(DefaultGovernor(wanted)) = asked.default else {
        return now.map(|name| DoctorFinding::ok(ABOUT, format!("{name}, as the kernel was configured")));
    };
    let now = now.unwrap_or("none");
    let word = without_building(asked, wanted);
    Some(match &asked.fragment.no_default {
        _ if now == wanted => DoctorFinding::ok(ABOUT, format!("{wanted}, as the kernel was configured")),
        Some(why) => {
            let build = || format!("build a kernel with the governor {wanted}, then see what its command line can do");
            DoctorFinding::missing(ABOUT, format!("{now}, not {wanted}: {why}"), word.unwrap_or_else(build))
        }
        None => DoctorFinding::missing(
            ABOUT,
            format!("{now}, not {wanted}"),
            format!(
                "choose {wanted} at {} → Default CPUFreq governor, as the fragment does{}",
                super::symbol::clock_menu(asked.config.arch()).join(" → "),
                word.map(|word| format!("; or without building, {word}")).unwrap_or_default()
            ),
        ),
    })
}

/// How a kernel that has the governor comes up with it although it was configured with another.
fn without_building(asked: &Asked<'_>, wanted: &str) -> Option<String> {
    let (_, governor, _) = DEFAULTS.iter().find(|(name, ..)| *name == wanted)?;
    let state = asked.config.state(governor);
    if !state.is_on() {
        return None;
    }
    if asked.config.version() < (5, 9, 0) {
        return Some(format!("set it after each boot: `powerband set governor={wanted}`"));
    }
    // In its active mode that driver knows these two alone, whatever the kernel has.
    let passive = asked.config.has("X86_INTEL_PSTATE") && !matches!(wanted, "performance" | "powersave");
    let first = if passive { "intel_pstate=passive " } else { "" };
    let module = row(governor, asked.config).filter(|_| state == SymbolState::Module);
    let loaded = module.map(|row| format!(", and load {} before the driver, from the initramfs say", row.module));
    let loaded = loaded.unwrap_or_default();
    Some(format!("write {first}cpufreq.default_governor={wanted} on the kernel's command line{loaded}"))
}
