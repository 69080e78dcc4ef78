//! ping by the two lines it ends with, which iputils, busybox and inetutils write almost alike.
use powerband_record::Better;

use super::json::short;
use super::options::Options;
use super::{Call, Printed, Reading, figure, judged, shown};

/// Short options that take a value.
const VALUED: &str = "cCdIiFlmMNpQsStTWw";

pub(super) fn call() -> Call {
    let rest = shown(Better::Lower, ["rtt_min_ms", "rtt_max_ms", "rtt_mdev_ms"]);
    let decide = ["rtt_ms", "lost_percent"].map(|name| judged(name, Better::Lower)).into_iter();
    Call { metrics: decide.chain(rest).collect(), unreadable: None }
}

pub(super) fn read(words: &[String], printed: &Printed) -> Result<Reading, String> {
    let counts = only(printed.stdout, "packets transmitted")?.ok_or("ping ended without its count of packets")?;
    let mut parts = counts.split(',').map(str::trim);
    let mut count = |words: &str| -> Result<f64, String> {
        let part = parts.next().and_then(|part| part.strip_suffix(words)?.split_whitespace().next());
        part.and_then(figure).ok_or_else(|| format!("ping's count of packets is '{}'", short(counts)))
    };
    let sent = count("packets transmitted")?;
    let received = count("received")?;
    let mut reading = Reading::default();
    let lost_percent = if sent > 0.0 { 100.0 * (sent - received) / sent } else { 100.0 };
    if received == 0.0 {
        reading.put_lost(lost_percent, || format!("no answer came to ping's {sent} packets"), printed)?;
        return Ok(reading);
    }
    if received > sent {
        return Err(format!("ping says that {received} of {sent} packets came back"));
    }
    let options = Options::of(words, VALUED, None);
    let asked = options.value(&["c"]).and_then(figure).filter(|_| !options.has(&["w"]));
    if asked.is_some_and(|asked| sent < asked) {
        return Err(format!("ping sent {sent} of the {} packets asked for", asked.unwrap_or_default()));
    }
    if let Some(doubled) = counts.split(',').map(str::trim).find(|part| part.ends_with("duplicates")) {
        reading.note(format!(
            "ping saw duplicates ({doubled} in one trial): two hosts answer, or the network doubles packets"
        ));
    }
    round_trips(&mut reading, printed)?;
    let lossy = || {
        format!("ping lost {} of {sent} packets, and what came back says too little of what did not", sent - received)
    };
    reading.put_lost(lost_percent, lossy, printed)?;
    Ok(reading)
}

fn round_trips(reading: &mut Reading, printed: &Printed) -> Result<(), String> {
    let line = only(printed.stdout, "min/avg/max")?
        .ok_or("ping measured no round trips; its packets are too small to hold a time")?;
    let wrong = || format!("ping's round trips are '{}', which are no numbers", short(line));
    let (names, values) = line.split_once('=').ok_or_else(wrong)?;
    let values = values.trim().split_once(" ms").map(|(values, _)| values).ok_or_else(wrong)?;
    let values: Vec<f64> = values.split('/').map(figure).collect::<Option<_>>().ok_or_else(wrong)?;
    let (min, mean, max, mdev) = match values[..] {
        [min, mean, max] => (min, mean, max, None),
        [min, mean, max, mdev] if names.contains("/mdev") || names.contains("/stddev") => (min, mean, max, Some(mdev)),
        _ => return Err(wrong()),
    };
    if min > mean || mean > max {
        return Err(format!("ping's round trips contradict themselves: '{}'", short(line)));
    }
    reading.put("rtt_ms", mean, printed)?;
    reading.put("rtt_min_ms", min, printed)?;
    reading.put("rtt_max_ms", max, printed)?;
    reading.put_or("rtt_mdev_ms", mdev, "this ping says nothing of how its round trips scatter", printed)
}

/// The one line that holds some words.
fn only<'a>(text: &'a str, words: &str) -> Result<Option<&'a str>, String> {
    let mut lines = text.lines().filter(|line| line.contains(words));
    match (lines.next(), lines.next()) {
        (line, None) => Ok(line),
        _ => Err(format!("ping printed more than one line of '{words}', and it is unclear which counts")),
    }
}
