//! cpupower.service, whose configuration every distribution keeps elsewhere and spells in its own way.
use crate::finding::BootFinding;
use crate::scene::{Scene, of_service};

/// Files with a key for each setting, or with the whole command line in one.
pub(crate) const CONFIGS: [&str; 5] = [
    "/etc/cpupower-service.conf",
    "/etc/default/cpupower-service",
    "/etc/default/cpupower",
    "/etc/sysconfig/cpupower",
    "/etc/conf.d/cpupower",
];

pub(super) fn look(scene: &mut Scene<'_>) {
    let name = match scene.target.name() {
        "cpufreq.governor" => "governor",
        "cpufreq.min_freq" => "min_freq",
        "cpufreq.max_freq" => "max_freq",
        "cpufreq.freq" => "freq",
        _ => return,
    };
    let service = scene.service("cpupower");
    let pattern = of_service("cpupower", &service);
    for path in CONFIGS {
        for key in scene.keys(path) {
            let finding = BootFinding { path: path.to_owned(), ..pattern.clone() }.line(key.line, &key.text);
            if key.name.eq_ignore_ascii_case(name) && !key.value.is_empty() {
                let sites = scene.target.everywhere();
                scene.push(finding.sets(vec![key.value], sites));
            } else if key.name == "CPUPOWER_START_OPTS" {
                scene.script(&finding, &format!("cpupower {}", key.value));
            } else if key.name == "START_OPTS" {
                scene.script(&finding, &format!("cpupower frequency-set {}", key.value));
            }
        }
    }
    // Without a configuration the unit may hold the command itself.
    if service.path.starts_with('/')
        && let Some(text) = scene.peek(&service.path)
    {
        for line in text.lines().filter(|line| line.starts_with("ExecStart=") && !line.contains('$')) {
            scene.command(&pattern, &line["ExecStart=".len()..]);
        }
    }
}
