//! Whether what is kept is in force, and who set it to something else.
use powerband_knob::{Selection, Site, Value, resolve_here};
use powerband_machine::{Look, OpenEntry};
use powerband_record::{KnobRef, quoted};
use serde::Serialize;

use super::manifest::{KeptSetting, Manifest, Set, crc32};
use crate::finding::{BootPhase, BootStanding};
use crate::{BootFinding, why};

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
    let mut checked: Vec<Checked> = manifest.settings.iter().map(|setting| one(machine, open, setting)).collect();
    for of_knob in manifest.settings.chunk_by(|one, next| one.knob == next.knob) {
        checked.extend(come_since(machine, of_knob));
    }
    (checked, changed)
}

/// Sites that came after a knob was kept everywhere and read something else: a CPU that was offline then. A network device may
/// come and go each day, and is none of those.
fn come_since(machine: &mut dyn Look, of_knob: &[KeptSetting]) -> Vec<Checked> {
    let Some(kept) = of_knob.first().filter(|kept| kept.everywhere && matches!(kept.set, Set::Write { .. })) else {
        return Vec::new();
    };
    let Ok(named) = resolve_here(&kept.knob, &[], machine) else { return Vec::new() };
    let Ok(sites) = named.knob.sites(&named.name, machine, &Selection::everywhere()) else { return Vec::new() };
    let is_new = |site: &&Site| of_knob.iter().all(|kept| kept.site != site.name);
    let mut found = Vec::new();
    for site in sites.sites.iter().filter(is_new) {
        let reads = site.path.as_ref().and_then(|path| machine.read(path).ok()).map(|text| text.trim().to_owned());
        let Some(reads) = reads else { continue };
        if !named.knob.same(&Value::Text(kept.value.clone()), &reads) {
            let again = format!(
                "it was not there when this was kept: `powerband keep {}`",
                quoted(&format!("{}={}", kept.knob, kept.value))
            );
            let setting = KeptSetting { site: site.name.clone(), ..kept.clone() };
            found.push(Checked { setting, in_force: false, reads: Some(reads), culprit: Some(again) });
        }
    }
    found
}

fn one(machine: &mut dyn Look, open: &[OpenEntry], setting: &KeptSetting) -> Checked {
    let named = resolve_here(&setting.knob, &[], machine);
    let at = Selection::everywhere().at(Some(&setting.site));
    let reads = named.as_ref().ok().and_then(|named| {
        let sites = named.knob.sites(&named.name, machine, &at).ok()?.sites;
        let path = sites.first()?.path.clone()?;
        machine.read(&path).ok().map(|text| text.trim().to_owned())
    });
    let same = |reads: &String| {
        let asked = Value::Text(setting.value.clone());
        setting.reads.as_ref() == Some(reads) || named.as_ref().is_ok_and(|named| named.knob.same(&asked, reads))
    };
    let in_force = reads.as_ref().is_some_and(same);
    let culprit = if in_force { None } else { Some(culprit(machine, open, setting, reads.is_some())) };
    Checked { setting: setting.clone(), in_force, reads, culprit }
}

/// Who sets it to what reads there, as a clause.
fn culprit(machine: &mut dyn Look, open: &[OpenEntry], setting: &KeptSetting, reads: bool) -> String {
    if !reads {
        let at = if setting.site == "-" { String::new() } else { format!(" at {}", setting.site) };
        return format!("there is no {}{at} now", setting.knob);
    }
    match setter(machine, open, &setting.knob, &setting.site) {
        None => "who set it cannot be told".to_owned(),
        Some(Setter::Default) => format!(
            "that is the kernel's own default: {} has not set it here, or something else did by hand",
            setting.by
        ),
        Some(Setter::File(finding)) => format!("set by {}", with_its_line(&finding)),
        Some(Setter::Perhaps(finding)) => format!("perhaps set by {}", with_its_line(&finding)),
        Some(Setter::Unknown(sentence)) => sentence,
    }
}

/// The service and the line of its file that set what a knob reads at a site now, where `why` is sure of both.
pub fn set_by(machine: &mut dyn Look, open: &[OpenEntry], knob: &str, site: &str) -> Option<String> {
    match setter(machine, open, knob, site)? {
        Setter::File(finding) => Some(with_its_line(&finding)),
        _ => None,
    }
}

/// Who sets what reads at a site.
enum Setter {
    /// The kernel or its driver.
    Default,
    File(BootFinding),
    Perhaps(BootFinding),
    /// What `why` says instead.
    Unknown(String),
}

fn with_its_line(finding: &BootFinding) -> String {
    let line = if finding.text.is_empty() { String::new() } else { format!(": {}", finding.text) };
    format!("{} ({}{line})", finding.who, finding.place())
}

/// `None` where the knob cannot be looked up.
fn setter(machine: &mut dyn Look, open: &[OpenEntry], knob: &str, site: &str) -> Option<Setter> {
    let at = Selection::everywhere().at(Some(site));
    let found = why(machine, open, &KnobRef::parse(knob).ok()?, &at).ok()?;
    // What was overridden when it was looked up may have come last all the same.
    let named = resolve_here(knob, &[], machine).ok();
    let reads = found.readings.first().and_then(|reading| reading.value.clone());
    let same = |value: &String| {
        let (named, reads) = (named.as_ref(), reads.as_ref());
        named.zip(reads).is_some_and(|(named, reads)| named.knob.same(&Value::Text(value.clone()), reads))
    };
    let here = |it: &&BootFinding| it.sites.iter().any(|name| name == site);
    let sets = |it: &&BootFinding| it.counts() && here(it) && it.values.iter().any(same);
    let late = |it: &&BootFinding| it.explains || it.phase >= BootPhase::Services && sets(it);
    if let Some(finding) = found.findings.iter().rev().find(late) {
        return Some(Setter::File(finding.clone()));
    }
    if found.findings.iter().any(|it| it.phase <= BootPhase::Driver && sets(&it)) {
        return Some(Setter::Default);
    }
    let perhaps = |it: &&BootFinding| matches!(it.standing, BootStanding::Unsure { .. }) && here(it);
    let perhaps = found.findings.iter().rev().find(perhaps).cloned();
    Some(perhaps.map_or(Setter::Unknown(found.sentence), Setter::Perhaps))
}
