//! tmpfiles.d: lines that write a value to a file.
use crate::finding::BootFinding;
use crate::keys::joined;
use crate::scene::Scene;

pub(super) fn look(scene: &mut Scene<'_>) {
    for path in scene.shelved("tmpfiles.d", ".conf") {
        let Some(text) = scene.text(&path) else { continue };
        for (number, line) in joined(&text) {
            let Some((file, value)) = written(&line) else { continue };
            let sites = scene.target.at_path(&file);
            if !sites.is_empty() {
                let finding = BootFinding::new("systemd-tmpfiles", path.clone()).line(number, &line);
                scene.push(finding.sets(vec![value], sites));
            }
        }
    }
}

/// The file and the value of a line that writes one: type, path, mode, user, group, age, and the value as it stands.
fn written(line: &str) -> Option<(String, String)> {
    let mut rest = line.trim_start();
    let mut fields = Vec::new();
    for _ in 0..6 {
        let end = rest.find(char::is_whitespace)?;
        fields.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    let kind = fields[0].chars().next()?;
    let file = fields[1].trim_matches('"').to_owned();
    (matches!(kind, 'w' | 'f' | 'F') && !rest.is_empty()).then(|| (file, rest.trim_end().replace("\\n", "")))
}

#[cfg(test)]
mod tests {
    use super::written;

    #[test]
    fn only_lines_that_write_count() {
        let line = "w! /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - performance";
        let (file, value) = written(line).unwrap();
        assert_eq!((&*file, &*value), ("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance"));
        assert_eq!(written("w  /a - - - -  two words \n").unwrap().1, "two words");
        for other in ["", "#w /a - - - - b", "d /a 0755 root root - x", "w /a - - - -", "w /a performance"] {
            assert_eq!(written(other), None, "{other}");
        }
    }
}
