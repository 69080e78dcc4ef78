//! What powerband itself has turned and not taken back.
use powerband_machine::Hold;

use crate::finding::Finding;
use crate::scene::Scene;

pub(super) fn look(scene: &mut Scene<'_>) {
    let boot_id = scene.machine().identity().boot_id.clone();
    for entry in scene.machine().open_entries() {
        let turn = &entry.turn;
        // What only keeps a value that a governor would forget was not asked for.
        let asked = turn.undo.as_ref() != Some(&turn.action);
        let site = scene.target.places.iter().any(|place| place.site.name == turn.site);
        if entry.is_over(&boot_id) || !asked || turn.knob != scene.target.name() || !site {
            continue;
        }
        let how = match turn.hold {
            Hold::Set => "`powerband undo` takes it back",
            Hold::Held => "held until its owner ends; `powerband info turned` says by whom",
        };
        let text = format!("entry {}", entry.id.0);
        let finding = Finding { text, ..Finding::new("powerband", "its ledger") };
        let values = vec![turn.asked.clone()];
        scene.push(finding.how(how).sets(values, vec![turn.site.clone()]));
    }
}
