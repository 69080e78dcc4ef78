//! `stream`: bulk transfers for a fixed time, over TCP or as datagrams, with the columns of nuttcp's line: rate, CPU share of
//! each end, retransmits or loss, round trip. On a rig it goes from one machine to the other, on a single machine over loopback.
use powerband_record::{Better, CpuList, Metric, Side, Void, Work};
use serde::{Deserialize, Serialize};

use crate::metric::{judged, shown};
use crate::reported::reported;
use crate::{Concluded, Finishes, LoadFacts, LoadKind, LoadPart, RigEnds};

/// Which way the data flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The far machine sends, the one that is turned receives.
    #[default]
    FarToNear,
    /// The one that is turned sends.
    NearToFar,
    /// Both at once.
    Both,
}

/// By what it travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A connection.
    #[default]
    Tcp,
    /// Datagrams of one size.
    Udp,
}

/// One bulk transfer, or several at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamLoad {
    /// How long to send, ns; a plan writes `for = "10s"`.
    #[serde(rename = "for", with = "crate::spelling::duration")]
    pub for_ns: u64,
    /// Which way.
    pub direction: Direction,
    /// `tcp` or `udp`.
    #[serde(skip_serializing_if = "crate::spelling::is_default")]
    pub protocol: Transport,
    /// How many at once in each direction, each a process of its own at either end.
    #[serde(skip_serializing_if = "is_one")]
    pub streams: u32,
    /// Most bytes on their way, as iperf3's `-w`; absent = as the kernel sees fit. TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// Payload of a datagram, or of a segment of TCP at most, as iperf3's `-M`; absent = what fills a frame of Ethernet, 1448.
    #[serde(rename = "size", skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u32>,
    /// Bytes a program hands to the kernel at once, as iperf3's `-l`; absent = 128 KiB. TCP, which joins them to full segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u32>,
    /// Payload of each stream, Mbit/s; absent = as much as goes. UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_mbit_s: Option<f64>,
    /// CPUs the near end is pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
}

/// Exchanges of one byte whose median is the round trip; odd, so that the median is one of them.
const RTT_EXCHANGES: u32 = 21;

/// Windows that make sense, bytes: two full frames and more, up to what Linux takes.
const WINDOWS: std::ops::RangeInclusive<u64> = 4_096..=1 << 30;

/// Payloads of a datagram over IPv4, and what fills a frame.
const SIZES: std::ops::RangeInclusive<u32> = 1..=65_507;
const FULL_FRAME: u32 = 1_448;

/// What Linux takes for `TCP_MAXSEG` (6.1 include/net/tcp.h TCP_MIN_MSS, MAX_TCP_WINDOW).
const SEGMENTS: std::ops::RangeInclusive<u32> = 88..=32_767;

/// What a program may write at once, bytes: up to what iperf3 takes.
const WRITES: std::ops::RangeInclusive<u32> = 1..=1 << 20;

/// Names of the parts: forth and back, first the receivers, then the senders, a pair for each stream.
const NAMES: [[&str; 2]; 16] = [
    ["receive", "send"],
    ["receive-2", "send-2"],
    ["receive-3", "send-3"],
    ["receive-4", "send-4"],
    ["receive-5", "send-5"],
    ["receive-6", "send-6"],
    ["receive-7", "send-7"],
    ["receive-8", "send-8"],
    ["back-receive", "back-send"],
    ["back-receive-2", "back-send-2"],
    ["back-receive-3", "back-send-3"],
    ["back-receive-4", "back-send-4"],
    ["back-receive-5", "back-send-5"],
    ["back-receive-6", "back-send-6"],
    ["back-receive-7", "back-send-7"],
    ["back-receive-8", "back-send-8"],
];

/// Where those that go back begin, which is the most streams there can be.
const BACK: usize = 8;

/// An asked rate that is missed by more is no measurement, relative.
const MISSED: f64 = 0.01;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_one(streams: &u32) -> bool {
    *streams == 1
}

impl Default for StreamLoad {
    fn default() -> Self {
        StreamLoad {
            for_ns: 10_000_000_000,
            direction: Direction::default(),
            protocol: Transport::default(),
            streams: 1,
            window_bytes: None,
            size_bytes: None,
            write_bytes: None,
            rate_mbit_s: None,
            pin: None,
        }
    }
}

impl LoadKind for StreamLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts {
            kind: "stream",
            example: "window_bytes = 65536, or leave it to the kernel",
            without_peer: Some(
                "stream has no peer: both of its ends run on this machine, over loopback, so it measures how fast the machine copies to itself, and no network; name a peer with --far",
            ),
            ..LoadFacts::NONE
        }
    }

    fn measured_ns(&self) -> Option<u64> {
        Some(self.for_ns)
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![judged("rate_mbit_s", Better::Higher)];
        metrics.extend(shown(Better::Lower, ["tx_percent", "rx_percent", "rtt_ms"]));
        let lost = if self.protocol == Transport::Udp { "lost_percent" } else { "retransmits" };
        // As fast as goes is as lossy as comes: only at a rate that was asked for does loss decide.
        let decides = self.rate_mbit_s.is_some();
        let lost = Metric { judged: decides, ..judged(lost, Better::Lower) };
        metrics.insert(if decides { 1 } else { 3 }, lost);
        if self.direction == Direction::Both {
            metrics.extend(shown(Better::Higher, ["far_to_near_mbit_s", "near_to_far_mbit_s"]));
        }
        metrics
    }

    fn mistake(&self) -> Option<&'static str> {
        let udp = self.protocol == Transport::Udp;
        if !(1..=BACK).contains(&(self.streams as usize)) {
            Some("its streams must be 1 to 8")
        } else if self.window_bytes.is_some_and(|window| !WINDOWS.contains(&window)) {
            Some("its window must be 4096 to 1073741824 bytes")
        } else if udp && self.window_bytes.is_some() {
            Some("a window belongs to tcp; datagrams have none")
        } else if !udp && self.rate_mbit_s.is_some() {
            Some("rate_mbit_s belongs to protocol = \"udp\"; tcp goes as fast as it can")
        } else if udp && self.write_bytes.is_some() {
            Some("write_bytes belongs to tcp; each datagram is one write of `size` bytes")
        } else if self.write_bytes.is_some_and(|bytes| !WRITES.contains(&bytes)) {
            Some("its write_bytes must be 1 to 1048576")
        } else if !udp && self.size_bytes.is_some_and(|size| !SEGMENTS.contains(&size)) {
            Some("the size of a segment of tcp must be 88 to 32767 bytes, as Linux has it")
        } else if self.size_bytes.is_some_and(|size| !SIZES.contains(&size)) {
            Some("its size must be 1 to 65507 bytes")
        } else if self.rate_mbit_s.is_some_and(|rate| !(0.001..=1e6).contains(&rate)) {
            Some("its rate_mbit_s must be 0.001 to 1000000")
        } else {
            None
        }
    }

    fn parts(&self, rig: &RigEnds) -> Vec<LoadPart> {
        let far = if rig.far.is_some() { Side::Far } else { Side::Near };
        let mut ends = (Vec::new(), Vec::new());
        for ([receive, send], back) in self.pairs() {
            let (from, to) = match (self.direction, back) {
                (Direction::NearToFar, _) | (Direction::Both, true) => (Side::Near, far),
                _ => (far, Side::Near),
            };
            let address = match (&rig.far, to) {
                (Some(address), Side::Far) => address.clone(),
                _ => rig.near.clone(),
            };
            let pin = |side| if side == Side::Near { self.pin.clone() } else { None };
            // Meters are read around the first pair alone.
            let first = receive == NAMES[0][0];
            let (receives, sends) = self.work(address);
            let part =
                |name, side, work, after, metered| LoadPart { name, side, work, cpus: pin(side), after, metered };
            ends.0.push(part(receive, to, receives, None, first && to != from));
            ends.1.push(part(send, from, sends, Some(receive), first));
        }
        ends.0.into_iter().chain(ends.1).collect()
    }

    /// Rate and shares as nuttcp prints them: what receivers got over their own time, and the CPU time of each kind of end
    /// over it; of several streams the sums. The round trip is the first's.
    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let (mut forth, mut back, mut tx, mut rx, mut again) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (mut datagrams, mut came) = (0.0, 0.0);
        for ([receive, send], goes_back) in self.pairs() {
            let got = |key| reported(finishes, receive, key);
            let sent = |key| reported(finishes, send, key);
            let (bytes, seconds, sent_for) = (got("bytes")?, got("seconds")?, sent("seconds")?);
            if bytes <= 0.0 || seconds <= 0.0 {
                return Err(Void::LoadFailed { why: format!("the stream moved {bytes} bytes in {seconds} s") });
            }
            *(if goes_back { &mut back } else { &mut forth }) += bytes * 8.0 / 1e6 / seconds;
            tx += 100.0 * sent("cpu_seconds")? / sent_for.max(f64::MIN_POSITIVE);
            rx += 100.0 * got("cpu_seconds")? / seconds;
            if self.protocol == Transport::Tcp {
                again += sent("retransmits")?;
                continue;
            }
            (datagrams, came) = (datagrams + sent("datagrams")?, came + got("datagrams")?);
            self.kept_its_rate(sent("bytes")? * 8.0 / 1e6 / sent_for.max(f64::MIN_POSITIVE))?;
        }
        let rtt_ms = reported(finishes, NAMES[0][1], "rtt_ms")?;
        let columns = [("rate_mbit_s", forth + back), ("tx_percent", tx), ("rx_percent", rx), ("rtt_ms", rtt_ms)];
        let mut concluded = Concluded::from(columns);
        let metrics = &mut concluded.values;
        match self.protocol {
            Transport::Tcp => metrics.insert("retransmits".into(), again),
            Transport::Udp => metrics.insert("lost_percent".into(), 100.0 * (1.0 - came / datagrams)),
        };
        if self.direction == Direction::Both {
            metrics.insert("far_to_near_mbit_s".into(), forth);
            metrics.insert("near_to_far_mbit_s".into(), back);
        }
        Ok(concluded)
    }
}

impl StreamLoad {
    /// The names of its pairs, and whether each goes back.
    fn pairs(&self) -> impl Iterator<Item = ([&'static str; 2], bool)> {
        let streams = self.streams as usize;
        let back = if self.direction == Direction::Both { streams } else { 0 };
        let forth = NAMES.iter().take(streams).map(|names| (*names, false));
        forth.chain(NAMES.iter().skip(BACK).take(back).map(|names| (*names, true)))
    }

    fn work(&self, address: String) -> (Work, Work) {
        let (for_ns, rtt_exchanges, to) = (self.for_ns, RTT_EXCHANGES, address.clone());
        match self.protocol {
            Transport::Tcp => {
                let send = Work::StreamSend {
                    address: to,
                    port: 0,
                    for_ns,
                    rtt_exchanges,
                    window_bytes: self.window_bytes,
                    segment_bytes: self.size_bytes,
                    write_bytes: self.write_bytes,
                };
                (Work::StreamReceive { address, port: 0 }, send)
            }
            Transport::Udp => {
                let size_bytes = self.size_bytes.unwrap_or(FULL_FRAME);
                let rate_kbit_s = self.rate_mbit_s.map(|rate| (rate * 1e3).round() as u64);
                let send = Work::DatagramSend { address: to, port: 0, for_ns, size_bytes, rate_kbit_s, rtt_exchanges };
                (Work::DatagramReceive { address, port: 0 }, send)
            }
        }
    }

    fn kept_its_rate(&self, sent_mbit_s: f64) -> Result<(), Void> {
        match self.rate_mbit_s {
            Some(asked) if sent_mbit_s < asked * (1.0 - MISSED) => {
                let why = format!("{sent_mbit_s:.2} Mbit/s were sent of {asked} that were asked for; ask for less");
                Err(Void::LoadFailed { why })
            }
            _ => Ok(()),
        }
    }
}
