//! The command as a function: words in, one verb done, a code out. What belongs to a process comes in with [`Surroundings`] and
//! [`Streams`], so that several runs at the same time in one process do not see each other.
mod cli;
mod commands;
mod corrected;
mod dry_run;
mod exit;
mod failure;
mod file;
mod held;
mod hint;
mod incomplete;
mod loading;
mod machines;
mod measure;
mod node_state;
mod output;
mod page;
mod progress;
#[cfg(feature = "replicate")]
mod replication_progress;
mod rerun;
mod rig;
mod shown;
mod stored;
mod streams;
mod typed;
mod verb;

use std::ffi::OsString;

pub use powerband_host::Surroundings;

use crate::cli::{Cli, Verb};
use crate::exit::{Answer, Exit, Failure};
pub use crate::streams::{Streams, Terminals};

/// Runs the command with these words, the program's name first; the exit code.
#[must_use]
pub fn run(words: &[OsString], surroundings: Surroundings, streams: &mut Streams) -> u8 {
    surroundings.during(|| streams::during(words, streams, || typed_verb(words)))
}

fn typed_verb(words: &[OsString]) -> u8 {
    let parsed = cli::with_environment(cli::command()).try_get_matches_from(cli::with_statuses(words));
    let parsed = parsed.and_then(|words| Cli::of(&words)).map_err(cli::in_plain_words);
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return output::usage_error(&error),
    };
    let shared = cli.shared.clone();
    let code = dispatch(cli).unwrap_or_else(|failure| {
        output::error(&corrected::on_these_machines(&failure.sentence, &shared));
        failure.exit as u8
    });
    output::end(code)
}

fn dispatch(cli: Cli) -> Answer {
    // An agent says so to its owner.
    if !matches!(cli.verb, Verb::Agent(_)) {
        powerband_rig::check_place()?;
    }
    let shared = machines::of_options(cli.shared, &cli.verb)?;
    if matches!(
        cli.verb,
        Verb::With(_)
            | Verb::Pace(_)
            | Verb::Try(_)
            | Verb::Tune(_)
            | Verb::Calibrate(_)
            | Verb::Run(_)
            | Verb::Resume(_)
    ) {
        // What holds or measures does not outlive the sudo that runs it.
        if !powerband_host::end_with_sudo() {
            return Err(Failure::new(Exit::Stopped, "sudo has ended; nothing was changed"));
        }
    }
    match cli.verb {
        Verb::Info(args) => verb::info::run(&shared, &args),
        Verb::Get(args) => verb::get::run(&shared, &args),
        Verb::Why(args) => verb::why::run(&shared, &args),
        Verb::Knobs(args) => verb::knobs::run(&shared, &args),
        Verb::Doctor(args) => verb::doctor::run(&shared, &args),
        Verb::Capture(args) => verb::capture::run(&shared, &args),
        Verb::Watch(args) => verb::watch::run(&shared, &args),
        Verb::Set(args) => verb::set::run(&shared, &args),
        Verb::Confirm => verb::confirm::run(&shared),
        Verb::Undo(args) => verb::undo::run(&shared, &args),
        Verb::Keep(args) => verb::keep::run(&shared, &args),
        Verb::Unkeep(args) => verb::keep::remove(&shared, &args),
        Verb::Check => verb::check::run(&shared),
        Verb::With(args) => verb::with::run(&shared, &args),
        Verb::Pace(args) => verb::pace::run(&shared, &args),
        Verb::Guard(args) => verb::guard::run(&shared, &args),
        Verb::Try(args) => verb::try_::run(&shared, &args),
        Verb::Tune(args) => verb::tune::run(&shared, &args),
        Verb::Calibrate(args) => verb::calibrate::run(&shared, &args),
        Verb::Run(args) => verb::run::run(&shared, &args),
        Verb::Resume(args) => verb::resume::run(&shared, &args),
        Verb::Fleet(args) => verb::fleet::run(&shared, &args),
        Verb::List => verb::list::run(&shared),
        Verb::Show(args) => verb::show::run(&shared, &args),
        Verb::Compare(args) => verb::compare::run(&shared, &args),
        Verb::Report(args) => verb::report::run(&shared, &args),
        Verb::Export(args) => verb::export::run(&shared, &args),
        Verb::Store(args) => verb::store::run(&shared, &args),
        #[cfg(feature = "replicate")]
        Verb::Replicate(args) => verb::replicate::run(&shared, &args),
        #[cfg(not(feature = "replicate"))]
        Verb::Replicate(_) => Err(failure::lacks("the published articles", "", "replicate")),
        Verb::Sim(args) => verb::sim::run(&shared, &args),
        Verb::Service(args) => verb::service::run(&shared, &args),
        Verb::Agent(args) => verb::agent::run(&args),
        Verb::Completions(args) => verb::completions::run(&args),
        Verb::Man(args) => verb::man::run(&args),
    }
}
