//! What an experiment would set and measure, and for how long: checked before anything is set, and all that a dry run shows.
use std::collections::BTreeMap;

use powerband_experiment::{Resolved, Times, cover, meters_read};
use powerband_knob::{StepLine, for_side, plan};
use powerband_machine::World;
use powerband_meter::{MeterInstance, OpenCourses};
use powerband_record::{BaselineValue, Recording, SearchPlan, Side, Started};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Listed, SessionError};

/// What one setting would turn.
#[derive(Serialize, JsonSchema)]
pub struct Steps {
    /// Its name, or what it turns.
    pub label: String,
    /// On the near machine.
    pub near: Vec<StepLine>,
    /// On the far machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub far: Vec<StepLine>,
    /// On the machines of a list, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, Vec<StepLine>>,
    /// What it changes around the load: its environment, and what runs next to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub around_load: Vec<String>,
    /// What a person should know of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Steps {
    /// Each with what is written in front of its knob.
    pub fn lines(&self) -> impl Iterator<Item = (String, &StepLine)> {
        let ends = [("", &self.near), ("far/", &self.far)].into_iter().map(|(side, lines)| (side.to_owned(), lines));
        let nodes = self.nodes.iter().map(|(name, lines)| (format!("{name}/"), lines));
        ends.chain(nodes).flat_map(|(side, lines)| lines.iter().map(move |line| (side.clone(), line)))
    }
}

/// Plans every setting on its machines without writing: a knob that is not there or a value that makes no sense ends
/// the command here, before the first trial.
pub(crate) fn steps(resolved: &Resolved, world: &mut dyn World) -> Result<Vec<Steps>, SessionError> {
    let mut all = Vec::new();
    // A search has too many: those that have every value of every knob between them.
    let places = match &resolved.started.search {
        Some(search) => cover(search).into_iter().map(|setting| setting as usize).collect(),
        None => (0..resolved.settings.len()).collect::<Vec<_>>(),
    };
    for setting in places.into_iter().filter_map(|place| resolved.settings.get(place)) {
        let mut steps = Steps {
            label: setting.label(),
            near: Vec::new(),
            far: Vec::new(),
            nodes: BTreeMap::new(),
            around_load: setting.around_load().map(|it| format!("{}: {}", it.knob, it.value)).collect(),
            notes: Vec::new(),
        };
        let machines = world.sides();
        let is_list = machines.iter().any(|side| matches!(side, Side::Node(_)));
        // A far machine that is not there is an error, not nothing to do.
        for side in if is_list { machines } else { vec![Side::Near, Side::Far] } {
            let part = for_side(setting, side);
            if part.assignments.is_empty() {
                continue;
            }
            let Some(machine) = world.machine(side) else {
                return Err(SessionError::NoPeer(setting.label()));
            };
            let planned = plan(&part, machine, &resolved.narrow).map_err(|error| error.on(side))?;
            match side {
                Side::Near => steps.near = planned.lines,
                Side::Node(_) => drop(steps.nodes.insert(side.to_string(), planned.lines)),
                _ => steps.far = planned.lines,
            }
            steps.notes.extend(planned.notes);
        }
        all.push(steps);
    }
    Ok(all)
}

/// What the knobs of all settings read before anything is changed, those that could be read, each once.
pub(crate) fn baseline(steps: &[Steps]) -> Vec<BaselineValue> {
    let mut all: Vec<(String, Vec<&str>, Vec<&str>)> = Vec::new();
    for (side, line) in steps.iter().flat_map(Steps::lines) {
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
pub struct Found {
    /// Of which machine.
    pub side: Side,
    /// What it is.
    #[serde(flatten)]
    pub meter: MeterInstance,
}

/// The meters of a rig; the first of each machine is the one that is read.
fn meters(world: &mut dyn World, resolved: &Resolved) -> Vec<Found> {
    let mut all = Vec::new();
    let read = meters_read(world, &resolved.started.meters).unwrap_or_default();
    for side in world.sides() {
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
        let open = OpenCourses::open(machine, std::slice::from_ref(recording), resolved.narrow.cpus.as_ref());
        if let Ok(open) = open {
            recording.cpus = Some(open.cpus());
            open.close(machine);
        }
    }
    all
}

/// What an experiment would turn, measure and take.
#[derive(Serialize, JsonSchema)]
pub struct Planned<'a> {
    /// What is searched, where the best of many settings is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<&'a SearchPlan>,
    /// The near machine.
    pub machine: &'a str,
    /// The load, in words.
    pub load: String,
    /// Every command that would run, those that run as root first.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub commands: &'a [Listed],
    /// What each setting would turn, the reference first; of a search those that are turned once before it begins.
    pub settings: &'a [Steps],
    /// Metrics that are judged.
    pub judged: Vec<&'a str>,
    /// Metrics that are shown besides.
    pub shown: Vec<&'a str>,
    /// Meters that were found; the first of each machine is read.
    pub meters: Vec<Found>,
    /// What is recorded while loads run, of which CPUs and how often.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub record: Vec<Recording>,
    /// Seed of the order and, of a simulated machine, of its noise.
    pub seed: u64,
    /// What is typed to see or run exactly this plan; absent where the seed was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<String>,
    /// Margin of "same", relative.
    pub margin: f64,
    /// Most blocks.
    pub max_blocks: u32,
    /// Trials of a block while no setting has left.
    pub trials_in_first_block: usize,
    /// How long a trial takes with its settling and waiting, ns, the longest of the settings; null where the load does not tell.
    pub trial_ns: Option<u64>,
    /// The most it can take while no trial is void, ns; null where nothing limits it.
    pub longest_ns: Option<u64>,
    /// The experiment.
    #[serde(skip)]
    pub started: &'a Started,
    /// Nobody gave the seed.
    #[serde(skip)]
    pub seed_drawn: bool,
}

/// What would happen.
pub(crate) fn planned<'a>(
    resolved: &'a Resolved,
    settings: &'a [Steps],
    commands: &'a [Listed],
    world: &mut dyn World,
    seed_drawn: bool,
) -> Planned<'a> {
    let started = &resolved.started;
    let times = Times::of(resolved, world);
    let metrics = |judged: bool| {
        let of = started.metrics.iter().filter(move |metric| metric.judged == judged);
        of.map(|metric| metric.name.as_str()).collect()
    };
    Planned {
        search: started.search.as_ref(),
        machine: &started.machine,
        load: resolved.load.describe(),
        commands,
        settings,
        judged: metrics(true),
        shown: metrics(false),
        meters: meters(world, resolved),
        record: recorded(world, resolved),
        seed: started.seed,
        repeat: None,
        margin: started.margin,
        max_blocks: started.max_blocks,
        trials_in_first_block: times.trials_in_first_block,
        trial_ns: times.trial_ns,
        longest_ns: times.longest_ns,
        started,
        seed_drawn,
    }
}
