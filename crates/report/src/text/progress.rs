//! One short line for each event, for whoever watches an experiment run.
use std::collections::BTreeMap;

use powerband_record::{
    BlockDone, Event, PlannedTrial, SearchStanding, SettingVerdict, Started, Verdict, format_duration, format_number,
    unit_of,
};

use super::{clean, cut};
use crate::End;
use crate::model::missing;
use crate::sentence::{counted, ending, finite, line, void, with_boundary};

/// How many columns of a reason are told; the report has it whole.
const REASON: usize = 60;

/// What the lines need to remember of the events before.
#[derive(Clone, Debug, Default)]
pub struct State {
    started: Option<Started>,
    trials: BTreeMap<u32, PlannedTrial>,
    verdicts: BTreeMap<(u32, String), SettingVerdict>, // latest by setting and metric: decided settings leave
    block: u32,
    block_ns: u64,
    standing: Option<SearchStanding>,
}

impl State {
    /// Takes note of an event; to be called for each, before [`progress`] is asked about it.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Started(started) => self.started = Some((**started).clone()),
            Event::TrialStarted(trial) => {
                self.trials.insert(trial.trial, *trial);
            }
            Event::BlockDone(block) => {
                (self.block, self.block_ns) = (block.block, block.at_ns);
                self.standing = block.search.clone().or(self.standing.take());
                let latest = block.verdicts.iter().map(|v| ((v.setting, v.metric.clone()), v.clone()));
                self.verdicts.extend(latest);
            }
            _ => {}
        }
    }

    fn label(&self, setting: u32) -> String {
        let planned = usize::try_from(setting).ok().zip(self.started.as_ref());
        let found = planned.and_then(|(index, started)| started.settings.get(index));
        found.map_or_else(|| format!("setting {setting}"), |setting| clean(&setting.label))
    }

    fn open(&self) -> impl Iterator<Item = &SettingVerdict> {
        self.verdicts.values().filter(|v| v.verdict == Verdict::Undecided)
    }

    /// Blocks that are missing, low and high, as last predicted.
    fn missing(&self) -> Option<(u32, u32)> {
        self.open().filter_map(missing).reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// Time left in words: from the prediction, else from the most blocks; absent before the first block. A simulated machine's
    /// hours are seconds here.
    #[must_use]
    pub fn time_left(&self) -> Option<String> {
        let started = self.started.as_ref()?;
        let left = if started.machine.starts_with("sim:") { "of its own time left" } else { "left" };
        if self.is_search() {
            return Some(format!("at most {} {left}", short(started.budget_ns?.saturating_sub(self.block_ns))));
        }
        let each = self.block_ns.checked_div(self.block.into())?;
        let most = started.max_blocks.saturating_sub(self.block);
        match self.missing() {
            Some((low, high)) if low < most => {
                let (low, high) = (each.saturating_mul(low.into()), each.saturating_mul(high.min(most).into()));
                let span = match high > low {
                    true => format!("{} to {}", short(low), short(high)),
                    false => short(low),
                };
                Some(format!("about {span} {left}"))
            }
            _ if most > 0 => Some(format!("at most {} {left}", short(each.saturating_mul(most.into())))),
            _ => None,
        }
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
        let block = match (trial.block, &self.started) {
            (0, _) => "warm-up".to_owned(),
            (block, Some(_)) if self.is_search() => format!("run {block}"),
            (block, Some(started)) => format!("block {block} of at most {}", started.max_blocks),
            (block, None) => format!("block {block}"),
        };
        Some(format!("{block}, {}", self.label(trial.setting)))
    }
}

/// A duration to the second above ten seconds: nobody waits by the millisecond.
fn short(ns: u64) -> String {
    const S: u64 = 1_000_000_000;
    format_duration(if ns >= 10 * S { ns.saturating_add(S / 2) / S * S } else { ns })
}

/// The line for an event that `state` has [seen](State::see); none where there is nothing to say.
#[must_use]
pub fn progress(event: &Event, state: &State) -> Option<String> {
    match event {
        Event::Started(started) => {
            if let Some(plan) = &started.search {
                let settings = counted(u32::try_from(plan.points.len()).unwrap_or(u32::MAX), "setting");
                return Some(format!("{settings} to search, on {}", clean(&started.machine)));
            }
            let settings = u32::try_from(started.settings.len()).unwrap_or(u32::MAX);
            let (settings, blocks) = (counted(settings, "setting"), counted(started.max_blocks, "block"));
            Some(format!("{settings}, at most {blocks}, on {}", clean(&started.machine)))
        }
        Event::TrialStarted(trial) => {
            if let Some(stands) = state.stands() {
                return Some(format!("{}; {stands}", state.place(trial.trial)?));
            }
            let left = state.time_left().map(|left| format!("; {left}")).unwrap_or_default();
            Some(format!("{}{left}", state.place(trial.trial)?))
        }
        Event::Landed { trial, site } => {
            let setting = state.label(state.trials.get(trial)?.setting);
            let line = format!("{setting}: {}@{} asked {}, {}", site.knob, site.site, site.asked, site.landed);
            (!matches!(site.landed.as_str(), "applied" | "already so")).then(|| clean(&line))
        }
        Event::TrialDone { trial, outcome, .. } => {
            let metric = state.started.as_ref()?.metrics.first()?;
            let value = format_number(finite(outcome.metrics.get(&metric.name).copied())?);
            let value = format!("{value} {}", with_boundary(unit_of(&metric.name), metric));
            Some(format!("{}: {} {}", state.place(*trial)?, metric.name, value.trim_end()))
        }
        Event::TrialVoid { trial, why, .. } => {
            Some(format!("{}: does not count, {}", state.place(*trial)?, cut(&clean(&void(why)), REASON)))
        }
        Event::BlockDone(block) => Some(block_line(block, state)),
        Event::SettingLeft { setting, block, why } => {
            Some(format!("{} leaves after block {block}: {}", state.label(*setting), cut(&clean(why), REASON)))
        }
        Event::Restored { entries, failed, .. } if failed.is_empty() => {
            Some(format!("put back: {} undone", counted(*entries, "change")))
        }
        Event::Restored { failed, .. } => Some(clean(&format!("RESTORE INCOMPLETE: {}", failed.join("; ")))),
        Event::Closed(finding) => {
            let end = End::Closed(finding.reason.clone());
            Some(format!("{} after {}", ending(&end), counted(finding.blocks, "block")))
        }
        _ => None,
    }
}

fn block_line(block: &BlockDone, state: &State) -> String {
    if let Some(stands) = state.stands() {
        return stands;
    }
    let most = state.started.as_ref().map(|started| format!(" of at most {}", started.max_blocks)).unwrap_or_default();
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
