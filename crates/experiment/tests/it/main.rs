//! The experiment loop against benches that compute their answers: what ends it, what it says, how often it errs, how it goes on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod equal_settings;
mod extended;
mod facts;
#[cfg(test)]
mod failing;
mod faults;
mod required;
mod resumed;
mod scenes;
mod suspended;
mod tuned;
mod verdicts;

use powerband_record::{Better, Event, Metric, Outcome, PlannedSetting, PlannedTrial, Started, Void};

const SECOND: u64 = 1_000_000_000;

/// An experiment over `settings`, judged by one rate.
fn started(settings: &[&str], seed: u64) -> Started {
    let setting = |label: &&str| PlannedSetting { label: (*label).into(), turns: String::new() };
    let settings: Vec<PlannedSetting> = settings.iter().map(setting).collect();
    let metric = Metric { name: "rate_mbit_s".into(), better: Better::Higher, judged: true, boundary: None };
    let started = serde_json::json!({
        "machine": "formula", "system": "arithmetic", "load": {"kind": "idle"}, "seed": seed, "settings": settings,
        "metrics": [metric], "alpha": 0.05, "margin": 0.01, "margin_source": "given", "max_blocks": 20, "settle_ns": 0,
        "warmup": 0,
    });
    serde_json::from_value(started).unwrap()
}

fn rate(value: f64) -> Outcome {
    Outcome { metrics: [("rate_mbit_s".to_owned(), value)].into(), ..Outcome::default() }
}

/// A formula: 100 times a factor by setting, with log-normal noise of `sigma` that differs from trial to trial.
fn noisy(seed: u64, sigma: f64, factors: Vec<f64>) -> impl FnMut(&PlannedTrial) -> Result<Outcome, Void> {
    move |trial| {
        let mut draws = powerband_stats::Draws::new(seed, powerband_stats::Purpose::Noise, u64::from(trial.trial), 0);
        Ok(rate(100.0 * factors[trial.setting as usize] * (sigma * draws.normal()).exp()))
    }
}

/// Events of one kind, counted.
fn count(journal: &[Event], is: impl Fn(&Event) -> bool) -> usize {
    journal.iter().filter(|event| is(event)).count()
}
