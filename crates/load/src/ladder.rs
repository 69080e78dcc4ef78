//! `ladder`: one load at falling or shuffled shares of the most it can do, and the machine idle; score and watts of each.
//!
//! The method is SPECpower_ssj2008's as published: several intervals as fast as it goes, the mean of the last two being 100 %,
//! then levels of that, idle at last, and as overall figure the sum of the scores over the sum of the watts, idle's in it.
use std::collections::BTreeMap;

use powerband_record::{Better, CpuList, Metric, Void};
use serde::{Deserialize, Serialize};

use crate::metric::{judged, shown};
use crate::{
    CommandLoad, Concluded, Finishes, IdleLoad, Load, LoadFacts, LoadKind, LoadPart, MetricSpec, NumberStyles,
    OrdersLoad, RigEnds, Source,
};

/// Levels of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LadderLoad {
    /// How long each level is measured, ns; a plan writes `for = "30s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
    /// How long each runs before, ns.
    #[serde(rename = "ramp", with = "crate::spelling::duration")]
    pub ramp_ns: u64,
    /// Shares of the most it can do, percent; each once, in this order or another.
    pub levels: Vec<u32>,
    /// In which order they come.
    pub order: LevelOrder,
    /// Whether the idle machine is measured at last.
    pub idle: bool,
    /// Under which setting it is found what 100 % is.
    #[serde(skip_serializing_if = "crate::spelling::is_default")]
    pub calibrate: Calibrate,
    /// Intervals as fast as it goes; the mean of the last two is 100 %.
    pub calibrations: u32,
    /// What 100 % is, a second; found by calibrating when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_per_s: Option<f64>,
    /// Threads that work; one for each CPU that is online when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Whether each stays on a CPU of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// Transactions of one batch.
    pub batch: u32,
    /// CPUs it stays on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
    /// A command in place of the order system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<RatedCommand>,
}

/// A command that takes a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatedCommand {
    /// Program and arguments, `{rate}` where the rate a second belongs, `{seconds}` where the length.
    pub argv: Vec<String>,
    /// Where what it reached stands in its output: `regex:…` or `json:$.…`, a second.
    pub score: String,
    /// A rate beyond what it can reach, for calibrating.
    pub beyond_per_s: f64,
}

/// In which order levels come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelOrder {
    /// In another order each trial, so that a drift is not taken for a level's.
    #[default]
    Random,
    /// As listed: what a level finds is what the one before left, as where they fall and a governor lags.
    Listed,
}

/// Under which setting it is found what 100 % is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibrate {
    /// Under the reference, before the first trial: all settings have the same rates, and a slow one misses them.
    #[default]
    Reference,
    /// In each trial, under the setting it measures: each setting has shares of what it can do itself, as in a run of
    /// SPECpower_ssj2008. What calibrating scatters by is in the trials' scatter then.
    Each,
}

/// One stretch of a load, measured by itself.
#[derive(Clone, Debug)]
pub struct Stage {
    /// In front of its metrics' names; empty for a load that is all of one stretch.
    pub prefix: String,
    /// What runs.
    pub load: Load,
    /// Where its score stands in its output, if it is a command of a ladder.
    score: Option<MetricSpec>,
}

/// Two calibrating intervals this close are one number, relative.
const CLOSE: f64 = 0.02;

/// Name of what a level reaches.
const SCORE: &str = "score_per_s";
/// The slowest level's latency, and that of each level.
const LATENCY: &str = "p99_us";
/// Mean of all stretches, idle among them.
const POWER: &str = "power_w";
/// Prefix of the idle machine's metrics.
const IDLE: &str = "idle_";

impl Stage {
    /// A load that is all of one stretch.
    pub(crate) fn whole(load: Load) -> Stage {
        Stage { prefix: String::new(), load, score: None }
    }

    /// Its metrics, without the prefix.
    ///
    /// # Errors
    /// As [`Load::conclude`], and when a command did not print its score.
    pub fn conclude(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let mut concluded = self.load.conclude(finishes)?;
        if let Some((spec, finished)) = self.score.as_ref().zip(finishes.get("load")) {
            let score = spec.pick(&finished.output, &mut NumberStyles::default());
            let score = score.map_err(|why| Void::NoMetric { metric: SCORE.into(), why })?;
            concluded.values.insert(SCORE.into(), score.value);
        }
        Ok(concluded)
    }
}

impl Default for LadderLoad {
    fn default() -> Self {
        LadderLoad {
            for_ns: 30_000_000_000,
            ramp_ns: 5_000_000_000,
            levels: (1..=10).rev().map(|level| level * 10).collect(),
            order: LevelOrder::default(),
            idle: true,
            calibrate: Calibrate::default(),
            calibrations: 3,
            full_per_s: None,
            workers: None,
            bound: false,
            batch: 1_000,
            pin: None,
            command: None,
        }
    }
}

impl LoadKind for LadderLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts { kind: "ladder", example: "levels = [100, 50, 10], calibrations = 3", ..LoadFacts::NONE }
    }

    fn measured_ns(&self) -> Option<u64> {
        Some(self.for_ns)
    }

    /// All that is in a trial, ns.
    fn length_ns(&self) -> Option<u64> {
        let calibrations = if self.calibrate == Calibrate::Each { self.calibrations } else { 0 };
        let stages = self.levels.len() as u64 + u64::from(self.idle) + u64::from(calibrations);
        Some(self.for_ns.saturating_add(self.ramp_ns).saturating_mul(stages))
    }

    /// What its levels measure, and what follows; what is in watts only where there is a meter, which promises the overall
    /// figure by [`LadderLoad::metrics_by_meter`].
    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![judged(SCORE, Better::Higher)];
        metrics.extend(self.tells_latency().then(|| judged(LATENCY, Better::Lower)));
        metrics.extend(self.levels.iter().flat_map(|level| shown(Better::Higher, [format!("at_{level}_{SCORE}")])));
        metrics.extend(shown(Better::Higher, ["full_per_s"]));
        metrics
    }

    fn metrics_by_meter(&self) -> Vec<Metric> {
        let mut metrics = vec![judged("score_per_w", Better::Higher), judged(POWER, Better::Lower)];
        metrics.extend(self.levels.iter().flat_map(|level| shown(Better::Higher, [format!("at_{level}_score_per_w")])));
        metrics
    }

    fn mistake(&self) -> Option<&'static str> {
        let twice = |place: usize| self.levels[..place].contains(&self.levels[place]);
        let rate = |rate: &f64| !(rate.is_finite() && *rate > 0.0);
        if self.levels.is_empty() || self.levels.iter().any(|level| !(1..=100).contains(level)) {
            Some("its levels must be percentages from 1 to 100")
        } else if (0..self.levels.len()).any(twice) {
            Some("a level is listed twice")
        } else if self.calibrations < 2 && self.full_per_s.is_none() {
            Some("its calibrations must be 2 or more, as the mean of the last two is 100 %")
        } else if self.full_per_s.iter().any(rate) {
            Some("its full_per_s must be above 0")
        } else if self.full_per_s.is_some() && self.calibrate == Calibrate::Each {
            Some("calibrate = \"each\" finds what 100 % is, so that full_per_s must be left out")
        } else {
            self.orders(None, 0).mistake().or_else(|| self.command.as_ref()?.mistake())
        }
    }

    fn describe(&self) -> String {
        let of = self.command.as_ref().map_or("orders", |command| command.argv.first().map_or("", String::as_str));
        let idle = if self.idle { " and idle" } else { "" };
        let length = powerband_record::format_duration(self.for_ns);
        let plural = if self.levels.len() == 1 { "" } else { "s" };
        format!("ladder of {of}: {} level{plural}{idle}, {length} each", self.levels.len())
    }

    /// Anyone who runs it runs its stages.
    fn parts(&self, rig: &RigEnds) -> Vec<LoadPart> {
        self.at_full_speed().load.parts(rig)
    }

    fn calibration(&self) -> Option<(Calibrate, Stage)> {
        self.full_per_s.is_none().then(|| (self.calibrate, self.at_full_speed()))
    }

    fn most_intervals(&self) -> u32 {
        self.calibrations.saturating_mul(2)
    }

    fn calibrated(&self, intervals: &[BTreeMap<String, f64>]) -> Result<Option<f64>, Void> {
        let scores: Vec<f64> = intervals.iter().filter_map(|it| it.get(SCORE).copied()).collect();
        self.settled(&scores)
    }

    fn phases(&self, full_per_s: Option<f64>, draw: u64) -> Option<Vec<Stage>> {
        let full_per_s = self.full(full_per_s);
        let mut levels = self.levels.clone();
        if self.order == LevelOrder::Random {
            shuffle(&mut levels, draw);
        }
        let at = |level: u32| {
            let rate = full_per_s * f64::from(level) / 100.0;
            self.at(format!("at_{level}_"), Some(rate), mixed(draw, u64::from(level)))
        };
        let mut stages: Vec<Stage> = levels.into_iter().map(at).collect();
        if self.idle {
            let idle = Load::Idle(IdleLoad { for_ns: self.for_ns });
            stages.push(Stage { prefix: IDLE.into(), load: idle, score: None });
        }
        Some(stages)
    }

    fn prefixes(&self) -> Vec<String> {
        let levels = self.levels.iter().map(|level| format!("at_{level}_"));
        levels.chain(self.idle.then(|| IDLE.to_owned())).collect()
    }

    /// What follows from all levels: ratios, where watts are known, and the overall figure.
    fn sum_up(&self, full_per_s: Option<f64>, measured: &mut BTreeMap<String, f64>) {
        measured.insert("full_per_s".into(), self.full(full_per_s));
        let at = |level: &u32, name: &str| measured.get(&format!("at_{level}_{name}")).copied();
        // At full load the queue only grows; below, the slowest level is the one that is felt.
        let latency = self.levels.iter().filter(|level| **level < 100).filter_map(|level| at(level, LATENCY));
        let latency = latency.reduce(f64::max).filter(|_| self.tells_latency());
        let (mut scores, mut watts) = (0.0, measured.get(&format!("{IDLE}power_w")).copied());
        if !self.idle {
            watts = Some(0.0);
        }
        for level in &self.levels {
            let of = |name: &str| measured.get(&format!("at_{level}_{name}")).copied();
            let (score, power) = (of(SCORE), of("power_w"));
            scores += score.unwrap_or(f64::NAN);
            watts = watts.zip(power).map(|(sum, power)| sum + power);
            if let Some((score, power)) = score.zip(power) {
                measured.insert(format!("at_{level}_score_per_w"), score / power);
            }
        }
        measured.extend(latency.map(|latency| (LATENCY.to_owned(), latency)));
        measured.insert(SCORE.into(), scores / self.levels.len() as f64);
        if let Some(watts) = watts.filter(|watts| *watts > 0.0) {
            measured.insert("score_per_w".into(), scores / watts);
            let stretches = self.levels.len() + usize::from(self.idle);
            measured.insert(POWER.into(), watts / stretches as f64);
        }
    }
}

impl LadderLoad {
    /// What 100 % is, a second: as the plan says, or as it was found.
    fn full(&self, found_per_s: Option<f64>) -> f64 {
        self.full_per_s.or(found_per_s).unwrap_or(1.0)
    }

    /// An interval as fast as it goes.
    fn at_full_speed(&self) -> Stage {
        self.at(String::new(), None, 0)
    }

    /// What 100 % is, from the scores so far: `None` while more are needed.
    ///
    /// # Errors
    /// [`Void::LoadFailed`] when twice as many as asked for do not settle.
    fn settled(&self, scores: &[f64]) -> Result<Option<f64>, Void> {
        let [.., before, last] = scores else { return Ok(None) };
        let asked = self.calibrations as usize;
        let close = (before / last - 1.0).abs() <= CLOSE;
        if scores.len() >= asked && close {
            return Ok(Some(f64::midpoint(*before, *last)));
        }
        if scores.len() >= self.most_intervals() as usize {
            let why = format!("its best rate did not settle: {before:.0} and then {last:.0} a second; make for longer");
            return Err(Void::LoadFailed { why });
        }
        Ok(None)
    }

    fn at(&self, prefix: String, rate_per_s: Option<f64>, seed: u64) -> Stage {
        let Some(command) = &self.command else {
            return Stage { prefix, load: Load::Orders(self.orders(rate_per_s, seed)), score: None };
        };
        let argv = command.at(rate_per_s.unwrap_or(command.beyond_per_s), self.for_ns);
        let load = Load::Command(CommandLoad { argv, pin: self.pin.clone(), ..CommandLoad::default() });
        Stage { prefix, load, score: command.spec().ok() }
    }

    fn orders(&self, rate_per_s: Option<f64>, seed: u64) -> OrdersLoad {
        OrdersLoad {
            for_ns: self.for_ns,
            ramp_ns: self.ramp_ns,
            rate_per_s,
            workers: self.workers,
            bound: self.bound,
            batch: self.batch,
            seed,
            pin: self.pin.clone(),
            may_lag: true,
        }
    }

    /// Whether there is a level whose latency says something: that of our own order system, below all it can do.
    fn tells_latency(&self) -> bool {
        self.command.is_none() && self.levels.iter().any(|level| *level < 100)
    }
}

impl RatedCommand {
    fn mistake(&self) -> Option<&'static str> {
        if self.argv.first().is_none_or(String::is_empty) {
            Some("its command is empty")
        } else if !self.argv.iter().any(|word| word.contains("{rate}")) {
            Some("its command has no {rate} among its arguments")
        } else if !(self.beyond_per_s.is_finite() && self.beyond_per_s > 0.0) {
            Some("its beyond_per_s must be above 0")
        } else {
            let printed = |spec: &MetricSpec| matches!(spec.source, Source::Pattern(..) | Source::Path(..));
            let is_printed = self.spec().is_ok_and(|spec| printed(&spec));
            (!is_printed).then_some("its score is neither regex:PATTERN with a group nor json:$.PATH")
        }
    }

    fn spec(&self) -> Result<MetricSpec, crate::PickError> {
        MetricSpec::parse(&format!("{SCORE}={}:higher", self.score))
    }

    fn at(&self, rate_per_s: f64, for_ns: u64) -> Vec<String> {
        let rate = format!("{}", rate_per_s.round().max(1.0));
        let seconds = for_ns.div_ceil(1_000_000_000).to_string();
        self.argv.iter().map(|word| word.replace("{rate}", &rate).replace("{seconds}", &seconds)).collect()
    }
}

/// Fisher and Yates, by numbers mixed from `draw`.
fn shuffle(levels: &mut [u32], draw: u64) {
    for last in (1..levels.len()).rev() {
        let other = usize::try_from(mixed(draw, last as u64) % (last as u64 + 1)).unwrap_or(0);
        levels.swap(last, other);
    }
}

/// Two numbers mixed to one that looks like chance.
pub(crate) fn mixed(a: u64, b: u64) -> u64 {
    let b = b.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    powerband_record::stirred(a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b))
}

#[cfg(test)]
mod tests;
