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
