//! One short line for each event while an experiment runs: where it is, how long it takes yet, and the current estimate.
use std::collections::BTreeMap;

use powerband_record::{
    BlockDone, Event, Outcome, PlannedTrial, SearchStanding, SettingVerdict, Started, Verdict, format_duration,
    format_number, unit_of,
};

use super::brief::noun;
use crate::ExperimentEnd;
use crate::change::{signed_change, with_unit};
use crate::layout::{clean, cut};
use crate::model::{missing, most};
use crate::sentence::{ending, line, void};
use crate::words::{counted, finite, signed, with_boundary};

/// How many columns of a reason are shown; the report has it whole.
const REASON: usize = 60;
/// A limit of so many blocks is none: what limits is the time.
const NO_LIMIT: u32 = 10_000;

/// What the lines need to remember of the events before.
#[derive(Clone, Debug, Default)]
pub struct ProgressState {
    started: Option<Started>,
    trials: BTreeMap<u32, PlannedTrial>,
    verdicts: BTreeMap<(u32, String), SettingVerdict>, // latest by setting and metric: decided settings leave
    values: BTreeMap<u32, (f64, u32)>, // sum and number of the first decision metric in blocks, by setting
    latest: Option<u32>,               // the setting measured last, the reference apart
    finished: u32,                     // trials in blocks
    from_ns: Option<u64>,              // when the first block began
    now_ns: u64,
    block: u32,
    block_ns: u64,
    standing: Option<SearchStanding>,
}

impl ProgressState {
    /// Takes note of an event; to be called for each, before [`progress`] is asked about it.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Started(started) => self.started = Some((**started).clone()),
            Event::TrialStarted(trial) => {
                self.trials.insert(trial.trial, *trial);
                if trial.block > 0 {
                    self.from_ns.get_or_insert(trial.at_ns);
                }
            }
            Event::TrialDone { trial, at_ns, outcome } => {
                self.now_ns = self.now_ns.max(*at_ns);
                self.measured(*trial, outcome);
            }
            Event::TrialVoid { at_ns, .. } => self.now_ns = self.now_ns.max(*at_ns),
            Event::BlockDone(block) => {
                self.now_ns = self.now_ns.max(block.at_ns);
                (self.block, self.block_ns) = (block.block, block.at_ns);
                self.standing = block.search.clone().or(self.standing.take());
                let latest = block.verdicts.iter().map(|v| ((v.setting, v.metric.clone()), v.clone()));
                self.verdicts.extend(latest);
            }
            _ => {}
        }
    }

    /// The experiment was extended to so many blocks.
    pub fn extended_to(&mut self, blocks: u32) {
        if let Some(started) = &mut self.started {
            started.max_blocks = blocks;
        }
    }

    fn measured(&mut self, trial: u32, outcome: &Outcome) {
        let Some(trial) = self.trials.get(&trial).filter(|trial| trial.block > 0) else { return };
        self.finished += 1;
        let metric = self.started.as_ref().and_then(|started| started.metrics.iter().find(|metric| metric.judged));
        let Some(value) = metric.and_then(|metric| finite(outcome.metrics.get(&metric.name).copied())) else { return };
        let (sum, count) = self.values.entry(trial.setting).or_default();
        (*sum, *count) = (*sum + value, *count + 1);
        if trial.setting > 0 {
            self.latest = Some(trial.setting);
        }
    }

    fn label(&self, setting: u32) -> String {
        let planned = usize::try_from(setting).ok().zip(self.started.as_ref());
        let found = planned.and_then(|(index, started)| started.settings.get(index));
        found.map_or_else(|| format!("setting {setting}"), |it| clean(&it.label))
    }

    fn open(&self) -> impl Iterator<Item = &SettingVerdict> {
        self.verdicts.values().filter(|v| v.verdict == Verdict::Undecided)
    }

    /// Blocks that are missing, low and high, as last predicted; absent where one that is open has no prediction.
    fn missing(&self) -> Option<(u32, u32)> {
        most(self.open().map(missing))
    }

    /// Time left in words: from the prediction, else from the most blocks or the most time. A simulated machine's hours are
    /// seconds here.
    #[must_use]
    pub fn time_left(&self) -> Option<String> {
        let started = self.started.as_ref()?;
        let left = if started.machine.starts_with("sim:") { "of simulated time left" } else { "left" };
        let budget = started.budget_ns.map(|budget| budget.saturating_sub(self.now_ns));
        if self.is_search() {
            return Some(format!("at most {} {left}", short(budget?)));
        }
        let Some(each) = self.block_length_ns(started) else {
            return budget.map(|budget| format!("at most {} {left}", short(budget)));
        };
        let most = started.max_blocks.saturating_sub(self.block);
        let rest = each
            .saturating_mul(most.into())
            .saturating_sub(self.now_ns.saturating_sub(self.block_ns.max(self.from_ns.unwrap_or_default())));
        let rest = budget.map_or(rest, |budget| budget.min(rest));
        match self.missing() {
            Some((low, high)) if low < most => {
                let time = |blocks: u32| each.saturating_mul(blocks.into()).min(rest);
                let (low, high) = (short(time(low)), short(time(high)));
                Some(if low == high { format!("about {low} {left}") } else { format!("about {low} to {high} {left}") })
            }
            _ if rest > 0 => Some(format!("at most {} {left}", short(rest))),
            _ => None,
        }
    }

    /// How long a block takes: as the finished ones did, before those as the finished trials did.
    fn block_length_ns(&self, started: &Started) -> Option<u64> {
        let from_ns = self.from_ns?;
        if let Some(each) = self.block_ns.saturating_sub(from_ns).checked_div(self.block.into()) {
            return Some(each);
        }
        let trials = u64::try_from(started.settings.len()).ok()?;
        Some(self.now_ns.saturating_sub(from_ns).checked_div(self.finished.into())?.saturating_mul(trials))
    }

    /// The current estimate: of what is open, else of what was measured last.
    fn estimate(&self) -> Option<String> {
        let started = self.started.as_ref().filter(|started| !started.calibration)?;
        let first = started.metrics.iter().find(|metric| metric.judged)?;
        let of_first = |it: &&SettingVerdict| it.metric == first.name;
        let verdict =
            self.open().find(of_first).or_else(|| self.open().next()).or_else(|| self.verdicts.values().find(of_first));
        if let Some(verdict) = verdict.filter(|verdict| verdict.change.is_finite()) {
            let change = with_unit(&signed_change(verdict), verdict);
            return Some(format!("estimate {}: {} {change}", self.label(verdict.setting), noun(&verdict.metric)));
        }
        let mean = |setting: u32| self.values.get(&setting).map(|(sum, count)| sum / f64::from(*count));
        let (latest, reference) = (self.latest?, mean(0).filter(|mean| *mean > 0.0)?);
        let change = 100.0 * (mean(latest)? / reference - 1.0);
        Some(format!("estimate {}: {} {} %", self.label(latest), noun(&first.name), signed(change, 1)))
    }

    /// `; about 2 min left; estimate 500MHz: throughput -0.2 %`.
    fn outlook(&self) -> String {
        let parts = self.time_left().into_iter().chain(self.estimate());
        parts.map(|part| format!("; {part}")).collect()
    }

    fn is_search(&self) -> bool {
        self.started.as_ref().is_some_and(|started| started.search.is_some())
    }

    /// Where a search stands, in a line.
    fn stands(&self) -> Option<String> {
        let (plan, standing) = (self.started.as_ref()?.search.as_ref()?, self.standing.as_ref()?);
        let left = self.time_left().map(|left| format!("; {left}")).unwrap_or_default();
        Some(format!("{}{left}", line(standing.setting.map(|setting| self.label(setting)), plan, standing)))
    }

    fn place(&self, trial: u32) -> Option<String> {
        let trial = self.trials.get(&trial)?;
        Some(format!("{}, {}", self.block_of(trial), self.label(trial.setting)))
    }

    fn block_of(&self, trial: &PlannedTrial) -> String {
        match (trial.block, &self.started) {
            (0, _) => "warm-up".to_owned(),
            (block, Some(_)) if self.is_search() => format!("run {block}"),
            (block, Some(started)) => format!("block {block}{}", of_most(started)),
            (block, None) => format!("block {block}"),
        }
    }
}

/// `of 30`, where blocks are what limits it.
fn of_most(started: &Started) -> String {
    if started.max_blocks >= NO_LIMIT { String::new() } else { format!(" of {}", started.max_blocks) }
}

/// A duration as coarse as a forecast is: seconds below a minute, tens of them below ten, then minutes.
fn short(ns: u64) -> String {
    const S: u64 = 1_000_000_000;
    let rounded = |step: u64| (ns.saturating_add(step / 2)) / step * step;
    let whole = match ns / S {
        0..10 => ns,
        10..60 => rounded(S),
        60..600 => rounded(10 * S),
        _ => rounded(60 * S),
    };
    format_duration(whole).replace(" 0 s", "").replace(" 0 min", "")
}

/// The line for an event that `state` has [seen](ProgressState::see); none where there is nothing to say.
#[must_use]
pub fn progress(event: &Event, state: &ProgressState) -> Option<String> {
    match event {
        Event::Started(started) => {
            if let Some(plan) = &started.search {
                let settings = counted(u32::try_from(plan.points.len()).unwrap_or(u32::MAX), "setting");
                return Some(format!("{settings} to search, on {}", clean(&started.machine)));
            }
            let settings = u32::try_from(started.settings.len()).unwrap_or(u32::MAX);
            let blocks = match (started.max_blocks, started.budget_ns) {
                (NO_LIMIT.., Some(budget)) => format!("at most {}", short(budget)),
                (blocks, _) => format!("at most {}", counted(blocks, "block")),
            };
            Some(format!("{}, {blocks}, on {}", counted(settings, "setting"), clean(&started.machine)))
        }
        Event::TrialStarted(trial) => {
            if let Some(stands) = state.stands() {
                return Some(format!("{}; {stands}", state.place(trial.trial)?));
            }
            // Where the line has no room for everything, what runs now can be spared.
            Some(format!("{}{}; now {}", state.block_of(trial), state.outlook(), state.label(trial.setting)))
        }
        Event::Landed { trial, site } => {
            let setting = state.label(state.trials.get(trial)?.setting);
            let line = format!("{setting}: {}={} at {}: {}", site.knob, site.asked, site.site, site.landed);
            (!matches!(site.landed.as_str(), "applied" | "already so")).then(|| clean(&line))
        }
        Event::TrialDone { trial, outcome, .. } => {
            let metric = state.started.as_ref()?.metrics.first()?;
            let value = format_number(finite(outcome.metrics.get(&metric.name).copied())?);
            let value = format!("{value} {}", with_boundary(unit_of(&metric.name), metric));
            Some(format!("{}: {} {}", state.place(*trial)?, metric.name, value.trim_end()))
        }
        Event::TrialVoid { trial, why, .. } => {
            Some(format!("{}: void, {}", state.place(*trial)?, cut(&clean(&void(why)), REASON)))
        }
        Event::BlockDone(block) => Some(block_line(block, state)),
        Event::SettingLeft { setting, block, why } => {
            Some(format!("{} stops after block {block}: {}", state.label(*setting), cut(&clean(why), REASON)))
        }
        Event::Restored { entries, failed, .. } if failed.is_empty() => {
            Some(format!("restored: {}", counted(*entries, "change")))
        }
        Event::Restored { failed, .. } => Some(clean(&format!("RESTORE INCOMPLETE: {}", failed.join("; ")))),
        Event::Closed(finding) => {
            let end = ExperimentEnd::Closed(finding.reason.clone());
            Some(format!("{} after {}", ending(&end), counted(finding.blocks, "block")))
        }
        _ => None,
    }
}

fn block_line(block: &BlockDone, state: &ProgressState) -> String {
    if let Some(stands) = state.stands() {
        return stands;
    }
    let most = state.started.as_ref().map(of_most).unwrap_or_default();
    let head = format!("block {}{most} done", block.block);
    if state.verdicts.is_empty() {
        return head;
    }
    let all = state.verdicts.len();
    let more = match state.missing() {
        Some((low, high)) if low == high => format!(", about {} more", counted(low, "block")),
        Some((low, high)) => format!(", about {low} to {high} blocks more"),
        None => String::new(),
    };
    format!("{head}: {} of {all} decided{more}", all - state.open().count())
}
