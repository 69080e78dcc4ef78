//! Metrics as users write them, lines of `tests/metrics.txt`, and numbers picked out of output: both in the snapshot.
use std::fmt::Write as _;

use powerband_record::Matches;

use super::*;

mod generated;

fn output(stdout: &str) -> Output {
    Output { stdout: stdout.into(), stderr: String::new(), cut: false }
}

#[test]
fn metrics_are_read_and_picked_or_refused() {
    assert!(matches!(MetricSpec::parse(""), Err(PickError::Form(_))));
    let mut all = String::new();
    for line in include_str!("tests/metrics.txt").lines().filter(|line| !line.starts_with('#')) {
        let (spec, text) = line.split_once(" | ").map_or((line, None), |(spec, text)| (spec, Some(text)));
        writeln!(all, "{line}").unwrap();
        let spec = match MetricSpec::parse(spec) {
            Ok(spec) => spec,
            Err(error) => {
                let text = format!("{error:?}");
                writeln!(all, "    {}: {error}", text.split([' ', '(', '{']).next().unwrap()).unwrap();
                continue;
            }
        };
        let Metric { name, better, judged, .. } = &spec.metric;
        let source = match &spec.source {
            Source::Measured(name) => format!("measured {name}"),
            Source::Ratio(over, under) => format!("ratio of {over} to {under}"),
            Source::Pattern(pattern, take) => format!("pattern {pattern}, {take:?}"),
            Source::Path(path, take) => format!("path {path}, {take:?}"),
        };
        writeln!(all, "    {name} {better:?} judged {judged}, direction {:?}: {source}", spec.direction).unwrap();
        text.into_iter().for_each(|text| {
            let picked = spec.pick(&output(&text.replace("\\n", "\n")), &mut NumberStyles::default());
            writeln!(all, "    {:?}", picked.map(|picked| picked.value)).unwrap();
        });
    }
    insta::assert_snapshot!("metrics", all);
}

/// Reads outputs in turn, as trials of one experiment.
fn trials(spec: &str, outputs: &[&str]) -> (Vec<Result<f64, String>>, Vec<String>) {
    let (spec, mut written) = (MetricSpec::parse(spec).unwrap(), NumberStyles::default());
    let values = outputs.iter().map(|text| spec.pick(&output(text), &mut written).map(|picked| picked.value));
    (values.collect(), written.notes())
}

#[test]
fn trials_are_read_right_or_not_at_all() {
    let mut all = String::new();
    for line in include_str!("tests/trials.txt").lines().filter(|line| !line.starts_with('#')) {
        let (spec, texts) = line.split_once(" | ").unwrap();
        let texts: Vec<String> =
            texts.split(" || ").map(|text| text.replace("\\n", "\n").replace("\\u{1b}", "\u{1b}")).collect();
        let (values, notes) = trials(spec, &texts.iter().map(String::as_str).collect::<Vec<_>>());
        writeln!(all, "{line}").unwrap();
        for value in values {
            match value {
                Ok(value) => writeln!(all, "    {value}").unwrap(),
                Err(why) => writeln!(all, "    void: {why}").unwrap(),
            }
        }
        notes.iter().for_each(|note| writeln!(all, "    note: {note}").unwrap());
    }
    insta::assert_snapshot!("trials", all);
}

#[test]
fn a_metric_is_read_from_one_stream() {
    let (spec, mut styles) = (MetricSpec::parse("t=regex:t=(\\d+)").unwrap(), NumberStyles::default());
    let mut pick = |stdout: &str, stderr: &str| {
        let output = Output { stdout: stdout.into(), stderr: stderr.into(), cut: false };
        spec.pick(&output, &mut styles).map(|picked| picked.value)
    };
    assert_eq!(pick("", "E warm t=500 ms"), Ok(0.5));
    assert!(pick("t=6 ms", "").is_err_and(|why| why.contains("standard error before")));
    assert_eq!(pick("t=6 ms", "E warm t=400 ms"), Ok(0.4));
}

#[test]
fn all_trials_of_an_experiment_are_read_alike() {
    let comma =
        trials("t=regex:time: ([0-9.,]+)", &["time: 1,125 s", "time: 0,980 s", "time: 1,125 s", "time: 0.9 s"]).0;
    assert!(comma[0].as_ref().is_err_and(|why| why.contains("1125 or 1.125")), "{comma:?}");
    assert_eq!((&comma[1], &comma[2]), (&Ok(0.98), &Ok(1.125)), "what its fraction looks like is known then");
    assert!(comma[3].is_err(), "it does not change");
    let (scaled, notes) =
        trials("t=regex:avg ([0-9.]+)", &["avg 980 us", "avg 1.5 ms", "avg 12", "avg 3 apples", "avg 0"]);
    assert!((scaled[0].as_ref().unwrap() - 980e-6).abs() < 1e-12 && scaled[1] == Ok(0.0015), "{scaled:?}");
    assert!(scaled[2].is_err() && scaled[3].is_err() && scaled[4] == Ok(0.0), "{scaled:?}");
    assert_eq!(notes, ["t is in s, the output has 'us'; a unit last in its name (p99_us) sets its unit"]);
    let (_, notes) = trials("t=regex:t ([0-9.]+)", &["t 12.3(5) us"]);
    assert_eq!(notes, ["t is in s, the output has 'us'; a unit last in its name (p99_us) sets its unit"]);
    let words = trials("n=regex:n=([0-9.]+)", &["n=1 apple", "n=3 apples", "n=3 Mpears"]).0;
    assert!(words[1] == Ok(3.0) && words[2].is_err(), "{words:?}");
    let heads = trials("t_us=regex:([0-9.]+)", &["avg_us=980", "avg (ms): 1.5", "avg 3 s"]).0;
    assert_eq!(heads, [Ok(980.0), Ok(1500.0), Ok(3e6)], "a unit may be ahead");
    let spelled = trials("n=regex:n=([0-9.]+) (?:ok|slow)", &["n=1 ok", "n=3 slow"]).0;
    assert_eq!(spelled, [Ok(1.0), Ok(3.0)], "words of the pattern are the user's");
}

#[test]
fn which_match_was_taken_is_told() {
    let pick = |spec: &str, text: &str| {
        MetricSpec::parse(spec).unwrap().pick(&output(text), &mut NumberStyles::default()).unwrap()
    };
    let progress = "[1 s] 5 ops\n[2 s] 6 ops\nall: 7.0 ops\n";
    let taken = |spec: &str| {
        let Picked { value, line, matches: Matches { count, first, last, taken }, .. } = pick(spec, progress);
        assert_eq!((count, first.as_str(), last.as_str()), (3, "5", "7.0"), "{spec}");
        (value, taken, line)
    };
    assert_eq!(taken("n=regex:([0-9.]+) ops"), (7.0, TakenMatch::Last, "all: 7.0 ops".into()));
    assert_eq!(taken("n=regex-first:([0-9.]+) ops"), (5.0, TakenMatch::First, "[1 s] 5 ops".into()));
    assert_eq!(taken("n=regex-sum:([0-9.]+) ops").0, 18.0);
    let node = pick("n=json-max:$.r[*].t", "{\"r\": [{\"t\": 3}, {\"t\": 2}]}");
    assert_eq!((node.value, node.line.as_str(), node.matches.count), (3.0, "$['r'][1]['t']: 2", 2));
    let unit = |spec: &str| pick(spec, "took 1.5 ms").unit;
    assert_eq!((unit("t=regex:took (\\S+)"), unit("t_us=regex:took (\\S+)")), ("s".to_owned(), "us".to_owned()));
}

#[test]
fn a_direction_is_stated_known_from_the_name_or_guessed() {
    let direction = |spec: &str| {
        let spec = MetricSpec::parse(spec).unwrap();
        (spec.metric.better, spec.direction, spec.direction_note().is_some())
    };
    assert_eq!(direction("x=regex:(1):higher"), (Better::Higher, DirectionSource::Stated, false));
    assert_eq!(direction("fps=regex:(1)"), (Better::Higher, DirectionSource::Name, false));
    assert_eq!(direction("x=regex:(1)"), (Better::Lower, DirectionSource::Guessed, true));
    assert_eq!(direction("x=regex:(1):info"), (Better::Lower, DirectionSource::Guessed, false), "it decides nothing");
}

#[test]
fn a_cut_output_has_no_last_match() {
    let cut = Output { cut: true, ..output("[1 s] 5 ops\n[2 s] 6 ops") };
    let pick =
        |spec: &str| MetricSpec::parse(spec).unwrap().pick(&cut, &mut NumberStyles::default()).map(|it| it.value);
    assert!(pick("n=regex:(\\d+) ops").is_err() && pick("n=json:$.x").is_err());
    assert_eq!(pick("n=regex-first:(\\d+) ops"), Ok(5.0));
}

/// Units as printed, with what one of them is in the base of the metric's name.
fn units() -> Vec<(&'static str, &'static str, f64)> {
    let unit = |line: &'static str| {
        let [name, unit, factor] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        (name, unit, factor.parse().unwrap())
    };
    include_str!("tests/units.txt").lines().map(unit).collect()
}

/// Digits in groups of three.
fn grouped(digits: &str, separator: &str) -> String {
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(separator)
}

/// A number with a fraction as one of the ways of writing it has it, and its value.
fn written_number(draw: &mut dyn FnMut(usize) -> usize) -> (String, f64) {
    let digits = ["0", "7", "42", "980", "1234", "50817", "1234567", "98765432"][draw(8)];
    let fraction = ["", "5", "05", "980", "1250", "000001"][draw(6)];
    let value: f64 = format!("{digits}.{fraction}0").parse().unwrap();
    let joined =
        |whole: String, mark: &str| if fraction.is_empty() { whole } else { format!("{whole}{mark}{fraction}") };
    let (text, times) = match draw(10) {
        0 | 1 => (joined(digits.into(), "."), 1.0),
        2 => (joined(digits.into(), ","), 1.0),
        3 => (joined(grouped(digits, ","), "."), 1.0),
        4 => (joined(grouped(digits, "."), ","), 1.0),
        5 => (joined(grouped(digits, "'"), "."), 1.0),
        6 => (joined(grouped(digits, "\u{202f}"), ","), 1.0),
        7 => (joined(grouped(digits, " "), ","), 1.0),
        8 => (format!("{}e3", joined(digits.into(), ".")), 1e3),
        _ => (format!("{}E-05", joined(digits.into(), ".")), 1e-5),
    };
    let sign = ["", "", "-", "+"][draw(4)];
    (format!("{sign}{text}"), if sign == "-" { -value * times } else { value * times })
}

#[test]
fn generated_outputs_are_read_right_or_not_at_all() {
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let outputs = if set("POWERBAND_SWEEP") == Some(1) { 1_000_000 } else { 20_000 };
    let mut state = set("POWERBAND_SWEEP_SEED").unwrap_or(4_711);
    let mut draw = |count: usize| usize::try_from(powerband_record::splitmix(&mut state) >> 33).unwrap() % count;
    let (units, mut read, mut wrong) = (units(), 0, Vec::new());
    for _ in 0..outputs {
        let (name, unit, factor) = units[draw(units.len())];
        let (number, value) = written_number(&mut draw);
        // A dot before three digits is a fraction: no program's output shows what else it might be.
        if number.trim_start_matches(['-', '+']).split_once('.').is_some_and(|(whole, rest)| {
            rest.len() == 3 && rest.bytes().all(|b| b.is_ascii_digit()) && value.abs() >= 1_000.0 && whole.len() <= 3
        }) {
            continue;
        }
        let lead = ["v=", "v: ", "v ", "v:", "rows 12 v = ", "v\t", "v = ("][draw(7)];
        let blank = ["", " ", "  ", "\u{a0}"][draw(4)];
        let tail = ["", ".", ", n=5", " (max 12 ms)", "\nrows 7", " 12 13", "; done", " 345 6"][draw(8)];
        let before = ["", "start 1.5\n", "50% done\r", "a "][draw(4)];
        let text = format!("{before}{lead}{number}{blank}{unit}{tail}");
        let group = ["([0-9.,]+)", "([-+0-9.,e]+)", "(\\d+)", "(\\S+)", "([^;\\n]+)"][draw(5)];
        let spec = MetricSpec::parse(&format!("{name}=regex:v[ \\t]*[:=]?[ \\t]*\\(?[-+]?{group}")).unwrap();
        if let Ok(Picked { value: found, .. }) = spec.pick(&output(&text), &mut NumberStyles::default()) {
            read += 1;
            let truth = value * factor;
            if (found - truth).abs() > 1e-9 * truth.abs() {
                wrong.push(format!("{text:?} by {group}: {found}, not {truth}"));
            }
        }
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > outputs / 4, "{read} of {outputs} are read");
}

/// What the metric of a spec reads in one output after another of the same experiment.
fn read_in_turn(spec: &str, outputs: &[&str]) -> Vec<Result<f64, String>> {
    let (spec, mut styles) = (MetricSpec::parse(spec).unwrap(), NumberStyles::default());
    outputs.iter().map(|text| spec.pick(&output(text), &mut styles).map(|it| it.value)).collect()
}

#[test]
fn a_unit_that_is_not_right_behind_the_number_may_not_change() {
    // The number is at `#`, its unit at `%`.
    for form in [
        "t,#,%",
        "x: #; %",
        "| x | # | % |",
        "x (%): avg=5, #",
        "lat (%):\n  p99=#",
        "time in %: #",
        "#\n%",
        "#_%",
        "<t unit=\"%\">#</t>",
    ] {
        let of = |number: &str, unit: &str| form.replace('#', &format!("<{number}>")).replace('%', unit);
        let (micro, milli) = (of("980", "us"), of("1.02", "ms"));
        let read = read_in_turn("x=regex:<([0-9.]+)>", &[&micro, &of("970", "us"), &milli, &micro]);
        assert!(read[0].is_ok() && read[1].is_ok() && read[3].is_ok(), "{form}: {read:?}");
        assert!(read[2].as_ref().is_err_and(|why| why.contains("units in its lines")), "{form}: {read:?}");
    }
    let read = read_in_turn("x=json:$.v", &["{\"v\": 980, \"unit\": \"us\"}", "{\"v\": 1.02, \"unit\": \"ms\"}"]);
    assert!(read[0].is_ok() && read[1].is_err(), "{read:?}");
    // Units of other numbers of the line are theirs.
    let read = read_in_turn("ops=regex:ops=(\\d+)", &["ops=50 lat 980 us", "ops=40 lat 1.2ms"]);
    assert_eq!(read, [Ok(50.0), Ok(40.0)]);
}

#[test]
fn a_number_that_goes_on_is_not_read_in_part() {
    for text in [
        "x 9.8 x 10^2 us",
        "x 9.8×10^3",
        "x 9.8 · 10²",
        "x 9.8 E2",
        "x 5 minutes 30 seconds",
        "x 1 s 50 ms",
        "x 2 days, 03:00:00",
        "x 5 hours and 2 minutes",
    ] {
        let read = read_in_turn("t_s=regex:x ([0-9.]+)", &[text]);
        assert!(read[0].is_err(), "{text}: {read:?}");
    }
    let read = read_in_turn("t_s=regex:minutes ([0-9.]+)", &["5 minutes 30 seconds"]);
    assert!(read[0].is_err(), "{read:?}");
}

#[test]
fn a_unit_is_read_behind_errors_colours_and_by_its_key() {
    for (spec, text, value) in [
        ("x=regex:x ([0-9.]+)", "x 980(5) us", 980e-6),
        ("x=regex:x ([0-9.]+)", "x 980 ± 1% us", 980e-6),
        ("x=regex:x ([0-9.]+)", "x 980 (± 5) us", 980e-6),
        ("x=regex:x ([0-9.]+)", "x 980\u{1b}[0m\u{2009}us", 980e-6),
        ("n_per_s=regex:x ([0-9.]+)", "x 123.4 ops/ms", 123_400.0),
        ("p99_usec=regex:x ([0-9.]+)", "x 9.8 ms", 9_800.0),
        ("t_ms=regex:: ([0-9.]+)", "time (s): 5.5", 5_500.0),
        ("lat_us=json:$.lat_ns", "{\"lat_ns\": 980}", 0.98),
    ] {
        let read = read_in_turn(spec, &[text])[0].clone().unwrap();
        assert!((read - value).abs() < 1e-9 * value, "{text}: {read}, not {value}");
    }
}
