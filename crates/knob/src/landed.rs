//! How a turn landed: what was asked against what reads back, in the knob's own comparison and in words.
use std::fmt;

use powerband_machine::{Acted, Errno};
use serde::{Deserialize, Serialize};

use crate::{Named, Value};

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "landed", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Landed {
    /// In force.
    Applied,
    /// Was in force before; nothing was written.
    Already,
    /// Accepted, and a nearby value is in force.
    Clamped {
        /// Which, for people.
        to: String,
    },
    /// Accepted, and something else reads there.
    ReadsOther {
        /// What.
        reads: String,
    },
    /// Accepted, and nothing has changed.
    Ignored {
        /// What still reads there, for people.
        reads: String,
    },
    /// Accepted, and something stronger is in force.
    Overridden {
        /// What is stronger, for people.
        by: String,
        /// What reads there, for people.
        reads: String,
    },
    /// Accepted; the kernel has not put it in force yet.
    Pending {
        /// What still reads there, for people.
        reads: String,
    },
    /// Accepted; nothing can be read back.
    Unseen,
    /// The kernel said no.
    Refused {
        /// Its answer.
        errno: Errno,
        /// Its own words beyond the number.
        words: Option<String>,
    },
    /// The kernel said no because something else must be in force first.
    NeedsFirst {
        /// What, as it can be typed.
        what: String,
    },
    /// This kernel or driver does not have it.
    Unsupported {
        /// Its answer.
        errno: Errno,
        /// Its own words beyond the number.
        words: Option<String>,
    },
}

impl fmt::Display for Landed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Landed::Applied => f.write_str("applied"),
            Landed::Already => f.write_str("already so"),
            Landed::Clamped { to } => write!(f, "clamped to {to}"),
            Landed::ReadsOther { reads } => write!(f, "accepted, but reads {reads}"),
            Landed::Ignored { reads } => write!(f, "accepted, but ignored: still {reads}"),
            Landed::Overridden { by, reads } => write!(f, "accepted, but {reads} is in force: overridden by {by}"),
            Landed::Pending { reads } => write!(f, "accepted, not in force yet (reads {reads})"),
            Landed::Unseen => f.write_str("applied (nothing shows it)"),
            Landed::Refused { errno, words: None } => write!(f, "refused: {errno}"),
            Landed::Refused { errno, words: Some(words) } => write!(f, "refused: {errno}: {words}"),
            Landed::NeedsFirst { what } => write!(f, "needs {what} first"),
            Landed::Unsupported { errno, words: None } => write!(f, "not supported here: {errno}"),
            Landed::Unsupported { errno, words: Some(words) } => write!(f, "not supported here: {errno}: {words}"),
        }
    }
}

/// What the kernel says of a parameter that a network driver has not, with a number that would say less (Linux 5.7
/// net/ethtool/coalesce.c and later).
const UNSUPPORTED: &str = "cannot modify an unsupported parameter";

/// Judges what came of writing `asked` where `before` was.
pub(crate) fn judge(named: &Named, asked: &Value, before: Option<&str>, acted: &Acted) -> Landed {
    let reads = acted.reads_back.as_deref().map(str::trim);
    match acted.errno {
        Some(Errno::EINVAL) if reads == Some("<unsupported>") => match named.knob.governor() {
            Some(governor) => Landed::NeedsFirst { what: format!("governor={governor}") },
            None => Landed::Refused { errno: Errno::EINVAL, words: acted.words.clone() },
        },
        Some(errno @ (Errno::ENOENT | Errno::ENODEV | Errno::EOPNOTSUPP | Errno::ENOSYS)) => {
            Landed::Unsupported { errno, words: acted.words.clone() }
        }
        Some(errno) if acted.words.as_ref().is_some_and(|words| words.starts_with(UNSUPPORTED)) => {
            Landed::Unsupported { errno, words: acted.words.clone() }
        }
        Some(errno) => Landed::Refused { errno, words: acted.words.clone() },
        None => match (judge_reading(named, asked, reads), reads) {
            (Landed::Clamped { to: reads }, Some(now))
                if before.is_some_and(|before| named.knob.ignored(asked, before, now)) =>
            {
                Landed::Ignored { reads }
            }
            (landed, _) => landed,
        },
    }
}

/// Judges a reading alone, as when looking again later.
pub(crate) fn judge_reading(named: &Named, asked: &Value, reads: Option<&str>) -> Landed {
    match reads {
        None => Landed::Unseen,
        Some(reads) if named.knob.same(asked, reads) => Landed::Applied,
        Some(reads) => named.knob.landed_elsewhere(reads),
    }
}
