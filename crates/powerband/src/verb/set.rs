//! `set`: turn knobs until `undo`.
use powerband_knob::{apply_steps, describe_steps, for_side, plan};
use powerband_machine::Hold;
use powerband_record::{Assignment, Setting, Side};
use serde_json::json;

use crate::cli::{Set, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output;
use crate::rig::{self, Purpose};

pub(crate) fn run(shared: &Shared, args: &Set) -> Answer {
    let assignments =
        args.settings.iter().map(|text| Assignment::parse(text)).collect::<Result<_, _>>().map_err(usage)?;
    let setting = Setting { name: None, assignments };
    let purpose = if args.dry_run { Purpose::Look } else { Purpose::Turn };
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, purpose)?;
    let narrow = rig::narrow(shared);
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for side in [Side::Near, Side::Far] {
        let part = for_side(&setting, side);
        if part.assignments.is_empty() {
            continue;
        }
        let there_is_none = || Failure::new(Exit::Usage, "there is no far machine; name it with --far");
        let machine = rig.world().machine(side).ok_or_else(there_is_none)?;
        let steps = plan(&part, machine, &narrow).map_err(rig::knob_failure)?;
        if args.dry_run {
            lines.extend(describe_steps(&steps));
            rows.extend(steps.lines.iter().map(|line| json!({ "side": side, "step": line })));
            continue;
        }
        let mut applied = apply_steps(machine, &steps, Hold::Set).map_err(rig::knob_failure)?;
        applied.look_again(machine);
        let there = if side == Side::Far { "far/" } else { "" };
        lines.extend(applied.sites.iter().map(|reached| format!("{there}{}", reached.words())));
        lines.extend(applied.reach.iter().map(|reach| format!("{there}{reach}")));
        lines.extend(applied.notes.iter().map(|note| format!("note: {note}")));
        rows.extend(applied.sites.iter().map(|reached| json!({ "side": side, "turned": reached.record() })));
    }
    if shared.json {
        return output::say_json(&json!({ "version": 1, "dry_run": args.dry_run, "steps": rows }));
    }
    if !args.dry_run {
        lines.push("take it back with `powerband undo`".into());
    }
    output::say(&lines.join("\n"));
    Ok(Exit::Fine as u8)
}
