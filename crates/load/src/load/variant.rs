//! The load as a setting changes it: its command, its parameters, its environment, and how often it runs in a trial.
use powerband_record::{LoadVariant, Repeated};

use super::{Load, LoadError};
use crate::Finishes;
use crate::{CommandLine, CommandLoad, CommandOutput};

impl Load {
    /// The load as a setting changes it. Environment variables and background loads do not concern its parts here.
    ///
    /// # Errors
    /// [`LoadError::Variant`] for a command, a variable or a parameter that this load does not have.
    pub fn of_variant(&self, variant: &LoadVariant) -> Result<Load, LoadError> {
        if let Load::Command(command) = self {
            return command.of_variant(variant).map(Load::Command).map_err(LoadError::Variant);
        }
        let of_commands = variant.command.as_ref().map(|_| "command".to_owned());
        let env = variant.env.first().map(|(name, _)| format!("env.{name}"));
        match of_commands.or(env) {
            Some(knob) => Err(LoadError::Variant(format!(
                "{knob} is for commands, and the load is '{}'; put a command behind --",
                self.kind()
            ))),
            None => Ok(self.clone()),
        }
    }

    /// The command lines there are, by their text.
    #[must_use]
    pub fn command_lines(&self) -> Vec<String> {
        match self {
            Load::Command(command) if command.commands.is_empty() => vec![command.argv.join(" ")],
            Load::Command(command) => command.commands.iter().map(CommandLine::text).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a trial may run it several times: a command that nothing is read from.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        matches!(self, Load::Command(command) if command.is_repeatable())
    }

    /// The same, run so often within a trial.
    #[must_use]
    pub fn repeated(mut self, runs: u32) -> Load {
        if let Load::Command(command) = &mut self {
            command.set.runs = runs;
        }
        self
    }

    /// The runs of a command that was repeated.
    #[must_use]
    pub fn runs(&self, finishes: &Finishes) -> Option<Repeated> {
        let Load::Command(CommandLoad { set, .. }) = self else { return None };
        let finished = finishes.get("load").filter(|_| set.repeats())?;
        Some(Repeated { runs: set.runs, real_s: crate::command::real_times(finished) })
    }

    /// Whether its output goes to where our own goes.
    #[must_use]
    pub fn shows_output(&self) -> bool {
        matches!(self, Load::Command(command) if command.output == CommandOutput::Inherit)
    }
}
