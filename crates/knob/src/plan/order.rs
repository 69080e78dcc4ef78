//! Pairs of knobs that must never cross on the way: the order in which both are written.
use super::Move;
use crate::KnobError;

/// Lower knob, upper knob, the upper one's value where it is not known yet, whether they may be equal.
const PAIRS: [(&str, &str, u64, bool); 2] = [
    ("cpufreq.min_freq", "cpufreq.max_freq", u64::MAX, true),
    // 80 is what conservative starts with on every kernel (Linux 2.6.18 to 6.12).
    ("conservative.down_threshold", "conservative.up_threshold", 80, false),
];

/// Puts each pair at one site in the order that never has the lower above the upper, whichever way both move: the lower
/// one first unless it would pass the upper one's present value. Kernels that check (cpufreq before Linux 5.3,
/// conservative always) then refuse neither; those that do not are spared a moment with both limits crossed. Undoing in
/// reverse passes through the same states.
///
/// # Errors
/// [`KnobError::Value`] when the lower one is asked to be above the upper one.
pub(crate) fn put_in_order(moves: &mut [Move]) -> Result<(), KnobError> {
    for (lower, upper, unknown, may_equal) in PAIRS {
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
