//! A setting is turned whole or not at all: refused in the middle, or killed there.
use std::fs;

use rustix::process::Signal;

use crate::desk::{Desk, root, text, until};
use crate::elsewhere::Namespace;
use crate::guarded::guardians;

/// Settings of a network namespace, each with another value than it has, the ninth with one that the kernel refuses.
const TWELVE: [(&str, &str); 12] = [
    ("net.ipv4.tcp_retries2", "9"),
    ("net.ipv4.tcp_retries1", "4"),
    ("net.ipv4.tcp_sack", "0"),
    ("net.ipv4.tcp_syn_retries", "5"),
    ("net.ipv4.tcp_fin_timeout", "30"),
    ("net.ipv4.tcp_timestamps", "0"),
    ("net.ipv4.tcp_orphan_retries", "3"),
    ("net.core.somaxconn", "777"),
    ("net.ipv4.ip_default_ttl", "500"),
    ("net.ipv4.tcp_keepalive_probes", "5"),
    ("net.ipv4.tcp_keepalive_intvl", "50"),
    ("net.ipv4.tcp_reordering", "5"),
];

#[test]
fn of_twelve_values_of_which_the_ninth_is_refused_none_is_turned() {
    if !root() {
        return;
    }
    let (desk, there) = (Desk::new(), Namespace::new("twelve"));
    let path = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
    let all = || TWELVE.map(|(name, _)| there.read(&path(name)));
    let before = all();
    let settings = TWELVE.map(|(name, value)| format!("sysctl.{name}={value}"));
    let words: Vec<&str> = std::iter::once("set").chain(settings.iter().map(String::as_str)).collect();
    let planned = there.powerband(&desk, &[&words[..], &["--dry-run"]].concat()).ended(0).out;
    let steps = planned.lines().filter(|line| !line.starts_with("note: "));
    let order: Vec<&str> = steps.filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(order, TWELVE.map(|(name, _)| format!("sysctl.{name}")), "{planned}");
    let why = there.powerband(&desk, &words).refused(2);
    for words in [
        "sysctl.net.ipv4.ip_default_ttl=500",
        "invalid argument (EINVAL)",
        "does not accept this value",
        "nothing is changed",
    ] {
        assert!(why.contains(words), "no '{words}': {why}");
    }
    assert_eq!((all(), desk.turned()), (before.clone(), 0));
    // Without it the other eleven are turned, and back by one undo.
    let rest: Vec<&str> = words.iter().copied().filter(|word| !word.contains("ttl")).collect();
    let told = there.powerband(&desk, &rest).ended(0).out;
    assert!(told.contains("applied to 11 of 11 targets"), "{told}");
    assert_eq!(desk.turned(), 11);
    there.powerband(&desk, &["undo"]).ended(0);
    assert_eq!((all(), desk.turned()), (before, 0));
}

#[test]
fn what_the_kernel_stored_before_it_refused_is_restored() {
    if !root() {
        return;
    }
    let (desk, there) = (Desk::new(), Namespace::new("parts"));
    for (knob, value, stored) in [
        // The kernel takes the first of three numbers and refuses the second.
        ("net.ipv4.tcp_rmem", "8192 0 6291456", "8192 "),
        ("net.ipv4.tcp_wmem", "8192 0 6291456", "8192 "),
        // It takes one number and answers that it took no more.
        ("net.ipv4.tcp_fin_timeout", "31 40", "31"),
        ("net.ipv4.ip_local_port_range", "2000 1000", "2000 1000"),
    ] {
        let path = format!("/proc/sys/{}", knob.replace('.', "/"));
        let before = there.read(&path);
        for verb in [&["set"][..], &["with"]] {
            let setting = format!("sysctl.{knob}={value}");
            let load: &[&str] = if verb == ["with"] { &["--", "true"] } else { &[] };
            let ran = there.powerband(&desk, &[verb, &[&setting], load].concat());
            assert!(matches!(ran.code, Some(2 | 8)), "{setting}: {:?} {} {}", ran.code, ran.out, ran.err);
            assert_eq!((there.read(&path), desk.turned()), (before.clone(), 0), "{setting}: {}", ran.err);
            let changed = ran.err.contains(&format!("the kernel had changed it to '{stored}"));
            let unchanged = ran.err.contains("nothing is changed");
            assert!(
                changed && ran.err.contains("is restored") || stored == value && unchanged,
                "{setting}: {}",
                ran.err
            );
        }
    }
}

#[test]
fn killed_between_the_eighth_and_the_ninth_of_twelve_none_stays_turned() {
    let desk = Desk::new();
    let names: Vec<String> = (1..=8).map(|number| format!("file{number}")).collect();
    names.iter().for_each(|name| fs::write(desk.beside(name), format!("{name} as found\n\n")).unwrap());
    let all = || names.iter().map(|name| text(&desk.beside(name))).collect::<Vec<_>>();
    let before = all();
    // The ninth says that it has begun and takes its time.
    let (begun, knobs) = (desk.beside("begun"), desk.beside("knobs.toml"));
    let slow = format!("[knobs.slow]\nget = \"echo 0\"\nset = \"touch {}; sleep 5 # {{value}}\"\n", begun.display());
    let others = ["tenth", "eleventh", "twelfth"]
        .map(|name| format!("[knobs.{name}]\nget = \"echo 0\"\nset = \": {{value}}\"\n"));
    fs::write(&knobs, slow + &others.concat()).unwrap();
    let mut words = vec!["set".to_owned(), "--knobs".into(), knobs.display().to_string()];
    words.extend(names.iter().map(|name| format!("{}=1", desk.knob(name))));
    words.extend(["slow", "tenth", "eleventh", "twelfth"].map(|name| format!("{name}=1")));
    let running = desk.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
    until("the ninth has begun", || begun.exists());
    assert!(all().iter().all(|text| text.starts_with('1')), "eight are turned: {:?}", all());
    running.signal(Signal::KILL);
    running.end();
    until("all eight are back", || all() == before);
    until("the guardian has ended", || guardians(&desk).is_empty());
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_simulated_kernel_that_refuses_the_ninth_is_as_before() {
    let desk = Desk::new();
    let on = |words: &[&str]| desk.run(&[&["--machine", "sim:quadcore"], words].concat());
    let all = || on(&["info", "cpu", "--json"]).ended(0).value();
    let before = all();
    // Four sites of one, then four tunables; the fifth would lie below the other threshold.
    let words = [
        "set",
        "governor=conservative",
        "conservative.sampling_rate=100000",
        "conservative.sampling_down_factor=5",
        "conservative.ignore_nice_load=1",
        "conservative.freq_step=20",
        "conservative.up_threshold=15",
        "max_freq@policy0=2133MHz",
        "max_freq@policy1=2133MHz",
        "max_freq@policy2=2133MHz",
    ];
    let planned = on(&[&words[..], &["--dry-run"]].concat()).ended(0).out;
    let steps: Vec<&str> = planned.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert_eq!(steps.len(), 12, "{planned}");
    assert!(steps[8].starts_with("conservative.up_threshold"), "{planned}");
    let why = on(&words).refused(2);
    assert!(why.contains("conservative.up_threshold=15") && why.contains("nothing is changed"), "{why}");
    assert_eq!(all(), before);
    assert!(on(&["info", "turned"]).ended(0).out.contains("nothing is changed"));
}
