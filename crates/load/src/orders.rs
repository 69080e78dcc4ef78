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

#[cfg(test)]
mod tests {
    use powerband_machine::Finished;
    use powerband_record::{ExitStatus, Output, Usage};
    use serde_json::json;

    use super::*;
    use crate::Load;

    fn done(transactions: u32) -> Finishes {
        let usage = Usage { real_ns: 1, user_ns: 1, sys_ns: 0, peak_rss_kib: 0 };
        let report = json!({"transactions": transactions, "scheduled": 100_000, "seconds": 10.0, "workers": 2,
                            "mean_ns": 5e6, "max_ns": 9_000_000, "histogram": [[4_000_000, transactions / 1_000 - 1], [9_000_000, 1]]});
        let output = Output { stdout: String::new(), stderr: String::new(), cut: false };
        let status = ExitStatus::Code(0);
        [("load", Finished { status, usage, report: Some(report), output, around: Vec::new() })].into()
    }

    #[test]
    fn a_rate_that_is_missed_is_a_failed_load_unless_it_may_lag() {
        let asked = OrdersLoad { rate_per_s: Some(10_000.0), ..OrdersLoad::default() };
        let load = Load::Orders(asked.clone());
        let metrics = load.conclude(&done(99_000)).unwrap().values;
        assert_eq!((metrics["score_per_s"], metrics["due_per_s"], metrics["p99_us"]), (9_900.0, 10_000.0, 9_000.0));
        assert!(load.metrics().iter().all(|metric| metrics.contains_key(&metric.name)), "every promised metric comes");
        let Err(Void::LoadFailed { why }) = load.conclude(&done(94_000)) else { panic!("6 % are missing") };
        assert_eq!(why, "94000 transactions were done of 100000 that were due; ask for a lower rate_per_s");
        assert!(Load::Orders(OrdersLoad { may_lag: true, ..asked }).conclude(&done(94_000)).is_ok());
        assert!(Load::builtin("orders", None).unwrap().conclude(&done(94_000)).is_ok(), "no rate was asked for");
    }

    #[test]
    fn plans_spell_it_and_slips_are_refused() {
        let spelled =
            json!({"kind": "orders", "for": "5s", "ramp": "1s", "rate_per_s": 1000.0, "batch": 10, "seed": 1});
        let load: Load = serde_json::from_value(spelled.clone()).unwrap();
        assert_eq!(serde_json::to_value(&load).unwrap(), spelled);
        assert_eq!((load.check(), load.length_ns()), (Ok(()), Some(6_000_000_000)));
        for bad in [json!({"rate_per_s": 0.0}), json!({"rate_per_s": -1.0}), json!({"workers": 0}), json!({"batch": 0})]
        {
            let orders: OrdersLoad = serde_json::from_value(bad.clone()).unwrap();
            assert!(Load::Orders(orders).check().is_err(), "{bad}");
        }
    }
}
