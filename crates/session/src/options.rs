//! What is said of an experiment outside its plan.
use std::path::PathBuf;

use crate::header::without_passwords;
use powerband_experiment::Plan;
use powerband_host::LinkOptions;
use powerband_record::{CpuList, FleetTask};
use powerband_rig::{Names, Opening, Purpose, RigError};

/// What is said of an experiment outside its plan; what is given here wins over the plan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The near machine.
    pub near: Option<String>,
    /// The far machine.
    pub far: Option<String>,
    /// A list of machines instead.
    pub machines: Vec<String>,
    /// How machines behind a connection are reached.
    pub link: LinkOptions,
    /// The only CPUs to use.
    pub cpus: Option<CpuList>,
    /// A file that declares knobs.
    pub declared: Option<PathBuf>,
    /// The seed.
    pub seed: Option<u64>,
    /// The seed where neither this nor the plan gives one.
    pub default_seed: Option<u64>,
    /// The store's file, where it is not the usual one.
    pub store: Option<PathBuf>,
    /// Plan everything and measure nothing.
    pub dry_run: bool,
    /// Run each load once to show its metrics; nothing is set or stored.
    pub show_metrics: bool,
    /// A dry run may execute the commands that lead to machines a page names.
    pub trusted: bool,
    /// Under sudo: run loads as root.
    pub as_root: bool,
    /// What it is of a fleet; its facts are read when the machines are open.
    pub fleet: Option<FleetTask>,
    /// The command line that began this, the program first.
    pub command_line: Vec<String>,
}

impl Options {
    /// The machines of a plan; those given here win.
    ///
    /// # Errors
    /// [`RigError::List`], also where the plan names both a list and one machine.
    pub(crate) fn names(&self, plan: &Plan) -> Result<Names, RigError> {
        let machines = if self.machines.is_empty() { &plan.machines } else { &self.machines };
        if !self.machines.is_empty() || (!machines.is_empty() && self.near.is_none() && self.far.is_none()) {
            return Ok(Names::list(machines)?.linked(self.link));
        }
        let near = self.near.clone().or_else(|| plan.machine.clone());
        let far = self.far.clone().or_else(|| plan.far.clone());
        Ok(Names::new(near, far).linked(self.link))
    }

    /// What others find in the locks.
    pub(crate) fn doing(&self) -> String {
        let words = self.command_line.get(1..).unwrap_or_default();
        words.iter().map(|word| without_passwords(word)).collect::<Vec<_>>().join(" ")
    }

    /// Whether nothing is to be stored.
    pub(crate) fn stores_nothing(&self) -> bool {
        self.dry_run || self.show_metrics
    }

    /// Why the rig is opened.
    pub(crate) fn purpose(&self) -> Purpose {
        if self.dry_run { Purpose::Rehearse } else { Purpose::Measure }
    }

    pub(crate) fn opening<'a>(&self, seed: Option<u64>, doing: &'a str) -> Opening<'a> {
        Opening { seed, purpose: self.purpose(), from_boot: true, doing, for_a_moment: false }
    }

    /// The seed of an experiment, where one is given.
    pub(crate) fn given_seed(&self, plan: &Plan, names: &Names) -> Result<Option<u64>, RigError> {
        Ok(plan.seed.or(names.seed()?).or(self.default_seed))
    }
}

/// The machines as a plan alone has them.
#[must_use]
pub fn names_written(plan: &Plan) -> Names {
    if let Ok(list) = Names::list(&plan.machines) {
        return list;
    }
    Names::new(plan.machine.clone(), plan.far.clone())
}

/// The plan with the machines as they are named in the end, so that the journal says how to find them again.
pub(crate) fn named(mut plan: Plan, names: Names) -> Plan {
    plan.machines = names.listed();
    let (near, far) = names.written(plan.seed.is_some());
    (plan.machine, plan.far) = (Some(near), far);
    plan
}
