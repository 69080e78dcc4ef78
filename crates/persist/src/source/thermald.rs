//! thermald, which lowers the highest frequency while the machine is hot.
use crate::finding::Standing;
use crate::scene::{Scene, of_service};

pub(super) fn look(scene: &mut Scene<'_>) {
    let service = scene.service("thermald");
    if scene.target.name() == "cpufreq.max_freq" && service.is_there() {
        let mut finding = of_service("thermald", &service);
        if finding.standing == Standing::Acts {
            finding = finding.standing(Standing::Unsure { why: "it lowers it only while the machine is hot".into() });
        }
        scene.push(finding);
    }
}
