//! The kernel's own default, from its configuration or from the parameter that holds it (5.9 and later).
use powerband_sysfs::{module::DEFAULT_GOVERNOR, proc, proc::CONFIG};

use crate::finding::{BootFinding, BootStanding};
use crate::scene::Scene;

/// What the name of the option that chooses begins with.
const OPTION: &str = "CONFIG_CPU_FREQ_DEFAULT_GOV_";

pub(super) fn look(scene: &mut Scene<'_>) {
    if !scene.target.is_governor() {
        return;
    }
    let Some((path, config)) = configuration(scene) else {
        return without(scene);
    };
    let sites = scene.target.everywhere();
    for (number, line) in (1..).zip(config.lines()) {
        let Some(option) = line.trim().strip_suffix("=y").filter(|option| option.starts_with(OPTION)) else { continue };
        let governor = option[OPTION.len()..].to_lowercase();
        let finding = BootFinding::new("the kernel", path.clone()).line(number, line).how(option);
        scene.push(finding.verb("starts with").sets(vec![governor], sites.clone()));
    }
}

/// The configuration of the kernel that runs, as text.
pub(super) fn configuration(scene: &mut Scene<'_>) -> Option<(String, String)> {
    let release = scene.text(proc::OSRELEASE)?;
    let release = release.trim();
    let places = [
        format!("/boot/config-{release}"),
        format!("/usr/lib/modules/{release}/config"),
        format!("/lib/modules/{release}/config"),
    ];
    places.into_iter().find_map(|path| scene.text(&path).map(|text| (path, text)))
}

/// Without a configuration: the parameter, unless the command line has set it; and what cannot be read.
fn without(scene: &mut Scene<'_>) {
    let told = scene.text(proc::CMDLINE).is_some_and(|line| line.contains("cpufreq.default_governor="));
    let parameter =
        scene.text(DEFAULT_GOVERNOR).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty() && !told);
    if let Some(governor) = parameter {
        let sites = scene.target.everywhere();
        let finding = BootFinding::new("the kernel", DEFAULT_GOVERNOR).line(1, &governor).how("its default");
        return scene.push(finding.verb("starts with").sets(vec![governor], sites));
    }
    let there = scene.machine().list("/proc").is_ok_and(|all| all.iter().any(|entry| entry.name == "config.gz"));
    if there {
        let why = format!("it is compressed, and powerband reads text; `zgrep {OPTION} {CONFIG}` shows the default");
        scene.push(BootFinding::new("the kernel", CONFIG).standing(BootStanding::Unreadable { why }));
    }
}
