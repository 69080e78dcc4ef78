//! Scripts under /etc/init.d that have no source of their own here: the commands in them.
use crate::scene::{Scene, of_service};

/// Those that have, and those that only load or run what has.
const KNOWN: [&str; 14] = [
    "auto-cpufreq",
    "cpufrequtils",
    "cpupower",
    "cpuspeed",
    "cron",
    "crond",
    "laptop-mode",
    "networking",
    "network",
    "ondemand",
    "rc.local",
    "sysfsutils",
    "tlp",
    "tuned",
];

pub(super) fn look(scene: &mut Scene<'_>) {
    for (name, service) in scene.services().scripts_started() {
        if !KNOWN.contains(&name.as_str())
            && let Some(text) = scene.text(&service.path)
        {
            scene.script(&of_service(&name, &service), &text);
        }
    }
}
