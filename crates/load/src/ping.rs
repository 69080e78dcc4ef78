//! `ping`: small packets to an echo and back, sent at a fixed rate whatever the answers do. On a rig the near machine sends
//! and the far one answers, on a single machine both ends are on loopback.
use powerband_record::{Arrivals, Better, CpuList, MAX_LOST_PERCENT, Metric, Protocol, Side, Void, Work};
use serde::{Deserialize, Serialize};

use crate::latency::percentiles;
use crate::metric::{judged, shown};
use crate::reported::reported;
use crate::{Concluded, Finishes, LoadFacts, LoadKind, LoadPart, RigEnds};

/// Small packets there and back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PingLoad {
    /// How long to send, ns; a plan writes `for = "10s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
    /// `udp`, `tcp` (both to an echo of our own) or `icmp` (to the other kernel).
    pub protocol: Protocol,
    /// Packets a second, on average.
    #[serde(rename = "rate")]
    pub rate_per_s: f64,
    /// `constant` or `exponential` gaps.
    pub arrivals: Arrivals,
    /// Seed of exponential gaps; every trial has the same.
    pub seed: u64,
    /// Payload of one packet.
    #[serde(rename = "size")]
    pub size_bytes: u32,
    /// CPUs the sender is pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
    /// CPUs the echo is pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub echo_pin: Option<CpuList>,
    /// Next to the echo an ordinary process counts on the same CPU, which so never sleeps.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub echo_busy: bool,
}

impl Default for PingLoad {
    fn default() -> Self {
        PingLoad {
            for_ns: 10_000_000_000,
            protocol: Protocol::default(),
            rate_per_s: 200.0,
            arrivals: Arrivals::default(),
            seed: 1,
            size_bytes: 56,
            pin: None,
            echo_pin: None,
            echo_busy: false,
        }
    }
}

/// How much longer the other process counts, ns.
const LONGER_NS: u64 = 200_000_000;

/// The number of a packet and a mark of ours have to fit in; one datagram has to hold it.
const SIZES: std::ops::RangeInclusive<u32> = 16..=1400;

impl LoadKind for PingLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts {
            kind: "ping",
            example: "rate = 200, size = 64",
            histogram: Some("rtt_ns"),
            without_peer: Some(
                "ping has no peer: this machine answers itself, over loopback, so it measures no network and no NIC; name a peer with --far",
            ),
        }
    }

    fn measured_ns(&self) -> Option<u64> {
        Some(self.for_ns)
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![judged("rtt_ms", Better::Lower)];
        metrics.extend(shown(Better::Lower, ["mean_us", "p50_us", "p90_us", "p99_us", "max_us"]));
        metrics.push(judged("lost_percent", Better::Lower));
        metrics
    }

    fn mistake(&self) -> Option<&'static str> {
        if !(self.rate_per_s >= 0.1 && self.rate_per_s <= 100_000.0) {
            Some("its rate must be 0.1 to 100000 packets a second")
        } else if !SIZES.contains(&self.size_bytes) {
            Some("its size must be 16 to 1400 bytes")
        } else if self.protocol == Protocol::Icmp && (self.echo_pin.is_some() || self.echo_busy) {
            Some("the other kernel answers icmp, so nothing of ours can be pinned or kept busy there")
        } else if self.echo_busy && self.echo_pin.as_ref().is_none_or(|cpus| cpus.as_slice().len() != 1) {
            Some("echo_busy = true needs the one CPU that is kept busy, e.g. echo_pin = \"1\"")
        } else {
            None
        }
    }

    fn parts(&self, rig: &RigEnds) -> Vec<LoadPart> {
        let (side, address) = match &rig.far {
            Some(far) => (Side::Far, far.clone()),
            None => (Side::Near, rig.near.clone()),
        };
        let protocol = self.protocol;
        let echo = Work::Echo { protocol, address: address.clone(), port: 0 };
        let ping = Work::Ping {
            protocol,
            address,
            port: 0,
            for_ns: self.for_ns,
            rate_per_s: self.rate_per_s,
            arrivals: self.arrivals,
            seed: self.seed,
            size_bytes: self.size_bytes,
        };
        let metered = |name: &str| name == "load" || (name == "echo" && side == Side::Far);
        let part = |name, side, work, cpus, after| LoadPart { metered: metered(name), name, side, work, cpus, after };
        match protocol {
            Protocol::Icmp => vec![part("load", Side::Near, ping, self.pin.clone(), None)],
            Protocol::Udp | Protocol::Tcp => {
                // It goes on a little longer, so that the last packets are like the first.
                let busy = Work::Counter { for_ns: self.for_ns + LONGER_NS, align_to_second: false };
                let beside = part("busy", side, busy, self.echo_pin.clone(), None);
                let ends = [
                    part("echo", side, echo, self.echo_pin.clone(), None),
                    part("load", Side::Near, ping, self.pin.clone(), Some("echo")),
                ];
                self.echo_busy.then_some(beside).into_iter().chain(ends).collect()
            }
        }
    }

    /// The mean round trip as ping(8) tells it, from when a packet left to when the kernel took its answer in (over TCP: to when we
    /// had it); everything else counts from when a packet was meant to leave to when we had its answer.
    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let number = |key| reported(finishes, "load", key);
        let (sent, received) = (number("sent")?, number("received")?);
        if received <= 0.0 {
            return Err(Void::Lossy { lost_percent: 100.0, why: format!("none of {sent} pings was answered") });
        }
        let lost_percent = 100.0 * (sent - received) / sent;
        if lost_percent > MAX_LOST_PERCENT {
            let why = format!(
                "{} of {sent} pings were lost, and what came back says too little of what did not",
                sent - received
            );
            return Err(Void::Lossy { lost_percent, why });
        }
        let mut metrics = percentiles(finishes, received)?;
        metrics.extend([
            // A simulated machine does not tell the two apart.
            ("rtt_ms".to_owned(), number("rtt_ns").or_else(|_| number("mean_ns"))? / 1e6),
            ("mean_us".to_owned(), number("mean_ns")? / 1e3),
            ("lost_percent".to_owned(), lost_percent),
        ]);
        Ok(metrics.into())
    }
}
