//! `run --again`: the experiment of a page, from the page alone: its plan as resolved, its seed, its machine.
use std::path::Path;

use powerband_rig::Names;
use powerband_session::{Options, SessionError, rerun};

use crate::cli::{Run, Shared};
use crate::exit::Answer;
use crate::{commands, measure, output, rig};

/// Runs it, and keeps it as an experiment of its own.
pub(crate) fn run(shared: &Shared, page: &Path, args: &Run) -> Answer {
    let options = Options { trusted: args.trust, ..measure::options(shared, &args.measuring.setup) };
    let check = |names: &Names| check_words(shared, names);
    let read = rerun::read(page, &options, &check, &mut output::note)?;
    // A page may come from anybody.
    if let Some((resolved, listed)) = read.to_trust().filter(|_| !options.dry_run) {
        commands::trust(page, resolved, listed, options.trusted)?;
    }
    measure::run(shared, read.prepare(&options, &mut output::note)?, &args.measuring, &options)
}

/// What it runs on and by which seed stands in the page.
fn check_words(shared: &Shared, names: &Names) -> Result<(), SessionError> {
    let given = [
        ("--seed", shared.seed.is_some()),
        ("--far", shared.far.is_some()),
        ("--machines", rig::is_list(shared)),
        ("--cpus", shared.cpus.is_some()),
        ("--knobs", shared.declared.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(SessionError::Usage(format!("the page says that already; leave out {option}")));
    }
    match shared.machine.as_ref().filter(|&machine| !names.is_on(machine)) {
        Some(machine) => Err(SessionError::Usage(format!(
            "it was measured on {}, not on {machine}; leave out --machine and POWERBAND_MACHINE",
            names.describe()
        ))),
        None => Ok(()),
    }
}
