//! The experiment loop against benches that compute their answers: what ends it, what it says, how often it errs, how it goes on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod calibrated;
mod carried;
mod ends;
mod extended;
mod facts;
#[cfg(test)]
mod faults;
mod looks;
mod required;
mod resumed;
mod tuned;
mod verdicts;

use powerband_record::{Better, Event, Metric, Outcome, PlannedSetting, PlannedTrial, Started, Void};

/// An experiment over `settings`, judged by one rate.
fn started(settings: &[&str], seed: u64) -> Started {
    Started {
        title: None,
        machine: "formula".into(),
        far: None,
        machine_typed: None,
        far_typed: None,
        system: "arithmetic".into(),
        facts: vec![],
        knobs: std::collections::BTreeMap::new(),
        command_meter: None,
        cool: None,
        record: vec![],
        baseline: vec![],
        load: serde_json::json!({"kind": "idle"}),
        user: None,
        seed,
        settings: settings
            .iter()
            .map(|label| PlannedSetting { label: (*label).into(), turns: String::new() })
            .collect(),
        metrics: vec![Metric { name: "rate_mbit_s".into(), better: Better::Higher, judged: true, boundary: None }],
        picks: Vec::new(),
        meters: Vec::new(),
        cpus: None,
        cost_order: Vec::new(),
        requirements: Vec::new(),
        calibration: false,
        alpha: 0.05,
        margin: 0.01,
        margin_source: "given".into(),
        robust: false,
        max_blocks: 20,
        min_blocks: 0,
        same_family: false,
        judge_mean: false,
        hooks: powerband_record::Hooks::default(),
        budget_ns: None,
        settle_ns: 0,
        warmup: 0,
        search: None,
        notes: Vec::new(),
    }
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
