//! `shop`: a web shop under customers who think between pages.
use powerband_record::{Better, CpuList, Metric, ShopServer, Void, Work};
use serde::{Deserialize, Serialize};

use crate::latency::percentiles;
use crate::metric::{judged, shown};
use crate::reported::reported;
use crate::{Concluded, Finishes, LoadFacts, LoadKind, LoadPart, RigEnds};

/// A web shop and its customers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ShopLoad {
    /// How long is measured, ns; a plan writes `for = "30s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
    /// How long it runs before, ns.
    #[serde(rename = "ramp", with = "crate::spelling::duration")]
    pub ramp_ns: u64,
    /// How many customers.
    pub customers: u32,
    /// Mean time a customer thinks between an answer and the next request (exponential), ns.
    #[serde(rename = "think", with = "crate::spelling::duration")]
    pub think_ns: u64,
    /// What the shop runs on: `embedded`, a server of our own, or `apache`, Debian's Apache with PHP and MariaDB.
    pub server: ShopServer,
    /// Seed of what customers do and how long they think.
    pub seed: u64,
    /// CPUs it stays on, shop and customers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
}

/// Customers that can be had.
const CUSTOMERS: std::ops::RangeInclusive<u32> = 1..=20_000;
/// Time to think, ns.
const THINK_NS: std::ops::RangeInclusive<u64> = 1_000_000..=600_000_000_000;

impl Default for ShopLoad {
    fn default() -> Self {
        ShopLoad {
            for_ns: 30_000_000_000,
            ramp_ns: 5_000_000_000,
            customers: 50,
            think_ns: 1_000_000_000,
            server: ShopServer::default(),
            seed: 1,
            pin: None,
        }
    }
}

impl LoadKind for ShopLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts {
            kind: "shop",
            example: "customers = 50, think = \"1s\"",
            histogram: Some("answer_ns"),
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
        let latencies = shown(Better::Lower, ["mean_us", "p50_us", "p90_us"]);
        let mut metrics = vec![judged("requests_per_s", Better::Higher)];
        metrics.extend(shown(Better::Higher, ["orders_per_s"]).chain(latencies));
        metrics.push(judged("p99_us", Better::Lower));
        metrics.extend(shown(Better::Lower, ["max_us"]));
        metrics
    }

    fn mistake(&self) -> Option<&'static str> {
        if !CUSTOMERS.contains(&self.customers) {
            Some("its customers must be 1 to 20000")
        } else if !THINK_NS.contains(&self.think_ns) {
            Some("its think must be 1ms to 10m")
        } else {
            None
        }
    }

    fn describe(&self) -> String {
        let on = match self.server {
            ShopServer::Embedded => "",
            ShopServer::Apache => " on Apache, PHP and MariaDB",
        };
        let length = powerband_record::format_duration(self.for_ns);
        let plural = if self.customers == 1 { "" } else { "s" };
        format!("shop{on} under {} customer{plural} for {length}", self.customers)
    }

    fn parts(&self, _rig: &RigEnds) -> Vec<LoadPart> {
        let work = Work::Shop {
            server: self.server,
            customers: self.customers,
            think_ns: self.think_ns,
            ramp_ns: self.ramp_ns,
            for_ns: self.for_ns,
            seed: self.seed,
        };
        vec![LoadPart::near(work, self.pin.clone())]
    }

    /// What was answered, and how long it took.
    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let number = |key| reported(finishes, "load", key);
        let (requests, failed, seconds) = (number("requests")?, number("failed")?, number("seconds")?);
        if seconds <= 0.0 || requests <= 0.0 {
            return Err(Void::LoadFailed { why: format!("{requests} requests were answered in {seconds} s") });
        }
        if failed > 0.0 {
            let why = format!("{failed} of {} requests failed", requests + failed);
            return Err(Void::LoadFailed { why });
        }
        let mut metrics = percentiles(finishes, requests)?;
        metrics.extend([
            ("requests_per_s".to_owned(), requests / seconds),
            ("orders_per_s".to_owned(), number("orders")? / seconds),
            ("mean_us".to_owned(), number("mean_ns")? / 1e3),
        ]);
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

    fn served(failed: u32) -> Finishes {
        let usage = Usage { real_ns: 1, user_ns: 1, sys_ns: 0, peak_rss_kib: 0 };
        let report = json!({"requests": 100, "failed": failed, "orders": 7, "seconds": 10.0, "mean_ns": 2e6,
                            "max_ns": 9_000_000, "histogram": [[1_000_000, 60], [3_000_000, 39], [9_000_000, 1]]});
        let output = Output { stdout: String::new(), stderr: String::new(), cut: false };
        let status = ExitStatus::Code(0);
        [("load", Finished { status, usage, report: Some(report), output, around: Vec::new() })].into()
    }

    #[test]
    fn a_request_that_failed_is_a_failed_load() {
        let load = Load::builtin("shop", None).unwrap();
        let metrics = load.conclude(&served(0)).unwrap().values;
        assert_eq!((metrics["requests_per_s"], metrics["orders_per_s"], metrics["p90_us"]), (10.0, 0.7, 3_000.0));
        assert!(load.metrics().iter().all(|metric| metrics.contains_key(&metric.name)), "every promised metric comes");
        let Err(Void::LoadFailed { why }) = load.conclude(&served(2)) else { panic!("two failed") };
        assert_eq!(why, "2 of 102 requests failed");
    }

    #[test]
    fn plans_spell_it_and_slips_are_refused() {
        let spelled = json!({"kind": "shop", "for": "5s", "ramp": "1s", "customers": 500, "think": "7s", "server": "apache", "seed": 1});
        let load: Load = serde_json::from_value(spelled.clone()).unwrap();
        assert_eq!(serde_json::to_value(&load).unwrap(), spelled);
        assert_eq!(load.describe(), "shop on Apache, PHP and MariaDB under 500 customers for 5 s");
        assert_eq!((load.check(), load.length_ns()), (Ok(()), Some(6_000_000_000)));
        for bad in [json!({"customers": 0}), json!({"customers": 20_001}), json!({"think": "11m"})] {
            let shop: ShopLoad = serde_json::from_value(bad.clone()).unwrap();
            assert!(Load::Shop(shop).check().is_err(), "{bad}");
        }
    }
}
