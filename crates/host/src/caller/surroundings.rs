//! What of root's environment becomes the user's when a load runs as the user.
use std::ffi::OsString;
use std::path::Path;

use powerband_machine::User;

/// What sudo says of itself and of its caller; a load that is the caller's was called by nobody else.
const OF_SUDO: [&str; 6] = ["SUDO_COMMAND", "SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_HOME", "SUDO_TTY"];

/// The variables that change, each with its new value or none, for a load of `user` started from here.
pub(crate) fn of(user: &User) -> Vec<(String, Option<OsString>)> {
    changes(user, &crate::surroundings::variables(), &|folder| Path::new(folder).is_dir())
}

fn changes(
    user: &User,
    now: &[(String, OsString)],
    is_folder: &dyn Fn(&str) -> bool,
) -> Vec<(String, Option<OsString>)> {
    let set = |name: &str, value: &str| (name.to_owned(), Some(OsString::from(value)));
    let mut changes = vec![
        set("HOME", &user.home),
        set("USER", &user.name),
        set("LOGNAME", &user.name),
        set("SHELL", &user.shell),
        ("MAIL".to_owned(), None),
    ];
    changes.extend(OF_SUDO.map(|name| (name.to_owned(), None)));
    let home = now.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    let roots: Vec<&Path> =
        home.into_iter().chain([Path::new("/root")]).filter(|&at| at != Path::new(&user.home)).collect();
    let is_roots = |value: &OsString| roots.iter().any(|root| Path::new(value).starts_with(root));
    for (name, value) in now {
        if name.starts_with("XDG_") && name != "XDG_RUNTIME_DIR" && is_roots(value) {
            changes.push((name.clone(), None));
        }
    }
    let runtime = format!("/run/user/{}", user.uid);
    changes.push(("XDG_RUNTIME_DIR".to_owned(), is_folder(&runtime).then(|| runtime.into())));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> User {
        let (name, home, shell) = ("user".into(), "/home/user".into(), "/bin/zsh".into());
        User { uid: 1000, gid: 1000, groups: vec![1000], name, home, shell }
    }

    fn after(now: &str, runtime: bool) -> String {
        let pairs = now.split(' ').filter_map(|pair| pair.split_once('='));
        let mut left: Vec<(String, OsString)> = pairs.map(|(name, value)| (name.into(), value.into())).collect();
        for (name, value) in changes(&user(), &left.clone(), &|folder| runtime && folder == "/run/user/1000") {
            left.retain(|(known, _)| *known != name);
            left.extend(value.map(|value| (name, value)));
        }
        left.sort();
        let words = left.into_iter().map(|(name, value)| format!("{name}={}", value.into_string().unwrap()));
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nothing_of_roots_or_of_sudos_is_passed_on() {
        let now = "HOME=/root USER=root LOGNAME=root SHELL=/bin/bash MAIL=/var/mail/root PATH=/usr/sbin:/usr/bin \
                   LANG=de_DE.UTF-8 SUDO_UID=1000 SUDO_GID=1000 SUDO_USER=user SUDO_COMMAND=/usr/bin/powerband \
                   SUDO_ASKPASS=/usr/bin/ask XDG_CONFIG_HOME=/root/.config XDG_DATA_DIRS=/usr/share \
                   XDG_RUNTIME_DIR=/run/user/0";
        let wanted = "HOME=/home/user LANG=de_DE.UTF-8 LOGNAME=user PATH=/usr/sbin:/usr/bin SHELL=/bin/zsh \
                      SUDO_ASKPASS=/usr/bin/ask USER=user XDG_DATA_DIRS=/usr/share";
        assert_eq!(after(now, false), wanted);
        assert_eq!(after(now, true), format!("{wanted} XDG_RUNTIME_DIR=/run/user/1000"));
    }

    #[test]
    fn what_the_caller_kept_through_sudo_stays() {
        let left = after("HOME=/home/user XDG_CONFIG_HOME=/home/user/.config XDG_CACHE_HOME=/root/.cache", false);
        assert!(left.contains("XDG_CONFIG_HOME=/home/user/.config") && !left.contains("XDG_CACHE_HOME"), "{left}");
    }
}
