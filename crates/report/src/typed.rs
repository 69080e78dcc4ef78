//! What to type to have a setting on the machines of an experiment, and to restore them.
use powerband_record::{LoadKnob, SearchEnd, Setting, Started};

use crate::words::{given, quoted};
use crate::{Model, SearchReport};

/// Knobs that end with their holder: `with` turns them, `set` cannot.
const HELD: [&str; 2] = ["cgroup.cpu_quota", "pmqos.cpu_dma_latency"];

/// What is typed to have the answer on the machine; absent without a confirmed one, and where nothing can be turned.
pub(crate) fn typed(model: &Model) -> Option<String> {
    let Some(SearchReport::Found(finding)) = &model.search else { return None };
    typed_for(model, finding.setting.filter(|_| finding.end == SearchEnd::Confirmed)?).ok().flatten()
}

/// What is typed to have a setting on the machine; absent where nothing is to be set.
///
/// # Errors
/// Why no command sets it, in a sentence without a full stop.
pub(crate) fn typed_for(model: &Model, setting: u32) -> Result<Option<String>, String> {
    let turns = usize::try_from(setting).ok().and_then(|at| model.settings.get(at)).map(|it| it.turns.as_str());
    let machine = model.started.machine_typed.as_deref().unwrap_or(&model.started.machine);
    if machine.starts_with("table:") {
        return Err("it was measured in a table, which has no knobs".into());
    }
    let turns = &settable(turns.unwrap_or_default())?;
    if turns.is_empty() {
        return Ok(None);
    }
    // Both ends may be one simulated machine; as two they cannot be set.
    if has_one_machine(model) && ["far/", "both/"].iter().any(|side| turns.contains(side)) {
        return Err(format!(
            "it sets knobs of two machines that are both {machine}, and what is set on that is kept once"
        ));
    }
    let machines = machines(model);
    let cpus = model.started.cpus.as_ref().map(|cpus| format!(" -c {cpus}")).unwrap_or_default();
    let declared = model.started.knobs.keys().any(|knob| turns.contains(knob.as_str()));
    let knobs = if declared { format!(" --knobs {}", declaring(model)) } else { String::new() };
    let held = match &model.started.search {
        Some(plan) => plan.only_held,
        None => HELD.iter().any(|knob| turns.contains(knob)),
    };
    Ok(Some(match held {
        true => format!("powerband{machines}{cpus}{knobs} with {turns} -- COMMAND"),
        false => format!("powerband{machines}{cpus}{knobs} set {turns}"),
    }))
}

/// The file that declares the knobs, as it was typed; `PLAN.toml` where only events are at hand, which do not name it.
fn declaring(model: &Model) -> String {
    let words = model.header.as_ref().map_or(&[][..], |header| &header.command_line);
    let plan = || given(words, "run").filter(|word| word.ends_with(".toml"));
    given(words, "--knobs").or_else(plan).map_or_else(|| "PLAN.toml".into(), quoted)
}

/// What of a setting can be set on machines. Where it changes more than that and which command runs, that part alone would be
/// another setting.
///
/// # Errors
/// Why it cannot be set.
pub(crate) fn settable(turns: &str) -> Result<String, String> {
    let Ok(setting) = Setting::parse(&format!("a:{turns}")) else { return Ok(turns.to_owned()) };
    if let Some(part) = setting.around_load().next() {
        let part_of = match part.knob.of_load() {
            Some(LoadKnob::Env(_)) => "a variable of the load, no setting: start what you run with it",
            Some(LoadKnob::Daemon) => "a program of the experiment, no setting: start that yourself",
            _ => "a load of the experiment, no setting: start that yourself",
        };
        return Err(format!("its {} {} is {part_of}", part.knob, part.value));
    }
    Ok(setting.of_machines().turns())
}

/// What is typed to take back what [`typed_for`] set; absent where that restores by itself.
pub(crate) fn taken_back(model: &Model, typed: &str) -> Option<String> {
    let sets = typed.contains(" set ");
    sets.then(|| undo(model))
}

/// What is typed to keep what an experiment recommends over reboots; `None` where its machine is simulated, recorded or a table, and
/// has none.
#[must_use]
pub fn kept(model: &Model) -> Option<String> {
    let boots = !["sim:", "recorded:", "table:"].iter().any(|kind| model.started.machine.starts_with(kind));
    let header = model.header.as_ref().filter(|_| boots)?;
    Some(format!("powerband{}{} keep {}", model.store, machines(model), header.id))
}

/// What is typed to restore whatever an experiment left changed.
pub(crate) fn undo(model: &Model) -> String {
    format!("powerband{} undo", machines(model))
}

/// Whether the peer is the near machine once more, under the same name.
fn has_one_machine(model: &Model) -> bool {
    model.started.far.as_ref() == Some(&model.started.machine)
}

/// The machines of an experiment in words; `between` is what stands between the two ends of a link.
pub(crate) fn on_machines(started: &Started, between: &str) -> String {
    if !started.machines.is_empty() {
        return started.machines.join(", ");
    }
    let far = started.far.as_ref().map(|far| format!("{between}{far}")).unwrap_or_default();
    format!("{}{far}", started.machine)
}

/// The machines of an experiment as options, each behind a blank; nothing for this one alone.
fn machines(model: &Model) -> String {
    let at = |option: &str, name: &str| format!(" {option} {}", quoted(name));
    if !model.started.machines.is_empty() {
        return model.started.machines.iter().map(|machine| at("--machines", machine)).collect();
    }
    let machine = model.started.machine_typed.as_deref().unwrap_or(&model.started.machine);
    let near = if machine == "local" { String::new() } else { at("--machine", machine) };
    let far = model.started.far_typed.as_deref().or(model.started.far.as_deref());
    let far = far.filter(|_| !has_one_machine(model));
    near + &far.map(|far| at("--far", far)).unwrap_or_default()
}
