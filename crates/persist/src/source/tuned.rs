//! TuneD: the active profile with everything it includes, and the plain scripts of the tuned before it.
mod profile;

use crate::finding::{BootFinding, BootStanding};
use crate::keys::last;
use crate::scene::{Scene, of_service};
use crate::shell::sysctl_path;

use profile::{Line, Profile};

/// Where the active profile is written.
const ACTIVE: &str = "/etc/tuned/active_profile";

/// Where that of CentOS 6 is.
const ACTIVE_BEFORE: &str = "/etc/tune-profiles/active-profile";

/// What a plugin's settings become a file by.
const SAMPLING: &str = "sampling_down_factor";

pub(super) fn look(scene: &mut Scene<'_>) {
    before(scene);
    let service = scene.service("tuned");
    let Some(active) = scene.text(ACTIVE).filter(|_| service.is_there()) else { return };
    let names: Vec<&str> = active.split_whitespace().collect();
    let pattern = of_service("TuneD", &service);
    if names.is_empty() {
        let why = "it chooses a profile automatically, and does not record which".to_owned();
        if pattern.standing == BootStanding::Acts {
            let finding = BootFinding { path: ACTIVE.to_owned(), ..pattern };
            scene.push(finding.standing(BootStanding::Unsure { why }));
        }
        return;
    }
    let mut profile = Profile::default();
    for name in &names {
        profile.read(scene, name);
    }
    for missing in std::mem::take(&mut profile.missing) {
        let finding = BootFinding { path: ACTIVE.to_owned(), ..pattern.clone() };
        let why = format!("there is no profile '{missing}'");
        scene.push(finding.line(1, &active).standing(BootStanding::Unreadable { why }));
    }
    let because = format!("by its profile {}", names.join(" "));
    for line in profile.settled().lines() {
        let finding = BootFinding { path: line.path.clone(), ..pattern.clone() };
        setting(scene, &finding.line(line.line, &line.text).because(because.clone()), line);
    }
}

/// What one line of a profile sets.
fn setting(scene: &mut Scene<'_>, finding: &BootFinding, line: &Line) {
    let finding = finding.clone();
    match (line.plugin.as_str(), line.name.as_str()) {
        ("cpu", "governor") if scene.target.is_governor() => {
            let wanted: Vec<&str> = line.value.split('|').map(str::trim).collect();
            let (values, sites) = (scene.first_offered(&wanted), scene.target.everywhere());
            scene.push(finding.sets(values, sites));
        }
        ("cpu", "energy_performance_preference") if scene.target.name() == "cpufreq.epp" => {
            // Of several it sets the first that the driver offers.
            let values = line.value.split('|').map(|value| value.trim().to_owned()).collect();
            let sites = scene.target.everywhere();
            scene.push(finding.sets(values, sites));
        }
        ("cpu", SAMPLING) if scene.target.name().ends_with(SAMPLING) => {
            let sites = scene.target.everywhere();
            scene.push(finding.sets(vec![line.value.clone()], sites));
        }
        ("sysctl", key) => {
            let sites = scene.target.at_path(&sysctl_path(key));
            if !sites.is_empty() {
                sysctl(scene, finding.sets(vec![line.value.clone()], sites));
            }
        }
        ("sysfs", path) => {
            let sites = scene.target.at_path(path);
            if !sites.is_empty() {
                scene.push(finding.sets(vec![line.value.clone()], sites));
            }
        }
        ("net", "coalesce") => coalesce(scene, finding, line),
        ("script", "script") => {
            for path in line.value.split(',') {
                let path = path.trim().replace("${i:PROFILE_DIR}", line.path.trim_end_matches("/tuned.conf"));
                if let Some(text) = scene.peek(&path) {
                    scene.script(&BootFinding { path, line: None, ..finding.clone() }, &text);
                }
            }
        }
        _ => {}
    }
}

/// TuneD lets what the administrator wrote for sysctl win, unless it is told otherwise.
fn sysctl(scene: &mut Scene<'_>, finding: BootFinding) {
    let keys = scene.keys("/etc/tuned/tuned-main.conf");
    let again = last(&keys, "reapply_sysctl").is_none_or(|key| !matches!(key.value.as_str(), "0" | "no" | "false"));
    let administrator = ["/etc/sysctl.", "/run/sysctl."];
    let theirs = scene
        .findings()
        .iter()
        .find(|other| other.counts() && administrator.iter().any(|folder| other.path.starts_with(folder)));
    match theirs.map(BootFinding::place).filter(|_| again && finding.standing == BootStanding::Acts) {
        Some(place) => {
            let why = format!("TuneD applies {place} again after its own (reapply_sysctl)");
            scene.push(finding.standing(BootStanding::Off { why }));
        }
        None => scene.push(finding),
    }
}

/// `coalesce=rx-usecs 10 adaptive-rx off`, for the devices of its section.
fn coalesce(scene: &mut Scene<'_>, finding: BootFinding, line: &Line) {
    let words: Vec<&str> = line.value.split_whitespace().collect();
    let parameter = scene.target.parameter().unwrap_or_default().to_owned();
    let Some(value) = words.chunks(2).find(|pair| pair[0] == parameter).and_then(|pair| pair.get(1)) else { return };
    let mut sites = scene.target.everywhere();
    if let Some(devices) = &line.devices {
        let wanted: Vec<&str> = devices.split([',', ' ']).filter(|device| !device.is_empty()).collect();
        sites.retain(|site| wanted.iter().any(|device| crate::glob::matches(device, site)));
    }
    if !sites.is_empty() {
        scene.push(finding.sets(vec![(*value).to_owned()], sites));
    }
}

/// The tuned of CentOS 6, whose profiles are scripts.
fn before(scene: &mut Scene<'_>) {
    let Some(active) = scene.peek(ACTIVE_BEFORE) else { return };
    let name = active.trim().to_owned();
    let service = ["ktune", "tuned"].map(|name| scene.service(name)).into_iter().find(|service| service.is_there());
    let Some(service) = service else { return };
    let path = format!("/etc/tune-profiles/{name}/ktune.sh");
    if let Some(text) = scene.text(&path) {
        let finding = BootFinding { path, ..of_service("tuned", &service) };
        scene.script(&finding.because(format!("by its profile {name}")), &text);
    }
}
