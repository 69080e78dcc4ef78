//! What the tools printed, several versions of each and broken ones: the right values, or the reason why there are none.
//! The cases are lines of `tests/cases.txt`, what is read of each is in the snapshot.
use std::fmt::Write as _;

use powerband_machine::Finished;
use powerband_record::{ExitStatus, Output, Usage};

use super::table::Figure;
use super::*;

/// What tools printed, edited: a call, its output, and whether it is cut everywhere.
struct Case {
    line: String,
    argv: Vec<String>,
    finished: Finished,
    is_whole: bool,
}

fn argv(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn printed(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/drivers/printed/");
    if name == "-" { String::new() } else { std::fs::read_to_string(format!("{folder}{name}")).unwrap() }
}

fn finished(stdout: &str, stderr: &str) -> Finished {
    let output = Output { stdout: stdout.into(), stderr: stderr.into(), cut: false };
    let usage = Usage { real_ns: 60_000_000_000, ..Usage::default() };
    Finished { status: ExitStatus::Code(0), usage, report: None, output, around: Vec::new() }
}

fn edited(text: &str, edit: &str) -> String {
    let (verb, rest) = edit.split_once(' ').unwrap_or((edit, ""));
    let at = || text.find(rest).unwrap_or_else(|| panic!("no '{rest}'"));
    match (verb, edit.split_once(" => ")) {
        ("text", _) => rest.into(),
        ("ahead", _) => format!("{rest}{text}"),
        ("append", _) => format!("{text}{}", printed(rest)),
        ("before", _) => text[..at()].into(),
        ("from", _) => text[at()..].into(),
        ("after", _) => text.rsplit(rest).next().unwrap().into(),
        ("half", _) => text[..text.len() / 2].into(),
        ("less", _) => text[..text.len() - rest.parse::<usize>().unwrap()].into(),
        ("twice", _) => text.repeat(2),
        ("re", Some((from, to))) => regex_lite::Regex::new(&from[3..]).unwrap().replace_all(text, to).into(),
        (_, Some((from, to))) if text.contains(from) => text.replace(from, to),
        _ => panic!("nothing to edit by '{edit}'"),
    }
}

fn cases() -> Vec<Case> {
    let case = |line: &str| {
        let plain = line.replace("\\n", "\n").replace("\\t", "\t");
        let mut parts = plain.trim_start_matches("* ").split(" | ");
        let (call, file) = parts.next().unwrap().rsplit_once("< ").unwrap();
        let (mut text, mut stderr) = (printed(file), String::new());
        for edit in parts {
            match edit.strip_prefix("stderr ") {
                Some(words) => stderr = words.into(),
                None => text = edited(&text, edit),
            }
        }
        let (call, finished) = match call.strip_suffix(" 2") {
            Some(call) => (call, finished("", &text)),
            None => (call.trim_end(), finished(&text, &stderr)),
        };
        let argv = argv(call);
        Case { line: line.into(), argv, finished, is_whole: line.starts_with('*') }
    };
    include_str!("tests/cases.txt").lines().filter(|line| !line.starts_with('#')).map(case).collect()
}

/// What is read of a case; each of its metrics is either there or explained.
fn read(case: &Case) -> Result<Reading, String> {
    let driver = driver(&case.argv, Reads::Auto).unwrap_or_else(|| panic!("nothing reads {}", case.line));
    let reading = driver.read(&case.finished)?;
    for Metric { name, .. } in driver.metrics() {
        let (there, why) = (reading.values.contains_key(name), reading.missing.contains_key(name));
        assert!(there != why, "{}: {name} of {reading:?}", case.line);
    }
    Ok(reading)
}

#[test]
fn what_tools_print_is_read_or_said_to_be_no_measurement() {
    let mut all = String::new();
    for case in cases() {
        writeln!(all, "{}", case.line).unwrap();
        match read(&case) {
            Ok(reading) => {
                reading.values.iter().for_each(|(name, value)| writeln!(all, "    {name} = {value}").unwrap());
                reading.missing.iter().for_each(|(name, why)| writeln!(all, "    {name}: {why}").unwrap());
                reading.notes.iter().for_each(|note| writeln!(all, "    note: {note}").unwrap());
                reading.as_lossy().into_iter().for_each(|void| writeln!(all, "    void: {void:?}").unwrap());
            }
            Err(why) => {
                assert!(!why.contains('\n') && !why.ends_with('.'), "one sentence: '{why}'");
                writeln!(all, "    void: {why}").unwrap();
            }
        }
        let driver = driver(&case.argv, Reads::Auto).unwrap();
        let output = &case.finished.output;
        driver.complaint(output).into_iter().for_each(|why| writeln!(all, "    complaint: {why}").unwrap());
        driver.own(output).into_iter().for_each(|own| writeln!(all, "    own: {own:?}").unwrap());
    }
    insta::assert_snapshot!("readings", all);
}

#[test]
fn each_tool_has_output_that_is_read() {
    let read: BTreeSet<&str> = cases()
        .iter()
        .filter_map(|case| {
            let values = read(case).ok()?.values;
            recognised(&case.argv).map(|(tool, _)| tool.name.as_str()).filter(|_| !values.is_empty())
        })
        .collect();
    for Tool { name, programs, reader, .. } in &table().tools {
        let is_read = read.contains(name.as_str()) || *reader == Reader::Mpirun;
        assert!(is_read || programs.is_empty(), "no output of {name} is read");
    }
    let estimates = driver(&argv("./bench.sh"), Reads::Tool("criterion")).unwrap();
    let reading = estimates.read(&finished(&printed("criterion-0.5-estimates.json"), "")).unwrap();
    assert_eq!((reading.values["mean_ns"], reading.values["slope_ns"]), (26.17, 26.08));
}

/// Metrics that no kept output has: the recorded run of dbench measured nothing.
const UNRECORDED: [(&str, &str); 2] = [("dbench", "max_ms"), ("dbench", "rate_mb_s")];

#[test]
fn each_metric_of_a_row_is_read_in_an_output_that_is_kept() {
    let mut read_there: BTreeSet<(&str, String)> = BTreeSet::new();
    // One that is only cut is as it was printed.
    let as_printed = |case: &&Case| case.line.split(" | ").skip(1).all(|edit| edit.starts_with("before "));
    for case in cases().iter().filter(as_printed) {
        let (Some((tool, _)), Ok(reading)) = (recognised(&case.argv), read(case)) else { continue };
        read_there.extend(reading.values.into_keys().map(|name| (tool.name.as_str(), name)));
    }
    let rows = table().tools.iter().filter(|tool| tool.reader == Reader::Row && !tool.programs.is_empty());
    let all = rows.flat_map(|tool| tool.metrics.iter().map(|metric| (tool.name.as_str(), metric.name.as_str())));
    let unread: BTreeSet<(&str, &str)> =
        all.filter(|&(tool, name)| !read_there.contains(&(tool, name.into()))).collect();
    assert_eq!(unread.into_iter().collect::<Vec<_>>(), UNRECORDED);
}

#[test]
fn patterns_name_words_of_the_output() {
    for (pattern, words) in [
        (r"(?m)^(\d+) packets transmitted", "packets transmitted"),
        (r"(?m)min/avg/max\S* = [^/\s]+/([^/\s]+)/\S+ ms", "min/avg/max"),
        (r"\breal_seconds=(\S+)", "real_seconds="),
        (r"\breal_seconds=.*\brate_Mbps=(\S+)", "rate_Mbps="),
        (r"Requests?/s(?:ec)?: +([\d.]+)", "Request"),
        (r"a{3}bc\.d[]x]e", "bc.d"),
    ] {
        assert_eq!(table::Pattern::try_from(pattern.to_owned()).unwrap().words(), words, "{pattern}");
    }
}

#[test]
fn rows_name_what_they_read() {
    let table: table::Table = toml::from_str(include_str!("../tools.toml")).unwrap();
    let mut seen = BTreeSet::new();
    for tool in &table.tools {
        assert!(seen.insert(&tool.name), "{} has two rows", tool.name);
        let known = |name: &String| tool.figures.iter().chain(&tool.metrics).any(|figure| figure.name == *name);
        let lost = tool.lost.iter().flat_map(|lost| [Some(&lost.sent), lost.received.as_ref(), lost.lost.as_ref()]);
        let agree = tool.agree.iter().flat_map(|agree| [&agree.rate, &agree.count]);
        let asked = tool.asked.iter().map(|asked| &asked.figure);
        let names = tool.positive.iter().chain(&tool.ordered).chain(&tool.ran_s).chain(&tool.observations);
        for name in names.chain(lost.flatten()).chain(agree).chain(asked) {
            assert!(known(name), "{} reads no {name}", tool.name);
        }
        let computed = |figure: &Figure| figure.name == "lost_percent" && tool.lost.is_some();
        let has_source = |figure: &Figure| figure.regex.is_some() != figure.json.is_some() || computed(figure);
        assert!(tool.figures.iter().chain(&tool.metrics).all(has_source), "{} has a number without source", tool.name);
        assert!(tool.reader == Reader::Row || tool.documented.is_some(), "{} is not documented", tool.name);
    }
}

#[test]
fn the_page_has_the_table_of_tools() {
    const WRITE: &str = "POWERBAND_WRITE_DOCS";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/loads/commands.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- tools.toml -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of tools.toml -->\n").unwrap();
    let fresh = format!("{before}<!-- tools.toml -->\n{}<!-- end of tools.toml -->\n{after}", tools_page());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(path, &fresh).unwrap();
    } else {
        assert!(page == fresh, "docs/loads/commands.md is stale: run `{WRITE}=1 cargo test -p powerband-load page`");
    }
}

#[test]
fn calls_that_cannot_be_read_say_what_to_add() {
    let mut all = String::new();
    for line in include_str!("tests/calls.txt").lines() {
        let said = advice(&argv(line), Reads::Auto);
        let promised = driver(&argv(line), Reads::Auto).map_or(0, |driver| driver.metrics().len());
        assert!(said.is_none() || promised == 0, "{line}");
        writeln!(all, "{line}\n    {}", said.as_deref().unwrap_or("-")).unwrap();
    }
    insta::assert_snapshot!("advice", all);
    assert!(driver(&argv("iperf3 -c b --json"), Reads::None).is_none());
    assert_eq!(advice(&argv("iperf3 -c b"), Reads::None), None);
}

#[test]
fn what_is_chosen_is_read_behind_other_programs() {
    let through = ["sh", "-c", "sleep 1; iperf3 -c b -u -b 20M --json"].map(str::to_owned);
    let chosen = driver(&through, Reads::Tool("iperf3")).unwrap();
    let reading = chosen.read(&finished(&printed("iperf3-udp.json"), "")).unwrap();
    assert_eq!(reading.values["lost_percent"], 0.0);
    // A script shows no options: what it prints decides.
    let script = driver(&argv("./run.sh"), Reads::Tool("iperf3")).unwrap();
    let whole = finished(&printed("iperf3-tcp.json"), "");
    assert!(script.read(&whole).unwrap().values.contains_key("rate_mbit_s"));
    let cpu = finished(&printed("sysbench-1.0.20-cpu.txt"), "");
    let sysbench = driver(&argv("./run.sh"), Reads::Tool("sysbench")).unwrap();
    assert_eq!(sysbench.read(&cpu).unwrap().values["events_per_s"], 3167.11);
    let wrk = driver(&argv("./run.sh"), Reads::Tool("wrk")).unwrap();
    assert_eq!(wrk.read(&finished(&printed("wrk-4.1.0.txt"), "")).unwrap().values["requests_per_s"], 1196.0);
    let mut cut = whole.clone();
    cut.output.cut = true;
    let mut short = whole;
    short.usage.real_ns = 500_000_000;
    let voids = [finished("some text", ""), cut, short].map(|it| script.read(&it).unwrap_err());
    insta::assert_snapshot!("chosen", voids.join("\n"));
    assert_eq!(Reads::parse("perf_stat"), Ok(Reads::Tool("perf_stat")));
    assert_eq!(Reads::parse("wrk2"), Ok(Reads::Tool("wrk")));
    assert_eq!(Reads::parse("make").ok(), None);
}

#[test]
fn what_is_cut_anywhere_gives_the_same_numbers_or_none() {
    for mut case in cases().into_iter().filter(|case| case.is_whole) {
        let (text, whole) = (case.finished.output.stdout.clone(), read(&case).unwrap());
        let (mut taken, mut refused) = (0, 0);
        for end in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            case.finished.output.stdout = text[..end].into();
            match read(&case) {
                Ok(reading) => {
                    taken += 1;
                    assert_eq!(reading.values, whole.values, "{}, cut at {end}", case.line);
                }
                Err(_) => refused += 1,
            }
        }
        assert!(refused > taken, "{}: only what ends in nothing new can be cut", case.line);
    }
}

#[test]
fn whatever_is_printed_there_is_no_panic_and_no_number_that_cannot_be() {
    const BITS: &str =
        ",-,1e309,nan,inf,-1,0,99999999999999999999,18446744073709551616,.,\n,\0,é,{,},\",\u{1b}[, ,null";
    let bits: Vec<&str> = BITS.split(',').chain([","]).collect();
    let is_taken = |case: &Case| case.is_whole || case.line.contains("perf-") || case.line.contains(".txt");
    let cases: Vec<Case> = cases().into_iter().filter(is_taken).collect();
    let mut state = 1_u64;
    let mut roll = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let output = &cases[roll(cases.len())].finished.output;
        let mut text = format!("{}{}", output.stdout, output.stderr);
        for _ in 0..=roll(3) {
            let from = text.floor_char_boundary(roll(text.len() + 1));
            let to = text.floor_char_boundary((from + roll(12)).min(text.len()));
            text.replace_range(from..to.max(from), bits[roll(bits.len())]);
        }
        let driver = driver(&cases[roll(cases.len())].argv, Reads::Auto).unwrap();
        for finished in [finished(&text, ""), finished("", &text)] {
            match driver.read(&finished) {
                Ok(reading) => {
                    taken += 1;
                    let fits = reading.values.values().all(|value| value.is_finite() && *value >= 0.0);
                    assert!(fits, "{reading:?} of {text}");
                }
                Err(why) => {
                    refused += 1;
                    assert!(!why.is_empty() && !why.contains('\n'), "{why:?}");
                }
            }
        }
    }
    assert!(taken > 500 && refused > 500, "both happen: {taken} and {refused}");
}
