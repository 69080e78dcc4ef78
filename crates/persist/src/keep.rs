//! Keeping settings over reboots: which file of this machine sets a knob last at boot, and what it has to say.
//!
//! Places are tried in the order of [`place::PLACES`], and each is judged by what `why` says of the machine as it would be with
//! the file written: one whose value something else overrides is passed over. Nothing is written here.
//!
//! The list of what is kept ([`Manifest`]) is the one truth about it: with each file it has the lines that lead back from what was
//! written to what was there. What somebody has edited since is therefore edited on, never overwritten by an older text; an edit of
//! the very lines that powerband wrote is refused and shown.
mod check;
mod diff;
mod manifest;
mod overlay;
mod place;

use std::collections::{BTreeMap, BTreeSet};

use powerband_knob::{PlannedKnob, Selection, resolve, resolve_here};
use powerband_machine::{Action, Errno, Hold, KEPT, Look, Turn};

pub use check::{Checked, check, set_by};
pub use diff::diff;
pub use manifest::{KeptFile, KeptSetting, MANIFEST, Manifest, ManifestError, Set};
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
    /// The state folder, where it is not the usual one.
    pub state_folder: Option<String>,
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
    /// Folders of ours that are needed no longer, inner ones first. One that somebody uses stays.
    pub needless_folders: Vec<String>,
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
    /// Somebody has edited what was written, and what is to be written now touches the same lines.
    #[error(
        "{path} was edited where powerband wrote it, so nothing was written; make the change that is shown by hand and type it again, or overwrite with --force"
    )]
    Edited {
        /// The file.
        path: String,
        /// The change that does not fit.
        diff: String,
    },
    /// A file is there and cannot be read, so that it could not be restored.
    #[error("{path} is there and cannot be read ({why}), so nothing was written")]
    Unreadable {
        /// The file.
        path: String,
        /// Why not.
        why: String,
    },
    /// What is kept already could not be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

/// A change of what is kept.
pub struct KeepRequest<'a> {
    /// The setting that is kept from now on, at all its sites, in the order of setting.
    pub planned: &'a [PlannedKnob],
    /// Settings that are kept now and no longer afterwards.
    pub drops: &'a dyn Fn(&KeptSetting) -> bool,
    /// Edits of the very lines that powerband wrote give way.
    pub force: bool,
}

impl Default for KeepRequest<'_> {
    fn default() -> Self {
        KeepRequest { planned: &[], drops: &|_| false, force: false }
    }
}

/// Finds a place for each knob; what is kept already and neither named nor dropped stays kept.
///
/// # Errors
/// [`KeepError`] for the first knob that no place can keep, and the first file that cannot be changed.
pub fn keep(machine: &mut dyn Look, change: &KeepRequest<'_>, origin: &Origin) -> Result<Keeping, KeepError> {
    let kept = Manifest::read(machine)?;
    let mut wanted = change.planned.iter().map(|it| Want::of(it, origin)).collect::<Result<Vec<Want>, KeepError>>()?;
    let newly: Vec<(String, String)> = wanted.iter().map(|want| (want.knob.clone(), want.site.clone())).collect();
    let stays = |it: &&KeptSetting| !newly.contains(&(it.knob.clone(), it.site.clone())) && !(change.drops)(it);
    let mut all: Vec<Want> = kept.settings.iter().filter(stays).map(Want::kept).collect();
    all.append(&mut wanted);
    // In the order of setting, a knob's sites together: a tunable is there only under its governor.
    all.order_by_key(|want| (resolve(&want.knob).ok().map(|named| named.knob.about().phase), want.knob.clone()));
    // As the machine would be if nothing were kept: what is kept is decided anew, together.
    let (bare, edited) = without_ours(machine, &kept, change.force)?;
    place::note_everywhere(&mut all);
    let mut overlay = Overlay::new(machine, bare.clone());
    let chosen = choose(&mut overlay, &all, &kept, origin)?;
    let mut texts = bare.clone();
    for (place, wants) in &chosen.places {
        for (path, text) in place.files(&mut overlay.bare(), wants, origin).unwrap_or_default() {
            texts.insert(path, Some(text));
        }
    }
    if !all.is_empty() {
        let checks = place::checking(&mut overlay.bare(), origin);
        texts.extend(checks.into_iter().map(|(path, text)| (path, Some(text))));
    }
    drop(overlay);
    let mut keeping = Keeping::default();
    let mut files: Vec<KeptFile> = Vec::new();
    for (path, after) in texts {
        let before = there(machine, &path)?;
        let old = kept.files.iter().find(|file| file.path == path);
        // Nothing new is to be said there, and what somebody has made of it stays.
        let is_theirs = edited.contains(&path) && old.is_some_and(|old| after.as_deref().is_some_and(|it| old.is(it)));
        if !is_theirs && edited.contains(&path) && !change.force {
            let diff = diff(&path, before.as_deref(), after.as_deref());
            return Err(KeepError::Edited { path, diff });
        }
        let beneath = bare.get(&path).map_or(before.as_ref(), Option::as_ref);
        files.extend(after.as_ref().map(|after| KeptFile::new(&path, after, beneath)));
        files.retain(|file| !all.is_empty() && file.undo.as_deref() != Some(""));
        if before != after && !is_theirs {
            keeping.files.push(FileChange { path, before, after });
        }
    }
    let folders = missing_folders(machine, &keeping.files, !all.is_empty());
    let known = kept.folders.iter().chain(&folders).cloned().collect();
    keeping.manifest = Manifest::of(&all, &chosen.by, (files, known), origin);
    let before = there(machine, MANIFEST)?;
    let after = (!all.is_empty()).then(|| keeping.manifest.text());
    if kept.edited && !change.force && before.is_some() && before != after {
        let diff = diff(MANIFEST, before.as_deref(), after.as_deref());
        return Err(KeepError::Edited { path: MANIFEST.to_owned(), diff });
    }
    if before != after {
        keeping.files.push(FileChange { path: MANIFEST.to_owned(), before, after });
    }
    keeping.folders = folders;
    if all.is_empty() {
        keeping.needless_folders = kept.folders.iter().rev().cloned().collect();
    }
    Ok(keeping)
}

/// Files by path with what they would hold, and which of our own somebody has edited.
type WithoutOurs = (BTreeMap<String, Option<String>>, BTreeSet<String>);

/// The files that keep settings as they would be if nothing were kept, edits of others included.
fn without_ours(machine: &mut dyn Look, kept: &Manifest, force: bool) -> Result<WithoutOurs, KeepError> {
    let (mut bare, mut edited) = (BTreeMap::new(), BTreeSet::new());
    for file in &kept.files {
        let now = there(machine, &file.path)?;
        let without = match (&file.undo, now) {
            (_, None) => None,
            (None, Some(text)) => {
                if !file.is(&text) {
                    edited.insert(file.path.clone());
                }
                None
            }
            (Some(undo), Some(text)) => match file.without(undo, &text) {
                Some(without) => Some(without),
                None if force => Some(text),
                None => return Err(KeepError::Edited { path: file.path.clone(), diff: undo.clone() }),
            },
        };
        bare.insert(file.path.clone(), without);
    }
    Ok((bare, edited))
}

/// The text of a file; `None` where there is none. What is there and cannot be read is not absent.
fn there(machine: &mut dyn Look, path: &str) -> Result<Option<String>, KeepError> {
    let unreadable = |why: String| Err(KeepError::Unreadable { path: path.to_owned(), why });
    match machine.read(path) {
        Ok(text) => Ok(Some(text)),
        Err(Errno::ENOENT | Errno::ENOTDIR) => {
            let (folder, name) = path.rsplit_once('/').unwrap_or_default();
            let is_link = machine.list(folder).is_ok_and(|all| all.iter().any(|entry| entry.name == name));
            if is_link { unreadable("it is a link that leads nowhere".to_owned()) } else { Ok(None) }
        }
        Err(errno) => unreadable(errno.to_string()),
    }
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
///
/// A knob that is kept and not there now, as of a card that is unplugged, stays where it is kept.
fn choose(overlay: &mut Overlay<'_>, all: &[Want], kept: &Manifest, origin: &Origin) -> Result<Chosen, KeepError> {
    let mut chosen = Chosen::default();
    let mut knobs: Vec<&str> = all.iter().map(|want| want.knob.as_str()).collect();
    knobs.dedup();
    for knob in knobs {
        let wants: Vec<Want> = all.iter().filter(|want| want.knob == knob).cloned().collect();
        let by = kept.settings.iter().find(|it| it.knob == knob).map(|it| it.by.clone());
        if let Some(by) = by.filter(|_| is_gone(overlay, &wants)) {
            for place in place::PLACES.iter().filter(|place| by.contains(place.who)) {
                if let Some(files) = place.files(&mut overlay.bare(), &chosen.with(place, &wants), origin) {
                    overlay.put(files);
                    chosen.add(&[place], &wants);
                }
            }
            chosen.by.insert(knob.to_owned(), by);
            continue;
        }
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

/// True where a knob is at none of these sites now.
fn is_gone(machine: &mut Overlay<'_>, wants: &[Want]) -> bool {
    let sites = resolve_here(&wants[0].knob, &[], machine)
        .and_then(|named| named.knob.sites(&named.name, machine, &Selection::everywhere()));
    let sites = sites.map(|sites| sites.sites).unwrap_or_default();
    !wants.iter().any(|want| sites.iter().any(|site| site.name == want.site))
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
fn missing_folders(machine: &mut dyn Look, files: &[FileChange], with_list: bool) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    let written = files.iter().filter(|file| file.after.is_some()).map(|file| file.path.as_str());
    for mut folder in written.chain(with_list.then_some(MANIFEST)) {
        let mut folders = Vec::new();
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
    /// Changes in the order of making them: folders first, the list of what is kept after all that it names.
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
            moves: BTreeMap::new(),
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
        let needless = self.needless_folders.iter().map(|path| {
            let (remove, make) =
                (Action::RemoveFolder { path: path.clone() }, Action::MakeFolder { path: path.clone() });
            turn(path, remove, Some(make), None, false)
        });
        folders.chain(files).chain(needless).collect()
    }
}
