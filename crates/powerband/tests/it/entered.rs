//! Programs among the files of a simulated machine (`sim enter`): they report what powerband reports of it, and set it.
use std::fs;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::desk::{Desk, Ran, root, split, until};
use crate::driven::has;
use crate::mounted::holds;

/// Runs a command that sees a simulated machine's CPUs.
fn entered(machine: &str, command: &[&str]) -> Option<Ran> {
    root().then(|| Desk::new().run(&[&["sim", "enter", machine, "--"], command].concat()))
}

/// CPUs, threads of a core, cores of a package, packages and memory nodes of the built-in machines.
const TOPOLOGIES: [(&str, [usize; 5]); 7] = [
    ("amd-server", [16, 2, 8, 1, 1]),
    ("laptop", [8, 2, 4, 1, 1]),
    ("server", [32, 2, 8, 2, 2]),
    ("x3650", [8, 1, 4, 2, 1]),
    ("smt", [8, 2, 2, 2, 2]),
    ("pc", [4, 1, 4, 1, 1]),
    ("omap3530", [1, 1, 1, 1, 0]),
];

#[test]
fn lscpu_counts_the_simulated_machines_threads_cores_and_sockets() {
    for (machine, [cpus, threads, cores, packages, nodes]) in TOPOLOGIES {
        // Without /sys/devices/system/cpu/possible, which came with 2.6.24, lscpu gives up.
        if machine == "x3650" {
            continue;
        }
        let Some(ran) = entered(machine, &["env", "LC_ALL=C", "lscpu"]) else { return };
        let ran = ran.ended(0);
        let value = |name: &str| {
            let line = ran.out.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{name}:")));
            line.map(|rest| rest.trim().to_owned()).unwrap_or_default()
        };
        let wanted = [cpus, threads, cores, packages].map(|number| number.to_string());
        let names = ["CPU(s)", "Thread(s) per core", "Core(s) per socket", "Socket(s)"];
        // On a CPU of ARM lscpu has no sockets, as only the firmware's tables name them.
        let shown = if machine == "omap3530" { 1 } else { 4 };
        assert_eq!(names.map(value)[..shown], wanted[..shown], "{machine}: {}", ran.out);
        assert_eq!(value("NUMA node(s)"), if nodes == 0 { String::new() } else { nodes.to_string() }, "{machine}");
    }
}

#[test]
fn lscpu_shows_the_simulated_machines_caches() {
    for (machine, l2, l3) in [
        ("laptop", "1 MiB (4 instances)", "6 MiB (1 instance)"),
        ("server", "16 MiB (16 instances)", "22 MiB (2 instances)"),
        ("amd-server", "8 MiB (8 instances)", "32 MiB (1 instance)"),
    ] {
        let Some(ran) = entered(machine, &["env", "LC_ALL=C", "lscpu"]) else { return };
        let ran = ran.ended(0);
        let line = |name: &str| ran.out.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        assert!(line("L2 cache:").ends_with(l2) && line("L3 cache:").ends_with(l3), "{machine}: {}", ran.out);
    }
}

#[test]
fn lstopo_draws_the_simulated_machines_topology() {
    let kinds = ["pu", "core", "package", "numanode"];
    let script = "for k in pu core package numanode; do echo $k $(lstopo-no-graphics --only $k 2>&1 | wc -l); done";
    for (machine, [cpus, threads, cores, packages, nodes]) in TOPOLOGIES {
        let Some(ran) = entered(machine, &["sh", "-c", script]) else { return };
        // hwloc always has a node.
        let wanted = [cpus, cores * packages, packages, nodes.max(1)];
        let lines: Vec<String> = kinds.iter().zip(wanted).map(|(kind, count)| format!("{kind} {count}\n")).collect();
        assert_eq!(ran.ended(0).out, lines.concat(), "{machine}, {threads} threads a core");
    }
}

#[test]
fn a_command_that_entered_reads_of_one_machine_alone_and_sets_it() {
    let script = r#"
readlink /sys/devices/system/cpu/cpu1/cpufreq /sys/devices/system/cpu/cpu1/subsystem /sys/bus/cpu/devices/cpu7
grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat
[ -e /sys/devices/system/cpu/cpu8 ] || echo no cpu8
"$P" info cpu | grep -c 'Simulated laptop CPU'
echo performance >/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor
"$P" get governor@policy3
cd /sys/devices/system/cpu/cpu1/cpufreq
rm scaling_governor; mkdir new; chmod 600 scaling_governor && stat -c %a scaling_governor
echo $SYSTEMD_DEVICE_VERIFY_SYSFS
exit 7
"#;
    let program = env!("CARGO_BIN_EXE_powerband");
    let Some(ran) = entered("laptop", &["env", &format!("P={program}"), "LC_ALL=C", "sh", "-c", script]) else {
        return;
    };
    let ran = ran.ended(7);
    holds(
        &ran.out,
        &[
            "../cpufreq/policy1\n../../../../bus/cpu\n../../../devices/system/cpu/cpu7\n8\n8\nno cpu8\n1\n",
            "cpufreq.governor@policy3 (cpus 3) = performance\n600\n0\n",
        ],
    );
    holds(&ran.err, &["rm: cannot remove 'scaling_governor': Operation not permitted", "mkdir: cannot create"]);
    let outside = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!outside.contains(" - fuse powerband"), "nothing is mounted outside: {outside}");
}

/// Processes whose command line holds a word.
fn running(word: &str) -> usize {
    let pids = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    pids.filter(|path| fs::read(path).is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))).count()
}

/// A word for the command lines of one test.
fn mark() -> String {
    format!("{}.{}", 600_000 + std::process::id(), std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos())
}

#[test]
fn all_that_a_command_started_ends_with_a_killed_server() {
    if !root() {
        return;
    }
    let (desk, mark) = (Desk::new(), mark());
    let script = format!("setsid sleep {mark} & (setsid sh -c 'sleep {mark} & sleep {mark}') & exec sleep {mark}");
    let server = desk.start(&["sim", "enter", "pc", "--", "sh", "-c", &script]);
    let sleep = format!("sleep\0{mark}");
    until("four processes sleep", || running(&sleep) == 4);
    server.signal(Signal::KILL);
    server.end();
    until("all of them have ended", || running(&mark) == 0);
    let outside = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!outside.contains(" - fuse powerband"), "nothing is mounted outside: {outside}");
}

#[test]
fn what_a_command_leaves_running_ends_with_it_and_signals_reach_it() {
    if !root() {
        return;
    }
    let (desk, mark) = (Desk::new(), mark());
    let script = format!("setsid sleep {mark} & exit 5");
    desk.run(&["sim", "enter", "pc", "--", "sh", "-c", &script]).ended(5);
    assert_eq!(running(&mark), 0);
    let script = format!("trap 'echo asked; exit 9' TERM; sleep {mark} & wait");
    let server = desk.start(&["sim", "enter", "pc", "--", "sh", "-c", &script]);
    until("it waits", || running(&format!("sleep\0{mark}")) == 1);
    server.signal(Signal::TERM);
    assert_eq!(server.end().ended(9).out, "asked\n");
    assert_eq!(running(&mark), 0);
    desk.run(&split("sim enter pc -- sh -c `kill -KILL $$`")).ended(137);
}

#[test]
fn processes_of_a_command_find_themselves_in_proc() {
    let script =
        "[ \"$(cat /proc/$$/comm)\" = sh ] && [ \"$(readlink /proc/self/ns/pid)\" = \"$(readlink /proc/1/ns/pid)\" ]";
    let Some(ran) = entered("pc", &["sh", "-c", script]) else { return };
    ran.ended(0);
}

#[test]
fn what_cannot_be_entered_is_one_sentence() {
    let desk = Desk::new();
    desk.run(&["sim", "enter", "nothing", "--", "true"]).refused(2);
    if root() {
        assert!(desk.run(&["sim", "enter", "pc", "--", "/nowhere"]).refused(7).contains("cannot start /nowhere"));
    }
}

/// What `info cpu` says of a simulated machine.
fn info(machine: &str) -> Value {
    Desk::new().json(&["--machine", &format!("sim:{machine}"), "info", "cpu"])["cpu"].clone()
}

/// CPUs of a list such as `0-3,8`.
fn cpus(list: &Value) -> Vec<u32> {
    list.as_str().unwrap().parse::<powerband_record::CpuList>().unwrap().as_slice().to_vec()
}

/// The policy of each CPU in service.
fn policies(info: &Value) -> std::collections::BTreeMap<u32, Value> {
    let all = info["policies"].as_array().unwrap().iter();
    all.flat_map(|policy| cpus(&policy["online"]).into_iter().map(|cpu| (cpu, policy.clone()))).collect()
}

#[test]
fn psutil_counts_and_clocks_the_simulated_machine() {
    let python = "/usr/bin/python3";
    let there = Command::new(python).args(["-c", "import psutil"]).output().is_ok_and(|ran| ran.status.success());
    let must = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(there || !must, "this test needs python3-psutil, and CI=true lets nothing be skipped");
    if !there || !has("cpupower") {
        return;
    }
    let script = "import json, psutil\nme = psutil.Process()\nprint(json.dumps({'logical': psutil.cpu_count(), \
                  'cores': psutil.cpu_count(logical=False), 'times': len(psutil.cpu_times(percpu=True)), \
                  'me': me.name(), 'freq': [[f.current, f.min, f.max] for f in psutil.cpu_freq(percpu=True)]}))";
    for (machine, [cpus, _, cores, packages, _]) in TOPOLOGIES {
        let Some(ran) = entered(machine, &[python, "-c", script]) else { return };
        let told: Value = serde_json::from_str(&ran.ended(0).out).unwrap();
        assert_eq!((&told["logical"], &told["times"]), (&cpus.into(), &cpus.into()), "{machine}: {told}");
        // Where no file names the threads of a core, psutil counts core numbers of each package.
        assert_eq!(told["cores"], cores * packages, "{machine}: {told}");
        assert!(told["me"].as_str().unwrap().starts_with("python3"), "{told}");
        let policies = policies(&info(machine));
        let clocks = told["freq"].as_array().unwrap();
        assert_eq!(clocks.len(), cpus, "{machine}");
        for (clock, policy) in clocks.iter().zip(policies.values()) {
            let khz = [0, 1, 2].map(|at| (clock[at].as_f64().unwrap() * 1e3).round() as u64);
            let [low, high] = ["min_khz", "max_khz"].map(|key| policy[key].as_u64().unwrap());
            assert!((khz[1], khz[2]) == (low, high) && (low..=high).contains(&khz[0]), "{machine}: {clock} {policy}");
        }
    }
    let set = format!(
        "cpupower -c 2 frequency-set -g userspace >&2; cpupower -c 2 frequency-set -f 1800MHz >&2; exec {python} -c \"$0\""
    );
    let ran = entered("pc", &["sh", "-c", &set, script]).unwrap().ended(0);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&told["freq"][2][0], &told["freq"][1][0]), (&1800.0.into(), &3000.0.into()), "{told}");
}

#[test]
fn cpupower_lists_every_cpu_with_its_limits_and_governor() {
    if !has("cpupower") {
        return;
    }
    for (machine, [count, ..]) in TOPOLOGIES {
        let Some(ran) = entered(machine, &split("env LC_ALL=C cpupower frequency-info -o")[..]) else { return };
        let ran = ran.ended(0);
        let lines: Vec<Vec<&str>> = ran
            .out
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|words: &Vec<_>| words[..1] == ["CPU"])
            .collect();
        let policies = policies(&info(machine));
        assert_eq!((lines.len(), policies.len()), (count, count), "{machine}: {}", ran.out);
        for (words, (cpu, policy)) in lines.iter().zip(&policies) {
            let khz: Vec<&str> = words.windows(2).filter(|pair| pair[1] == "kHz").map(|pair| pair[0]).collect();
            let wanted = ["min_khz", "max_khz"].map(|key| policy[key].to_string());
            assert_eq!((words[1].to_owned(), khz), (cpu.to_string(), wanted.iter().map(String::as_str).collect()));
            assert_eq!(words.last().copied(), policy["governor"].as_str(), "{machine}: {words:?}");
        }
    }
}

/// A profile of TuneD that sets CPUs alone, in a place that covers /etc/tuned; prints what it sets before, while and after.
const TUNED: &str = r#"
set -e
mkdir -p /run/tuned /var/log/tuned
mount --bind "$T" /etc/tuned; mount -t tmpfs none /run/tuned; mount -t tmpfs none /var/log/tuned
cd /sys/devices/system/cpu
show() { for f in $F; do printf '%s %s %s\n' "$1" "$f" "$(cat $f 2>/dev/null || echo none)"; done; }
show before
tuned --no-dbus --no-socket --profile ours --pid /run/tuned/pid --log /run/tuned/log >&2 & D=$!
n=0; until show while | grep -q "$U"; do n=$((n+1)); [ $n -lt 1800 ] || { cat /run/tuned/log >&2; exit 9; }; sleep 0.1; done
n=0; until grep -q 'static tuning from profile .* applied' /run/tuned/log; do n=$((n+1)); [ $n -lt 1800 ] || { cat /run/tuned/log >&2; exit 9; }; sleep 0.1; done
show while
kill -TERM $D; wait $D
show after
"#;

#[test]
fn tuned_applies_a_profile_and_restores_the_machine() {
    if !has("tuned") {
        return;
    }
    let governor = "cpu{}/cpufreq/scaling_governor";
    for (machine, cpus, profile, files) in [
        (
            "laptop",
            8,
            "governor=performance\nenergy_perf_bias=performance\nmin_perf_pct=50\n",
            vec![
                (governor, "powersave", "performance"),
                ("cpu{}/cpufreq/energy_performance_preference", "balance_performance", "performance"),
                ("intel_pstate/min_perf_pct", "10", "50"),
            ],
        ),
        (
            "pc",
            4,
            "governor=ondemand\nsampling_down_factor=10\n",
            vec![(governor, "performance", "ondemand"), ("cpufreq/ondemand/sampling_down_factor", "none", "10")],
        ),
    ] {
        if !root() {
            return;
        }
        let desk = Desk::new();
        let etc = desk.beside("tuned");
        fs::create_dir_all(etc.join("ours")).unwrap();
        fs::write(etc.join("tuned-main.conf"), "daemon = 1\ndynamic_tuning = 0\n").unwrap();
        fs::write(etc.join("ours/tuned.conf"), format!("[main]\nsummary=ours\n[cpu]\n{profile}")).unwrap();
        let mut rows: Vec<(String, &str, &str)> = Vec::new();
        for (file, before, set) in files {
            let count = if file.contains("{}") { cpus } else { 1 };
            rows.extend((0..count).map(|cpu| (file.replace("{}", &cpu.to_string()), before, set)));
        }
        let names: Vec<&str> = rows.iter().map(|(file, ..)| file.as_str()).collect();
        let (last, _, set) = rows.last().unwrap();
        let mut command = desk.command(&["sim", "enter", machine, "--", "sh", "-c", TUNED]);
        command.env("T", &etc).env("F", names.join(" ")).env("U", format!("{last} {set}"));
        let ran = Ran::of(&command.output().unwrap()).ended(0);
        let before =
            |when: &str| -> String { rows.iter().map(|(file, was, _)| format!("{when} {file} {was}\n")).collect() };
        let set: String = rows.iter().map(|(file, _, set)| format!("while {file} {set}\n")).collect();
        assert_eq!(ran.out, before("before") + &set + &before("after"), "{machine}: {}", ran.err);
    }
}

/// Looks at the files pepc looks at, the way it does: one find for all idle states, one cat for all of their files, frequencies by
/// policy, cores and packages from /proc/cpuinfo, and a file that is opened for reading and writing.
const PEPC: &str = r#"
cd /sys/devices/system/cpu
find "$PWD" -type f -regextype posix-extended -regex '.*cpu(0|1)/cpuidle/state([[:digit:]]+)/(name|desc|disable|latency|residency|time|usage)' | sort >/tmp/files.$$
echo files $(wc -l </tmp/files.$$) lines $(xargs -a /tmp/files.$$ cat | wc -l); rm /tmp/files.$$
echo idle $(cat cpuidle/current_driver cpuidle/current_governor)
echo names $(cat cpu1/cpuidle/state?/name)
exec 3<>cpu1/cpuidle/state2/disable; echo 1 >&3; exec 3>&-
echo disabled $(cat cpu1/cpuidle/state2/disable cpu0/cpuidle/state2/disable)
for p in cpufreq/policy[0-9]*; do
    echo policy ${p#cpufreq/policy} $(cat $p/scaling_driver $p/scaling_governor $p/cpuinfo_min_freq $p/cpuinfo_max_freq $p/base_frequency)
done
echo pstate $(cat intel_pstate/status intel_pstate/no_turbo)
echo 1 >intel_pstate/no_turbo; echo no_turbo $(cat intel_pstate/no_turbo)
awk '/^processor/ { p = $3 } /^physical id/ { k = $4 } /^core id/ { print "cpu", p, "package", k, "core", $4 }' /proc/cpuinfo
echo nodes $(cat ../node/online); cat ../node/node*/cpulist
echo offline $(cat offline); echo 0 >cpu3/online; echo online $(cat online); echo 1 >cpu3/online
cat cpu0/topology/die_id cpu0/power/pm_qos_resume_latency_us
[ -e /dev/cpu/0/msr ] || echo no registers
"#;

#[test]
fn files_can_be_read_and_written_the_way_pepc_does() {
    for (machine, cores, nodes) in [("laptop", 4, 1), ("server", 16, 2)] {
        let Some(ran) = entered(machine, &["sh", "-c", PEPC]) else { return };
        let (out, info) = (ran.ended(0).out, info(machine));
        let idle = Desk::new().json(&["--machine", &format!("sim:{machine}"), "info", "idle"])["idle"].clone();
        let states = idle["cpus"][1]["states"].as_array().unwrap();
        let names: Vec<&str> = states.iter().map(|state| state["name"].as_str().unwrap()).collect();
        let files = 2 * 7 * states.len();
        let mut wanted = vec![
            format!("files {files} lines {files}\n"),
            format!("idle {} {}\n", idle["driver"].as_str().unwrap(), idle["governor"].as_str().unwrap()),
            format!("names {}\n", names.join(" ")),
            "disabled 1 0\n".into(),
            "pstate active 0\nno_turbo 1\n".into(),
            format!("nodes {}\n", if nodes == 1 { "0" } else { "0-1" }),
            "0\n0\nno registers\n".into(),
        ];
        for (cpu, policy) in policies(&info) {
            let [low, high, base] = ["lowest_khz", "highest_khz", "base_khz"].map(|key| policy[key].as_u64().unwrap());
            wanted.push(format!("policy {cpu} intel_pstate powersave {low} {high} {base}\n"));
            wanted.push(format!(
                "cpu {cpu} package {} core {}\n",
                cpu % cores * nodes / cores,
                cpu % cores % (cores / nodes)
            ));
        }
        holds(&out, &wanted.iter().map(String::as_str).collect::<Vec<_>>());
        holds(&out, &["offline\nonline 0-2,4-"]);
    }
}

#[test]
fn network_cards_and_counters_of_energy_are_the_simulated_machines() {
    let script = "cat /proc/net/dev | tail -n +3 | cut -d: -f1; ls /sys/class/net; cat /sys/class/net/eth0/address; \
                  ip link show eth0 | sed -n 's|.*link/ether \\([^ ]*\\).*|\\1|p'; ls -d /sys/class/block; \
                  cat /sys/class/powercap/intel-rapl:0/name";
    let Some(ran) = entered("laptop", &["sh", "-c", script]) else { return };
    let words: Vec<String> = ran.ended(0).out.split_whitespace().map(str::to_owned).collect();
    let ours = fs::read_to_string("/sys/class/net/eth0/address").unwrap_or_default();
    let has_tap = fs::metadata("/dev/net/tun").is_ok();
    let (devices, classes) = words.split_at(if has_tap { 5 } else { 3 });
    assert_eq!(classes, ["/sys/class/block", "package-0"], "{words:?}");
    assert_ne!(devices.last().unwrap(), ours.trim(), "it is this machine's");
    let address = devices.last().unwrap().as_str();
    let (with_tap, without) = (["lo", "eth0", "eth0", address, address], ["lo", "eth0", address]);
    assert_eq!(devices, if has_tap { &with_tap[..] } else { &without[..] });
    let bound = entered("laptop", &["python3", "-c", "import socket; socket.create_server(('127.0.0.1', 0))"]);
    bound.unwrap().ended(0);
}
