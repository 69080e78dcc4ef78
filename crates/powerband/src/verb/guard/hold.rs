//! `guard --hold`: setting again what another program has changed, and when to leave it to that program.
//!
//! The lock is taken for each write and let go of after it, so that other commands work meanwhile, and the ledger has an
//! intent before each write, as for any change. What can be undone is as it was: where the value was in force before, the
//! write only ends somebody else's, so nothing takes it back (`powerband_knob::apply_again`), and an entry that `set` made
//! stays as it is, for `undo` to compare with. Where it was not in force yet, it is a change like any other, and a step of `undo`.
use std::collections::{BTreeMap, BTreeSet};

use powerband_host::{Holder, LockError};
use powerband_knob::{Applied, apply_again, apply_steps, plan};
use powerband_machine::{Hold, Machine, OpenEntry};
use powerband_record::{IntoOrdered as _, Side};
use powerband_rig::{Opening, Purpose, RigError};

use super::wanted::{Check, Place, Wanted};
use crate::cli::Shared;
use crate::exit::Failure;
use crate::{output, rig};

/// So often a knob is set again at one site against one program …
pub(super) const MAX_FIGHTS: usize = 3;
/// … within this time, ns.
const WITHIN_NS: u64 = 60_000_000_000;

/// What is held, and what no longer is.
#[derive(Default)]
pub(super) struct Held {
    /// When a knob was set again at a site against whom, ns. By sites, as a program may take its time for all of them.
    fights: BTreeMap<(Place, String), Vec<u64>>,
    /// Knobs left to an opponent.
    pub(super) given_up: BTreeSet<String>,
    /// Knobs that a powerband has changed, until they are as wanted or another program changes them.
    pub(super) left: BTreeSet<String>,
    /// Whether something could not be set, until all is as wanted.
    pub(super) failed: bool,
    /// Where knobs were as wanted once: setting them again there needs no undo.
    known: BTreeSet<Place>,
    /// What powerband had set before we began: what is wanted from us is newer.
    before: Vec<OpenEntry>,
}

/// What came of setting again.
pub(super) enum Again {
    /// It was done; these knobs powerband itself has set otherwise, and they stay.
    Done(Applied, BTreeSet<String>),
    /// Another powerband changes the machine now; its end is an event.
    Busy(Holder),
}

impl Held {
    /// Nothing is held yet; the ledger has these entries.
    pub(super) fn begin(before: Vec<OpenEntry>) -> Held {
        Held { before, ..Held::default() }
    }

    /// Whether an opponent has won: it changes a knob again that was set again as often as it may be.
    pub(super) fn is_lost(&mut self, place: Place, opponent: &str, now_ns: u64) -> bool {
        let fights = self.fights.entry((place, opponent.to_owned())).or_default();
        fights.retain(|&at_ns| now_ns.saturating_sub(at_ns) < WITHIN_NS);
        fights.len() >= MAX_FIGHTS
    }

    /// A knob was set again against an opponent.
    pub(super) fn fought(&mut self, place: Place, opponent: &str, now_ns: u64) {
        self.fights.entry((place, opponent.to_owned())).or_default().push(now_ns);
    }

    /// Takes note of what is as wanted.
    pub(super) fn see(&mut self, checks: &[Check]) {
        let wrong: BTreeSet<&String> = checks.iter().filter(|it| !it.as_wanted).map(|it| &it.knob).into_set();
        for knob in checks.iter().map(|it| &it.knob).filter(|knob| !wrong.contains(knob)) {
            self.left.remove(knob);
        }
        self.failed &= !self.wrong(checks).is_empty();
        self.known.extend(checks.iter().filter(|it| it.as_wanted).map(Check::place));
    }

    /// Whether it was as wanted there before. What is absent with its governor has no site.
    fn was_as_wanted(&self, check: &Check) -> bool {
        let absent = check.asked.is_none();
        self.known.iter().any(|(knob, site)| *knob == check.knob && (absent || *site == check.site))
    }

    /// Where something is to be set again.
    pub(super) fn wrong(&self, checks: &[Check]) -> Vec<Place> {
        let ours = |it: &&Check| !it.as_wanted && !self.given_up.contains(&it.knob) && !self.left.contains(&it.knob);
        checks.iter().filter(ours).map(Check::place).collect()
    }

    /// Sets what is wrong, in one go: one knob may need another.
    pub(super) fn set_again(
        &self,
        shared: &Shared,
        wanted: &Wanted,
        checks: &[Check],
        wrong: &BTreeSet<String>,
    ) -> Result<Again, Failure> {
        let doing = crate::typed::words().skip(1).collect::<Vec<_>>().join(" ");
        let opening =
            Opening { seed: None, purpose: Purpose::Turn, from_boot: false, doing: &doing, for_a_moment: true };
        let mut rig = match powerband_rig::open(&rig::names(shared), &opening, &mut output::note) {
            Ok(rig) => rig,
            Err(RigError::Lock(LockError::Held(holder))) => return Ok(Again::Busy(holder)),
            Err(error) => return Err(error.into()),
        };
        let machine = rig.machine(Side::Near)?;
        let open = machine.open_entries();
        let is_otherwise = |knob: &str| {
            last_asked(&open, knob).iter().any(|entry| !self.before.contains(entry) && differs(entry, checks))
        };
        let (otherwise, ours): (BTreeSet<String>, BTreeSet<String>) =
            wrong.iter().cloned().partition(|knob| is_otherwise(knob));
        let applied = if ours.is_empty() {
            Applied::default()
        } else {
            let steps = plan(&wanted.of_knobs(&ours), machine, &wanted.narrow)?;
            let mut here = checks.iter().filter(|it| !it.as_wanted && ours.contains(&it.knob));
            if here.all(|it| self.was_as_wanted(it) || is_set(&open, it, checks)) {
                apply_again(machine, &steps)?
            } else {
                set(machine, &steps)?
            }
        };
        rig.close()?;
        Ok(Again::Done(applied, otherwise))
    }
}

/// As `powerband set` does: held until all of it is in force, then kept.
fn set(machine: &mut dyn Machine, steps: &powerband_knob::PlannedSteps) -> Result<Applied, Failure> {
    let applied = apply_steps(machine, steps, Hold::Held)?;
    // What cannot be kept is restored as soon as the rig is closed.
    machine.keep(&applied.entries).map_err(RigError::Ledger)?;
    Ok(applied)
}

/// The entries of a knob that powerband made last and has not undone.
fn last_asked<'e>(open: &'e [OpenEntry], knob: &str) -> Vec<&'e OpenEntry> {
    // What only keeps a value for its governor's return was not asked for.
    let asks = |entry: &&OpenEntry| entry.turn.knob == knob && entry.turn.undo.as_ref() != Some(&entry.turn.action);
    let all: Vec<&OpenEntry> = open.iter().filter(asks).collect();
    let last = all.last().map(|entry| entry.step);
    all.into_iter().filter(|entry| Some(entry.step) == last).collect()
}

/// Whether `set` has asked for what is wanted there.
fn is_set(open: &[OpenEntry], check: &Check, checks: &[Check]) -> bool {
    let asks = |entry: &&OpenEntry| entry.turn.site == check.site && !differs(entry, checks);
    last_asked(open, &check.knob).into_iter().any(|entry| asks(&entry))
}

/// Whether an entry asks for another value than is wanted where it was made.
fn differs(entry: &OpenEntry, checks: &[Check]) -> bool {
    let here = |it: &&Check| it.knob == entry.turn.knob && it.site == entry.turn.site;
    checks.iter().filter(here).any(|it| it.asked.as_ref().is_some_and(|asked| *asked != entry.turn.asked))
}
