//! Which settings are cheap where a knee is sought: by the value of one knob, and what is known of that knob.
use powerband_knob::{Declared, place_of_word, resolve as resolve_knob, trend};
use powerband_record::{Assignment, InOrder, Setting, parse_frequency_khz};

use crate::{PlanError, ResolveError};

/// Indices of the settings by the value they give a knob, cheapest first: the end that draws less power, where the knob's
/// trend is known, else the lowest value.
pub(crate) fn cost_order(knob: &str, settings: &[Setting], declared: &Declared) -> Result<Vec<u32>, ResolveError> {
    let meant = |name: &str| declared.find(name).map_or_else(|| resolve_knob(name), Ok);
    let wanted = meant(knob)?;
    let falls = trend(&wanted.name).power < 0.0;
    let mut costs = Vec::new();
    for (index, setting) in (0u32..).zip(settings) {
        let same = |a: &&Assignment| meant(&a.knob.name).is_ok_and(|named| named.name == wanted.name);
        let value = setting.assignments.iter().rev().find(same).and_then(|a| cost(&wanted.name, &a.value));
        let missing = || PlanError::NoCost { knob: knob.into(), setting: setting.label() };
        let value = value.ok_or_else(missing)?;
        costs.push((if falls { -value } else { value }, index));
    }
    costs.order_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Ok(costs.into_iter().map(|(_, index)| index).collect())
}

/// Which end of a knob is taken as the cheap one, where its trend does not say.
pub(crate) fn cost_note(knob: &str, settings: &[Setting], order: &[u32], declared: &Declared) -> Option<String> {
    let name = declared.find(knob).map_or_else(|| resolve_knob(knob), Ok).ok()?.name;
    let unknown = trend(&name).power == 0.0;
    let label = |index: Option<&u32>| settings.get(*index? as usize).map(Setting::label);
    let (cheap, dear) = (label(order.first())?, label(order.last())?);
    unknown.then(|| {
        format!("which values of {knob} are cheap is not known: {cheap} is taken as the cheapest and {dear} as the costliest setting")
    })
}

/// A value as a number: a frequency, a percentage, or plain; of words that have an order, the place in it.
fn cost(knob: &str, text: &str) -> Option<f64> {
    let plain = text.trim_end_matches('%').parse::<f64>().ok().filter(|value| value.is_finite());
    let word = || place_of_word(knob, text).map(|place| place as f64);
    plain.or_else(|| parse_frequency_khz(text).ok().map(f64::from)).or_else(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(knob: &str, settings: &[&str]) -> (Vec<u32>, Option<String>) {
        let settings: Vec<Setting> = settings.iter().map(|text| Setting::parse(text).unwrap()).collect();
        let declared = Declared::default();
        let order = cost_order(knob, &settings, &declared).unwrap();
        let note = cost_note(knob, &settings, &order, &declared);
        (order, note)
    }

    #[test]
    fn the_cheap_end_is_the_one_that_draws_less_power() {
        // A low frequency is cheap; so are few interrupts, which is a long delay; so is a hint to save.
        assert_eq!(order("freq", &["freq=600MHz", "freq=125MHz", "freq=1.2GHz"]), (vec![1, 0, 2], None));
        assert_eq!(order("rx-usecs", &["rx-usecs=40", "rx-usecs=260", "rx-usecs=10"]), (vec![1, 0, 2], None));
        assert_eq!(order("epp", &["epp=performance", "epp=power", "epp=balance_power"]), (vec![1, 2, 0], None));
    }

    #[test]
    fn where_it_is_not_known_which_end_is_cheap_that_is_said() {
        let (order, note) = order("sysctl.vm.swappiness", &["sysctl.vm.swappiness=60", "sysctl.vm.swappiness=10"]);
        assert_eq!(order, [1, 0]);
        let note = note.unwrap();
        assert!(note.contains("sysctl.vm.swappiness=10 is taken as the cheapest"), "{note}");
    }
}
