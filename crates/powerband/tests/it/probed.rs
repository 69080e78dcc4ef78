//! Probing what network drivers make of values: real tap devices, modelled cards; and nothing stays turned.
use std::process::Stdio;

use crate::desk::{Desk, until};
use crate::elsewhere::Namespace;

/// A namespace with so many tap devices, each with 5 as its rx-frames.
fn with_taps(name: &str, count: usize, desk: &Desk) -> Namespace {
    let there = Namespace::new(name);
    for number in 0..count {
        there.run("ip", &["tuntap", "add", "dev", &format!("t{number}"), "mode", "tap"]);
    }
    there.powerband(desk, &["set", "rx-frames=5"]).ended(0);
    there
}

fn rx_frames(there: &Namespace, desk: &Desk) -> Vec<String> {
    let value = there.powerband(desk, &["get", "rx-frames", "--json"]).ended(0).value();
    let readings = value["readings"].as_array().unwrap().clone();
    readings.iter().map(|it| it["reading"]["value"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_real_drivers_range_is_found_and_its_value_is_back() {
    let Some(desk) = Desk::as_root() else { return };
    let there = with_taps("probe", 1, &desk);
    let told = there.powerband(&desk, &["info", "net", "--probe"]).ended(0).out;
    assert!(told.contains("t0: rx-frames takes 0 to 64, in steps of 1; more becomes 64"), "{told}");
    assert!(told.contains("everything was restored") && told.contains("rx-frames 5"), "{told}");
    assert_eq!((rx_frames(&there, &desk), desk.turned()), (vec!["5".into()], 1));
    let found = there.powerband(&desk, &["info", "net", "--probe", "t0", "--json"]).ended(0).value();
    let parameter = &found["net"]["probed"][0]["parameters"][0];
    assert_eq!((&parameter["clamped_to"], &parameter["step"], &parameter["value"]), (&64.into(), &1.into(), &5.into()));
    let why = there.powerband(&desk, &["info", "net", "--probe", "lo"]).refused(4);
    assert!(why.contains("driver of lo"), "{why}");
    let why = there.powerband(&desk, &["info", "cpu", "--probe"]).refused(2);
    assert!(why.contains("write `powerband info net --probe`"), "{why}");
}

#[test]
fn a_modelled_drivers_holes_are_found() {
    let desk = Desk::new();
    let on = |words: &[&str]| desk.run(&[&["--machine", "sim:pc"], words].concat());
    let told = on(&["info", "net", "--probe"]).ended(0).out.replace("\n        ", " ");
    // 0, 1, 3 and 4 are modes of the driver, and it takes no other number below 10 nor above 10000.
    assert!(told.contains("eth0: rx-usecs takes 0 to 1, 3 to 4, 10 to 10000"), "{told}");
    assert!(told.contains("refused 2, "), "{told}");
    assert!(on(&["get", "rx-usecs"]).ended(0).out.contains("nic.rx-usecs@eth0 = 3"));
    assert!(on(&["info", "turned"]).ended(0).out.contains("nothing is changed"));
}

#[test]
fn killed_while_it_probes_everything_is_back() {
    let Some(desk) = Desk::as_root() else { return };
    let there = with_taps("probing", 12, &desk);
    let before = rx_frames(&there, &desk);
    let mut caught = 0;
    for round in 0..6 {
        let mut command = there.command(&desk, &["info", "net", "--probe"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // `ip` has become powerband.
        until("it has turned something, or is over", || {
            rx_frames(&there, &desk) != before || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
        caught += usize::from(rx_frames(&there, &desk) != before || desk.turned() != 1);
        until(&format!("everything is back, round {round}"), || rx_frames(&there, &desk) == before);
        until("only what was set is turned", || desk.turned() == 12);
    }
    assert!(caught > 0, "no round met it probing");
}
