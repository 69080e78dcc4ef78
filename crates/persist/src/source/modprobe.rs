//! modprobe.d: parameters of modules, and commands that run when one is loaded.
use crate::finding::BootFinding;
use crate::keys::joined;
use crate::scene::Scene;

pub(super) fn look(scene: &mut Scene<'_>) {
    for path in scene.shelved("modprobe.d", ".conf") {
        let Some(text) = scene.text(&path) else { continue };
        for (number, line) in joined(&text) {
            let mut words = line.split_whitespace();
            let finding = BootFinding::new("modprobe", path.clone()).line(number, &line);
            match (words.next(), words.next()) {
                (Some("options"), Some(module)) => {
                    for (name, value) in words.filter_map(|word| word.split_once('=')) {
                        let sites = scene.target.at_path(&powerband_sysfs::module::parameter(module, name));
                        if !sites.is_empty() {
                            let how = format!("when {module} is loaded");
                            scene.push(finding.clone().how(how).sets(vec![value.to_owned()], sites));
                        }
                    }
                }
                (Some("install"), Some(module)) => {
                    let command: Vec<&str> = words.collect();
                    scene.command(&finding.how(format!("when {module} is loaded")), &command.join(" "));
                }
                _ => {}
            }
        }
    }
}
