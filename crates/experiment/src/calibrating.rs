//! Calibrating: the trials of an experiment that turns nothing, and what they say of each metric's noise.
use std::sync::Arc;

use powerband_record::{
    BackToBack, Calibration, Detectable, FailedTrials, FalseAlarm, Metric, NoiseAdvice, Outcome, PlannedTrial, Started,
};
use powerband_stats::calibrate::{
    Calibrated, CalibrationAdvice, CalibrationQuestion, CalibrationTrial, calibrate, detectable, time_needed,
};
use powerband_stats::{Rules, Scale, Spending};

/// Fewest blocks of two trials, also where the time is shorter.
pub(crate) const MIN_BLOCKS: u32 = 6;

/// How often the blocks are labelled anew to measure the rate of false alarms.
const RELABELS: u32 = 500;

/// Times whose smallest effect is told, minutes.
const MINUTES: [f64; 4] = [2.0, 5.0, 15.0, 60.0];
/// Effects whose time is told.
const EFFECTS: [f64; 3] = [0.01, 0.03, 0.10];

/// A valid trial.
struct Done {
    trial: u32,
    block: u32,
    length_ns: u64,
    outcome: Outcome,
}

/// The trials so far.
#[derive(Default)]
pub(crate) struct Calibrating {
    done: Vec<Done>,
    failed: FailedTrials,
}

impl Calibrating {
    /// A valid trial that ended at `at_ns`; what its load printed is not kept. One whose command failed is counted alone.
    pub(crate) fn take(&mut self, planned: &PlannedTrial, at_ns: u64, outcome: &Outcome) {
        self.failed.take(outcome);
        if outcome.failure().is_some() {
            return;
        }
        let outcome = Outcome { metrics: outcome.metrics.clone(), ..Outcome::default() };
        let length_ns = at_ns.saturating_sub(planned.at_ns);
        self.done.push(Done { trial: planned.trial, block: planned.block, length_ns, outcome });
    }

    /// The noise of every metric that enough trials have a value of, and a sentence for each that could not be told.
    pub(crate) fn results(&self, started: &Started, spending: &Arc<Spending>) -> (Vec<Calibration>, Vec<String>) {
        let (mut results, mut notes) = (Vec::new(), Vec::new());
        let judged = started.metrics.iter().filter(|metric| metric.judged).count().max(1);
        for metric in &started.metrics {
            // Verdicts on several metrics share the error rate.
            let rules = Rules { alpha: started.alpha / judged as f64, ..Rules::default() };
            match self.one(metric, &rules, started.seed, spending) {
                Ok(result) => results.extend(result),
                Err(error) => notes.push(format!("the noise of {} is not known: {error}", metric.name)),
            }
        }
        if self.failed.failed > 0 {
            notes.push(format!("the command {}: these trials do not count for its noise", self.failed));
        }
        (results, notes)
    }

    fn one(
        &self,
        metric: &Metric,
        rules: &Rules,
        seed: u64,
        spending: &Arc<Spending>,
    ) -> Result<Option<Calibration>, powerband_stats::Error> {
        let with: Vec<(&Done, f64)> =
            self.done.iter().filter_map(|done| Some((done, *done.outcome.metrics.get(&metric.name)?))).collect();
        if with.is_empty() {
            return Ok(None);
        }
        let trials: Vec<CalibrationTrial> =
            with.iter().map(|(done, value)| CalibrationTrial { block: done.block, value: *value }).collect();
        let relabels = if metric.judged { RELABELS } else { 0 };
        let trial_s = self.trial_s();
        let found = calibrate(&CalibrationQuestion { trials: &trials, trial_s, rules, relabels, seed }, spending)?;
        let numbers = |places: &[usize]| places.iter().map(|&place| with[place].0.trial).collect();
        let (outliers, upper) = (numbers(&found.outliers), numbers(&found.upper));
        Ok(Some(Calibration { outliers, upper, ..told(metric, &found, trial_s, rules, spending) }))
    }

    /// How long a trial takes from turning to restoring: the middle one.
    fn trial_s(&self) -> f64 {
        let mut lengths: Vec<u64> = self.done.iter().map(|done| done.length_ns).collect();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).map_or(0.0, |&ns| ns as f64 / 1e9)
    }
}

/// In the journal's words; the numbers of trials are left to the caller.
fn told(metric: &Metric, found: &Calibrated, trial_s: f64, rules: &Rules, spending: &Spending) -> Calibration {
    let relative = found.scale == Scale::Log;
    let back = |value: f64| if relative { libm::exp(value) } else { value };
    // Effects are told relative to the level, whatever the scale they were found on.
    let share = |effect: f64| match relative {
        true => libm::expm1(effect),
        false => effect / found.level.abs().max(f64::MIN_POSITIVE),
    };
    let on_scale = |share: f64| if relative { libm::log1p(share) } else { share * found.level.abs() };
    let mde = MINUTES.iter().filter_map(|&minutes| detectable(found.sigma, trial_s, minutes, rules, spending));
    let time_for = EFFECTS.iter().filter_map(|&effect| {
        let reach = time_needed(found.sigma, trial_s, on_scale(effect), rules, spending)?;
        Some(Detectable { minutes: reach.minutes, effect })
    });
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let finite = |value: f64| value.is_finite().then_some(value);
    Calibration {
        metric: metric.name.clone(),
        relative,
        trials: count(found.trials),
        blocks: count(found.blocks),
        level: found.level,
        sigma: found.sigma,
        sigma_df: found.sigma_df,
        sigma_robust: found.sigma_robust,
        rho: found.rho,
        autocorrelation: found.autocorrelation.clone(),
        drift_per_block: found.drift.map_or(0.0, |drift| drift.per_block),
        drift_low: found.drift.and_then(|drift| finite(drift.low)),
        drift_high: found.drift.and_then(|drift| finite(drift.high)),
        changed_after: found.change_point.filter(|change| change.flagged).map(|change| count(change.after_blocks)),
        outlier_share: found.outlier_share(),
        outliers: Vec::new(),
        bimodal: found.bimodal,
        regimes: found.modes.filter(|_| found.bimodal).map(|modes| (back(modes.low_mean), back(modes.high_mean))),
        upper: Vec::new(),
        gain_of_doubling: found.gain_of_doubling,
        false_alarm: found.false_alarm.map(|it| FalseAlarm {
            rate: it.rate,
            low: it.low,
            high: it.high,
            runs: it.runs,
        }),
        back_to_back: found.back_to_back.map(|it| BackToBack { p: it.p, claims: it.claims }),
        // Of a level that is zero nothing is a share.
        mde: mde
            .map(|reach| Detectable { minutes: reach.minutes, effect: share(reach.effect) })
            .filter(|it| it.effect.is_finite())
            .collect(),
        time_for: time_for.collect(),
        default_margin: found.default_margin,
        advice: found.advice.iter().map(|&advice| advised(advice)).collect(),
    }
}

fn advised(advice: CalibrationAdvice) -> NoiseAdvice {
    match advice {
        CalibrationAdvice::TwoRegimes => NoiseAdvice::TwoRegimes,
        CalibrationAdvice::ShorterTrials => NoiseAdvice::ShorterTrials,
        CalibrationAdvice::Outliers => NoiseAdvice::Outliers,
        CalibrationAdvice::LongerTrials => NoiseAdvice::LongerTrials,
        CalibrationAdvice::LongerWarmUp => NoiseAdvice::LongerWarmUp,
    }
}

#[cfg(test)]
mod tests {
    use powerband_record::{CommandEnd, ExitStatus};

    use super::*;

    #[test]
    fn trials_of_a_failing_command_do_not_count() {
        let mut calibrating = Calibrating::default();
        for (trial, code) in [(0, 0), (1, 3), (2, 0)] {
            let ended = (code > 0).then_some(CommandEnd { status: ExitStatus::Code(code), accepted: false });
            let outcome = Outcome { ended, metrics: [("time_s".to_owned(), 1.0)].into(), ..Outcome::default() };
            calibrating.take(&PlannedTrial { trial, block: 1, setting: 0, copy: 0, at_ns: 0 }, 1, &outcome);
        }
        assert_eq!(calibrating.done.iter().map(|done| done.trial).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(calibrating.failed.to_string(), "failed in 1 of 3 trials (exit status 3)");
    }
}
