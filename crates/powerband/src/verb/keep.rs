//! `keep`: settings, or the result of an experiment, in force now and after each boot; `unkeep`.
mod unconfirmed;

use std::collections::BTreeSet;

use powerband_host::trusted_place;
use powerband_knob::{Applied, Landed, Phase, PlannedKnob, Reached, plan, resolve};
use powerband_machine::{Action, EntryId, Errno, Machine};
use powerband_persist::{
    FileChange, KeepError, KeepRequest, Keeping, KeptSetting, Manifest, Origin, Rounded, diff, set_by,
};
use powerband_record::{Assignment, CpuList, IntoOrdered as _, Setting, Side, quoted};
use powerband_report::{Model, advice};
use powerband_rig::Names;
use schemars::JsonSchema;
use serde::Serialize;

use super::set;
use crate::cli::{Keep, Shared, Unkeep};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::held::put_back;
use crate::output::{self, Document};
use crate::rig::{self, Purpose, Rig};
use crate::stored::{model, need_store};
use crate::typed::for_machines;

/// What is kept, or would be.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Kept {
    /// Nothing was changed.
    dry_run: bool,
    /// Each machine on which something is kept.
    machines: Vec<OnMachine>,
}

/// What is kept on one machine.
#[derive(Serialize, JsonSchema)]
struct OnMachine {
    /// Which machine.
    side: Side,
    /// What is kept, and by which place.
    #[serde(flatten)]
    manifest: Manifest,
    /// Files that were written now, or would be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
}

impl Document for Kept {
    const KIND: &'static str = "keep";
}

impl From<KeepError> for Failure {
    fn from(error: KeepError) -> Failure {
        let exit = match error {
            KeepError::Manifest(_) | KeepError::Edited { .. } | KeepError::Unreadable { .. } => Exit::Failed,
            _ => Exit::Unsupported,
        };
        Failure::new(exit, error)
    }
}

/// What is to be kept, and what the files say of it.
struct Asked {
    setting: Setting,
    origin: Origin,
    /// The CPUs that it was measured on, where those are not all.
    cpus: Option<CpuList>,
    /// Edits of what powerband wrote give way.
    force: bool,
}

pub(crate) fn run(shared: &Shared, args: &Keep) -> Answer {
    if args.list {
        return list(shared);
    }
    let mut asked = asked(shared, &args.what)?;
    asked.origin.until_confirmed = args.until_confirmed;
    asked.force = args.force;
    let mut of_cpus = shared.clone();
    of_cpus.cpus = of_cpus.cpus.or_else(|| asked.cpus.take());
    let shared = &of_cpus;
    let mut rig = rig::open(shared, if args.dry_run { Purpose::Rehearse } else { Purpose::Turn })?;
    if args.dry_run {
        return rehearse(shared, &mut rig, &asked);
    }
    let names = rig::names(shared);
    let mut told = match set::turn(&mut rig, &asked.setting, shared, &rig::selection(shared)?, false) {
        Ok(told) => told,
        Err(failure) => return Err(with_nearest(&mut rig, shared, &asked.setting, failure)),
    };
    asked.origin.rounded = match rounded(&mut rig, &told) {
        Ok(rounded) => rounded,
        Err(failure) => {
            put_back(rig.world(), &told.applied, &names).inspect_err(|_| output::error(&failure.sentence))?;
            return Err(failure);
        }
    };
    if let Some(sentence) = not_taken(&mut rig, &told, &asked.origin.rounded) {
        put_back(rig.world(), &told.applied, &names)?;
        return Err(Failure::new(Exit::Unsupported, sentence));
    }
    let (mut machines, mut of_machines) = (Vec::new(), Vec::new());
    for at in 0..told.applied.len() {
        let side = told.applied[at].0;
        let mut written = Applied::default();
        let kept: Option<Result<(Keeping, Vec<String>), Failure>> = rig.world().machine(side).map(|machine| {
            let keeping = keeping(machine, shared, &asked, side)?;
            write(machine, &keeping, &mut written.entries)?;
            let lines = lines_of(side, &keeping.manifest, "kept");
            Ok((keeping, lines))
        });
        // What was written is undone with the rest, also where writing has failed.
        told.applied.push((side, written));
        match kept {
            None => {}
            Some(Ok((keeping, lines))) => {
                machines.push((side, keeping));
                of_machines.extend(lines);
            }
            Some(Err(failure)) => {
                put_back(rig.world(), &told.applied, &names).inspect_err(|_| output::error(&failure.sentence))?;
                return Err(failure);
            }
        }
    }
    set::keep(&mut rig, &told, &names)?;
    unconfirmed::forget(shared)?;
    if shared.json {
        return print(&machines, false);
    }
    let typed = |verb: &str| for_machines(&names, verb);
    let mut lines = std::mem::take(&mut told.lines);
    lines.append(&mut of_machines);
    if machines.iter().any(|(_, keeping)| keeping.manifest.until_confirmed) {
        lines.push(format!("at the second boot it is removed, unless you type `{}` before", typed("confirm")));
    }
    lines.push(format!("compare with `{}`; remove with `{}`", typed("check"), typed("unkeep")));
    output::print(&lines.join("\n"));
    Ok(Exit::Fine as u8)
}

/// Adds the nearest value that a driver takes to what it refused.
fn with_nearest(rig: &mut Rig, shared: &Shared, setting: &Setting, mut failure: Failure) -> Failure {
    let Ok(narrow) = rig::selection(shared) else { return failure };
    for side in rig::machines_of(setting, rig.world()).unwrap_or_default() {
        let Some(machine) = rig.world().machine(side) else { continue };
        let steps = plan(&powerband_knob::for_side(setting, side), machine, &narrow);
        let planned: Vec<PlannedKnob> = steps.and_then(|steps| steps.planned(machine)).unwrap_or_default();
        for PlannedKnob { named, site, action, .. } in planned {
            let Action::Coalesce { device, values } = action else { continue };
            let Some((parameter, value)) = values.0.first_key_value() else { continue };
            if let Ok(Some(nearest)) = powerband_knob::nearest_taken(machine, &device, parameter, *value) {
                let value = quoted(&format!("{}@{}={nearest}", named.name, site.name));
                failure.sentence += &format!("; the nearest value that is taken is kept by `powerband keep {value}`");
            }
        }
    }
    failure
}

/// How far a driver that counts in steps may round a value that is kept all the same, beyond a tenth of it.
const ROUNDED: u32 = 16;

/// Where a driver rounds what was asked for, and what is requested at each boot so that the same reads there. What was set before is
/// requested again, because a driver may take what it shows for another step.
fn rounded(rig: &mut Rig, told: &set::SetOutput) -> Result<Vec<Rounded>, Failure> {
    let mut found = Vec::new();
    for (side, applied) in &told.applied {
        for it in applied.sites.iter().filter(|it| it.named.name.starts_with("nic.")) {
            let number = |text: Option<&str>| text.and_then(|text| text.trim().parse::<u32>().ok());
            let asked = it.asked.typed();
            let (Some(asked), Some(reads)) = (number(Some(&asked)), number(it.reads_back.as_deref())) else { continue };
            let requested = match &it.landed {
                Landed::Clamped { .. } if asked.abs_diff(reads) <= ROUNDED.max(asked / 10) => Some(asked),
                Landed::Already => match rig.world().machine(*side) {
                    Some(machine) => {
                        let parameter = it.named.name.trim_start_matches("nic.");
                        powerband_knob::request_that_reads(machine, &it.site.name, parameter, reads)?
                    }
                    None => None,
                },
                _ => None,
            };
            let (knob, site, reads) = (it.named.name.clone(), it.site.name.clone(), reads.to_string());
            let rounded = requested.map(|requested| Rounded { knob, site, requested, reads });
            found.extend(rounded.filter(|it| it.requested.to_string() != it.reads));
        }
    }
    Ok(found)
}

/// Why what was set is not worth keeping: another value came of it, and would at each boot; or who sets the other one now.
fn not_taken(rig: &mut Rig, told: &set::SetOutput, rounded: &[Rounded]) -> Option<String> {
    let is_kept = |it: &&Reached| rounded.iter().any(|kept| kept.knob == it.named.name && kept.site == it.site.name);
    let (side, inexact) = told
        .applied
        .iter()
        .find_map(|(side, applied)| Some((*side, applied.inexact().into_iter().find(|it| !is_kept(it))?)))?;
    let other = rig.world().machine(side).and_then(|machine| {
        let open = machine.open_entries();
        set_by(machine, &open, &inexact.named.name, &inexact.site.name)
    });
    let what_next = match other {
        Some(other) => format!("{other} sets it at the same time: type it again once that is done"),
        None => match (&inexact.landed, &inexact.reads_back) {
            (Landed::Clamped { .. }, Some(reads)) => {
                let value = format!("{}@{}={reads}", inexact.named.name, inexact.site.name);
                format!("the nearest value that is taken is kept by `powerband keep {}`", quoted(&value))
            }
            _ => "keep a value that is taken".to_owned(),
        },
    };
    Some(format!("nothing is kept and everything was restored: {}; {what_next}", inexact.words()))
}

/// The setting of the words, or the one that an experiment recommends.
fn asked(shared: &Shared, words: &[String]) -> Result<Asked, Failure> {
    let id = match words {
        [] => "last",
        [one] if !one.contains('=') => one.as_str(),
        settings => {
            let setting = set::typed(settings)?;
            let lines = vec![format!("Asked for: {}", setting.turns())];
            return Ok(Asked { setting, origin: Origin { lines, ..origin(shared)? }, cpus: None, force: false });
        }
    };
    let store = need_store(shared)?;
    let id = store.resolve(id).map_err(crate::failure::not_found)?;
    let model = model(shared, &store, id)?;
    check_place(shared, &model, id)?;
    let Some(advice) = advice(&model) else {
        let why = powerband_report::no_advice(&model).unwrap_or_else(|| "it recommends no setting".to_owned());
        let sentence = format!(
            "experiment {id} has nothing to keep: {why}; `powerband keep KNOB=VALUE` keeps a setting all the same"
        );
        return Err(Failure::new(Exit::Failed, sentence));
    };
    if let Some(why) = &advice.no_command {
        let label = model.label(advice.setting);
        let sentence = format!("experiment {id} recommends {label}, which cannot be kept: {why}");
        return Err(Failure::new(Exit::Failed, sentence));
    }
    let turns = usize::try_from(advice.setting).ok().and_then(|at| model.settings.get(at)).map(|it| it.turns.clone());
    let setting = Setting::parse(&format!("a:{}", turns.unwrap_or_default())).map_err(usage)?.of_machines();
    if setting.assignments.is_empty() {
        let label = model.label(advice.setting);
        return Err(Failure::new(
            Exit::Failed,
            format!("experiment {id} recommends {label}, which sets nothing on a machine"),
        ));
    }
    let gain = advice.gain_and_price();
    let gain = if gain.is_empty() { advice.why } else { gain };
    let verdict = format!("{}: {gain}", model.label(advice.setting));
    let lines = vec![format!("Experiment {id}: {verdict}")];
    let origin = Origin { lines, experiment: Some(id), verdict: Some(verdict), ..origin(shared)? };
    Ok(Asked { setting, origin, cpus: model.started.cpus.clone(), force: false })
}

/// What was measured elsewhere is not kept here, unless this machine is named.
fn check_place(shared: &Shared, model: &Model, id: i64) -> Result<(), Failure> {
    let then = Names::begun(&model.started);
    if shared.machine.is_some() || shared.far.is_some() || rig::is_list(shared) || then == Names::new(None, None) {
        return Ok(());
    }
    let next = match powerband_report::kept(model) {
        Some(there) => format!("`{there}` keeps it there"),
        None => "`powerband keep KNOB=VALUE` keeps a setting here".to_owned(),
    };
    Err(usage(format!("experiment {id} was measured on {}, not on this machine; {next}", then.describe())))
}

/// The program that checks after each boot: this one, on the machine it runs on. Root runs it then, so that nobody else may be able to
/// change it.
fn origin(shared: &Shared) -> Result<Origin, Failure> {
    let here = shared.machine.as_deref().is_none_or(|name| name == "local");
    let Some(program) = powerband_host::program_path().ok().filter(|_| here) else { return Ok(Origin::default()) };
    trusted_place(&program).map_err(|error| {
        let installed = "/usr/local/sbin/powerband";
        let sentence = format!(
            "root would run {} at each boot, but {error}: install it where root alone can change it by \
             `sudo install -m 755 {} {installed}`, and keep with `sudo {installed} keep`",
            program.display(),
            quoted(&program.display().to_string())
        );
        Failure::new(Exit::Denied, sentence)
    })?;
    let state_folder = powerband_host::named_state_folder().map(|folder| folder.display().to_string());
    Ok(Origin { program: program.display().to_string(), state_folder, ..Origin::default() })
}

/// What has to be written on one machine, whose knobs are set by now.
fn keeping(machine: &mut dyn Machine, shared: &Shared, asked: &Asked, side: Side) -> Result<Keeping, Failure> {
    let part = powerband_knob::for_side(&asked.setting, side);
    let planned: Vec<PlannedKnob> = plan(&part, machine, &rig::selection(shared)?)?.planned(machine)?;
    let mut origin = asked.origin.clone();
    // What waits to be confirmed goes on waiting, with what joins it.
    origin.until_confirmed |= Manifest::read(machine).map_err(KeepError::from)?.until_confirmed;
    if side != Side::Near {
        origin.program.clear();
    }
    let change = KeepRequest { planned: &planned, force: asked.force, ..KeepRequest::default() };
    decided(machine, &change, &origin)
}

/// Files that have to be written. A change that does not fit what somebody has edited is shown.
fn decided(machine: &mut dyn Machine, change: &KeepRequest<'_>, origin: &Origin) -> Result<Keeping, Failure> {
    let keeping = powerband_persist::keep(machine, change, origin);
    if let Err(KeepError::Edited { diff, .. }) = &keeping {
        output::complain_lines(diff);
    }
    Ok(keeping?)
}

/// Writes the files, each through the ledger; `entries` are those that were made.
fn write(machine: &mut dyn Machine, keeping: &Keeping, entries: &mut Vec<EntryId>) -> Result<(), Failure> {
    for mut turn in keeping.turns() {
        turn.step = entries.first().copied();
        let acted = machine.act(&turn).map_err(|error| Failure::new(Exit::CannotGoOn, error))?;
        entries.push(acted.entry);
        if let Some(errno) = acted.errno {
            // A folder that somebody uses stays.
            if matches!(turn.action, Action::RemoveFolder { .. }) {
                continue;
            }
            let denied = matches!(errno, Errno::EACCES | Errno::EPERM | Errno::EROFS);
            let exit = if denied { Exit::Denied } else { Exit::CannotGoOn };
            return Err(Failure::new(
                exit,
                format!("{} cannot be written: {errno}; everything was restored", turn.site),
            ));
        }
    }
    Ok(())
}

/// What would be written, as a diff, and nothing is.
fn rehearse(shared: &Shared, rig: &mut Rig, asked: &Asked) -> Answer {
    let told = set::turn(rig, &asked.setting, shared, &rig::selection(shared)?, true)?;
    let (mut lines, mut machines) = (told.lines, Vec::new());
    for side in rig::machines_of(&asked.setting, rig.world())? {
        let Some(machine) = rig.world().machine(side) else { continue };
        let keeping = keeping(machine, shared, asked, side)?;
        let of = |file: &FileChange| diff(&file.path, file.before.as_deref(), file.after.as_deref());
        lines.extend(keeping.files.iter().map(of));
        lines.extend(lines_of(side, &keeping.manifest, "would be kept"));
        machines.push((side, keeping));
    }
    if shared.json {
        return print(&machines, true);
    }
    lines.extend(untried(&asked.setting));
    lines.push("nothing was changed".to_owned());
    output::print(&lines.join("\n"));
    Ok(Exit::Fine as u8)
}

/// That nobody knows yet whether the kernel takes these values, where there are such: it has no list of what it takes.
fn untried(setting: &Setting) -> Option<String> {
    let untried = |assignment: &&Assignment| {
        let named = resolve(&assignment.knob.name);
        named.is_ok_and(|named| matches!(named.knob.about().phase, Phase::Sysctl | Phase::File))
    };
    let values: Vec<String> = setting.assignments.iter().filter(untried).map(ToString::to_string).collect();
    (!values.is_empty()).then(|| {
        format!(
            "whether the kernel takes {} is known once it is set; `powerband keep` keeps nothing that is refused",
            values.join(" and ")
        )
    })
}

/// Each place with what it keeps, a line each; `kept` is what is said of it.
fn lines_of(side: Side, manifest: &Manifest, kept: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let there = side.prefix();
    for setting in &manifest.settings {
        let of = setting.experiment.map(|id| format!(" (experiment {id})")).unwrap_or_default();
        let (knob, value) = (&setting.knob, &setting.value);
        let at = if setting.everywhere { String::new() } else { format!("@{}", setting.site) };
        let line = format!("{there}{kept} over reboots: {knob}{at}={value}{of}, set at boot by {}", setting.by);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    // Before anything that is started at boot has set it, the kernel's own default holds. An option is for all sites.
    let whole = manifest.settings.iter().filter(|setting| setting.everywhere);
    let options: BTreeSet<String> = whole.filter_map(KeptSetting::boot_option).into_set();
    if !options.is_empty() {
        let options = Vec::from_iter(options).join(" ");
        lines.push(format!("{there}to have it from the start of the kernel, add to its command line: {options}"));
    }
    lines
}

fn print(machines: &[(Side, Keeping)], dry_run: bool) -> Answer {
    let machines = machines.iter().map(|(side, keeping)| OnMachine {
        side: *side,
        manifest: keeping.manifest.clone(),
        written: keeping.files.iter().map(|file| file.path.clone()).collect(),
    });
    output::print_document(&Kept { dry_run, machines: machines.collect() })
}

fn list(shared: &Shared) -> Answer {
    let mut rig = rig::open(shared, Purpose::Look)?;
    let (mut machines, mut lines) = (Vec::new(), Vec::new());
    for side in rig.world().sides() {
        let Some(machine) = rig.world().machine(side) else { continue };
        let manifest = Manifest::read(machine).map_err(KeepError::from)?;
        if !manifest.is_empty() {
            lines.extend(lines_of(side, &manifest, "kept"));
            lines.extend(manifest.verdict.iter().map(|verdict| format!("  {verdict}")));
            lines.extend(manifest.files.iter().map(|file| format!("  {}", file.path)));
            machines.push(OnMachine { side, manifest, written: Vec::new() });
        }
    }
    rig::check_lost(rig.world())?;
    if shared.json {
        return output::print_document(&Kept { dry_run: false, machines });
    }
    output::print(if lines.is_empty() { "nothing is kept".to_owned() } else { lines.join("\n") }.as_str());
    Ok(Exit::Fine as u8)
}

/// Confirms what is kept until somebody does; `None` where nothing waits for that.
pub(super) fn confirm(shared: &Shared) -> Result<Option<u8>, Failure> {
    let waits = |kept: &Manifest| kept.until_confirmed;
    let done = change_kept(shared, &waits, &|_| false, false)?;
    if done.is_empty() {
        return Ok(None);
    }
    output::print("confirmed: what is kept stays; remove it with `powerband unkeep`");
    Ok(Some(Exit::Fine as u8))
}

pub(crate) fn remove(shared: &Shared, args: &Unkeep) -> Answer {
    if args.unconfirmed && !unconfirmed::is_over(shared)? {
        return Ok(Exit::Fine as u8);
    }
    let names: Vec<String> =
        args.knobs.iter().map(|knob| resolve(knob).map_or_else(|_| knob.clone(), |named| named.name)).collect();
    let drops = |it: &KeptSetting| names.is_empty() || names.contains(&it.knob);
    let done = change_kept(shared, &|kept| kept.settings.iter().any(drops), &drops, args.force)?;
    unconfirmed::forget(shared)?;
    if shared.json {
        return print(&done, false);
    }
    let files: usize = done.iter().map(|(_, keeping)| keeping.files.len()).sum();
    let lines: Vec<String> =
        done.iter().flat_map(|(side, keeping)| lines_of(*side, &keeping.manifest, "still kept")).collect();
    match (done.is_empty(), names.is_empty()) {
        (true, true) => output::print("nothing is kept"),
        (true, false) => {
            let sentence = format!("{} is not kept; `powerband keep --list` lists what is", args.knobs.join(" and "));
            return Err(usage(sentence));
        }
        (false, _) => {
            let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            let first = format!("removed or restored: {files}; what is set now stays so until the next boot");
            output::print(&std::iter::once(first).chain(lines).collect::<Vec<_>>().join("\n"));
        }
    }
    Ok(Exit::Fine as u8)
}

/// Changes what is kept on each machine where `concerns` holds, all of it or nothing.
fn change_kept(
    shared: &Shared,
    concerns: &dyn Fn(&Manifest) -> bool,
    drops: &dyn Fn(&KeptSetting) -> bool,
    force: bool,
) -> Result<Vec<(Side, Keeping)>, Failure> {
    let mut rig = rig::open(shared, Purpose::Turn)?;
    let names = rig::names(shared);
    let (mut told, mut done) = (set::SetOutput::default(), Vec::new());
    for side in rig.world().sides() {
        let Some(machine) = rig.world().machine(side) else { continue };
        let kept = Manifest::read(machine).map_err(KeepError::from)?;
        if !concerns(&kept) {
            continue;
        }
        // The program that was trusted then is named again; whoever confirms has another one perhaps.
        let origin = Origin {
            experiment: kept.experiment,
            verdict: kept.verdict,
            program: kept.program,
            state_folder: kept.state_folder,
            ..Origin::default()
        };
        let change = KeepRequest { drops, force, ..KeepRequest::default() };
        let mut written = Applied::default();
        let keeping = decided(machine, &change, &origin)
            .and_then(|keeping| write(machine, &keeping, &mut written.entries).map(|()| keeping));
        told.applied.push((side, written));
        match keeping {
            Ok(keeping) => done.push((side, keeping)),
            Err(failure) => {
                put_back(rig.world(), &told.applied, &names).inspect_err(|_| output::error(&failure.sentence))?;
                return Err(failure);
            }
        }
    }
    set::keep(&mut rig, &told, &names)?;
    Ok(done)
}
