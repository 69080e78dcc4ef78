//! Turning a setting: steps one after the other through the ledger, all of them or none.
mod asked;
mod device;
pub(crate) mod moves;
mod saved_state;
mod trial;

use std::collections::{BTreeMap, BTreeSet};

use powerband_machine::{Acted, Action, Before, Change, EntryId, Hold, Look, Turn};
use powerband_record::{ReachedSite, Setting, placed};
use powerband_sysfs::cpufreq::INTEL_STATUS;
use serde::{Deserialize, Serialize};

use self::saved_state::{Hidden, hidden};
use crate::catalogue::nic::has_carrier;
use crate::error::advice;
use crate::landed::{judge, judge_reading};
use crate::plan::{Move, Part, check_governors, in_one_request, moves, plan};
use crate::{KnobError, Landed, Named, Phase, PlannedSteps, Selection, Site, Value, overridden, restore};

pub use asked::{answer, plan_asked};

/// One knob at one site after turning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The knob.
    pub named: Named,
    /// Site; with its CPUs in [`Reached::words`].
    pub site: crate::Site,
    /// What was asked.
    pub asked: Value,
    /// What read there before.
    pub before: Option<String>,
    /// What read there afterwards, trimmed.
    pub reads_back: Option<String>,
    /// What came of it.
    pub landed: Landed,
}

impl Reached {
    /// For people: `cpufreq.governor at policy0 (cpus 0-3): performance, applied`.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}: {}, {}", placed(&self.named.name, &self.site.words()), self.asked, self.landed)
    }

    /// As the journal keeps it.
    #[must_use]
    pub fn record(&self) -> ReachedSite {
        ReachedSite {
            knob: self.named.name.clone(),
            site: self.site.name.clone(),
            asked: self.asked.typed(),
            reads_back: self.reads_back.clone(),
            landed: self.landed.to_string(),
        }
    }
}

/// How many policies a knob was turned at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyReach {
    /// Canonical name.
    pub knob: String,
    /// Policies turned.
    pub turned: usize,
    /// Policies there are.
    pub of: usize,
}

impl std::fmt::Display for PolicyReach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: set on policies {} of {}", self.knob, self.turned, self.of)
    }
}

/// A setting that is in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Every knob at every site, in the order of turning.
    pub sites: Vec<Reached>,
    /// Ledger entries in the order they were made; [`restore`] takes them back. More than sites: what a governor
    /// switch would lose is kept as entries of its own.
    pub entries: Vec<EntryId>,
    /// The group the load has to run in, if a quota was set.
    pub group: Option<String>,
    /// How much was reached, for knobs that sit on policies.
    pub reach: Vec<PolicyReach>,
    /// Network devices that were turned and had their link up before.
    pub links: Vec<String>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// What stays as it is set, because the kernel does not take back what was there; only where that was accepted.
    pub unrestorable: Vec<String>,
}

impl Applied {
    /// Whether the links that were up before the turn are up again: many drivers reset their card.
    #[must_use]
    pub fn links_are_back(&self, machine: &mut dyn Look) -> bool {
        self.links.iter().all(|device| has_carrier(machine, device))
    }

    /// Reads everything again and judges anew. Since Linux 5.3 limits take effect a moment after the write returns:
    /// call this once the machine has settled.
    pub fn look_again(&mut self, machine: &mut dyn Look) {
        for reached in self.sites.iter_mut().filter(|reached| reached.landed != Landed::Already) {
            let Some(path) = &reached.site.path else { continue };
            let Ok(text) = machine.read(path) else { continue };
            let text = text.trim().to_owned();
            reached.landed = judge_reading(&reached.named, &reached.asked, Some(&text));
            reached.reads_back = Some(text);
            overridden::explain(machine, reached);
        }
        overridden::by_siblings(machine, self);
    }

    /// How many of several sites landed as asked, and how the others did; nothing where there is one site.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let (of, others) = (self.sites.len(), self.inexact());
        if of < 2 {
            return None;
        }
        let told = |it: &&Reached| format!("{}: {}", placed(&it.named.name, &it.site.name), it.landed);
        let others: Vec<String> = others.iter().map(told).collect();
        let why = if others.is_empty() { String::new() } else { format!("; {}", others.join("; ")) };
        Some(format!("applied to {} of {of} targets{why}", of - others.len()))
    }

    /// Everything that did not land exactly as asked.
    #[must_use]
    pub fn inexact(&self) -> Vec<&Reached> {
        let exact = |landed: &Landed| matches!(landed, Landed::Applied | Landed::Already | Landed::Unseen);
        self.sites.iter().filter(|reached| !exact(&reached.landed)).collect()
    }
}

/// Turns a setting: [`plan`], then [`apply_steps`].
///
/// # Errors
/// [`KnobError`]; then nothing is left turned, except as [`KnobError::CannotRestore`] says.
pub fn apply(
    machine: &mut dyn Change,
    setting: &Setting,
    hold: Hold,
    narrow: &Selection,
) -> Result<Applied, KnobError> {
    let steps = plan(setting, machine, narrow)?;
    apply_steps(machine, &steps, hold)
}

/// Turns what was planned, one step after the other; a refusal takes back what this call has turned.
///
/// # Errors
/// [`KnobError`]; then nothing is left turned, except as [`KnobError::CannotRestore`] says.
pub fn apply_steps(machine: &mut dyn Change, steps: &PlannedSteps, hold: Hold) -> Result<Applied, KnobError> {
    if hold == Hold::Set {
        steps.may_stay()?;
    }
    asked::apply_together(machine, steps, hold)
}

/// Sets again what was in force before somebody changed it. Each write is in the ledger before it is made, as any other, but
/// nothing takes it back: what was there before it is somebody else's, and how to undo the setting itself is in the ledger
/// already, if anybody is to.
///
/// # Errors
/// [`KnobError`]; what was set again until then stays.
pub fn apply_again(machine: &mut dyn Change, steps: &PlannedSteps) -> Result<Applied, KnobError> {
    steps.may_stay()?;
    run_steps(machine, steps, Hold::Set, true)
}

fn run_steps(machine: &mut dyn Change, steps: &PlannedSteps, hold: Hold, again: bool) -> Result<Applied, KnobError> {
    let mut run = Run { again, accept_unrestorable: steps.accept_unrestorable, ..Run::new(machine, hold) };
    run.applied.notes.clone_from(&steps.notes);
    for phase in Phase::ALL {
        if let Err(cause) = run.phase(&steps.parts, phase) {
            return Err(run.take_back(cause));
        }
    }
    let mut applied = run.applied;
    applied.notes.dedup();
    if steps.parts.iter().any(|part| part.named.knob.about().phase == Phase::Limit) {
        applied.look_again(machine);
    } else {
        overridden::by_siblings(machine, &mut applied);
    }
    applied.reach = reach(&steps.parts, &applied.sites);
    Ok(applied)
}

/// Holds what cpufreq has in force on every policy, without changing it: governors with their tunables, limits, preferences,
/// set speeds, boost. For the time in which another program sets them.
///
/// # Errors
/// [`KnobError`] for what cannot be read or is refused.
pub fn hold_cpufreq(machine: &mut dyn Change) -> Result<Applied, KnobError> {
    let mut run = Run::new(machine, Hold::Held);
    match run.save_moved_by(INTEL_STATUS, &[]) {
        Ok(_) => Ok(run.applied),
        Err(cause) => Err(run.take_back(cause)),
    }
}

/// One call of [`apply_steps`].
struct Run<'m> {
    machine: &'m mut dyn Change,
    hold: Hold,
    /// Nothing of it is undone.
    again: bool,
    /// What could not be restored is changed all the same.
    accept_unrestorable: bool,
    /// Files that are saved, because a write moves them along.
    saved: BTreeSet<String>,
    /// Files that a write moves along and that are not saved, by the file that is written, with what they read before.
    moves: BTreeMap<String, BTreeMap<String, String>>,
    /// Files that earlier commands have moved.
    hidden: BTreeMap<String, Vec<Hidden>>,
    /// The first entry of this call, which names its step even if it was let go of meanwhile.
    step: Option<EntryId>,
    applied: Applied,
}

impl<'m> Run<'m> {
    fn new(machine: &'m mut dyn Change, hold: Hold) -> Run<'m> {
        Run {
            hidden: hidden(&machine.open_entries()),
            machine,
            hold,
            again: false,
            accept_unrestorable: false,
            step: None,
            saved: BTreeSet::new(),
            moves: BTreeMap::new(),
            applied: Applied::default(),
        }
    }

    fn phase(&mut self, parts: &[Part], phase: Phase) -> Result<(), KnobError> {
        let moves = moves(parts, phase, self.machine, true)?;
        check_governors(parts, &moves, self.machine)?;
        let saved = self.save_moved(&moves, parts)?;
        for mut request in in_one_request(moves) {
            match request.pop() {
                Some(step) if request.is_empty() => self.turn(step)?,
                Some(last) => {
                    request.push(last);
                    self.turn_together(request)?;
                }
                None => {}
            }
        }
        match phase {
            Phase::Boost => self.note_moved(&saved, parts),
            Phase::Governor => self.drop_needless(&saved)?,
            _ => {}
        }
        Ok(())
    }

    fn turn(&mut self, step: Move) -> Result<(), KnobError> {
        self.note_throttle(&step);
        let Move { named, value, site, .. } = step;
        let mut turning = match named.knob.turn(&value, self.machine, &site) {
            Ok(turning) => turning,
            Err(errno) => self.without_undo(&named, &site, &value, errno)?,
        };
        let before = turning.before.clone();
        if named.knob.skips_when_equal() && before.as_ref().is_some_and(|before| named.knob.same(&value, before)) {
            let reads_back = before.clone();
            self.applied.sites.push(Reached { named, site, asked: value, before, reads_back, landed: Landed::Already });
            return Ok(());
        }
        let next_to = self.try_undo(&named, &site, &turning)?.unwrap_or_else(|why| {
            self.note_unrestorable(&named, &site, &why);
            turning.undo = None;
            Vec::new()
        });
        let group = match &turning.action {
            Action::MakeGroup { group, .. } => Some(group.clone()),
            Action::Coalesce { device, .. } => {
                self.note_link(device);
                None
            }
            _ => None,
        };
        let is_program = matches!(turning.action, Action::Run { .. });
        let moves = site.path.as_ref().and_then(|path| self.moves.remove(path)).unwrap_or_default();
        let turn = Turn {
            action: turning.action,
            undo: turning.undo,
            hold: self.hold,
            knob: named.name.clone(),
            site: site.name.clone(),
            asked: value.typed(),
            before: match turning.before {
                Some(outcome) if named.knob.shows_outcome() => Before::Outcome { outcome },
                before => before.into(),
            },
            read_back: site.path.clone(),
            step: self.step,
            moves,
        };
        let acted = self.act_next_to(&named, &site, &turn, next_to)?;
        if acted.errno.is_none() {
            self.applied.group = group.or(self.applied.group.take());
        }
        if is_program {
            command_failure(&named, &value, &acted).map_or(Ok(()), Err)?;
        }
        let landed = judge(&named, &value, before.as_deref(), &acted);
        let reads_back = acted.reads_back.map(|text| text.trim().to_owned());
        if let Some(error) = failure(&named, &value, &site, &landed) {
            return Err(error.changed(before.as_deref(), reads_back.as_deref()));
        }
        let mut reached = Reached { named, site, asked: value, before, reads_back, landed };
        overridden::explain(self.machine, &mut reached);
        self.applied.sites.push(reached);
        Ok(())
    }

    fn act(&mut self, turn: &Turn) -> Result<Acted, KnobError> {
        if !self.again {
            self.save_hidden(turn)?;
        }
        let acted = match self.again {
            true => self.machine.act(&Turn { undo: None, ..turn.clone() })?,
            false => self.machine.act(turn)?,
        };
        self.step.get_or_insert(acted.entry);
        // What was refused may have been done in part; the ledger knows whether there is anything to restore.
        if acted.errno.is_none() || self.machine.open_entries().iter().any(|entry| entry.id == acted.entry) {
            self.applied.entries.push(acted.entry);
        }
        Ok(acted)
    }

    /// While something holds the upper limit down, what was asked of the kernel before cannot be read.
    fn note_throttle(&mut self, step: &Move) {
        let Some(policy) = step.site.policy.as_ref().filter(|_| step.named.name == "cpufreq.max_freq") else { return };
        if let Some(by) = overridden::throttle(self.machine, policy) {
            self.applied.notes.push(format!(
                "{} is held down by {by} just now, so what was asked for before cannot be read: undo writes what reads there now",
                policy.name
            ));
        }
    }

    /// Undoes what this call has turned and says so if that does not succeed.
    fn take_back(self, cause: KnobError) -> KnobError {
        // Forced: these entries are milliseconds old, and a limit's read-back may have been taken too early.
        let restored = restore(self.machine, &self.applied.entries, true);
        // A limit takes effect a moment after it was written, so it may read otherwise now.
        let is_limit = |path: &str| path.ends_with("/scaling_min_freq") || path.ends_with("/scaling_max_freq");
        let mut exact = restored;
        exact.inexact.retain(|it| !is_limit(&it.path));
        let (left, open) = (exact.not_restored(), !exact.left().is_empty());
        if left.is_empty() { cause } else { KnobError::CannotRestore { cause: Box::new(cause), left, open } }
    }
}

/// What is wrong with what a declared command came to, if anything is.
fn command_failure(named: &Named, value: &Value, acted: &Acted) -> Option<KnobError> {
    let why = match (&acted.errno, acted.reads_back.as_deref().map(str::trim)) {
        (Some(errno), _) => {
            format!("its set command failed: {}", acted.words.clone().unwrap_or_else(|| errno.to_string()))
        }
        (None, None) => "its set command ended well, but its get command fails after it".to_owned(),
        (None, Some(reads)) if !named.knob.same(value, reads) => {
            format!("its set command ended well, but its get command prints '{reads}' after it")
        }
        (None, Some(_)) => return None,
    };
    Some(KnobError::Command { knob: named.name.clone(), asked: value.typed(), why })
}

/// The error a landing amounts to, if it does.
pub(super) fn failure(named: &Named, value: &Value, at: &Site, landed: &Landed) -> Option<KnobError> {
    let about = named.knob.about();
    let (knob, site, asked) = (named.name.clone(), at.name.clone(), value.typed());
    match landed {
        Landed::Refused { errno, words } => {
            let advice = advice(words.as_deref(), named.knob.meaning(*errno), *errno, at.path.as_deref());
            Some(KnobError::Refused { knob, site, asked, errno: *errno, advice, changed_to: None })
        }
        Landed::Unsupported { errno, words } => {
            let meaning = named.knob.meaning(*errno);
            let words = words.as_deref().or(meaning).map_or(String::new(), |words| format!(": {words}"));
            Some(KnobError::absent(&knob, format!("the kernel answered {errno} at {site}{words}")))
        }
        Landed::NeedsFirst { what } => {
            let needs = named.knob.governor().unwrap_or_default();
            let hint = format!("{what} {}={asked} together", about.short);
            Some(KnobError::NeedsFirst { knob, needs, site, found: "another one".into(), hint })
        }
        Landed::Ignored { reads } => Some(KnobError::Ignored { knob, site, asked, reads: reads.clone() }),
        Landed::ReadsOther { reads } if about.phase == Phase::Governor => {
            Some(KnobError::NotTaken { knob, site, asked, reads: reads.clone() })
        }
        _ => None,
    }
}

fn reach(parts: &[Part], sites: &[Reached]) -> Vec<PolicyReach> {
    let policies = parts.iter().filter_map(|part| part.sites.as_ref()).map(|sites| sites.policies).max();
    let mut all: Vec<PolicyReach> = Vec::new();
    for part in parts {
        let knob = &part.named.name;
        let turned = sites.iter().filter(|it| it.named == part.named && it.site.policy.is_some()).count();
        if turned > 0 && !all.iter().any(|reach| reach.knob == *knob) {
            all.push(PolicyReach { knob: knob.clone(), turned, of: policies.unwrap_or_default().max(turned) });
        }
    }
    all
}
