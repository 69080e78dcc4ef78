//! Meters that show one thing twice: the same zone through two drivers, or one counter under two names.
use powerband_machine::Look;

use crate::{Absent, Inventory, Kind, MeterInstance, Relation};

/// Leaves out whatever another meter shows already; the earlier one stays. The absent ones get one entry for all of a kind.
pub(super) fn leave_out(machine: &mut dyn Look, inventory: &mut Inventory) {
    let mirrored = mirrored(machine, &inventory.meters);
    let mut kept: Vec<(MeterInstance, Option<Around>)> = Vec::new();
    let mut twins: Vec<(Absent, usize)> = Vec::new();
    for (meter, around) in inventory.meters.drain(..).zip(mirrored) {
        let twin = kept.iter().find_map(|(other, before)| {
            let why = why(other, before.as_ref(), &meter, around.as_ref())?;
            Some(format!("{} ({}) {why} {} and is left out", meter.source, meter.boundary, other.source))
        });
        match twin {
            Some(why) => match twins.iter_mut().find(|(twin, _)| twin.meter == meter.meter) {
                Some((_, others)) => *others += 1,
                None => twins.push((Absent::new(meter.meter, why), 0)),
            },
            None => kept.push((meter, around)),
        }
    }
    inventory.absent.extend(twins.into_iter().map(|(twin, others)| {
        let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
        Absent { why: twin.why + &more, ..twin }
    }));
    inventory.meters = kept.into_iter().map(|(meter, _)| meter).collect();
}

/// What a counter showed before and after all of them were read.
struct Around(u64, u64);

/// Why the later meter is the earlier one again. Readings that lie between two of another counter, taken within a moment,
/// are that counter's: of independent ones not one in a million pairs would do so. A counter at 0 tells nothing.
fn why(
    earlier: &MeterInstance,
    before: Option<&Around>,
    later: &MeterInstance,
    after: Option<&Around>,
) -> Option<&'static str> {
    if earlier.scope.relation(&later.scope) == Relation::Same {
        return Some("measures the same part as");
    }
    let (Around(first, last), Around(reading, _)) = (before?, after?);
    (*reading > 0 && (first..=last).contains(&reading)).then_some("shows the same counter as")
}

/// Reads all zones' counters twice, in the same order.
fn mirrored(machine: &mut dyn Look, meters: &[MeterInstance]) -> Vec<Option<Around>> {
    let mut once = || -> Vec<Option<u64>> {
        let mut read = |it: &MeterInstance| machine.read(&it.source).ok()?.trim().parse().ok();
        meters.iter().map(|it| matches!(it.kind, Kind::Counter { wrap: Some(_) }).then(|| read(it)).flatten()).collect()
    };
    let (first, last) = (once(), once());
    first.into_iter().zip(last).map(|(first, last)| Some(Around(first?, last?))).collect()
}
