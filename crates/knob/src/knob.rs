//! The trait every knob implements, and where knobs sit. What is common to all knobs of one kind is a default method.
use std::fmt;

use powerband_machine::{Action, Change, Errno, Look};
use powerband_record::CpuList;

use crate::kernel_file::{undo_of, written};
use crate::{About, Declared, KnobError, Landed, Policy, Value, resolve_here};

/// How long a machine takes to settle after most knobs, ns.
pub const SETTLES_NS: u64 = 1_000_000_000;

/// One knob of the catalogue. Implementations are unit structs or constants: they hold no state of a machine.
pub trait Knob: Sync + fmt::Debug {
    /// What it says of itself.
    fn about(&self) -> &'static About;

    /// Where it can be turned on this machine now, narrowed to `at`.
    ///
    /// # Errors
    /// [`KnobError`] when the machine has none, or none of those asked for.
    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError>;

    /// Reads a value as typed and checks it against what the machine says it has at `site`.
    ///
    /// # Errors
    /// [`KnobError::Value`], a whole sentence.
    fn parse(&self, name: &str, text: &str, machine: &mut dyn Look, site: &Site) -> Result<Value, KnobError>;

    /// Every value it has at `site`, ascending where that means something; empty when they cannot be listed.
    fn choices(&self, machine: &mut dyn Look, site: &Site) -> Vec<Value>;

    /// Why a value is left out when `all` values are compared; `None` for those that are compared.
    fn left_out(&self, _value: &Value) -> Option<&'static str> {
        None
    }

    /// Governor that must be in force at its sites.
    fn governor(&self) -> Option<&'static str> {
        self.about().needs.strip_prefix("governor=")
    }

    /// Whether its file shows what came of the last request instead of the request itself. Then an equal reading does
    /// not mean that nothing is left to undo: a request that is held down now would come up later.
    fn shows_outcome(&self) -> bool {
        false
    }

    /// Why it cannot be set for good; `None` for knobs that stay where they are put.
    fn only_held(&self) -> Option<&'static str> {
        None
    }

    /// How long the machine takes to settle after it was turned, ns.
    fn settles_ns(&self) -> u64 {
        SETTLES_NS
    }

    /// Whether writing what already reads there can be left out.
    fn skips_when_equal(&self) -> bool {
        false
    }

    /// Whether what reads there is what was asked, in this knob's own comparison.
    fn same(&self, asked: &Value, reads: &str) -> bool {
        asked.typed() == reads.trim()
    }

    /// What a read-back that is not what was asked means; `reads` is trimmed.
    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::ReadsOther { reads: reads.to_owned() }
    }

    /// Whether a value that was accepted was ignored, where `before` and `reads` are what read there before and after.
    fn ignored(&self, _asked: &Value, _before: &str, _reads: &str) -> bool {
        false
    }

    /// What the kernel's refusal means here, as the sentence about it goes on; `None` when the number says it all.
    fn meaning(&self, errno: Errno) -> Option<&'static str> {
        invalid(self.about(), errno)
    }

    /// What reads there, for people.
    fn shown(&self, reads: &str) -> String {
        reads.trim().to_owned()
    }

    /// What a value stands for at a site beyond itself, for people: a mode that a driver gives a number for.
    fn stands_for(&self, _reads: &str, _machine: &mut dyn Look, _site: &Site) -> Option<String> {
        None
    }

    /// The other value that the kernel is known to make of this one at a site.
    fn becomes(&self, _value: &Value, _machine: &mut dyn Look, _site: &Site) -> Option<Value> {
        None
    }

    /// What is done to turn it, and what takes that back.
    ///
    /// # Errors
    /// The kernel's error number when what is there cannot be read.
    fn turn(&self, value: &Value, machine: &mut dyn Change, site: &Site) -> Result<Turning, Errno> {
        let path = site.path.clone().ok_or(Errno::ENOENT)?;
        let before = machine.read(&path)?;
        let undo = Some(undo_of(machine, &path, &before));
        let action = Action::WriteFile { text: written(&path, &value.typed()), path };
        Ok(Turning { action, undo, before: Some(before.trim_end().to_owned()) })
    }
}

/// The first three numbers of the kernel's release, or of the one whose rules a simulated machine follows; zeros for what is
/// not there.
pub(crate) fn release(machine: &dyn Look) -> (u32, u32, u32) {
    let system = &machine.identity().system;
    let from = system.find(|c: char| c.is_ascii_digit()).unwrap_or(system.len());
    let until = |c: char| !c.is_ascii_digit() && c != '.';
    let mut numbers =
        system[from..].split(until).next().unwrap_or_default().split('.').map(|it| it.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

/// What "invalid argument" means for a knob, if its description says so.
pub(crate) fn invalid(about: &'static About, errno: Errno) -> Option<&'static str> {
    (errno == Errno::EINVAL && !about.invalid.is_empty()).then_some(about.invalid)
}

/// An action with its undo, before it is known to which command it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turning {
    /// What is done.
    pub action: Action,
    /// What takes it back.
    pub undo: Option<Action>,
    /// What reads there now, without the final newline.
    pub before: Option<String>,
}

/// A resolved name.
#[derive(Clone, Debug)]
pub struct Named {
    /// The knob.
    pub knob: &'static dyn Knob,
    /// Canonical name: `cpufreq.governor`, `sysctl.vm.swappiness`, `file:/tmp/x`.
    pub name: String,
}

impl Named {
    /// Its sites; a tunable whose governor is not in force has one stand-in, as its values do not depend on the machine.
    pub(crate) fn sites_or_later(&self, machine: &mut dyn Look, at: &Selection) -> Result<Vec<Site>, KnobError> {
        match self.knob.sites(&self.name, machine, at) {
            Ok(sites) => Ok(sites.sites),
            Err(KnobError::NeedsFirst { .. }) => Ok(vec![Site { name: "-".into(), path: None, policy: None }]),
            Err(error) => Err(error),
        }
    }

    /// Reads a value and checks it at every site.
    pub(crate) fn parse_at(&self, text: &str, machine: &mut dyn Look, sites: &[Site]) -> Result<Value, KnobError> {
        let mut value = None;
        for site in sites {
            value = Some(self.knob.parse(&self.name, text, machine, site)?);
        }
        value.ok_or_else(|| KnobError::value(&self.name, "there is no site to set it at"))
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Named {}

/// What the names in a setting mean: which of a knob's sites, and knobs next to the catalogue's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// `@site`, as typed; beats `cpus`.
    pub site: Option<String>,
    /// `-c LIST`.
    pub cpus: Option<CpuList>,
    /// Knobs that a plan declares.
    pub declared: Declared,
    /// Whether a knob is set although the kernel does not take back what is there.
    pub accept_unrestorable: bool,
}

impl Selection {
    /// Everywhere.
    #[must_use]
    pub fn everywhere() -> Self {
        Self::default()
    }

    /// Only what these CPUs belong to.
    #[must_use]
    pub fn cpus(cpus: CpuList) -> Self {
        Selection { cpus: Some(cpus), ..Self::default() }
    }

    /// One site, or wherever else `cpus` are.
    pub(crate) fn site(site: Option<String>, cpus: Option<CpuList>) -> Self {
        Selection { site, cpus, ..Self::default() }
    }

    /// The same, with `@site` of one knob.
    #[must_use]
    pub fn at(&self, site: Option<&str>) -> Self {
        Selection { site: site.map(str::to_owned).or_else(|| self.site.clone()), ..self.clone() }
    }

    /// The knob a name means on a machine: one that is declared, or one of the catalogue's, see [`resolve_here`].
    ///
    /// # Errors
    /// As [`resolve_here`].
    pub fn resolve(&self, name: &str, chosen: &[String], machine: &mut dyn Look) -> Result<Named, KnobError> {
        self.declared.find(name).map_or_else(|| resolve_here(name, chosen, machine), Ok)
    }
}

/// One place a knob can be turned at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// `policy0`, `load`, or `-` for the whole machine.
    pub name: String,
    /// The file that is written and shows what is in force; none for what no file turns.
    pub path: Option<String>,
    /// The policy, if it belongs to one.
    pub policy: Option<Policy>,
}

impl Site {
    /// The whole machine, through one file.
    #[must_use]
    pub fn system(path: String) -> Self {
        Site { name: "-".into(), path: Some(path), policy: None }
    }

    /// With its CPUs, for people: `policy0 (cpus 0-3)`.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.policy {
            Some(policy) if policy.cpus.len() == 1 => format!("{} (cpu {})", self.name, policy.cpus),
            Some(policy) => format!("{} (cpus {})", self.name, policy.cpus),
            None => self.name.clone(),
        }
    }
}

/// Sites of one knob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// Those asked for.
    pub sites: Vec<Site>,
    /// How many policies there are in all; 0 when policies are not what it sits on.
    pub policies: usize,
    /// What a person should know about the choice.
    pub notes: Vec<String>,
}
