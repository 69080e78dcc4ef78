//! Every command an experiment executes and the user it runs as: listed before it runs, and executed by no dry run.
use std::path::Path;

use powerband_experiment::Resolved;
use powerband_load::RigEnds as Ends;
use powerband_machine::User;
use powerband_record::{CommandKnob, InOrder, Side, Work, quoted, quoted_line};
use powerband_rig::Names;
use schemars::JsonSchema;
use serde::Serialize;

use crate::SessionError;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listed {
    /// Name of the user it runs as, or the machine whose user that is.
    user: String,
    /// It runs as root because the plan says `as_root = true`.
    as_root: bool,
    /// What it is for: `load`, `meter`, `knob NAME: get`, `machine`.
    what: String,
    /// The command as a shell takes it.
    command: String,
}

/// The commands of the loads of all settings, then those that run around and next to them; each with its machine, and once.
fn parts(resolved: &Resolved, far: bool) -> Vec<(Side, &'static str, String)> {
    let ends = Ends { near: "{near}".into(), far: far.then(|| "{far}".into()) };
    let named = |name| if name == "load" { "load" } else { "load's peer" };
    let parts = resolved.variants.iter().flat_map(|variant| variant.load.parts(&ends));
    let loads = parts.filter_map(|part| Some((part.side, named(part.name), command(&part.work)?)));
    let mut all = Vec::new();
    for listed in loads.chain(resolved.commands_around()) {
        if !all.contains(&listed) {
            all.push(listed);
        }
    }
    all
}

/// A command as a shell takes it, with the variables it gets and the files it reads and writes.
fn command(work: &Work) -> Option<String> {
    let Work::Command { argv, invocation, .. } = work else { return None };
    let env = invocation.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let input = invocation.input.iter().map(|file| format!("< {}", quoted(file)));
    let output = invocation.output.iter().map(|file| format!("> {}", quoted(file)));
    Some(env.chain([quoted_line(argv)]).chain(input).chain(output).collect::<Vec<_>>().join(" "))
}

/// The machines a knob is set on; none where no setting names it.
fn sides_of(resolved: &Resolved, names: &Names, name: &str) -> Vec<Side> {
    let all = resolved.settings.iter().flat_map(|setting| &setting.assignments);
    let mut sides: Vec<Side> =
        all.filter(|it| it.knob.name == name).flat_map(|it| covered(it.knob.side, names)).collect();
    sides.sort_unstable();
    sides.dedup();
    sides
}

/// The machines that a knob of this side is set on.
fn covered(side: Side, names: &Names) -> Vec<Side> {
    match side {
        Side::Both => vec![Side::Near, Side::Far],
        Side::All => names.sides().map(|(side, _)| side).collect(),
        one => vec![one],
    }
}

/// The commands of a knob, by what they do.
fn lines(knob: &CommandKnob) -> impl Iterator<Item = (&'static str, &str)> {
    [("get", Some(&knob.get)), ("set", Some(&knob.set)), ("undo", knob.undo.as_ref())]
        .into_iter()
        .filter_map(|(action, line)| Some((action, line?.as_str())))
}

impl Listed {
    /// The commands of an experiment, those that run as root first. Simulated machines, recordings and tables run none.
    pub(crate) fn of(resolved: &Resolved, names: &Names, user: Option<&User>) -> Vec<Self> {
        if names.simulated() || names.recorded() || names.table().is_some() {
            return Vec::new();
        }
        let us = powerband_host::user_name(powerband_host::own_uid());
        let caller = powerband_host::user_name(powerband_host::command_uid());
        let there = |side| names.elsewhere(side).map(|name| format!("the user of {name}"));
        let mut listed: Vec<Listed> =
            names.connections().map(|(what, command)| Listed::new(&us, &what, command)).collect();
        for (side, what, words) in parts(resolved, names.far().is_some()) {
            let runs = user.filter(|_| side == Side::Near).map_or(&us, |user| &user.name);
            listed.push(Listed::new(&there(side).unwrap_or_else(|| runs.clone()), what, words));
        }
        for (name, knob) in &resolved.started.knobs {
            let sides = sides_of(resolved, names, name);
            for (side, (action, line)) in sides.iter().flat_map(|&side| lines(knob).map(move |line| (side, line))) {
                let at = if side == Side::Near { "knob".to_owned() } else { format!("{side} knob") };
                let runs = there(side).unwrap_or_else(|| if knob.as_root { us.clone() } else { caller.clone() });
                let row = Listed::new(&runs, &format!("{at} {name}: {action}"), line.to_owned());
                listed.push(Listed { as_root: knob.as_root, ..row });
            }
        }
        if let Some(meter) = &resolved.started.command_meter {
            let runs = there(Side::Near).unwrap_or_else(|| if meter.as_root { us.clone() } else { caller.clone() });
            listed.push(Listed { as_root: meter.as_root, ..Listed::new(&runs, "meter", meter.command.clone()) });
        }
        listed.order_by_key(|row| (!row.as_root, row.user != "root"));
        listed
    }

    fn new(user: &str, what: &str, command: String) -> Listed {
        Listed { user: user.to_owned(), as_root: false, what: what.to_owned(), command }
    }

    /// Name of the user it runs as, marked where that is by `as_root`.
    #[must_use]
    pub fn who(&self) -> String {
        if self.as_root { format!("{} (as_root)", self.user) } else { self.user.clone() }
    }

    /// What it is for.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The command as a shell takes it.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }
}

/// Refuses a dry run that would have to start a command of a page or a plan in order to reach its machine.
///
/// # Errors
/// [`SessionError::DryRunExecutes`].
pub fn start_nothing(file: &Path, names: &Names, trusted: bool) -> Result<(), SessionError> {
    let Some((_, command)) = names.connections().next().filter(|_| !trusted) else { return Ok(()) };
    Err(SessionError::DryRunExecutes { file: file.display().to_string(), command })
}
