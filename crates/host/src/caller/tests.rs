//! Who the caller is, what is his, and what the system knows of him.
use std::path::Path;

use powerband_machine::Errno;
use powerband_record::Hint;

use super::lookup::{System, user};
use super::*;
use crate::actions::Refusal;

#[test]
fn only_root_has_a_caller_and_root_calls_nobody() {
    let with = |set: &'static [(&str, &str)]| {
        move |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let ada = with(&[("SUDO_UID", "1000"), ("SUDO_GID", "100")]);
    assert_eq!(Caller::named(true, &ada), Some(Caller { uid: 1000, gid: 100 }));
    assert_eq!(Caller::named(false, &ada), None);
    for set in [
        &[("SUDO_UID", "0"), ("SUDO_GID", "0")][..],
        &[("SUDO_UID", "1000")],
        &[("SUDO_UID", "ada"), ("SUDO_GID", "100")],
        &[("SUDO_UID", "4294967295"), ("SUDO_GID", "100")],
        &[],
    ] {
        assert_eq!(
            Caller::named(true, &|name| set.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).into())),
            None
        );
    }
}

#[test]
fn what_is_his_is_told_by_the_nearest_owner() {
    let owner = |path: &Path| match path.to_str().unwrap() {
        "/" | "/home" | "/home/ada/roots" | "/var" => Some(0),
        "/home/ada" | "/home/ada/results" => Some(1000),
        _ => None,
    };
    let ada = Caller { uid: 1000, gid: 1000 };
    for (path, owns, commands) in [
        ("/home/ada/results/new/x.sqlite", true, true),
        ("/home/ada/x", true, true),
        ("/home/ada/roots", false, true),
        ("/home/ada/roots/x", false, true),
        ("/var/lib/powerband", false, false),
        ("/home/x", false, false),
    ] {
        let path = Path::new(path);
        assert_eq!((ada.owns(path, &owner), ada.commands(path, &owner)), (owns, commands), "{}", path.display());
    }
}

#[test]
fn only_what_nobody_else_may_write_is_trusted() {
    assert_eq!(distrusted(0, 0, 0o40700), None);
    assert_eq!(distrusted(0, 0, 0o40775), None);
    assert!(distrusted(0, 50, 0o40775).unwrap().contains("others"));
    assert_eq!(distrusted(0, 0, 0o41777), None);
    assert!(distrusted(0, 0, 0o40777).unwrap().contains("others"));
    assert!(distrusted(0, 0, 0o101_666).unwrap().contains("others"));
    assert!(distrusted(1000, 0, 0o40700).unwrap().contains("1000"));
}

/// A system whose programs answer so, or are missing.
struct Told {
    getent: Result<&'static str, Errno>,
    id: Result<&'static str, Errno>,
}

impl System for Told {
    fn ask(&self, argv: &[&str]) -> Result<String, Refusal> {
        let answer = match argv {
            ["getent", "passwd", "1000"] => self.getent,
            ["id", "-G", "--", "ada"] => self.id,
            other => panic!("{other:?}"),
        };
        answer.map(str::to_owned).map_err(Refusal::from)
    }

    fn read(&self, path: &str) -> Result<String, Errno> {
        match path {
            "/etc/passwd" => Ok("root:x:0:0::/root:/bin/bash\nada:x:1000:1000:Ada,,,:/home/ada:\n".into()),
            "/etc/group" => {
                Ok("root:x:0:\nada:x:1000:ada\naudio:x:29:eve,ada\nvideo:x:44:adam\nsudo:x:27:ada\n".into())
            }
            _ => Err(Errno::ENOENT),
        }
    }
}

#[test]
fn programs_are_asked_first_and_files_read_where_they_are_missing() {
    let asked = Told { getent: Ok("ada:x:1000:1000::/net/ada:/bin/zsh"), id: Ok("1000 27 4711") };
    let ada = user(&asked, 1000, Some(100)).unwrap();
    assert_eq!((ada.uid, ada.gid, &ada.groups[..]), (1000, 100, &[1000, 27, 4711][..]));
    assert_eq!((&*ada.name, &*ada.home, &*ada.shell), ("ada", "/net/ada", "/bin/zsh"));
    let read = Told { getent: Err(Errno::ENOENT), id: Err(Errno::ENOENT) };
    let ada = user(&read, 1000, Some(1000)).unwrap();
    assert_eq!((&ada.groups[..], &*ada.home, &*ada.shell), (&[1000, 29, 27][..], "/home/ada", "/bin/sh"));
}

#[test]
fn one_the_system_does_not_know_is_refused() {
    let gone = Told { getent: Err(Errno::EIO), id: Err(Errno::EIO) };
    let why = user(&gone, 1000, Some(1000)).unwrap_err();
    assert_eq!(why, CallerError::Unknown { uid: 1000 });
    assert_eq!(why.hint(), Some(Hint::LoadAsRoot));
    for broken in [
        Told { getent: Err(Errno::ETIMEDOUT), id: Ok("1000") },
        Told { getent: Ok("ada:x:1000:1000::/home/ada:/bin/sh"), id: Ok("id: cannot find name for group 4") },
        Told { getent: Ok("ada:x:1000:1000::/home/ada:/bin/sh"), id: Err(Errno::EIO) },
    ] {
        let why = user(&broken, 1000, Some(1000)).unwrap_err();
        assert!(matches!(why, CallerError::Unanswered { .. }) && why.hint() == Some(Hint::AsRoot), "{why}");
    }
}
