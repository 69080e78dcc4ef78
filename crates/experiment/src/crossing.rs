//! Axes crossed: every combination of their values that a machine can have, as settings.
use std::collections::BTreeSet;

use powerband_knob::{
    Beside, Expanded, KnobError, Selection, Value, expand, for_side, machines_of, preference_is_stuck,
    resolve as resolve_knob, resolve_among,
};
use powerband_machine::World;
use powerband_record::{Assignment, Axis, KnobRef, Setting, Side};

use crate::search::MAX_SEARCHED;
use crate::variants::{axes, label, values};
use crate::{Plan, PlanError, ResolveError};

/// Most settings in one experiment.
const MAX_SETTINGS: usize = 200;

const GOVERNOR: &str = "cpufreq.governor";
const MODE: &str = "pstate.status";

/// How many settings a plan may have: a search does not try them all.
pub(crate) fn most_settings(plan: &Plan) -> usize {
    if plan.tune.is_some() { MAX_SEARCHED } else { MAX_SETTINGS }
}

/// Every combination of the axes' values; the first axis turns slowest.
pub(crate) fn crossed(
    plan: &Plan,
    world: &mut dyn World,
    narrow: &Selection,
    shared: &[Assignment],
    notes: &mut Vec<String>,
) -> Result<Vec<Setting>, ResolveError> {
    let axes = axes(plan)?;
    if axes.is_empty() {
        return Ok(Vec::new());
    }
    let governors = governors_chosen(&axes, shared);
    let mut combinations: Vec<Vec<Assignment>> = vec![Vec::new()];
    let mut varied = Vec::new();
    let mut lacking = Vec::new();
    for (place, axis) in axes.iter().enumerate() {
        if let Some(values) = values(axis, &plan.load) {
            let values = values?;
            if values.len() > 1 {
                varied.push(place);
            }
            combinations = multiplied(&combinations, &axis.knob, &values);
            if combinations.len() > most_settings(plan) {
                return Err(PlanError::TooMany(combinations.len(), most_settings(plan)).into());
            }
            continue;
        }
        let modes = if is(&axis.knob, GOVERNOR) { modes(axis, &axes, shared, world, narrow)? } else { Vec::new() };
        let expanded = expanded(axis, world, narrow, &Beside { governors: governors.clone(), modes })?;
        notes.extend(expanded.notes);
        lacking.extend(expanded.lacking.into_iter().map(|(mode, governor)| (mode, governor.typed())));
        if expanded.values.len() > 1 {
            varied.push(place);
        }
        let values: Vec<String> = expanded.values.iter().map(typed).collect();
        combinations = multiplied(&combinations, &axis.knob, &values);
        if combinations.len() > most_settings(plan) {
            return Err(PlanError::TooMany(combinations.len(), most_settings(plan)).into());
        }
    }
    // An axis of one value tells no setting from another, so it is in what is turned but not in the name.
    let telling = |place: &usize| varied.is_empty() || varied.contains(place);
    let named = |assignments: Vec<Assignment>| {
        let words = (0..assignments.len()).filter(telling);
        let words = words.filter_map(|place| short(&assignments[place], &assignments));
        Setting { name: Some(words.collect::<Vec<_>>().join(" ")), assignments: [shared, &assignments].concat() }
    };
    let mut settings: Vec<Setting> = Vec::new();
    let mut known = BTreeSet::new();
    let is_crossed = combinations.len() > 1;
    for mut setting in combinations.into_iter().map(named) {
        if let Some((mode, governor)) = lacking.iter().find(|(mode, governor)| joins(&setting, mode, governor)) {
            notes.push(format!("{} is left out: the mode {mode} has no governor {governor}", setting.label()));
            continue;
        }
        if is_crossed && is_stuck(&setting, world) {
            let label = setting.label();
            notes.push(format!("{label} is left out: under the governor performance the preference stays performance"));
            continue;
        }
        drop_idle(&mut setting);
        if known.insert(setting.turns()) {
            settings.push(setting);
        }
    }
    Ok(settings)
}

/// Every combination with every value.
fn multiplied(combinations: &[Vec<Assignment>], knob: &KnobRef, values: &[String]) -> Vec<Vec<Assignment>> {
    let assigned = |value: &String| Assignment { knob: knob.clone(), value: value.clone() };
    let with = |so_far: &Vec<Assignment>, value| [so_far.as_slice(), &[assigned(value)]].concat();
    combinations.iter().flat_map(|so_far| values.iter().map(move |value| with(so_far, value))).collect()
}

fn expanded(axis: &Axis, world: &mut dyn World, narrow: &Selection, beside: &Beside) -> Result<Expanded, ResolveError> {
    let side = axis.knob.side.first();
    machines_of(&axis.knob, world)?;
    let Some(machine) = world.machine(side) else { return Err(ResolveError::NoFar(axis.knob.to_string())) };
    Ok(expand(axis, machine, narrow, beside)?)
}

fn is(knob: &KnobRef, name: &str) -> bool {
    resolve_knob(&knob.name).is_ok_and(|named| named.name == name)
}

/// Whether what concerns these sides concerns one machine at least together.
fn meet(one: Side, other: Side) -> bool {
    one.covers(other.first()) || other.covers(one.first())
}

/// Whether a setting puts a driver into this mode and chooses this governor on the same machine.
fn joins(setting: &Setting, mode: &str, governor: &str) -> bool {
    let gives = |name, value: &str| {
        let mut all = setting.assignments.iter().rev();
        all.find(|assignment| is(&assignment.knob, name)).filter(|last| last.value.eq_ignore_ascii_case(value))
    };
    gives(MODE, mode).zip(gives(GOVERNOR, governor)).is_some()
}

/// True if one of the machines refuses the preference of a setting under its governor.
fn is_stuck(setting: &Setting, world: &mut dyn World) -> bool {
    world.sides().into_iter().any(|side| {
        let part = for_side(setting, side);
        world.machine(side).is_some_and(|machine| preference_is_stuck(&part, machine))
    })
}

/// The modes that the driver of a governor's machine is put into by the same comparison.
fn modes(
    governor: &Axis,
    axes: &[Axis],
    shared: &[Assignment],
    world: &mut dyn World,
    narrow: &Selection,
) -> Result<Vec<String>, ResolveError> {
    let is_meant = |knob: &KnobRef| is(knob, MODE) && meet(knob.side, governor.knob.side);
    let mut modes: Vec<String> = Vec::new();
    for axis in axes.iter().filter(|axis| is_meant(&axis.knob)) {
        let values = expanded(axis, world, narrow, &Beside::default())?.values;
        modes.extend(values.iter().map(Value::typed));
    }
    if modes.is_empty() {
        modes.extend(shared.iter().filter(|it| is_meant(&it.knob)).map(|it| it.value.trim().to_lowercase()));
    }
    Ok(modes)
}

/// Governors that the same comparison chooses: they tell tunables of the same short name apart.
fn governors_chosen(axes: &[Axis], shared: &[Assignment]) -> Vec<String> {
    let fixed = shared.iter().filter(|it| is(&it.knob, GOVERNOR)).map(|it| it.value.to_lowercase());
    let axes = axes.iter().filter(|axis| is(&axis.knob, GOVERNOR));
    let tried = axes.flat_map(|axis| axis.values.to_lowercase().split(',').map(str::to_owned).collect::<Vec<_>>());
    fixed.chain(tried).collect()
}

/// Leaves out of a crossed setting what does nothing under the governor it chooses for that machine, a threshold of another governor say,
/// so that settings which differ only in that fall together.
fn drop_idle(setting: &mut Setting) {
    let governors = setting.assignments.iter().rev().filter(|it| is(&it.knob, GOVERNOR));
    let governors: Vec<(Side, String)> = governors.map(|it| (it.knob.side, it.value.to_lowercase())).collect();
    let acts = |assignment: &Assignment| {
        let there = governors.iter().find(|(side, _)| meet(*side, assignment.knob.side));
        let Some((_, governor)) = there else { return true };
        match resolve_among(&assignment.knob.name, std::slice::from_ref(governor)) {
            Ok(named) => named.knob.governor().is_none_or(|needed| needed == *governor),
            Err(KnobError::Ambiguous { .. }) => false,
            Err(_) => true,
        }
    };
    let before = setting.assignments.len();
    setting.assignments.retain(acts);
    if setting.assignments.len() < before {
        setting.name = Some(
            setting.assignments.iter().filter_map(|it| short(it, &setting.assignments)).collect::<Vec<_>>().join(" "),
        );
    }
}

/// An assignment in a table: `cgroup.cpu_quota=25%` is `cpu_quota=25%`; of the load, a command is its text.
fn short(assignment: &Assignment, all: &[Assignment]) -> Option<String> {
    if assignment.knob.of_load().is_some() {
        return label(assignment, all);
    }
    let short = resolve_knob(&assignment.knob.name).map_or("", |named| named.knob.about().short);
    // A family's short name is only its beginning.
    let whole = short.is_empty() || short.ends_with(['.', ':']);
    let name = if whole { assignment.knob.name.clone() } else { short.to_owned() };
    let knob = KnobRef { name, ..assignment.knob.clone() };
    Some(Assignment { knob, value: assignment.value.clone() }.to_string())
}

/// A value as a person would type it: whole MHz where the kernel's kHz are.
fn typed(value: &Value) -> String {
    match value {
        Value::Khz(khz) if khz % 1000 == 0 => format!("{}MHz", khz / 1000),
        other => other.typed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_governor_says_what_acts_on_its_own_machine_alone() {
        let left = |text: &str| {
            let mut setting = Setting::parse(text).unwrap();
            drop_idle(&mut setting);
            setting.turns()
        };
        for all_acts in [
            "governor=userspace freq=500MHz far/governor=performance",
            "far/governor=userspace far/freq=500MHz governor=performance",
            "both/governor=userspace freq=500MHz",
            "far/governor=performance freq=500MHz",
        ] {
            assert_eq!(left(all_acts), all_acts);
        }
        assert_eq!(left("governor=performance freq=500MHz"), "governor=performance");
        assert_eq!(left("both/governor=performance far/freq=500MHz"), "both/governor=performance");
    }
}
