//! Which settings are cheap where a knee is sought: by the value of one knob, and what is known of that knob.
use powerband_knob::{place_of_word, trend};
use powerband_record::{Assignment, InOrder, KnobRef, Setting, Side, parse_frequency_khz};

use crate::{Plan, PlanError, ResolveError};

/// The knob that a name means, by its own name.
pub(crate) type Meant<'a> = &'a dyn Fn(&KnobRef) -> Result<String, ResolveError>;

/// Where a plan seeks a knee: the settings with the reference first (the costliest, where the plan names none), the indices of
/// them by cost, and which end is taken as the cheap one, where that is not known. Without a knee the settings as they are.
pub(crate) fn by_cost(plan: &Plan, mut settings: Vec<Setting>, meant: Meant) -> Result<ByCost, ResolveError> {
    let Some(knob) = plan.knee.as_deref() else { return Ok(ByCost { settings, order: Vec::new(), note: None }) };
    let mut order = cost_order(knob, &settings, meant)?;
    if let (None, Some(&costliest)) = (&plan.reference, order.last()) {
        settings[..=costliest as usize].rotate_right(1);
        order = cost_order(knob, &settings, meant)?;
    }
    let note = cost_note(knob, &settings, &order, meant);
    Ok(ByCost { settings, order, note })
}

/// Settings and what they cost.
pub(crate) struct ByCost {
    pub(crate) settings: Vec<Setting>,
    /// Their indices, cheapest first.
    pub(crate) order: Vec<u32>,
    pub(crate) note: Option<String>,
}

/// Indices of the settings by the value they give a knob, cheapest first: the end that draws less power, where the knob's
/// trend is known, else the lowest value.
fn cost_order(knob: &str, settings: &[Setting], meant: Meant) -> Result<Vec<u32>, ResolveError> {
    let wanted = meant(&named(knob))?;
    let falls = trend(&wanted).power < 0.0;
    let mut costs = Vec::new();
    for (index, setting) in (0u32..).zip(settings) {
        let same = |a: &&Assignment| meant(&a.knob).is_ok_and(|name| name == wanted);
        let value = setting.assignments.iter().rev().find(same).and_then(|a| cost(&wanted, &a.value));
        let missing = || PlanError::NoCost { knob: knob.into(), setting: setting.label() };
        let value = value.ok_or_else(missing)?;
        costs.push((if falls { -value } else { value }, index));
    }
    costs.order_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    Ok(costs.into_iter().map(|(_, index)| index).collect())
}

/// Which end of a knob is taken as the cheap one, where its trend does not say.
fn cost_note(knob: &str, settings: &[Setting], order: &[u32], meant: Meant) -> Option<String> {
    let unknown = trend(&meant(&named(knob)).ok()?).power == 0.0;
    let label = |index: Option<&u32>| settings.get(*index? as usize).map(Setting::label);
    let (cheap, dear) = (label(order.first())?, label(order.last())?);
    unknown.then(|| {
        format!("which values of {knob} are cheap is not known: {cheap} is taken as the cheapest and {dear} as the costliest setting")
    })
}

fn named(knob: &str) -> KnobRef {
    KnobRef { side: Side::Near, name: knob.into(), site: None }
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
        let meant = |knob: &KnobRef| Ok(powerband_knob::resolve(&knob.name)?.name);
        let order = cost_order(knob, &settings, &meant).unwrap();
        let note = cost_note(knob, &settings, &order, &meant);
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
