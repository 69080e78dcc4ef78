//! The settings that are guarded, and which of them are in force.
use std::collections::{BTreeMap, BTreeSet};

use powerband_knob::{Applied, Landed, Selection, plan, resolve};
use powerband_machine::{CommandPlace, Errno, Look};
use powerband_persist::{KeepError, KeptSetting, Manifest, Set};
use powerband_record::{Assignment, KnobRef, Setting, Side, placed};
use powerband_sysfs::net::NET;
use powerband_sysfs::topology::CPUS;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::Guard;
use crate::exit::{Exit, Failure, usage};
use crate::output;
use crate::verb::set::typed;

/// A knob at a site.
pub(super) type Place = (String, String);

/// A wanted value at one site, and what reads there.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Check {
    /// Canonical name.
    pub(super) knob: String,
    /// Site.
    pub(super) site: String,
    /// The value as typed.
    pub(super) wanted: String,
    /// What reads there; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reads: Option<String>,
    /// Whether that is what is wanted.
    pub(super) as_wanted: bool,
    /// What reads there, for people.
    #[serde(skip)]
    pub(super) shown: String,
    /// The wanted value as the ledger has it, where it can be told.
    #[serde(skip)]
    pub(super) asked: Option<String>,
}

impl Check {
    pub(super) fn place(&self) -> Place {
        (self.knob.clone(), self.site.clone())
    }
}

/// The settings to guard: those of the command line, or what is kept.
pub(super) fn settings_to_guard(args: &Guard, machine: &mut dyn Look) -> Result<Setting, Failure> {
    if args.settings.is_empty() {
        return kept(&Manifest::read(machine).map_err(KeepError::from)?, machine);
    }
    let setting = typed(&args.settings)?;
    match setting.assignments.iter().find(|assignment| assignment.knob.side != Side::Near) {
        Some(assignment) => Err(usage(format!(
            "{}={}: guard works on the machine it runs on; start it on the other machine for its knobs",
            assignment.knob, assignment.value
        ))),
        None => Ok(setting),
    }
}

/// Settings that `powerband keep` keeps, each knob at each site. One that is gone, as of a card that was unplugged, is named and not guarded.
fn kept(manifest: &Manifest, machine: &mut dyn Look) -> Result<Setting, Failure> {
    let is_gone = |kept: &&KeptSetting, machine: &mut dyn Look| match &kept.set {
        Set::Write { path, .. } if path.starts_with(CPUS) => false,
        Set::Write { path, .. } => machine.read(path) == Err(Errno::ENOENT),
        Set::Coalesce { device, .. } => machine.list(&format!("{NET}/{device}")).is_err(),
    };
    let (gone, there): (Vec<_>, Vec<_>) = manifest.settings.iter().partition(|kept| is_gone(kept, machine));
    for kept in gone {
        output::note(format!("{} is not there now, and is not guarded", placed(&kept.knob, &kept.site)));
    }
    if there.is_empty() {
        return Err(usage(
            "nothing is kept that could be guarded: name knobs and their values, e.g. `powerband guard governor=performance`",
        ));
    }
    let assignment = |kept: &KeptSetting| {
        let site = Some(kept.site.clone()).filter(|site| site != "-");
        let knob = KnobRef { side: Side::Near, name: kept.knob.clone(), site };
        Assignment { knob, value: kept.value.clone() }
    };
    Ok(Setting { name: None, assignments: there.into_iter().map(assignment).collect() })
}

/// What is wanted of one machine.
pub(super) struct Wanted {
    /// By canonical names, which mean the same whatever governor is in force.
    setting: Setting,
    pub(super) narrow: Selection,
    /// What read back where we set a value: a driver may take the nearest that it has.
    accepted: BTreeMap<Place, String>,
}

impl Wanted {
    /// Checks that all of it can be set here, and that the kernel reports its changes.
    pub(super) fn of(mut setting: Setting, narrow: Selection, machine: &mut dyn Look) -> Result<Wanted, Failure> {
        let chosen: Vec<String> = setting.assignments.iter().filter_map(governor_of).collect();
        for assignment in &mut setting.assignments {
            assignment.knob.name = narrow.resolve(&assignment.knob.name, &chosen, machine)?.name;
        }
        plan(&setting, machine, &narrow)?.may_stay()?;
        let wanted = Wanted { setting, narrow, accepted: BTreeMap::new() };
        for Assignment { knob, .. } in &wanted.setting.assignments {
            let named = wanted.narrow.resolve(&knob.name, &[], machine)?;
            let sites = named.knob.sites(&named.name, machine, &wanted.narrow.at(knob.site.as_deref()));
            let silent = |path: &Option<String>| path.as_deref().is_none_or(|path| CommandPlace::of(path).is_some());
            if sites.is_ok_and(|sites| sites.sites.iter().any(|site| silent(&site.path))) {
                let sentence = format!(
                    "{}: a command reads it, so nothing reports that it changes; guard needs a file or a NIC",
                    knob
                );
                return Err(Failure::new(Exit::Unsupported, sentence));
            }
        }
        Ok(wanted)
    }

    /// The knobs.
    pub(super) fn knobs(&self) -> Vec<KnobRef> {
        self.setting.assignments.iter().map(|assignment| assignment.knob.clone()).collect()
    }

    /// What is wanted of these knobs.
    pub(super) fn of_knobs(&self, knobs: &BTreeSet<String>) -> Setting {
        let is_one = |assignment: &&Assignment| knobs.contains(&assignment.knob.name);
        Setting { name: None, assignments: self.setting.assignments.iter().filter(is_one).cloned().collect() }
    }

    /// Counts the value nearby that was taken where something was set just now as what is wanted there.
    pub(super) fn accept(&mut self, applied: &Applied) {
        for reached in applied.sites.iter().filter(|it| matches!(it.landed, Landed::Clamped { .. })) {
            if let Some(reads) = &reached.reads_back {
                self.accepted.insert((reached.named.name.clone(), reached.site.name.clone()), reads.clone());
            }
        }
    }

    /// Reads all of it. A knob that is not there now, as a tunable of another governor, is not as wanted.
    pub(super) fn check(&self, machine: &mut dyn Look) -> Vec<Check> {
        let mut checks = Vec::new();
        for Assignment { knob, value } in &self.setting.assignments {
            let at = self.narrow.at(knob.site.as_deref());
            let found = self.narrow.resolve(&knob.name, &[], machine).and_then(|named| {
                let sites = named.knob.sites(&named.name, machine, &at)?;
                Ok((named, sites.sites))
            });
            let Ok((named, sites)) = found else {
                let site = knob.site.clone().unwrap_or_else(|| "-".into());
                let (knob, wanted, shown) = (knob.name.clone(), value.clone(), "absent".into());
                checks.push(Check { knob, site, wanted, reads: None, as_wanted: false, shown, asked: None });
                continue;
            };
            for site in sites {
                let reads = site.path.as_ref().and_then(|path| machine.read(path).ok());
                let reads = reads.map(|text| text.trim().to_owned());
                let asked = named.knob.parse(&named.name, value, machine, &site).ok();
                let place = (named.name.clone(), site.name);
                let as_wanted = reads.as_ref().is_some_and(|reads| {
                    let same = asked.as_ref().is_some_and(|asked| named.knob.same(asked, reads));
                    same || self.accepted.get(&place) == Some(reads)
                });
                let shown = reads.as_ref().map_or_else(|| "unreadable".into(), |reads| named.knob.shown(reads));
                let (wanted, asked, (knob, site)) = (value.clone(), asked.map(|asked| asked.typed()), place);
                checks.push(Check { knob, site, wanted, reads, as_wanted, shown, asked });
            }
        }
        checks
    }
}

/// The governor that an assignment chooses, if it does.
fn governor_of(assignment: &Assignment) -> Option<String> {
    let named = resolve(&assignment.knob.name).ok()?;
    (named.name == "cpufreq.governor").then(|| assignment.value.trim().to_lowercase())
}
