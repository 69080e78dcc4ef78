//! What is read around a load: before, meanwhile and after, by the machine that runs it.
use powerband_machine::{Errno, Handle, Job, Sample, Sampling, SpawnError, World};
use powerband_record::{Protocol, Work};

use crate::pinging::ping;
use crate::stream::{receive, send};
use crate::{Stage, command, job, sh};

/// Read a hundred times a second.
fn often_read(handles: Vec<Handle>) -> Sampling {
    Sampling { handles, period_ns: Some(10_000_000) }
}

#[test]
fn open_files_are_read_before_during_and_after_a_load() {
    let mut stage = Stage::new();
    let uptime = stage.near().open("/proc/uptime").unwrap();
    let gone = stage.near().open("/proc/self/stat").unwrap();
    let note = stage.folder.path().join("note");
    std::fs::write(&note, "before").unwrap();
    let noted = stage.near().open(note.to_str().unwrap()).unwrap();
    stage.near().close(gone);
    let often = often_read(vec![uptime, gone]);
    let twice = Sampling { handles: vec![noted], period_ns: None };
    let began = stage.world.now_ns();
    let script = format!("printf 'during' > {0}; sleep 0.5; printf 'after!' > {0}", note.display());
    let finished = stage.run(&Job { around: vec![often, twice], ..sh(&script) });
    let ended = stage.world.now_ns();
    let [often, twice] = finished.around.as_slice() else { panic!("{:?}", finished.around) };
    let texts: Vec<_> = twice.iter().map(|sample| sample.texts[0].as_deref().unwrap()).collect();
    assert_eq!(texts, ["before", "after!"]);

    let most = (ended - began) / 10_000_000 + 3;
    assert!((4..=most).contains(&(often.len() as u64)), "{} samples", often.len());
    assert!(often.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
    let (first, last) = (&often[0], &often[often.len() - 1]);
    assert!(first.at_ns > began && last.at_ns < ended);
    assert!(last.at_ns - first.at_ns >= finished.usage.real_ns);
    // It is read anew each time.
    let uptime = |sample: &Sample| -> f64 {
        let text = sample.texts[0].as_ref().unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    assert!(uptime(last) - uptime(first) > 0.2 && first.texts[1].is_err());
    assert!(stage.sh("true").around.is_empty());
}

#[test]
fn a_load_that_cannot_be_executed_is_refused_though_something_was_to_be_read() {
    let mut stage = Stage::new();
    let uptime = stage.near().open("/proc/uptime").unwrap();
    let around = vec![often_read(vec![uptime])];
    let refused = stage.near().spawn(&Job { around, ..command(&["/no/such"]) }).unwrap_err();
    assert_eq!(refused, SpawnError::NotFound("/no/such".into()));
    let until = stage.world_ms(50);
    stage.idle_until(until);
}

#[test]
fn a_stretch_begins_when_what_a_receiver_waits_for_has_come() {
    let mut stage = Stage::new();
    let uptime = stage.near().open("/proc/uptime").unwrap();
    let echo = |protocol| Work::Echo { protocol, address: "127.0.0.1".into(), port: 0 };
    for protocol in [None, Some(Protocol::Udp), Some(Protocol::Tcp)] {
        let around = vec![often_read(vec![uptime])];
        let waits = protocol.map_or_else(receive, echo);
        let (process, port) = stage.listening(&Job { around, ..job(waits) });
        // The other end is slow to come. What was read while it waited does not count.
        let until = stage.world_ms(200);
        stage.idle_until(until);
        let came = stage.world.now_ns();
        let comes = protocol.map_or_else(|| send(port, 400), |protocol| ping(protocol, port, 400));
        let sender = stage.spawn(&job(comes));
        let [received, _] = stage.ends_of([process, sender]);
        let samples = &received.around[0];
        assert!(samples[0].at_ns >= came && samples.len() > 3, "{came}, {samples:?}");
        assert!(received.usage.real_ns > 500_000_000);
    }
}

#[test]
fn a_file_that_vanishes_meanwhile_is_an_error_and_no_number() {
    let Some(mut stage) = Stage::of_root() else { return };
    let [here, there] = ["pbv", "pbw"].map(|name| format!("{name}{}", std::process::id()));
    let script = format!("ip link add {here} type veth peer name {there}");
    assert!(stage.sh(&script).status.success());
    let number = stage.near().open(&format!("/sys/class/net/{here}/ifindex")).unwrap();
    let around = vec![Sampling { handles: vec![number], period_ns: None }];
    let finished = stage.run(&Job { around, ..sh(&format!("ip link del {here}")) });
    assert!(finished.status.success(), "{finished:?}");
    let texts: Vec<_> = finished.around[0].iter().map(|sample| &sample.texts[0]).collect();
    assert!(matches!(texts[..], [Ok(_), Err(Errno::ENODEV)]), "{texts:?}");
}
