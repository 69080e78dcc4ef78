//! What a network driver makes of values of its coalescing: found by setting, reading back, and restoring at the end.
//!
//! Every setting goes through the ledger with what was there first as its undo, so that anyone who restores after us has one
//! thing to do, whichever setting we were at.
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use powerband_machine::{
    Action, Before, Change, Coalescing, CoalescingPlace, EntryId, Errno, Hold, PARAMETERS, Parameter, Turn,
};
use powerband_record::IntoOrdered as _;
use powerband_sysfs::net;
use serde::Serialize;

use crate::catalogue::nic::{ignores, overridden_by};
use crate::error::advice;
use crate::{KnobError, restore};

/// The highest value that is tried; what a driver takes beyond it is not asked.
const HIGHEST: u32 = 1 << 17;

/// Values behind a middle one that are tried for the next one the driver tells apart.
const BEYOND: [u32; 8] = [1, 2, 3, 4, 8, 16, 32, 64];

/// How far from what reads there a value is requested that is to read so.
const NEARBY: u32 = 16;

/// What was found of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Probed {
    /// The device.
    pub device: String,
    /// Each number its driver has, in the kernel's order.
    pub parameters: Vec<ProbedParameter>,
    /// A switch that was off meanwhile, as it would have overridden the values.
    pub switched_off: Vec<&'static str>,
    /// How many settings it took.
    pub settings: usize,
}

/// What was found of one parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ProbedParameter {
    /// Its name.
    pub name: &'static str,
    /// What it was before and is again.
    pub value: u32,
    /// Values it takes, lowest and highest of each stretch.
    pub takes: Vec<(u32, u32)>,
    /// What higher values become, where they become something else.
    pub clamped_to: Option<u32>,
    /// Distance of the values the driver tells apart, seen behind a middle one.
    pub step: Option<u32>,
    /// Values that were accepted and changed nothing.
    pub ignored: Vec<u32>,
    /// Values that were refused, with the kernel's answer.
    pub refused: BTreeMap<u32, Errno>,
}

impl ProbedParameter {
    /// Whether the highest value tried was taken as it is, so that the end of its range was not seen.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.clamped_to.is_none() && self.takes.last().is_some_and(|&(_, high)| high == HIGHEST)
    }
}

/// Probes one device, or all whose drivers coalesce, and puts everything back.
///
/// # Errors
/// [`KnobError::Absent`] for a device that coalesces nothing; [`KnobError`] when it may not be turned, and
/// [`KnobError::CannotRestore`] when something is not back.
pub fn probe(machine: &mut dyn Change, device: Option<&str>) -> Result<Vec<Probed>, KnobError> {
    let devices = match device {
        Some(device) => vec![device.to_owned()],
        None => net::devices(machine).into_iter().filter(|it| machine.coalescing(it).is_ok()).collect(),
    };
    devices.into_iter().map(|device| probe_device(machine, device)).collect()
}

fn probe_device(machine: &mut dyn Change, device: String) -> Result<Probed, KnobError> {
    let before = machine.coalescing(&device).map_err(|errno| {
        let why = match errno {
            Errno::EOPNOTSUPP => format!("the driver of {device} coalesces nothing"),
            errno => format!("{device} answers {errno}"),
        };
        KnobError::absent("interrupt coalescing", why)
    })?;
    let mut probing = Probing { machine, device, before, last: 0, entries: Vec::new() };
    let numbers = PARAMETERS.iter().filter(|parameter| !parameter.switch);
    let mut found = Vec::new();
    for name in numbers.map(|parameter| parameter.name) {
        if let Some(value) = probing.before.get(name) {
            match probing.parameter(name, value) {
                Ok(one) => found.push(one),
                Err(cause) => {
                    return Err(match probing.back() {
                        Ok(()) => cause,
                        Err(left) => left.after(cause),
                    });
                }
            }
        }
    }
    let switches = found.iter().filter_map(|it| probing.switch(it.name));
    let mut switched_off: Vec<&'static str> = switches.collect();
    switched_off.dedup();
    let settings = probing.entries.len();
    let device = probing.device.clone();
    probing.back().map_err(|left| left.alone(&device))?;
    Ok(Probed { device, parameters: found, switched_off, settings })
}

/// The value next to one that a driver refuses which it takes, of the same parameter; `None` where it takes that very value, or
/// nothing was found. Everything is restored.
///
/// # Errors
/// As [`probe`].
pub fn nearest_taken(machine: &mut dyn Change, device: &str, name: &str, asked: u32) -> Result<Option<u32>, KnobError> {
    with_parameter(machine, device, name, |probing, name| probing.nearest(name, asked))
}

/// Probes one number of a device and restores it; `None` where the device has no such thing.
fn with_parameter(
    machine: &mut dyn Change,
    device: &str,
    name: &str,
    find: impl FnOnce(&mut Probing<'_>, &'static str) -> Result<Option<u32>, KnobError>,
) -> Result<Option<u32>, KnobError> {
    let before = machine.coalescing(device);
    let (Ok(before), Some(parameter)) = (before, Parameter::named(name).filter(|parameter| !parameter.switch)) else {
        return Ok(None);
    };
    let last = before.get(name).unwrap_or_default();
    let mut probing = Probing { machine, device: device.to_owned(), before, last, entries: Vec::new() };
    let found = find(&mut probing, parameter.name);
    match (found, probing.back()) {
        (found, Ok(())) => found,
        (Ok(_), Err(left)) => Err(left.alone(device)),
        (Err(cause), Err(left)) => Err(left.after(cause)),
    }
}

/// The request after which a parameter reads `reads`, as it does now: a driver that counts in steps may take that value itself for the
/// step next to it. `None` where no value nearby does. Everything is restored.
///
/// # Errors
/// As [`probe`].
pub fn request_that_reads(
    machine: &mut dyn Change,
    device: &str,
    name: &str,
    reads: u32,
) -> Result<Option<u32>, KnobError> {
    with_parameter(machine, device, name, |probing, name| probing.request_that_reads(name, reads))
}

/// What is not back.
struct Left(Vec<String>);

impl Left {
    fn after(self, cause: KnobError) -> KnobError {
        KnobError::CannotRestore { cause: Box::new(cause), left: self.0, open: true }
    }

    fn alone(self, device: &str) -> KnobError {
        self.after(KnobError::value("nic", format!("{device} was probed")))
    }
}

/// One device as it is probed.
struct Probing<'m> {
    machine: &'m mut dyn Change,
    device: String,
    before: Coalescing,
    /// What the parameter read last.
    last: u32,
    entries: Vec<EntryId>,
}

/// What came of values: what reads back, or why it is not in force.
type Answers = BTreeMap<u32, Result<u32, Not>>;

/// Why a value is not in force.
#[derive(Clone, Copy, Debug)]
enum Not {
    Refused(Errno),
    /// Accepted, and what read there before reads there still, although that is more.
    Ignored,
}

impl Probing<'_> {
    /// The switch that overrides a parameter while it is on, if it is.
    fn switch(&self, name: &str) -> Option<&'static str> {
        let switch = crate::Knob::about(overridden_by(&format!("nic.{name}"))?).short;
        (self.before.get(switch) == Some(1)).then_some(switch)
    }

    fn parameter(&mut self, name: &'static str, value: u32) -> Result<ProbedParameter, KnobError> {
        let mut answers = Answers::new();
        self.last = value;
        let doubled = std::iter::once(0).chain((0..=HIGHEST.ilog2()).map(|power| 1 << power));
        for asked in doubled {
            self.ask(name, asked, &mut answers)?;
            if ends(&answers) {
                break;
            }
        }
        self.borders(name, &mut answers)?;
        let step = self.step(name, &mut answers)?;
        // What it was is back before the next one is looked at.
        let again = self.set(name, value)?;
        answers.insert(value, again);
        Ok(found(name, value, step, &answers))
    }

    /// Looks for each place between a refused value and one that is taken.
    fn borders(&mut self, name: &'static str, answers: &mut Answers) -> Result<(), KnobError> {
        let known: Vec<(u32, bool)> = answers.iter().map(|(&asked, answer)| (asked, answer.is_ok())).collect();
        for pair in known.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
            let (mut low, mut high) = (pair[0].0, pair[1].0);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                self.ask(name, middle, answers)?;
                let is_taken = answers.get(&middle).is_some_and(Result::is_ok);
                *(if is_taken == pair[0].1 { &mut low } else { &mut high }) = middle;
            }
        }
        Ok(())
    }

    /// The distance to the next value the driver tells apart, behind the middle one of those it takes.
    fn step(&mut self, name: &'static str, answers: &mut Answers) -> Result<Option<u32>, KnobError> {
        let exact: Vec<u32> = answers.iter().filter(|(_, answer)| answer.is_ok()).map(|(&asked, _)| asked).collect();
        let Some(&middle) = exact.get(exact.len() / 2) else { return Ok(None) };
        let Some(Ok(from)) = answers.get(&middle).copied() else { return Ok(None) };
        for further in BEYOND {
            self.ask(name, middle + further, answers)?;
            match answers.get(&(middle + further)) {
                Some(Ok(reads)) if *reads != from => return Ok(Some(reads.abs_diff(from))),
                Some(Ok(_)) => {}
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// A taken value next to a refused one: away from it by doubled distances on both sides, below half of it by halves, then back.
    fn nearest(&mut self, name: &'static str, asked: u32) -> Result<Option<u32>, KnobError> {
        let mut answers = Answers::new();
        let mut is_taken = |probing: &mut Self, value: u32| {
            probing.ask(name, value, &mut answers)?;
            Ok::<bool, KnobError>(answers.get(&value).is_some_and(Result::is_ok))
        };
        if is_taken(self, asked)? {
            return Ok(None);
        }
        let (mut above, mut below) = (asked, asked);
        for power in 0..=HIGHEST.ilog2() {
            let distance = 1 << power;
            let up = asked.saturating_add(distance);
            let down = if distance <= asked / 2 { asked - distance } else { below / 2 };
            for (refused, value) in [(above, up), (below, down)] {
                if value == refused || !is_taken(self, value)? {
                    continue;
                }
                let (mut refused, mut taken) = (refused, value);
                while refused.abs_diff(taken) > 1 {
                    let middle = refused.midpoint(taken);
                    *(if is_taken(self, middle)? { &mut taken } else { &mut refused }) = middle;
                }
                return Ok(Some(taken));
            }
            (above, below) = (up, down);
        }
        Ok(None)
    }

    /// Requests values nearby, each after another one: a request for what reads already does not reach the driver.
    fn request_that_reads(&mut self, name: &'static str, reads: u32) -> Result<Option<u32>, KnobError> {
        for distance in 0..=NEARBY {
            for asked in [reads.checked_add(distance), reads.checked_sub(distance)].into_iter().flatten() {
                // The other one only has to be taken and to read otherwise.
                let mut away =
                    BEYOND.iter().rev().flat_map(|by| [reads.checked_add(*by), reads.checked_sub(*by)]).flatten();
                let is_away = away.try_fold(false, |is_away, other| {
                    Ok::<bool, KnobError>(is_away || self.set(name, other)?.is_ok_and(|now| now != reads))
                })?;
                if is_away && self.set(name, asked)?.is_ok_and(|now| now == reads) {
                    return Ok(Some(asked));
                }
            }
        }
        Ok(None)
    }

    /// Sets one value, unless that was done, and notes what comes of it.
    fn ask(&mut self, name: &'static str, asked: u32, answers: &mut Answers) -> Result<(), KnobError> {
        if let Entry::Vacant(place) = answers.entry(asked) {
            place.insert(self.set(name, asked)?);
        }
        Ok(())
    }

    /// Sets one value: what reads back, or that the driver refuses or ignores it.
    fn set(&mut self, name: &'static str, asked: u32) -> Result<Result<u32, Not>, KnobError> {
        let acted = self.machine.act(&self.turn(name, asked))?;
        // What was refused may have been done in part; nothing is left of what was not.
        if acted.errno.is_some() && self.machine.undo(acted.entry, false)?.stays_open() {
            self.entries.push(acted.entry);
        }
        Ok(match (acted.errno, acted.reads_back) {
            (None, reads) => {
                self.entries.push(acted.entry);
                let first = reads.as_deref().and_then(|text| text.split_whitespace().next());
                match first.and_then(|word| word.parse().ok()) {
                    None => Err(Not::Refused(Errno::EIO)),
                    Some(reads) if asked < reads && ignores(asked, self.last, reads) => Err(Not::Ignored),
                    Some(reads) => {
                        self.last = reads;
                        Ok(reads)
                    }
                }
            }
            (Some(errno @ (Errno::EPERM | Errno::EACCES | Errno::ENODEV)), _) => {
                let place = self.place(name);
                let advice = advice(acted.words.as_deref(), None, errno, Some(&place));
                let (knob, site, asked) = (format!("nic.{name}"), self.device.clone(), asked.to_string());
                return Err(KnobError::Refused { knob, site, asked, errno, advice, changed_to: None });
            }
            (Some(errno), _) => Err(Not::Refused(errno)),
        })
    }

    fn place(&self, name: &str) -> String {
        let names = std::iter::once(name).chain(self.switch(name)).collect();
        CoalescingPlace { device: &self.device, names }.to_string()
    }

    fn turn(&self, name: &'static str, asked: u32) -> Turn {
        let (switch, value) = (self.switch(name), self.before.get(name).unwrap_or_default());
        let set = |value: u32, on: u32| {
            let all = std::iter::once((name.to_owned(), value)).chain(switch.map(|switch| (switch.to_owned(), on)));
            Action::Coalesce { device: self.device.clone(), values: Coalescing(all.into_map()) }
        };
        let with = |word: String, of_switch: &dyn Fn(&str) -> String| {
            switch.map_or(word.clone(), |switch| word + &of_switch(switch))
        };
        Turn {
            action: set(asked, 0),
            undo: Some(set(value, 1)),
            hold: Hold::Held,
            knob: with(format!("nic.{name}"), &|switch| format!(", nic.{switch}")),
            site: self.device.clone(),
            asked: with(asked.to_string(), &|_| " off".into()),
            before: Before::Reads(with(value.to_string(), &|_| " on".into())),
            read_back: Some(self.place(name)),
            step: self.entries.first().copied(),
            moves: BTreeMap::new(),
        }
    }

    /// Puts everything back.
    fn back(self) -> Result<(), Left> {
        let restored = restore(self.machine, &self.entries, false);
        if restored.complete() { Ok(()) } else { Err(Left(restored.not_restored())) }
    }
}

/// Whether higher values tell nothing new: two in a row became the same, or were refused behind one that was taken.
fn ends(answers: &Answers) -> bool {
    let mut last = answers.iter().rev();
    match (last.next(), last.next()) {
        (Some((asked, Ok(reads))), Some((_, Ok(before)))) => reads == before && reads < asked && *asked > 4,
        (Some((_, Err(_))), Some((_, Err(_)))) => answers.iter().any(|(asked, answer)| *asked > 4 && answer.is_ok()),
        _ => false,
    }
}

fn found(name: &'static str, value: u32, step: Option<u32>, answers: &Answers) -> ProbedParameter {
    let highest = answers.values().filter_map(|answer| answer.as_ref().ok().copied()).max();
    // What several that asked for as much or more have become.
    let clamped_to = highest.filter(|high| {
        answers.iter().filter(|(asked, answer)| *asked >= high && answer.as_ref().ok() == Some(high)).count() > 1
    });
    let mut takes: Vec<(u32, u32)> = Vec::new();
    let mut goes_on = false;
    for (&asked, answer) in answers {
        match (answer, takes.last_mut()) {
            (Ok(_), _) if clamped_to.is_some_and(|most| asked > most) => {
                if let (Some(last), Some(most)) = (takes.last_mut(), clamped_to) {
                    last.1 = most;
                }
            }
            (Ok(_), Some(last)) if goes_on => last.1 = asked,
            (Ok(_), _) => takes.push((asked, asked)),
            (Err(_), _) => {}
        }
        goes_on = answer.is_ok();
    }
    let mut refused = BTreeMap::new();
    let mut ignored = Vec::new();
    for (&asked, answer) in answers {
        match answer {
            Err(Not::Refused(errno)) => drop(refused.insert(asked, *errno)),
            Err(Not::Ignored) => ignored.push(asked),
            Ok(_) => {}
        }
    }
    ProbedParameter { name, value, takes, clamped_to, step, ignored, refused }
}
