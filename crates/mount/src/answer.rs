//! What the kernel asks of the mounted folder, and what the machine answers.
use std::sync::mpsc::SyncSender;

use powerband_machine::{Action, Entry, Errno, Hold, Machine, Turn};

use crate::ROOT;

/// A question, with the end its answer goes to.
pub(crate) struct Ask {
    pub(crate) what: What,
    pub(crate) to: SyncSender<Result<Told, Errno>>,
}

/// What is asked; paths are below the mounted folder and begin with a slash.
pub(crate) enum What {
    /// What kind of thing this is.
    Kind(String),
    /// The names in a folder.
    List(String),
    /// The text of a file.
    Read(String),
    /// A command to the kernel.
    Write(String, String),
}

/// What is answered.
pub(crate) enum Told {
    /// With the one name of what may have two.
    Kind(Entry, String),
    List(Vec<Entry>),
    Text(String),
    Written,
}

/// Answers one question.
pub(crate) fn answer(ask: Ask, machine: Option<&mut dyn Machine>) {
    let told = match machine {
        Some(machine) => tell(&ask.what, machine),
        None => Err(Errno::ENODEV),
    };
    // Whoever asked has gone: so has the question.
    let _ = ask.to.send(told);
}

fn tell(what: &What, machine: &mut dyn Machine) -> Result<Told, Errno> {
    match what {
        What::Kind(path) => {
            let (above, name) = path.rsplit_once('/').ok_or(Errno::ENOENT)?;
            let found = machine.list(&format!("{ROOT}{above}"))?.into_iter().find(|entry| entry.name == name);
            found.map(|entry| Told::Kind(entry, one_name(path, machine))).ok_or(Errno::ENOENT)
        }
        What::List(path) => machine.list(&format!("{ROOT}{path}")).map(Told::List),
        What::Read(path) => machine.read(&format!("{ROOT}{path}")).map(Told::Text),
        What::Write(path, text) => {
            let path = format!("{ROOT}{path}");
            let turn = Turn {
                action: Action::WriteFile { path: path.clone(), text: text.clone() },
                undo: None,
                hold: Hold::Set,
                knob: format!("file:{path}"),
                site: "-".into(),
                asked: text.clone(),
                before: None,
                read_back: None,
                step: None,
            };
            let acted = machine.act(&turn).map_err(|_| Errno::EIO)?;
            acted.errno.map_or(Ok(Told::Written), Err)
        }
    }
}

/// The name of a file in its policy's folder, to which `cpuN/cpufreq` is a link since Linux 4.3: whoever watches it there has
/// to be told of a write by the other name.
fn one_name(path: &str, machine: &mut dyn Machine) -> String {
    policy_of(path, machine).unwrap_or_else(|| path.to_owned())
}

fn policy_of(path: &str, machine: &mut dyn Machine) -> Option<String> {
    let (cpu, file) = path.strip_prefix("/cpu")?.split_once("/cpufreq/")?;
    let cpu: u32 = cpu.parse().ok()?;
    let folders = machine.list(&format!("{ROOT}/cpufreq")).ok()?;
    let mut policies = folders.into_iter().map(|entry| entry.name).filter(|name| name.starts_with("policy"));
    policies.find_map(|policy| {
        let cpus = machine.read(&format!("{ROOT}/cpufreq/{policy}/affected_cpus")).ok()?;
        let its = cpus.split_whitespace().any(|word| word.parse() == Ok(cpu));
        its.then(|| format!("/cpufreq/{policy}/{file}"))
    })
}
