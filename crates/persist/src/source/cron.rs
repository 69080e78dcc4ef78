//! Jobs of cron that run once the machine has booted: `@reboot`.
use crate::finding::BootFinding;
use crate::scene::Scene;

pub(super) fn look(scene: &mut Scene<'_>) {
    let mut system = vec!["/etc/crontab".to_owned()];
    system.extend(scene.files("/etc/cron.d", ""));
    for path in system {
        jobs(scene, &path, true);
    }
    for folder in ["/var/spool/cron/crontabs", "/var/spool/cron"] {
        for path in scene.files(folder, "") {
            jobs(scene, &path, false);
        }
    }
}

/// The jobs of one table; those of the system name their user before the command.
fn jobs(scene: &mut Scene<'_>, path: &str, names_user: bool) {
    let Some(text) = scene.text(path) else { return };
    for (number, line) in (1..).zip(text.lines()) {
        let Some(command) = line.trim_start().strip_prefix("@reboot") else { continue };
        let command = command.trim_start();
        let command =
            if names_user { command.split_once(char::is_whitespace).map_or("", |(_, rest)| rest) } else { command };
        let finding = BootFinding::new("cron", path).line(number, line).how("@reboot");
        scene.command(&finding, command);
    }
}
