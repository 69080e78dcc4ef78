//! Why a knob could not be named, read, turned or restored: one sentence each, with what to type next.
use powerband_machine::wire::Refusal;
use powerband_machine::{Errno, LedgerError};
use powerband_record::{ErrorClass, KnobRef, Side, placed};
use powerband_sysfs::{proc::SYSCTL, topology::CPUS};
use thiserror::Error;

/// What the caller can do about a [`KnobError`]; the command chooses its exit code by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something was typed that makes no sense; nothing was turned.
    Usage,
    /// This machine does not have it; nothing was turned.
    Absent,
    /// It takes more rights; everything turned on the way was restored.
    Denied,
    /// The kernel said no; everything turned on the way was restored.
    Refused,
    /// Something that was turned could not be restored.
    CannotRestore,
    /// The ledger cannot be written, so nothing may be turned.
    CannotGoOn,
}

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KnobError {
    /// No such name.
    #[error("'{name}' is not a knob{} `powerband knobs` lists them all", suggestion(.nearest))]
    Unknown {
        /// As typed.
        name: String,
        /// The name most like it.
        nearest: Option<String>,
    },
    /// A knob of the load, which machines do not have.
    #[error("{0} is a knob of the load, not of a machine; compare with it: powerband try {0}=V1,V2 -- COMMAND")]
    OfLoad(String),
    /// A short name that several knobs share, and no governor that decides.
    #[error("'{name}' is a knob of several governors: {}; type the full name", .names.join(", "))]
    Ambiguous {
        /// As typed.
        name: String,
        /// The full names.
        names: Vec<String>,
    },
    /// Not on this machine.
    #[error("{knob} is not here: {why}")]
    Absent {
        /// Canonical name.
        knob: String,
        /// Why, and what works instead.
        why: String,
    },
    /// `@site` or `-c LIST` names nothing.
    #[error("{knob} has no site '{site}' here; there {}", sites(.there))]
    NoSite {
        /// Canonical name.
        knob: String,
        /// As typed.
        site: String,
        /// The sites there are.
        there: Vec<String>,
    },
    /// The value makes no sense for the knob. `why` is the whole sentence after the name.
    #[error("{knob}: {why}")]
    Value {
        /// Canonical name.
        knob: String,
        /// What is wrong with the value and what to write.
        why: String,
    },
    /// The same knob twice at one site in one setting.
    #[error("{knob} is set twice at {site}; leave one of the two out")]
    Twice {
        /// Canonical name.
        knob: String,
        /// Site.
        site: String,
    },
    /// It acts only when something else is in force.
    #[error("{knob} acts only under the governor {needs} ({site} has {found}); write {hint}")]
    NeedsFirst {
        /// Canonical name.
        knob: String,
        /// The governor it needs.
        needs: &'static str,
        /// Where it is missing.
        site: String,
        /// The governor found there.
        found: String,
        /// What to type.
        hint: String,
    },
    /// What cannot be read cannot be restored, so it is not turned.
    #[error("cannot read {path} ({errno}), so {knob} could not be restored and is not changed{}", rights(*.errno, .path))]
    Unreadable {
        /// Canonical name.
        knob: String,
        /// The file.
        path: String,
        /// Why not.
        errno: Errno,
    },
    /// What cannot be restored is not changed.
    #[error("{knob} could not be restored, so it is not changed: {why} ({path})")]
    Unrestorable {
        /// Canonical name.
        knob: String,
        /// The file.
        path: String,
        /// What a trial of the undo showed.
        why: String,
    },
    /// The kernel refused the value.
    #[error(
        "the kernel refused {}: {errno}{advice}; {}", placed(&format!("{knob}={asked}"), site), outcome(.changed_to.as_deref())
    )]
    Refused {
        /// Canonical name.
        knob: String,
        /// Site.
        site: String,
        /// What was written.
        asked: String,
        /// Its answer.
        errno: Errno,
        /// Its own words, or what to do about it, as the sentence goes on; may be empty.
        advice: String,
        /// What it had changed it to all the same.
        changed_to: Option<Box<str>>,
    },
    /// The kernel accepted the value and something else is in force.
    #[error(
        "{knob}={asked} was accepted at {site}, but {reads} is in force; something overrides it, nothing is changed"
    )]
    NotTaken {
        /// Canonical name.
        knob: String,
        /// Site.
        site: String,
        /// What was written.
        asked: String,
        /// What reads back.
        reads: String,
    },
    /// The driver accepted the value and changed nothing.
    #[error("{} was accepted and ignored by the driver: it still reads {reads}; nothing is changed", placed(&format!("{knob}={asked}"), site))]
    Ignored {
        /// Canonical name.
        knob: String,
        /// Site.
        site: String,
        /// What was written.
        asked: String,
        /// What reads back, as before.
        reads: String,
    },
    /// A command that sets a declared knob failed, or had another effect.
    #[error("{knob}={asked} could not be set: {why}; nothing is changed")]
    Command {
        /// Name as declared.
        knob: String,
        /// What was asked.
        asked: String,
        /// What came of it.
        why: String,
    },
    /// A knob of a machine that is not in the rig, or of no machine of a list.
    #[error("{knob} is on no machine here; {}", there(.name, .machines))]
    Machine {
        /// As typed.
        knob: String,
        /// Its name.
        name: String,
        /// The machines of the list; none where the rig is not a list.
        machines: Vec<String>,
    },
    /// On one machine of a list.
    #[error("{side}: {error}")]
    On {
        /// Which machine.
        side: Side,
        /// Why not.
        error: Box<KnobError>,
    },
    /// Who sets knobs for us says no.
    #[error("{}", .0.why)]
    Setter(Refusal),
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// It failed, and what had been turned before could not all be restored.
    #[error("{}; RESTORE INCOMPLETE: {}; {}", .cause.alone(), .left.join(", "), next(*.open))]
    CannotRestore {
        /// What failed first.
        cause: Box<KnobError>,
        /// Knob, site and reason of each that is left.
        left: Vec<String>,
        /// Whether the ledger still holds one of them; else all were undone, and one reads differently than before.
        open: bool,
    },
}

impl KnobError {
    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unknown { .. }
            | Self::OfLoad(_)
            | Self::Ambiguous { .. }
            | Self::NoSite { .. }
            | Self::Value { .. }
            | Self::Twice { .. }
            | Self::Machine { .. }
            | Self::NeedsFirst { .. } => ErrorKind::Usage,
            Self::On { error, .. } => error.kind(),
            Self::Absent { .. } | Self::Ignored { .. } | Self::Unrestorable { .. } => ErrorKind::Absent,
            Self::Unreadable { errno, .. } | Self::Refused { errno, .. } if is_denial(*errno) => ErrorKind::Denied,
            Self::Unreadable { .. } | Self::Refused { .. } | Self::NotTaken { .. } | Self::Command { .. } => {
                ErrorKind::Refused
            }
            Self::Setter(refusal) => kind_of(refusal.class),
            Self::Ledger(error) if error.errno().is_some_and(is_denial) => ErrorKind::Denied,
            Self::Ledger(_) => ErrorKind::CannotGoOn,
            Self::CannotRestore { .. } => ErrorKind::CannotRestore,
        }
    }

    /// The same on a machine of a rig, which is named where there is a list of them.
    #[must_use]
    pub fn on(self, side: Side) -> Self {
        if matches!(side, Side::Node(_)) { Self::On { side, error: Box::new(self) } } else { self }
    }

    /// As it is said to somebody on whose behalf a knob was to be set.
    #[must_use]
    pub fn refusal(&self) -> Refusal {
        let class = match self.kind() {
            ErrorKind::Usage => ErrorClass::Usage,
            ErrorKind::Absent => ErrorClass::Unsupported,
            ErrorKind::Denied => ErrorClass::Denied,
            ErrorKind::Refused => ErrorClass::Failed,
            ErrorKind::CannotRestore => ErrorClass::RestoreIncomplete,
            ErrorKind::CannotGoOn => ErrorClass::Aborted,
        };
        Refusal { class, why: self.to_string() }
    }

    /// The sentence without what has become of the setting.
    fn alone(&self) -> String {
        let sentence = self.to_string();
        let ends = [UNCHANGED, RESTORED].iter().find_map(|end| sentence.strip_suffix(end));
        ends.map_or_else(|| sentence.clone(), |start| start.trim_end_matches([';', ',', ' ']).to_owned())
    }

    /// The same refusal, by a kernel that had changed something all the same.
    pub(crate) fn changed(mut self, before: Option<&str>, reads: Option<&str>) -> Self {
        if let (Self::Refused { changed_to, .. }, Some(before), Some(reads)) = (&mut self, before, reads)
            && before.trim() != reads.trim()
        {
            *changed_to = Some(reads.split_whitespace().collect::<Vec<_>>().join(" ").into());
        }
        self
    }

    pub(crate) fn value(knob: &str, why: impl Into<String>) -> Self {
        Self::Value { knob: knob.into(), why: why.into() }
    }

    /// With where a target is typed, if `values` has one behind it.
    pub(crate) fn with_target_first(self, knob: &KnobRef, values: &str) -> Self {
        match (self, values.rsplit_once('@')) {
            (Self::Value { knob: name, why }, Some((values, target))) if !values.is_empty() && !target.is_empty() => {
                let knob = KnobRef { site: Some(target.trim().to_owned()), ..knob.clone() };
                Self::Value { knob: name, why: format!("{why}; a target is written before '=': {knob}={values}") }
            }
            (error, _) => error,
        }
    }

    pub(crate) fn absent(knob: &str, why: impl Into<String>) -> Self {
        Self::Absent { knob: knob.into(), why: why.into() }
    }
}

/// The reverse of [`KnobError::refusal`].
fn kind_of(class: ErrorClass) -> ErrorKind {
    match class {
        ErrorClass::Usage => ErrorKind::Usage,
        ErrorClass::Unsupported => ErrorKind::Absent,
        ErrorClass::Denied => ErrorKind::Denied,
        ErrorClass::Failed => ErrorKind::Refused,
        ErrorClass::RestoreIncomplete => ErrorKind::CannotRestore,
        ErrorClass::LoadFailed | ErrorClass::Aborted | ErrorClass::Stopped => ErrorKind::CannotGoOn,
    }
}

/// How a sentence ends after which everything is as before …
const UNCHANGED: &str = "nothing is changed";
/// … and one after which it is so again.
const RESTORED: &str = "what was there before is restored";

/// What to do about what is not as before.
fn next(open: bool) -> &'static str {
    if open { "`powerband undo --left` tries again" } else { "it was undone, so set it to what it was yourself" }
}

fn outcome(changed_to: Option<&str>) -> String {
    let changed = |to| format!("the kernel had changed it to '{to}' all the same; {RESTORED}");
    changed_to.map_or_else(|| UNCHANGED.to_owned(), changed)
}

/// Whether more rights would help.
pub(crate) fn is_denial(errno: Errno) -> bool {
    matches!(errno, Errno::EACCES | Errno::EPERM | Errno::EROFS)
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(|| ";".into(), |name| format!("; did you mean '{name}'?"))
}

/// What to write in front of a knob.
fn there(name: &str, machines: &[String]) -> String {
    match machines {
        [] => format!("write {name}, or name the machines with --machines"),
        [first, ..] => format!("write all/{name} or {first}/{name}; the machines are {}", machines.join(", ")),
    }
}

fn sites(there: &[String]) -> String {
    match there {
        [] => "are none".into(),
        [one] => format!("is only {one}"),
        [first, .., last] if there.len() > 8 => format!("are {first} to {last} ({} of them)", there.len()),
        all => format!("are {}", all.join(", ")),
    }
}

fn rights(errno: Errno, path: &str) -> String {
    match errno {
        Errno::EROFS => "; the file system is read-only here, as in most containers: run it on the host".into(),
        Errno::EACCES | Errno::EPERM => match path {
            // Only root may write a file there, whatever its mode says.
            _ if path.starts_with(SYSCTL) || powerband_machine::CoalescingPlace::of(path).is_some() => {
                "; only root may set it, and not in every container: write `sudo powerband …` on the host".into()
            }
            _ if path.starts_with("/sys/") => format!(
                "; write `sudo powerband …`, or let the group powerband write it by a line in /etc/tmpfiles.d/powerband.conf: \
                 `z {} 0664 root powerband`",
                every_cpu(path)
            ),
            "" => "; run it as root: `sudo powerband …`".into(),
            _ => format!("; run it as root (`sudo powerband …`) or as a user who may read and write {path}"),
        },
        _ => String::new(),
    }
}

/// A file of one CPU or policy as the pattern of that file of all of them.
pub(crate) fn every_cpu(path: &str) -> String {
    let Some(rest) = path.strip_prefix(CPUS).and_then(|rest| rest.strip_prefix('/')) else { return path.into() };
    let every = |name: &str| {
        let kind = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        if kind == name || kind.is_empty() { name.to_owned() } else { format!("{kind}*") }
    };
    format!("{CPUS}/{}", rest.split('/').map(every).collect::<Vec<_>>().join("/"))
}

/// How a refusal explains itself (`words`), or what to do about it; `hint` is what it means for this knob.
pub(crate) fn advice(words: Option<&str>, hint: Option<&str>, errno: Errno, path: Option<&str>) -> String {
    if let Some(words) = words {
        return format!(" ({words})");
    }
    if let Some(hint) = hint {
        return format!("; {hint}");
    }
    match errno {
        _ if is_denial(errno) => rights(errno, path.unwrap_or_default()),
        Errno::EBUSY => "; the policy has no CPU online, or its governor is being switched: try again".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
