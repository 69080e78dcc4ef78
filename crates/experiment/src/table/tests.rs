//! A small table by hand: what axes, trials and searches make of it, and what is said where it has no row.
use super::*;
use crate::{Bench, Fatal, Plan, Tune, run};
use powerband_load::Load;
use powerband_record::{Event, SearchEnd};

const ROWS: &str = "kind,mhz,delay,watts,p99_us
auto,,,50,300
auto,,,51,310
set,1000,1,20,700
set,1000,9,18,900
set,2000,1,30,400
set,2000,1,31,410
set,2000,9,28,600
set,3000,1,45,200
";

const SIDECAR: &str = "title = \"by hand\"
trial = \"2s\"
found = { kind = \"auto\" }
[[knob]]
column = \"mhz\"
like = \"cpufreq.freq\"
[[knob]]
column = \"delay\"
like = \"nic.rx-usecs\"
[[metric]]
column = \"watts\"
judged = true
[[metric]]
column = \"p99_us\"
";

fn table() -> TableMachine {
    TableMachine::parse("table:t.csv", ("t.csv", ROWS), ("t.toml", SIDECAR)).unwrap()
}

fn plan(axes: &[&str]) -> Plan {
    let mut plan = Plan::of(Load::builtin("idle", None).unwrap());
    plan.axes = axes.iter().map(|axis| (*axis).to_owned()).collect();
    plan
}

#[test]
fn axes_take_the_values_of_the_table_and_trials_its_rows() {
    let table = table();
    let resolved = resolve_table(&plan(&["mhz=2000..3000", "delay=1"]), &table).unwrap();
    let labels: Vec<&str> = resolved.started.settings.iter().map(|setting| setting.label.as_str()).collect();
    assert_eq!(labels, ["baseline", "mhz=2000", "mhz=3000"]);
    assert_eq!(resolved.started.metrics[0].name, "power_w");
    let journal_of = |seed: u64| {
        let mut plan = plan(&["mhz=2000..3000", "delay=1"]);
        plan.seed = Some(seed);
        let resolved = resolve_table(&plan, &table).unwrap();
        let mut bench = TableBench::new(&table, &resolved.started).unwrap();
        let mut journal = Vec::new();
        run(&resolved.started, &mut bench, &mut journal).unwrap();
        journal
    };
    let mut setting = 0;
    let mut drawn = [const { Vec::new() }; 3];
    // One experiment may end before each row has come.
    for event in (1..=8).flat_map(journal_of) {
        match event {
            Event::TrialStarted(trial) => setting = trial.setting as usize,
            Event::TrialDone { outcome, .. } => drawn[setting].push(outcome.metrics["power_w"]),
            _ => {}
        }
    }
    // Each row of a setting comes, and no other.
    for (drawn, rows) in drawn.iter_mut().zip([&[50.0, 51.0][..], &[30.0, 31.0], &[45.0]]) {
        drawn.sort_by(f64::total_cmp);
        drawn.dedup();
        assert_eq!(drawn, rows);
    }
    assert_eq!(journal_of(3), journal_of(3));
}

#[test]
fn a_setting_without_a_row_is_refused_and_a_search_goes_on_without_it() {
    let table = table();
    let resolved = resolve_table(&plan(&["mhz=3000", "delay=1,9"]), &table).unwrap();
    let mut bench = TableBench::new(&table, &resolved.started).unwrap();
    let refused = run(&resolved.started, &mut bench, &mut Vec::new());
    assert!(matches!(&refused, Err(Fatal::Search { why }) if why.contains("delay=9")), "{refused:?}");
    let mut search = plan(&["mhz=all", "delay=all"]);
    search.tune = Some(Tune { minimize: Some("watts".into()), ..Tune::default() });
    search.require = vec!["p99_us<=500".into()];
    let resolved = resolve_table(&search, &table).unwrap();
    let mut bench = TableBench::new(&table, &resolved.started).unwrap();
    let mut journal = Vec::new();
    let finding = run(&resolved.started, &mut bench, &mut journal).unwrap();
    let found = finding.search.unwrap();
    assert_eq!(found.end, SearchEnd::Confirmed, "{found:?}");
    assert_eq!(resolved.started.settings[found.setting.unwrap() as usize].label, "mhz=2000 delay=1");
    let is_left = |event: &&Event| matches!(event, Event::SettingLeft { why, .. } if why.contains("no row"));
    assert_eq!(journal.iter().filter(is_left).count(), 1);
    // What was refused cost none of the table's time.
    let trials = journal.iter().filter(|event| matches!(event, Event::TrialDone { .. })).count() as u64;
    assert_eq!(bench.now_ns(), trials * 2_000_000_000);
}

#[test]
fn what_the_table_has_not_is_said_with_what_it_has() {
    let table = table();
    let mut told = String::new();
    for axes in ["mhz=2500 delay=1", "governor=all delay=1", "mhz=all", "mhz=5000..6000 delay=1"] {
        let axes: Vec<&str> = axes.split(' ').collect();
        told += &format!("{axes:?}: {}\n", resolve_table(&plan(&axes), &table).unwrap_err());
    }
    let mut other = plan(&["mhz=all", "delay=1"]);
    other.metrics = vec!["rtt_ms".into()];
    told += &resolve_table(&other, &table).unwrap_err().to_string();
    insta::assert_snapshot!("missing", told);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name() {
    let marked = format!("\u{feff}{ROWS}");
    let read = TableMachine::parse("table:t.csv", ("t.csv", &marked), ("t.toml", SIDECAR)).unwrap();
    assert_eq!(read.rows, table().rows);
}

#[test]
fn what_is_wrong_with_the_files_is_one_line() {
    let mut told = String::new();
    for (rows, sidecar) in [
        ("kind,mhz\n1", SIDECAR),
        ("", SIDECAR),
        (&ROWS.replace("watts", "power"), SIDECAR),
        (&ROWS.replace("900", "many"), SIDECAR),
        (ROWS, &SIDECAR.replace("2s", "soon")),
        (ROWS, &SIDECAR.replace("auto", "never")),
        (&ROWS.replace("delay,", "mhz,"), SIDECAR),
        (ROWS, &SIDECAR.replace("judged", "jugded")),
        (ROWS, &SIDECAR.replace("found", "#")),
    ] {
        let read = TableMachine::parse("table:t.csv", ("t.csv", rows), ("t.toml", sidecar));
        let error = read.unwrap_err().to_string();
        assert!(!error.trim().contains('\n'), "{error}");
        told += &format!("{}\n", error.trim());
    }
    insta::assert_snapshot!("slips", told);
}
