//! One place that sets a knob: where it is written, what it sets, when it acts, and what came of it.
use serde::Serialize;

/// When in the course of a boot something acts; in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BootPhase {
    /// What the kernel was built with.
    Kernel,
    /// What the boot loader told the kernel.
    CommandLine,
    /// What the driver makes of both, and the firmware of the driver.
    Driver,
    /// When devices appear: module options, udev rules, link files.
    Devices,
    /// Lists of values written early: sysctl.d, tmpfiles.d, sysfs.d.
    Settings,
    /// When the network comes up.
    Network,
    /// Services that act once. Those of systemd start side by side.
    Services,
    /// Services that stay and may act again.
    Daemons,
    /// After everything else: rc.local, `@reboot`, what waits a while.
    Late,
    /// Since then.
    Running,
}

impl BootPhase {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            BootPhase::Kernel => "kernel",
            BootPhase::CommandLine => "command line",
            BootPhase::Driver => "driver",
            BootPhase::Devices => "devices",
            BootPhase::Settings => "settings",
            BootPhase::Network => "network",
            BootPhase::Services => "services",
            BootPhase::Daemons => "daemons",
            BootPhase::Late => "late",
            BootPhase::Running => "since then",
        }
    }
}

/// Whether a place acts on this machine. Reasons go on a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum BootStanding {
    /// It acts.
    Acts,
    /// It acts, and something sets the knob after it.
    Overridden {
        /// What does.
        by: String,
    },
    /// It is there and does not act.
    Off {
        /// Why not.
        why: String,
    },
    /// Whether it acts cannot be told from the files.
    Unsure {
        /// Why not.
        why: String,
    },
    /// It could not be read.
    Unreadable {
        /// Why not.
        why: String,
    },
}

/// A place that sets a knob, or could.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct BootFinding {
    /// When it acts.
    pub phase: BootPhase,
    /// Who acts, as the subject of a sentence: `the kernel`, `tuned`.
    pub who: String,
    /// The file that says so.
    pub path: String,
    /// The line in it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// That line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it sets, as it can be typed; several when it is one of them, none when that cannot be told.
    pub values: Vec<String>,
    /// At which sites.
    pub sites: Vec<String>,
    /// Whether it acts here.
    pub standing: BootStanding,
    /// How it comes to act: `on in runlevel 3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Why it sets this value and no other, or what must be known with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Whether it is why the knob reads what it reads now.
    pub explains: bool,
    #[serde(skip)]
    pub(crate) verb: String,
}

/// More of a line than this is not shown, characters.
const SHOWN: usize = 160;

impl BootFinding {
    /// A place that acts; what it sets is still to be said.
    pub(crate) fn new(who: impl Into<String>, path: impl Into<String>) -> Self {
        BootFinding {
            phase: BootPhase::Kernel,
            who: who.into(),
            path: path.into(),
            line: None,
            text: String::new(),
            values: Vec::new(),
            sites: Vec::new(),
            standing: BootStanding::Acts,
            how: None,
            because: None,
            explains: false,
            verb: "sets".to_owned(),
        }
    }

    /// The line that says so, from 1.
    pub(crate) fn line(mut self, line: usize, text: &str) -> Self {
        self.line = Some(line);
        self.text = text.trim().chars().take(SHOWN).collect();
        self
    }

    /// What it sets, and where.
    pub(crate) fn sets(mut self, values: Vec<String>, sites: Vec<String>) -> Self {
        (self.values, self.sites) = (values, sites);
        self
    }

    /// With the verb of its clause.
    pub(crate) fn verb(mut self, verb: impl Into<String>) -> Self {
        self.verb = verb.into();
        self
    }

    pub(crate) fn standing(mut self, standing: BootStanding) -> Self {
        self.standing = standing;
        self
    }

    /// How it comes to act.
    pub(crate) fn how(mut self, how: impl Into<String>) -> Self {
        self.how = Some(how.into()).filter(|how| !how.is_empty());
        self
    }

    /// Why this value.
    pub(crate) fn because(mut self, because: impl Into<String>) -> Self {
        self.because = Some(because.into()).filter(|because| !because.is_empty());
        self
    }

    /// Whether it acts and sets something.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.standing, BootStanding::Acts | BootStanding::Overridden { .. }) && !self.values.is_empty()
    }

    /// Its place, for people: `/etc/default/cpufrequtils:3`.
    #[must_use]
    pub fn place(&self) -> String {
        self.line.map_or_else(|| self.path.clone(), |line| format!("{}:{line}", self.path))
    }
}
