//! What a knob says of itself: name, unit, scope, documentation. The catalogue's help and the generated pages come from here.
use serde::Serialize;

/// When a knob is turned relative to the others of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// First: what the kernel has at all.
    Module,
    /// A driver that changes its mode makes its policies anew.
    Mode,
    /// Which CPUs are in service.
    Cpu,
    /// What lies above the nominal frequency.
    Boost,
    /// Switching drops and makes tunables.
    Governor,
    /// The tunables of the governor that is now in force.
    Tunable,
    /// Lower and upper limit.
    Limit,
    /// A fixed frequency inside them.
    Frequency,
    /// Hints to processors that pick their own frequency: some hang on the governor.
    Preference,
    /// Idle states, and how long waking up may take.
    Idle,
    /// Power limits.
    Power,
    /// How the scheduler packs work.
    Scheduler,
    /// The load's CPU share.
    Quota,
    /// Kernel settings under /proc/sys.
    Sysctl,
    /// Any file.
    File,
    /// What commands turn.
    Command,
    /// Network devices, last: a card that is turned may be away for a moment.
    Nic,
}

impl Phase {
    /// All, in the order of turning.
    pub const ALL: [Phase; 17] = [
        Phase::Module,
        Phase::Mode,
        Phase::Cpu,
        Phase::Boost,
        Phase::Governor,
        Phase::Tunable,
        Phase::Limit,
        Phase::Frequency,
        Phase::Preference,
        Phase::Idle,
        Phase::Power,
        Phase::Scheduler,
        Phase::Quota,
        Phase::Sysctl,
        Phase::File,
        Phase::Command,
        Phase::Nic,
    ];
}

/// How far one site of a knob reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The CPUs that share one clock.
    Policy,
    /// One CPU.
    Cpu,
    /// A power zone: a package or a part of one.
    Zone,
    /// One policy or all of them, as the driver decided.
    Governor,
    /// Only what the load runs.
    Load,
    /// One network device.
    Device,
    /// The whole machine.
    System,
}

impl Scope {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Scope::Policy => "each policy (the CPUs that share one frequency)",
            Scope::Cpu => "each CPU",
            Scope::Zone => "each power zone (a package or a part of one)",
            Scope::Governor => "all policies together, or each policy where the driver keeps governors per policy",
            Scope::Load => "the load alone",
            Scope::Device => "one network device",
            Scope::System => "the whole machine",
        }
    }
}

/// A knob's description of itself.
#[derive(Clone, Copy, Debug, Serialize, schemars::JsonSchema)]
pub struct About {
    /// Canonical name, `family.name`; for a family of names, its beginning (`sysctl.`, `file:`).
    pub name: &'static str,
    /// Short name; may be shared with another governor's tunable.
    pub short: &'static str,
    /// Other spellings people bring from elsewhere.
    pub aliases: &'static [&'static str],
    /// Unit of the numbers it takes; empty for words and counts.
    pub unit: &'static str,
    /// How far one site reaches.
    pub scope: Scope,
    /// One line.
    pub summary: &'static str,
    /// A paragraph.
    pub doc: &'static str,
    /// Values it takes.
    pub accepts: &'static str,
    /// What must be in force for it to act; empty when nothing.
    pub needs: &'static str,
    /// Where the facts come from.
    pub source: &'static str,
    /// What "invalid argument" from the kernel means here; empty when it has no usual meaning.
    pub invalid: &'static str,
    /// When it is turned.
    pub phase: Phase,
}
