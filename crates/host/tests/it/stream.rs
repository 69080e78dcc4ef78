//! One bulk stream over loopback, both ends built-in work.
use powerband_machine::{Wake, World};
use powerband_record::{Side, Work};

use crate::{Stage, job};

pub(crate) fn receive() -> Work {
    Work::StreamReceive { address: "127.0.0.1".into(), port: 0 }
}

pub(crate) fn send(port: u16, ms: u64) -> Work {
    Work::StreamSend {
        address: "127.0.0.1".into(),
        port,
        for_ns: ms * 1_000_000,
        rtt_exchanges: 20,
        window_bytes: None,
        segment_bytes: None,
        write_bytes: None,
    }
}

#[test]
fn both_ends_agree_on_what_was_moved() {
    agrees([None, None, None]);
}

#[test]
fn a_small_window_moves_the_same_things() {
    agrees([Some(256 << 10), None, None]);
}

#[test]
fn small_segments_move_the_same_things() {
    agrees([None, Some(512), None]);
}

#[test]
fn small_writes_move_the_same_things() {
    agrees([None, None, Some(512)]);
}

/// Of an asked window, segment and write.
fn agrees([window, segment, write]: [Option<u32>; 3]) {
    let mut stage = Stage::new();
    let receiver = stage.near().spawn(&job(receive())).unwrap();
    let Wake::Said(Side::Near, from, said) = stage.world.wait(None) else { panic!("it says when it is ready") };
    assert_eq!(from, receiver);
    let port = u16::try_from(said["ready"]["port"].as_u64().unwrap()).unwrap();
    let mut work = send(port, 500);
    if let Work::StreamSend { window_bytes, segment_bytes, write_bytes, .. } = &mut work {
        (*window_bytes, *segment_bytes, *write_bytes) = (window.map(u64::from), segment, write);
    }
    let sender = stage.near().spawn(&job(work)).unwrap();
    let mut ended = Vec::new();
    while ended.len() < 2 {
        match stage.world.wait(None) {
            Wake::Ended(Side::Near, process) => ended.push(process),
            other => panic!("{other:?}"),
        }
    }
    let mut report = |process| {
        let finished = stage.near().finished(process).unwrap();
        assert!(finished.status.success(), "{finished:?}");
        finished.report.unwrap()
    };
    let (received, sent) = (report(receiver), report(sender));
    assert_eq!(received["bytes"], sent["bytes"]);
    assert!(received["bytes"].as_u64().unwrap() > 10_000_000, "{received}");
    let seconds = |report: &serde_json::Value| report["seconds"].as_f64().unwrap();
    assert!(seconds(&sent) >= 0.5 && seconds(&received) <= seconds(&sent), "{sent} {received}");
    assert!(sent["rtt_ms"].as_f64().unwrap() > 0.0 && sent["retransmits"].as_u64().is_some(), "{sent}");
    for report in [&sent, &received] {
        assert!((0.0..=seconds(&sent) + 0.1).contains(&report["cpu_seconds"].as_f64().unwrap()), "{report}");
    }
}

#[test]
fn a_sender_without_a_receiver_fails_in_words() {
    let mut stage = Stage::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let finished = stage.run(&job(send(free, 100)));
    assert!(!finished.status.success() && finished.report.is_none());
    assert!(finished.output.stderr.contains("cannot connect"), "{}", finished.output.stderr);
}
