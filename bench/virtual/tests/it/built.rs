//! A kernel built as `doctor` says: the fragment of a small configuration without cpufreq is merged, compiled, booted, and
//! what it promised is turned. Takes minutes and a kernel's source.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use powerband_bench_virtual::{BootOptions, Guest, GuestKernel, powerband};
use tempfile::TempDir;

use crate::desk::{Desk, had};

/// Names the folder of a kernel's unpacked source; `make` there needs flex, bison, bc and gcc.
const SOURCE: &str = "POWERBAND_KERNEL_SOURCE";

/// What a guest and the command live on, and nothing of cpufreq. Added to `allnoconfig`.
const SMALL: &str = "CONFIG_64BIT=y CONFIG_SMP=y CONFIG_CPU_SUP_INTEL=y CONFIG_PRINTK=y CONFIG_TTY=y CONFIG_SERIAL_8250=y \
    CONFIG_SERIAL_8250_CONSOLE=y CONFIG_BLK_DEV_INITRD=y CONFIG_BINFMT_ELF=y CONFIG_BINFMT_SCRIPT=y CONFIG_PCI=y \
    CONFIG_ACPI=y CONFIG_VIRTIO_MENU=y CONFIG_VIRTIO_PCI=y CONFIG_BLOCK=y CONFIG_BLK_DEV=y CONFIG_VIRTIO_BLK=y \
    CONFIG_VIRTIO_CONSOLE=y CONFIG_EXT4_FS=y CONFIG_PROC_FS=y CONFIG_PROC_SYSCTL=y CONFIG_SYSFS=y CONFIG_TMPFS=y \
    CONFIG_SHMEM=y CONFIG_DEVTMPFS=y CONFIG_CGROUPS=y CONFIG_MULTIUSER=y CONFIG_FUTEX=y CONFIG_EPOLL=y CONFIG_SIGNALFD=y \
    CONFIG_EVENTFD=y CONFIG_TIMERFD=y CONFIG_POSIX_TIMERS=y CONFIG_FILE_LOCKING=y CONFIG_NET=y CONFIG_UNIX=y CONFIG_INET=y \
    CONFIG_IKCONFIG=y CONFIG_IKCONFIG_PROC=y CONFIG_HIGH_RES_TIMERS=y CONFIG_NO_HZ_IDLE=y CONFIG_ACPI_PROCESSOR=n \
    CONFIG_SCHED_MC_PRIO=n CONFIG_CPU_FREQ=n";

/// A kernel's source and the folder it is built in.
struct Build {
    source: PathBuf,
    folder: TempDir,
}

impl Build {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make(&self, words: &[&str]) {
        let mut make = Command::new("make");
        make.arg("-C").arg(&self.source).arg(format!("O={}", self.folder.path().display()));
        let output = make.args(["ARCH=x86_64", "-s"]).args(words).output().unwrap();
        assert!(output.status.success(), "make {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Merges lines into the configuration: each must stand.
    fn merge(&self, lines: &[String]) {
        let config = self.path(".config");
        fs::write(self.path("fragment"), lines.concat()).unwrap();
        let mut merge = Command::new("scripts/kconfig/merge_config.sh");
        merge.current_dir(&self.source).env("KCONFIG_CONFIG", &config).args(["-m", "-O"]).arg(self.folder.path());
        let output = merge.args([&config, &self.path("fragment")]).output().unwrap();
        assert!(output.status.success(), "merge_config.sh: {}", String::from_utf8_lossy(&output.stderr));
        self.make(&["olddefconfig"]);
        let config = fs::read_to_string(config).unwrap();
        let stands = |line: &str| match line.trim_end().strip_suffix("=n") {
            Some(name) => !config.lines().any(|other| other.starts_with(&format!("{name}="))),
            None => config.lines().any(|other| other == line.trim_end()),
        };
        let lost: Vec<&String> = lines.iter().filter(|line| !stands(line)).collect();
        assert!(lost.is_empty(), "{lost:?} do not stand");
    }

    /// The fragment of the present configuration, line by line.
    fn fragment(&self, default: &str) -> Vec<String> {
        let mut doctor = Command::new(powerband().unwrap());
        doctor.args(["doctor", "--fragment", "--default-governor", default, "--kernel"]).arg(self.path(".config"));
        let output = doctor.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(|line| format!("{line}\n")).collect()
    }

    /// The kernel, compiled with the fragment, and the governors it was promised.
    fn kernel(&self, default: &str) -> (GuestKernel, BTreeSet<String>) {
        self.make(&["allnoconfig"]);
        self.merge(&SMALL.split(' ').map(|line| format!("{line}\n")).collect::<Vec<_>>());
        let fragment = self.fragment(default);
        self.merge(&fragment);
        let promised =
            fragment.iter().filter_map(|line| line.strip_prefix("CONFIG_CPU_FREQ_GOV_")?.strip_suffix("=y\n"));
        let promised = promised.map(str::to_lowercase).collect();
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        self.make(&[&format!("-j{jobs}"), "bzImage"]);
        (GuestKernel::built(self.path("arch/x86/boot/bzImage")), promised)
    }
}

/// A file of every policy, each once.
#[track_caller]
fn every_policy(guest: &mut Guest, file: &str) -> String {
    guest.sh(&format!("sort -u /sys/devices/system/cpu/cpufreq/policy[01]/{file}")).trim().to_owned()
}

fn turn_all(guest: &mut Guest, default: &str, promised: &BTreeSet<String>) {
    assert_eq!(every_policy(guest, "scaling_driver"), "acpi-cpufreq");
    assert_eq!(every_policy(guest, "scaling_governor"), default);
    let offered = every_policy(guest, "scaling_available_governors");
    assert_eq!(offered.split(' ').map(str::to_owned).collect::<BTreeSet<_>>(), *promised);
    assert!(promised.len() > 5, "{promised:?}");
    let cpus = guest.powerband(0, "info cpu");
    assert!(cpus.contains("acpi-cpufreq") && cpus.contains(default), "{cpus}");
    for governor in promised {
        let said = guest.powerband(0, &format!("set governor={governor} --json"));
        let landed = if governor == default { "already so" } else { "applied" };
        assert!(said.contains(&format!("\"landed\": \"{landed}\"")), "{governor}: {said}");
        assert_eq!(every_policy(guest, "scaling_governor"), *governor);
        guest.powerband(0, "undo");
        assert_eq!(every_policy(guest, "scaling_governor"), default);
    }
    // Asked there again, by the kernel's own configuration of itself.
    assert_eq!(guest.powerband(0, &format!("doctor --fragment --default-governor {default}")), "");
}

#[test]
fn sweep_a_kernel_built_by_the_fragment_has_what_it_promised() {
    let Some(source) = std::env::var_os(SOURCE).map(PathBuf::from) else {
        eprintln!("skipped: {SOURCE} names no kernel's source");
        return;
    };
    assert!(Path::new(&source).join("Kconfig").is_file(), "{}", source.display());
    let build = Build { source, folder: tempfile::tempdir().unwrap() };
    // With the second, intel_pstate comes along and finds no CPU of its own. Little is compiled again for it.
    for default in ["conservative", "powersave"] {
        let (kernel, promised) = build.kernel(default);
        let options = BootOptions { kernel: Some(kernel), ..BootOptions::machine("quadcore").unwrap() };
        let Some(mut guest) = had(Guest::boot(&options)) else { return };
        turn_all(&mut guest, default, &promised);
    }
}
