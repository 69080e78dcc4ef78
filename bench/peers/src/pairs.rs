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
    Pair {
        name: "stream and iperf3",
        program: "iperf3",
        unit: "Mbit/s",
        higher: true,
        margin: 0.03,
        only_same: false,
        networked: true,
    },
    Pair {
        name: "stream and nuttcp",
        program: "nuttcp",
        unit: "Mbit/s",
        higher: true,
        margin: 0.03,
        only_same: false,
        networked: true,
    },
    Pair {
        name: "ping and ping",
        program: "ping",
        unit: "us",
        higher: false,
        margin: 0.03,
        only_same: false,
        networked: true,
    },
    Pair {
        name: "ping and sockperf",
        program: "sockperf",
        unit: "us",
        higher: false,
        margin: 0.03,
        only_same: false,
        networked: true,
    },
    Pair {
        name: "wake and cyclictest",
        program: "cyclictest",
        unit: "us",
        higher: false,
        margin: 0.10,
        only_same: true,
        networked: false,
    },
];

impl Pair {
    pub(crate) fn places(&self) -> &'static [Place] {
        if self.networked { &[Place::Loopback, Place::Namespaces] } else { &[Place::Loopback] }
    }
}
