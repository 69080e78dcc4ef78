//! powerband's own unit for settings that no other place keeps. It starts after the services known to set them.
use crate::finding::{BootFinding, BootStanding};
use crate::keep::{PULLS_IN, UNIT};
use crate::keys::keys;
use crate::scene::Scene;

pub(super) fn look(scene: &mut Scene<'_>) {
    let Some(text) = scene.text(UNIT) else { return };
    let on = scene.services().has_systemd() && scene.peek(PULLS_IN).is_some();
    let standing = if on { BootStanding::Acts } else { BootStanding::Off { why: "nothing starts it".to_owned() } };
    for key in keys(&text).into_iter().filter(|key| key.name == "ExecStart") {
        let finding =
            BootFinding::new("powerband-keep.service", UNIT).line(key.line, &key.text).standing(standing.clone());
        let command = key.text.split_once('=').map_or("", |(_, command)| command);
        scene.command(&finding.how("enabled for multi-user.target"), &super::units::plain(command));
    }
}
