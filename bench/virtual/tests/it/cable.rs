//! Two guests at the ends of one cable.
use powerband_bench_virtual::{Cable, Guest, Options};

use crate::desk::{desk, had};

#[test]
fn two_guests_reach_one_another_over_their_cable() {
    let Some(mut desk) = desk() else { return };
    let mut options = Options::machine("quadcore").unwrap();
    options.cable = Some(Cable::Into(desk.cable()));
    let Some(mut other) = had(Guest::boot(&options)) else { return };
    desk.sh("ping -c 3 -W 60 10.0.0.2");
    let ran = other.run(&["ping", "-c", "3", "-W", "60", "10.0.0.1"]).unwrap();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let driver = other.run(&["readlink", "/sys/class/net/eth0/device/driver"]).unwrap();
    assert!(driver.text().trim().ends_with("/e1000e"), "{}", driver.text());
}
