//! `confirm`: keep what `set --confirm-within` has turned and waits for, or what `keep --until-confirmed` wrote.
use powerband_host::{ConfirmError, confirm};
use powerband_machine::{EntryId, Hold};
use powerband_record::Side;
use powerband_rig::lock_folder;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::Shared;
use crate::exit::{Answer, Exit, Failure};
use crate::failure::hinted;
use crate::output::{self, Document};
use crate::rig::{self, Purpose};
use crate::typed::for_machines;
use crate::verb::keep;

/// What is kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Kept {
    /// The step of `undo` that takes it back.
    kept: EntryId,
}

impl Document for Kept {
    const KIND: &'static str = "confirm";
}

pub(crate) fn run(shared: &Shared) -> Answer {
    let waiting = confirm(&lock_folder(&rig::names(shared))?);
    if let Err(ConfirmError::Nothing) = waiting
        && let Some(code) = keep::confirm(shared)?
    {
        return Ok(code);
    }
    let step = waiting.map_err(|error| {
        let exit = if matches!(error, ConfirmError::Refused { .. }) { Exit::Denied } else { Exit::Failed };
        hinted(exit, &error, error.hint().as_ref())
    })?;
    // Only what is written down counts: the one that waited may have died meanwhile.
    let mut rig = rig::open(shared, Purpose::Look)?;
    let kept = [Side::Near, Side::Far].into_iter().any(|side| {
        let open = rig.world().machine(side).map(|machine| machine.open_entries()).unwrap_or_default();
        open.iter().any(|entry| entry.step == step && entry.turn.hold == Hold::Set)
    });
    if !kept {
        return Err(Failure::new(Exit::Failed, "it was restored before it could be confirmed; set it again"));
    }
    if shared.json {
        return output::print_document(&Kept { kept: step });
    }
    output::print(&format!("confirmed; undo it with `{}`", for_machines(&rig::names(shared), "undo")));
    Ok(Exit::Fine as u8)
}
