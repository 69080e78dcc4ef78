//! `resume`: an experiment that was interrupted or stopped goes on.
use std::ffi::OsString;

use clap::CommandFactory;
use powerband_experiment::Plan;
use powerband_record::ExperimentHeader;
use powerband_rig::Names;
use powerband_session::{Begun, BegunPlan, Options, Resumed, SessionError};

use crate::cli::{Cli, Measuring, Resume, Setup, Shared, Verb, with_environment, with_statuses};
use crate::exit::Answer;
use crate::failure::not_found;
use crate::measure::{conclude, overridden};
use crate::progress::Bar;
use crate::stored::need_store;
use crate::{machines, output, rig};

pub(crate) fn run(shared: &Shared, args: &Resume) -> Answer {
    let store = need_store(shared)?;
    let id = store.resolve(&args.id).map_err(not_found)?;
    let begun = begun_words(&store.header(id)?);
    let put = begun.as_ref().and_then(|cli| Some((cli, plan_of(cli)?)));
    let put = |plan: Plan| match &put {
        Some((cli, (_, measuring))) => {
            let mut plan = overridden(plan, &cli.shared, measuring);
            // A list that means nothing any more is found to differ.
            plan.machines = machines::expanded(&plan.machines).unwrap_or(plan.machines);
            plan
        }
        None => plan,
    };
    let listed = begun.as_ref().map(|cli| machines::expanded(&cli.shared.machines)).transpose()?.unwrap_or_default();
    let resumed = Resumed {
        id,
        max_blocks: args.blocks,
        as_begun: args.as_begun,
        check: &|names: &Names| check_words(shared, names, id),
        begun: Begun {
            as_root: begun.as_ref().and_then(setup).is_some_and(|setup| setup.as_root),
            plan: begun.as_ref().and_then(|cli| {
                let (path, _) = plan_of(cli)?;
                let options = Options { machines: listed.clone(), ..rig::options(&cli.shared) };
                Some(BegunPlan { path: path.clone(), options, overridden: &put })
            }),
        },
    };
    let mut bar = Bar::new(args.quiet || shared.json);
    let ended = powerband_session::resume(store, resumed, &rig::options(shared), &mut output::note, &mut bar)?;
    let mut measuring = begun.as_ref().and_then(measuring).cloned().unwrap_or_default();
    // Files that are there by now are its own, of before it was extended.
    measuring.exports.force = true;
    conclude(shared, ended, &measuring)
}

/// The words it was begun with.
fn begun_words(header: &ExperimentHeader) -> Option<Cli> {
    let command = with_environment(Cli::command());
    let words: Vec<OsString> = header.command_line.iter().map(OsString::from).collect();
    command.try_get_matches_from(with_statuses(&words)).and_then(|words| Cli::of(&words)).ok()
}

/// The plan file it was begun with, and the options that were put into the plan.
fn plan_of(begun: &Cli) -> Option<(&std::path::PathBuf, &Measuring)> {
    match &begun.verb {
        Verb::Run(run) => Some((run.plan.as_ref()?, &run.measuring)),
        _ => None,
    }
}

/// What an experiment runs on and by which seed was said when it was begun.
fn check_words(shared: &Shared, names: &Names, id: i64) -> Result<(), SessionError> {
    let given = [
        ("--seed", shared.seed.is_some()),
        ("--far", shared.far.is_some()),
        ("--machines", rig::is_list(shared)),
        ("--cpus", shared.cpus.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(SessionError::Usage(format!("experiment {id} goes on as it was begun; leave out {option}")));
    }
    match shared.machine.as_ref().filter(|&machine| !names.is_on(machine)) {
        Some(machine) => Err(SessionError::Usage(format!(
            "experiment {id} was begun on {}, not on {machine}; leave out --machine and POWERBAND_MACHINE",
            names.describe()
        ))),
        None => Ok(()),
    }
}

/// How it was begun to measure.
fn measuring(begun: &Cli) -> Option<&Measuring> {
    match &begun.verb {
        Verb::Run(run) => Some(&run.measuring),
        Verb::Try(try_) => Some(&try_.measuring),
        _ => None,
    }
}

/// How it was begun to run trials.
fn setup(begun: &Cli) -> Option<&Setup> {
    match &begun.verb {
        Verb::Tune(tune) => Some(&tune.setup),
        Verb::Calibrate(calibrate) => Some(&calibrate.setup),
        _ => measuring(begun).map(|measuring| &measuring.setup),
    }
}
