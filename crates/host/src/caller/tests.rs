//! Who the caller is, and what is his.
use std::path::Path;

use super::*;

#[test]
fn only_root_has_a_caller_and_root_calls_nobody() {
    let named = |root, set: &str| {
        let pairs: Vec<_> = set.split(' ').filter_map(|pair| pair.split_once('=')).collect();
        let value = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|it| it.1.to_owned());
        Caller::named(root, &value)
    };
    let ada = "SUDO_UID=1000 SUDO_GID=100";
    assert_eq!([true, false].map(|root| named(root, ada)), [Some(Caller { uid: 1000, gid: 100 }), None]);
    let others = "SUDO_UID=0 SUDO_GID=0|SUDO_UID=1000|SUDO_UID=ada SUDO_GID=100|SUDO_UID=4294967295 SUDO_GID=100|";
    for set in others.split('|') {
        assert_eq!(named(true, set), None, "{set}");
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
        let at = Path::new(path);
        let found = (ada.owns(at, &owner), ada.commands(at, &owner));
        assert_eq!(found, (owns, commands), "{path}");
    }
}

#[test]
fn only_what_nobody_else_may_write_is_trusted() {
    for (uid, gid, mode, words) in [
        (0, 0, 0o40700, None),
        (0, 0, 0o40775, None),
        (0, 50, 0o40775, Some("others")),
        (0, 0, 0o41777, None),
        (0, 0, 0o40777, Some("others")),
        (0, 0, 0o101_666, Some("others")),
        (1000, 0, 0o40700, Some("1000")),
    ] {
        let why = distrusted(uid, gid, mode);
        assert!(why.is_some() == words.is_some(), "{mode:o}");
        assert!(words.is_none_or(|words| why.unwrap().contains(words)), "{mode:o}");
    }
}
