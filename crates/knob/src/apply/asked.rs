//! Settings of which we may not set a part ourselves: somebody else on the machine is asked for that part, by knob and value,
//! and plans it anew; the rest we set.
use powerband_machine::wire::Refusal;
use powerband_machine::{Asked, AskedKnob, Change, EntryId, Hold, Look};
use powerband_record::{Assignment, ErrorClass, KnobRef, Setting, Side};
use serde::{Deserialize, Serialize};

use super::{Applied, PolicyReach, Reached, run_steps};
use crate::plan::{Part, plan};
use crate::{KnobError, Landed, Named, Phase, PlannedSteps, Selection, Value, resolve, restore};

/// What came of it, as it is answered.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    sites: Vec<AnswerSite>,
    entries: Vec<EntryId>,
    reach: Vec<PolicyReach>,
    links: Vec<String>,
    notes: Vec<String>,
}

/// One knob at one site.
#[derive(Debug, Serialize, Deserialize)]
struct AnswerSite {
    knob: String,
    site: String,
    asked: Value,
    before: Option<String>,
    reads_back: Option<String>,
    landed: Landed,
}

/// Plans what somebody has asked for, on our own view of the machine.
///
/// # Errors
/// As [`plan`].
pub fn plan_asked(asked: &Asked, machine: &mut dyn Look) -> Result<PlannedSteps, KnobError> {
    let cpus = asked.cpus.as_deref().map(str::parse).transpose();
    let cpus = cpus.map_err(|error: powerband_record::CpuListError| KnobError::value("-c", error.to_string()))?;
    let assignment = |asked: &AskedKnob| Assignment {
        knob: KnobRef { side: Side::Near, name: asked.knob.clone(), site: asked.site.clone() },
        value: asked.value.clone(),
    };
    let setting = Setting { name: None, assignments: asked.knobs.iter().map(assignment).collect() };
    plan(&setting, machine, &Selection { cpus, ..Selection::default() })
}

/// What came of it, for who asked.
#[must_use]
pub fn answer(applied: &Applied) -> serde_json::Value {
    let site = |reached: &Reached| AnswerSite {
        knob: reached.named.name.clone(),
        site: reached.site.name.clone(),
        asked: reached.asked.clone(),
        before: reached.before.clone(),
        reads_back: reached.reads_back.clone(),
        landed: reached.landed.clone(),
    };
    let answer = Answer {
        sites: applied.sites.iter().map(site).collect(),
        entries: applied.entries.clone(),
        reach: applied.reach.clone(),
        links: applied.links.clone(),
        notes: applied.notes.clone(),
    };
    serde_json::to_value(answer).unwrap_or_default()
}

/// Sets what was planned: what we may not set is asked for first, then we set the rest; all of it or none.
pub(super) fn apply_together(machine: &mut dyn Change, steps: &PlannedSteps, hold: Hold) -> Result<Applied, KnobError> {
    let theirs = theirs(machine, steps);
    let Some(setter) = machine.setter().filter(|_| theirs.contains(&true)) else {
        return run_steps(machine, steps, hold, false);
    };
    let parts = |wanted: bool| -> Vec<Part> {
        steps.parts.iter().zip(&theirs).filter(|(_, theirs)| **theirs == wanted).map(|(part, _)| part.clone()).collect()
    };
    let answered = setter.set(&asked(&parts(true))).map_err(KnobError::Setter)?;
    let mut applied = applied(machine, answered)?;
    let ours = PlannedSteps { parts: parts(false), ..steps.clone() };
    match run_steps(machine, &ours, hold, false) {
        Ok(rest) => {
            applied.sites.extend(rest.sites);
            applied.entries.extend(rest.entries);
            applied.reach.extend(rest.reach);
            applied.links.extend(rest.links);
            applied.notes.extend(rest.notes);
            applied.unrestorable.extend(rest.unrestorable);
            applied.group = rest.group;
            Ok(applied)
        }
        Err(cause) => {
            let left = restore(machine, &applied.entries, true).left();
            Err(if left.is_empty() {
                cause
            } else {
                KnobError::CannotRestore { cause: Box::new(cause), left, open: true }
            })
        }
    }
}

/// Which parts we cannot set. A tunable without a site yet goes with the governors.
fn theirs(machine: &mut dyn Change, steps: &PlannedSteps) -> Vec<bool> {
    if machine.setter().is_none() {
        return vec![false; steps.parts.len()];
    }
    let mut theirs: Vec<bool> = Vec::new();
    for part in &steps.parts {
        let needs = match &part.sites {
            // A plan's own knobs are commands that nobody runs for somebody else.
            _ if !is_known(&part.named) => false,
            Some(sites) => sites.sites.iter().any(|site| {
                // What cannot be read cannot be set by us either.
                let action = part.named.knob.turn(&part.value, machine, site).map(|turning| turning.action);
                let setter = machine.setter();
                setter.is_some_and(|setter| action.map_or(site.path.is_some(), |action| setter.is_needed(&action)))
            }),
            None => steps
                .parts
                .iter()
                .zip(&theirs)
                .any(|(earlier, &theirs)| theirs && earlier.named.knob.about().phase == Phase::Governor),
        };
        theirs.push(needs);
    }
    theirs
}

/// Whether a knob is one of the catalogue, which others know by its name.
fn is_known(named: &Named) -> bool {
    resolve(&named.name).is_ok_and(|known| std::ptr::eq(known.knob.about(), named.knob.about()))
}

fn asked(parts: &[Part]) -> Asked {
    let knob = |part: &Part| AskedKnob {
        knob: part.named.name.clone(),
        site: part.at.site.clone(),
        value: part.value.typed(),
    };
    let cpus = parts.iter().find_map(|part| part.at.cpus.as_ref()).map(ToString::to_string);
    Asked { cpus, knobs: parts.iter().map(knob).collect() }
}

/// The answer, in terms of our own view of the machine.
fn applied(machine: &mut dyn Change, answered: serde_json::Value) -> Result<Applied, KnobError> {
    let nonsense = |why: String| KnobError::Setter(Refusal { class: ErrorClass::Aborted, why });
    let answer: Answer =
        serde_json::from_value(answered).map_err(|error| nonsense(format!("the answer makes no sense: {error}")))?;
    let Answer { sites, entries, reach, links, notes } = answer;
    let reached = sites.into_iter().map(|site| reached(machine, site)).collect::<Result<Vec<_>, _>>();
    match reached {
        Ok(sites) => Ok(Applied { sites, entries, group: None, reach, links, notes, unrestorable: Vec::new() }),
        Err(cause) => {
            restore(machine, &entries, true);
            Err(cause)
        }
    }
}

/// One knob at one site as it is here.
fn reached(machine: &mut dyn Change, answered: AnswerSite) -> Result<Reached, KnobError> {
    let AnswerSite { knob, site, asked, before, reads_back, landed } = answered;
    let named = resolve(&knob)?;
    let found = named.knob.sites(&named.name, machine, &Selection::site(Some(site.clone()), None))?;
    let is_meant = |there: &crate::Site| there.name == site;
    let site = found.sites.into_iter().find(is_meant).ok_or_else(|| KnobError::NoSite {
        knob,
        site: site.clone(),
        there: Vec::new(),
    })?;
    Ok(Reached { named, site, asked, before, reads_back, landed })
}
