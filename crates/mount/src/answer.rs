//! What the kernel asks of the mounted folder, and what the machine answers.
use std::sync::mpsc::SyncSender;

use powerband_machine::{Change, Entry, Errno, Machine, Turn};

/// A question, with the end its answer goes to.
pub(crate) struct Ask {
    pub(crate) what: What,
    pub(crate) to: SyncSender<Result<MountAnswer, Errno>>,
}

/// What is asked; paths are the machine's own.
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
pub(crate) enum MountAnswer {
    Kind(Entry),
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
    // Anyone who asked has gone: so has the question.
    let _ = ask.to.send(told);
}

fn tell(what: &What, machine: &mut dyn Change) -> Result<MountAnswer, Errno> {
    match what {
        What::Kind(path) => {
            let (above, name) = path.rsplit_once('/').ok_or(Errno::ENOENT)?;
            let above = if above.is_empty() { "/" } else { above };
            let found = machine.list(above)?.into_iter().find(|entry| entry.name == name);
            found.map(MountAnswer::Kind).ok_or(Errno::ENOENT)
        }
        What::List(path) => machine.list(if path.is_empty() { "/" } else { path }).map(MountAnswer::List),
        What::Read(path) => machine.read(path).map(MountAnswer::Text),
        What::Write(path, text) => {
            let turn = Turn { site: "-".into(), ..Turn::write(path, text) };
            let acted = machine.act(&turn).map_err(|_| Errno::EIO)?;
            acted.errno.map_or(Ok(MountAnswer::Written), Err)
        }
    }
}
