//! Coalescing of a real device: a tap in a network namespace of its own, which this test runs itself in anew.
use std::process::Command;

use super::*;

/// Set where the test has run itself in a namespace.
const INSIDE: &str = "POWERBAND_TEST_NAMESPACE";

/// Runs one of these tests anew in a namespace with a tap device `t0`, as root; answers whether this is there.
fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let script = "ip tuntap add dev t0 mode tap && exec \"$@\"";
    let own = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["--net", "sh", "-c", script, "sh"])
        .arg(own)
        .args(["--exact", &format!("coalescing::tests::{test}"), "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    false
}

fn only(name: &str, value: u32) -> Coalescing {
    Coalescing([(name.to_owned(), value)].into())
}

#[test]
fn netlink_and_the_ioctl_tell_the_same_of_a_device() {
    if !inside("netlink_and_the_ioctl_tell_the_same_of_a_device") {
        return;
    }
    let family = Family::find(FAMILY).unwrap();
    for value in [0, 7, 64] {
        set_by_ioctl("t0", &only("rx-frames", value)).unwrap();
        let by_netlink = get_by_netlink(&family, "t0").unwrap();
        assert_eq!(by_netlink, only("rx-frames", value));
        assert_eq!(get_by_ioctl("t0").unwrap().get("rx-frames"), Some(value));
        set_by_netlink(&family, "t0", &only("rx-frames", value + 1)).unwrap();
        assert_eq!(get_by_ioctl("t0").unwrap().get("rx-frames"), Some((value + 1).min(64)));
    }
}

#[test]
fn queues_that_were_set_apart_are_noticed() {
    let place = |name: &str| Parameter::named(name).and_then(place_of).unwrap();
    let queue = |values: &[(&str, u32)]| {
        let mut words = Words::default();
        values.iter().for_each(|(name, value)| words[place(name)] = *value);
        words
    };
    let differing = |queues: &[Words]| differing_queue(queues.iter().map(held));
    let even = queue(&[("rx-usecs", 50), ("tx-usecs", 50)]);
    assert_eq!(differing(&[]), None);
    assert_eq!(differing(&[even; 3]), None);
    assert_eq!(differing(&[even, even, queue(&[("rx-usecs", 50), ("tx-usecs", 20)])]), Some(2));
    // The driver moves them itself.
    let adapts =
        |usecs, other| queue(&[("adaptive-rx", 1), ("rx-usecs", usecs), ("rx-frames", usecs), ("tx-usecs", other)]);
    assert_eq!(differing(&[adapts(8, 50), adapts(126, 50)]), None);
    assert_eq!(differing(&[adapts(8, 50), adapts(8, 51)]), Some(1));
    assert_eq!(differing(&[adapts(8, 50), even]), Some(1));
}

#[test]
fn a_driver_without_values_of_queues_is_set_as_a_whole() {
    if !inside("a_driver_without_values_of_queues_is_set_as_a_whole") {
        return;
    }
    assert_eq!(of_queue("t0", 0), Err(Errno::EOPNOTSUPP));
    assert!(check_queues("t0").is_ok() && check_queues("none0").is_ok());
}

#[test]
fn what_a_driver_lacks_is_refused_in_the_kernels_words() {
    if !inside("what_a_driver_lacks_is_refused_in_the_kernels_words") {
        return;
    }
    let refusal = set("t0", &only("tx-usecs", 5)).unwrap_err();
    assert_eq!(refusal.errno, Errno::EINVAL);
    assert_eq!(refusal.words.as_deref(), Some("cannot modify an unsupported parameter: tx-usecs"));
    assert_eq!(set_by_ioctl("t0", &only("tx-usecs", 5)), Err(Errno::EOPNOTSUPP));
    assert_eq!(set_by_ioctl("t0", &only("cqe-mode-rx", 1)), Err(Errno::EOPNOTSUPP));
    assert_eq!(get("lo"), Err(Errno::EOPNOTSUPP));
    assert_eq!(get("none0"), Err(Errno::ENODEV));
    assert_eq!(get("a-name-too-long-for-a-device").is_err(), get_by_ioctl("a-name-too-long-for-a-device").is_err());
}
