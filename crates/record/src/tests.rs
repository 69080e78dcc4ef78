//! What people type and powerband prints again: lines of `tests/texts.txt`, and what is read of each in the snapshot.
use std::fmt::{Debug, Display, Write as _};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

fn shown<T: Debug, E: Display>(read: Result<T, E>) -> String {
    read.map_or_else(|error| format!("error: {error}"), |it| format!("{it:?}"))
}

/// What comes back is the same, from its own words and from JSON.
fn again<T, E>(it: &T, parse: impl Fn(&str) -> Result<T, E>) -> String
where
    T: Display + PartialEq + Debug + Serialize + DeserializeOwned,
    E: Debug,
{
    assert_eq!(parse(&it.to_string()).unwrap(), *it);
    assert_eq!(serde_json::from_str::<T>(&serde_json::to_string(it).unwrap()).unwrap(), *it);
    it.to_string()
}

fn setting(text: &str) -> Result<String, SettingError> {
    let read = Setting::parse(text)?;
    let again = Setting::parse(&format!("n:{}", read.turns())).unwrap();
    assert_eq!(again.assignments, read.assignments, "{text}");
    Ok(format!("{:?} {}", read.name, read.turns()))
}

fn variant(text: &str) -> Result<String, String> {
    let setting = Setting::parse(text).unwrap();
    let read = LoadVariant::of(&setting)?;
    let around: Vec<String> = setting.around_load().map(|it| it.knob.to_string()).collect();
    let filled = read.command.as_deref().map(|command| read.filled(command));
    let rest = setting.of_machines();
    Ok(format!("{read:?} {filled:?} around {around:?} rest {} neutral {}", rest.turns(), setting.is_neutral()))
}

fn read(kind: &str, text: &str) -> String {
    match kind {
        "khz" => shown(parse_frequency_khz(text).map(|khz| (khz, format_khz(khz)))),
        "duration" => shown(parse_duration_ns(text).map(|ns| (ns, format_duration(ns)))),
        "percent" => shown(parse_percent(text)),
        "number" => format_number(text.parse().unwrap()),
        "cpus" => shown(text.parse::<CpuList>().map(|cpus| (cpus.as_slice().to_vec(), cpus.to_string()))),
        "cool" => shown(Cool::parse(text).map(|cool| (cool.to_string(), cool))),
        "record" => shown(Recording::parse_list(text).map(|all| {
            let words: Vec<String> = all.iter().map(ToString::to_string).collect();
            words.join("; ")
        })),
        "meter" => shown(CommandMeter::parse(text).map(|(name, meter)| (meter.unit.is_energy(), name, meter))),
        "setting" => shown(setting(text)),
        "require" => shown(Requirement::parse(text).map(|it| (again(&it, Requirement::parse), it))),
        "background" => shown(Background::parse(text).map(|it| again(&it, Background::parse))),
        "variant" => shown(variant(text)),
        "side" => shown(text.parse::<Side>().map(|side| again(&side, |text| text.parse::<Side>()))),
        "word" => quoted(text),
        "csv" => shown(CsvRows::parse(&text.replace('\n', "\r\n"))),
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_typed_is_read_and_printed_again_or_refused_in_a_line() {
    let mut all = String::new();
    for line in include_str!("tests/texts.txt").lines().filter(|line| !line.starts_with("# ")) {
        let (kind, text) = line.split_once(' ').unwrap();
        let read = read(kind, &text.replace("\\n", "\n"));
        assert!(!read.contains('\n') || kind == "word", "{read}");
        writeln!(all, "{line}\n    {read}").unwrap();
    }
    insta::assert_snapshot!("texts", all);
}

#[test]
fn limits_hold_at_the_limit_and_units_are_the_same() {
    assert!(LimitSide::AtMost.holds(500.0, 500.0) && !LimitSide::AtMost.holds(500.1, 500.0));
    assert!(LimitSide::AtLeast.holds(500.0, 500.0) && !LimitSide::AtLeast.holds(499.9, 500.0));
    assert_eq!(Requirement::parse("busy_percent<=50%"), Requirement::parse("busy_percent<=50"));
}

#[test]
fn words_and_lists_are_joined_and_split() {
    assert_eq!(quoted_line(&["ssh".into(), "b2;x".into(), "true".into()]), "ssh 'b2;x' true");
    let split = Background::split("none,spin@0,2-3,cmd:sh -c 'a, b',spin@cpu1");
    assert_eq!(split, ["none", "spin@0,2-3", "cmd:sh -c 'a, b'", "spin@cpu1"]);
    assert_eq!(CpuList::parse_spaced("0 1 2 3\n").unwrap().len(), 4);
    let csv = CsvRows::parse("\u{feff}a,b\n").unwrap();
    assert_eq!((csv.place("a"), csv.place("c")), (Some(0), None));
}

#[test]
fn all_covers_every_machine_and_a_node_itself() {
    let node = |name: &str| name.parse::<Side>().unwrap();
    let covered = [Side::Near, Side::Far, node("n1")];
    let covers = |side: Side| covered.map(|one| side.covers(one));
    assert_eq!(covers(Side::All), [true; 3]);
    assert_eq!(covers(Side::Both), [true, true, false]);
    assert_eq!(covers(Side::Near), [true, false, false]);
    assert_eq!(covers(node("n1")), [false, false, true]);
    assert_eq!(covers(node("n10")), [false; 3]);
}
