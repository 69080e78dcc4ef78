//! What becomes of knobs from now on: how they read, what is different at the next look, and who wrote meanwhile.
use std::collections::{BTreeMap, BTreeSet};

use powerband_knob::catalogue::ALL;
use powerband_knob::{KnobError, Named, Selection, resolve_here};
use powerband_machine::{DEVICES, Look, Watch, Written};
use powerband_record::{InOrder, IntoOrdered as _, KnobRef, Writer};
use serde::Serialize;

/// So often everything is read again because somebody writes meanwhile.
const MAX_READINGS: usize = 10;

/// What a knob read at one site.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    /// Where it reads.
    place: String,
    /// As it can be typed; `None` when it cannot be read.
    value: Option<String>,
    /// For people.
    shown: String,
}

/// A knob that reads differently, or was written again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct KnobChange {
    /// Canonical name.
    pub knob: String,
    /// Site.
    pub site: String,
    /// What it read before, as it can be typed; absent where it was not there or could not be read.
    pub old: Option<String>,
    /// What it reads now, likewise.
    pub new: Option<String>,
    /// Who wrote, in order; nobody where nobody was seen.
    pub by: Vec<Writer>,
    /// How long ago, ns.
    #[serde(skip)]
    pub ago_ns: u64,
    /// `old` and `new` for people.
    #[serde(skip)]
    pub shown: (String, String),
}

impl KnobChange {
    /// Whether what was written is what read there already.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.old == self.new
    }
}

/// Knobs of one machine that are watched.
#[derive(Clone, Debug)]
pub struct KnobWatch {
    /// Those asked for; empty for all.
    wanted: Vec<KnobRef>,
    narrow: Selection,
    /// Places watched besides those of the knobs.
    also: Vec<String>,
    seen: BTreeMap<(String, String), Seen>,
    /// Why it cannot be seen who writes, if it cannot.
    pub unseen: Option<String>,
}

impl KnobWatch {
    /// Begins to watch these knobs, or all of the catalogue that the machine has.
    ///
    /// # Errors
    /// [`KnobError`] when one that was named, or its site, is not there; or when there is none at all.
    pub fn begin(machine: &mut dyn Watch, wanted: &[KnobRef], narrow: &Selection) -> Result<KnobWatch, KnobError> {
        for knob in wanted {
            let named = resolve_here(&knob.name, &[], machine)?;
            named.knob.sites(&named.name, machine, &narrow.at(knob.site.as_deref()))?;
        }
        Ok(KnobWatch::of(machine, wanted, narrow, &[]))
    }

    /// Begins to watch knobs, also those that are not there now and may come; and other places, whose writes wake the World.
    #[must_use]
    pub fn of(machine: &mut dyn Watch, wanted: &[KnobRef], narrow: &Selection, also: &[String]) -> KnobWatch {
        let (wanted, narrow, also) = (wanted.to_vec(), narrow.clone(), also.to_vec());
        let mut watch = KnobWatch { wanted, narrow, also, seen: BTreeMap::new(), unseen: None };
        watch.seen = watch.read(machine);
        watch.aim(machine);
        watch
    }

    /// How many knobs, and how many places of theirs.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.seen.keys().map(|(knob, _)| knob).collect::<BTreeSet<_>>().len(), self.places().len())
    }

    /// What has changed since the last look, in the order in which it was heard of.
    pub fn look(&mut self, machine: &mut dyn Watch) -> Vec<KnobChange> {
        let mut writes = machine.take_writes();
        let mut now = self.read(machine);
        // What was written while we read may have come after its place was read. Who never ends is heard of again.
        for _ in 0..MAX_READINGS {
            let more = machine.take_writes();
            if more.is_empty() {
                break;
            }
            writes.extend(more);
            now = self.read(machine);
        }
        writes.retain(|write| write.place == DEVICES || !self.also.contains(&write.place));
        let before = std::mem::replace(&mut self.seen, now);
        let places = |seen: &BTreeMap<_, Seen>| seen.values().map(|seen| seen.place.clone()).collect::<BTreeSet<_>>();
        if places(&before) != self.places() {
            self.aim(machine);
        }
        let keys: BTreeSet<&(String, String)> = before.keys().chain(self.seen.keys()).into_set();
        let mut changes: Vec<KnobChange> =
            keys.into_iter().filter_map(|key| change(key, before.get(key), self.seen.get(key), &writes)).collect();
        // Before anything that followed from it.
        changes.order_by_key(|change| {
            (std::cmp::Reverse(change.ago_ns), change.by.iter().any(|by| by.inferred.is_some()))
        });
        changes
    }

    fn places(&self) -> BTreeSet<String> {
        self.seen.values().map(|seen| seen.place.clone()).collect()
    }

    fn aim(&mut self, machine: &mut dyn Watch) {
        let places: Vec<String> = self.places().into_iter().chain(self.also.clone()).collect();
        self.unseen = machine.watch_writers(&places).err().map(|unwatched| unwatched.why);
    }

    fn read(&self, machine: &mut dyn Look) -> BTreeMap<(String, String), Seen> {
        let mut seen = BTreeMap::new();
        if self.wanted.is_empty() {
            // Families carry the rest of the name themselves: what they could be is without end.
            let single = ALL.iter().filter(|knob| !knob.about().name.ends_with(['.', ':']));
            for &knob in single {
                let named = Named { knob, name: knob.about().name.to_owned() };
                read_sites(&named, machine, &self.narrow, &mut seen);
            }
        }
        for knob in &self.wanted {
            // One that has gone reads nothing; it may come back.
            if let Ok(named) = resolve_here(&knob.name, &[], machine) {
                read_sites(&named, machine, &self.narrow.at(knob.site.as_deref()), &mut seen);
            }
        }
        seen
    }
}

fn read_sites(named: &Named, machine: &mut dyn Look, at: &Selection, seen: &mut BTreeMap<(String, String), Seen>) {
    let Ok(sites) = named.knob.sites(&named.name, machine, at) else { return };
    for site in sites.sites {
        let Some(place) = site.path else { continue };
        let (value, shown) = match machine.read(&place) {
            Ok(text) => (Some(text.trim().to_owned()), named.knob.shown(&text)),
            Err(errno) => (None, format!("unreadable: {errno}")),
        };
        seen.insert((named.name.clone(), site.name), Seen { place, value, shown });
    }
}

/// What became of a knob at one site.
fn change(
    (knob, site): &(String, String),
    before: Option<&Seen>,
    now: Option<&Seen>,
    writes: &[Written],
) -> Option<KnobChange> {
    let place = now.or(before).map(|seen| &seen.place)?;
    let (old, new) = (before.and_then(|seen| seen.value.clone()), now.and_then(|seen| seen.value.clone()));
    let own: Vec<&Written> = writes.iter().filter(|write| write.place == *place).collect();
    if own.is_empty() && old == new {
        return None;
    }
    // What only followed is told after what it followed from.
    let (by, heard) = match own.first() {
        Some(first) => (own.iter().map(|write| write.by.clone()).collect(), Some(*first)),
        None => (beside(writes), writes.last()),
    };
    let shown = |seen: Option<&Seen>| seen.map_or_else(|| "absent".to_owned(), |seen| seen.shown.clone());
    let shown = (shown(before), shown(now));
    let ago_ns = heard.map_or(0, |write| write.ago_ns);
    Some(KnobChange { knob: knob.clone(), site: site.clone(), old, new, by, ago_ns, shown })
}

/// Those who wrote elsewhere when this changed, with nobody seen to write here.
fn beside(writes: &[Written]) -> Vec<Writer> {
    let of_another = |write: &Written| {
        let inferred = write.by.pid.map(|_| "it wrote to another knob just then".to_owned());
        Writer { inferred: inferred.or_else(|| write.by.inferred.clone()), ..write.by.clone() }
    };
    let mut all = Vec::new();
    for writer in writes.iter().map(of_another) {
        if !all.contains(&writer) {
            all.push(writer);
        }
    }
    all
}
