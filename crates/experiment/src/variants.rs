//! What settings change about the load instead of the machine: their values as axes, the load of each setting, its label.
use powerband_load::Load;
use powerband_record::{
    Assignment, Axis, Background, COMMAND, Hooks, KnobRef, LoadKnob, LoadVariant, PARAMETER, Setting, Side,
};

use crate::{Plan, PlanError};

/// What a setting changes about the load, and the load then.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What it changes.
    pub changes: LoadVariant,
    /// The load with its command and parameters in their places.
    pub load: Load,
}

/// The loads of all settings.
///
/// # Errors
/// [`PlanError`] for a knob of the load that it does not have, or a parameter that nothing uses.
pub(crate) fn variants(load: &Load, hooks: &Hooks, settings: &[Setting]) -> Result<Vec<Variant>, PlanError> {
    let changes = settings.iter().map(|setting| LoadVariant::of(setting).map_err(PlanError::Variant));
    let changes = changes.collect::<Result<Vec<_>, _>>()?;
    used(load, hooks, &changes)?;
    let of = |changes: LoadVariant| {
        let load = load.of_variant(&changes)?;
        Ok(Variant { changes, load })
    };
    changes.into_iter().map(of).collect()
}

/// Every parameter has a place in some command line, and every setting a value for it.
fn used(load: &Load, hooks: &Hooks, changes: &[LoadVariant]) -> Result<(), PlanError> {
    let mut lines = load.command_lines();
    lines.extend(hooks.all().map(|(_, line)| line.to_owned()));
    lines.extend(changes.iter().flat_map(|it| &it.background).map(|(_, background)| background.to_string()));
    lines.extend(changes.iter().filter_map(|it| it.daemon.clone()));
    for (name, _) in changes.iter().flat_map(|it| &it.parameters) {
        let place = format!("{{{name}}}");
        if !lines.iter().any(|line| line.contains(&place)) {
            return Err(PlanError::Variant(format!(
                "no command uses the parameter '{name}'; write {place} where its value belongs"
            )));
        }
        let lacks = |it: &LoadVariant| !it.parameters.iter().any(|(other, _)| other == name);
        if changes.iter().any(lacks) {
            let all = format!("a setting gives the parameter '{name}' no value; add {PARAMETER}{name}=VALUE to each");
            return Err(PlanError::Variant(all));
        }
    }
    Ok(())
}

/// The axes of a plan, first that of its commands if there are several.
pub(crate) fn axes(plan: &Plan) -> Result<Vec<Axis>, PlanError> {
    let typed = plan.axes.iter().map(|text| Axis::parse(text));
    let mut axes = typed.collect::<Result<Vec<_>, _>>()?;
    if plan.load.command_lines().len() > 1 {
        let knob = KnobRef { side: Side::Near, name: COMMAND.into(), site: None };
        axes.insert(0, Axis { knob, values: String::new() });
    }
    Ok(axes)
}

/// The values of an axis, if it is a knob of the load.
pub(crate) fn values(axis: &Axis, load: &Load) -> Option<Result<Vec<String>, PlanError>> {
    let of_load = axis.knob.of_load()?;
    let all: Vec<String> = match of_load {
        LoadKnob::Command => load.command_lines(),
        LoadKnob::Background => Background::split(&axis.values),
        LoadKnob::Env(_) | LoadKnob::Daemon => axis.values.split(',').map(str::to_owned).collect(),
        LoadKnob::Parameter(_) => match steps(&axis.values) {
            Some(Ok(steps)) => steps,
            Some(Err(why)) => return Some(Err(PlanError::Variant(format!("{}: {why}", axis.knob)))),
            None => axis.values.split(',').map(str::to_owned).collect(),
        },
    };
    let twice = (1..all.len()).find(|&at| all[..at].contains(&all[at]));
    Some(match twice {
        Some(at) => Err(PlanError::Variant(format!("{} has the value '{}' twice", axis.knob, all[at]))),
        None => Ok(all),
    })
}

/// Most steps of a range.
const MAX_STEPS: f64 = 5_000.0;

/// `0.1..0.5:0.1`, `1..8`: the numbers from one to another, with as many decimals as typed.
fn steps(text: &str) -> Option<Result<Vec<String>, String>> {
    let (first, rest) = text.split_once("..")?;
    let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let (from, to, by) = (number(first)?, number(last)?, number(step)?);
    if by <= 0.0 || to < from {
        return Some(Err(format!("'{text}' has no values; write e.g. 1..8 or 0.1..0.5:0.1")));
    }
    if (to - from) / by > MAX_STEPS {
        return Some(Err(format!("'{text}' has too many values; take a larger step")));
    }
    let decimals = |text: &str| text.trim().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let places = decimals(first).max(decimals(step));
    // A little beyond the end, so that rounding does not lose the last one.
    let count = ((to - from) / by + 1e-9).floor() as u32;
    Some(Ok((0..=count).map(|at| format!("{:.places$}", from + f64::from(at) * by)).collect()))
}

/// What a knob of the load is in a setting's label; `None` for one that does not belong there.
pub(crate) fn label(assignment: &Assignment, all: &[Assignment]) -> Option<String> {
    let value = &assignment.value;
    let command = all.iter().find(|it| it.knob.of_load() == Some(LoadKnob::Command)).map(|it| it.value.as_str());
    match assignment.knob.of_load()? {
        LoadKnob::Command => {
            let setting = Setting { name: None, assignments: all.to_vec() };
            Some(LoadVariant::of(&setting).map_or_else(|_| value.clone(), |variant| variant.filled(value)))
        }
        LoadKnob::Parameter(name) if command.is_some_and(|line| line.contains(&format!("{{{name}}}"))) => None,
        LoadKnob::Parameter(name) => Some(format!("{name}={value}")),
        LoadKnob::Env(_) | LoadKnob::Background | LoadKnob::Daemon => Some(assignment.to_string()),
    }
}

/// The setting that others are compared with where no one is named: the command and the parameters that some have to be
/// there, and nothing else.
pub(crate) fn baseline(settings: &[Setting]) -> Setting {
    let needed = |it: &&Assignment| matches!(it.knob.of_load(), Some(LoadKnob::Command | LoadKnob::Parameter(_)));
    let first = settings.first().map(|setting| setting.assignments.as_slice()).unwrap_or_default();
    let assignments: Vec<Assignment> = first.iter().filter(needed).cloned().collect();
    let words: Vec<String> = assignments.iter().filter_map(|it| label(it, &assignments)).collect();
    Setting { name: (!words.is_empty()).then(|| words.join(" ")), assignments }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_a_parameter_has_the_decimals_that_were_typed() {
        let values = |text: &str| steps(text).map(|steps| steps.map(|all| all.join(" ")));
        for (text, all) in
            [("1..4", "1 2 3 4"), ("0.3..0.7:0.2", "0.3 0.5 0.7"), ("0..1:0.25", "0.00 0.25 0.50 0.75 1.00")]
        {
            assert_eq!(values(text), Some(Ok(all.to_owned())));
        }
        for wrong in ["4..1", "1..2:0", "0..1000000"] {
            assert!(values(wrong).is_some_and(|steps| steps.is_err()), "{wrong}");
        }
        assert_eq!(values("gcc,clang"), None);
        assert_eq!(values("../a,../b"), None);
    }
}
