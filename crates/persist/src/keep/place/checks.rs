//! What has powerband itself run: `check` after each boot, each resume and when a CPU or a network card has come, and before everything
//! else in a boot the end of what nobody has confirmed.
use super::{Overlay, Texts, has_systemd, has_udev, own};
use crate::keep::Origin;

/// Where units of our own lie.
const FOLDER: &str = "/etc/systemd/system";

/// What has them checked when a device has come that settings may be kept for.
const RULES: &str = "/etc/udev/rules.d/99-zz-powerband-check.rules";

/// Such devices, with what the kernel says when they come.
const COME: [(&str, &str); 3] = [("cpu", "add"), ("cpu", "online"), ("net", "add")];

/// How long daemons that act late have, after the boot and after a resume, s.
const WAITS_S: u32 = 20;

/// What has them checked: the end of the boot, and of each sleep.
const TARGETS: [&str; 2] = ["multi-user", "suspend"];

/// Its files; none where no powerband is there to run, or systemd is not.
pub(in crate::keep) fn checking(machine: &mut Overlay<'_>, origin: &Origin) -> Texts {
    if origin.program.is_empty() || !has_systemd(machine) {
        return Vec::new();
    }
    let after = TARGETS.map(|target| format!("{target}.target")).join(" ");
    let check = format!(
        "[Unit]\nDescription=Check the settings kept by powerband\nAfter={after}\n\n[Service]\nType=oneshot\n\
         {}ExecStartPre=/bin/sleep {WAITS_S}\nExecStart={} check\n",
        environment(origin),
        quoted(&origin.program.replace('$', "$$"))
    );
    let mut texts = unit(origin, "powerband-check", &check, &TARGETS);
    if has_udev(machine) {
        let rule = |(subsystem, action): (&str, &str)| {
            let start = "/bin/systemctl --no-block start powerband-check.service";
            format!("ACTION==\"{action}\", SUBSYSTEM==\"{subsystem}\", RUN+=\"{start}\"\n")
        };
        texts.push((RULES.to_owned(), own(origin, &COME.map(rule).concat())));
    }
    if origin.until_confirmed {
        // It has to be over before anything reads a file that it removes.
        let body = format!(
            "[Unit]\nDescription=Remove kept settings that nobody has confirmed\nDefaultDependencies=no\nAfter=local-fs.target\n\
             Before=sysinit.target systemd-sysctl.service systemd-udevd.service systemd-udev-trigger.service\n\n\
             [Service]\nType=oneshot\n{}ExecStart={} unkeep --unconfirmed\n",
            environment(origin),
            quoted(&origin.program.replace('$', "$$"))
        );
        texts.extend(unit(origin, "powerband-unconfirmed", &body, &["sysinit"]));
    }
    texts
}

/// The line that names the state folder, where it is not the usual one.
fn environment(origin: &Origin) -> String {
    let line = |folder: &String| format!("Environment={}\n", quoted(&format!("POWERBAND_STATE_DIR={folder}")));
    origin.state_folder.as_ref().map(line).unwrap_or_default()
}

/// A word as systemd reads it back (systemd.syntax(7), systemd.unit(5) on specifiers).
fn quoted(word: &str) -> String {
    let word = word.replace('%', "%%");
    if word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:@%$".contains(c)) {
        return word;
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A unit with a drop-in for each target that starts it.
fn unit(origin: &Origin, name: &str, body: &str, targets: &[&str]) -> Texts {
    let starts = |target: &&str| {
        let path = format!("{FOLDER}/{target}.target.d/{name}.conf");
        (path, own(origin, &format!("[Unit]\nWants={name}.service\n")))
    };
    let unit = (format!("{FOLDER}/{name}.service"), own(origin, body));
    std::iter::once(unit).chain(targets.iter().map(starts)).collect()
}
