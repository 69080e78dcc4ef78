//! cpuspeed of Red Hat Enterprise Linux and CentOS 5 and 6: a script that loads a driver, picks a governor by it, and
//! runs a daemon of the same name where the governor is userspace.
use crate::finding::{BootFinding, BootStanding};
use crate::keys::{Key, last};
use crate::scene::{Scene, of_service};
use crate::service::Start;

use super::kernel::configuration;

const CONFIG: &str = "/etc/sysconfig/cpuspeed";

/// Drivers on which the script lets a governor of the kernel work; on the others its daemon does.
const FOR_GOVERNORS: [&str; 4] = ["acpi-cpufreq", "centrino", "speedstep-centrino", "powernow-k8"];

/// What it writes into the governor's tunables, unless the governor is userspace.
const TUNABLES: [(&str, &str); 3] =
    [("UP_THRESHOLD", "up_threshold"), ("DOWN_THRESHOLD", "down_threshold"), ("IGNORE_NICE", "ignore_nice_load")];

pub(super) fn look(scene: &mut Scene<'_>) {
    let service = scene.service("cpuspeed");
    if !service.is_there() || !scene.target.is_of_the_clock() {
        return;
    }
    let keys = scene.keys(CONFIG);
    let finding = of_service("cpuspeed", &service);
    match scene.target.name().to_owned().as_str() {
        "cpufreq.governor" => {
            let loads = if matches!(service.start, Start::On(_)) { loads(scene, &keys) } else { None };
            let verb = loads.map_or_else(|| "sets".to_owned(), |driver| format!("loads {driver} and sets"));
            governor(scene, finding.verb(verb), &keys);
        }
        "cpufreq.min_freq" => scene.key(&finding, CONFIG, &keys, "MIN_SPEED"),
        "cpufreq.max_freq" => scene.key(&finding, CONFIG, &keys, "MAX_SPEED"),
        "cpufreq.freq" => daemon(scene, finding),
        name => {
            let tunable = name.split_once('.').map_or("", |(_, tunable)| tunable).to_owned();
            if let Some((key, _)) = TUNABLES.iter().find(|(_, name)| *name == tunable) {
                scene.key(&finding, CONFIG, &keys, key);
            }
        }
    }
}

/// The driver it loads, where the kernel does not have one built in.
fn loads(scene: &mut Scene<'_>, keys: &[Key]) -> Option<String> {
    if let Some(key) = last(keys, "DRIVER").filter(|key| !key.value.is_empty()) {
        return Some(key.value.clone());
    }
    let (_, config) = configuration(scene)?;
    config.lines().any(|line| line.trim() == "CONFIG_X86_ACPI_CPUFREQ=m").then(|| "acpi-cpufreq".to_owned())
}

fn governor(scene: &mut Scene<'_>, finding: BootFinding, keys: &[Key]) {
    let driver = scene.target.driver.clone();
    let chosen = last(keys, "GOVERNOR").filter(|key| !key.value.is_empty());
    let sites = scene.target.everywhere();
    let Some(driver) = driver else {
        let values = vec!["ondemand".to_owned(), "userspace".to_owned()];
        return scene.push(finding.sets(values, sites).because("by the driver, which the kernel does not report"));
    };
    let because = format!("because the driver is {driver}");
    if !FOR_GOVERNORS.contains(&driver.as_str()) {
        let because = format!("{because}, on which its own daemon picks the frequency");
        return scene.push(finding.sets(vec!["userspace".to_owned()], sites).because(because));
    }
    match chosen {
        Some(key) => {
            let finding = BootFinding { path: CONFIG.to_owned(), ..finding }.line(key.line, &key.text);
            scene.push(finding.sets(vec![key.value.clone()], sites).because("as its configuration says"));
        }
        None => scene.push(finding.sets(vec!["ondemand".to_owned()], sites).because(because)),
    }
}

/// The daemon moves the frequency all the time, while the governor is userspace.
fn daemon(scene: &mut Scene<'_>, finding: BootFinding) {
    let sites = scene.target.everywhere();
    let on = finding.standing == BootStanding::Acts;
    let finding = finding.sets(Vec::new(), sites);
    let why = "its daemon moves it by the load, while the governor is userspace".to_owned();
    scene.push(if on { finding.standing(BootStanding::Unsure { why }) } else { finding });
}
