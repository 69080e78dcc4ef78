//! What loads promise, where their parts run, what they come to, and how plans spell them.
use powerband_machine::Finished;
use powerband_record::{ExitStatus, Output, Side, Usage, Work};
use serde_json::json;

use super::*;
use crate::RigEnds;

fn finished(report: serde_json::Value, status: ExitStatus, stderr: &str) -> Finished {
    let output = Output { stdout: String::new(), stderr: stderr.into(), cut: false };
    let usage = Usage { real_ns: 1_500_000_000, ..Usage::default() };
    Finished { status, usage, report: Some(report), output, around: Vec::new() }
}

#[test]
fn a_stream_gives_nuttcps_columns() {
    let load = Load::builtin("stream", None).unwrap();
    let finishes: Finishes = [
        (
            "receive",
            finished(json!({"bytes": 62_500_000, "seconds": 10.0, "cpu_seconds": 2.4}), ExitStatus::Code(0), ""),
        ),
        (
            "send",
            finished(
                json!({"bytes": 62_500_000, "seconds": 10.0, "cpu_seconds": 0.7, "retransmits": 3, "rtt_ms": 1.6}),
                ExitStatus::Code(0),
                "",
            ),
        ),
    ]
    .into();
    let metrics = load.conclude(&finishes).unwrap().values;
    assert_eq!(metrics["rate_mbit_s"], 50.0);
    assert!((metrics["rx_percent"] - 24.0).abs() < 1e-9 && (metrics["tx_percent"] - 7.0).abs() < 1e-9);
    assert_eq!((metrics["retransmits"], metrics["rtt_ms"]), (3.0, 1.6));
    assert!(load.metrics().iter().all(|metric| metrics.contains_key(&metric.name)), "every promised metric comes");
}

#[test]
fn both_ends_of_a_stream_on_one_machine_when_there_is_no_far_one() {
    let stream = StreamLoad::default();
    let alone = RigEnds { near: "127.0.0.1".into(), far: None };
    assert!(stream.parts(&alone).iter().all(|part| part.side == Side::Near));
    let pair = RigEnds { near: "near".into(), far: Some("far".into()) };
    let sides: Vec<_> = stream.parts(&pair).iter().map(|part| (part.name, part.side)).collect();
    assert_eq!(sides, [("receive", Side::Near), ("send", Side::Far)]);
}

#[test]
fn meters_are_read_around_one_part_of_each_side_that_has_any() {
    let mut loads: Vec<Load> = BUILT_IN.map(|name| Load::builtin(name, None).unwrap()).into();
    loads.push(Load::Stream(StreamLoad { direction: crate::Direction::NearToFar, ..StreamLoad::default() }));
    loads.push(Load::Command(CommandLoad::default()));
    loads.push(Load::Command(CommandLoad { far_command: vec!["iperf3".into()], ..CommandLoad::default() }));
    for far in [None, Some("far".to_owned())] {
        let rig = RigEnds { near: "near".into(), far };
        for load in &loads {
            let parts = load.parts(&rig);
            for side in [Side::Near, Side::Far] {
                let here: Vec<_> = parts.iter().filter(|part| part.side == side).collect();
                let metered = here.iter().filter(|part| part.metered).count();
                assert_eq!(metered, here.len().min(1), "{} on the {side} machine", load.kind());
            }
        }
    }
}

#[test]
fn a_command_knows_where_its_far_end_is() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let load = Load::Command(CommandLoad {
        argv: words("iperf3 -c {far}"),
        far_command: words("iperf3 -s -B {far}"),
        ..CommandLoad::default()
    });
    let argv = |far: Option<&str>| {
        let rig = RigEnds { near: "10.0.0.1".into(), far: far.map(str::to_owned) };
        let parts = load.parts(&rig).into_iter();
        let told = parts.map(|part| match part.work {
            Work::Command { argv, .. } => (part.side, argv.join(" "), part.after),
            other => panic!("{other:?}"),
        });
        told.collect::<Vec<_>>()
    };
    let far = (Side::Far, "iperf3 -s -B 10.0.0.2".to_owned(), None);
    assert_eq!(argv(Some("10.0.0.2")), [far, (Side::Near, "iperf3 -c 10.0.0.2".into(), Some("far"))]);
    let here = (Side::Near, "iperf3 -s -B 10.0.0.1".to_owned(), None);
    assert_eq!(argv(None), [here, (Side::Near, "iperf3 -c 10.0.0.1".into(), Some("far"))]);
    let alone = CommandLoad { argv: words("true"), far_port: Some(5201), ..CommandLoad::default() };
    assert_eq!(Load::Command(alone).check(), Err(LoadError::PortAlone));
}

#[test]
fn failures_are_one_sentence() {
    let load = Load::Command(CommandLoad { argv: vec!["false".into()], ..CommandLoad::default() });
    let finishes: Finishes = [("load", finished(json!(null), ExitStatus::Code(3), "warming\nout of cheese\n"))].into();
    let Err(Void::LoadFailed { why }) = load.conclude(&finishes) else { panic!("a failing command is a failing load") };
    assert_eq!(why, "the load 'false' ended with exit status 3: out of cheese");
    let long = Load::Command(CommandLoad { argv: vec!["x".repeat(300)], ..CommandLoad::default() });
    let Err(Void::LoadFailed { why }) = long.conclude(&finishes) else { panic!("a failing command is a failing load") };
    assert!(why.len() < 120 && why.ends_with("…' ended with exit status 3: out of cheese"), "{why}");
    let tolerant =
        Load::Command(CommandLoad { argv: vec!["false".into()], ignore_failure: true, ..CommandLoad::default() });
    assert_eq!(tolerant.conclude(&finishes).unwrap().values["real_s"], 1.5);
}

#[test]
fn plans_spell_loads_and_unknown_words_are_refused() {
    let load: Load =
        serde_json::from_value(json!({"kind": "counter", "for": "5s", "align_to_second": true, "pin": "1"})).unwrap();
    assert_eq!(load.measured_ns(), Some(5_000_000_000));
    // It may wait for the next second first.
    assert_eq!(load.length_ns(), Some(6_000_000_000));
    assert_eq!(serde_json::from_value::<Load>(serde_json::to_value(&load).unwrap()).unwrap(), load);
    assert!(serde_json::from_value::<Load>(json!({"kind": "counter", "fro": "5s"})).is_err());
    assert!(serde_json::from_value::<Load>(json!({"kind": "dance"})).is_err());
    assert!(Load::builtin("counter", Some(0)).is_err());
}

#[test]
fn built_in_loads_are_named_as_plans_spell_them() {
    for name in BUILT_IN {
        let load = Load::builtin(name, None).unwrap();
        assert_eq!((load.kind(), &serde_json::to_value(&load).unwrap()["kind"]), (name, &json!(name)));
        match Load::builtin(name, Some(123_456_789_012)) {
            Ok(load) => assert_eq!(load.measured_ns(), Some(123_456_789_012)),
            Err(error) => assert_eq!((name, error), ("primes", LoadError::OwnEnd("primes"))),
        }
    }
    assert_eq!(
        Load::builtin("dance", None).unwrap_err().to_string(),
        "there is no load 'dance'; there are: counter, stream, ping, wake, primes, orders, ladder, shop, idle, or any command behind --"
    );
    let mistaken = Load::Ping(PingLoad { rate_per_s: 0.0, ..PingLoad::default() });
    let why = "ping: its rate must be 0.1 to 100000 packets a second; write e.g. rate = 200, size = 64";
    assert_eq!(mistaken.check().unwrap_err().to_string(), why);
}
