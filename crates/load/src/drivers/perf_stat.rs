//! `perf stat` with `-x` or `-j`: each event's count as a metric, named after the event.
use powerband_record::{Better, Metric};
use serde_json::Value;

use super::json::short;
use super::options::Options;
use super::{Call, Printed, Reading, brief, judged};

/// Short options that take a value.
const VALUED: &str = "eptCxorIMGDm";

/// Long options whose value may be the word behind them.
const LONG_VALUED: [&str; 14] = [
    "event",
    "pid",
    "tid",
    "cpu",
    "field-separator",
    "output",
    "repeat",
    "interval-print",
    "metrics",
    "cgroup",
    "delay",
    "log-fd",
    "timeout",
    "filter",
];

/// What perf counts when no event is named.
const DEFAULTS: [&str; 8] = [
    "task-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
];

/// Names perf has twice.
const ALIASES: [(&str, &str); 7] = [
    ("cs", "context-switches"),
    ("migrations", "cpu-migrations"),
    ("faults", "page-faults"),
    ("cpu-cycles", "cycles"),
    ("branch-instructions", "branches"),
    ("idle-cycles-frontend", "stalled-cycles-frontend"),
    ("idle-cycles-backend", "stalled-cycles-backend"),
];

fn options(words: &[String]) -> Options {
    Options::of(words, VALUED, Some(&LONG_VALUED))
}

/// The events that are named, in their order, and whether any was.
fn events(options: &Options) -> (Vec<String>, bool) {
    let named: Vec<String> = options.values(&["e", "event"]).flat_map(apart).collect();
    if named.is_empty() { (DEFAULTS.map(str::to_owned).into(), false) } else { (named, true) }
}

/// A list of events taken apart: commas between slashes belong to an event, braces make a group, and what stands behind
/// those modifies all of it.
fn apart(list: &str) -> Vec<String> {
    let mut events = vec![String::new()];
    let (mut inside, mut behind) = (false, false);
    for c in list.chars() {
        match c {
            '{' => {}
            '}' => behind = true,
            ',' if !inside => {
                events.push(String::new());
                behind = false;
            }
            _ if behind => {}
            _ => {
                inside ^= c == '/';
                if let Some(event) = events.last_mut() {
                    event.push(c);
                }
            }
        }
    }
    events.retain(|event| !metric_name(event).is_empty());
    events
}

/// A metric's name for an event: `task-clock` is `task_clock_ms`, `power/energy-pkg/` `energy_pkg_j`, `cycles:u` `cycles_u`; a
/// count has no unit.
fn metric_name(event: &str) -> String {
    let bare = bare(event);
    let (words, unit) = match bare {
        "task-clock" | "cpu-clock" => (bare, "_ms"),
        "duration_time" | "user_time" | "system_time" => (bare, "_ns"),
        _ => match bare.strip_prefix("power/").filter(|rest| rest.starts_with("energy-")) {
            Some(energy) => (energy, "_j"),
            None => (bare, ""),
        },
    };
    let modifier = modifier(event).trim_start_matches(':');
    let mut name = String::new();
    for c in words.chars().chain(['_']).chain(modifier.chars()) {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    format!("{}{unit}", name.trim_end_matches('_'))
}

/// An event without what modifies it (`cycles:u`), by the name perf has for it.
fn bare(event: &str) -> &str {
    let name = event.get(..event.len() - modifier(event).len()).unwrap_or(event);
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, known)| known)
}

/// What modifies an event: `:u`, or `u` behind the last slash. A tracepoint (`sched:sched_switch`) is two words.
fn modifier(event: &str) -> &str {
    let at = match event.rfind('/') {
        Some(slash) => slash + 1,
        None => event.rfind(':').unwrap_or(event.len()),
    };
    event.get(at..).filter(|text| is_modifier(text)).unwrap_or_default()
}

fn is_modifier(text: &str) -> bool {
    text.trim_start_matches(':').chars().all(|c| "ukhIGHpPSDWeb".contains(c))
}

pub(super) fn call(words: &[String]) -> Call {
    let options = options(words);
    let (events, named) = events(&options);
    let mut metrics: Vec<Metric> = Vec::new();
    for event in &events {
        let name = metric_name(event);
        if metrics.iter().all(|metric| metric.name != name) {
            let first = metrics.is_empty();
            metrics.push(Metric { judged: named && first, ..judged(&name, Better::Lower) });
        }
    }
    let readable = options.has(&["x", "field-separator", "j", "json-output"]);
    let elsewhere = options.has(&["o", "output", "log-fd"]);
    let split = options.has(&[
        "I",
        "interval-print",
        "A",
        "no-aggr",
        "no-merge",
        "per-core",
        "per-socket",
        "per-thread",
        "per-die",
        "per-node",
        "per-cache",
        "per-cluster",
    ]);
    let unreadable = if !readable {
        Some("perf stat's table is not read; add -x, to have each event as a metric")
    } else if elsewhere {
        Some("perf stat's counts go elsewhere; leave out -o and --log-fd to have them read")
    } else if options.has(&["metric-only"]) {
        Some("perf stat --metric-only prints no counts; leave it out to have each event as a metric")
    } else if split {
        Some(
            "perf stat's counts by interval, CPU, thread or PMU are not read; leave out -I, -A, --per-… and --no-merge to have them as metrics",
        )
    } else {
        None
    };
    Call { metrics, unreadable: unreadable.map(str::to_owned) }
}

/// One event's line.
#[derive(Debug)]
struct Count {
    event: String,
    value: String,
    unit: String,
    /// For how much of the time it was counted, per cent.
    running: Option<f64>,
}

pub(super) fn read(words: &[String], printed: &Printed) -> Result<Reading, String> {
    let options = options(words);
    let (events, _) = events(&options);
    let counts: Vec<Count> = if options.has(&["j", "json-output"]) {
        printed.stderr.lines().filter_map(in_json).collect()
    } else {
        let separator = options.value(&["x", "field-separator"]).filter(|text| !text.is_empty()).unwrap_or(",");
        let separator = if separator == "\\t" { "\t" } else { separator };
        printed.stderr.lines().filter_map(|line| in_fields(line, separator, &events)).collect()
    };
    let is_unreadable = |event: &String| is_unclear(printed.stderr, event);
    if counts.is_empty() && !events.iter().any(is_unreadable) {
        return Err("perf stat printed no counts as -x and -j have them; if its numbers have decimal commas, run it with LC_ALL=C".into());
    }
    let mut reading = Reading::default();
    for event in &events {
        let name = metric_name(event);
        let same = |count: &&Count| count.event == *event;
        let alike = |count: &&Count| bare(&count.event) == bare(event);
        let exact: Vec<&Count> = counts.iter().filter(same).collect();
        let mut found = if exact.is_empty() { counts.iter().filter(alike).collect() } else { exact };
        let summed;
        if found.is_empty() {
            let by_kind: Vec<&Count> = counts.iter().filter(|count| is_of_kind(&count.event, event)).collect();
            summed = over_kinds(event, &by_kind, &mut reading)?;
            found = summed.iter().collect();
        }
        let asked = events.iter().filter(|other| metric_name(other) == name).count();
        let count = match found[..] {
            [count] => count,
            [] if is_unclear(printed.stderr, event) => {
                return Err(format!(
                    "perf's line of {event} cannot be read, as if its fractions had commas; run perf with LC_ALL=C"
                ));
            }
            [] => continue,
            _ if asked > 1 => return Err(format!("perf stat counts {event} more than once; name each event once")),
            _ => {
                return Err(format!(
                    "perf stat printed more than one count of {event}, and it is unclear which counts"
                ));
            }
        };
        take(&mut reading, &name, count, printed)?;
    }
    Ok(reading)
}

/// Whether an event has a line that could not be read: commas in fractions are taken for separators, and are no JSON.
fn is_unclear(text: &str, event: &str) -> bool {
    let ends = |field: &str| field.trim_end_matches('"').ends_with(event);
    text.lines().any(|line| line.split(',').count() > 2 && line.split(',').any(ends))
}

fn take(reading: &mut Reading, name: &str, count: &Count, printed: &Printed) -> Result<(), String> {
    let event = &count.event;
    match count.value.as_str() {
        "<not supported>" => {
            return reading.put_or(name, None, &format!("this machine cannot count {event}, says perf"), printed);
        }
        "<not counted>" => {
            let why = format!("perf did not get to count {event}: too short, or too many events at once");
            return reading.put_or(name, None, &why, printed);
        }
        _ => {}
    }
    let wanted = [("_ms", "msec"), ("_j", "Joules"), ("_ns", "ns")].into_iter().find(|(end, _)| name.ends_with(end));
    if let Some((_, unit)) = wanted.filter(|(_, unit)| !count.unit.is_empty() && count.unit != *unit) {
        return Err(format!("perf counted {event} in {}, where {unit} was to be expected", short(&count.unit)));
    }
    let value = super::figure(&count.value);
    let value =
        value.ok_or_else(|| format!("perf's count of {event} is '{}', which is no number", short(&count.value)))?;
    if let Some(running) = count.running.filter(|running| *running < 100.0) {
        if running <= 0.0 {
            return reading.put_or(name, None, &format!("perf did not get to count {event}"), printed);
        }
        reading.note(format!(
            "perf counted {event} for {} % of the time only and scaled it up; ask for fewer events at once",
            brief(running)
        ));
    }
    // A sum over CPUs: more than the time that passed is nothing odd.
    if !value.is_finite() {
        return Err(format!("perf's count of {event} cannot be"));
    }
    reading.values.insert(name.to_owned(), value);
    Ok(())
}

/// What perf calls an event on one kind of core of a hybrid CPU: `cycles` is `cpu_atom/cycles/` and `cpu_core/cycles/`
/// or `armv8_cortex_a53/cycles/`, `cycles:u` is `cpu_atom/cycles/u` or `cpu_atom/cycles:u/`.
fn is_of_kind(printed: &str, event: &str) -> bool {
    let kind = printed.split_once('/').filter(|(kind, _)| ["cpu_", "armv"].iter().any(|it| kind.starts_with(it)));
    let Some((_, rest)) = kind else { return false };
    let Some((name, behind)) = rest.split_once('/') else { return false };
    let plain = |modifier: &str| modifier.trim_start_matches(':').to_owned();
    bare(name) == bare(event) && plain(modifier(name)) + &plain(behind) == plain(modifier(event))
}

/// The counts of an event on each kind of core as one. A kind on which nothing ran adds nothing; an event that no kind counted
/// has no count.
fn over_kinds(event: &str, counts: &[&Count], reading: &mut Reading) -> Result<Option<Count>, String> {
    let Some(first) = counts.first() else { return Ok(None) };
    let counted: Vec<&&Count> = counts.iter().filter(|count| !count.value.starts_with('<')).collect();
    if counted.is_empty() {
        return Ok(Some(Count { event: event.into(), value: first.value.clone(), unit: String::new(), running: None }));
    }
    let mut sum = 0.0;
    for count in &counted {
        let value = super::figure(&count.value);
        sum += value.ok_or_else(|| {
            format!("perf's count of {} is '{}', which is no number", count.event, short(&count.value))
        })?;
        if let Some(running) = count.running.filter(|&running| running > 0.0 && running < 100.0) {
            reading.note(format!(
                "perf counted {} for {} % of the time only and scaled it up",
                count.event,
                brief(running)
            ));
        }
    }
    if counts.len() > 1 {
        let kinds: Vec<&str> = counts.iter().filter_map(|count| count.event.split('/').next()).collect();
        reading.note(format!("{event} is the sum over {}", kinds.join(" and ")));
    }
    Ok(Some(Count { event: event.into(), value: sum.to_string(), unit: first.unit.clone(), running: None }))
}

/// A line of `-x`: count, unit, event, with `-r` how much it varied, run time, share of the time it ran, and more.
fn in_fields(line: &str, separator: &str, events: &[String]) -> Option<Count> {
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    let [value, unit, rest @ ..] = &fields[..] else { return None };
    // An event's own commas split it as well.
    let known =
        |text: &str| events.iter().any(|event| event == text || bare(event) == bare(text) || is_of_kind(text, event));
    let (event, length) = (1..=rest.len()).find_map(|length| {
        let joined = rest.get(..length)?.join(separator);
        known(&joined).then_some((joined, length))
    })?;
    let mut behind = rest.get(length..)?.iter();
    let varied = behind.clone().next().is_some_and(|field| field.ends_with('%'));
    let running = behind.nth(if varied { 2 } else { 1 }).and_then(|field| super::figure(field));
    Some(Count { event, value: (*value).to_owned(), unit: (*unit).to_owned(), running })
}

/// A line of `-j`.
fn in_json(line: &str) -> Option<Count> {
    let line: Value = serde_json::from_str(line.trim()).ok()?;
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(|text| text.trim().to_owned());
    Some(Count {
        event: text("event")?,
        value: text("counter-value")?,
        unit: text("unit").unwrap_or_default(),
        running: line.get("pcnt-running").and_then(Value::as_f64),
    })
}
