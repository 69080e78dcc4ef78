//! What the boot loader told the kernel, as /proc/cmdline has it.
use powerband_sysfs::{cpufreq, cpuidle, module, proc::CMDLINE};

use crate::finding::{BootFinding, BootStanding};
use crate::scene::Scene;
use crate::shell::sysctl_path;

/// Options that are not the parameter of a module, and the files that show what they set.
const FILES: [(&str, &str); 3] = [
    ("cpuidle.governor", cpuidle::CURRENT_GOVERNOR),
    ("intel_pstate", cpufreq::INTEL_STATUS),
    ("amd_pstate", cpufreq::AMD_STATUS),
];

/// Options that choose the driver, and with it which governors there are.
const DRIVERS: [&str; 4] = ["intel_pstate", "amd_pstate", "cpufreq.off", "amd_prefcore"];

pub(super) fn look(scene: &mut Scene<'_>) {
    let Some(line) = scene.text(CMDLINE) else { return };
    for word in line.split_whitespace() {
        // What follows is for init, not for the kernel.
        if word == "--" {
            break;
        }
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let name = name.replace('-', "_");
        let finding = BootFinding::new("the command line", CMDLINE).line(1, word).how(word);
        if name == "cpufreq.default_governor" && scene.target.is_governor() {
            let sites = scene.target.everywhere();
            scene.push(finding.verb("asks for").sets(vec![value.to_owned()], sites));
        } else if DRIVERS.contains(&name.as_str()) && scene.target.is_governor() {
            let why = "it chooses the driver, which decides which governors there are".to_owned();
            scene.push(finding.standing(BootStanding::Off { why }));
        } else {
            let sites = scene.target.at_path(&file_of(&name));
            if !sites.is_empty() {
                scene.push(finding.sets(vec![value.to_owned()], sites));
            }
        }
    }
}

/// The file that shows what an option sets: a table, `sysctl.KEY`, or the parameter of a module, `MODULE.NAME`.
fn file_of(name: &str) -> String {
    if let Some((_, file)) = FILES.iter().find(|(option, _)| *option == name) {
        return (*file).to_owned();
    }
    if let Some(key) = name.strip_prefix("sysctl.") {
        return sysctl_path(key);
    }
    name.split_once('.').map_or_else(String::new, |(module, name)| module::parameter(module, name))
}

/// The option that would set a file from the start of the kernel, whose text is all policies' governor where `is_governor`.
pub(crate) fn option_of(path: &str, is_governor: bool, text: &str) -> Option<String> {
    if is_governor {
        return Some(format!("cpufreq.default_governor={text}"));
    }
    let listed = FILES.iter().find(|(_, file)| *file == path).map(|(option, _)| (*option).to_owned());
    let name = listed.or_else(|| {
        let (module, name) = path.strip_prefix(module::MODULES)?.split_once("/parameters/")?;
        Some(format!("{module}.{name}"))
    })?;
    Some(format!("{name}={text}"))
}
