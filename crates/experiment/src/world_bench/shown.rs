//! One run of each command as the machine is, and what each metric is read as: nothing is set, judged or kept.
use powerband_load::{MetricSpec, Source};
use powerband_record::{Better, DirectionSource, Event, ExitStatus, Matches, Metric, PlannedTrial, Void, unit_of};
use schemars::JsonSchema;
use serde::Serialize;

use super::{InForce, WorldBench};
use crate::asked::Values;
use crate::stretches::Stretches;
use crate::{Bench as _, Fatal, Halt, Resolved};

/// What one run of each distinct load shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownMetrics {
    /// In the order of their settings.
    pub runs: Vec<ShownRun>,
    /// Whether the user stopped it.
    #[serde(skip)]
    pub stopped: bool,
}

/// What one run of a load shows of each metric.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownRun {
    /// What ran.
    pub load: String,
    /// Which settings run it, by label.
    pub settings: Vec<String>,
    /// How the command ended, where not with exit status 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ExitStatus>,
    /// Why nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Metrics, those that are judged first.
    pub metrics: Vec<ShownMetric>,
}

/// What a metric is read as.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownMetric {
    /// Name.
    pub name: String,
    /// Whether verdicts are given about it.
    pub judged: bool,
    /// Its value, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The unit it is shown in; empty = a plain number.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// How that is known.
    pub direction: DirectionSource,
    /// The line of the output, or the node of the JSON document, that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The numbers that it could be, where it was read from an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<Matches>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ShownRun {
    /// Why a trial of this load would be void, if it would.
    #[must_use]
    pub fn void(&self) -> Option<String> {
        let unread = self.metrics.iter().find(|metric| metric.judged && metric.why.is_some());
        let unread = unread.map(|metric| format!("no {}: {}", metric.name, metric.why.as_deref().unwrap_or_default()));
        self.failed.clone().or(unread)
    }
}

impl WorldBench<'_> {
    /// Runs each distinct load of the settings once.
    ///
    /// # Errors
    /// [`Fatal`] when that cannot go on; [`ShownRun::failed`] when a load does not run as it should.
    pub fn show_metrics(&mut self, resolved: &Resolved) -> Result<ShownMetrics, Fatal> {
        let mut stopped = false;
        let mut runs: Vec<(usize, ShownRun)> = Vec::new();
        for (setting, planned) in resolved.settings.iter().enumerate() {
            let load = &self.variants[setting].load;
            if let Some((_, run)) = runs.iter_mut().find(|(first, _)| self.variants[*first].load == *load) {
                run.settings.push(planned.label());
                continue;
            }
            let shown = self.shown(u32::try_from(setting).unwrap_or(u32::MAX));
            stopped = matches!(shown, Err(Halt::Void(Void::Stopped)));
            let mut run = Halt::split(shown)?.unwrap_or_else(|void| self.nothing(setting, &void));
            run.settings.push(planned.label());
            runs.push((setting, run));
            if stopped {
                break;
            }
        }
        self.finish();
        Ok(ShownMetrics { runs: runs.into_iter().map(|(_, run)| run).collect(), stopped })
    }

    /// One run of the load of a setting.
    fn shown(&mut self, setting: u32) -> Result<ShownRun, Halt> {
        self.set_up(setting)?;
        self.prepare(setting)?;
        let mut place = self.place(&InForce::new(), setting);
        // What runs next to the load is set, as a knob is.
        place.background.clear();
        let mut nowhere: Vec<Event> = Vec::new();
        if self.load.calibration().is_some() {
            self.find_full(&place, &mut nowhere)?;
        }
        let trial = PlannedTrial { trial: 0, block: 0, setting, copy: 0, at_ns: self.now_ns() };
        let ran = self.runs(&trial, 1, &place);
        self.conclude(setting)?;
        let mut ran = ran?;
        self.load.sum_up(self.full_per_s, &mut ran.measured);
        Ok(self.read(setting, &ran))
    }

    fn read(&self, setting: u32, ran: &Stretches) -> ShownRun {
        let own = self.load.own_words(&ran.finishes);
        let (picks, written) = (&self.picks, &self.written);
        let values = Values { picks, measured: &ran.measured, refused: &ran.refused, finishes: &own, written };
        let metric = |metric: &Metric| {
            let pick = self.picks.iter().find(|pick| pick.metric.name == metric.name);
            let (valued, why) = match values.of(&metric.name) {
                Ok(valued) => (Some(valued), None),
                Err(why) => (None, Some(why)),
            };
            let value = valued.as_ref().map(|valued| valued.value);
            let picked = valued.and_then(|valued| valued.picked);
            let unit = picked.as_ref().map_or_else(|| unit_of(&metric.name).to_owned(), |picked| picked.unit.clone());
            let (line, matches) = picked.map(|picked| (picked.line, picked.matches)).unzip();
            ShownMetric {
                name: metric.name.clone(),
                judged: metric.judged,
                value,
                unit,
                better: metric.better,
                direction: direction(pick),
                line,
                matches,
                why,
            }
        };
        let metrics = self.metrics.iter().map(metric).collect();
        let ended = self.load.ended(&ran.finishes);
        let load = self.variants[setting as usize].load.describe();
        ShownRun { load, settings: Vec::new(), status: ended.map(|ended| ended.status), failed: None, metrics }
    }

    fn nothing(&self, setting: usize, void: &Void) -> ShownRun {
        let load = self.variants[setting].load.describe();
        ShownRun { load, settings: Vec::new(), status: None, failed: Some(void.to_string()), metrics: Vec::new() }
    }
}

/// How it is known which way of a metric is better, by what was asked for.
fn direction(pick: Option<&MetricSpec>) -> DirectionSource {
    match pick {
        None => DirectionSource::Measured,
        Some(pick) if pick.direction == DirectionSource::Stated => DirectionSource::Stated,
        Some(pick) => match pick.source {
            Source::Pattern(..) | Source::Path(..) => pick.direction,
            _ => DirectionSource::Measured,
        },
    }
}
