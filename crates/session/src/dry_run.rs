//! What an experiment would turn and measure, and for how long: checked before anything is turned, printed by `--dry-run`.
use powerband_experiment::{Resolved, cover, meters_read};
use powerband_knob::{StepLine, for_side, plan};
use powerband_machine::World;
use powerband_meter::{Courses, MeterInstance};
use powerband_record::{BaselineValue, Better, Recording, SearchPlan, Side, format_duration, format_number, placed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::Shared;
use crate::commands::{self, Listed};
use crate::exit::{Answer, Exit, Failure};
use crate::output::{self, Document};
use crate::rig;

/// What one setting would turn.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Steps {
    /// Its name, or what it turns.
    label: String,
    /// On the near machine.
    near: Vec<StepLine>,
    /// On the far machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    far: Vec<StepLine>,
    /// What a person should know of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// Plans every setting on its machines without writing: a knob that is not there or a value that makes no sense ends
/// the command here, before the first trial.
pub(crate) fn steps(resolved: &Resolved, world: &mut dyn World) -> Result<Vec<Steps>, Failure> {
    let mut all = Vec::new();
    // A search has too many: those that have every value of every knob between them.
    let places = match &resolved.started.search {
        Some(search) => cover(search).into_iter().map(|setting| setting as usize).collect(),
        None => (0..resolved.settings.len()).collect::<Vec<_>>(),
    };
    for setting in places.into_iter().filter_map(|place| resolved.settings.get(place)) {
        let mut steps = Steps { label: setting.label(), near: Vec::new(), far: Vec::new(), notes: Vec::new() };
        for side in [Side::Near, Side::Far] {
            let part = for_side(setting, side);
            if part.assignments.is_empty() {
                continue;
            }
            let Some(machine) = world.machine(side) else {
                let sentence = format!(
                    "'{}' sets a knob of the peer machine, and there is none; name it with --far",
                    setting.label()
                );
                return Err(Failure::new(Exit::Usage, sentence));
            };
            let planned = plan(&part, machine, &resolved.narrow).map_err(rig::knob_failure)?;
            *(if side == Side::Near { &mut steps.near } else { &mut steps.far }) = planned.lines;
            steps.notes.extend(planned.notes);
        }
        all.push(steps);
    }
    Ok(all)
}

/// What the knobs of all settings read before anything is changed, those that could be read, each once.
pub(crate) fn baseline(steps: &[Steps]) -> Vec<BaselineValue> {
    let mut all: Vec<(String, Vec<&str>, Vec<&str>)> = Vec::new();
    for (side, line) in steps
        .iter()
        .flat_map(|steps| steps.near.iter().map(|line| ("", line)).chain(steps.far.iter().map(|line| ("far/", line))))
    {
        // What a kernel says in angle brackets is that there is no value: `<unsupported>`.
        let Some(from) = line.from.as_ref().filter(|from| !from.starts_with('<')) else { continue };
        let knob = format!("{side}{}", line.knob);
        let place = all.iter().position(|(known, ..)| *known == knob).unwrap_or(all.len());
        if place == all.len() {
            all.push((knob, Vec::new(), Vec::new()));
        }
        let Some((_, sites, values)) = all.get_mut(place) else { continue };
        // What a target reads while nothing is changed is the same under every setting.
        if !sites.contains(&line.site.as_str()) {
            sites.push(&line.site);
            if !values.contains(&from.as_str()) {
                values.push(from);
            }
        }
    }
    all.into_iter().map(|(knob, _, values)| BaselineValue { knob, value: values.join(",") }).collect()
}

/// A meter that was found.
#[derive(Serialize, JsonSchema)]
struct Found {
    /// Of which machine.
    side: Side,
    /// What it is.
    #[serde(flatten)]
    meter: MeterInstance,
}

/// The meters of a rig; the first of each machine is the one that is read.
fn meters(world: &mut dyn World, resolved: &Resolved) -> Vec<Found> {
    let mut all = Vec::new();
    let read = meters_read(world, &resolved.started.meters).unwrap_or_default();
    for side in [Side::Near, Side::Far] {
        let found = world.machine(side).map(|machine| powerband_meter::find_all(machine).meters).unwrap_or_default();
        let first = read.get(&side);
        let others = found.into_iter().filter(|meter| first.is_none_or(|first| first.source != meter.source));
        all.extend(first.cloned().into_iter().chain(others).map(|meter| Found { side, meter }));
    }
    all
}

/// What is to be recorded while loads run, each of the very CPUs.
fn recorded(world: &mut dyn World, resolved: &Resolved) -> Vec<Recording> {
    let mut all = resolved.started.record.clone();
    for recording in &mut all {
        let Some(machine) = world.machine(recording.side) else { continue };
        let open = Courses::open(machine, std::slice::from_ref(recording), resolved.narrow.cpus.as_ref());
        if let Ok(open) = open {
            recording.cpus = Some(open.cpus());
            open.close(machine);
        }
    }
    all
}

/// What an experiment would turn, measure and take.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Planned<'a> {
    /// What is searched, where the best of many settings is.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<&'a SearchPlan>,
    /// The near machine.
    machine: &'a str,
    /// The load, in words.
    load: String,
    /// Every command that would run, those that run as root first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    commands: &'a [Listed],
    /// What each setting would turn, the reference first; of a search those that are turned once before it begins.
    settings: &'a [Steps],
    /// Metrics that are judged.
    judged: Vec<&'a str>,
    /// Metrics that are shown besides.
    shown: Vec<&'a str>,
    /// Meters that were found; the first of each machine is read.
    meters: &'a [Found],
    /// What is recorded while loads run, of which CPUs and how often.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    record: &'a [Recording],
    /// Seed of the order and, of a simulated machine, of its noise.
    seed: u64,
    /// What is typed to see or run exactly this plan; absent where the seed was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<&'a str>,
    /// Margin of "same", relative.
    margin: f64,
    /// Most blocks.
    max_blocks: u32,
    /// Trials of a block while no setting has left.
    trials_in_first_block: usize,
    /// How long a trial takes with its settling, ns; null where the load does not tell.
    trial_ns: Option<u64>,
    /// The most it can take, ns; null where nothing limits it.
    longest_ns: Option<u64>,
}

impl Document for Planned<'_> {
    const KIND: &'static str = "dry-run";
}

/// Prints what would happen.
pub(crate) fn print(
    shared: &Shared,
    resolved: &Resolved,
    steps: &[Steps],
    listed: &[Listed],
    world: &mut dyn World,
    drawn: bool,
) -> Answer {
    let repeat = drawn.then(|| with_seed(resolved.started.seed, std::env::args()));
    let (meters, record) = (&meters(world, resolved)[..], &recorded(world, resolved)[..]);
    let started = &resolved.started;
    let judged: Vec<_> = started.metrics.iter().filter(|m| m.judged).map(|m| m.name.as_str()).collect();
    let shown: Vec<_> = started.metrics.iter().filter(|m| !m.judged).map(|m| m.name.as_str()).collect();
    let others = started.settings.len() - 1;
    let trials = others + powerband_stats::reference_copies(others);
    let trial_ns = resolved.load.length_ns().map(|length| length.saturating_add(started.settle_ns));
    let all = trial_ns.map(|ns| ns.saturating_mul(trials as u64).saturating_mul(u64::from(started.max_blocks)));
    let longest_ns = match (all, started.budget_ns) {
        (Some(all), Some(budget)) => Some(all.min(budget)),
        (all, budget) => all.or(budget),
    };
    if shared.json {
        let planned = Planned {
            search: started.search.as_ref(),
            machine: &started.machine,
            load: resolved.load.describe(),
            commands: listed,
            settings: steps,
            judged,
            shown,
            meters,
            record,
            seed: started.seed,
            repeat: repeat.as_deref(),
            margin: started.margin,
            max_blocks: started.max_blocks,
            trials_in_first_block: trials,
            trial_ns,
            longest_ns,
        };
        return output::say_document(&planned);
    }
    let mut text = format!("on {} ({}): {}\n", started.machine, started.system, resolved.load.describe());
    if !listed.is_empty() {
        text += &format!("commands it would run, and as whom\n{}", commands::table(listed));
    }
    text += &all_steps(steps, started.search.is_some(), shared.verbose);
    text += &format!(
        "decision metrics: {}; other metrics: {}\n",
        judged.join(", "),
        if shown.is_empty() { "none".into() } else { shown.join(", ") }
    );
    let found = |it: &Found| format!("{} {}", it.side, it.meter.boundary);
    text += &format!(
        "meters found: {}\n",
        if meters.is_empty() { "none".into() } else { meters.iter().map(found).collect::<Vec<_>>().join(", ") }
    );
    if !record.is_empty() {
        text += &format!("recorded: {}\n", record.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    }
    let time = |ns: Option<u64>| ns.map(at_most);
    match &started.search {
        Some(search) => text += &sought(search, &time(started.budget_ns).unwrap_or_default()),
        None => {
            text += &format!("margin {} % ({})\n", format_number(100.0 * started.margin), started.margin_source);
            text += &format!("{trials} trials a block, at most {} blocks", started.max_blocks);
            text += &time(longest_ns).map(|time| format!("{time}; usually decided sooner")).unwrap_or_default();
        }
    }
    text += &seeded(started.seed, drawn);
    output::say(&text);
    Ok(Exit::Fine as u8)
}

/// The seed, and what is typed to have it again where it was drawn.
pub(crate) fn seeded(seed: u64, drawn: bool) -> String {
    let typed = || format!(", drawn for this plan; the same plan again:\n{}", with_seed(seed, std::env::args()));
    format!("\nseed {seed}{}", if drawn { typed() } else { String::new() })
}

/// The words that were typed, with the seed right behind the program's name, where every verb takes it.
fn with_seed(seed: u64, words: impl Iterator<Item = String>) -> String {
    let typed: Vec<String> = words.skip(1).map(|word| powerband_report::sentence::quoted(&word)).collect();
    format!("powerband --seed {seed} {}", typed.join(" "))
}

/// Lines that the settings may take, so that all of it fits a terminal.
const LINES: usize = 16;

/// The steps of each setting; of a search those that are set once before it begins. Where they are many, a line for each setting
/// unless all are asked for.
fn all_steps(steps: &[Steps], searched: bool, verbose: bool) -> String {
    let lines: usize = steps.iter().map(|of| 1 + of.near.len() + of.far.len() + of.notes.len()).sum();
    if lines > LINES && !verbose {
        return counted_steps(steps, searched);
    }
    let mut text = String::new();
    for (index, steps) in steps.iter().enumerate() {
        let role = if index == 0 && !searched { " (reference)" } else { "" };
        text += &format!("{}{role}\n", steps.label);
        for (side, lines) in [("", &steps.near), ("far: ", &steps.far)] {
            text.extend(lines.iter().map(|line| format!("    {side}{}\n", words(line))));
        }
        text.extend(steps.notes.iter().map(|note| format!("    note: {note}\n")));
    }
    text
}

/// How many targets each setting writes to, and each note once.
fn counted_steps(steps: &[Steps], searched: bool) -> String {
    let mut notes: Vec<&str> = Vec::new();
    for note in steps.iter().flat_map(|of| &of.notes) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    let notes_shown = notes.len().min(LINES / 4);
    // A line is kept for what is left out.
    let shown = steps.len().min(LINES - notes_shown - 1);
    let mut text = String::new();
    for (index, of) in steps.iter().take(shown).enumerate() {
        let role = if index == 0 && !searched { " (reference)" } else { "" };
        let all = || of.near.iter().chain(&of.far);
        let (writes, same) = (all().count(), all().filter(|line| line.already).count());
        let same = if same > 0 { format!(", {same} already so") } else { String::new() };
        let noun = if writes == 1 { "write" } else { "writes" };
        text += &format!("{}{role}: {writes} {noun}{same}\n", of.label);
    }
    text.extend(notes.iter().take(notes_shown).map(|note| format!("note: {note}\n")));
    let left: Vec<String> = [(steps.len() - shown, "more settings"), (notes.len() - notes_shown, "more notes")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}, "))
        .collect();
    text + &format!("{}each write with its value: -v\n", left.concat())
}

/// A limit of time, behind what it limits.
pub(crate) fn at_most(ns: u64) -> String {
    format!(", at most about {}", format_duration(ns))
}

/// What is searched.
pub(crate) fn sought(search: &SearchPlan, time: &str) -> String {
    let way = if search.goal.better == Better::Lower { "least" } else { "most" };
    let limits: String = search.requirements.iter().map(|limit| format!(", {limit}")).collect();
    let count = search.points.len();
    format!("sought: the {way} {}{limits}, among {count} settings, of which a few are tried{time}", search.goal.name)
}

fn words(line: &StepLine) -> String {
    // What a kernel says in angle brackets is that there is no value: `<unsupported>`.
    let from = line.from.as_ref().filter(|from| !from.starts_with('<'));
    let from = from.map(|from| format!(" from {from}")).unwrap_or_default();
    let already = if line.already { " (already so)" } else { "" };
    format!("{}:{from} to {}{already}", placed(&line.knob, &line.site), line.to)
}
