//! Pings over loopback, both ends built-in work: by datagrams, over a connection, and to the kernel.
use powerband_machine::Finished;
use powerband_record::{Arrivals, Protocol, Work};

use crate::stream::free_port;
use crate::{Stage, cells, counted, job, number};

const RATE: f64 = 500.0;

pub(crate) fn ping(protocol: Protocol, port: u16, ms: u64) -> Work {
    Work::Ping {
        protocol,
        address: "127.0.0.1".into(),
        port,
        for_ns: ms * 1_000_000,
        rate_per_s: RATE,
        arrivals: Arrivals::Constant,
        seed: 1,
        size_bytes: 100,
    }
}

/// Every packet is sent and comes back, and the histogram holds each once.
fn is_whole(finished: &Finished) {
    assert_eq!(["sent", "received"].map(|key| number(finished, key)), [250.0; 2]);
    let (cells, mean) = (cells(finished), number(finished, "mean_ns"));
    // A loopback takes more than a microsecond.
    assert!(counted(finished) == 250 && cells[0].0 > 1_000, "{cells:?}");
    let of_cells = cells.iter().map(|&(ns, count)| ns as f64 * count as f64).sum::<f64>() / 250.0;
    assert!((mean / of_cells - 1.0).abs() < 0.002, "{mean} {of_cells}");
}

#[test]
fn an_echo_answers_every_packet_and_ends_with_its_caller() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let mut stage = Stage::new();
        let work = Work::Echo { protocol, address: "127.0.0.1".into(), port: 0 };
        let (echo, port) = stage.listening(&job(work));
        let pinger = stage.spawn(&job(ping(protocol, port, 500)));
        let [asked, answered] = stage.ends_of([pinger, echo]);
        is_whole(&asked);
        // A connection may bring several packets at once.
        let (count, is_tcp) = (number(&answered, "answered"), protocol == Protocol::Tcp);
        assert!(count == 250.0 || is_tcp && (1.0..250.0).contains(&count), "{count}");
    }
}

#[test]
fn the_kernel_answers_echo_requests() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut stage = Stage::new();
    is_whole(&stage.run(&job(ping(Protocol::Icmp, 0, 500))));
}

#[test]
fn a_ping_that_nobody_answers_says_so() {
    let mut stage = Stage::new();
    let finished = stage.run(&job(ping(Protocol::Tcp, free_port(), 100)));
    assert!(!finished.status.success(), "{finished:?}");
    assert!(finished.output.stderr.contains("127.0.0.1"), "{finished:?}");
}
