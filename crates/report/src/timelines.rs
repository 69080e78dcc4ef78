//! What meters showed during trials, reading by reading: a table with a line for each, its readings, and both as JSON.
use powerband_record::{Event, MeterQuantity, Side, Timeline, TimelineError};
use serde::Serialize;

use crate::json::VERSION;
use crate::text::{fit, fold};

/// Heights of a picture's columns.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a picture.
const WIDE: usize = 16;

/// The timelines of an experiment's valid trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timelines {
    /// [`VERSION`].
    pub version: u32,
    /// Always `timelines`.
    pub kind: &'static str,
    /// In the order of the trials.
    pub timelines: Vec<Row>,
}

/// One timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
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
    /// Seconds from the first reading, taken before the load began, to each.
    pub time_s: Vec<f64>,
    /// Power at each, W; of a meter that counts energy the mean since the reading before, none at the first and where the
    /// counter came round.
    pub power_w: Vec<Option<f64>>,
}

impl Timelines {
    /// The timelines in a journal, of one trial or of all.
    ///
    /// # Errors
    /// When one cannot be unpacked.
    pub fn from_events(events: &[Event], only: Option<u32>) -> Result<Timelines, TimelineError> {
        let mut labels: &[_] = &[];
        let mut planned = None;
        let mut timelines = Vec::new();
        for event in events {
            match event {
                Event::Started(started) => labels = &started.settings,
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
        Ok(Timelines { version: VERSION, kind: "timelines", timelines })
    }

    /// A table a meter, with a line for each trial: its power and the course of it.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        let width = width.max(40);
        if self.timelines.is_empty() {
            let none = "no timeline: a meter that counts energy is read before and after a load only, and one that shows \
                        power is read meanwhile where a metric asks for it (--metric power_w)";
            return fold(none, width, 0).join("\n") + "\n";
        }
        let head = ["setting", "trial", "readings", "mean W", "least", "most", "course"].map(String::from);
        let mut lines = Vec::new();
        let mut rest: Vec<&Row> = self.timelines.iter().collect();
        while let Some(first) = rest.first().copied() {
            let (same, others): (Vec<&Row>, Vec<&Row>) = rest.into_iter().partition(|row| row.is_of(first));
            rest = others;
            lines.extend(fold(&first.title(), width, 0));
            let rows: Vec<Vec<String>> = same.into_iter().map(Row::cells).collect();
            lines.extend(fit(&head, &rows, width, 1, &[1, 2, 3, 4, 5, 6]));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    /// Every reading as a line of a table for spreadsheets (RFC 4180).
    #[must_use]
    pub fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = "trial,block,setting,machine,meter,covers,time_s,power_w\r\n".to_owned();
        for row in &self.timelines {
            let named = [&row.setting, &row.meter, &row.boundary].map(|name| quoted(name));
            let [setting, meter, boundary] = named;
            for (at_s, power_w) in row.time_s.iter().zip(&row.power_w) {
                let power_w = power_w.map_or_else(String::new, |power_w| format!("{power_w:.6}"));
                let (trial, block, side) = (row.trial, row.block, row.side);
                text += &format!("{trial},{block},{setting},{side},{meter},{boundary},{at_s:.6},{power_w}\r\n");
            }
        }
        text
    }
}

impl Row {
    pub(crate) fn is_of(&self, other: &Row) -> bool {
        (self.side, &self.meter, &self.boundary) == (other.side, &other.meter, &other.boundary)
    }

    /// What the numbers are of: `hwmon: power_meter power1`.
    pub(crate) fn title(&self) -> String {
        let side = if self.side == Side::Near { String::new() } else { format!("{}, ", self.side) };
        format!("{side}{}: {}", self.meter, self.boundary)
    }

    fn cells(&self) -> Vec<String> {
        let powers = || self.power_w.iter().flatten().copied();
        let count = powers().count();
        let told = |power_w: f64| if count == 0 { "-".to_owned() } else { format!("{power_w:.2}") };
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

fn row(timeline: &Timeline, trial: u32, block: u32, setting: &str) -> Result<Row, TimelineError> {
    let readings = timeline.readings()?;
    let watts_between = |pair: &[(u64, u64)]| {
        let energy_uj = pair[1].1.checked_sub(pair[0].1)? as f64;
        let time_ns = pair[1].0.saturating_sub(pair[0].0) as f64;
        // µJ/ns = kW.
        (time_ns > 0.0).then(|| energy_uj / time_ns * 1e3)
    };
    let power_w = match timeline.quantity {
        MeterQuantity::PowerUw => readings.iter().map(|(_, power_uw)| Some(*power_uw as f64 * 1e-6)).collect(),
        MeterQuantity::EnergyUj => std::iter::once(None).chain(readings.windows(2).map(watts_between)).collect(),
    };
    Ok(Row {
        trial,
        block,
        setting: setting.to_owned(),
        side: timeline.side,
        meter: timeline.meter.clone(),
        boundary: timeline.boundary.clone(),
        time_s: readings.iter().map(|(at_ns, _)| *at_ns as f64 * 1e-9).collect(),
        power_w,
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
