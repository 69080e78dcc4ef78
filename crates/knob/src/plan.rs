//! From a setting to ordered steps: everything that can be checked before anything is written is checked here.
mod device;
mod mode;
mod order;

use std::collections::BTreeSet;
use std::fmt;

use powerband_machine::{Action, Change, Look};
use powerband_record::{Assignment, InOrder, KnobRef, Setting, Side, placed};
use serde::Serialize;

use crate::policy::{Policies, policies};
use crate::{KnobError, Named, Phase, Selection, Site, Sites, Value, catalogue::ALL, overridden, resolve};

pub(crate) use device::in_one_request;
pub use mode::preference_is_stuck;
pub(crate) use mode::{Offer, check_governors};
use mode::{PREFERENCE, STUCK};
pub(crate) use order::{put_in_order, put_moved_last};

/// One assignment, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) named: Named,
    pub(crate) value: Value,
    pub(crate) at: Selection,
    /// Where, if that is known before the governor is switched.
    pub(crate) sites: Option<Sites>,
}

/// One knob at one site, about to be turned.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) named: Named,
    pub(crate) value: Value,
    pub(crate) site: Site,
    /// Whether neither a site nor CPUs were named.
    pub(crate) everywhere: bool,
    pub(crate) from: Option<String>,
}

/// What would be turned, in order.
#[derive(Clone, Debug, Default)]
pub struct PlannedSteps {
    pub(crate) parts: Vec<Part>,
    /// One line each, in the order of turning.
    pub lines: Vec<StepLine>,
    /// What a person should know before.
    pub notes: Vec<String>,
    /// Notes for a dry run alone: once it is set, its landing says the same.
    pub(crate) foreseen: Vec<String>,
    /// Whether what could not be restored is changed all the same.
    pub(crate) accept_unrestorable: bool,
}

impl PlannedSteps {
    /// Whether everything in it can be set for good.
    ///
    /// # Errors
    /// [`KnobError::Value`] for the first knob that lasts only while somebody holds it.
    pub fn may_stay(&self) -> Result<(), KnobError> {
        let held = self.parts.iter().find_map(|part| Some((&part.named.name, part.named.knob.only_held()?)));
        match held {
            Some((name, why)) => {
                Err(KnobError::value(name, format!("{why}; use it with `powerband with` or `powerband try`")))
            }
            None => Ok(()),
        }
    }
}

/// A knob of a setting with its value, before anything is done.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The knob.
    pub named: &'a Named,
    /// The value asked for.
    pub value: &'a Value,
    /// Where; `None` for a tunable whose governor is set by the same setting, which is there only then.
    pub sites: Option<&'a [Site]>,
}

impl PlannedSteps {
    /// Each knob of the setting, with what the plan added to it.
    pub fn targets(&self) -> impl Iterator<Item = Target<'_>> {
        self.parts.iter().map(|part| Target {
            named: &part.named,
            value: &part.value,
            sites: part.sites.as_ref().map(|sites| sites.sites.as_slice()),
        })
    }
}

/// One knob at one site with what is done to set it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedKnob {
    /// The knob.
    pub named: Named,
    /// Site.
    pub site: Site,
    /// Whether neither a site nor CPUs were named.
    pub everywhere: bool,
    /// The value asked for.
    pub asked: Value,
    /// What sets it.
    pub action: Action,
}

impl PlannedSteps {
    /// What is done at each site, in order, also where it is set already. Nothing is done.
    ///
    /// # Errors
    /// [`KnobError`] for a site that is there only once a governor is in force that is not yet, and what cannot be read.
    pub fn planned(&self, machine: &mut dyn Change) -> Result<Vec<PlannedKnob>, KnobError> {
        let mut planned = Vec::new();
        for phase in Phase::ALL {
            for step in moves(&self.parts, phase, machine, true)? {
                let unreadable = |errno| KnobError::Unreadable {
                    knob: step.named.name.clone(),
                    path: step.site.path.clone().unwrap_or_default(),
                    errno,
                };
                let action = step.named.knob.turn(&step.value, machine, &step.site).map_err(unreadable)?.action;
                let Move { named, site, everywhere, value: asked, .. } = step;
                planned.push(PlannedKnob { named, site, everywhere, asked, action });
            }
        }
        Ok(planned)
    }
}

/// One step for people and for JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct StepLine {
    /// Canonical name.
    pub knob: String,
    /// Site with its CPUs.
    pub site: String,
    /// What reads there now; absent when it exists only after an earlier step or nothing shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What it is turned to.
    pub to: String,
    /// What will read there then, where the kernel is known to make another value of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub becomes: Option<String>,
    /// Whether it is so already and nothing will be written.
    pub already: bool,
}

impl fmt::Display for StepLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", placed(&self.knob, &self.site))?;
        match &self.from {
            Some(from) if self.already => write!(f, "{from}, already so"),
            Some(from) => write!(f, "{from} → {}", self.to),
            None => write!(f, "→ {}", self.to),
        }?;
        match &self.becomes {
            Some(becomes) => write!(f, ", which becomes {becomes}"),
            None => Ok(()),
        }
    }
}

/// The assignments of a setting that concern one machine of the rig; those for `both` and `all` concern each.
#[must_use]
pub fn for_side(setting: &Setting, side: Side) -> Setting {
    let concerns = |assignment: &&Assignment| assignment.knob.of_load().is_none() && assignment.knob.side.covers(side);
    Setting { name: setting.name.clone(), assignments: setting.assignments.iter().filter(concerns).cloned().collect() }
}

/// The governors in force, lower case, each once; none on a machine without cpufreq.
pub fn governors_in_force(machine: &mut dyn Look) -> Vec<String> {
    let Ok(all) = policies(machine, "cpufreq.governor") else { return Vec::new() };
    let read: BTreeSet<String> = all
        .active
        .iter()
        .filter_map(|policy| policy.read(machine, "scaling_governor").ok())
        .map(|governor| governor.to_lowercase())
        .collect();
    read.into_iter().collect()
}

/// How long a machine takes to settle after a setting, ns: as long as the slowest of its knobs.
#[must_use]
pub fn settles_ns(setting: &Setting) -> u64 {
    let of_machines = setting.assignments.iter().filter(|assignment| assignment.knob.of_load().is_none());
    let settles = |knob: &KnobRef| resolve(&knob.name).map_or(crate::knob::SETTLES_NS, |named| named.knob.settles_ns());
    of_machines.map(|assignment| settles(&assignment.knob)).max().unwrap_or(0)
}

/// Resolves a setting for a machine and puts it in the order of turning: governor, its tunables, limits, frequency,
/// quota, sysctl, files, network devices. Writes nothing. Sides are not looked at; see [`for_side`].
///
/// # Errors
/// [`KnobError`] for the first thing that cannot be: a name, a site, a value, a governor that would be missing.
pub fn plan(setting: &Setting, machine: &mut dyn Look, narrow: &Selection) -> Result<PlannedSteps, KnobError> {
    let mut steps = PlannedSteps { accept_unrestorable: narrow.accept_unrestorable, ..PlannedSteps::default() };
    let chosen = governors_chosen(setting);
    let mut resolved = Vec::new();
    for assignment in &setting.assignments {
        let named = narrow.resolve(&assignment.knob.name, &chosen, machine)?;
        resolved.push((named, assignment));
    }
    resolved.order_by_key(|(named, _)| named.knob.about().phase);
    for (named, assignment) in resolved {
        let (at, text) = (narrow.at(assignment.knob.site.as_deref()), &assignment.value);
        let part = match named.knob.governor() {
            Some(governor) => under_governor(&steps.parts, named, governor, text, at, machine),
            None => anywhere(&steps.parts, named, text, at, machine),
        };
        let part = part.map_err(|error| error.with_target_first(&assignment.knob, text))?;
        steps.notes.extend(part.sites.iter().flat_map(|sites| sites.notes.clone()));
        refuse_twice(&steps.parts, &part)?;
        steps.parts.push(part);
    }
    if preference_is_stuck(setting, machine) {
        return Err(KnobError::value(PREFERENCE, STUCK));
    }
    device::switch_off_what_overrides(&mut steps, machine);
    steps.notes.dedup();
    for phase in Phase::ALL {
        let moves = moves(&steps.parts, phase, machine, false)?;
        order::refuse_crossed(&moves, machine)?;
        for step in &moves {
            let meant = step.named.knob.stands_for(&step.value.typed(), machine, &step.site);
            let named = |meant| {
                format!("{} is {meant}", placed(&format!("{}={}", step.named.name, step.value), &step.site.name))
            };
            steps.notes.extend(meant.map(named));
        }
        steps.notes.extend(overridden::left_higher(machine, &moves, false));
        steps.foreseen.extend(overridden::left_higher(machine, &moves, true));
        let limits = steps.parts.iter().map(|part| part.named.knob.about()).filter(|about| about.phase == Phase::Limit);
        let limits: Vec<&str> = limits.map(|about| about.short).collect();
        let limits_stay = (limits.is_empty(), !limits.contains(&"max_freq"));
        steps.lines.extend(moves.into_iter().map(|step| line(step, limits_stay, machine)));
    }
    Ok(steps)
}

/// What would be turned, in order, one line each, and the notes.
#[must_use]
pub fn describe_steps(steps: &PlannedSteps) -> Vec<String> {
    let notes = steps.notes.iter().chain(&steps.foreseen).map(|note| format!("note: {note}"));
    steps.lines.iter().map(ToString::to_string).chain(notes).collect()
}

/// The governors a setting chooses by name.
fn governors_chosen(setting: &Setting) -> Vec<String> {
    setting
        .assignments
        .iter()
        .filter(|assignment| {
            resolve(&assignment.knob.name).is_ok_and(|named| named.knob.about().phase == Phase::Governor)
        })
        .map(|assignment| assignment.value.trim().to_lowercase())
        .collect()
}

/// A knob that needs no governor.
fn anywhere(
    earlier: &[Part],
    named: Named,
    text: &str,
    at: Selection,
    machine: &mut dyn Look,
) -> Result<Part, KnobError> {
    let sites = named.knob.sites(&named.name, machine, &at)?;
    let there = mode::before_change(&named, earlier, text, machine, &sites.sites)?;
    let value = named.parse_at(text, machine, &there)?;
    Ok(Part { named, value, at, sites: Some(sites) })
}

/// A knob that needs a governor: checks that every policy meant will run it by then.
fn under_governor(
    earlier: &[Part],
    named: Named,
    governor: &'static str,
    text: &str,
    at: Selection,
    machine: &mut dyn Look,
) -> Result<Part, KnobError> {
    let all: Policies = policies(machine, &named.name)?;
    let policies = all.select(&named.name, &at, &mut Vec::new())?;
    let explicit = at.cpus.is_some() || at.site.as_deref().is_some_and(|site| site != "-");
    let (mut now, mut then, mut other) = (0, 0, None);
    for policy in &policies {
        let current = policy.read(machine, "scaling_governor").unwrap_or_default().to_lowercase();
        let coming =
            earlier.iter().rev().find(|part| covers_governor(part, &policy.name)).map(|part| part.value.typed());
        let coming = coming.unwrap_or_else(|| current.clone());
        now += usize::from(current == governor);
        then += usize::from(coming == governor);
        if coming != governor {
            other.get_or_insert((policy.name.clone(), coming));
        }
    }
    // A tunable left without a site means the policies that run its governor; a frequency means all policies.
    let all_needed = explicit || named.knob.about().phase != Phase::Tunable;
    if let Some((site, found)) = other.filter(|_| all_needed || then == 0) {
        // What is advised must work: a frequency that is refused under its governor, too, is refused for that.
        if named.knob.about().phase == Phase::Frequency {
            let sites = named.knob.sites(&named.name, machine, &at)?;
            named.parse_at(text, machine, &sites.sites)?;
        }
        let stays = !earlier.iter().any(|part| part.named.knob.about().phase == Phase::Mode);
        if stays && policies.iter().any(|policy| policy.has_own_rules(machine)) {
            let why = format!(
                "the driver of {site} chooses frequencies itself and has no governor {governor}; it heeds min_freq and max_freq, \
                 and `powerband set pstate=passive` brings the kernel's governors"
            );
            return Err(KnobError::absent(&named.name, why));
        }
        let lacking = policies.iter().find(|policy| stays && policy.lacks_governor(governor, machine));
        if let Some(policy) = lacking {
            let there = policy.governors(machine).unwrap_or_default().join(", ");
            let why = format!(
                "{} offers no governor {governor} ({there}); if it is a module, load it with: modprobe cpufreq_{governor}",
                policy.name
            );
            return Err(KnobError::absent(&named.name, why));
        }
        let short = named.knob.about().short;
        let hint = format!("governor={governor} {short}={text} together");
        return Err(KnobError::NeedsFirst { knob: named.name, needs: governor, site, found, hint });
    }
    let known = now == then || named.knob.about().phase != Phase::Tunable;
    let sites = if known { Some(named.knob.sites(&named.name, machine, &at)?) } else { None };
    let parse_sites = match &sites {
        Some(sites) => sites.sites.clone(),
        None => named.sites_or_later(machine, &at)?,
    };
    let value = named.parse_at(text, machine, &parse_sites)?;
    Ok(Part { named, value, at, sites })
}

fn covers_governor(part: &Part, policy: &str) -> bool {
    part.named.knob.about().phase == Phase::Governor
        && part.sites.as_ref().is_some_and(|sites| sites.sites.iter().any(|site| site.name == policy))
}

fn refuse_twice(earlier: &[Part], part: &Part) -> Result<(), KnobError> {
    let names = |part: &Part| -> Vec<String> {
        part.sites.as_ref().map_or_else(|| vec!["-".into()], |s| s.sites.iter().map(|site| site.name.clone()).collect())
    };
    let mine = names(part);
    for other in earlier.iter().filter(|other| other.named == part.named) {
        let distinct = part.sites.is_none() && other.sites.is_none() && part.at != other.at;
        if let Some(site) = names(other).into_iter().find(|site| mine.contains(site) && !distinct) {
            return Err(KnobError::Twice { knob: part.named.name.clone(), site });
        }
    }
    Ok(())
}

/// The moves of one phase in their order. `now`: sites that earlier phases may have moved are looked up again.
pub(crate) fn moves(parts: &[Part], phase: Phase, machine: &mut dyn Look, now: bool) -> Result<Vec<Move>, KnobError> {
    let mut moves = Vec::new();
    // Tunables come with their governor, and policies go with their CPUs.
    let switches_cpus = phase != Phase::Cpu && parts.iter().any(|part| part.named.knob.about().phase == Phase::Cpu);
    let moved = now && (phase == Phase::Tunable || switches_cpus);
    for part in parts.iter().filter(|part| part.named.knob.about().phase == phase) {
        let sites = match &part.sites {
            Some(sites) if !moved => sites.sites.clone(),
            None if !now => {
                let name = part.at.site.clone().unwrap_or_else(|| "-".into());
                vec![Site { name, path: None, policy: None }]
            }
            _ => part.named.knob.sites(&part.named.name, machine, &part.at)?.sites,
        };
        for site in sites {
            let from = match site.path.as_ref().map(|path| machine.read(path)) {
                Some(Ok(text)) => Some(text.trim_end().to_owned()),
                // What a switch will lose hangs on which governor it is that leaves.
                Some(Err(errno)) if now && phase == Phase::Governor => {
                    let (knob, path) = (part.named.name.clone(), site.path.unwrap_or_default());
                    return Err(KnobError::Unreadable { knob, path, errno });
                }
                _ => None,
            };
            let everywhere = part.at.site.is_none() && part.at.cpus.is_none();
            moves.push(Move { named: part.named.clone(), value: part.value.clone(), site, everywhere, from });
        }
    }
    put_in_order(&mut moves)?;
    Ok(if matches!(phase, Phase::Sysctl | Phase::File) { put_moved_last(moves, machine) } else { moves })
}

/// One step, and whether the setting leaves both limits of the frequency as they are, and the upper one.
fn line(step: Move, (limits_stay, upper_stays): (bool, bool), machine: &mut dyn Look) -> StepLine {
    let knob = step.named.knob;
    let already = knob.skips_when_equal() && step.from.as_ref().is_some_and(|from| knob.same(&step.value, from));
    let mut becomes = if already { None } else { knob.becomes(&step.value, machine, &step.site) };
    if let (Some(policy), Value::Khz(khz), false) =
        (&step.site.policy, becomes.as_ref().unwrap_or(&step.value), already)
    {
        let within = match (knob.about().phase, knob.about().short) {
            (Phase::Frequency, _) if limits_stay => overridden::within_limits(machine, policy, *khz),
            // Where crossed limits are taken, the lower one shows what is in force.
            (Phase::Limit, "min_freq") if upper_stays => {
                policy.khz(machine, "scaling_max_freq").map_or(*khz, |most| most.min(*khz))
            }
            _ => *khz,
        };
        becomes = (within != *khz).then_some(Value::Khz(within)).or(becomes);
    }
    StepLine {
        knob: step.named.name,
        site: step.site.words(),
        from: step.from.map(|from| knob.shown(&from)),
        to: step.value.to_string(),
        becomes: becomes.map(|value| value.to_string()),
        already,
    }
}

/// Every canonical and short name, for completion.
#[must_use]
pub fn names() -> Vec<&'static str> {
    ALL.iter().flat_map(|knob| [knob.about().name, knob.about().short]).collect::<BTreeSet<_>>().into_iter().collect()
}
