//! What the system knows of a user, by its programs and by its files.
use super::*;

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
