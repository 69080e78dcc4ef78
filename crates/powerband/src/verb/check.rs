//! `check`: whether what is kept is in force, and who set it to something else.
use powerband_knob::shown;
use powerband_persist::{Checked, KeepError, Manifest, check};
use powerband_record::{Side, placed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::Shared;
use crate::exit::{Answer, Exit};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};

/// Everything that is kept, compared with what reads now.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Compared {
    /// How many knobs at their sites are in force.
    in_force: usize,
    /// How many are kept.
    kept: usize,
    /// Each of them.
    settings: Vec<Row>,
    /// Files that were changed since `keep` wrote them, in words.
    changed_files: Vec<String>,
}

/// A kept knob at a site.
#[derive(Serialize, JsonSchema)]
struct Row {
    /// Of which machine.
    side: Side,
    /// What was found.
    #[serde(flatten)]
    checked: Checked,
}

impl Document for Compared {
    const KIND: &'static str = "check";
}

pub(crate) fn run(shared: &Shared) -> Answer {
    let mut rig = rig::open(shared, Purpose::Look)?;
    let (mut settings, mut changed_files) = (Vec::new(), Vec::new());
    for side in rig.world().sides() {
        let Some(machine) = rig.world().machine(side) else { continue };
        let manifest = Manifest::read(machine).map_err(KeepError::from)?;
        let open = machine.open_entries();
        let (checked, changed) = check(machine, &open, &manifest);
        settings.extend(checked.into_iter().map(|checked| Row { side, checked }));
        changed_files.extend(changed.into_iter().map(|file| format!("{}{file}", side.prefix())));
    }
    rig::check_lost(rig.world())?;
    let in_force = settings.iter().filter(|row| row.checked.in_force).count();
    let compared = Compared { in_force, kept: settings.len(), settings, changed_files };
    let is_fine = in_force == compared.kept && compared.changed_files.is_empty();
    if shared.json {
        output::print_document(&compared)?;
    } else {
        output::print(&words(&compared));
    }
    Ok(if is_fine { Exit::Fine } else { Exit::Failed } as u8)
}

fn words(compared: &Compared) -> String {
    if compared.kept == 0 {
        return "nothing is kept; `powerband keep` keeps the result of the last experiment".to_owned();
    }
    let mut lines = Vec::new();
    for Row { side, checked } in compared.settings.iter().filter(|row| !row.checked.in_force) {
        let place = placed(&checked.setting.knob, &checked.setting.site);
        let shown = |value: &str| shown(&checked.setting.knob, value);
        let (kept, reads) = (shown(&checked.setting.value), checked.reads.as_deref().map(shown));
        let (reads, culprit) =
            (reads.unwrap_or_else(|| "nothing".into()), checked.culprit.as_deref().unwrap_or_default());
        lines.push(format!("{}{place}: kept {kept}, reads {reads}; {culprit}", side.prefix()));
    }
    lines.extend(compared.changed_files.iter().cloned());
    lines.push(format!("{} of {} kept settings are in force", compared.in_force, compared.kept));
    lines.join("\n")
}
