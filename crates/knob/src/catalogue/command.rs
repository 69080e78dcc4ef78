//! A knob that a plan declares by its commands: one reads it, one sets it. What a command did is what the other one prints.
use powerband_machine::{Action, Change, CommandPlace, Errno, Look};
use powerband_record::{CommandKnob, VALUE};

use super::file::only_everywhere;
use crate::knob::Turning;
use crate::{About, Knob, KnobError, Phase, Scope, Selection, Site, Sites, Value};

/// Characters that mean something to a shell. A value has none of them, so that it can stand anywhere in a command.
const SHELLS: &str = "'\"`$\\;|&<>()[]{}*?!~#";

/// One declared knob.
#[derive(Debug)]
pub struct Command {
    about: &'static About,
    knob: CommandKnob,
    values: Vec<Value>,
}

impl PartialEq for Command {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.knob == other.knob
    }
}

impl Eq for Command {}

impl Command {
    /// Of a declaration. Its description lasts as long as the process.
    ///
    /// # Errors
    /// [`KnobError::Value`], one sentence.
    pub fn new(name: &str, knob: &CommandKnob) -> Result<Self, KnobError> {
        let wrong = |why: String| Err(KnobError::value(&format!("[knobs.{name}]"), why));
        for (key, line) in [("get", Some(&knob.get)), ("set", Some(&knob.set)), ("undo", knob.undo.as_ref())] {
            if line.is_some_and(|line| line.trim().is_empty() || line.contains('\0')) {
                return wrong(format!("its {key} command is empty; write a line for sh"));
            }
        }
        if !knob.set.contains(VALUE) {
            return wrong(format!("its set command does not say where the value goes; write {VALUE} there"));
        }
        if knob.get.contains(VALUE) {
            return wrong(format!("its get command is to print the value, so there is no {VALUE} in it"));
        }
        for value in &knob.values {
            if let Some(why) = unfit(value) {
                return wrong(format!("the value '{value}' {why}"));
            }
        }
        let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
        let about = Box::leak(Box::new(About { name: leaked, short: leaked, ..ABOUT }));
        let values = knob.values.iter().cloned().map(Value::Text).collect();
        Ok(Command { about, knob: knob.clone(), values })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.about.name
    }

    /// Whom its commands run as.
    fn user(&self) -> Option<u32> {
        self.knob.as_root.then_some(0)
    }

    fn place(&self) -> String {
        CommandPlace { line: &self.knob.get, user: self.user() }.to_string()
    }

    /// A command with the value in it.
    fn filled(&self, line: &str, value: &str) -> Action {
        let argv = CommandPlace { line: &line.replace(VALUE, value), user: None }.argv();
        Action::Run { argv, user: self.user() }
    }
}

const ABOUT: About = About {
    name: "",
    short: "",
    aliases: &[],
    unit: "",
    scope: Scope::System,
    summary: "a value that commands read and set",
    doc: "Declared in a plan by the commands that read and set it.",
    accepts: "what its declaration lists",
    needs: "",
    source: "the plan",
    invalid: "",
    phase: Phase::Command,
};

/// Why a text cannot be a value in a command, if so.
fn unfit(text: &str) -> Option<String> {
    match text.chars().find(|c| SHELLS.contains(*c) || c.is_control()) {
        _ if text.trim().is_empty() => Some("is empty".into()),
        Some(c) => Some(format!("has {c:?} in it, which means something else in a command")),
        None => None,
    }
}

impl Knob for Command {
    fn about(&self) -> &'static About {
        self.about
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        only_everywhere(name, at)?;
        let path = self.place();
        let get = &self.knob.get;
        match machine.read(&path) {
            Ok(text) => match unfit(text.trim()) {
                None => Ok(Sites { sites: vec![Site::system(path)], ..Sites::default() }),
                Some(why) => {
                    let told = format!("its get command (`{get}`) prints what {why}, so it could not be restored");
                    Err(KnobError::value(name, told + "; let it print the value alone, on one line"))
                }
            },
            // A dry run executes nothing.
            Err(Errno::ECANCELED) => Ok(Sites { sites: vec![Site::system(path)], ..Sites::default() }),
            Err(Errno::EOPNOTSUPP) => {
                Err(KnobError::absent(name, format!("no commands are run on {}", machine.identity().name)))
            }
            Err(errno) => {
                let why = if errno == Errno::ETIMEDOUT { "does not end within 10 s" } else { "fails" };
                let rights = match machine.identity().privileged && !self.knob.as_root {
                    true => "; under sudo it runs as the user who called, and as root with `as_root = true`",
                    false => "",
                };
                Err(KnobError::absent(
                    name,
                    format!("its get command (`{get}`) {why}; try it by hand, in the folder /{rights}"),
                ))
            }
        }
    }

    fn parse(&self, name: &str, text: &str, _machine: &mut dyn Look, _site: &Site) -> Result<Value, KnobError> {
        let text = text.trim();
        if let Some(why) = unfit(text) {
            return Err(KnobError::value(name, format!("the value '{text}' {why}")));
        }
        let value = Value::Text(text.to_owned());
        if !self.values.is_empty() && !self.values.contains(&value) {
            let listed = self.knob.values.join(", ");
            return Err(KnobError::value(name, format!("'{text}' is none of its values: {listed}")));
        }
        Ok(value)
    }

    fn choices(&self, _machine: &mut dyn Look, _site: &Site) -> Vec<Value> {
        self.values.clone()
    }

    fn skips_when_equal(&self) -> bool {
        true
    }

    fn turn(&self, value: &Value, machine: &mut dyn Change, site: &Site) -> Result<Turning, Errno> {
        let path = site.path.as_deref().ok_or(Errno::ENOENT)?;
        let before = machine.read(path)?.trim().to_owned();
        if unfit(&before).is_some() {
            return Err(Errno::EILSEQ);
        }
        let undo = self.filled(self.knob.undo.as_ref().unwrap_or(&self.knob.set), &before);
        Ok(Turning { action: self.filled(&self.knob.set, &value.typed()), undo: Some(undo), before: Some(before) })
    }
}
