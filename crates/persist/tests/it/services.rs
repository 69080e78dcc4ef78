//! Services of systemd that keep a knob: cpupower, TuneD, TLP, power-profiles-daemon, auto-cpufreq, units of one's own.
use powerband_persist::{BootPhase, BootStanding};

use crate::tree::{Tree, at, cpus};

const ALL: &str = "conservative ondemand userspace powersave performance schedutil";

fn machine(governor: &str, units: &[&str]) -> Tree {
    cpus("acpi-cpufreq", ALL, governor).default_governor("schedutil").systemd(units)
}

#[test]
fn cpupower_is_configured_in_every_spelling() {
    for (path, text) in [
        ("/etc/default/cpupower", "#governor='x'\ngovernor='performance'\n"),
        ("/etc/sysconfig/cpupower", "# see cpupower(1)\nCPUPOWER_START_OPTS=\"frequency-set -g performance\"\n"),
        ("/etc/cpupower-service.conf", "# GOVERNOR='x'\nGOVERNOR='performance'\n"),
        ("/etc/conf.d/cpupower", "\nSTART_OPTS=\"--governor performance\"\n"),
    ] {
        let why = machine("performance", &["+cpupower"]).file(path, text).why("governor");
        assert_eq!((at(&why, path).line, at(&why, path).explains), (Some(2), true), "{path}");
        let off = machine("schedutil", &["cpupower"]).file(path, text).why("governor");
        assert_eq!(at(&off, path).standing, BootStanding::Off { why: "cpupower.service is not enabled".into() });
        let alone = machine("schedutil", &[]).file(path, text).why("governor");
        assert_eq!(at(&alone, path).standing, BootStanding::Off { why: "there is no cpupower to read it".into() });
    }
    let masked = machine("schedutil", &["+cpupower"]).file("/etc/systemd/system/cpupower.service", "");
    let why = masked.file("/etc/default/cpupower", "governor=performance").why("governor");
    let off = BootStanding::Off { why: "cpupower.service is masked".into() };
    assert_eq!(at(&why, "/etc/default/cpupower").standing, off);
}

#[test]
fn cpupower_sets_limits_and_some_cpus() {
    let start = "CPUPOWER_START_OPTS=\"-c 2-3 frequency-set -u 2GHz -g performance\"\n";
    let mut tree = machine("schedutil", &["+cpupower"]).file("/etc/sysconfig/cpupower", start);
    let governor = tree.why("governor");
    assert_eq!(at(&governor, "/etc/sysconfig/cpupower").sites, ["policy2"]);
    assert!(governor.sentence.starts_with("at policy0: the kernel starts with schedutil"), "{}", governor.sentence);
    assert!(governor.sentence.contains(". at policy2: the kernel"), "{}", governor.sentence);
    assert_eq!(tree.why("governor@policy0").findings.len(), 1, "only what is asked for");
    assert_eq!(at(&tree.why("max_freq"), "/etc/sysconfig/cpupower").values, ["2000000"]);
}

/// Fedora: a profile of one's own over one that is delivered.
fn tuned(reads: &str, own: &str) -> Tree {
    machine(reads, &["+tuned"])
        .file("/etc/tuned/active_profile", "mine\n")
        .file("/etc/tuned/profiles/mine/tuned.conf", own)
        .file(
            "/usr/lib/tuned/profiles/throughput/tuned.conf",
            "[main]\nsummary=x\n[variables]\ngov=performance\n[cpu]\ngovernor=${gov}\n[sysctl]\nvm.swappiness=10\n",
        )
}

#[test]
fn a_profile_of_tuned_includes_others() {
    let why = tuned("performance", "[main]\ninclude=throughput\n").why("governor");
    assert_eq!(
        why.sentence,
        "the kernel starts with schedutil (CONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL), then TuneD (enabled for \
         multi-user.target) sets performance, by its profile mine; it reads performance now"
    );
    let line = at(&why, "/usr/lib/tuned/profiles/throughput/tuned.conf");
    assert_eq!((line.line, line.text.as_str()), (Some(6), "governor=${gov}"));

    let own = "[main]\ninclude=throughput\n[variables]\ngov=ondemand\n[cpu]\ngovernor=nothing|powersave\n";
    let why = tuned("powersave", own).why("governor");
    let line = at(&why, "/etc/tuned/profiles/mine/tuned.conf");
    assert!(line.explains && line.values == ["powersave"], "the first that is offered: {line:?}");
    assert!(why.findings.iter().all(|finding| !finding.path.contains("throughput")), "its own line wins");

    let why = tuned("ondemand", "[main]\ninclude=throughput\n[variables]\ngov=ondemand\n").why("governor");
    assert!(why.sentence.ends_with("it reads ondemand now"), "its own variable wins: {}", why.sentence);
    let why = tuned("schedutil", "[main]\ninclude=throughput\n[cpu]\nenabled=false\n").why("governor");
    assert!(why.sentence.contains("nothing found here changes it"), "{}", why.sentence);
}

#[test]
fn profiles_that_are_not_there_or_go_in_circles_are_told() {
    let why = tuned("schedutil", "[main]\ninclude=nowhere,mine\n[cpu]\ngovernor=schedutil\n").why("governor");
    let told: Vec<String> = why.findings.iter().map(|finding| format!("{:?}", finding.standing)).collect();
    assert!(told.iter().any(|told| told.contains("there is no profile 'nowhere'")), "{told:?}");
    assert!(why.sentence.ends_with("it reads schedutil now"), "{}", why.sentence);
    let why = tuned("schedutil", "[cpu]\ngovernor=interactive|x\n").why("governor");
    let off = &at(&why, "/etc/tuned/profiles/mine/tuned.conf").standing;
    assert!(matches!(off, BootStanding::Off { why } if why.starts_with("acpi-cpufreq offers only")), "{off:?}");
    let mut chosen = machine("powersave", &["+tuned"]).file("/etc/tuned/active_profile", "\n");
    assert!(chosen.why("governor").sentence.contains("perhaps TuneD (/etc/tuned/active_profile): it chooses"));
}

#[test]
fn tuned_lets_the_administrators_sysctl_win() {
    let base = || tuned("performance", "[main]\ninclude=throughput\n");
    let mut tree = base().file("/proc/sys/vm/swappiness", "10\n");
    assert!(tree.why("sysctl.vm.swappiness").sentence.contains("TuneD (enabled for multi-user.target) sets 10"));
    let mut tree = base().file("/proc/sys/vm/swappiness", "5\n").file("/etc/sysctl.d/10-x.conf", "vm.swappiness = 5\n");
    let why = tree.why("sysctl.vm.swappiness");
    assert!(why.sentence.ends_with("/etc/sysctl.d/10-x.conf sets 5; it reads 5 now"), "{}", why.sentence);
    let mut tree = tree.file("/etc/tuned/tuned-main.conf", "reapply_sysctl = 0\n");
    assert!(tree.why("sysctl.vm.swappiness").sentence.contains("but it reads 5 now"));
}

#[test]
fn tlp_goes_by_the_power_supply() {
    let tlp = |reads: &str, online: &str| {
        machine(reads, &["+tlp"])
            .file("/usr/share/tlp/defaults.conf", "CPU_SCALING_GOVERNOR_ON_AC=ondemand\nTLP_ENABLE=1\n")
            .file("/etc/tlp.d/10-x.conf", "CPU_SCALING_GOVERNOR_ON_AC=conservative\n")
            .file("/etc/tlp.conf", "CPU_SCALING_GOVERNOR_ON_AC=performance\nCPU_SCALING_GOVERNOR_ON_BAT=powersave\n")
            .file("/sys/class/power_supply/AC/type", "Mains\n")
            .file("/sys/class/power_supply/AC/online", online)
            .file("/sys/class/power_supply/BAT0/type", "Battery\n")
    };
    let why = tlp("performance", "1\n").why("governor");
    assert!(why.sentence.ends_with("sets performance, as the machine is on the mains; it reads performance now"));
    let why = tlp("powersave", "0\n").why("governor");
    assert!(why.sentence.ends_with("sets powersave, as the machine is on battery; it reads powersave now"));
    let unplugged = tlp("performance", "0\n").why("governor");
    assert!(unplugged.sentence.contains("would set that, but it is for the mains"), "{}", unplugged.sentence);
    let off = tlp("schedutil", "1\n").file("/etc/tlp.conf", "TLP_ENABLE=0\n").why("governor");
    assert!(
        off.findings
            .iter()
            .any(|f| f.standing == BootStanding::Off { why: "its configuration says TLP_ENABLE=0".into() })
    );
}

#[test]
fn power_profiles_daemon_keeps_its_state() {
    let state = "/var/lib/power-profiles-daemon/state.ini";
    let profiles = |driver: &str, reads: &str, profile: &str| {
        cpus(driver, "performance powersave", reads)
            .default_governor("performance")
            .systemd(&["+power-profiles-daemon"])
            .file(state, &format!("[State]\nCpuDriver={driver}\nProfile={profile}\n"))
            .why("governor")
    };
    let why = profiles("intel_pstate", "powersave", "performance");
    assert!(
        why.sentence.contains("sets powersave, its profile is performance; it reads powersave now"),
        "{}",
        why.sentence
    );
    assert_eq!((at(&why, state).line, at(&why, state).phase), (Some(3), BootPhase::Daemons));
    let why = profiles("amd-pstate-epp", "performance", "performance");
    assert!(why.sentence.contains("sets one of performance, powersave"), "{}", why.sentence);
    let why = profiles("acpi-cpufreq", "performance", "power-saver");
    assert!(matches!(&at(&why, state).standing, BootStanding::Off { why } if why.contains("it sets no governor")));

    let asleep = machine("schedutil", &["power-profiles-daemon"]);
    let bus = "/usr/share/dbus-1/system-services/net.hadess.PowerProfiles.service";
    assert!(matches!(
        &asleep.file(bus, "[D-BUS Service]\n").why("governor").findings[1].standing,
        BootStanding::Off { why } if why.contains("acpi-cpufreq")
    ));
}

/// Laptops where the daemons of the desktop set the preference, beside the governor that most people look at.
#[test]
fn who_sets_the_preference_is_found_as_who_sets_the_governor() {
    let laptop = |services: &[&str], reads: &str| {
        let tree = ["policy0", "policy2"].iter().fold(
            cpus("intel_pstate", "performance powersave", "powersave"),
            |tree, policy| {
                let file = |name: &str| format!("/sys/devices/system/cpu/cpufreq/{policy}/energy_performance_{name}");
                tree.file(&file("preference"), reads).file(
                    &file("available_preferences"),
                    "default performance balance_performance balance_power power\n",
                )
            },
        );
        tree.systemd(services)
            .file("/sys/class/power_supply/AC/type", "Mains\n")
            .file("/sys/class/power_supply/AC/online", "1\n")
    };
    let sentence = |tree: Tree| {
        let mut tree = tree;
        tree.why("epp").sentence
    };
    let state = "[State]\nDriver=intel_pstate\nProfile=power-saver\n";
    let profiles =
        laptop(&["+power-profiles-daemon"], "power\n").file("/var/lib/power-profiles-daemon/state.ini", state);
    let found = sentence(profiles);
    assert!(found.contains("sets power, its profile is power-saver; it reads power now"), "{found}");
    let balanced = sentence(laptop(&["+power-profiles-daemon"], "balance_performance\n"));
    assert!(balanced.contains("sets balance_performance, its profile is balanced; it reads"), "{balanced}");
    let tlp = laptop(&["+tlp"], "power\n").file("/etc/tlp.conf", "CPU_ENERGY_PERF_POLICY_ON_AC=power\n");
    assert!(sentence(tlp).contains("sets power, as the machine is on the mains"));
    let auto = laptop(&["+auto-cpufreq"], "balance_performance\n");
    assert!(sentence(auto).contains("sets one of balance_performance, performance, by default"));
    let tuned = laptop(&["+tuned"], "balance_power\n")
        .file("/etc/tuned/active_profile", "mine\n")
        .file("/etc/tuned/mine/tuned.conf", "[cpu]\nenergy_performance_preference=balance_power|power\n");
    assert!(sentence(tuned).contains("by its profile mine"));
}

#[test]
fn auto_cpufreq_chooses_by_its_configuration_or_by_itself() {
    let why = machine("performance", &["+auto-cpufreq"]).why("governor");
    assert!(why.sentence.ends_with("sets performance, by default, without a configuration; it reads performance now"));
    let config = "[charger]\ngovernor = ondemand\nscaling_max_freq = 2000000\n[battery]\ngovernor = powersave\n";
    let mut tree = machine("ondemand", &["+auto-cpufreq"]).file("/etc/auto-cpufreq.conf", config);
    assert_eq!(at(&tree.why("governor"), "/etc/auto-cpufreq.conf").values, ["ondemand"]);
    assert_eq!(at(&tree.why("max_freq"), "/etc/auto-cpufreq.conf").values, ["2000000"]);
    let mut tree = machine("powersave", &["+auto-cpufreq"])
        .file("/sys/class/power_supply/BAT0/type", "Battery\n")
        .file("/etc/auto-cpufreq.conf", config);
    assert!(at(&tree.why("governor"), "/etc/auto-cpufreq.conf").explains);
}

#[test]
fn a_unit_of_ones_own_is_read_through_to_its_script() {
    let unit = "/etc/systemd/system/fast.service";
    let wants = "/etc/systemd/system/multi-user.target.wants/fast.service";
    for command in [
        "/bin/sh -c 'echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor'",
        "/usr/bin/cpupower frequency-set -g performance",
        "-/usr/local/bin/fast.sh now",
    ] {
        let text = format!(
            "[Service]\nType=oneshot\nExecStart={command}\nExecStop=/usr/bin/cpupower frequency-set -g ondemand\n"
        );
        let script = "#!/bin/bash\nfor cpu in /sys/devices/system/cpu/cpu[0-9]*; do\n  echo performance > $cpu/cpufreq/scaling_governor\ndone\n";
        let tree = machine("performance", &[]).file(unit, &text).file(wants, &text);
        let why = tree.executable("/usr/local/bin/fast.sh", script).why("governor");
        assert!(
            why.sentence.ends_with(
                "then fast.service (enabled for multi-user.target) sets performance; it reads performance now"
            ),
            "{command}: {}",
            why.sentence
        );
        assert_eq!(why.findings.len(), 2, "what it does at its end is no matter: {:?}", why.findings);
    }
    let text = "[Service]\nExecStart=/usr/bin/cpupower frequency-set -g performance\n";
    let timed = machine("performance", &[]).file(unit, text);
    let why =
        timed.file("/etc/systemd/system/timers.target.wants/fast.timer", "[Timer]\nOnBootSec=1min\n").why("governor");
    assert_eq!((at(&why, unit).how.as_deref(), at(&why, unit).explains), (Some("started by fast.timer"), true));
    let template = machine("performance", &[]).file("/etc/systemd/system/set@.service", text);
    let instance = "/etc/systemd/system/basic.target.wants/set@0.service";
    let why = template.file(instance, text).why("governor");
    assert_eq!(at(&why, "/etc/systemd/system/set@.service").how.as_deref(), Some("enabled as set@0.service"));
    let off = machine("schedutil", &[])
        .file(unit, "ExecStart=/usr/bin/cpupower frequency-set -g performance\n")
        .why("governor");
    assert_eq!(at(&off, unit).standing, BootStanding::Off { why: "fast.service is not enabled".into() });
}

/// A node of Slurm, and the environment of who looks.
fn slurm(reads: &str, config: &str, environment: &str) -> Tree {
    machine(reads, &["+slurmd"]).file("/etc/slurm/slurm.conf", config).file("/proc/self/environ", environment)
}

const SLURM: &str =
    "TaskPlugin=task/affinity,task/cgroup\nCpuFreqDef=Performance\nCpuFreqGovernors=OnDemand,Performance\n";

#[test]
fn slurm_sets_governors_for_the_steps_of_a_job() {
    let config = "/etc/slurm/slurm.conf";
    // Outside of a job it sets nothing.
    let why = slurm("schedutil", SLURM, "HOME=/root\0").why("governor");
    assert_eq!(at(&why, config).standing, BootStanding::Off { why: "it acts while a step of a job runs".into() });
    // In one it sets its default, unless the step asks for something.
    let why = slurm("performance", SLURM, "SLURM_JOB_ID=7\0").why("governor");
    let found = at(&why, config);
    assert_eq!((found.line, found.phase, found.explains), (Some(2), BootPhase::Running, true));
    let asked = "SLURM_JOB_ID=7\0SLURM_CPU_FREQ_REQ=OnDemand\0";
    let why = slurm("ondemand", SLURM, asked).why("governor");
    assert!(at(&why, "/proc/self/environ").explains, "{}", why.sentence);
    assert!(matches!(at(&why, config).standing, BootStanding::Overridden { .. }));
    let refused = "SLURM_JOB_ID=7\0SLURM_CPU_FREQ_REQ=Conservative\0";
    let why = slurm("performance", SLURM, refused).why("governor");
    assert!(
        matches!(&at(&why, "/proc/self/environ").standing, BootStanding::Off { why } if why.contains("CpuFreqGovernors"))
    );
    let why =
        slurm("userspace", SLURM, "SLURM_JOB_ID=7\0SLURM_CPU_FREQ_REQ=1000000-2000000:OnDemand\0").why("max_freq");
    assert_eq!(at(&why, "/proc/self/environ").values, ["2000000"]);
}

#[test]
fn slurm_ignores_frequencies_of_steps_without_cpus_of_their_own() {
    let ignored = |tree: Tree, config: &str| {
        let mut tree = tree;
        matches!(&at(&tree.why("governor"), config).standing, BootStanding::Off { why } if why.contains("task/affinity"))
    };
    let config = "TaskPlugin=task/cgroup\nCpuFreqDef=Performance\n";
    assert!(ignored(slurm("schedutil", config, "SLURM_JOB_ID=7\0"), "/etc/slurm/slurm.conf"));
    let bound = slurm("performance", config, "SLURM_JOB_ID=7\0").file("/etc/slurm/cgroup.conf", "ConstrainCores=yes\n");
    assert!(!ignored(bound, "/etc/slurm/slurm.conf"));
    let elsewhere = "SLURM_JOB_ID=7\0SLURM_CONF=/opt/slurm.conf\0";
    let tree = slurm("schedutil", SLURM, elsewhere).file("/opt/slurm.conf", config);
    assert!(ignored(tree, "/opt/slurm.conf"));
}
