//! Pings over loopback, both ends built-in work: by datagrams, over a connection, and to the kernel.
use powerband_machine::{Finished, ProcessId, Wake, World};
use powerband_record::{Arrivals, Protocol, Side, Work};

use crate::{Stage, job};

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

fn ended(stage: &mut Stage, process: ProcessId) -> Finished {
    loop {
        match stage.world.wait(None) {
            Wake::Ended(Side::Near, id) if id == process => return stage.near().finished(id).unwrap(),
            Wake::Ended(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Every packet is sent and comes back, and the histogram holds each once.
fn is_whole(finished: &Finished) {
    assert!(finished.status.success(), "{finished:?}");
    let report = finished.report.as_ref().unwrap();
    assert_eq!((&report["sent"], &report["received"]), (&250.into(), &250.into()), "{report}");
    let cells: Vec<(u64, u64)> = serde_json::from_value(report["histogram"].clone()).unwrap();
    assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), 250);
    assert!(cells.is_sorted() && cells[0].0 > 1_000, "a loopback takes more than a microsecond: {cells:?}");
    let (mean, max) = (report["mean_ns"].as_f64().unwrap(), report["max_ns"].as_f64().unwrap());
    let of_cells = cells.iter().map(|&(ns, count)| ns as f64 * count as f64).sum::<f64>() / 250.0;
    assert!((mean / of_cells - 1.0).abs() < 0.002 && mean <= max, "{report}");
}

#[test]
fn an_echo_answers_every_packet_and_ends_with_its_caller() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let mut stage = Stage::new();
        let work = Work::Echo { protocol, address: "127.0.0.1".into(), port: 0 };
        let echo = stage.near().spawn(&job(work)).unwrap();
        let Wake::Said(Side::Near, from, said) = stage.world.wait(None) else { panic!("it says when it is ready") };
        assert_eq!(from, echo);
        let port = u16::try_from(said["ready"]["port"].as_u64().unwrap()).unwrap();
        let pinger = stage.near().spawn(&job(ping(protocol, port, 500))).unwrap();
        let (mut asked, mut answered) = (None, None);
        while asked.is_none() || answered.is_none() {
            match stage.world.wait(None) {
                Wake::Ended(Side::Near, id) if id == pinger => asked = stage.near().finished(id),
                Wake::Ended(Side::Near, id) if id == echo => answered = stage.near().finished(id),
                other => panic!("{other:?}"),
            }
        }
        is_whole(&asked.unwrap());
        let answered = answered.unwrap();
        assert!(answered.status.success(), "{answered:?}");
        // A connection may bring several packets at once.
        let count = answered.report.unwrap()["answered"].as_u64().unwrap();
        assert!(count == 250 || protocol == Protocol::Tcp && (1..250).contains(&count), "{count}");
    }
}

#[test]
fn the_kernel_answers_echo_requests() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut stage = Stage::new();
    let pinger = stage.near().spawn(&job(ping(Protocol::Icmp, 0, 500))).unwrap();
    is_whole(&ended(&mut stage, pinger));
}

#[test]
fn a_ping_that_nobody_answers_says_so() {
    let mut stage = Stage::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let finished = stage.run(&job(ping(Protocol::Tcp, free, 100)));
    assert!(!finished.status.success(), "{finished:?}");
    assert!(finished.output.stderr.contains("cannot reach 127.0.0.1"), "{}", finished.output.stderr);
}
