//! Recorded machines as a user meets them: those of the project, fresh ones, and broken ones.
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::desk::{Desk, workspace};

/// What one of the project's recorded machines answers to `info` and to `get governor`.
struct Case {
    name: &'static str,
    info: &'static [&'static str],
    /// Code, and what is in the text or the sentence.
    governor: (i32, &'static [&'static str]),
}

const CASES: [Case; 5] = [
    Case {
        name: "omap3530",
        info: &[
            ": 2.6.32\n",
            "CPUs online: 0\n",
            "policy0 (cpus 0): omap, governor ondemand",
            "steps 125 MHz, 250 MHz, 500 MHz, 550 MHz, 600 MHz",
            "a change takes 300 us",
            "cpu 0: ARMv7 Processor rev 3 (v7l), BogoMIPS 499.92",
            "now 500 MHz, read from the hardware (cpuinfo_cur_freq)",
            "time at 600 MHz 2.2 %, 550 MHz 0 %, 500 MHz 14.1 %",
            "idle: driver omap3_idle, governor menu",
            "    C4         3300 us          -           0",
            "net: usb0: no driver named\n    coalescing n/a: operation not supported",
            "nothing is changed",
        ],
        governor: (0, &["cpufreq.governor@policy0 (cpus 0) = ondemand\n"]),
    },
    Case {
        name: "laptop",
        info: &[
            "CPUs online: 0-3\n",
            "policy0-3 (cpus 0-3, 4 policies): intel_pstate, governor powersave",
            "governors performance, powersave; a change takes 0 ns",
            "SMT on, in use",
            "intel_pstate: mode active, ",
            "now 799.998 MHz .. 1200.004 MHz, reported by the kernel",
            "hardware 400 MHz .. 2800 MHz, base 2300 MHz",
            "prefers balance_performance (of default, ",
            "    C10         890 us    5000 us ",
            "power: package-0 (intel-rapl:0), not in force; no limits are shown",
            "coalescing rx-usecs 3, rx-frames n/a, ",
            "meter: hwmon covers BAT0 power1",
            "no powercap meter: /sys/class/powercap/intel-rapl:0/energy_uj (and 1 more):\n    permission denied",
            "\n    SUBSYSTEM==\"powercap\", RUN+=",
        ],
        governor: (0, &["@policy0 (cpus 0) = powersave\n", "@policy3 (cpus 3) = powersave\n"]),
    },
    Case {
        name: "server",
        info: &[
            ": 2.6.18-398.el5\n",
            "CPUs online: 0-3\n",
            "policy0-3 (cpus 0-3, 4 policies): acpi-cpufreq, governor ondemand",
            "sched_mc_power_savings 0\n",
            "time at 2667 MHz 1.3 %, 2333 MHz 0 %, 2000 MHz 98.6 %; 166 changes",
            "idle: driver none",
            "stats-block-usecs 999936, adaptive-rx off",
            "steps 2000 MHz, 2333 MHz, 2667 MHz\n    governors ondemand, userspace, performance\n",
        ],
        governor: (0, &["@policy0 (cpus 0) = ondemand\n", "@policy3 (cpus 3) = ondemand\n"]),
    },
    Case {
        name: "microvm",
        info: &[
            "CPUs online: 0-1\n",
            "cpufreq is not here",
            "/sys/devices/system/cpu/cpufreq is empty",
            "cpus 0-1: Intel(R) Xeon(R) Processor, BogoMIPS 4200.00",
            "governor menu (of ladder, menu, haltpoll)",
            "net: eth0: no driver named, up, link, mtu 1400 bytes\n    coalescing rx-usecs 0, rx-frames 1, tx-usecs 0, tx-frames 1,\n        adaptive-rx off, adaptive-tx n/a\n",
        ],
        governor: (4, &["cpufreq.governor is not here", "a virtual machine usually has none"]),
    },
    Case {
        name: "guest",
        info: &[
            "CPUs online: 0-1\n",
            "policy0-1 (cpus 0-1, 2 policies): acpi-cpufreq, governor schedutil",
            "firmware allows 2400 MHz",
            "tunables of schedutil: rate_limit_us 10000",
            "meter: hwmon covers",
        ],
        governor: (0, &["@policy0 (cpus 0) = schedutil\n"]),
    },
];

fn recorded(name: &str) -> String {
    format!("recorded:{}", workspace().join("machines/recorded").join(name).display())
}

#[test]
fn every_recorded_machine_has_its_case_and_is_small() {
    let all = fs::read_dir(workspace().join("machines/recorded")).unwrap();
    let mut names: Vec<String> = all.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let mut cases = CASES.map(|case| case.name.to_owned());
    cases.sort();
    assert_eq!(names, cases);
    for name in names {
        let bytes: u64 = sizes(&workspace().join("machines/recorded").join(&name));
        assert!(bytes < 200_000, "{name}: {bytes} bytes");
    }
}

fn sizes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|it| if it.path().is_dir() { sizes(&it.path()) } else { it.metadata().unwrap().len() }).sum()
}

#[test]
fn every_recorded_machine_answers() {
    let desk = Desk::new();
    for case in CASES {
        let machine = recorded(case.name);
        let info = desk.run(&["info", "--machine", &machine]).ended(0);
        for part in case.info {
            assert!(info.out.contains(part), "{}: '{part}' is not in: {}", case.name, info.out);
        }
        assert_eq!(info.err, "");
        let wide = info.out.lines().skip(1).find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{}", case.name);
        let (code, parts) = case.governor;
        let got = desk.run(&["get", "governor", "--machine", &machine]).ended(code);
        for part in parts {
            assert!(got.out.contains(part) || got.err.contains(part), "{}: {}{}", case.name, got.out, got.err);
        }
        desk.run(&["knobs", "governor", "--machine", &machine]).ended(0);
        assert!(desk.json(&["info", "--machine", &machine])["machine"] == machine.as_str());
    }
}

/// What `doctor` and `why` say of each: exit code of the doctor, parts of its text, parts of the other's.
const EXAMINED: [(&str, i32, &[&str], &str); 5] = [
    (
        "omap3530",
        0,
        &[
            "omap drives 1 policy",
            "ok       ondemand.*: sampling_rate",
            "no check failed, but this machine has no power meter",
        ],
        "sets ondemand",
    ),
    (
        "laptop",
        1,
        &[
            "(/boot/config-6.1.0-18-amd64, 6.1.76, x86)",
            "ok       CONFIG_SYSFS: built in",
            "root alone may write its files",
        ],
        "the driver intel_pstate starts with powersave",
    ),
    (
        "server",
        0,
        &[
            "2.6.18-398.el5, x86)",
            "default governor: userspace, as the kernel was configured",
            "no check failed, but this machine has no power meter",
        ],
        "starts with userspace",
    ),
    (
        "microvm",
        0,
        &[
            "its CPU says that a hypervisor runs it",
            "no check failed, but this machine has no cpufreq and no power meter",
        ],
        "this machine has no cpufreq",
    ),
    ("guest", 0, &["virtual machine: QEMU", "acpi-cpufreq drives 2 policies"], "schedutil"),
];

#[test]
fn every_recorded_machine_is_examined_and_explained() {
    let desk = Desk::new();
    for (name, code, parts, why) in EXAMINED {
        let machine = recorded(name);
        let told = desk.run(&["doctor", "--machine", &machine]).ended(code).out;
        for part in parts {
            assert!(told.contains(part), "{name}: '{part}' is not in: {told}");
        }
        let ran = desk.run(&["why", "--machine", &machine]).ended(if name == "microvm" { 4 } else { 0 });
        assert!(ran.out.contains(why) || ran.err.contains(why), "{name}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn a_captured_machine_is_examined_as_the_one_it_was_captured_from() {
    let desk = Desk::new();
    let symbols = |machine: &str| {
        let ran = desk.run(&["doctor", "--json", "--machine", machine]);
        ran.value()["kernel"]["symbols"].clone()
    };
    let before = symbols(&recorded("laptop"));
    let (tree, file) = (desk.beside("all"), "root/boot/config-6.1.0-18-amd64");
    crate::fuzzed::copy(&workspace().join("machines/recorded/laptop"), &tree);
    let mut config = fs::read_to_string(tree.join(file)).unwrap();
    // Whatever the doctor asks for is on, the rest is left out by the capture.
    for row in before.as_array().unwrap() {
        config += &format!("{}=y\n", row["symbol"].as_str().unwrap());
    }
    fs::write(tree.join(file), config + "CONFIG_LOCALVERSION=\"-mine\"\n").unwrap();
    let copy = desk.beside("copy").display().to_string();
    let machine = format!("recorded:{}", tree.display());
    desk.run(&["capture", &copy, "--machine", &machine]).ended(0);
    let whole = symbols(&machine);
    assert!(whole.as_array().unwrap().iter().all(|row| row["state"] == "y"), "{whole:#}");
    assert_eq!(whole, symbols(&format!("recorded:{copy}")));
    assert!(!fs::read_to_string(Path::new(&copy).join(file)).unwrap().contains("mine"));
}

#[test]
fn the_parts_of_info_hold_what_their_files_hold() {
    let desk = Desk::new();
    let part = |machine: &str, words: &[&str]| desk.json(&[&["info", "--machine", &recorded(machine)], words].concat());
    let board = &part("omap3530", &["cpu"])["cpu"];
    assert_eq!((&board["cpus"]["models"][0]["bogomips_least"], &board["unread"]), (&json!(499.92), &json!([])));
    let policy = &board["policies"][0];
    assert_eq!((&policy["current_khz"], &policy["hardware_khz"]), (&json!(500_000), &json!(500_000)));
    assert_eq!(policy["tunables"]["values"]["up_threshold"], "80");
    let stats = &policy["stats"];
    assert_eq!((&stats["time_in_state"][0]["time_ms"], &stats["total_changes"]), (&json!(14_020), &json!(12)));
    assert_eq!(stats["changes"][0], json!({ "from_khz": 600_000, "to_khz": 500_000, "count": 2 }));
    let guest = &part("guest", &["cpu", "-c", "1"])["cpu"]["policies"];
    assert_eq!((guest.as_array().map(Vec::len), &guest[0]["bios_limit_khz"]), (Some(1), &json!(2_400_000)));
    let idle = &part("laptop", &["idle", "-c", "2"])["idle"];
    assert_eq!((&idle["driver"], idle["cpus"].as_array().map(Vec::len)), (&json!("intel_idle"), Some(1)));
    let deepest = &idle["cpus"][0]["states"][5];
    assert_eq!(
        (&deepest["name"], &deepest["latency_us"], &deepest["residency_us"]),
        (&json!("C10"), &json!(890), &json!(5000))
    );
    let zones = &part("laptop", &["power"])["power"]["zones"];
    assert_eq!((&zones[0]["name"], &zones[0]["enabled"]), (&json!("package-0"), &json!(false)));
    let card = &part("server", &["net"])["net"]["devices"][1];
    assert_eq!((&card["name"], &card["mtu_bytes"]), (&json!("eth0"), &json!(1500)));
    assert_eq!((&card["coalescing"]["rx-usecs"], &card["coalescing"]["cqe-mode-rx"]), (&json!(18), &Value::Null));
    let table = desk.run(&["info", "cpu", "--machine", &recorded("omap3530")]).ended(0).out;
    assert!(table.contains("from 600 MHz: to 500 MHz 2 times, to 125 MHz 2 times\n"), "{table}");
    assert!(table.contains("sched_mc_power_savings: this kernel has none"), "{table}");
    let table = desk.run(&["info", "cpu", "--machine", &recorded("server")]).ended(0).out;
    assert!(table.contains("changes from step to step: the kernel shows no table\n"), "{table}");
    let bare = desk.run(&["info", "cpu", "--machine", &recorded("microvm")]).ended(4);
    assert!(bare.out.contains("CPUs online: 0-1\n") && bare.err.contains("cpufreq is not here"), "{}", bare.out);
    assert!(desk.run(&["info", "idle", "-c", "7", "--machine", &recorded("laptop")]).refused(2).contains("cpu7"));
}

#[test]
fn a_recorded_machine_is_looked_at_and_not_turned() {
    let desk = Desk::new();
    let machine = recorded("server");
    for words in [
        &["set", "governor=performance"][..],
        &["with", "governor=performance", "--", "true"],
        &["try", "governor=all", "--load", "counter"],
        &["undo"],
    ] {
        desk.run(&[&["--machine", &machine], words].concat()).refused(4);
    }
    let told = desk.run(&["set", "governor=performance", "--dry-run", "--machine", &machine]).ended(0);
    assert!(told.out.contains("ondemand → performance"), "{}", told.out);
    // A governor that only the driver's other mode has.
    let words = ["set", "governor=schedutil", "pstate=passive", "--dry-run", "--machine", &recorded("laptop")];
    let told = desk.run(&words).ended(0).out;
    assert!(told.starts_with("pstate.status: active → passive\n") && told.contains("powersave → schedutil"), "{told}");
    assert_eq!((desk.turned(), desk.experiments()), (0, 0));
}

#[test]
fn what_is_captured_answers_as_its_machine_did() {
    let desk = Desk::new();
    for machine in ["sim:quadcore", "sim:omap3530", "local"] {
        let folder = desk.beside(machine.split(':').next_back().unwrap()).display().to_string();
        let told = desk.json(&["capture", &folder, "--machine", machine]);
        assert!(told["files"].as_u64().unwrap() > 10, "{told}");
        let copy = format!("recorded:{folder}");
        let both = [machine, &copy].map(|machine| desk.run(&["info", "cpu", "--machine", machine]));
        assert_eq!(both[0].code, both[1].code, "{machine}: {}", both[1].err);
        let lines = both.map(|ran| ran.out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>());
        // A clock that the hardware chooses may have moved meanwhile.
        let steady = |line: &&String| !line.contains("now ");
        assert_eq!(
            lines[0].iter().filter(steady).collect::<Vec<_>>(),
            lines[1].iter().filter(steady).collect::<Vec<_>>()
        );
        let why = desk.run(&["capture", &folder, "--machine", machine]).refused(2);
        assert!(why.contains("not empty"), "{why}");
    }
}

#[test]
fn nobody_is_told_whose_machine_it_was() {
    let desk = Desk::new();
    let folder = desk.beside("captured");
    desk.run(&["capture", &folder.display().to_string()]).ended(0);
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let addresses = fs::read_dir("/sys/class/net").into_iter().flatten();
    let addresses = addresses.filter_map(|entry| fs::read_to_string(entry.unwrap().path().join("address")).ok());
    let mut private: Vec<String> = addresses.map(|text| text.trim().to_owned()).collect();
    private.retain(|address| address.len() == 17 && address != "00:00:00:00:00:00");
    private.push(fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned());
    for (path, text) in texts(&folder) {
        for word in &private {
            assert!(!text.contains(word.as_str()), "{word} is in {path}");
        }
        let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let free = path.contains("/root/sys/") || path.contains("/root/proc/sys/");
        assert!(free || name == "localhost" || words.all(|word| word != name), "the host's name is in {path}");
    }
}

fn texts(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: std::path::PathBuf| {
        if path.is_dir() {
            texts(&path)
        } else {
            vec![(path.display().to_string(), fs::read_to_string(&path).unwrap())]
        }
    };
    entries.flat_map(of).collect()
}

#[test]
fn a_folder_that_is_no_recording_is_told() {
    let desk = Desk::new();
    let refused = |machine: &str| desk.run(&["info", "--machine", machine]).refused(2);
    let none = desk.beside("none");
    assert!(refused(&format!("recorded:{}", none.display())).contains("ENOENT"));
    fs::create_dir(&none).unwrap();
    assert!(refused(&format!("recorded:{}", none.display())).contains("powerband capture"));
    fs::write(none.join("recorded.toml"), "version = 9\n").unwrap();
    assert!(refused(&format!("recorded:{}", none.display())).contains("version 9"));
    assert!(refused("recorded:").contains("recorded:DIR"));
    let file = none.join("recorded.toml").display().to_string();
    let why = desk.run(&["capture", &file, "--machine", "sim:pc"]).refused(2);
    assert!(why.contains(&file), "{why}");
}
