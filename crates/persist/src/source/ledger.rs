//! What powerband itself has turned and not undone.
use powerband_machine::{EntryId, Hold};

use crate::finding::BootFinding;
use crate::scene::Scene;

pub(super) fn look(scene: &mut Scene<'_>) {
    let boot_id = scene.machine().identity().boot_id.clone();
    // One command turns many sites; it is one finding.
    let mut steps: Vec<(EntryId, BootFinding, usize)> = Vec::new();
    for entry in scene.open {
        let turn = &entry.turn;
        // What only keeps a value that a governor would forget was not asked for.
        let asked = turn.undo.as_ref() != Some(&turn.action);
        let site = scene.target.places.iter().any(|place| place.site.name == turn.site);
        if !asked || turn.knob != scene.target.name() || !site {
            continue;
        }
        if entry.is_over(&boot_id, &mut |path| scene.machine().read(path)) {
            continue;
        }
        let same = |(step, finding, _): &&mut (EntryId, BootFinding, usize)| {
            *step == entry.step && finding.values == [turn.asked.clone()]
        };
        if let Some((_, finding, entries)) = steps.iter_mut().find(same) {
            finding.sites.push(turn.site.clone());
            *entries += 1;
            continue;
        }
        let how = match turn.hold {
            Hold::Set => "`powerband undo` restores it",
            Hold::Held => "held until its owner ends; `powerband info turned` says by whom",
        };
        let text = format!("entry {}", entry.id.0);
        let finding = BootFinding { text, ..BootFinding::new("powerband", "its ledger") }.how(how);
        steps.push((entry.step, finding.sets(vec![turn.asked.clone()], vec![turn.site.clone()]), 1));
    }
    for (_, mut finding, entries) in steps {
        if entries > 1 {
            finding.text += &format!(" and {} more of its step", entries - 1);
        }
        scene.push(finding);
    }
}
