//! Experiments that are generated: several trials of a program whose unit may change, where the unit is anywhere.
use std::collections::BTreeMap;

use super::*;

/// Where a program prints its number, `#`, and its unit, `%`.
const TEXTS: [&str; 20] = [
    "v=# %",
    "v=#%",
    "v=# (%)",
    "op (%)\nv=#",
    "Name (time in %)  Mean\n----\nv=#",
    "v=#\nrows 5\nunit: %",
    "op,lat_%\nget,v=#",
    "| op | lat (%) |\n| get | v=# |",
    "v=#\n% per op",
    "Latency (%):\nmin: 5\nv=#",
    "Latency in %\n\nv=#",
    "Results, %\n=======\nv=# 3 4",
    "rtt v=#/7.5/3 %",
    "rtt 1/v=#/3 %",
    "v=#, 3 %",
    "v=# 3 4 %",
    "lat (%): min=1, v=#",
    "lat [%] v=#",
    "unit=% n=5 v=#",
    "v=# ± 3 %",
];
/// The same in JSON.
const DOCUMENTS: [&str; 9] = [
    "{\"unit\":\"%\",\"lat\":{\"v\":#}}",
    "{\"units\":{\"v\":\"%\",\"n\":\"J\"},\"v\":#}",
    "{\"units\":{\"lat\":\"%\"},\"lat\":{\"v\":#}}",
    "{\"lat\":{\"v\":#,\"unit\":\"%\"}}",
    "{\"lat_%\":{\"v\":#}}",
    "{\"v\":\"# %\"}",
    "{\"meta\":{\"unit\":{\"all\":\"%\"}},\"v\":#}",
    "{\"columns\":[\"op\",\"v (%)\"],\"rows\":[{\"v\":#}]}",
    "note {\"unit\":\"%\",\"v\":#} done",
];
/// Groups around the number, with what a pattern may swallow behind it.
const GROUPS: [&str; 9] = [
    "([0-9.,']+)",
    "([0-9]+)",
    "(\\S+)",
    "([0-9.,']+) [A-Za-z/]+",
    "([0-9.,']+).*",
    "([0-9.,']+)(?: \\w+)?",
    "([0-9.,']+) ?[numkKMG]?",
    "([0-9.,']+)/",
    "([0-9.,']+ ?\\S*)",
];

/// Units of one kind, with their size, and metrics with the size of the unit in their name: 0 where it has none.
struct Kind {
    units: &'static [(&'static str, f64)],
    metrics: &'static [(&'static str, f64)],
}

const KINDS: [Kind; 4] = [
    Kind {
        units: &[("ns", 1e-9), ("us", 1e-6), ("usec", 1e-6), ("ms", 1e-3), ("s", 1.0), ("seconds", 1.0)],
        metrics: &[("lat", 0.0), ("lat_us", 1e-6), ("time_s", 1.0), ("time", 0.0), ("lat_ms", 1e-3)],
    },
    Kind {
        units: &[("kB", 1e3), ("MB", 1e6), ("MiB", 1_048_576.0), ("GB", 1e9)],
        metrics: &[("x", 0.0), ("x_mb", 1e6), ("x_gb", 1e9)],
    },
    Kind { units: &[("ops/s", 1.0), ("Kops/s", 1e3), ("Mreq/s", 1e6)], metrics: &[("rate", 0.0), ("rate_per_s", 1.0)] },
    Kind { units: &[("Kops", 1e3), ("Mops", 1e6)], metrics: &[("rate", 0.0), ("rate_per_s", 1.0)] },
];

/// A number as a program of one place writes it, and its value.
fn number_of(place: usize, draw: &mut dyn FnMut(usize) -> usize) -> (String, f64) {
    let digits = ["7", "42", "980", "987", "1234", "50817", "1234567"][draw(7)];
    let fraction = ["", "", "5", "02", "980", "1250"][draw(6)];
    let value: f64 = format!("{digits}.{fraction}0").parse().unwrap();
    let (separator, mark) = [("", "."), ("", ","), (",", "."), (".", ","), ("'", ".")][place];
    let whole = grouped(digits, separator);
    (if fraction.is_empty() { whole } else { format!("{whole}{mark}{fraction}") }, value)
}

/// What is wrong with the values of trials, each with the truth in the base of its unit; a metric with a unit of `named` is
/// held against the truth, another only against its first trial.
fn fault(found: &[(f64, f64)], named: f64) -> Option<String> {
    let (first, first_truth) = found.first()?;
    found.iter().find_map(|(value, truth)| {
        let due = if named > 0.0 { truth / named } else { first * truth / first_truth };
        ((value - due).abs() > 1e-9 * due.abs()).then(|| format!("{value}, not {due}"))
    })
}

#[test]
fn generated_experiments_are_read_right_or_not_at_all() {
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let outputs = if set("POWERBAND_SWEEP") == Some(1) { 1_000_000 } else { 20_000 };
    let mut state = set("POWERBAND_SWEEP_SEED").unwrap_or(4_711);
    let mut draw = |count: usize| usize::try_from(powerband_record::splitmix(&mut state) >> 33).unwrap() % count;
    let (mut specs, mut read, mut wrong) = (BTreeMap::new(), 0, Vec::new());
    for _ in 0..outputs / 3 {
        let kind = &KINDS[draw(KINDS.len())];
        let (metric, named) = kind.metrics[draw(kind.metrics.len())];
        let is_json = draw(4) == 0;
        let form = if is_json { DOCUMENTS[draw(DOCUMENTS.len())] } else { TEXTS[draw(TEXTS.len())] };
        let source = if is_json { "json:$..v".to_owned() } else { format!("regex:v={}", GROUPS[draw(GROUPS.len())]) };
        // Where a number of JSON is a dictionary of units.
        if form.contains("\"v\":\"%\"") && source.contains("$..v") {
            continue;
        }
        let spec = format!("{metric}={source}");
        let spec = specs.entry(spec.clone()).or_insert_with(|| MetricSpec::parse(&spec).unwrap());
        let place = if is_json { 0 } else { draw(5) };
        let first = draw(kind.units.len());
        let (mut styles, mut found, mut texts) = (NumberStyles::default(), Vec::new(), Vec::new());
        for _ in 0..3 {
            let (number, value) = number_of(place, &mut draw);
            // Who prints thousands with dots does not scale the unit.
            let is_first = place == 3 || draw(2) == 0;
            let (unit, size) = kind.units[if is_first { first } else { draw(kind.units.len()) }];
            let text = form.replace('#', &number).replace('%', unit);
            if let Ok(Picked { value: picked, .. }) = spec.pick(&output(&text), &mut styles) {
                found.push((picked, value * size));
                read += 1;
            }
            texts.push(text);
        }
        // A dot before three digits is a fraction where no number shows what else it is.
        let is_dotted = place == 3 && texts.iter().any(|text| text.contains('.'));
        if let Some(fault) = fault(&found, if is_dotted { 0.0 } else { named }) {
            wrong.push(format!("{metric}={source} in {texts:?}: {fault}"));
        }
    }
    let count = wrong.len();
    wrong.truncate(25);
    assert!(wrong.is_empty(), "{count} wrong:\n{}", wrong.join("\n"));
    assert!(read > outputs / 4, "{read} of {outputs} are read");
}
