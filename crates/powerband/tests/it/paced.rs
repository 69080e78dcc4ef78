//! `pace`: what it decides on a simulated machine, what its signals do, and that a killed one leaves the governor as it was.
use serde_json::Value;

use crate::desk::{Desk, Ran, machine_alone, root, split};

const SERVER: [&str; 4] = ["--machine", "sim:x3650", "pace", "cpuspeed"];

/// What is decided, a line each: policy, idle %, kHz.
fn decisions(ran: &Ran) -> Vec<(String, u64, u64)> {
    let one = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!((value["version"].as_u64(), value["kind"].as_str()), (Some(1), Some("pace")));
        let number = |name: &str| value[name].as_u64().unwrap();
        (value["policy"].as_str().unwrap().to_owned(), number("idle_percent"), number("khz"))
    };
    ran.out.lines().map(one).collect()
}

#[test]
fn idle_cpus_go_down_step_by_step_and_a_busy_one_stays_up() {
    let desk = Desk::new();
    let words = [&["--json"], &SERVER[..], &["--for", "13s", "--load", "counter"]].concat();
    let decided = decisions(&desk.run(&words).ended(0));
    let of = |policy: &str| {
        let own = decided.iter().filter(|(name, ..)| name == policy);
        own.map(|(_, idle, khz)| (*idle, khz / 1_000)).collect::<Vec<_>>()
    };
    assert_eq!(of("policy7").iter().map(|it| it.1).collect::<Vec<_>>(), [2667, 2333, 2000, 2000, 2000, 2000]);
    let busy = (0..8).filter(|cpu| of(&format!("policy{cpu}")).iter().all(|(idle, mhz)| *idle < 10 && *mhz == 3000));
    assert_eq!(busy.count(), 1, "{decided:?}");
    let told = desk.run(&[&SERVER[..], &["--for", "5s", "-i", "10", "-M", "2700000", "-v"]].concat()).ended(0).out;
    for line in [
        "governor userspace on 8 policies, a look every 1 s",
        "1.01 s  policy0 (cpus 0): 100 % idle, one step down: 2333 MHz",
        "4.03 s  policy0 (cpus 0): 100 % idle, stay: 2000 MHz",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert!(told.ends_with("32 looks, 16 changed the frequency; governor and frequencies are restored\n"), "{told}");
}

#[test]
fn the_services_configuration_is_read_and_options_override_it() {
    let desk = Desk::new();
    let file = desk.beside("cpuspeed");
    std::fs::write(&file, "MAX_SPEED=2667000\nMIN_SPEED=2333000\nGOVERNOR=ondemand\n").unwrap();
    let config = file.display().to_string();
    let words = [&["--json"], &SERVER[..], &["--for", "7s", "--config", &config]].concat();
    let ran = desk.run(&words).ended(0);
    assert_eq!(decisions(&ran).iter().map(|it| it.2).max(), Some(2_333_000), "it began at 2667 MHz and went down");
    assert!(ran.err.contains("names the governor ondemand; pace sets userspace"), "{}", ran.err);
    let ran = desk.run(&[&words[..], &["-m", "2667000"]].concat()).ended(0);
    assert_eq!(decisions(&ran).iter().map(|it| it.2).min(), Some(2_667_000));
    std::fs::write(&file, "UP_THRESHOLD=lots\n").unwrap();
    let error = desk.run(&words).ended(2).err;
    assert!(error.contains("line 1: UP_THRESHOLD is 'lots'; write a percentage, 0 to 100"), "{error}");
}

/// Runs a script among the files of a simulated machine; `is FILE VALUE` waits until a file of cpu0's policy reads so.
fn among_files(script: &str) -> Option<Ran> {
    let helpers = r#"
cd /sys/devices/system/cpu/cpu0/cpufreq
is() {
    tries=0
    until [ "$(cat $1)" = "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 1800 ] || { echo "$1 is $(cat $1) and not $2"; exit 9; }
        sleep 0.05
    done
}
"#;
    let _alone = machine_alone();
    let program = format!("P={}", env!("CARGO_BIN_EXE_powerband"));
    let script = format!("{helpers}{script}");
    root().then(|| Desk::new().run(&split(&format!("sim enter quadcore -- env `{program}` sh -c `{script}`"))))
}

#[test]
fn a_killed_one_leaves_the_governor_and_the_frequencies_as_they_were() {
    let Some(ran) = among_files(
        r#"
before=$(cat ../../cpu*/cpufreq/scaling_governor)
"$P" pace cpuspeed -i 1 &
is scaling_governor userspace
is scaling_setspeed $(cat cpuinfo_min_freq)
kill -KILL $!
is scaling_governor "$(echo $before | cut -d' ' -f1)"
tries=0
until [ "$(cat ../../cpu*/cpufreq/scaling_governor)" = "$before" ] || [ $tries = 3600 ]; do tries=$((tries + 1)); sleep 0.05; done
[ "$(cat ../../cpu*/cpufreq/scaling_governor)" = "$before" ] && echo as before
"$P" undo --list
"#,
    ) else {
        return;
    };
    let ran = ran.ended(0);
    assert!(ran.out.contains("as before\n"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("nothing"), "nothing is left to undo: {}", ran.out);
}

#[test]
fn its_signals_pin_the_ends_and_let_go_and_sigterm_restores() {
    let Some(ran) = among_files(
        r#"
before=$(cat scaling_governor)
"$P" pace cpuspeed -i 600 >/dev/null &
is scaling_setspeed $(cat cpuinfo_max_freq)
kill -USR2 $!
is scaling_setspeed $(cat cpuinfo_min_freq)
kill -USR1 $!
is scaling_setspeed $(cat cpuinfo_max_freq)
kill -HUP $!
sleep 0.5
is scaling_governor userspace
kill -TERM $!
wait $!
echo ended with $?
[ "$(cat scaling_governor)" = "$before" ] && echo as before
"#,
    ) else {
        return;
    };
    let ran = ran.ended(0);
    assert!(ran.out.contains("ended with 130\nas before\n"), "{}{}", ran.out, ran.err);
}
