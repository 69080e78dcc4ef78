//! `stream`: one bulk TCP transfer for a fixed time, with the columns of nuttcp's line: rate, CPU share of each end,
//! retransmits, round trip. On a rig it goes from one machine to the other, on a single machine over loopback.
use std::collections::BTreeMap;

use powerband_record::{CpuList, Side, Void, Work};
use serde::{Deserialize, Serialize};

use crate::load::reported;
use crate::{Finishes, Part, Rig};

/// Which way the data flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The far machine sends, the one that is turned receives.
    #[default]
    FarToNear,
    /// The one that is turned sends.
    NearToFar,
}

/// One bulk TCP transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamLoad {
    /// How long to send, ns; a plan writes `for = "10s"`.
    #[serde(rename = "for", default = "ten_seconds", with = "crate::load::duration")]
    pub for_ns: u64,
    /// Which way.
    #[serde(default)]
    pub direction: Direction,
    /// Most bytes on their way, as iperf3's `-w`; absent = as the kernel sees fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// CPUs the near end is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
}

/// Exchanges of one byte whose median is the round trip; odd, so that the median is one of them.
const RTT_EXCHANGES: u32 = 21;

/// Windows that make sense, bytes: two full frames and more, up to what Linux takes.
const WINDOWS: std::ops::RangeInclusive<u64> = 4_096..=1 << 30;

fn ten_seconds() -> u64 {
    10_000_000_000
}

impl Default for StreamLoad {
    fn default() -> Self {
        StreamLoad { for_ns: ten_seconds(), direction: Direction::default(), window_bytes: None, pin: None }
    }
}

impl StreamLoad {
    /// What no stream could be.
    pub(crate) fn mistake(&self) -> Option<&'static str> {
        let window = self.window_bytes?;
        (!WINDOWS.contains(&window)).then_some("its window must be 4096 to 1073741824 bytes")
    }

    pub(crate) fn parts(&self, rig: &Rig) -> Vec<Part> {
        let far = if rig.far.is_some() { Side::Far } else { Side::Near };
        let (from, to) = match self.direction {
            Direction::FarToNear => (far, Side::Near),
            Direction::NearToFar => (Side::Near, far),
        };
        let address = match (&rig.far, to) {
            (Some(address), Side::Far) => address.clone(),
            _ => rig.near.clone(),
        };
        let pin = |side| if side == Side::Near { self.pin.clone() } else { None };
        let receive = Work::StreamReceive { address: address.clone(), port: 0 };
        let send = Work::StreamSend {
            address,
            port: 0,
            for_ns: self.for_ns,
            rtt_exchanges: RTT_EXCHANGES,
            window_bytes: self.window_bytes,
        };
        vec![
            Part { name: "receive", side: to, work: receive, cpus: pin(to), after: None, metered: to != from },
            Part { name: "send", side: from, work: send, cpus: pin(from), after: Some("receive"), metered: true },
        ]
    }
}

/// Rate and shares as nuttcp prints them: what the receiver got over its own time, and each end's own CPU time over it.
pub(crate) fn metrics(finishes: &Finishes) -> Result<BTreeMap<String, f64>, Void> {
    let (bytes, seconds) = (reported(finishes, "receive", "bytes")?, reported(finishes, "receive", "seconds")?);
    if bytes <= 0.0 || seconds <= 0.0 {
        return Err(Void::LoadFailed { why: format!("the stream moved {bytes} bytes in {seconds} s") });
    }
    let sent_for = reported(finishes, "send", "seconds")?;
    Ok([
        ("rate_mbit_s".to_owned(), bytes * 8.0 / 1e6 / seconds),
        ("tx_percent".to_owned(), 100.0 * reported(finishes, "send", "cpu_seconds")? / sent_for.max(f64::MIN_POSITIVE)),
        ("rx_percent".to_owned(), 100.0 * reported(finishes, "receive", "cpu_seconds")? / seconds),
        ("retransmits".to_owned(), reported(finishes, "send", "retransmits")?),
        ("rtt_ms".to_owned(), reported(finishes, "send", "rtt_ms")?),
    ]
    .into())
}
