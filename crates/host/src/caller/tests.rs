//! Who the caller is, and what is his.
use std::path::Path;

use super::*;

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
