//! What meters, clocks and CPUs showed during trials, reading by reading: a table with a line for each, its readings, and both as JSON.
use std::fmt::Write as _;

use powerband_record::{Event, MeterQuantity, Side, Timeline, TimelineError};
use serde::Serialize;

use crate::courses::watts_between;
use crate::csv::harmless;
use crate::json::VERSION;
use crate::layout::{fit, fold};
use crate::model::unrecorded::at_least_three;

/// Heights of a picture's columns.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a picture.
const WIDE: usize = 16;

/// The timelines of an experiment's valid trials.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Timelines {
    /// [`VERSION`].
    pub version: u32,
    /// Always `timelines`.
    pub kind: &'static str,
    /// In the order of the trials.
    pub timelines: Vec<TimelineRow>,
    /// What to write where recordings were asked for that had too few readings.
    #[serde(skip)]
    hint: Option<String>,
}

/// One timeline.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TimelineRow {
    /// Trial.
    pub trial: u32,
    /// Block from 1; 0 = warm-up.
    pub block: u32,
    /// Label of the setting.
    pub setting: String,
    /// The machine.
    pub side: Side,
    /// Name of the kind of meter.
    pub meter: String,
    /// What its numbers cover.
    pub boundary: String,
    /// Which stretch of a load that has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch: Option<String>,
    /// Seconds from the first reading, taken before the load began, to each.
    pub time_s: Vec<f64>,
    /// Power at each, W; of a meter that counts energy the mean since the reading before, none at the first and where the
    /// counter came round. Absent where it is no meter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub power_w: Vec<Option<f64>>,
    /// The clock at each, MHz, where it is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_mhz: Vec<Option<f64>>,
    /// The share of the time since the reading before that the CPU was busy, 0 to 1, where it is of one; none at the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub busy_share: Vec<Option<f64>>,
}

/// Some values of a row.
type Values = fn(&TimelineRow) -> &[Option<f64>];

impl Timelines {
    /// The timelines in a journal, of one trial or of all.
    ///
    /// # Errors
    /// When one cannot be unpacked.
    pub fn from_events(events: &[Event], only: Option<u32>) -> Result<Timelines, TimelineError> {
        let mut labels: &[_] = &[];
        let mut planned = None;
        let (mut timelines, mut asked) = (Vec::new(), None);
        for event in events {
            match event {
                Event::Started(started) => (labels, asked) = (&started.settings, started.record.first()),
                Event::TrialStarted(trial) => planned = Some(*trial),
                Event::TrialDone { trial, outcome, .. } if only.is_none_or(|only| only == *trial) => {
                    let planned = planned.filter(|planned| planned.trial == *trial);
                    let label = planned.and_then(|planned| labels.get(planned.setting as usize));
                    let setting = label.map_or_else(|| "-".into(), |setting| setting.label.clone());
                    let block = planned.map_or(0, |planned| planned.block);
                    for timeline in &outcome.timelines {
                        timelines.push(row(timeline, *trial, block, &setting)?);
                    }
                }
                _ => {}
            }
        }
        let hint = asked.map(at_least_three);
        Ok(Timelines { version: VERSION, kind: "timelines", timelines, hint })
    }

    /// A table a meter, with a line for each trial: its power and the course of it.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        let width = width.max(40);
        if self.timelines.is_empty() {
            if let Some(hint) = &self.hint {
                let few = format!("no timeline: there were fewer than three readings in each trial, {hint}");
                return fold(&few, width, 0).join("\n") + "\n";
            }
            let none = "no timeline: a meter that counts energy is read before and after a load only, and one that shows \
                        power is read meanwhile where a metric asks for it (--metric power_w); frequencies and CPU utilisation are kept where --record clock,utilisation asks for them";
            return fold(none, width, 0).join("\n") + "\n";
        }
        let mut lines = Vec::new();
        let mut rest: Vec<&TimelineRow> = self.timelines.iter().collect();
        while let Some(first) = rest.first().copied() {
            let (same, others): (Vec<&TimelineRow>, Vec<&TimelineRow>) =
                rest.into_iter().partition(|row| row.is_of(first));
            rest = others;
            lines.extend(fold(&first.title(), width, 0));
            let mean = format!("mean {}", first.shown().1);
            let head = ["setting", "trial", "readings", &mean, "least", "most", "course"].map(String::from);
            let rows: Vec<Vec<String>> = same.into_iter().map(TimelineRow::cells).collect();
            lines.extend(fit(&head, &rows, width, 1, &[1, 2, 3, 4, 5, 6]));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// Every reading as a line of a table for spreadsheets (RFC 4180).
    #[must_use]
    pub fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", harmless(text).replace('"', "\"\""));
        // Columns next to a meter's are there where something is in them.
        let any = |of: fn(&TimelineRow) -> bool| self.timelines.iter().any(of);
        let beside: Vec<(&str, Values)> = [
            (any(|row| !row.clock_mhz.is_empty()), "clock_mhz", (|row| &row.clock_mhz) as Values),
            (any(|row| !row.busy_share.is_empty()), "busy_share", |row| &row.busy_share),
        ]
        .into_iter()
        .filter_map(|(there, name, of)| there.then_some((name, of)))
        .collect();
        let stretched = any(|row| row.stretch.is_some());
        let mut text = "trial,block,setting,machine,meter,covers,time_s,power_w".to_owned();
        beside.iter().for_each(|(name, _)| text = format!("{text},{name}"));
        text += if stretched { ",stretch\r\n" } else { "\r\n" };
        for row in &self.timelines {
            let named = [&row.setting, &row.meter, &row.boundary].map(|name| quoted(name));
            let [setting, meter, boundary] = named;
            let stretch = row.stretch.as_deref().map(quoted).unwrap_or_default();
            let (trial, block, side) = (row.trial, row.block, row.side);
            for (place, at_s) in row.time_s.iter().enumerate() {
                let value = |of: &[Option<f64>]| of.get(place).copied().flatten().map(|value| format!("{value:.6}"));
                let power_w = value(&row.power_w).unwrap_or_default();
                let _ = write!(text, "{trial},{block},{setting},{side},{meter},{boundary},{at_s:.6},{power_w}");
                for (_, of) in &beside {
                    let _ = write!(text, ",{}", value(of(row)).unwrap_or_default());
                }
                text += &if stretched { format!(",{stretch}\r\n") } else { "\r\n".to_owned() };
            }
        }
        text
    }
}

impl TimelineRow {
    pub(crate) fn is_of(&self, other: &TimelineRow) -> bool {
        let of = |row: &TimelineRow| (row.side, row.meter.clone(), row.boundary.clone(), row.stretch.clone());
        of(self) == of(other)
    }

    /// What the numbers are of: `hwmon: power_meter power1`.
    pub(crate) fn title(&self) -> String {
        let side = if self.side == Side::Near { String::new() } else { format!("{}, ", self.side) };
        let stretch = self.stretch.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
        format!("{side}{}: {}{stretch}", self.meter, self.boundary)
    }

    /// Its values, their unit, and what they are multiplied by to be in it.
    fn shown(&self) -> (&[Option<f64>], &'static str, f64) {
        match (self.clock_mhz.is_empty(), self.busy_share.is_empty()) {
            (false, _) => (&self.clock_mhz, "MHz", 1.0),
            (_, false) => (&self.busy_share, "%", 100.0),
            _ => (&self.power_w, "W", 1.0),
        }
    }

    fn cells(&self) -> Vec<String> {
        let (values, _, by) = self.shown();
        let powers = || values.iter().flatten().map(|value| value * by);
        let count = powers().count();
        let told = |value: f64| if count == 0 { "-".to_owned() } else { format!("{value:.2}") };
        vec![
            self.setting.clone(),
            self.trial.to_string(),
            self.time_s.len().to_string(),
            told(powers().sum::<f64>() / count.max(1) as f64),
            told(powers().fold(f64::INFINITY, f64::min)),
            told(powers().fold(f64::NEG_INFINITY, f64::max)),
            course(&powers().collect::<Vec<_>>()),
        ]
    }
}

fn row(timeline: &Timeline, trial: u32, block: u32, setting: &str) -> Result<TimelineRow, TimelineError> {
    let readings = timeline.readings()?;
    let scaled = |by: f64| readings.iter().map(|(_, value)| Some(*value as f64 * by)).collect::<Vec<_>>();
    let (mut power_w, mut clock_mhz, mut busy_share) = (Vec::new(), Vec::new(), Vec::new());
    match timeline.quantity {
        MeterQuantity::PowerUw => power_w = scaled(1e-6),
        MeterQuantity::EnergyUj => {
            power_w = std::iter::once(None).chain(readings.windows(2).map(watts_between)).collect();
        }
        MeterQuantity::ClockKhz => clock_mhz = scaled(1e-3),
        MeterQuantity::BusyPermille => {
            busy_share = scaled(1e-3);
            busy_share.first_mut().into_iter().for_each(|first| *first = None);
        }
    }
    Ok(TimelineRow {
        trial,
        block,
        setting: setting.to_owned(),
        side: timeline.side,
        meter: timeline.meter.clone(),
        boundary: timeline.boundary.clone(),
        stretch: timeline.stretch.clone(),
        time_s: readings.iter().map(|(at_ns, _)| *at_ns as f64 * 1e-9).collect(),
        power_w,
        clock_mhz,
        busy_share,
    })
}

/// The course of numbers as columns between their least and their most.
fn course(powers: &[f64]) -> String {
    let wide = powers.len().min(WIDE);
    let (least, most) = powers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &w| (l.min(w), m.max(w)));
    let column = |at: usize| {
        let part = &powers[at * powers.len() / wide..(at + 1) * powers.len() / wide];
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        let height = if most > least { (mean - least) / (most - least) } else { 0.0 };
        BARS[((height * (BARS.len() - 1) as f64).round() as usize).min(BARS.len() - 1)]
    };
    (0..wide).map(column).collect()
}
