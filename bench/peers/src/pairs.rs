//! The pairs: which of our loads is held against which tool, in what unit, and how much worse it may be.
use crate::namespaces::Place;

/// One of our loads and one tool that does the same.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    /// The tool's program.
    pub(crate) program: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) higher: bool,
    /// How much worse ours may be, relative.
    pub(crate) margin: f64,
    /// Whether ours may not be better either: both claim to measure one thing.
    pub(crate) only_same: bool,
    pub(crate) networked: bool,
}

pub(crate) const PAIRS: [Pair; 5] = [
    networked("stream and iperf3", "iperf3", "Mbit/s", true),
    networked("stream and nuttcp", "nuttcp", "Mbit/s", true),
    networked("ping and ping", "ping", "us", false),
    networked("ping and sockperf", "sockperf", "us", false),
    Pair {
        margin: 0.10,
        only_same: true,
        networked: false,
        ..networked("wake and cyclictest", "cyclictest", "us", false)
    },
];

const fn networked(name: &'static str, program: &'static str, unit: &'static str, higher: bool) -> Pair {
    Pair { name, program, unit, higher, margin: 0.03, only_same: false, networked: true }
}

impl Pair {
    pub(crate) fn places(&self) -> &'static [Place] {
        if self.networked { &[Place::Loopback, Place::Namespaces] } else { &[Place::Loopback] }
    }
}
