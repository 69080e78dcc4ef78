//! Whether the kernel's own configurator keeps every line of a fragment. Takes minutes and a kernel's source.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::desk::Desk;

/// Names the folder of a kernel's unpacked source; `make` there needs flex, bison and gcc.
const SOURCE: &str = "POWERBAND_KERNEL_SOURCE";

/// Names a distribution's configuration of that source, for amd64.
const CONFIG: &str = "POWERBAND_KERNEL_CONFIG";

const GOVERNORS: [&str; 6] = ["performance", "powersave", "userspace", "ondemand", "conservative", "schedutil"];

/// A kernel's source and a folder to configure it in.
struct Tree<'a> {
    source: PathBuf,
    folder: PathBuf,
    desk: &'a Desk,
}

impl Tree<'_> {
    fn make(&self, arch: &str, goal: &str) {
        let mut make = Command::new("make");
        make.arg("-C").arg(&self.source).arg(format!("O={}", self.folder.display()));
        let output = make.args([&format!("ARCH={arch}"), "-s", goal]).output().unwrap();
        assert!(output.status.success(), "make {goal}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn config(&self) -> String {
        fs::read_to_string(self.folder.join(".config")).unwrap()
    }

    /// What becomes of a text that is no whole configuration.
    fn complete(&self, arch: &str, text: &str) -> String {
        fs::write(self.folder.join(".config"), text).unwrap();
        self.make(arch, "olddefconfig");
        self.config()
    }

    fn fragment(&self, config: &str, default: Option<&str>) -> String {
        let file = self.desk.beside("asked");
        fs::write(&file, config).unwrap();
        let mut words = vec!["doctor", "--fragment", "--kernel", file.to_str().unwrap()];
        words.extend(default.iter().flat_map(|name| ["--default-governor", name]));
        self.desk.run(&words).ended(0).out
    }

    /// What becomes of the present configuration and a fragment by the kernel's own script.
    fn merge(&self, arch: &str, fragment: &str) -> String {
        let (file, config) = (self.folder.join("fragment"), self.folder.join(".config"));
        fs::write(&file, fragment).unwrap();
        let mut merge = Command::new("scripts/kconfig/merge_config.sh");
        merge.current_dir(&self.source).env("KCONFIG_CONFIG", &config).args(["-m", "-O"]).arg(&self.folder);
        let output = merge.args([&config, &file]).output().unwrap();
        assert!(output.status.success(), "merge_config.sh: {}", String::from_utf8_lossy(&output.stderr));
        self.make(arch, "olddefconfig");
        self.config()
    }

    /// Merges the fragment of a configuration: every line stands, and there is nothing left to merge.
    fn check(&self, arch: &str, what: &str, config: &str, default: Option<&str>) {
        let fragment = self.fragment(config, default);
        fs::write(self.folder.join(".config"), config).unwrap();
        let merged = self.merge(arch, &fragment);
        let stands = |line: &str| match line.strip_prefix("# ").and_then(|rest| rest.strip_suffix(" is not set")) {
            // What a choice leaves out may not be named at all.
            Some(name) => !merged.lines().any(|other| other.starts_with(&format!("{name}="))),
            None => merged.lines().any(|other| other == line),
        };
        let lost: Vec<&str> = fragment.lines().filter(|line| !stands(line)).collect();
        assert!(lost.is_empty(), "{what} with default {default:?} loses {lost:?} of\n{fragment}");
        assert_eq!(self.fragment(&merged, default), "", "{what} with default {default:?}");
    }
}

/// A configuration with these symbols off.
fn without(config: &str, symbols: &[&str]) -> String {
    let is_cut = |line: &str| symbols.iter().any(|name| line.starts_with(&format!("CONFIG_{name}=")));
    let kept = config.lines().filter(|line| !is_cut(line)).map(|line| format!("{line}\n"));
    kept.chain(symbols.iter().map(|name| format!("# CONFIG_{name} is not set\n"))).collect()
}

#[test]
fn sweep_the_kernels_configurator_keeps_every_line_of_a_fragment() {
    let Some(source) = std::env::var_os(SOURCE).map(PathBuf::from) else {
        eprintln!("skipped: {SOURCE} names no kernel's source");
        return;
    };
    let desk = Desk::new();
    let tree = Tree { source, folder: desk.beside("built"), desk: &desk };
    fs::create_dir(&tree.folder).unwrap();
    for arch in ["x86_64", "arm", "arm64"] {
        let folder = if arch.starts_with("arm") { arch } else { "x86" };
        if !tree.source.join(Path::new("arch")).join(folder).join("Makefile").exists() {
            eprintln!("left out: no {arch} in this source");
            continue;
        }
        for goal in ["allnoconfig", if arch == "arm" { "multi_v7_defconfig" } else { "defconfig" }] {
            tree.make(arch, goal);
            tree.check(arch, &format!("{arch} {goal}"), &tree.config(), None);
        }
        let whole = tree.complete(arch, &format!("{}\nCONFIG_MODULES=y\n", tree.config()));
        let cuts: [&[&str]; 6] = [
            &["SCHED_MC_PRIO", "CPU_FREQ"],
            &["ACPI", "CGROUPS"],
            &["PCI", "NET", "HWMON"],
            &["SCHED_MC_PRIO", "X86_INTEL_PSTATE", "X86_AMD_PSTATE", "X86_ACPI_CPUFREQ"],
            &["MODULES", "CPU_IDLE", "POWERCAP", "FAIR_GROUP_SCHED"],
            &["SCHED_MC_PRIO", "SMP", "CPU_FREQ", "ACPI", "PCI"],
        ];
        for cut in cuts {
            let config = tree.complete(arch, &without(&whole, cut));
            tree.check(arch, &format!("{arch} without {cut:?}"), &config, None);
        }
        for cut in [&[][..], cuts[5]] {
            let config = tree.complete(arch, &without(&whole, cut));
            for governor in GOVERNORS {
                tree.check(arch, &format!("{arch} without {cut:?}"), &config, Some(governor));
            }
        }
    }
}

#[test]
fn sweep_a_distributions_configuration_keeps_every_line_of_a_fragment() {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let Some((source, config)) = named(SOURCE).zip(named(CONFIG)) else {
        eprintln!("skipped: {SOURCE} and {CONFIG} name no kernel's source and its configuration");
        return;
    };
    let desk = Desk::new();
    let tree = Tree { source, folder: desk.beside("built"), desk: &desk };
    fs::create_dir(&tree.folder).unwrap();
    let whole = tree.complete("x86_64", &fs::read_to_string(config).unwrap());
    let (drivers, governors) = (
        &["X86_ACPI_CPUFREQ", "X86_PCC_CPUFREQ"][..],
        &["CPU_FREQ_GOV_ONDEMAND", "CPU_FREQ_GOV_CONSERVATIVE", "CPU_FREQ_GOV_USERSPACE"][..],
    );
    let cuts = [&[][..], &["SCHED_MC_PRIO", "CPU_FREQ"], drivers, governors, &["CPU_FREQ_STAT"], &["NET"]];
    for cut in cuts {
        let config = tree.complete("x86_64", &without(&whole, cut));
        for default in std::iter::once(None).chain(GOVERNORS.map(Some)) {
            tree.check("x86_64", &format!("a distribution's without {cut:?}"), &config, default);
        }
    }
}
