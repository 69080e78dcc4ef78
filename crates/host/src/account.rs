//! What the system knows of a user: asked of `getent` and `id`, which also know those of a directory service; read from
//! /etc where these programs are missing.
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use powerband_machine::{Errno, User};
use powerband_record::Hint;
use thiserror::Error;

use crate::caller::{Caller, own_uid};
use crate::program::run;
use crate::refusal::Refusal;

/// More groups than the kernel lets anybody have, as text, bytes.
const ANSWER_BYTES: usize = 1 << 20;

/// Why a load cannot run as the caller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallerError {
    /// The number means nobody.
    #[error("sudo was called by the user {uid}, whom this system does not know")]
    Unknown {
        /// Number.
        uid: u32,
    },
    /// The system does not say.
    #[error("cannot find out {who}, as whom the load is to run: {why}")]
    Unanswered {
        /// What was asked.
        who: String,
        /// What came instead.
        why: String,
    },
}

impl CallerError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            CallerError::Unknown { .. } => Some(Hint::LoadAsRoot),
            CallerError::Unanswered { .. } => Some(Hint::AsRoot),
        }
    }
}

impl Caller {
    /// Everything a load of his needs: name, groups, home.
    ///
    /// # Errors
    /// [`CallerError`] when the system does not know him (any more) or does not answer within 10 s.
    pub fn user(&self) -> Result<User, CallerError> {
        user(&This, self.uid(), Some(self.gid()))
    }
}

/// Whom a command of a plan runs as, where that is not us: the user of that number, or for `None` the one who called sudo.
/// Root alone can become somebody else; for anybody else no rights are at stake.
///
/// # Errors
/// A refusal in words where the system does not know the user.
pub(crate) fn command_user(uid: Option<u32>) -> Result<Option<User>, Refusal> {
    // What was found of a user is kept: a knob's command runs several times in each trial.
    static KNOWN: Mutex<BTreeMap<u32, User>> = Mutex::new(BTreeMap::new());
    let caller = Caller::of_sudo();
    let Some(uid) = uid.or(caller.map(|caller| caller.uid())).filter(|&uid| uid != 0 && own_uid() == 0) else {
        return Ok(None);
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(user) = known.get(&uid) {
        return Ok(Some(user.clone()));
    }
    let gid = caller.filter(|caller| caller.uid() == uid).map(|caller| caller.gid());
    let user =
        user(&This, uid, gid).map_err(|error| Refusal { errno: Errno::EPERM, words: Some(error.to_string()) })?;
    known.insert(uid, user.clone());
    Ok(Some(user))
}

/// Programs and files of the system.
trait System {
    /// Runs a program to its end and answers what it printed.
    fn ask(&self, argv: &[&str]) -> Result<String, Refusal>;
    /// The text of a file.
    fn read(&self, path: &str) -> Result<String, Errno>;
}

/// The one we run on.
struct This;

impl System for This {
    fn ask(&self, argv: &[&str]) -> Result<String, Refusal> {
        run(&argv.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), ANSWER_BYTES, true)
    }

    fn read(&self, path: &str) -> Result<String, Errno> {
        crate::files::read(path, &mut Vec::new())
    }
}

/// The user of a number, whose own group is `gid`, or else the one of its account.
fn user(system: &dyn System, uid: u32, gid: Option<u32>) -> Result<User, CallerError> {
    let (account, own_gid) = account(system, uid, gid)?;
    let groups = groups(system, &account.name, own_gid)?;
    Ok(User { groups, ..account })
}

/// The user without its groups, and the group its account names.
fn account(system: &dyn System, uid: u32, gid: Option<u32>) -> Result<(User, u32), CallerError> {
    let unanswered = |why: String| CallerError::Unanswered { who: format!("the user {uid}"), why };
    let lines = match system.ask(&["getent", "passwd", &uid.to_string()]) {
        Ok(lines) => lines,
        Err(Refusal { errno: Errno::ENOENT, .. }) => {
            system.read("/etc/passwd").map_err(|errno| unanswered(format!("/etc/passwd: {errno}")))?
        }
        // It ended with another code than 0: nobody knows the number.
        Err(Refusal { errno: Errno::EIO, .. }) => String::new(),
        Err(refusal) => return Err(unanswered(refusal.words.unwrap_or_else(|| refusal.errno.to_string()))),
    };
    let found = lines.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, group, _, home, shell] = fields[..] else { return None };
        let own_gid = group.parse().ok()?;
        let filled = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
        (number.parse() == Ok(uid)).then(|| {
            let (home, shell) = (filled(home, "/"), filled(shell, "/bin/sh"));
            (User { uid, gid: gid.unwrap_or(own_gid), groups: Vec::new(), name: name.to_owned(), home, shell }, own_gid)
        })
    });
    found.ok_or(CallerError::Unknown { uid })
}

/// The number of a user, by name.
#[must_use]
pub fn uid_of(name: &str) -> Option<u32> {
    number_of(&This, "passwd", name)
}

/// The number of a group, by name.
#[must_use]
pub fn gid_of(name: &str) -> Option<u32> {
    number_of(&This, "group", name)
}

/// The groups a login of a user has; none for a number that nobody has.
#[must_use]
pub fn groups_of(uid: u32) -> Vec<u32> {
    user(&This, uid, None).map(|user| user.groups.into_iter().chain([user.gid]).collect()).unwrap_or_default()
}

/// The third field of the line of `name` in a database of names.
fn number_of(system: &dyn System, database: &str, name: &str) -> Option<u32> {
    let lines = match system.ask(&["getent", database, "--", name]) {
        Err(Refusal { errno: Errno::ENOENT, .. }) => system.read(&format!("/etc/{database}")).ok()?,
        answer => answer.ok()?,
    };
    let number = |line: &str| {
        let mut fields = line.split(':');
        if fields.next() == Some(name) { fields.nth(1)?.parse().ok() } else { None }
    };
    lines.lines().find_map(number)
}

/// The groups a login of `name` would have.
fn groups(system: &dyn System, name: &str, own_gid: u32) -> Result<Vec<u32>, CallerError> {
    let unanswered = |why: String| CallerError::Unanswered { who: format!("the groups of {name}"), why };
    match system.ask(&["id", "-G", "--", name]) {
        Ok(numbers) => {
            let parsed: Result<Vec<u32>, _> = numbers.split_whitespace().map(str::parse).collect();
            parsed.map_err(|_| unanswered(format!("'id' said {numbers:.80}")))
        }
        Err(Refusal { errno: Errno::ENOENT, .. }) => {
            let text = system.read("/etc/group").map_err(|errno| unanswered(format!("/etc/group: {errno}")))?;
            let mut groups = vec![own_gid];
            groups.extend(text.lines().filter_map(|line| member_of(line, name)).filter(|&group| group != own_gid));
            Ok(groups)
        }
        Err(refusal) => Err(unanswered(refusal.words.unwrap_or_else(|| refusal.errno.to_string()))),
    }
}

/// The number of the group of a line of /etc/group, when `name` is in it.
fn member_of(line: &str, name: &str) -> Option<u32> {
    let mut fields = line.split(':').skip(2);
    let (number, members) = (fields.next()?, fields.next()?);
    members.split(',').any(|member| member == name).then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests;
