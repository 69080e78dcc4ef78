//! Keeping settings over reboots: which file of this machine sets a knob last at boot, and what it has to say.
//!
//! Places are tried in the order of [`place::PLACES`], and each is judged by what `why` says of the machine as it would be with
//! the file written: one whose value something else overrides is passed over. Nothing is written here.
mod check;
mod manifest;
mod overlay;
mod place;

use std::collections::BTreeMap;
use std::path::Path;

use powerband_knob::{PlannedKnob, Selection, resolve, resolve_here};
use powerband_machine::{Action, EntryId, Hold, KEPT, Look, OpenEntry, Turn};

pub use check::{Checked, check, set_by};
pub use manifest::{KeptFile, KeptSetting, MANIFEST, Manifest, ManifestError};
use overlay::Overlay;
pub(crate) use place::{PULLS_IN, UNIT};
use place::{Place, Want};

use crate::finding::{BootFinding, BootPhase, BootStanding};
use crate::target::Target;
use powerband_record::InOrder;

/// The program that checks after each boot, and what the files say of themselves.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Absolute path of powerband, which checks after each boot; empty where nothing is to check.
    pub program: String,
    /// What is kept and why, a line each: the experiment and its verdict.
    pub lines: Vec<String>,
    /// Number of the experiment.
    pub experiment: Option<i64>,
    /// Its verdict, in a sentence.
    pub verdict: Option<String>,
    /// Whether it is removed at the second boot unless somebody confirms it before.
    pub until_confirmed: bool,
    /// Where a driver rounds.
    pub rounded: Vec<Rounded>,
}

/// A value that a driver rounds: requested, it reads otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// Canonical name of the knob.
    pub knob: String,
    /// Site.
    pub site: String,
    /// What is requested.
    pub requested: u32,
    /// What reads there then.
    pub reads: String,
}

/// What has to be written so that settings are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Each file that changes, by path, in the order of writing.
    pub files: Vec<FileChange>,
    /// Folders that have to be made first, outer ones first.
    pub folders: Vec<String>,
    /// What is kept, and where.
    pub manifest: Manifest,
}

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Absolute path.
    pub path: String,
    /// Its text now; `None` where there is none.
    pub before: Option<String>,
    /// Its text afterwards; `None` where it is removed.
    pub after: Option<String>,
}

/// Why a knob cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// It lasts only while somebody holds it, or is set by a program.
    #[error("{knob} cannot be kept over a reboot: {why}")]
    Unfit {
        /// Canonical name.
        knob: String,
        /// Why not, as the sentence goes on.
        why: String,
    },
    /// Everything that could keep it is overridden by something else.
    #[error("{knob} cannot be kept: {by} would set {value} after every place that powerband can use{place}")]
    Overridden {
        /// Canonical name.
        knob: String,
        /// Who sets it last.
        by: String,
        /// To what.
        value: String,
        /// Its file and line in brackets, behind a blank; empty where it has none.
        place: String,
    },
    /// No place of this machine sets such a knob at boot.
    #[error("{knob} cannot be kept: {why}; put it into a script of your own: {command}")]
    NoPlace {
        /// Canonical name.
        knob: String,
        /// Why not, as the sentence goes on.
        why: &'static str,
        /// What sets it, as a shell command.
        command: String,
    },
    /// What is kept already could not be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// Finds a place for each knob. `planned` is the setting at all its sites, in the order of setting; what is kept already and not
/// named in it stays kept.
///
/// # Errors
/// [`KeepError`] for the first knob that no place can keep.
pub fn keep(
    machine: &mut dyn Look,
    open: &[OpenEntry],
    planned: &[PlannedKnob],
    origin: &Origin,
) -> Result<Keeping, KeepError> {
    let kept = Manifest::read(machine)?;
    let mut wanted = planned.iter().map(|it| Want::of(it, origin)).collect::<Result<Vec<Want>, KeepError>>()?;
    let newly: Vec<(String, String)> = wanted.iter().map(|want| (want.knob.clone(), want.site.clone())).collect();
    let before = kept.settings.iter().filter(|it| !newly.contains(&(it.knob.clone(), it.site.clone())));
    let mut all: Vec<Want> = before.map(Want::kept).collect();
    all.append(&mut wanted);
    // In the order of setting, a knob's sites together: a tunable is there only under its governor.
    all.order_by_key(|want| (resolve(&want.knob).ok().map(|named| named.knob.about().phase), want.knob.clone()));
    // As the machine was before anything was kept: what is kept is decided anew, together.
    let originals = originals(open);
    place::note_everywhere(&mut all);
    let mut overlay = Overlay::new(machine, originals.clone());
    let chosen = choose(&mut overlay, &all, origin)?;
    let mut texts: BTreeMap<String, Option<String>> = originals;
    for (place, wants) in &chosen.places {
        for (path, text) in place.files(&mut overlay.bare(), wants, origin).unwrap_or_default() {
            texts.insert(path, Some(text));
        }
    }
    let checks = place::checking(&mut overlay.bare(), origin);
    texts.extend(checks.into_iter().map(|(path, text)| (path, Some(text))));
    let manifest = Manifest::of(&all, &chosen.by, &texts, origin);
    texts.insert(MANIFEST.to_owned(), Some(manifest.text()));
    drop(overlay);
    let mut keeping = Keeping { manifest, ..Keeping::default() };
    for (path, after) in texts {
        let before = machine.read(&path).ok();
        if before != after {
            keeping.files.push(FileChange { path, before, after });
        }
    }
    keeping.folders = missing_folders(machine, &keeping.files);
    Ok(keeping)
}

/// The files that keep settings as they were before the first of them was written, by the ledger.
fn originals(open: &[OpenEntry]) -> BTreeMap<String, Option<String>> {
    let mut originals = BTreeMap::new();
    for entry in open.iter().filter(|entry| entry.turn.knob == KEPT) {
        // The oldest entry of a file knows what was there.
        match &entry.turn.undo {
            Some(Action::ReplaceFile { path, text }) => originals.entry(path.clone()).or_insert(Some(text.clone())),
            Some(Action::RemoveFile { path }) => originals.entry(path.clone()).or_insert(None),
            _ => continue,
        };
    }
    originals
}

/// What each place keeps, and which places keep each knob.
#[derive(Default)]
struct Chosen {
    places: Vec<(&'static Place, Vec<Want>)>,
    by: BTreeMap<String, String>,
}

impl Chosen {
    /// What a place would keep with these as well.
    fn with(&self, place: &'static Place, wants: &[Want]) -> Vec<Want> {
        let before = self.places.iter().find(|(other, _)| std::ptr::eq(*other, place));
        before.into_iter().flat_map(|(_, before)| before).chain(wants).cloned().collect()
    }

    fn add(&mut self, used: &[&'static Place], wants: &[Want]) {
        for place in used {
            let together = self.with(place, wants);
            self.places.retain(|(other, _)| !std::ptr::eq(*other, *place));
            self.places.push((place, together));
        }
        let by = match used {
            [first, .., last] => {
                let before: Vec<&str> = used[1..used.len() - 1].iter().map(|place| place.who).collect();
                let before = before.iter().fold(first.who.to_owned(), |text, who| format!("{text}, {who}"));
                format!("{before} and {}", last.who)
            }
            few => few.iter().map(|place| place.who).collect(),
        };
        self.by.insert(wants[0].knob.clone(), by);
    }
}

/// The places for each knob. Every service that sets it anyway is told to set it so, because two that disagree may end in any
/// order; where there is none, or something else overrides them, the first other place that nothing overrides is used as well.
fn choose(overlay: &mut Overlay<'_>, all: &[Want], origin: &Origin) -> Result<Chosen, KeepError> {
    let mut chosen = Chosen::default();
    let mut knobs: Vec<&str> = all.iter().map(|want| want.knob.as_str()).collect();
    knobs.dedup();
    for knob in knobs {
        let wants: Vec<Want> = all.iter().filter(|want| want.knob == knob).cloned().collect();
        let before = overlay.clone_files();
        let mut loses: Option<Box<BootFinding>> = None;
        let mut owners: Vec<&'static Place> = Vec::new();
        let mut paths: Vec<String> = Vec::new();
        for place in place::PLACES.iter().filter(|place| place.is_owner) {
            if let Some(files) = place.files(&mut overlay.bare(), &chosen.with(place, &wants), origin) {
                paths.extend(files.iter().map(|(path, _)| path.clone()));
                overlay.put(files);
                owners.push(place);
            }
        }
        let mut used = None;
        if !owners.is_empty() {
            match in_force(overlay, &wants, &paths) {
                Ok(()) => used = Some(owners.clone()),
                Err(winner) => loses = winner,
            }
        }
        let with_owners = overlay.clone_files();
        for place in place::PLACES.iter().filter(|place| !place.is_owner) {
            if used.is_some() {
                break;
            }
            let Some(files) = place.files(&mut overlay.bare(), &chosen.with(place, &wants), origin) else { continue };
            let ours: Vec<String> = paths.iter().cloned().chain(files.iter().map(|(path, _)| path.clone())).collect();
            overlay.put(files);
            match in_force(overlay, &wants, &ours) {
                Ok(()) => used = Some(owners.iter().copied().chain([place]).collect()),
                Err(winner) => {
                    loses = winner.or(loses);
                    overlay.restore(with_owners.clone());
                }
            }
        }
        let Some(used) = used else {
            overlay.restore(before);
            return Err(unkeepable(overlay, &wants, loses));
        };
        chosen.add(&used, &wants);
    }
    Ok(chosen)
}

fn unkeepable(overlay: &mut Overlay<'_>, wants: &[Want], loses: Option<Box<BootFinding>>) -> KeepError {
    let knob = wants[0].knob.clone();
    match loses {
        Some(winner) => KeepError::Overridden {
            knob,
            by: winner.who.clone(),
            value: winner.values.first().cloned().unwrap_or_default(),
            place: format!(" ({})", winner.place()),
        },
        None => {
            let (why, command) = place::by_hand(&mut overlay.bare(), wants);
            KeepError::NoPlace { knob, why, command }
        }
    }
}

/// Whether what a place writes is in force after the boot of the machine that `overlay` shows; else what is, where that is known.
fn in_force(overlay: &mut Overlay<'_>, wants: &[Want], paths: &[String]) -> Result<(), Option<Box<BootFinding>>> {
    let Ok(named) = resolve_here(&wants[0].knob, &[], overlay) else { return Err(None) };
    let Ok(sites) = named.knob.sites(&named.name, overlay, &Selection::everywhere()) else { return Err(None) };
    let target = Target::new(named, sites.sites, overlay);
    // What powerband holds now says nothing about the next boot.
    let (_, findings, side_by_side) = crate::walk(overlay, &[], target);
    for want in wants {
        let at = |finding: &&BootFinding| finding.counts() && finding.sites.contains(&want.site);
        let acting: Vec<&BootFinding> = findings.iter().filter(at).collect();
        let Some(last) = acting.last() else { return Err(None) };
        let agrees = |finding: &BootFinding| finding.values.len() == 1 && finding.values[0] == want.value;
        if !paths.contains(&last.path) || !agrees(last) {
            return Err(Some(Box::new((*last).clone())));
        }
        // Services that systemd starts side by side may end in any order.
        let together = |phase: BootPhase| matches!(phase, BootPhase::Services | BootPhase::Daemons);
        let rival = acting
            .iter()
            .find(|finding| together(finding.phase) && !agrees(finding) && last.phase <= BootPhase::Daemons);
        if let Some(rival) = rival.filter(|_| side_by_side && together(last.phase)) {
            return Err(Some(Box::new((*rival).clone())));
        }
        let unsure = findings.iter().find(|finding| {
            matches!(finding.standing, BootStanding::Unsure { .. })
                && finding.sites.contains(&want.site)
                && !agrees(finding)
                && finding.phase > last.phase
        });
        if let Some(rival) = unsure {
            return Err(Some(Box::new(rival.clone())));
        }
    }
    Ok(())
}

/// Folders of these files that are not there, outer ones first.
fn missing_folders(machine: &mut dyn Look, files: &[FileChange]) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for file in files.iter().filter(|file| file.after.is_some()) {
        let mut folders = Vec::new();
        let mut folder = file.path.as_str();
        while let Some((outer, _)) = folder.rsplit_once('/').filter(|(outer, _)| !outer.is_empty()) {
            folder = outer;
            if machine.list(folder).is_ok() {
                break;
            }
            folders.push(folder.to_owned());
        }
        folders.reverse();
        missing.extend(folders.into_iter().filter(|folder| !missing.contains(folder)).collect::<Vec<_>>());
    }
    missing
}

impl Keeping {
    /// What has to be done, in order: folders first, the list of what is kept last.
    #[must_use]
    pub fn turns(&self) -> Vec<Turn> {
        let turn = |path: &str, action: Action, undo: Option<Action>, before: Option<String>, reads: bool| Turn {
            action,
            undo,
            hold: Hold::Held,
            knob: KEPT.to_owned(),
            site: path.to_owned(),
            asked: "kept".to_owned(),
            before: before.into(),
            read_back: reads.then(|| path.to_owned()),
            step: None,
        };
        let folders = self.folders.iter().map(|path| {
            let (make, remove) =
                (Action::MakeFolder { path: path.clone() }, Action::RemoveFolder { path: path.clone() });
            turn(path, make, Some(remove), None, false)
        });
        let mut files: Vec<&FileChange> = self.files.iter().collect();
        files.order_by_key(|file| file.path == MANIFEST);
        let files = files.into_iter().map(|file| {
            let path = file.path.clone();
            let replace = |text: &String| Action::ReplaceFile { path: path.clone(), text: text.clone() };
            let remove = || Action::RemoveFile { path: path.clone() };
            let to = |text: &Option<String>| text.as_ref().map_or_else(remove, replace);
            turn(&path, to(&file.after), Some(to(&file.before)), file.before.clone(), true)
        });
        folders.chain(files).collect()
    }
}

/// The entries that `unkeep` takes back: those of the files that keep something, and those of the list of them and its folder,
/// which stay until nothing else is left.
#[must_use]
pub fn kept_entries(open: &[OpenEntry]) -> [Vec<EntryId>; 2] {
    let of_list = |entry: &&OpenEntry| Path::new(MANIFEST).starts_with(&entry.turn.site);
    let (list, files): (Vec<&OpenEntry>, Vec<&OpenEntry>) =
        open.iter().filter(|entry| entry.is_kept()).partition(of_list);
    [files, list].map(|entries| entries.iter().map(|entry| entry.id).collect())
}
