//! Work: what a load asks a machine to do, as data. A local machine runs it as a child process, a simulated one models it.
use serde::{Deserialize, Serialize};

use crate::{Arrivals, Invocation};

/// One piece of work for one process of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Work {
    /// Increment a counter and read the time of day until the time is up. Reports `{"count": N, "seconds": S}`.
    Counter {
        /// How long to count, ns.
        for_ns: u64,
        /// Spin until a new second of wall time begins before counting.
        align_to_second: bool,
    },
    /// Accept one bulk TCP stream and read it to its end. Says `{"ready": {"port": P}}` once it listens;
    /// reports `{"bytes": N, "seconds": S, "cpu_seconds": C}`, S from the first byte to the last.
    StreamReceive {
        /// Address to listen on.
        address: String,
        /// Port, 0 for any free one.
        port: u16,
    },
    /// Connect, measure the round trip of the still idle connection, then send as fast as TCP takes it.
    /// Reports `{"bytes": N, "seconds": S, "cpu_seconds": C, "retransmits": R, "rtt_ms": T}`.
    StreamSend {
        /// Where the receiver listens.
        address: String,
        /// Its port.
        port: u16,
        /// How long to send, ns.
        for_ns: u64,
        /// One-byte exchanges before the transfer; the round trip reported is their median.
        rtt_exchanges: u32,
        /// Most bytes on their way (`SO_SNDBUF`, tcp(7)); absent = as the kernel sees fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window_bytes: Option<u64>,
        /// Most payload of a segment (`TCP_MAXSEG`, tcp(7)); absent = what the link carries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        segment_bytes: Option<u32>,
        /// Bytes of one write to the connection; absent = 128 KiB.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        write_bytes: Option<u32>,
    },
    /// Take in datagrams from one sender until it says how many it sent. Says `{"ready": {"port": P}}` once it listens;
    /// reports `{"bytes": N, "datagrams": D, "seconds": S, "cpu_seconds": C}`, S from the first datagram to the last.
    DatagramReceive {
        /// Address to listen on.
        address: String,
        /// Port, of TCP for what is agreed and of UDP for datagrams; 0 for any free one.
        port: u16,
    },
    /// Send datagrams of one size, at a rate or as fast as they go. Reports `{"datagrams": D, "bytes": N, "seconds": S,
    /// "cpu_seconds": C, "rtt_ms": T}`.
    DatagramSend {
        /// Where the receiver listens.
        address: String,
        /// Its port.
        port: u16,
        /// How long to send, ns.
        for_ns: u64,
        /// Payload of a datagram.
        size_bytes: u32,
        /// Payload a second, kbit/s; as much as goes when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_kbit_s: Option<u64>,
        /// One-byte exchanges before the transfer; the round trip reported is their median.
        rtt_exchanges: u32,
    },
    /// Answer what is sent, with the same bytes, to one caller until it says that it is done. Says
    /// `{"ready": {"port": P}}` once it listens; reports `{"answered": N}`.
    Echo {
        /// How it is called; `icmp` needs no such process.
        protocol: Protocol,
        /// Address to listen on.
        address: String,
        /// Port, 0 for any free one.
        port: u16,
    },
    /// Send to an echo at times fixed beforehand, whatever the answers do, and measure from those times. Reports
    /// `{"sent": N, "received": N, "mean_ns": M, "max_ns": X, "rtt_ns": T, "histogram": [[ns, count], …]}`, the histogram's
    /// values exact to three digits; T, which a simulated machine leaves out, is the mean from when packets did leave to when
    /// the kernel took their answers in.
    Ping {
        /// Over which protocol.
        protocol: Protocol,
        /// Where the echo is.
        address: String,
        /// Its port; 0 for `icmp`.
        port: u16,
        /// How long to send, ns.
        for_ns: u64,
        /// Sends a second, on average.
        rate_per_s: f64,
        /// The law of the gaps between them.
        arrivals: Arrivals,
        /// Seed of the gaps.
        seed: u64,
        /// Payload of one packet.
        size_bytes: u32,
    },
    /// Count the primes below a limit by several processes at once, the ranks, which have equal shares of the numbers, and
    /// wait for the last of them. Reports `{"primes": N, "ranks": R, "cpu_seconds": C}`, C being what the ranks themselves
    /// say; what it cost with its children is its usage.
    Primes {
        /// How many; one for each CPU that is online when `None`.
        ranks: Option<u32>,
        /// The limit, below 2^32.
        limit: u64,
        /// Whether Open MPI's `mpirun` starts them; otherwise they are plain processes.
        mpirun: bool,
        /// Which they are among those of several machines; all there are when `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        among: Option<Among>,
    },
    /// One rank's share of that. Reports `{"rank": R, "primes": N, "cpu_seconds": C}`.
    PrimesShare {
        /// Which, from 0; as the environment by `mpirun` says when `None`.
        rank: Option<u32>,
        /// How many there are.
        ranks: u32,
        /// The limit of all.
        limit: u64,
    },
    /// Sleep until times an interval apart, and see how late it runs each time. Reports `{"wakes": N, "mean_ns": M,
    /// "max_ns": X, "histogram": [[ns, count], …]}`, the histogram's values exact to three digits.
    Wake {
        /// How long, ns.
        for_ns: u64,
        /// From one waking to the next, ns.
        interval_ns: u64,
        /// Priority of SCHED_FIFO, sched(7); 0 is an ordinary thread.
        priority: u32,
    },
    /// An order system in memory under transactions that come in batches, each worker's at exponential gaps, whatever became
    /// of those before. Begins ([`Work`] of which meters are read) after the ramp; reports `{"transactions": N,
    /// "scheduled": M, "seconds": S, "workers": W, "mean_ns": A, "max_ns": X, "histogram": [[ns, count], …]}`: the
    /// transactions done and those due in S seconds, and how long after they were due batches were done.
    Orders {
        /// Transactions a second due, on average; as many as go when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_per_s: Option<f64>,
        /// Threads that work; one for each CPU that is online when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workers: Option<u32>,
        /// Whether each stays on a CPU of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bound: bool,
        /// Transactions of one batch.
        batch: u32,
        /// Time before it is measured, ns.
        ramp_ns: u64,
        /// Time measured, ns.
        for_ns: u64,
        /// Seed of gaps and of transactions.
        seed: u64,
    },
    /// A web shop and its customers on one machine: each looks at a page, thinks, and goes on, through browsing, searching,
    /// cart and order. Begins after the ramp; reports `{"requests": N, "failed": F, "orders": O, "seconds": S, "mean_ns": A,
    /// "max_ns": X, "histogram": [[ns, count], …]}`, the histogram's values exact to three digits.
    Shop {
        /// Who serves.
        server: ShopServer,
        /// How many customers.
        customers: u32,
        /// Mean time a customer thinks (exponential), ns.
        think_ns: u64,
        /// Time before it is measured, ns.
        ramp_ns: u64,
        /// Time measured, ns.
        for_ns: u64,
        /// Seed of what customers do and how long they think.
        seed: u64,
    },
    /// Any program. Its exit status, time, memory and output are what it reports.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// What it costs, for machines that cannot run it but can model it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        demand: Option<Demand>,
        /// Its environment, input, output and repetitions. A command that runs several times reports `{"runs": [[R, U, S,
        /// M], …]}`: real, user and system time of each run in ns, and its largest resident set in KiB.
        #[serde(default, skip_serializing_if = "Invocation::is_plain")]
        invocation: Invocation,
    },
    /// Do nothing for a while: the idle machine is measured.
    Idle {
        /// How long, ns.
        for_ns: u64,
    },
}

/// What echoes travel by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Datagrams to an echo of our own.
    #[default]
    Udp,
    /// A connection to an echo of our own.
    Tcp,
    /// Echo requests, which the kernel at the other end answers.
    Icmp,
}

/// What a shop runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShopServer {
    /// A server of our own, which needs nothing.
    #[default]
    Embedded,
    /// Apache, PHP and MariaDB as Debian has them, started for the load and ended with it.
    Apache,
}

/// What a command costs, so that a simulated machine can stand in for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// CPU cycles of one repetition.
    pub cycles: u64,
    /// Share of those that waits for memory and does not speed up with the clock, 0..1.
    #[serde(default)]
    pub memory_share: f64,
    /// Sleep after each repetition, ns.
    #[serde(default)]
    pub sleep_ns: u64,
    /// Repetitions.
    #[serde(default = "one")]
    pub repeat: u32,
}

fn one() -> u32 {
    1
}

/// The ranks of one machine among those of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Among {
    /// The number of the first of them, from 0.
    pub first: u32,
    /// How many there are on all machines.
    pub all: u32,
}

impl Work {
    /// A command that runs once and is not modelled.
    #[must_use]
    pub fn command(argv: Vec<String>) -> Self {
        Work::Command { argv, demand: None, invocation: Invocation::default() }
    }

    /// A command that runs once, and what it costs where it is modelled.
    #[must_use]
    pub fn modelled(argv: Vec<String>, demand: Demand) -> Self {
        Work::Command { argv, demand: Some(demand), invocation: Invocation::default() }
    }

    /// The kind, as it is spelled in JSON, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Work::Counter { .. } => "counter",
            Work::StreamReceive { .. } => "stream_receive",
            Work::StreamSend { .. } => "stream_send",
            Work::DatagramReceive { .. } => "datagram_receive",
            Work::DatagramSend { .. } => "datagram_send",
            Work::Echo { .. } => "echo",
            Work::Ping { .. } => "ping",
            Work::Primes { .. } => "primes",
            Work::PrimesShare { .. } => "primes_share",
            Work::Wake { .. } => "wake",
            Work::Orders { .. } => "orders",
            Work::Shop { .. } => "shop",
            Work::Command { .. } => "command",
            Work::Idle { .. } => "idle",
        }
    }
}
