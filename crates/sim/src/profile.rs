//! Machine files: what a simulated machine is made of, read from TOML, checked, and turned into integers once.
use std::collections::BTreeMap;

use powerband_record::CpuList;
use thiserror::Error;

use crate::cpufreq::{BootConfig, Governor, KernelRules, PolicyConfig};
use crate::cpuidle::IdleSpec;
use crate::meters::MeterSpec;
use crate::nic::Driver;
use crate::noise::NoiseSpec;
use crate::power::{IdleStep, PowerSpec};
use crate::ranks::RanksSpec;
use crate::schedule::BalanceSpec;
use crate::serve::ServeSpec;
use crate::thermal::ThermalSpec;
use crate::variation::VariationSpec;

mod balance;
mod cache;
mod cpufreq;
mod cpuspeed;
mod describe;
mod file;
mod idle;
mod meters;
mod ranks;
mod serve;
mod text;
mod thermal;
mod variation;

pub use cache::{CacheKind, CacheSpec};
pub use describe::{ClockDescription, Description, IdleDescription, describe_source};

/// Why a text is not a machine file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// No built-in machine has this name.
    #[error("there is no simulated machine '{name}'; choose one of {known}, or give the path of a machine file")]
    Unknown {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// The text does not have the shape of a machine file.
    #[error("this machine file cannot be read: {0}")]
    Shape(String),
    /// A value makes no machine.
    #[error("the machine file's {key} {why}")]
    Value {
        /// Table and key.
        key: String,
        /// What is wrong and what would be right.
        why: String,
    },
}

/// Which instruction set `/proc/cpuinfo` speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// BogoMIPS follow the clock.
    Arm,
    /// BogoMIPS are those of the time stamp counter.
    X86,
}

/// A machine's end of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    /// Goodput of its link, kbit/s; the slower end of a cable counts.
    pub link_kbit_s: u64,
    /// Goodput of one client of a radio channel, kbit/s: each stream is a client's, and all of them share the link as their
    /// channel. A stream has the whole link when `None`.
    pub client_kbit_s: Option<u64>,
    /// Its part of the time a frame is on its way, ns.
    pub latency_ns: u64,
    /// The same for a connection within the machine, ns.
    pub loopback_ns: u64,
    /// Most bytes under way.
    pub window_bytes: u64,
    /// Kernel and process cycles a received bit costs, thousandths.
    pub receive_millicycles_per_bit: u64,
    /// The process's own part of that, ps a bit.
    pub receive_own_ps_per_bit: u64,
    /// Kernel and process cycles a sent bit costs, thousandths.
    pub send_millicycles_per_bit: u64,
    /// The process's own part of that, ps a bit.
    pub send_own_ps_per_bit: u64,
    /// Cycles one exchange of one byte costs this end.
    pub exchange_cycles: u64,
    /// Cycles its kernel needs to answer an echo request.
    pub answer_cycles: u64,
    /// Cycles an interrupt of its card costs, of those for a stream.
    pub interrupt_cycles: u64,
    /// Cycles more it costs to wake who sends, when an interrupt tells that something was sent.
    pub writer_wake_cycles: u64,
    /// Cycles one write to a connection costs, however little is written; writes of an asked size are refused when `None`.
    pub write_cycles: Option<u64>,
    /// Driver of its card; none that coalesces interrupts when `None`.
    pub driver: Option<Driver>,
}

impl NetworkSpec {
    /// What one stream has of it, kbit/s.
    pub(crate) fn stream_kbit_s(&self) -> u64 {
        self.client_kbit_s.unwrap_or(self.link_kbit_s)
    }
}

/// A simulated machine, ready to boot.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name, as in `sim:NAME`.
    pub name: String,
    /// One line on what it is.
    pub title: String,
    /// The kernel release published for the machine it stands for, or words where none is.
    pub kernel: String,
    /// Why it follows the rules it follows.
    pub rules_why: String,
    /// CPUs that could be there.
    pub possible: CpuList,
    /// CPUs that are there; all of them are online at boot.
    pub present: CpuList,
    /// Packages the cores are dealt to, in runs of equal length.
    pub packages: u32,
    /// Memory nodes the packages are dealt to, in runs of equal length; 1 where all reach memory over one bus.
    pub nodes: u32,
    /// Caches of its CPUs, by index; none where the kernel shows none.
    pub caches: Vec<CacheSpec>,
    /// Whether its kernel counts how often a CPU was throttled.
    pub throttle_counts: bool,
    /// Memory of all nodes, KiB; programs that ask for it find it nowhere where it is not given.
    pub memory_kib: Option<u64>,
    /// Threads of each core, 1 or 2: the first of each come first in the numbering.
    pub threads: u32,
    /// What a thread retires while the other one of its core works too, of what it does alone, millionths; `None` where
    /// threads run as if each were a core.
    pub thread_ppm: Option<u64>,
    /// Instruction set.
    pub arch: InstructionSet,
    /// Name of the processor in `/proc/cpuinfo`.
    pub model: String,
    /// Family, model and stepping by which programs know an x86 processor; in `/proc/cpuinfo` where they are given.
    pub signature: Option<[u32; 3]>,
    /// BogoMIPS at the highest clock, hundredths.
    pub bogomips_hundredths: u64,
    /// Clock of the time stamp counter, kHz, where perf counts it and the cycles next to it.
    pub tsc_khz: Option<u32>,
    /// Cycles one iteration of the counter costs, thousandths.
    pub counter_millicycles: u64,
    /// How long a task runs while others wait, ns; looked at on ticks.
    pub slice_ns: u64,
    /// Everything cpufreq.
    pub cpufreq: BootConfig,
    /// What it draws.
    pub power: PowerSpec,
    /// Idle states its CPUs choose among; `None` where they sink into the steps of its power by time alone.
    pub idle: Option<IdleSpec>,
    /// How its kernel moves tasks between CPUs; `None` where a waking task goes to the least loaded CPU, and only one that
    /// waits is ever moved.
    pub balance: Option<BalanceSpec>,
    /// The daemon cpuspeed, and its options; `None` where there is none.
    pub cpuspeed: Option<powerband_cpuspeed::DaemonOptions>,
    /// Its end of the network.
    pub network: NetworkSpec,
    /// What ranks cost; `None` where they are not modelled.
    pub ranks: Option<RanksSpec>,
    /// What serving costs; `None` where it is not modelled.
    pub serve: Option<ServeSpec>,
    /// Meters it has next to the model's own.
    pub meters: Vec<MeterSpec>,
    /// Its thermal zone; its temperature is not modelled when `None`.
    pub thermal: Option<ThermalSpec>,
    /// How pieces of it differ; one piece when `None`.
    pub variation: Option<VariationSpec>,
    /// How its runs differ.
    pub noise: NoiseSpec,
    /// What it cannot do, a sentence each.
    pub cannot: Vec<String>,
    /// Where each parameter comes from: `published`, `derived`, `assumed` or `fitted`, with a few words.
    pub sources: BTreeMap<String, String>,
}

/// The machine files that come with the program.
const BUILTIN: [(&str, &str); 13] = [
    ("amd-server", include_str!("../machines/amd-server.toml")),
    ("board", include_str!("../machines/board.toml")),
    ("cyclone5", include_str!("../machines/cyclone5.toml")),
    ("cyclone5-stock", include_str!("../machines/cyclone5-stock.toml")),
    ("laptop", include_str!("../machines/laptop.toml")),
    ("mpi-server", include_str!("../machines/mpi-server.toml")),
    ("node", include_str!("../machines/node.toml")),
    ("omap3530", include_str!("../machines/omap3530.toml")),
    ("pc", include_str!("../machines/pc.toml")),
    ("quadcore", include_str!("../machines/quadcore.toml")),
    ("server", include_str!("../machines/server.toml")),
    ("smt", include_str!("../machines/smt.toml")),
    ("x3650", include_str!("../machines/x3650.toml")),
];

impl Profile {
    /// Names of the machines that come with the program, sorted.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        BUILTIN.iter().map(|(name, _)| *name).collect()
    }

    /// The text of a machine file that comes with the program: a start for one's own.
    #[must_use]
    pub fn builtin_text(name: &str) -> Option<&'static str> {
        BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// A machine that comes with the program.
    ///
    /// # Errors
    /// [`ProfileError::Unknown`] when there is none of this name.
    pub fn builtin(name: &str) -> Result<Self, ProfileError> {
        match Self::builtin_text(name) {
            Some(text) => Self::parse(text),
            None => Err(ProfileError::Unknown { name: name.into(), known: Self::names().join(", ") }),
        }
    }

    /// Reads a machine file. One with `like = "NAME"` is that machine of the program's with its own keys in place of those.
    ///
    /// # Errors
    /// [`ProfileError`] in one sentence: an unknown key, a missing one, or a value that makes no machine.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let shape = |error| ProfileError::Shape(one_sentence(text, &error));
        let file = match toml::from_str::<Like>(text).map_err(shape)? {
            Like { like: None } => toml::from_str::<file::File>(text).map_err(shape)?,
            // As text again: a second reader of these shapes, for tables, would be a hundred kilobytes. Its lines are not the file's.
            Like { like: Some(_) } => toml::from_str(&Self::table(text)?.to_string())
                .map_err(|error| ProfileError::Shape(one_sentence("", &error)))?,
        };
        file.checked()
    }

    /// A machine file as a table, with what it takes from another one.
    ///
    /// # Errors
    /// [`ProfileError`] for a text that is no table, and for a machine that does not come with the program.
    pub fn table(text: &str) -> Result<toml::Table, ProfileError> {
        let mut own: toml::Table = text.parse().map_err(|error| ProfileError::Shape(one_sentence(text, &error)))?;
        let Some(toml::Value::String(name)) = own.remove("like") else { return Ok(own) };
        let Some(base) = Self::builtin_text(&name) else {
            return Err(ProfileError::Unknown { name, known: Self::names().join(", ") });
        };
        let mut all = Self::table(base)?;
        overlay(&mut all, own);
        Ok(all)
    }

    /// Cores there are, in all packages.
    pub(crate) fn cores(&self) -> u32 {
        (u32::try_from(self.present.len()).unwrap_or(1) / self.threads.max(1)).max(1)
    }

    /// Cores of each package.
    fn cores_per_package(&self) -> u32 {
        (self.cores() / self.packages.max(1)).max(1)
    }

    /// The package of a CPU: cores are dealt to packages in runs, their first threads before their second ones.
    pub(crate) fn package_of(&self, cpu: u32) -> u32 {
        cpu % self.cores() / self.cores_per_package()
    }

    /// The other thread of a CPU's core, where threads share what their core has.
    pub(crate) fn beside(&self, cpu: u32) -> Option<u32> {
        let cores = self.cores();
        self.thread_ppm.map(|_| if cpu < cores { cpu + cores } else { cpu - cores })
    }

    /// The memory node of a CPU.
    pub(crate) fn node_of(&self, cpu: u32) -> u32 {
        self.package_of(cpu) * self.nodes / self.packages.max(1)
    }

    /// The core of a CPU, counted within its package.
    pub(crate) fn core_of(&self, cpu: u32) -> u32 {
        cpu % self.cores() % self.cores_per_package()
    }

    /// Highest clock of any policy, kHz; the reference of memory-bound work.
    #[must_use]
    pub fn max_khz(&self) -> u32 {
        let steps = self.cpufreq.policies.iter().flat_map(|policy| &policy.table).map(|step| step.khz);
        steps.chain(self.cpufreq.pstate.map(|pstate| pstate.turbo_khz)).max().unwrap_or(1)
    }
}

/// The key that makes a machine file the changes to another one.
#[derive(serde::Deserialize)]
struct Like {
    like: Option<String>,
}

/// Puts the values of a table in place of those of another, table by table.
fn overlay(base: &mut toml::Table, own: toml::Table) {
    for (key, value) in own {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(own)) => overlay(base, own),
            (_, value) => drop(base.insert(key, value)),
        }
    }
}

/// What the TOML reader found, with the line where it can name one.
fn one_sentence(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', " ");
    let before = error.span().and_then(|span| text.get(..span.start)).filter(|before| !before.is_empty());
    match before {
        Some(before) => format!("line {}: {}", before.matches('\n').count() + 1, message.trim()),
        None => message.trim().to_owned(),
    }
}

/// The spelling of rules in machine files.
#[must_use]
pub fn rules_name(rules: KernelRules) -> &'static str {
    match rules {
        KernelRules::V2_6_18 => "2.6.18",
        KernelRules::V2_6_32 => "2.6.32",
        KernelRules::V6_1 => "6.1",
    }
}
