//! Which changes another powerband has made: an experiment, `set`, `undo`. Those are wanted, and nobody's fight.
use powerband_host::Holder;
use powerband_machine::Look;
use powerband_persist::KnobChange;
use powerband_record::{Side, Writer};

use super::told::is_kernel;
use crate::cli::Shared;
use crate::rig::{self, Purpose};

/// What they are called.
const OURS: &str = "powerband";

/// A change, and which powerband made it, if one did.
pub(super) struct AttributedChange {
    pub(super) change: KnobChange,
    /// `powerband 4711 (try governor=all -- ./bench)`.
    pub(super) powerband: Option<String>,
}

/// Finds out whether a powerband made a change: by who held the lock when it was heard of, by the program's name, or, where that
/// had ended, by what the ledger asks for.
pub(super) fn recognise(
    change: KnobChange,
    holder: Option<&Holder>,
    shared: &Shared,
    machine: &mut dyn Look,
) -> AttributedChange {
    let mut powerband = change.by.iter().find_map(|by| by_lock(by, holder).or_else(|| by_name(by, machine)));
    if powerband.is_none() && change.by.iter().any(|by| by.program.is_none() && !is_kernel(by)) {
        powerband = by_ledger(&change, shared);
    }
    AttributedChange { change, powerband }
}

fn by_lock(by: &Writer, holder: Option<&Holder>) -> Option<String> {
    let holder = holder.filter(|holder| Some(holder.pid) == by.pid)?;
    Some(format!("{OURS} {} ({})", holder.pid, holder.doing))
}

fn by_name(by: &Writer, machine: &mut dyn Look) -> Option<String> {
    let pid = by.pid.filter(|_| by.program.as_deref() == Some(OURS))?;
    let line = machine.read(&powerband_sysfs::proc::of_process(pid, "cmdline")).unwrap_or_default();
    let words: Vec<&str> = line.split('\0').skip(1).filter(|word| !word.is_empty()).collect();
    let doing = if words.is_empty() { String::new() } else { format!(" ({})", words.join(" ")) };
    Some(format!("{OURS} {pid}{doing}"))
}

fn by_ledger(change: &KnobChange, shared: &Shared) -> Option<String> {
    let mut rig = rig::open(shared, Purpose::Look).ok()?;
    let open = rig.machine(Side::Near).ok()?.open_entries();
    let is = |turn: &powerband_machine::Turn| {
        turn.knob == change.knob && turn.site == change.site && change.new.as_ref() == Some(&turn.asked)
    };
    open.iter().any(|entry| is(&entry.turn)).then(|| format!("{OURS}, by its ledger"))
}
