//! `doctor` through the binary: this machine, one behind an agent, a simulated one, configurations in files.
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::desk::Desk;

/// A kernel for amd64 with cpufreq, but not the governors ondemand and conservative.
const CONFIG: &str = "# Linux/x86 6.1.192 Kernel Configuration\nCONFIG_X86=y\nCONFIG_SMP=y\nCONFIG_ACPI=y\nCONFIG_ACPI_PROCESSOR=y\n\
    CONFIG_PCI=y\nCONFIG_NET=y\nCONFIG_PROC_FS=y\nCONFIG_CPU_FREQ=y\nCONFIG_CPU_FREQ_GOV_PERFORMANCE=y\n\
    CONFIG_CPU_FREQ_GOV_POWERSAVE=y\nCONFIG_CPU_FREQ_GOV_USERSPACE=y\n# CONFIG_CPU_FREQ_GOV_ONDEMAND is not set\n\
    # CONFIG_CPU_FREQ_GOV_CONSERVATIVE is not set\nCONFIG_CPU_FREQ_GOV_SCHEDUTIL=y\nCONFIG_X86_ACPI_CPUFREQ=y\n\
    CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE=y\nCONFIG_CGROUPS=y\nCONFIG_CGROUP_SCHED=y\nCONFIG_FAIR_GROUP_SCHED=y\n\
    CONFIG_CFS_BANDWIDTH=y\nCONFIG_SYSFS=y\nCONFIG_PROC_SYSCTL=y\n";

/// What `doctor --json` of a machine says, and that its exit code is of one mind with it.
#[track_caller]
fn examined(desk: &Desk, words: &[&str]) -> Value {
    let ran = desk.run(&[words, &["doctor", "--json"]].concat());
    let value = ran.value();
    let missing = value["missing"].as_u64().unwrap();
    assert_eq!(ran.code, Some(i32::from(missing > 0)), "{value:#}");
    let findings =
        value["sections"].as_array().unwrap().iter().flat_map(|section| section["findings"].as_array().unwrap());
    assert_eq!(findings.filter(|found| found["mark"] == "missing").count() as u64, missing);
    assert_eq!(value["version"], 1);
    value
}

fn names(value: &Value) -> Vec<&str> {
    value["sections"].as_array().unwrap().iter().map(|section| section["name"].as_str().unwrap()).collect()
}

/// What gzip's own program makes of a file.
fn zcat(path: &str) -> Option<String> {
    let output = Command::new("gzip").args(["-dc", path]).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

#[test]
fn this_machine_is_examined_for_what_it_has() {
    let desk = Desk::new();
    let value = examined(&desk, &[]);
    assert_eq!(value["machine"], "local");
    for name in ["driver", "reach", "rights"] {
        assert!(names(&value).contains(&name), "{value:#}");
    }
    if let Some(config) = zcat("/proc/config.gz") {
        assert_eq!(value["kernel"]["source"], "/proc/config.gz");
        for row in value["kernel"]["symbols"].as_array().unwrap() {
            let symbol = row["symbol"].as_str().unwrap();
            let line = config.lines().find_map(|line| line.strip_prefix(symbol)?.strip_prefix('='));
            let off = config.contains(&format!("# {symbol} is not set"));
            assert_eq!(row["state"], line.unwrap_or(if off { "n" } else { "absent" }), "{symbol}");
        }
    }
    let text = desk.run(&["doctor"]);
    let last = text.out.lines().last().unwrap().to_owned();
    let lacks = "no check failed, but this machine has no ";
    assert!(last.contains("missing") || last.starts_with(lacks), "{last}");
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_machine_behind_an_agent_answers_the_same() {
    let (desk, far) = (Desk::new(), Desk::new());
    let program = env!("CARGO_BIN_EXE_powerband");
    let there = format!("cmd:env 'POWERBAND_STATE_DIR={}' {program} agent", far.state().display());
    let (here, there) = (examined(&desk, &[]), examined(&desk, &["--machine", &there]));
    assert_eq!(here["kernel"], there["kernel"]);
    assert_eq!(names(&here), names(&there));
}

#[test]
fn a_simulated_machine_is_answered_shortly_and_honestly() {
    let desk = Desk::new();
    let value = examined(&desk, &["--machine", "sim:quadcore"]);
    assert_eq!((&value["missing"], &value["kernel"]), (&Value::from(0), &Value::Null));
    assert!(!names(&value).contains(&"place") && names(&value).contains(&"driver"), "{value:#}");
    // With a configuration of its own it has all of that.
    let config = desk.beside("config");
    fs::write(&config, CONFIG).unwrap();
    let ran =
        desk.run(&["--machine", "sim:quadcore", "doctor", "--json", "--kernel", config.to_str().unwrap()]).ended(1);
    assert_eq!((&ran.value()["missing"], &ran.value()["machine"]), (&Value::from(2), &Value::from("sim:quadcore")));
}

#[test]
fn a_fragment_merged_into_its_configuration_is_used_up() {
    let desk = Desk::new();
    let (config, merged) = (desk.beside("config"), desk.beside("merged"));
    fs::write(&config, CONFIG).unwrap();
    let words = |file: &Path| ["doctor", "--kernel", file.to_str().unwrap()].map(str::to_owned);
    let run = |file: &Path, more: &[&str]| {
        let first = words(file);
        desk.run(&first.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>())
    };
    let told = run(&config, &[]).ended(1).out;
    let path = "Power management and ACPI options → CPU Frequency scaling → 'ondemand' cpufreq policy governor";
    assert!(told.contains("missing  CONFIG_CPU_FREQ_GOV_ONDEMAND: off") && told.contains(path), "{told}");
    assert!(told.ends_with("2 things are missing\n"), "{told}");
    let asked = ["--default-governor", "ondemand", "--fragment"];
    let fragment = run(&config, &asked).ended(0).out;
    assert!(fragment.lines().all(|line| line.starts_with("CONFIG_") || line.ends_with(" is not set")), "{fragment}");
    assert!(
        fragment.contains(
            "\n# CONFIG_CPU_FREQ_DEFAULT_GOV_PERFORMANCE is not set\nCONFIG_CPU_FREQ_DEFAULT_GOV_ONDEMAND=y\n"
        )
    );
    fs::write(&merged, format!("{CONFIG}{fragment}")).unwrap();
    assert_eq!(run(&merged, &asked).ended(0).out, "");
    let told = run(&merged, &["--default-governor", "ondemand"]).ended(0).out;
    assert!(told.ends_with("nothing is missing\n"), "{told}");
    // Packed as the kernel packs it.
    assert!(Command::new("gzip").arg(&merged).status().unwrap().success());
    assert_eq!(run(&desk.beside("merged.gz"), &asked).ended(0).out, "");
}

#[test]
fn a_fragment_without_a_driver_says_so_and_can_still_be_merged() {
    let desk = Desk::new();
    let config = desk.beside("config");
    let board = "# Linux/arm 3.2.7 Kernel Configuration\nCONFIG_ARM=y\nCONFIG_ARCH_OMAP2PLUS=y\n";
    let words = ["doctor", "--kernel", config.to_str().unwrap()];
    for (text, warned) in [(board.to_owned(), true), (board.replace("3.2.7", "3.16.7"), false)] {
        fs::write(&config, &text).unwrap();
        let fragment = desk.run(&[&words[..], &["--fragment"]].concat()).ended(0);
        assert_eq!(fragment.err.contains("no frequency driver"), warned, "{}", fragment.err);
        assert!(fragment.out.lines().all(|line| line.starts_with("CONFIG_")), "{}", fragment.out);
        let value = desk.run(&[&words[..], &["--json"]].concat()).ended(1).value();
        assert_eq!(value["kernel"]["has_driver"], !warned);
        assert_eq!(desk.run(&words).ended(1).out.contains("no frequency driver"), warned);
    }
}

#[test]
fn a_file_that_is_no_configuration_is_refused() {
    let desk = Desk::new();
    let huge = "CONFIG_X=y\n".repeat(100_000);
    fs::create_dir(desk.beside("folder")).unwrap();
    for (name, bytes) in [
        ("binary", &b"\x7fELF\x02\x01\xff\xfe"[..]),
        ("broken.gz", b"\x1f\x8b\x08\x00\x00"),
        ("huge", huge.as_bytes()),
        ("folder/file", b""),
    ] {
        let path = desk.beside(name);
        fs::write(&path, bytes).unwrap();
        let why = desk.run(&["doctor", "--kernel", path.to_str().unwrap()]).refused(2);
        assert!(why.contains(name), "{why}");
    }
}
