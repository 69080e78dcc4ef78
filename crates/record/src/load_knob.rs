//! Knobs of the load: what a setting can change about the load instead of the machine.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Assignment, CpuList, KnobRef, Setting, Side};

/// A knob of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKnob<'a> {
    /// `command`: which of several command lines runs.
    Command,
    /// `env.NAME`: an environment variable of the load.
    Env(&'a str),
    /// `param.NAME`: what `{NAME}` is replaced by in the command lines.
    Parameter(&'a str),
    /// `background`: what runs next to the load.
    Background,
    /// `daemon`: a program that sets knobs by itself, from before the load begins until it has ended.
    Daemon,
}

/// Name of the knob that chooses a command line.
pub const COMMAND: &str = "command";
const ENV: &str = "env.";
/// What parameters begin with.
pub const PARAMETER: &str = "param.";
/// Name of the knob of what runs next to the load.
pub const BACKGROUND: &str = "background";
/// Name of the knob of a program that sets knobs by itself.
pub const DAEMON: &str = "daemon";
/// The value of [`DAEMON`] that starts none.
pub const NO_DAEMON: &str = "none";

impl KnobRef {
    /// The knob of the load it is, if it is one.
    #[must_use]
    pub fn of_load(&self) -> Option<LoadKnob<'_>> {
        match self.name.as_str() {
            COMMAND => Some(LoadKnob::Command),
            BACKGROUND => Some(LoadKnob::Background),
            DAEMON => Some(LoadKnob::Daemon),
            name => match (name.strip_prefix(ENV), name.strip_prefix(PARAMETER)) {
                (Some(name), _) => Some(LoadKnob::Env(name)),
                (None, Some(name)) => Some(LoadKnob::Parameter(name)),
                (None, None) => None,
            },
        }
    }
}

impl Assignment {
    /// Whether it leaves the load as it is without it, or has to be there in any setting: a reference can have it.
    fn is_neutral(&self) -> bool {
        match self.knob.of_load() {
            Some(LoadKnob::Command | LoadKnob::Parameter(_)) => true,
            Some(LoadKnob::Background) => Background::parse(&self.value) == Ok(Background::None),
            Some(LoadKnob::Daemon) => self.value == NO_DAEMON,
            Some(LoadKnob::Env(_)) | None => false,
        }
    }
}

impl Setting {
    /// Whether it changes neither the machine nor what is around the command.
    #[must_use]
    pub fn is_neutral(&self) -> bool {
        self.assignments.iter().all(Assignment::is_neutral)
    }

    /// What it changes around the load, and neither a machine nor the command: the environment, and what runs next to it.
    pub fn around_load(&self) -> impl Iterator<Item = &Assignment> {
        self.assignments.iter().filter(|it| it.knob.of_load().is_some() && !it.is_neutral())
    }

    /// The part of it that changes machines.
    #[must_use]
    pub fn of_machines(&self) -> Setting {
        let of_machine = |assignment: &&Assignment| assignment.knob.of_load().is_none();
        let assignments = self.assignments.iter().filter(of_machine).cloned().collect();
        Setting { name: self.name.clone(), assignments }
    }
}

/// What runs next to the load while it is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Background {
    /// Nothing.
    #[default]
    None,
    /// A busy loop on each of these CPUs.
    Spin(CpuList),
    /// A command line for `sh -c`.
    Command(String),
}

const SPIN: &str = "spin@";
const BY_SHELL: &str = "cmd:";

impl Background {
    /// Reads `none`, `spin@cpu1`, `spin@0-3` or `cmd:COMMAND`.
    ///
    /// # Errors
    /// One sentence that says what is wrong and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let forms = "write none, spin@cpu1 or 'cmd:COMMAND'";
        if text == "none" {
            return Ok(Background::None);
        }
        if let Some(command) = text.strip_prefix(BY_SHELL) {
            let command = command.trim();
            return match command.is_empty() {
                true => Err(format!("background={text} has no command; {forms}")),
                false => Ok(Background::Command(command.to_owned())),
            };
        }
        let Some(list) = text.strip_prefix(SPIN) else {
            return Err(format!("'{text}' is no background load; {forms}"));
        };
        let cpus: CpuList =
            list.trim_start_matches("cpu").parse().map_err(|error| format!("background={text}: {error}; {forms}"))?;
        if cpus.is_empty() { Err(format!("background={text} has no CPU; {forms}")) } else { Ok(Background::Spin(cpus)) }
    }

    /// Splits a list of background loads. A comma belongs to the one before unless another one begins behind it.
    #[must_use]
    pub fn split(list: &str) -> Vec<String> {
        let begins = |text: &str| text == "none" || text.starts_with(SPIN) || text.starts_with(BY_SHELL);
        let mut all: Vec<String> = Vec::new();
        for part in list.split(',') {
            match all.last_mut() {
                Some(last) if !begins(part.trim()) => *last += &format!(",{part}"),
                _ => all.push(part.trim().to_owned()),
            }
        }
        all
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Background::None => f.write_str("none"),
            Background::Spin(cpus) => write!(f, "{SPIN}cpu{cpus}"),
            Background::Command(command) => write!(f, "{BY_SHELL}{command}"),
        }
    }
}

/// What a setting changes about the load, read from its assignments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadVariant {
    /// The command line, by its text.
    pub command: Option<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// What stands for `{NAME}`.
    pub parameters: Vec<(String, String)>,
    /// What runs next to the load on the near and on the far machine.
    pub background: Vec<(Side, Background)>,
    /// The command line of a program that sets knobs by itself on the near machine.
    pub daemon: Option<String>,
}

impl LoadVariant {
    /// Reads the assignments of a setting that are knobs of the load.
    ///
    /// # Errors
    /// One sentence for a name, a side or a value that cannot be.
    pub fn of(setting: &Setting) -> Result<Self, String> {
        let mut variant = LoadVariant::default();
        for Assignment { knob, value } in &setting.assignments {
            let Some(of_load) = knob.of_load() else { continue };
            let value = value.clone();
            if knob.site.is_some() {
                return Err(format!("{knob}: the load has no sites; leave out what is behind '@'"));
            }
            if knob.side != Side::Near && of_load != LoadKnob::Background {
                return Err(format!("{knob}: the load runs on this side of the link; leave out the side"));
            }
            match of_load {
                LoadKnob::Command => variant.command = Some(value),
                LoadKnob::Env(name) => variant.env.push((checked("an environment variable", name)?, value)),
                LoadKnob::Parameter(name) => variant.parameters.push((checked("a parameter", name)?, value)),
                LoadKnob::Daemon => variant.daemon = Some(value).filter(|value| value != NO_DAEMON),
                LoadKnob::Background => {
                    let background = Background::parse(&value)?;
                    let sides = if knob.side == Side::Both { vec![Side::Near, Side::Far] } else { vec![knob.side] };
                    variant.background.extend(sides.into_iter().map(|side| (side, background.clone())));
                }
            }
        }
        Ok(variant)
    }

    /// A text with the parameters in their places.
    #[must_use]
    pub fn filled(&self, text: &str) -> String {
        self.parameters.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }
}

/// A name that both a shell and a pair of braces can hold.
fn checked(what: &str, name: &str) -> Result<String, String> {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(name.to_owned());
    }
    Err(format!("'{name}' cannot be the name of {what}; use letters, digits and '_', e.g. THREADS"))
}
