//! What loads promise, where their parts run, what they come to, and how plans spell them: lines of `tests/loads.txt`, and
//! what becomes of each in the snapshot.
use std::fmt::Write as _;

use powerband_machine::Finished;
use powerband_record::{ExitStatus, Output, Side, Usage, Work};

use super::*;
use crate::RigEnds;

/// Parts that ended as `reports` has it: by the beginning of their names, `*` for all others.
fn finishes(load: &Load, reports: &[&str]) -> Finishes {
    let rig = RigEnds { near: "near".into(), far: Some("far".into()) };
    let ended = |name: &'static str| {
        let fits = |start: &str| start == "*" || name.starts_with(start);
        let (_, rest) = reports.iter().filter_map(|it| it.split_once(' ')).find(|(start, _)| fits(start))?;
        let failed = rest.strip_prefix("exit ").and_then(|it| it.split_once(' '));
        let (code, stderr) = failed.map_or((0, ""), |(code, words)| (code.parse().unwrap(), words));
        let usage = Usage { real_ns: 1_500_000_000, user_ns: 5_000_000_000, sys_ns: 20_000_000, peak_rss_kib: 0 };
        let output = Output { stdout: String::new(), stderr: stderr.replace("\\n", "\n"), cut: false };
        let report = failed.is_none().then(|| serde_json::from_str(rest).unwrap());
        Some((name, Finished { status: ExitStatus::Code(code), usage, report, output, around: Vec::new() }))
    };
    load.parts(&rig).iter().filter_map(|part| ended(part.name)).collect()
}

/// The parts a load has on a rig; of each side that has any, one is metered.
fn parts(load: &Load, rig: &RigEnds) -> String {
    let parts = load.parts(rig);
    for side in [Side::Near, Side::Far] {
        let here = parts.iter().filter(|part| part.side == side).count();
        let metered = parts.iter().filter(|part| part.side == side && part.metered).count();
        assert_eq!(metered, here.min(1), "{} on the {side} machine", load.kind());
    }
    let part = |part: &crate::LoadPart| {
        let command = if let Work::Command { argv, invocation, .. } = &part.work {
            let env = invocation.env.iter().map(|(name, value)| format!("{name}={value} "));
            env.collect::<String>() + &argv.join(" ")
        } else {
            String::new()
        };
        let after = part.after.map_or(String::new(), |name| format!(" after {name}"));
        let metered = if part.metered { " metered" } else { "" };
        let cpus = part.cpus.as_ref().map_or(String::new(), |cpus| format!(" on {cpus}"));
        format!("{}/{}{after}{metered}{cpus} {command}", part.side, part.name).trim_end().to_owned()
    };
    parts.iter().map(part).collect::<Vec<_>>().join("; ")
}

fn concluded(all: &mut String, load: &Load, finishes: &Finishes) {
    match load.conclude(finishes) {
        Ok(it) => {
            let comes = |metric: &powerband_record::Metric| it.values.contains_key(&metric.name);
            assert!(load.metrics().iter().all(comes), "every promised metric comes: {it:?}");
            it.values.iter().for_each(|(name, value)| writeln!(all, "    {name} = {value:.6}").unwrap());
            let counts = load.histograms(finishes).into_iter();
            counts.for_each(|(name, counts)| writeln!(all, "    {name}: {} in the histogram", counts.len()).unwrap());
        }
        Err(void) => writeln!(all, "    void: {void:?}").unwrap(),
    }
}

#[test]
fn loads_are_spelled_placed_and_concluded() {
    let rigs = [None, Some("far".to_owned())].map(|far| RigEnds { near: "near".into(), far });
    let mut all = String::new();
    for line in include_str!("tests/loads.txt").lines().filter(|line| !line.starts_with('#')) {
        writeln!(all, "{line}").unwrap();
        let mut words = line.split(" | ");
        let load = match serde_json::from_str::<Load>(words.next().unwrap()) {
            Ok(load) => load,
            Err(error) => {
                writeln!(all, "    unreadable: {error}").unwrap();
                continue;
            }
        };
        if let Err(error) = load.check() {
            writeln!(all, "    refused: {error}").unwrap();
            continue;
        }
        let spelled = serde_json::to_string(&load).unwrap();
        assert_eq!(serde_json::from_str::<Load>(&spelled).unwrap(), load, "{spelled}");
        let reports: Vec<&str> = words.collect();
        if reports.is_empty() {
            writeln!(all, "    {spelled}\n    {}", load.describe()).unwrap();
            writeln!(all, "    {:?} of {:?} ns", load.measured_ns(), load.length_ns()).unwrap();
            let [alone, pair] = rigs.each_ref().map(|rig| parts(&load, rig));
            writeln!(all, "    alone: {alone}\n    pair: {pair}").unwrap();
        } else {
            concluded(&mut all, &load, &finishes(&load, &reports));
        }
    }
    insta::assert_snapshot!("loads", all);
}

#[test]
fn built_in_loads_are_named_as_plans_spell_them() {
    for name in BUILT_IN {
        assert_eq!(Load::builtin(name, None).unwrap().kind(), name);
        match Load::builtin(name, Some(123_456_789_012)) {
            Ok(load) => assert_eq!(load.measured_ns(), Some(123_456_789_012)),
            Err(error) => assert_eq!((name, error), ("primes", LoadError::OwnEnd("primes"))),
        }
    }
    assert_eq!(Load::builtin("dance", None), Err(LoadError::Unknown { name: "dance".into() }));
    assert_eq!(Load::builtin("counter", Some(0)), Err(LoadError::NoTime("counter")));
}

#[test]
fn who_counts_beside_waking_outlasts_it() {
    let busy: Load = serde_json::from_value(json!({ "kind": "wake", "for": "2s", "busy": true, "pin": "2" })).unwrap();
    let parts = busy.parts(&RigEnds { near: "near".into(), far: None });
    assert!(matches!(parts[0].work, Work::Counter { for_ns, .. } if for_ns > 2_000_000_000));
}

#[test]
fn every_error_has_words() {
    let errors = [
        LoadError::Unknown { name: "dance".into() },
        LoadError::NoTime("counter"),
        LoadError::OwnEnd("primes"),
        LoadError::Mistake { kind: "ping", why: "its rate must be more", example: "rate = 200" },
        LoadError::PortAlone,
        LoadError::Empty,
        LoadError::TwoCommands,
        LoadError::Repeated,
        LoadError::Command("no closing quote".into()),
        LoadError::Variant("no batch".into()),
    ];
    insta::assert_snapshot!("errors", errors.map(|error| error.to_string()).join("\n"));
}
