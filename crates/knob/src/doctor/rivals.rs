//! Who else turns the same knobs: programs that run, and services that start at boot.
use powerband_machine::Look;
use powerband_sysfs::{names, proc, text};

use super::{DoctorFinding, Section};

/// A program that turns knobs.
struct Rival {
    /// Its process, as the kernel names it: 15 letters at most.
    process: &'static str,
    /// Its service; empty without one.
    service: &'static str,
    turns: &'static str,
}

const fn rival(process: &'static str, service: &'static str, turns: &'static str) -> Rival {
    Rival { process, service, turns }
}

const RIVALS: [Rival; 18] = [
    rival("tuned", "tuned", "governors, limits, sysctl and more, by its profile"),
    rival("tlp", "tlp", "governors, limits and boost at every change of the power supply"),
    rival("power-profiles-", "power-profiles-daemon", "energy preference and boost, by its profile"),
    rival("auto-cpufreq", "auto-cpufreq", "governors and boost, again every few seconds"),
    rival("thermald", "thermald", "limits and power caps when it gets warm"),
    rival("cpupower", "cpupower", "the governor at boot"),
    rival("cpufrequtils", "cpufrequtils", "the governor at boot"),
    rival("loadcpufreq", "loadcpufreq", "drivers and governor at boot"),
    rival("ondemand", "ondemand", "the governor, a minute after boot"),
    rival("cpuspeed", "cpuspeed", "frequencies, under the governor userspace"),
    rival("cpufreqd", "cpufreqd", "governors and limits, by its rules"),
    rival("cpudyn", "cpudyn", "frequencies, under the governor userspace"),
    rival("powernowd", "powernowd", "frequencies, under the governor userspace"),
    rival("laptop_mode", "laptop-mode", "governors and limits at every change of the power supply"),
    rival("irqbalance", "irqbalance", "which CPU serves which interrupt, which moves latency and power"),
    rival("gamemoded", "", "the governor, while a game runs"),
    rival("system76-power", "com.system76.PowerDaemon", "governors and energy preference, by its profile"),
    rival("asusd", "asusd", "energy preference and platform profile"),
];

/// Where systemd keeps what starts at boot.
const UNITS: &str = "/etc/systemd/system";

/// A folder that is there while systemd runs.
const SYSTEMD_RUNS: &str = "/run/systemd/system";

/// Folders of the distributions whose services chkconfig enables.
const CHKCONFIG: [&str; 2] = ["/etc/rc.d/init.d", "/etc/chkconfig.d"];

/// Where init scripts are linked that start at boot: Debian's, and those of others with and without a display.
const SCRIPTS: [&str; 3] = ["/etc/rc2.d", "/etc/rc3.d", "/etc/rc5.d"];

/// One line for each that runs or will run at the next boot.
pub(super) fn section(machine: &mut dyn Look) -> Section {
    let processes = processes(machine);
    let enabled = enabled(machine);
    let systemd = machine.list(SYSTEMD_RUNS).is_ok();
    let chkconfig = CHKCONFIG.iter().any(|path| machine.list(path).is_ok());
    let found = RIVALS.iter().filter_map(|rival| {
        let name = if rival.service.is_empty() { rival.process } else { rival.service };
        let (told, todo) = match processes.iter().find(|(_, process)| process == rival.process) {
            Some((pid, _)) => {
                let stop = match rival.service {
                    "" => format!("`kill {pid}`"),
                    service if systemd => format!("`systemctl stop {service}`"),
                    service => format!("`service {service} stop`"),
                };
                let todo = format!("{stop} while you measure; trials it disturbs are void");
                (format!("runs as process {pid} and sets {}", rival.turns), todo)
            }
            None if enabled.iter().any(|service| service == rival.service) => {
                let disable = match (systemd, chkconfig) {
                    (true, _) => format!("`systemctl disable {name}`"),
                    (false, true) => format!("`chkconfig {name} off`"),
                    // Debian's, where there is no chkconfig.
                    (false, false) => format!("`update-rc.d {name} disable`"),
                };
                let todo = format!("{disable} to keep your settings after a reboot");
                (format!("starts at boot and sets {}", rival.turns), todo)
            }
            None => return None,
        };
        Some(DoctorFinding::note(name, told).with(todo))
    });
    let mut findings: Vec<DoctorFinding> = found.collect();
    findings.extend(super::slurm::findings(machine));
    if findings.is_empty() && !processes.is_empty() {
        findings.push(DoctorFinding::ok("others", "no program known to set knobs runs or starts at boot"));
    }
    Section { name: "rivals", title: "other programs that set knobs".into(), findings }
}

/// Number and name of every process that can be seen.
fn processes(machine: &mut dyn Look) -> Vec<(u32, String)> {
    let pids = names(machine, "/proc").into_iter().filter_map(|name| name.parse().ok());
    pids.filter_map(|pid| Some((pid, text(machine, &proc::of_process(pid, "comm"))?))).collect()
}

/// The services that start at boot: units that some target wants, and init scripts.
fn enabled(machine: &mut dyn Look) -> Vec<String> {
    let mut services = Vec::new();
    for wants in names(machine, UNITS).iter().filter(|name| name.ends_with(".wants")) {
        let units = names(machine, &format!("{UNITS}/{wants}"));
        services.extend(units.iter().filter_map(|unit| unit.strip_suffix(".service")).map(str::to_owned));
    }
    for folder in SCRIPTS {
        // S20cpufrequtils
        let scripts = names(machine, folder);
        let started = scripts.iter().filter_map(|script| script.strip_prefix('S'));
        services.extend(started.map(|script| script.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned()));
    }
    services
}
