//! thermald, which lowers the highest frequency while the machine is hot.
use crate::finding::BootStanding;
use crate::scene::{Scene, of_service};

pub(super) fn look(scene: &mut Scene<'_>) {
    let service = scene.service("thermald");
    if scene.target.name() == "cpufreq.max_freq" && service.is_there() {
        let mut finding = of_service("thermald", &service);
        if finding.standing == BootStanding::Acts {
            finding =
                finding.standing(BootStanding::Unsure { why: "it lowers it only while the machine is hot".into() });
        }
        scene.push(finding);
    }
}
