//! What the system knows of a user: asked of `getent` and `id`, which also know those of a directory service; read from
//! /etc where these programs are missing.
use powerband_machine::{Errno, User};

use super::CallerError;
use crate::actions::{Refusal, run};

/// More groups than the kernel lets anybody have, as text, bytes.
const ANSWER_BYTES: usize = 1 << 20;

/// Programs and files of the system.
pub(super) trait System {
    /// Runs a program to its end and answers what it printed.
    fn ask(&self, argv: &[&str]) -> Result<String, Refusal>;
    /// The text of a file.
    fn read(&self, path: &str) -> Result<String, Errno>;
}

/// The one we run on.
pub(super) struct This;

impl System for This {
    fn ask(&self, argv: &[&str]) -> Result<String, Refusal> {
        run(&argv.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), ANSWER_BYTES, true)
    }

    fn read(&self, path: &str) -> Result<String, Errno> {
        crate::files::read(path, &mut Vec::new())
    }
}

/// The user of a number, whose own group is `gid`, or else the one of its account.
pub(super) fn user(system: &dyn System, uid: u32, gid: Option<u32>) -> Result<User, CallerError> {
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
