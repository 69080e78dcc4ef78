//! One bulk stream over loopback, both ends built-in work.
use powerband_record::Work;

use crate::{Stage, job, number};

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

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn both_ends_agree_on_what_was_moved_whatever_window_segment_and_write_are_asked_for() {
    for asked in [[None; 3], [Some(256 << 10), None, None], [None, Some(512), None], [None, None, Some(512)]] {
        agrees(asked);
    }
}

fn agrees([window, segment, write]: [Option<u32>; 3]) {
    let mut stage = Stage::new();
    let (receiver, port) = stage.listening(&job(receive()));
    let mut work = send(port, 300);
    if let Work::StreamSend { window_bytes, segment_bytes, write_bytes, .. } = &mut work {
        (*window_bytes, *segment_bytes, *write_bytes) = (window.map(u64::from), segment, write);
    }
    let sender = stage.spawn(&job(work));
    let [received, sent] = stage.ends_of([receiver, sender]);
    let bytes = [&received, &sent].map(|end| number(end, "bytes"));
    assert!(bytes[0] == bytes[1] && bytes[0] > 100_000.0, "{bytes:?}");
    let seconds = number(&sent, "seconds");
    assert!(seconds >= 0.3 && number(&received, "seconds") <= seconds, "{sent:?} {received:?}");
    assert!(number(&sent, "rtt_ms") > 0.0 && number(&sent, "retransmits") >= 0.0);
    for end in [&sent, &received] {
        assert!((0.0..=seconds + 0.1).contains(&number(end, "cpu_seconds")), "{end:?}");
    }
}

#[test]
fn a_sender_without_a_receiver_fails_in_words() {
    let mut stage = Stage::new();
    let finished = stage.run(&job(send(free_port(), 100)));
    assert!(!finished.status.success() && finished.report.is_none());
    assert!(finished.output.stderr.contains("cannot connect"), "{finished:?}");
}
