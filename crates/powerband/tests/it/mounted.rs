//! A simulated machine as a file system, in a mount namespace of its own: cpupower and cpufrequtils look at it and turn it,
//! and powerband sees what they did.
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::desk::{Desk, Ran, root};

/// Every script has a mounted machine at `$D`, bound over the CPUs of this one, and its server's pid in `$S`.
const BEGIN: &str = r#"
set -e
"$P" sim mount $N "$D" $W >"$D.out" 2>&1 & S=$!
trap 'kill -KILL $S 2>/dev/null || true' EXIT
n=0; until [ -e "$D/cpu0" ]; do n=$((n+1)); [ $n -lt 1800 ] || { cat "$D.out"; exit 9; }; sleep 0.1; done
mount --bind "$D" /sys/devices/system/cpu
"#;

const END: &str = r#"
umount /sys/devices/system/cpu
kill -TERM $S
wait $S
[ -z "$(ls -A "$D")" ]
"#;

/// Runs a script in a mount namespace that dies with it.
pub(crate) fn script(machine: &str, with: &str, body: &str) -> Option<Ran> {
    if !root() {
        return None;
    }
    let desk = Desk::new();
    let folder = desk.beside("machine");
    fs::create_dir(&folder).unwrap();
    let mut command = Command::new("unshare");
    desk.furnish(&mut command);
    command.args(["--mount", "--propagation", "private", "sh", "-c", &format!("{BEGIN}{body}{END}")]);
    command
        .env("LC_ALL", "C")
        .env("N", machine)
        .env("P", env!("CARGO_BIN_EXE_powerband"))
        .env("D", &folder)
        .env("W", with);
    Some(Ran::of(&command.output().unwrap()))
}

#[track_caller]
pub(crate) fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
}

#[test]
fn cpupower_looks_at_it_and_turns_it() {
    let body = r#"
cpupower -c all frequency-info
cpupower -c all frequency-set -g userspace
cpupower -c 1 frequency-set -f 1867MHz
cpupower -c 1 frequency-info -p
"$P" get governor freq@policy1
"$P" info cpu
"#;
    let Some(ran) = script("quadcore", "", body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "analyzing CPU 3:",
            "driver: acpi-cpufreq",
            "hardware limits: 1.60 GHz - 2.40 GHz",
            "available frequency steps:  2.40 GHz, 2.13 GHz, 1.87 GHz, 1.60 GHz",
            "available cpufreq governors: conservative ondemand userspace powersave performance",
            "Setting cpu: 3",
            "The governor \"userspace\" may decide",
            "cpufreq.governor@policy0 (cpus 0) = userspace\n",
            "cpufreq.governor@policy3 (cpus 3) = userspace\n",
            "cpufreq.freq@policy1 (cpus 1) = 1867 MHz\n",
            "CPUs online: 0-3\n",
        ],
    );
}

#[test]
fn cpupower_shows_its_idle_states_and_disables_one() {
    let body = r#"
cpupower -c 1 idle-info
cpupower -c 1 idle-set -d 8
cpupower -c 1 idle-info | grep DISABLED
"$P" get cpuidle.disable@cpu1/C10 cpuidle.disable@cpu2/C10
sleep 1
echo slept $(cat cpu3/cpuidle/state8/usage 2>/dev/null || cat /sys/devices/system/cpu/cpu3/cpuidle/state8/usage)
echo 0 >/sys/devices/system/cpu/cpu1/online
ls /sys/devices/system/cpu/cpu1
echo 1 >/sys/devices/system/cpu/cpu1/online
"$P" get cpuidle.disable@cpu1/C10
"#;
    let Some(ran) = script("laptop", "", body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "CPUidle driver: intel_idle\n",
            "CPUidle governor: menu\n",
            "Number of idle states: 9\n",
            "Available idle states: POLL C1 C1E C3 C6 C7s C8 C9 C10\n",
            "C10 (DISABLED)",
            "cpu1/C10 = 1\n",
            "cpu2/C10 = 0\n",
            "cpufreq\nnode0\nonline\npower\nsubsystem\nuevent\n",
            "cpu1/C10 = 0\n",
        ],
    );
    let states: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("Latency: ")).collect();
    assert_eq!(states[..9].last(), Some(&"Latency: 890"), "{}", ran.out);
    let slept = ran.out.lines().find_map(|line| line.strip_prefix("slept ")).unwrap();
    assert!(slept.parse::<u32>().unwrap() > 0, "it sleeps as the wall's clock goes on");
}

#[test]
fn old_kernels_show_cpupower_what_they_know_of_idle_states() {
    let Some(ran) = script("quadcore", "", "cpupower -c 2 idle-info\n") else { return };
    holds(
        &ran.ended(0).out,
        &["Available idle states: POLL C1 C1E C3 C6\n", "Flags/Description: MWAIT 0x20\n", "Latency: 200\n"],
    );
}

#[test]
fn cpufrequtils_looks_at_it_and_turns_it() {
    let body = r#"
cpufreq-set -c 1 -g userspace
cpufreq-set -c 1 -f 1867MHz
cpufreq-info -c 1
cpufreq-info -c 1 -p
if cpufreq-set -c 0 -f 1867MHz; then "$P" get governor; fi
"$P" get governor
"#;
    let Some(ran) = script("quadcore", "", body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "driver: acpi-cpufreq",
            "hardware limits: 1.60 GHz - 2.40 GHz",
            "current CPU frequency is 1.87 GHz",
            "1600000 2400000 userspace\n",
            "(cpus 1) = userspace\n",
        ],
    );
}

/// What `why --watch` printed, a JSON value a line.
fn watched(out: &str) -> Vec<Value> {
    out.lines()
        .filter(|line| line.starts_with("{\"version\""))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn powerband_sees_what_others_change_there_and_from_which_process() {
    let body = r#"
"$P" why --watch governor freq --json >"$D.watch" 2>"$D.says" & W=$!
n=0; until grep -q watching "$D.says"; do n=$((n+1)); [ $n -lt 1800 ] || { cat "$D.says"; exit 9; }; sleep 0.1; done
cpupower -c all frequency-set -g userspace & C=$!; wait $C; echo "cpupower was $C"
n=0; until grep -q policy3 "$D.watch"; do n=$((n+1)); [ $n -lt 1800 ] || { cat "$D.says"; exit 9; }; sleep 0.1; done
cpufreq-set -c 1 -f 1867MHz & C=$!; wait $C; echo "cpufreq-set was $C"
n=0; until grep -q 1867000 "$D.watch"; do n=$((n+1)); [ $n -lt 1800 ] || { cat "$D.says"; exit 9; }; sleep 0.1; done
kill -TERM $W; wait $W || echo "watching ended $?"
cat "$D.watch"
"#;
    let Some(ran) = script("quadcore", "", body) else { return };
    let ran = ran.ended(0);
    holds(&ran.out, &["watching ended 130\n"]);
    let pid = |program: &str| -> u32 {
        let line = ran.out.lines().find_map(|line| line.strip_prefix(&format!("{program} was ")));
        line.unwrap().parse().unwrap()
    };
    let lines = watched(&ran.out);
    let by = |knob: &str, site: &str| {
        let found =
            lines.iter().find(|line| line["knob"] == knob && line["site"] == site && line["old"] != line["new"]);
        found.unwrap_or_else(|| panic!("{knob}@{site}: {}", ran.out)).clone()
    };
    for policy in ["policy0", "policy1", "policy2", "policy3"] {
        let change = by("cpufreq.governor", policy);
        assert_eq!(
            (&change["new"], &change["by"][0]["pid"]),
            (&"userspace".into(), &pid("cpupower").into()),
            "{change}"
        );
    }
    let last = lines.iter().rfind(|line| line["knob"] == "cpufreq.freq" && line["new"] == "1867000").unwrap();
    assert_eq!(last["by"][0]["pid"], pid("cpufreq-set"), "{last}");
}

#[test]
fn a_write_by_the_other_name_of_a_policy_and_into_a_folder_made_anew_is_seen_too() {
    let body = r#"
cd /sys/devices/system/cpu
"$P" why --watch --json >"$D.watch" 2>"$D.says" & W=$!
wait_for() { n=0; until grep -q "$1" "$2"; do n=$((n+1)); [ $n -lt 1800 ] || { cat "$D.says" "$D.watch"; exit 9; }; sleep 0.1; done; }
wait_for watching "$D.says"
sh -c 'for c in 0 1 2 3; do echo ondemand >cpu$c/cpufreq/scaling_governor; done; echo its pid was $$'
wait_for up_threshold "$D.watch"
sh -c 'echo 71 >cpufreq/ondemand/up_threshold; echo its pid was $$'
wait_for '"new":"71"' "$D.watch"
kill -TERM $W; wait $W || true
cat "$D.watch"; cd /
"#;
    let Some(ran) = script("pc", "", body) else { return };
    let ran = ran.ended(0);
    let pids: Vec<u32> = ran.out.lines().filter_map(|line| line.strip_prefix("its pid was ")?.parse().ok()).collect();
    let lines = watched(&ran.out);
    let by =
        |knob: &str, new: &str| &lines.iter().find(|line| line["knob"] == knob && line["new"] == new).unwrap()["by"][0];
    let (governor, tunable) = (by("cpufreq.governor", "ondemand"), by("ondemand.up_threshold", "71"));
    assert_eq!((&governor["pid"], &tunable["pid"]), (&pids[0].into(), &pids[1].into()), "{}", ran.out);
    assert!(governor["inferred"].is_null() && tunable["inferred"].is_null(), "{}", ran.out);
}

#[test]
fn its_files_refuse_as_the_kernels_do_and_its_clock_is_the_walls() {
    let body = r#"
cd /sys/devices/system/cpu
p=cpufreq/policy0
if echo nonsense | tee $p/scaling_governor; then exit 10; fi
if echo 1 >kernel_max; then exit 11; fi
if cat $p/stats/reset; then exit 12; fi
if touch $p/new; then exit 13; fi
if cat $p/ondemand/up_threshold; then exit 14; fi
for c in 0 1 2 3; do echo powersave >cpufreq/policy$c/scaling_governor; done; cat $p/scaling_governor
a=$(awk '{ s += $2 } END { print s }' $p/stats/time_in_state); sleep 1
b=$(awk '{ s += $2 } END { print s }' $p/stats/time_in_state)
echo passed $((b - a))
echo ondemand >$p/scaling_governor; ls cpufreq/ondemand; echo 70 >cpufreq/ondemand/up_threshold
cat cpufreq/ondemand/up_threshold
echo busy $(cat cpufreq/policy*/stats/time_in_state | grep -c "^3000000 ")
cd /
"#;
    let Some(ran) = script("pc", "--load counter", body) else { return };
    let ran = ran.ended(0);
    holds(&ran.out, &["powersave\n", "sampling_rate\n", "\n70\n", "busy 4\n"]);
    holds(&ran.err, &["Invalid argument", "Permission denied"]);
    let passed = ran.out.lines().find_map(|line| line.strip_prefix("passed ")).unwrap();
    assert!(passed.parse::<u32>().unwrap() >= 100, "a second is 100 units of 10 ms: {passed}");
}

#[test]
fn a_killed_server_leaves_what_umount_takes_away() {
    let body = r#"
kill -KILL $S; wait $S || true
if ls "$D"; then exit 20; fi
"$P" sim mount $N "$D" || echo ended $?
umount -l /sys/devices/system/cpu; umount -l "$D"; [ -z "$(ls -A "$D")" ]
"$P" sim mount $N "$D" >/dev/null 2>&1 & S=$!
n=0; until [ -e "$D/cpu0" ]; do n=$((n+1)); [ $n -lt 1800 ]; sleep 0.1; done
mount --bind "$D" /sys/devices/system/cpu
"#;
    let Some(ran) = script("quadcore", "", body) else { return };
    let ran = ran.ended(0);
    holds(&ran.out, &["ended 2\n"]);
    holds(&ran.err, &["a server that was killed has left it; `umount -l "]);
}

#[test]
fn folders_that_cannot_be_mounted_on_are_told() {
    let desk = Desk::new();
    let none = desk.beside("none").display().to_string();
    assert!(desk.run(&["sim", "mount", "pc", &none]).refused(2).contains("make the folder first"));
    fs::write(&none, "").unwrap();
    assert!(desk.run(&["sim", "mount", "pc", &none]).refused(2).contains("ENOTDIR"));
    desk.run(&["sim", "mount", "nothing", &none]).refused(2);
}
