//! Meters that show one thing twice: the same zone through two drivers, or one counter under two names.
use std::collections::BTreeMap;

use powerband_machine::Look;
use powerband_sysfs::{parsed, proc, text, topology};

use crate::{Absent, Inventory, Kind, MeterInstance, PowerScope, Relation};

/// How often every counter is read.
const ROUNDS: usize = 3;

/// Leaves out whatever another meter shows already; the earlier one stays. The absent ones get one entry for all of a kind.
pub(super) fn leave_out(machine: &mut dyn Look, inventory: &mut Inventory) {
    let readings = readings(machine, &inventory.meters);
    let mut kept: Vec<(MeterInstance, Option<Readings>)> = Vec::new();
    let mut twins: Vec<(Absent, usize)> = Vec::new();
    for (meter, own) in inventory.meters.drain(..).zip(readings) {
        let twin = kept.iter().find_map(|(other, before)| {
            let why = why(machine, (other, before.as_ref()), (&meter, own.as_ref()))?;
            Some(format!("{} ({}) {why} {} and is left out", meter.source, meter.boundary, other.source))
        });
        match twin {
            Some(why) => match twins.iter_mut().find(|(twin, _)| twin.meter == meter.meter) {
                Some((_, others)) => *others += 1,
                None => twins.push((Absent::new(meter.meter, why), 0)),
            },
            None => kept.push((meter, own)),
        }
    }
    inventory.absent.extend(twins.into_iter().map(|(twin, others)| {
        let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
        Absent { why: twin.why + &more, ..twin }
    }));
    inventory.meters = kept.into_iter().map(|(meter, _)| meter).collect();
}

/// What a counter showed in each round, in which all of them were read in the same order.
type Readings = [u64; ROUNDS];

/// Why the later meter is the earlier one again. Readings that in every round lie between two of another counter, taken within a
/// moment, are that counter's: of independent ones not one in a million pairs would do so. A counter at 0 tells nothing; nor do two
/// whose packages did equally much since boot, as idle ones do, since they would count alike.
fn why(
    machine: &mut dyn Look,
    (earlier, before): (&MeterInstance, Option<&Readings>),
    (later, after): (&MeterInstance, Option<&Readings>),
) -> Option<&'static str> {
    if earlier.scope.relation(&later.scope) == Relation::Same {
        return Some("measures the same part as");
    }
    let (before, after) = (before?, after?);
    let is_between = |(pair, reading): (&[u64], &u64)| (pair[0]..=pair[1]).contains(reading);
    let in_step = after[0] > 0 && before.windows(2).zip(after).all(is_between);
    (in_step && !did_alike(machine, &earlier.scope, &later.scope)).then_some("shows the same counter as")
}

/// Reads all zones' counters several times, in the same order.
fn readings(machine: &mut dyn Look, meters: &[MeterInstance]) -> Vec<Option<Readings>> {
    let mut once = || -> Vec<Option<u64>> {
        let mut read = |it: &MeterInstance| machine.read(&it.source).ok()?.trim().parse().ok();
        meters.iter().map(|it| matches!(it.kind, Kind::Counter { wrap: Some(_) }).then(|| read(it)).flatten()).collect()
    };
    let rounds: [Vec<Option<u64>>; ROUNDS] = std::array::from_fn(|_| once());
    let of_meter = |place: usize| -> Option<Readings> {
        let all: Option<Vec<u64>> = rounds.iter().map(|round| round.get(place).copied().flatten()).collect();
        all?.try_into().ok()
    };
    (0..meters.len()).map(of_meter).collect()
}

/// Whether the CPUs of two packages, or dies, were busy for equally long since boot; false where that cannot be known.
fn did_alike(machine: &mut dyn Look, one: &PowerScope, other: &PowerScope) -> bool {
    let (Some(one), Some(other)) = (package_of(one), package_of(other)) else { return false };
    let times = text(machine, proc::STAT).map(|stat| proc::cpu_times(&stat)).unwrap_or_default();
    let mut busy: BTreeMap<String, u64> = BTreeMap::new();
    for (cpu, time) in times {
        let mut number = |name: &str| parsed::<u32>(machine, &topology::file(cpu, name));
        let Some(package) = number("topology/physical_package_id") else { continue };
        let die = number("topology/die_id").unwrap_or_default();
        for name in [package.to_string(), format!("{package}-die-{die}")] {
            *busy.entry(name).or_default() += time.busy_ticks;
        }
    }
    busy.get(one).is_some_and(|ticks| busy.get(other) == Some(ticks))
}

/// The package of a part, by its number.
fn package_of(scope: &PowerScope) -> Option<&str> {
    match scope {
        PowerScope::Package(package)
        | PowerScope::Cores(package)
        | PowerScope::Uncore(package)
        | PowerScope::Memory(package) => Some(package),
        PowerScope::Unknown | PowerScope::Machine | PowerScope::Battery(_) | PowerScope::Platform => None,
    }
}
