//! What a shell does for a machine: reading files, listing folders, doing actions, each in one call.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use powerband_machine::{Action, Entry, Errno, LastChange, Readable, draft_of};
use powerband_record::IntoOrdered as _;

use super::ethtool;
use super::link::{Answer, Link};
use super::quote::{assignment, errno_of, quoted};
use crate::refusal::Refusal;
use crate::talk::Silence;

/// The shell, shared by a machine and its ledger.
#[derive(Clone, Debug)]
pub(super) struct Hand(pub(super) Rc<RefCell<Link>>);

/// What came of an action.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) refusal: Option<Refusal>,
    /// What a program said.
    pub(super) words: Option<String>,
    /// What an action tells of what is in force.
    pub(super) in_force: Option<String>,
    /// What reads back, if that was asked for.
    pub(super) reads_back: Option<Result<String, Errno>>,
}

impl Hand {
    /// A call whose answer has so many fields; `None` when the machine is lost, before or with it.
    pub(super) fn call<const N: usize>(&self, lines: &[String], script: &str) -> Option<(i32, [Vec<u8>; N])> {
        self.said(|link| link.call(lines, script))
    }

    /// The same for what turns something.
    pub(super) fn turn<const N: usize>(&self, lines: &[String], script: &str) -> Option<(i32, [Vec<u8>; N])> {
        self.said(|link| link.turn(lines, script))
    }

    /// A call that answers any number of fields.
    fn fields(&self, say: impl FnOnce(&mut Link) -> Result<Answer, Silence>) -> Option<(i32, Vec<Vec<u8>>)> {
        let mut link = self.0.borrow_mut();
        if link.lost.is_some() {
            return None;
        }
        let code = link.code;
        let answer = say(&mut link).and_then(|answer| {
            let fields = code.fields(&answer.body).ok_or_else(|| not_an_answer("a field that is none"))?;
            Ok((answer.status, fields))
        });
        answer.map_err(|silence| link.lose(&silence)).ok()
    }

    fn said<const N: usize>(
        &self,
        say: impl FnOnce(&mut Link) -> Result<Answer, Silence>,
    ) -> Option<(i32, [Vec<u8>; N])> {
        let (status, fields) = self.fields(say)?;
        let fields = fields.try_into();
        if fields.is_err() {
            self.0.borrow_mut().lose(&not_an_answer("another number of fields"));
        }
        fields.ok().map(|fields| (status, fields))
    }

    /// Why it is lost.
    pub(super) fn lost(&self) -> Option<String> {
        self.0.borrow().lost.as_ref().map(|(why, _)| why.clone())
    }

    /// The whole text of a file.
    pub(super) fn read(&self, path: &str) -> Result<String, Errno> {
        self.read_many(&[path]).pop().unwrap_or(Err(Errno::ENOLINK))
    }

    /// The texts of several files, in one call; fewer than asked for when the machine is lost.
    pub(super) fn read_many(&self, paths: &[&str]) -> Vec<Result<String, Errno>> {
        let (mut lines, mut script) = (Vec::new(), String::new());
        let mut refused = BTreeMap::new();
        for (number, path) in paths.iter().enumerate() {
            match reading(path) {
                Err(errno) => drop(refused.insert(number, errno)),
                Ok((function, of)) => {
                    lines.extend(assignment(&format!("pb_a{number}"), of));
                    script += &format!("{function} \"$pb_a{number}\"; ");
                }
            }
        }
        let Some((_, fields)) = self.fields(|link| link.call(&lines, &script)) else { return Vec::new() };
        let mut read = fields.chunks(2);
        let one = |(number, path): (usize, &&str)| match refused.get(&number) {
            Some(errno) => Some(Err(*errno)),
            None => read.next().map(|pair| text_of(path, &pair[0], pair.get(1).map_or(&[], |words| words))),
        };
        paths.iter().enumerate().map_while(one).collect()
    }

    /// Names in a folder.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<Entry>, Errno> {
        check(folder)?;
        let listed = self.call(&assignment("pb_a", folder), "pb_ls \"$pb_a\"");
        let (_, [names, modes, words]) = listed.ok_or(Errno::ENOLINK)?;
        if names.is_empty() && modes.is_empty() && !words.is_empty() {
            return Err(errno_of(&String::from_utf8_lossy(&words)));
        }
        let text = String::from_utf8_lossy(&modes);
        let modes: BTreeMap<&str, u32> = text.lines().filter_map(mode_of).into_map();
        let entry = |name: &[u8]| {
            let (kind, name) = name.split_first()?;
            let (folder, name) = (*kind == b'd', String::from_utf8_lossy(name).into_owned());
            // What ls does not tell of may be written as files usually may.
            let mode = modes.get(name.as_str()).copied().filter(|_| !folder);
            let mode = mode.unwrap_or(if folder { 0o755 } else { 0o644 });
            Some(Entry::new(name, folder, mode))
        };
        let mut entries: Vec<Entry> = names.split(|&byte| byte == 0).filter_map(entry).collect();
        entries.sort();
        Ok(entries)
    }

    /// Refuses a device whose queues have different values, as [`crate::coalescing::check_queues`] does.
    pub(super) fn check_queues(&self, device: &str) -> Result<(), Refusal> {
        let script = "pb_x ethtool -Q \"$pb_a\" --show-coalesce";
        let (_, [text, _]) = self.call(&assignment("pb_a", ethtool::check(device)?), script).ok_or(Errno::ENOLINK)?;
        crate::coalescing::check_alike(device, ethtool::queues(&String::from_utf8_lossy(&text)))
    }

    /// When an ordinary file was last changed, and whose it is.
    pub(super) fn last_change(&self, path: &str) -> Option<LastChange> {
        if check(path).is_err() || is_kernels(path) {
            return None;
        }
        let script = "pb_t \"$(date -r \"$pb_a\" +%s)\"; pb_t \"$(ls -ld \"$pb_a\")\"";
        let (_, [when, whose]) = self.call(&assignment("pb_a", path), script)?;
        let unix_s = String::from_utf8_lossy(&when).trim().parse().ok()?;
        let owner = String::from_utf8_lossy(&whose).split_whitespace().nth(2)?.to_owned();
        let owner = if owner.bytes().all(|byte| byte.is_ascii_digit()) { format!("uid {owner}") } else { owner };
        Some(LastChange { unix_s, owner })
    }

    /// Does an action once `before` has been done well, and reads `read_back` behind it. `None` when the machine is lost.
    pub(super) fn perform(&self, action: &Action, before: Option<Before>, read_back: Option<&str>) -> Option<Done> {
        let Before { mut lines, script } = before.unwrap_or(Before { lines: Vec::new(), script: "true".into() });
        let refused = |errno, words: &str| Done {
            refusal: Some(Refusal { errno, words: Some(words.into()) }),
            ..Done::default()
        };
        match work(action) {
            Ok((more, body)) => {
                lines.extend(more);
                let mut read = "printf '<><>' >&3".to_owned();
                if let Some(Ok((function, of))) = read_back.map(reading) {
                    lines.extend(assignment("pb_b", of));
                    read = format!("{function} \"$pb_b\"");
                }
                let script = format!(
                    "{script}\npb_k=$? pb_c=spared pb_w=; if [ $pb_k = 0 ]; then {body}; fi; pb_t \"$pb_c\"; pb_t \"$pb_w\"; {read}"
                );
                let (_, [code, words, text, why]) = self.turn(&lines, &script)?;
                let mut done = done(action, &String::from_utf8_lossy(&code), &String::from_utf8_lossy(&words));
                let of = |path| reading(path).and_then(|_| text_of(path, &text, &why));
                done.reads_back = read_back.map(of);
                Some(done)
            }
            Err(errno) => Some(refused(errno, "a shell machine cannot do that")),
        }
    }
}

/// What has to be done well before an action: texts in variables, and a command.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) lines: Vec<String>,
    pub(super) script: String,
}

fn not_an_answer(what: &str) -> Silence {
    Silence::Wire(powerband_machine::wire::WireError::NotOurs(what.into()))
}

/// A path a shell can be told of: absolute, as a word that begins with a dash is an option.
fn check(path: &str) -> Result<(), Errno> {
    match path {
        _ if path.contains('\0') => Err(Errno::EINVAL),
        _ if path.starts_with('/') => Ok(()),
        _ => Err(Errno::ENOENT),
    }
}

/// The shell's function that reads a place, and what it is told; an error for a place that cannot be read through a shell.
fn reading(path: &str) -> Result<(&'static str, &str), Errno> {
    match Readable::of(path) {
        Readable::Coalescing(place) => Ok(("pb_co", ethtool::check(place.device)?)),
        Readable::Command(_) | Readable::Perf(_) => Err(Errno::EOPNOTSUPP),
        Readable::Resolved(path) => check(path).map(|()| ("pb_l", path)),
        Readable::File(_) | Readable::Lines(_) => check(path).map(|()| ("pb_r", path)),
    }
}

/// Whether a file is the kernel's: a write is one command, and there is nothing to sync.
pub(super) fn is_kernels(path: &str) -> bool {
    ["/proc/", "/sys/"].iter().any(|root| path.starts_with(root))
}

/// A place's bytes, unpacked if they are gzip, or an error by the words of it.
fn text_of(path: &str, bytes: &[u8], words: &[u8]) -> Result<String, Errno> {
    let text = match bytes {
        // ethtool warns of devices that it can read.
        _ if !words.is_empty() && bytes.is_empty() => return Err(errno_of(&String::from_utf8_lossy(words))),
        _ => crate::unpack::text_of(bytes)?,
    };
    match Readable::of(path) {
        Readable::Coalescing(place) => ethtool::parameters(&text).read(&place),
        _ if words.is_empty() => Ok(text),
        _ => Err(errno_of(&String::from_utf8_lossy(words))),
    }
}

/// Name and mode in a line of `ls -ln` (POSIX: mode, links, owner, group, size, three words of the date, name; a device has
/// two numbers for its size).
fn mode_of(line: &str) -> Option<(&str, u32)> {
    let mut rest = line;
    let mut fields = Vec::new();
    let wanted = |fields: &[&str]| 8 + usize::from(fields.get(4).is_some_and(|size| size.ends_with(',')));
    while fields.len() < wanted(&fields) {
        rest = rest.trim_start_matches(' ');
        let end = rest.find(' ')?;
        fields.push(&rest[..end]);
        rest = &rest[end..];
    }
    let symbols = fields.first()?.as_bytes().get(1..10)?;
    let bits = symbols.iter().fold(0, |mode, &symbol| mode << 1 | u32::from(!matches!(symbol, b'-' | b'S' | b'T')));
    let special = [(2, b"sS", 0o4000), (5, b"sS", 0o2000), (8, b"tT", 0o1000)];
    let special: u32 = special.iter().filter(|(at, on, _)| on.contains(&symbols[*at])).map(|(_, _, bit)| bit).sum();
    Some((rest.strip_prefix(' ')?, bits | special))
}

/// What is to be typed for an action: texts, then a command that leaves its exit status in `pb_c` and words in `pb_w`.
pub(super) fn work(action: &Action) -> Result<(Vec<String>, String), Errno> {
    match action {
        Action::WriteFile { path, text } => {
            check(path)?;
            if text.contains('\0') {
                return Err(Errno::EINVAL);
            }
            let lines = [assignment("pb_a", path), assignment("pb_v", text)].concat();
            let sync = if is_kernels(path) { "" } else { " && { pb_s \"$pb_a\" || pb_c=1; }" };
            Ok((lines, format!("pb_put \"$pb_a\" \"$pb_v\"; pb_c=$?; [ $pb_c = 0 ]{sync}")))
        }
        Action::ReplaceFile { path, text } => {
            check(path)?;
            let lines =
                [assignment("pb_a", path), assignment("pb_b", &draft_of(path)), assignment("pb_v", text)].concat();
            let script = "rm -f -- \"$pb_b\"; cp -p -- \"$pb_a\" \"$pb_b\" 2>/dev/null; pb_put \"$pb_b\" \"$pb_v\" && { pb_s \"$pb_b\"; \
                          pb_w=$(mv -f -- \"$pb_b\" \"$pb_a\" 2>&1 </dev/null); }; pb_c=$?; [ $pb_c = 0 ] && pb_s \"$pb_a\"";
            Ok((lines, script.into()))
        }
        Action::MakeFolder { path } | Action::RemoveFolder { path } => {
            check(path)?;
            let verb = if matches!(action, Action::MakeFolder { .. }) { "mkdir" } else { "rmdir" };
            Ok((assignment("pb_a", path), format!("pb_w=$({verb} -- \"$pb_a\" 2>&1 </dev/null); pb_c=$?")))
        }
        Action::RemoveFile { path } => {
            check(path)?;
            let script = "pb_w=$(rm -- \"$pb_a\" 2>&1 </dev/null); pb_c=$?";
            Ok((assignment("pb_a", path), script.into()))
        }
        Action::MakeGroup { group, quota } => {
            let (quota_us, period_us) = crate::group::quota_and_period_us(*quota).map_err(|refusal| refusal.errno)?;
            let script = format!("pb_group \"$pb_a\" {quota_us} {period_us}; pb_c=$?");
            Ok((assignment("pb_a", check_group(group)?), script))
        }
        Action::RemoveGroup { group } => {
            Ok((assignment("pb_a", check_group(group)?), "pb_ungroup \"$pb_a\"; pb_c=$?".into()))
        }
        Action::Run { argv, .. } => Ok((words(argv)?, "pb_do \"$@\"".into())),
        Action::Coalesce { device, values } => {
            // Before ethtool 5.6 it ends with 80 when all values are there already.
            let script = "pb_do \"$@\"; if [ \"$pb_c\" = 80 ]; then pb_c=0; fi";
            Ok((words(&ethtool::words(device, values)?)?, script.into()))
        }
        _ => Err(Errno::EOPNOTSUPP),
    }
}

fn check_group(name: &str) -> Result<&str, Errno> {
    let is_one = !(name.is_empty() || name.starts_with('.') || name.contains(['/', '\n', '\0']));
    if is_one { Ok(name) } else { Err(Errno::EINVAL) }
}

/// Lines that make these words the shell's own.
pub(super) fn words(argv: &[String]) -> Result<Vec<String>, Errno> {
    if argv.is_empty() || argv.iter().any(|word| word.contains('\0')) {
        return Err(Errno::EINVAL);
    }
    let mut lines = vec!["set --".to_owned()];
    for word in argv {
        let is_short = word.len() < 200 && word.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if is_short {
            lines.push(format!("set -- \"$@\" {}", quoted(word)));
        } else {
            lines.extend(assignment("pb_v", word));
            lines.push("set -- \"$@\" \"$pb_v\"".into());
        }
    }
    Ok(lines)
}

/// What came of it, by the exit status and the words.
fn done(action: &Action, code: &str, words: &str) -> Done {
    let words = words.trim();
    let told = || Some(words.to_owned()).filter(|words| !words.is_empty());
    match (action, code) {
        (_, "0") => Done {
            words: if matches!(action, Action::Run { .. }) { Some(words.into()) } else { None },
            in_force: match action {
                Action::MakeGroup { quota, .. } => Some(crate::group::percent(*quota)),
                _ => None,
            },
            ..Done::default()
        },
        (Action::Run { argv, .. }, _) => {
            let program = argv.first().map_or("", String::as_str);
            let (errno, why) = match code {
                "late" => (Errno::ETIMEDOUT, format!("'{program}' did not end within 10 s; {words}")),
                "127" => (Errno::ENOENT, format!("'{program}' cannot be run: {words}")),
                "126" => (Errno::EACCES, format!("'{program}' cannot be run: {words}")),
                _ => (Errno::EIO, format!("'{program}': exit status {code}: {words}")),
            };
            Done { refusal: Some(Refusal { errno, words: Some(why) }), ..Done::default() }
        }
        (_, "spared") => Done {
            refusal: Some(Refusal {
                errno: Errno::ENOSPC,
                words: Some("its undo cannot be written down there".into()),
            }),
            ..Done::default()
        },
        // The errno says it all, unless it could not be known.
        _ => {
            let errno = errno_of(words);
            let is_told = matches!(action, Action::MakeGroup { .. } | Action::Coalesce { .. });
            let words = told().filter(|_| errno == Errno::EIO || is_told);
            Done { refusal: Some(Refusal { errno, words }), ..Done::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_from_any_ls() {
        for (line, read) in [
            ("-rw-r--r--    1 0        0             4096 Nov 21 20:17 a b", Some(("a b", 0o644))),
            ("drwxr-sr-t 2 0 0 40 Nov 21  2025  lead", Some((" lead", 0o3755))),
            ("crw-rw---- 1 0 6 21, 0 Nov 21 2025 sg0", Some(("sg0", 0o660))),
            ("-rwSr--r-T 1 0 0 1 Nov 1 2025 x", Some(("x", 0o5644))),
            ("total 0", None),
            ("ls: cannot access 'x'", None),
        ] {
            assert_eq!(mode_of(line), read, "{line}");
        }
    }

    #[test]
    fn what_a_shell_cannot_be_told_is_refused_before_it_hears_of_it() {
        let write = |path: &str, text: &str| Action::WriteFile { path: path.into(), text: text.into() };
        assert_eq!(work(&write("/x", "a\0b")), Err(Errno::EINVAL));
        assert_eq!(work(&write("/x\0", "a")), Err(Errno::EINVAL));
        assert_eq!(work(&write("-rf", "a")), Err(Errno::ENOENT));
        assert_eq!(work(&Action::Run { argv: vec!["a\0".into()], user: None }), Err(Errno::EINVAL));
        assert_eq!(work(&Action::RemoveGroup { group: "../x".into() }), Err(Errno::EINVAL));
        assert!(work(&write("/x", "it's")).is_ok());
        assert_eq!(reading("/x"), Ok(("pb_r", "/x")));
        assert_eq!(reading("coalesce:eth0/rx-usecs"), Ok(("pb_co", "eth0")));
        assert_eq!(reading("coalesce:-A"), Err(Errno::EINVAL));
        assert_eq!(reading("perf:msr/tsc@cpu0"), Err(Errno::EOPNOTSUPP));
    }
}
