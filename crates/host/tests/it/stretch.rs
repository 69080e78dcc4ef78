//! What is read around a load: before, meanwhile and after, by the machine that runs it.
use powerband_machine::{Errno, Job, Sample, Sampling, Wake, World};
use powerband_record::{Protocol, Side, Work};

use crate::pinging::ping;
use crate::stream::{receive, send};
use crate::{Stage, can_be_root, command, job, sh};

#[test]
fn open_files_are_read_before_during_and_after_a_load() {
    let mut stage = Stage::new();
    let uptime = stage.near().open("/proc/uptime").unwrap();
    let gone = stage.near().open("/proc/self/stat").unwrap();
    let note = stage.folder.path().join("note");
    std::fs::write(&note, "before").unwrap();
    let noted = stage.near().open(note.to_str().unwrap()).unwrap();
    stage.near().close(gone);
    let often = Sampling { handles: vec![uptime, gone], period_ns: Some(10_000_000) };
    let twice = Sampling { handles: vec![noted], period_ns: None };
    let began = stage.world.now_ns();
    let script = format!("printf 'during' > {0}; sleep 0.5; printf 'after!' > {0}", note.display());
    let finished = stage.run(&Job { around: vec![often, twice], ..sh(&script) });
    let ended = stage.world.now_ns();
    let [often, twice] = finished.around.as_slice() else { panic!("{:?}", finished.around) };
    let texts: Vec<_> = twice.iter().map(|sample| sample.texts[0].as_deref().unwrap()).collect();
    assert_eq!(texts, ["before", "after!"]);

    let most = (ended - began) / 10_000_000 + 3;
    assert!(often.len() >= 10 && often.len() as u64 <= most, "{} samples", often.len());
    assert!(often.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
    let span = often.last().unwrap().at_ns - often[0].at_ns;
    assert!(span >= finished.usage.real_ns && often[0].at_ns > began && often.last().unwrap().at_ns < ended);
    let uptime =
        |sample: &Sample| -> f64 { sample.texts[0].as_ref().unwrap().split(' ').next().unwrap().parse().unwrap() };
    assert!(uptime(often.last().unwrap()) - uptime(&often[0]) > 0.2, "read anew each time");
    assert!(often[0].texts[1].is_err());
    assert!(stage.sh("true").around.is_empty(), "nothing is read around a job that does not ask for it");
}

#[test]
fn a_load_that_cannot_be_executed_is_refused_though_something_was_to_be_read() {
    let mut stage = Stage::new();
    let uptime = stage.near().open("/proc/uptime").unwrap();
    let around = vec![Sampling { handles: vec![uptime], period_ns: Some(10_000_000) }];
    let refused = stage.near().spawn(&Job { around, ..command(&["/no/such"]) }).unwrap_err();
    assert!(refused.to_string().contains("/no/such"), "{refused}");
    let until = stage.world_ms(50);
    stage.idle_until(until);
}

#[test]
fn a_stretch_begins_when_what_a_receiver_waits_for_has_come() {
    let mut stage = Stage::new();
    let uptime = stage.near().open("/proc/uptime").unwrap();
    let around = vec![Sampling { handles: vec![uptime], period_ns: Some(10_000_000) }];
    let echo = |protocol| Work::Echo { protocol, address: "127.0.0.1".into(), port: 0 };
    for (waits, comes) in [
        (receive(), send(0, 1_000)),
        (echo(Protocol::Udp), ping(Protocol::Udp, 0, 1_000)),
        (echo(Protocol::Tcp), ping(Protocol::Tcp, 0, 1_000)),
    ] {
        let process = stage.near().spawn(&Job { around: around.clone(), ..job(waits) }).unwrap();
        let Wake::Said(Side::Near, said_by, said) = stage.world.wait(None) else { panic!("it is ready first") };
        assert_eq!(said_by, process);
        // The other end is slow to come.
        let until = stage.world_ms(700);
        stage.idle_until(until);
        let came = stage.world.now_ns();
        let mut comes = comes;
        if let Work::StreamSend { port, .. } | Work::Ping { port, .. } = &mut comes {
            *port = u16::try_from(said["ready"]["port"].as_u64().unwrap()).unwrap();
        }
        let sender = stage.near().spawn(&job(comes)).unwrap();
        let mut ended = Vec::new();
        while ended.len() < 2 {
            match stage.world.wait(None) {
                Wake::Ended(_, process) => ended.push(process),
                other => panic!("nothing else is told: {other:?}"),
            }
        }
        let received = stage.near().finished(process).unwrap();
        assert!(received.status.success() && stage.near().finished(sender).unwrap().status.success());
        let samples = &received.around[0];
        assert!(samples[0].at_ns >= came, "what was read while it waited does not count: {came}, {samples:?}");
        assert!(samples.len() > 3, "{samples:?}");
        assert!(received.usage.real_ns > 900_000_000, "though it ran for all that time");
    }
}

#[test]
fn a_file_that_vanishes_meanwhile_is_an_error_and_no_number() {
    if !can_be_root() {
        return;
    }
    let mut stage = Stage::new();
    let (here, there) = (format!("pbv{}", std::process::id()), format!("pbw{}", std::process::id()));
    assert!(stage.sh(&format!("ip link add {here} type veth peer name {there}")).status.success());
    let number = stage.near().open(&format!("/sys/class/net/{here}/ifindex")).unwrap();
    let around = vec![Sampling { handles: vec![number], period_ns: None }];
    let finished = stage.run(&Job { around, ..sh(&format!("ip link del {here}")) });
    assert!(finished.status.success(), "{finished:?}");
    let texts: Vec<_> = finished.around[0].iter().map(|sample| sample.texts[0].clone()).collect();
    assert!(texts[0].is_ok());
    assert_eq!(texts[1], Err(Errno::ENODEV));
}
