//! `try`: settings from the command line, compared by measuring a built-in load or commands.
use powerband_experiment::Plan;

use crate::cli::{Shared, Try};
use crate::corrected;
use crate::exit::{Answer, Failure, usage};
use crate::loading::{BETWEEN, load, sorted};
use crate::measure::{Words, measure};

pub(crate) fn run(shared: &Shared, args: &Try) -> Answer {
    let (axes, commands) = sorted(&args.words)?;
    let mut plan = Plan::of(load(shared, &args.loading, &commands)?);
    plan.axes = axes.into_iter().chain(args.parameters.axes()).collect();
    plan.settings.clone_from(&args.settings);
    if plan.axes.is_empty() && plan.settings.is_empty() {
        match (&commands[..], &args.loading.command[..]) {
            ([command], []) => return Err(alone(command, std::slice::from_ref(command))),
            ([], behind) if !behind.is_empty() && !behind.iter().any(|word| word == BETWEEN) => {
                return Err(alone(&behind.join(" "), behind));
            }
            _ => {}
        }
    }
    measure(shared, plan, &args.measuring, Words::Typed)
}

/// One command and no setting: what could be meant, each ready to be completed. `words` are it as typed behind `--`.
fn alone(command: &str, words: &[String]) -> Failure {
    let typed = |first: &[&str], then: &[String]| {
        let first = first.iter().map(|word| (*word).to_owned());
        corrected::command(&first.chain(then.iter().cloned()).collect::<Vec<_>>())
    };
    usage(format!(
        "one command, and nothing to compare it with; a second command: {}; settings of a knob: {}; its noise alone: {}",
        typed(&["try", command, "OTHER COMMAND"], &[]),
        typed(&["try", "KNOB=V1,V2", "--"], words),
        typed(&["calibrate", "--"], words)
    ))
}
