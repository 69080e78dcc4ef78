//! The order of writes that have to do with one another: pairs of knobs that must never cross on the way, and files that others move.
use std::collections::BTreeSet;

use powerband_machine::Look;

use super::Move;
use crate::KnobError;
use crate::apply::moves::moved_by;
use crate::knob::release;

/// Two knobs of which the kernel wants one below the other.
struct Pair {
    lower: &'static str,
    upper: &'static str,
    /// Names of their files, which are in one folder.
    files: [&'static str; 2],
    /// The upper one's value where it is not known yet.
    unknown: u64,
    may_equal: bool,
    /// The kernel that takes them crossed.
    until: (u32, u32, u32),
}

const PAIRS: [Pair; 2] = [
    Pair {
        lower: "cpufreq.min_freq",
        upper: "cpufreq.max_freq",
        files: ["scaling_min_freq", "scaling_max_freq"],
        unknown: u64::MAX,
        may_equal: true,
        until: (5, 3, 0),
    },
    Pair {
        lower: "conservative.down_threshold",
        upper: "conservative.up_threshold",
        files: ["down_threshold", "up_threshold"],
        // What conservative starts with on every kernel (Linux 2.6.18 to 6.12).
        unknown: 80,
        may_equal: false,
        until: (u32::MAX, 0, 0),
    },
];

/// Holds a knob of a pair that is set alone against what reads at the other.
///
/// # Errors
/// [`KnobError::Value`] for one that the kernel would refuse.
pub(super) fn refuse_crossed(moves: &[Move], machine: &mut dyn Look) -> Result<(), KnobError> {
    for Pair { lower, upper, files, may_equal, until, .. } in &PAIRS {
        for step in moves {
            let is_lower = step.named.name == *lower;
            let other = if is_lower { upper } else { lower };
            let is_other = |it: &Move| it.named.name == *other && it.site.name == step.site.name;
            let known = ((0, 0, 1)..*until).contains(&release(machine));
            if !known || !is_lower && step.named.name != *upper || moves.iter().any(is_other) {
                continue;
            }
            let folder = step.site.path.as_ref().and_then(|path| path.rsplit_once('/'));
            let there =
                folder.and_then(|(folder, _)| machine.read(&format!("{folder}/{}", files[usize::from(is_lower)])).ok());
            let there: Option<u64> = there.and_then(|text| text.trim().parse().ok());
            let (Some(there), Some(asked)) = (there, step.value.number()) else { continue };
            let (low, high) = if is_lower { (asked, there) } else { (there, asked) };
            if low > high || low == high && !may_equal {
                let short = other.rsplit_once('.').map_or(*other, |(_, short)| short);
                let why = format!(
                    "{short} is {} there, and these must not cross: set both",
                    step.named.knob.shown(&there.to_string())
                );
                return Err(KnobError::value(&step.named.name, format!("{} cannot be set alone: {why}", step.value)));
            }
        }
    }
    Ok(())
}

/// Puts each pair at one site in the order that never has the lower above the upper, whichever way both move: the lower
/// one first unless it would pass the upper one's present value. Kernels that check (cpufreq before Linux 5.3,
/// conservative always) then refuse neither; those that do not are spared a moment with both limits crossed. Undoing in
/// reverse passes through the same states.
///
/// # Errors
/// [`KnobError::Value`] when the lower one is asked to be above the upper one.
pub(crate) fn put_in_order(moves: &mut [Move]) -> Result<(), KnobError> {
    for Pair { lower, upper, unknown, may_equal, .. } in PAIRS {
        for i in 0..moves.len() {
            if moves[i].named.name != lower {
                continue;
            }
            let is_partner = |other: &Move| other.named.name == upper && other.site.name == moves[i].site.name;
            let Some(j) = moves.iter().position(is_partner) else { continue };
            let asked = |step: &Move| step.value.number().unwrap_or_default();
            let (low, high) = (asked(&moves[i]), asked(&moves[j]));
            if low > high || (low == high && !may_equal) {
                let short = |step: &Move| step.named.knob.about().short;
                let relation = if may_equal { "above" } else { "not below" };
                let why = format!(
                    "{} is {relation} {} {}; exchange them or leave one out",
                    moves[i].value,
                    short(&moves[j]),
                    moves[j].value
                );
                return Err(KnobError::value(lower, why));
            }
            let present = moves[j].from.as_ref().and_then(|text| text.trim().parse().ok()).unwrap_or(unknown);
            let lower_first = low < present;
            if lower_first != (i < j) {
                moves.swap(i, j);
            }
        }
    }
    Ok(())
}

/// Puts each file behind those whose write moves it along, so that it keeps the value that is asked for, and its undo finds that. Of
/// files that move one another the order stays.
pub(crate) fn put_moved_last(moves: Vec<Move>, machine: &mut dyn Look) -> Vec<Move> {
    if moves.len() < 2 {
        return moves;
    }
    let mut moved_by = |step: &Move| {
        let path = step.site.path.as_deref().unwrap_or_default();
        moved_by(machine, path, &|_| true).into_iter().map(|file| file.path).collect::<BTreeSet<_>>()
    };
    let mut left: Vec<(BTreeSet<String>, Move)> = moves.into_iter().map(|step| (moved_by(&step), step)).collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let is_moved = |(_, step): &(BTreeSet<String>, Move)| {
            step.site.path.as_ref().is_some_and(|path| left.iter().any(|(moved, _)| moved.contains(path)))
        };
        let place = left.iter().position(|step| !is_moved(step)).unwrap_or(0);
        ordered.push(left.remove(place).1);
    }
    ordered
}
