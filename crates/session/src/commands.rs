//! Every command an experiment executes and the user it runs as: listed before it runs, and executed by no dry run.
use std::io::{BufRead, IsTerminal};
use std::path::Path;

use powerband_experiment::Resolved;
use powerband_load::Rig as Ends;
use powerband_machine::User;
use powerband_record::{CommandKnob, Side, Work};
use powerband_report::sentence::quoted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::{Exit, Failure, usage};
use crate::output;
use crate::rig::Names;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// Name of the user it runs as, or the machine whose user that is.
    user: String,
    /// It runs as root because the plan says `as_root = true`.
    as_root: bool,
    /// What it is for: `load`, `meter`, `knob NAME: get`, `machine`.
    what: String,
    /// The command as a shell takes it.
    command: String,
}

/// The commands of an experiment, those that run as root first. Simulated machines, recordings and tables run none.
pub(crate) fn of(resolved: &Resolved, names: &Names, user: Option<&User>) -> Vec<Listed> {
    if names.simulated() || names.recorded() || names.table().is_some() {
        return Vec::new();
    }
    let us = powerband_host::user_name(powerband_host::own_uid());
    let caller = powerband_host::user_name(powerband_host::command_uid());
    let there = |side| names.far_away(side).map(|name| format!("the user of {name}"));
    let mut listed: Vec<Listed> = names.connections().map(|(what, command)| Listed::of(&us, &what, command)).collect();
    for (side, what, words) in parts(resolved, names.words_of(Side::Far).is_some()) {
        let runs = user.filter(|_| side == Side::Near).map_or(&us, |user| &user.name);
        listed.push(Listed::of(&there(side).unwrap_or_else(|| runs.clone()), what, words));
    }
    for (name, knob) in &resolved.started.knobs {
        let sides = sides_of(resolved, name);
        for (side, (action, line)) in sides.iter().flat_map(|&side| lines(knob).map(move |line| (side, line))) {
            let at = if side == Side::Far { "far knob" } else { "knob" };
            let runs = there(side).unwrap_or_else(|| if knob.as_root { us.clone() } else { caller.clone() });
            let row = Listed::of(&runs, &format!("{at} {name}: {action}"), line.to_owned());
            listed.push(Listed { as_root: knob.as_root, ..row });
        }
    }
    if let Some(meter) = &resolved.started.command_meter {
        let runs = there(Side::Near).unwrap_or_else(|| if meter.as_root { us.clone() } else { caller.clone() });
        listed.push(Listed { as_root: meter.as_root, ..Listed::of(&runs, "meter", meter.command.clone()) });
    }
    listed.sort_by_key(|row| (!row.as_root, row.user != "root"));
    listed
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
    let words = argv.iter().map(|word| quoted(word));
    Some(env.chain(words).chain(input).chain(output).collect::<Vec<_>>().join(" "))
}

/// The machines a knob is set on; the near one where no setting names it.
fn sides_of(resolved: &Resolved, name: &str) -> Vec<Side> {
    let all = resolved.settings.iter().flat_map(|setting| &setting.assignments);
    let mut sides: Vec<Side> =
        all.filter(|it| it.knob.name == name).flat_map(|it| it.knob.side.each().iter().copied()).collect();
    sides.sort_unstable();
    sides.dedup();
    if sides.is_empty() { vec![Side::Near] } else { sides }
}

/// The commands of a knob, by what they do.
fn lines(knob: &CommandKnob) -> impl Iterator<Item = (&'static str, &str)> {
    [("get", Some(&knob.get)), ("set", Some(&knob.set)), ("undo", knob.undo.as_ref())]
        .into_iter()
        .filter_map(|(action, line)| Some((action, line?.as_str())))
}

impl Listed {
    fn of(user: &str, what: &str, command: String) -> Listed {
        Listed { user: user.to_owned(), as_root: false, what: what.to_owned(), command }
    }

    fn who(&self) -> String {
        if self.as_root { format!("{} (as_root)", self.user) } else { self.user.clone() }
    }
}

/// One line a command: user, what it is for, the command.
pub(crate) fn table(listed: &[Listed]) -> String {
    let width = |of: &dyn Fn(&Listed) -> usize| listed.iter().map(of).max().unwrap_or(0);
    let (who, what) = (width(&|row| row.who().chars().count()), width(&|row| row.what.chars().count()));
    let line =
        |row: &Listed| format!("    {:who$}  {:what$}  {}\n", row.who(), row.what, output::one_line(&row.command));
    listed.iter().map(line).collect()
}

/// Prints one note a command.
pub(crate) fn note(listed: &[Listed]) {
    for row in listed {
        output::remark(&format!("runs as {}: {}: {}", row.who(), row.what, row.command));
    }
}

/// Lets a page run on a machine that is not simulated: where the user has said so, or says so now.
pub(crate) fn trust(page: &Path, resolved: &Resolved, listed: &[Listed], trusted: bool) -> Result<(), Failure> {
    let knobs = resolved.settings.iter().flat_map(|setting| &setting.assignments).map(|it| it.knob.name.as_str());
    let knobs: std::collections::BTreeSet<&str> = knobs.collect();
    let sets = if knobs.is_empty() { "nothing".to_owned() } else { knobs.into_iter().collect::<Vec<_>>().join(", ") };
    if trusted {
        note(listed);
        return Ok(());
    }
    let page = page.display();
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let count = match listed.len() {
            1 => "1 command".to_owned(),
            count => format!("{count} commands"),
        };
        return Err(usage(format!(
            "{page} runs {count} and sets {sets}; look at it with --dry-run, then add --trust to run it"
        )));
    }
    output::ask(&format!("{page} sets: {sets}\nIt runs these commands:\n{}Run it? [y/N] ", table(listed)));
    let mut answer = String::new();
    // A terminal that is gone answers nothing, which is no.
    let _ = std::io::stdin().lock().read_line(&mut answer);
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Exit::Usage, "nothing was run, because the answer was not yes")),
    }
}

/// Refuses a dry run that would have to start a command of a page or a plan in order to reach its machine.
pub(crate) fn start_nothing(file: &Path, names: &Names, trusted: bool) -> Result<(), Failure> {
    let Some((_, command)) = names.connections().next().filter(|_| !trusted) else { return Ok(()) };
    let file = file.display();
    Err(usage(format!(
        "{file} names a machine that is reached by the command `{command}`, and a dry run executes none; add --trust to allow it"
    )))
}
