//! Coalescing that a driver rounds: which request makes it read as before.
//!
//! A driver that counts its time in steps shows the time that a step comes to, and takes that for the step next to it, or refuses it
//! at the end of its range. Then the nearest request that reads as before restores what was there. All values of
//! a request go together each time, because a driver checks them against one another.
use super::OpenEntry;
use super::settle::Read;
use crate::{Action, Coalescing, CoalescingPlace, Errno, Parameter};

type Act<'a> = &'a mut dyn FnMut(&Action) -> Result<(), Errno>;

/// How far from the values before others are tried.
const ROUNDED: u32 = 16;

/// How many of the requests next to a refused one may be taken and not read as before.
const TAKEN: usize = 4;

/// Undoes an entry. Where no request reads as before, what read before is requested again; where that is refused, the machine is
/// left as it was found.
pub(super) fn restore(entry: &OpenEntry, undo: &Action, read: Read<'_>, act: Act<'_>) -> Result<(), Errno> {
    let done = act(undo);
    let (Action::Coalesce { device, values: before }, Some(place)) =
        (undo, entry.turn.read_back.as_deref().and_then(CoalescingPlace::of))
    else {
        return done;
    };
    let mut driver = Driver { device, place, before, read, act };
    let refusal = match done {
        Ok(()) => {
            if let Some(nearest) = driver.approach(before.clone(), 1) {
                driver.request(&nearest);
            }
            return Ok(());
        }
        Err(errno @ (Errno::EINVAL | Errno::ERANGE)) => errno,
        Err(errno) => return Err(errno),
    };
    let mut taken = 0;
    for asked in driver.near() {
        if driver.request(&asked) {
            if driver.approach(asked, 0).is_none() {
                return Ok(());
            }
            taken += 1;
        }
        if taken == TAKEN {
            break;
        }
    }
    if taken > 0 {
        let _left_as_found = (driver.act)(&entry.turn.action);
    }
    Err(refusal)
}

/// A driver, and what has to read there again.
struct Driver<'a> {
    device: &'a str,
    place: CoalescingPlace<'a>,
    before: &'a Coalescing,
    read: Read<'a>,
    act: Act<'a>,
}

impl Driver<'_> {
    fn reads(&mut self) -> Option<Coalescing> {
        (self.read)(&self.place.to_string()).ok().and_then(|text| self.place.values(&text))
    }

    /// Whether it takes a request.
    fn request(&mut self, values: &Coalescing) -> bool {
        (self.act)(&Action::Coalesce { device: self.device.to_owned(), values: values.clone() }).is_ok()
    }

    /// The requests next to a refused one, the nearest first: one value moved, then all of them.
    fn near(&self) -> Vec<Coalescing> {
        let is_number = |name: &&String| Parameter::named(name).is_some_and(|parameter| !parameter.switch);
        let numbers: Vec<&String> = self.before.0.keys().filter(is_number).collect();
        let mut sets: Vec<Vec<&String>> = numbers.iter().map(|name| vec![*name]).collect();
        if numbers.len() > 1 {
            sets.push(numbers);
        }
        let moved = |names: &[&String], by: i64| {
            let mut asked = self.before.clone();
            for name in names {
                let value = asked.0.get_mut(*name)?;
                *value = u32::try_from(i64::from(*value) + by).ok()?;
            }
            Some(asked)
        };
        let steps = (1..=i64::from(ROUNDED)).flat_map(|step| [step, -step]);
        steps.flat_map(|by| sets.iter().filter_map(move |names| moved(names, by))).collect()
    }

    /// Moves the values of a request that was taken until all read as before. Where they do not, the answer is the request that is
    /// nearest. `first` is how far from what read before a value is requested first that reads otherwise.
    fn approach(&mut self, mut asked: Coalescing, first: u32) -> Option<Coalescing> {
        let Some(reads) = self.reads() else { return Some(asked) };
        // Name, what read before, and what reads now.
        let differing =
            |(name, &was): (&String, &u32)| Some((name.clone(), was, reads.get(name).filter(|&now| now != was)?));
        let mut apart: Vec<(String, u32, u32)> = self.before.0.iter().filter_map(differing).collect();
        let furthest = apart.iter().map(|(_, was, reads)| was.abs_diff(*reads)).max().unwrap_or(0);
        for step in first..=furthest.min(ROUNDED) {
            let next = |was: u32, reads| if reads < was { was.saturating_add(step) } else { was.saturating_sub(step) };
            asked.0.extend(apart.iter().map(|(name, was, reads)| (name.clone(), next(*was, *reads))));
            let taken = self.request(&asked);
            let Some(reads) = self.reads().filter(|_| taken) else { break };
            apart.retain(|(name, was, _)| reads.get(name) != Some(*was));
            if apart.is_empty() {
                return None;
            }
        }
        if apart.is_empty() {
            return None;
        }
        asked.0.extend(apart.into_iter().map(|(name, was, _)| (name, was)));
        Some(asked)
    }
}
