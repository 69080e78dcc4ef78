//! Actions: everything that changes a machine, as data with its undo.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Coalescing, CommandPlace, EntryId, Errno};

/// One change of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// Write a text to a file that exists or whose folder does (sysfs, procfs or an ordinary file, which is replaced).
    WriteFile {
        /// Absolute path.
        path: String,
        /// Exactly what is written.
        text: String,
    },
    /// Put another ordinary file in the place of one, or where there is none: anyone who reads it meanwhile, or after a power
    /// cut, finds all of the old text or all of the new. For files that are read at boot.
    ReplaceFile {
        /// Absolute path.
        path: String,
        /// The whole text.
        text: String,
    },
    /// Remove an ordinary file: the undo of a write that made it.
    RemoveFile {
        /// Absolute path.
        path: String,
    },
    /// Make a folder in one that is there.
    MakeFolder {
        /// Absolute path.
        path: String,
    },
    /// Remove a folder if nothing is in it: the undo of making it. What somebody else has put there keeps it.
    RemoveFolder {
        /// Absolute path.
        path: String,
    },
    /// Write a text to a file and keep the file open: the kernel takes it back when the file is closed.
    HoldFile {
        /// Absolute path.
        path: String,
        /// Exactly what is written.
        text: String,
    },
    /// Close a file that is held: the undo of holding it. Nothing to do for anybody but its holder, as with a process
    /// that is gone.
    ReleaseFile {
        /// Absolute path.
        path: String,
    },
    /// Make a control group for a load.
    MakeGroup {
        /// Its name, unique on the machine; no slash.
        group: String,
        /// How much CPU its processes may use together.
        quota: CpuQuota,
    },
    /// Remove a control group, ending what still runs in it: the undo of making it.
    RemoveGroup {
        /// Its name.
        group: String,
    },
    /// Set interrupt coalescing of a network device, all values in one request.
    Coalesce {
        /// Its name.
        device: String,
        /// What is set; the driver's other parameters stay.
        values: Coalescing,
    },
    /// Run a program that turns something no file turns. One that fails may have turned it all the same.
    Run {
        /// Program and arguments.
        argv: Vec<String>,
        /// Number of the user it runs as; 0 is the owner of the process, and `None` the user who called sudo where there is
        /// one. The ledger always has a number, so that anyone who restores runs it with the same rights.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<u32>,
    },
}

/// Where the text of a file that is replaced is written first: in its folder, under a name that no program reads as one of
/// the folder's files. What is left of it is removed when the replacement is undone.
#[must_use]
pub fn draft_of(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{folder}/.{name}.powerband~")
}

/// The file that a text was to replace, of the place it is written to first.
#[must_use]
pub fn replaced_by(draft: &str) -> Option<String> {
    let (folder, name) = draft.rsplit_once('/')?;
    let name = name.strip_prefix('.')?.strip_suffix(".powerband~").filter(|name| !name.is_empty())?;
    Some(format!("{folder}/{name}"))
}

/// A share of CPU time: 1,000,000 is one whole CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct CpuQuota {
    /// Millionths of one CPU.
    pub millionths: u64,
}

/// How long a change lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Undone when its owner ends (trials, `with`).
    Held,
    /// Stays until `undo`.
    Set,
}

/// What was there before a turn, and what an equal reading says of it later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Before {
    /// Nothing was read.
    #[default]
    Unknown,
    /// It read so, and while it does nothing of ours is left.
    Reads(String),
    /// It showed this, which came of requests that cannot be read, as a frequency limit does: ours may stand behind an equal reading.
    Outcome {
        /// What it showed.
        outcome: String,
    },
    /// It read so, and the turn writes just that, to write it once more when it is undone.
    Saved {
        /// What it read.
        saved: String,
    },
}

impl Before {
    /// What was there, if it was read.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Before::Unknown => None,
            Before::Reads(text) | Before::Outcome { outcome: text } | Before::Saved { saved: text } => Some(text),
        }
    }
}

impl From<Option<String>> for Before {
    fn from(text: Option<String>) -> Self {
        text.map_or(Before::Unknown, Before::Reads)
    }
}

/// An action together with what a person would want to know of it and how to take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Turn {
    /// What is done.
    pub action: Action,
    /// What takes it back; `None` only when there is nothing to take back.
    pub undo: Option<Action>,
    /// How long it lasts.
    pub hold: Hold,
    /// Canonical name of the knob.
    pub knob: String,
    /// Site.
    pub site: String,
    /// The value asked for, as typed.
    pub asked: String,
    /// What was there before, for messages and for the three-way undo.
    pub before: Before,
    /// Where what is in force afterwards reads from: usually the file written, or a [`crate::CoalescingPlace`] or [`crate::CommandPlace`].
    pub read_back: Option<String>,
    /// First entry of the command this belongs to (one step of `undo`); `None` starts a new step.
    pub step: Option<EntryId>,
    /// Files that the action moves along and its undo moves back, with what they read before: a later change of one of them finds
    /// what this one has made of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub moves: BTreeMap<String, String>,
}

impl Turn {
    /// Writes a file as anybody could: nothing takes it back, and nothing is read afterwards.
    #[must_use]
    pub fn write(path: &str, text: &str) -> Turn {
        Turn {
            action: Action::WriteFile { path: path.to_owned(), text: text.to_owned() },
            undo: None,
            hold: Hold::Set,
            knob: format!("file:{path}"),
            site: String::new(),
            asked: text.to_owned(),
            before: Before::Unknown,
            read_back: None,
            step: None,
            moves: BTreeMap::new(),
        }
    }

    /// Whether it saves what a file read before an earlier entry of its step has moved it, and not what it reads now.
    #[must_use]
    pub fn saves_what_is_hidden(&self) -> bool {
        matches!(self.before, Before::Saved { .. }) && self.undo.as_ref() != Some(&self.action)
    }

    /// The same with a user for each command that names none.
    #[must_use]
    pub fn run_as(mut self, uid: u32) -> Turn {
        for action in [Some(&mut self.action), self.undo.as_mut()].into_iter().flatten() {
            if let Action::Run { user, .. } = action {
                user.get_or_insert(uid);
            }
        }
        if let Some(place) = self.read_back.as_deref().and_then(CommandPlace::of) {
            let place = CommandPlace { user: place.user.or(Some(uid)), ..place }.to_string();
            self.read_back = Some(place);
        }
        self
    }
}

/// What came of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// The ledger entry that was written before.
    pub entry: EntryId,
    /// The kernel's refusal, if it refused.
    pub errno: Option<Errno>,
    /// The kernel's own words beyond the number (netlink's extended error), if it gave any.
    pub words: Option<String>,
    /// What reads back, without the final newline.
    pub reads_back: Option<String>,
}
