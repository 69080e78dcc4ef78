//! `orders`: an order system in memory under transactions that come at a rate, or as fast as they go.
use powerband_record::{Better, CpuList, Metric, Void, Work};
use serde::{Deserialize, Serialize};

use crate::latency::percentiles;
use crate::metric::{judged, shown};
use crate::reported::reported;
use crate::{Concluded, Finishes, LoadFacts, LoadKind, LoadPart, RigEnds};

/// An order system at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OrdersLoad {
    /// How long is measured, ns; a plan writes `for = "30s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
    /// How long it runs before, ns.
    #[serde(rename = "ramp", with = "crate::spelling::duration")]
    pub ramp_ns: u64,
    /// Transactions a second; as many as go when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Threads that work; one for each CPU that is online when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Whether each stays on a CPU of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// Transactions of one batch.
    pub batch: u32,
    /// Seed of gaps and of transactions.
    pub seed: u64,
    /// CPUs it stays on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
    /// Whether doing less than what is due is a result and no failure: what a ladder asks at its highest levels.
    #[serde(skip)]
    pub may_lag: bool,
}

/// Threads that can be asked for, and transactions of a batch.
const WORKERS: std::ops::RangeInclusive<u32> = 1..=1024;
const BATCHES: std::ops::RangeInclusive<u32> = 1..=100_000;

/// Less than this share of what is due is not what was asked for.
const ENOUGH: f64 = 0.99;

impl Default for OrdersLoad {
    fn default() -> Self {
        OrdersLoad {
            for_ns: 30_000_000_000,
            ramp_ns: 3_000_000_000,
            rate_per_s: None,
            workers: None,
            bound: false,
            batch: 1_000,
            seed: 1,
            pin: None,
            may_lag: false,
        }
    }
}

impl LoadKind for OrdersLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts {
            kind: "orders",
            example: "rate_per_s = 10000.0, batch = 1000",
            histogram: Some("batch_ns"),
            ..LoadFacts::NONE
        }
    }

    fn measured_ns(&self) -> Option<u64> {
        Some(self.for_ns)
    }

    fn length_ns(&self) -> Option<u64> {
        Some(self.ramp_ns.saturating_add(self.for_ns))
    }

    fn trial_seed_mut(&mut self) -> Option<&mut u64> {
        Some(&mut self.seed)
    }

    fn metrics(&self) -> Vec<Metric> {
        let latencies = shown(Better::Lower, ["p50_us", "p90_us"]);
        let mut metrics = vec![judged("score_per_s", Better::Higher)];
        metrics.extend(shown(Better::Higher, ["due_per_s"]).chain(latencies));
        metrics.push(judged("p99_us", Better::Lower));
        metrics.extend(shown(Better::Lower, ["max_us"]));
        metrics
    }

    fn mistake(&self) -> Option<&'static str> {
        if self.rate_per_s.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            Some("its rate must be above 0")
        } else if self.workers.is_some_and(|workers| !WORKERS.contains(&workers)) {
            Some("its workers must be 1 to 1024")
        } else if !BATCHES.contains(&self.batch) {
            Some("its batch must be 1 to 100000 transactions")
        } else {
            None
        }
    }

    fn parts(&self, _rig: &RigEnds) -> Vec<LoadPart> {
        let work = Work::Orders {
            rate_per_s: self.rate_per_s,
            workers: self.workers,
            bound: self.bound,
            batch: self.batch,
            ramp_ns: self.ramp_ns,
            for_ns: self.for_ns,
            seed: self.seed,
        };
        vec![LoadPart::near(work, self.pin.clone())]
    }

    /// What was done, and how long after it was due.
    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let number = |key| reported(finishes, "load", key);
        let (done, due, seconds) = (number("transactions")?, number("scheduled")?, number("seconds")?);
        if seconds <= 0.0 || done <= 0.0 {
            return Err(Void::LoadFailed { why: format!("{done} transactions were done in {seconds} s") });
        }
        // What is in work as the time is up counts for nobody.
        let in_work = number("workers")? * f64::from(self.batch) * 2.0;
        if self.rate_per_s.is_some() && !self.may_lag && done < ENOUGH * due - in_work {
            let why = format!("{done} transactions were done of {due} that were due; ask for a lower rate_per_s");
            return Err(Void::LoadFailed { why });
        }
        let batches = (done / f64::from(self.batch)).round();
        let mut metrics = percentiles(finishes, batches)?;
        metrics.extend([("score_per_s".to_owned(), done / seconds), ("due_per_s".to_owned(), due / seconds)]);
        Ok(metrics.into())
    }
}
