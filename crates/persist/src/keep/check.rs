//! Whether what is kept is in force, and who set it to something else.
use powerband_knob::{Selection, Value, resolve_here};
use powerband_machine::{Look, OpenEntry};
use powerband_record::KnobRef;
use serde::Serialize;

use super::manifest::{KeptSetting, Manifest, crc32};
use crate::finding::Standing;
use crate::{Finding, why};

/// A kept knob at a site, compared with what reads there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Checked {
    /// What is kept.
    #[serde(flatten)]
    pub setting: KeptSetting,
    /// Whether it is in force.
    pub in_force: bool,
    /// What reads there; absent where nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads: Option<String>,
    /// Where it is not in force: who sets it to something else, with file and line where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<String>,
}

/// Compares everything that is kept with what reads now. Files that were changed since they were written are returned too.
pub fn check(machine: &mut dyn Look, open: &[OpenEntry], manifest: &Manifest) -> (Vec<Checked>, Vec<String>) {
    let mut changed = Vec::new();
    for file in &manifest.files {
        match machine.read(&file.path) {
            Ok(text) if crc32(&text) == file.crc32 => {}
            Ok(_) => changed.push(format!("{} was changed since it was written", file.path)),
            Err(errno) => changed.push(format!("{} cannot be read: {errno}", file.path)),
        }
    }
    let checked = manifest.settings.iter().map(|setting| one(machine, open, setting)).collect();
    (checked, changed)
}

fn one(machine: &mut dyn Look, open: &[OpenEntry], setting: &KeptSetting) -> Checked {
    let named = resolve_here(&setting.knob, &[], machine);
    let at = Selection::everywhere().at(Some(&setting.site));
    let reads = named.as_ref().ok().and_then(|named| {
        let sites = named.knob.sites(&named.name, machine, &at).ok()?.sites;
        let path = sites.first()?.path.clone()?;
        machine.read(&path).ok().map(|text| text.trim().to_owned())
    });
    let same =
        |reads: &String| named.as_ref().is_ok_and(|named| named.knob.same(&Value::Text(setting.value.clone()), reads));
    let in_force = reads.as_ref().is_some_and(same);
    let culprit = if in_force { None } else { Some(culprit(machine, open, setting, reads.is_some())) };
    Checked { setting: setting.clone(), in_force, reads, culprit }
}

/// Who sets it to what reads there, as a clause.
fn culprit(machine: &mut dyn Look, open: &[OpenEntry], setting: &KeptSetting, reads: bool) -> String {
    if !reads {
        return format!("there is no {} at {} now", setting.knob, setting.site);
    }
    let Ok(knob) = KnobRef::parse(&setting.knob) else { return "it cannot be looked up".to_owned() };
    let at = Selection::everywhere().at(Some(&setting.site));
    let Ok(found) = why(machine, open, &knob, &at) else { return "who set it cannot be told".to_owned() };
    let told = |finding: &Finding| {
        let line = if finding.text.is_empty() { String::new() } else { format!(": {}", finding.text) };
        format!("{} ({}{line})", finding.who, finding.place())
    };
    // What was overridden when it was looked up may have come last all the same.
    let named = resolve_here(&setting.knob, &[], machine).ok();
    let reads = found.readings.first().and_then(|reading| reading.value.clone());
    let same = |value: &String| {
        let (named, reads) = (named.as_ref(), reads.as_ref());
        named.zip(reads).is_some_and(|(named, reads)| named.knob.same(&Value::Text(value.clone()), reads))
    };
    let sets = |it: &&Finding| it.counts() && it.sites.contains(&setting.site) && it.values.iter().any(same);
    let explains = found.findings.iter().rev().find(|it| it.explains || sets(it));
    let may = || {
        found
            .findings
            .iter()
            .rev()
            .find(|it| matches!(it.standing, Standing::Unsure { .. }) && it.sites.contains(&setting.site))
    };
    match (explains, may()) {
        (Some(finding), _) => format!("set by {}", told(finding)),
        (None, Some(finding)) => format!("perhaps set by {}", told(finding)),
        (None, None) => found.sentence,
    }
}
