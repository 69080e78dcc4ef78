//! sockperf by its summary, colours taken off: `ping-pong` and `under-load`.
//!
//! Its latency is half a round trip, or the whole of one with `--full-rtt`.
use powerband_record::Better;

use super::json::short;
use super::options::Options;
use super::{Call, Printed, Reading, brief, falls_short, figure, judged, shown, uncoloured};

/// Short options that take a value.
const VALUED: &str = "fFipmtrbnx";

pub(super) fn call(words: &[String]) -> Call {
    let options = Options::of(words, VALUED, None);
    let verb = options.operands.first().map(String::as_str);
    let readable = matches!(verb, Some("ping-pong" | "pp" | "under-load" | "ul"));
    let rest = ["p90_us", "p99_us", "max_us", "mean_us", "min_us", "duplicated_messages", "out_of_order_messages"];
    let decide = ["p50_us", "lost_percent"].map(|name| judged(name, Better::Lower)).into_iter();
    let metrics = decide.chain(shown(Better::Lower, rest)).collect();
    let why = "of sockperf, ping-pong and under-load are read; the others measure no latency here";
    Call { metrics, unreadable: (!readable).then(|| why.to_owned()) }
}

pub(super) fn read(words: &[String], printed: &Printed) -> Result<Reading, String> {
    let text = one_space(&uncoloured(printed.stdout));
    // What goes wrong is said on standard output as well, with exit status 0.
    let says = |words: &str| text.lines().find(|line| line.to_ascii_lowercase().contains(words)).map(said);
    if let Some(line) = says("no messages were received").or_else(|| says("error:")) {
        return Err(format!("sockperf says: {line}"));
    }
    let total = only(&text, "[Total Run]")?;
    let valid = only(&text, "[Valid Duration]")?;
    as_asked(words, total, printed)?;
    let mut reading = Reading::default();
    if let Some(line) = says("warning:") {
        reading.note(format!("sockperf says: {line}"));
    }
    losses(&mut reading, &text, valid, printed)?;
    let mean = ["avg-latency=", "avg-rtt=", "avg-lat="].iter().find_map(|key| behind(&text, key)).and_then(figure);
    let observations = text.lines().find_map(|line| line.split_once(" observations;")?.0.rsplit(' ').next());
    let observations = observations.and_then(figure).ok_or("sockperf says of no observations")?;
    reading.put_or("mean_us", mean, "sockperf printed no mean", printed)?;
    let at = |name: &str| -> Result<Option<f64>, String> {
        let Some(rest) = text.lines().find_map(|line| line.split_once(name).map(|(_, rest)| rest)) else {
            return Ok(None);
        };
        let value = rest.trim().strip_prefix('=').map(str::trim).and_then(figure);
        value.map(Some).ok_or_else(|| format!("sockperf's {name} is '{}'", short(rest.trim())))
    };
    if at("<MIN> observation")?.is_none() {
        return Err("what sockperf printed is cut short".into());
    }
    // A percentile needs one observation at least beyond it.
    for (name, key, least) in [
        ("p50_us", "percentile 50.0", 2.0),
        ("p90_us", "percentile 90.0", 10.0),
        ("p99_us", "percentile 99.0", 100.0),
        ("max_us", "<MAX> observation", 1.0),
        ("min_us", "<MIN> observation", 1.0),
    ] {
        // Older versions print three digits of the percentile, newer ones two.
        let value =
            [key.to_owned(), format!("{key}0"), format!("{key}00")].iter().rev().find_map(|key| at(key).transpose());
        let value = value.transpose()?.filter(|_| observations >= least);
        let why = format!("{observations} observations are too few for it");
        reading.put_or(name, value, &why, printed)?;
    }
    let order = ["min_us", "p50_us", "p90_us", "p99_us", "max_us"].map(|name| reading.values.get(name).copied());
    if order.into_iter().flatten().is_sorted() {
        Ok(reading)
    } else {
        Err("sockperf's percentiles are out of order".into())
    }
}

/// A line of sockperf's without its name in front.
fn said(line: &str) -> String {
    short(line.trim_start_matches("sockperf:").trim())
}

/// Whether it ran as long and sent as fast as it was told to.
fn as_asked(words: &[String], total: &str, printed: &Printed) -> Result<(), String> {
    let options = Options::of(words, VALUED, None);
    let ran_s = behind(total, "RunTime=").and_then(figure).ok_or("sockperf says of no run time")?;
    let sent = behind(total, "SentMessages=").and_then(figure).ok_or("sockperf says of no sent messages")?;
    if let Some(wanted) = options.value(&["t", "time"]).and_then(figure)
        && falls_short(ran_s, wanted)
    {
        return Err(format!("sockperf ran for {} s of the {} s asked for", brief(ran_s), brief(wanted)));
    }
    printed.lasted(ran_s, "sockperf")?;
    // One message more or less is a matter of when it stopped.
    if let Some(wanted) = options.value(&["mps"]).and_then(figure)
        && falls_short((sent + 1.0) / ran_s, wanted)
    {
        let rate = brief(sent / ran_s);
        return Err(format!("sockperf sent {rate} messages/s of the {wanted} asked for; ask for fewer"));
    }
    Ok(())
}

fn losses(reading: &mut Reading, text: &str, valid: &str, printed: &Printed) -> Result<(), String> {
    let sent = behind(valid, "SentMessages=").and_then(figure).filter(|&sent| sent > 0.0);
    let sent = sent.ok_or("sockperf sent nothing while it measured")?;
    // Versions 2 count packets, later ones messages.
    let count = |kind: &str| {
        let named = ["messages", "packets"].into_iter().find_map(|what| behind(text, &format!("{kind} {what} =")));
        named.and_then(figure).ok_or_else(|| format!("sockperf says of no {kind} messages"))
    };
    let (dropped, doubled, disordered) = (count("dropped")?, count("duplicated")?, count("out-of-order")?);
    let lost_percent = 100.0 * dropped / sent;
    let lossy = || {
        format!(
            "sockperf lost {dropped} of {sent} messages, and what came says too little of what did not; send fewer (--mps)"
        )
    };
    reading.put_lost(lost_percent, lossy, printed)?;
    reading.put("duplicated_messages", doubled, printed)?;
    reading.put("out_of_order_messages", disordered, printed)
}

/// The one line that holds some words; a second server's would be another's.
fn only<'a>(text: &'a str, words: &str) -> Result<&'a str, String> {
    let mut lines = text.lines().filter(|line| line.contains(words));
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(line),
        (None, _) => Err(format!("sockperf ended without its line '{words}'")),
        _ => Err(format!("sockperf printed more than one line '{words}'; measure one server at a time")),
    }
}

/// The word behind a key.
fn behind<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(key)?;
    rest.trim_start_matches(' ').split(|c: char| c.is_whitespace() || c == ';' || c == '(').next()
}

/// Each run of spaces as one: versions 2 align their figures by spaces elsewhere than later ones.
fn one_space(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        line.split_whitespace().collect::<Vec<_>>().join(" ") + end
    });
    lines.collect()
}
