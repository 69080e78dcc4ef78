//! iperf3 by its JSON: `--json`, or `--json-stream` of 3.17 and later.
//!
//! The result is what the receiver got (`sum_received`). CPU shares are per cent of one CPU, over the whole process.
use powerband_record::Better;
use serde_json::{Map, Value};

use super::json::{document, number, short};
use super::options::Options;
use super::{Call, Printed, Reading, brief, falls_short, judged, shown};

/// Short options that take a value.
const VALUED: &str = "pfitcbnklPwBMSLOFATCIX";

/// A direction: what its metrics begin with, and what the sums are called.
struct Way {
    before: &'static str,
    sent: &'static str,
    received: &'static str,
    /// UDP's sum of both ends.
    both: &'static str,
}

const THERE: Way = Way { before: "", sent: "sum_sent", received: "sum_received", both: "sum" };
const BACK: Way = Way {
    before: "reverse_",
    sent: "sum_sent_bidir_reverse",
    received: "sum_received_bidir_reverse",
    both: "sum_bidir_reverse",
};

pub(super) fn call(words: &[String]) -> Call {
    let options = Options::of(words, VALUED, None);
    let (udp, bidir) = (options.has(&["u", "udp"]), options.has(&["bidir"]));
    let mut metrics = vec![judged("rate_mbit_s", Better::Higher)];
    if bidir {
        metrics.push(judged("reverse_rate_mbit_s", Better::Higher));
    }
    match (udp, bidir) {
        (true, false) => {
            metrics.push(judged("lost_percent", Better::Lower));
            metrics.extend(shown(Better::Lower, ["jitter_ms"]));
        }
        (true, true) => {
            metrics.extend(["lost_percent", "reverse_lost_percent"].map(|name| judged(name, Better::Lower)));
            metrics.extend(shown(Better::Lower, ["jitter_ms", "reverse_jitter_ms"]));
        }
        (false, false) => metrics.extend(shown(Better::Lower, ["retransmits", "rtt_ms"])),
        (false, true) => metrics.extend(shown(Better::Lower, ["retransmits", "reverse_retransmits", "rtt_ms"])),
    }
    metrics.extend(shown(Better::Lower, shares(bidir)));
    let unreadable = if !options.has(&["J", "json", "json-stream"]) {
        Some("iperf3 is read by its JSON only; add --json to have rate_mbit_s and the rest as metrics")
    } else if options.has(&["logfile"]) {
        Some("iperf3's JSON goes to a file; leave out --logfile to have it read")
    } else {
        None
    };
    Call { metrics, unreadable: unreadable.map(str::to_owned) }
}

/// CPU shares: of sender and receiver, or where both are both, of this end and the other.
fn shares(bidir: bool) -> [&'static str; 2] {
    if bidir { ["host_percent", "remote_percent"] } else { ["tx_percent", "rx_percent"] }
}

pub(super) fn read(_words: &[String], printed: &Printed) -> Result<Reading, String> {
    let document = result(printed.stdout)?;
    if let Some(error) = error_in(&document) {
        return Err(format!("iperf3 says: {error}"));
    }
    let Some(Value::Object(end)) = document.get("end").filter(|end| end.as_object().is_some_and(|end| !end.is_empty()))
    else {
        return Err("iperf3 ended without a result".into());
    };
    let test = |key: &str| number(&document, &format!("/start/test_start/{key}"));
    let protocol = document.pointer("/start/test_start/protocol").and_then(Value::as_str);
    let mut reading = Reading::default();
    let asked = Asked {
        seconds: if limited(&test) { 0.0 } else { test("duration").unwrap_or(0.0) },
        mbit_s: test("target_bitrate").unwrap_or(0.0) * test("num_streams").unwrap_or(1.0) / 1e6,
        block_mbit: test("blksize").unwrap_or(0.0) * test("num_streams").unwrap_or(1.0) * 8.0 / 1e6,
    };
    let bidir = end.contains_key(BACK.received) || end.contains_key(BACK.both);
    let ran = Ran { end, asked, printed };
    for way in [THERE, BACK].into_iter().take(if bidir { 2 } else { 1 }) {
        match protocol {
            Some("UDP") => udp(&mut reading, &way, &ran)?,
            Some("TCP" | "SCTP") => tcp(&mut reading, &way, &ran)?,
            _ => return Err("iperf3 does not say over which protocol it ran".into()),
        }
    }
    let reversed = test("reverse") == Some(1.0);
    cpu(&mut reading, &document, bidir, reversed, printed)?;
    if protocol == Some("TCP") {
        let mean_us = round_trip_us(&document);
        let why = "iperf3 names no round trip; it does on Linux, at the end that sends";
        reading.put_or("rtt_ms", mean_us.map(|us| us / 1000.0), why, printed)?;
    }
    Ok(reading)
}

/// What the run was to do.
struct Asked {
    /// For how long; 0 where it was to carry so many bytes.
    seconds: f64,
    /// How fast each way; 0 is as fast as it goes.
    mbit_s: f64,
    /// What goes out at once, of all streams.
    block_mbit: f64,
}

/// A run: its sums, what it was to do, and all it printed.
struct Ran<'a> {
    end: &'a Map<String, Value>,
    asked: Asked,
    printed: &'a Printed<'a>,
}

/// Whether the run was to end after so many bytes or blocks.
fn limited(test: &impl Fn(&str) -> Option<f64>) -> bool {
    ["bytes", "blocks"].iter().any(|key| test(key).is_some_and(|count| count > 0.0))
}

/// The one document, or what the events of a stream of them come to.
fn result(text: &str) -> Result<Value, String> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_event = |value: &Value| value.get("event").is_some_and(Value::is_string);
    if !serde_json::from_str::<Value>(first).is_ok_and(|value| is_event(&value)) {
        return document(text, "iperf3");
    }
    let mut whole = Map::new();
    for event in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let mut event = event.map_err(|_| "the stream of JSON that iperf3 printed is cut short".to_owned())?;
        // `--json-stream-full-output` ends with the whole document.
        if event.get("event").is_none() && event.get("start").is_some() && event.get("end").is_some() {
            return Ok(event);
        }
        let name = event.get("event").and_then(Value::as_str).map(str::to_owned);
        let name = name.ok_or_else(|| "iperf3 printed JSON among its events that is none".to_owned())?;
        if name == "interval" {
            continue;
        }
        let data = event.get_mut("data").map(Value::take).unwrap_or_default();
        if whole.insert(name.clone(), data).is_some() {
            return Err(format!("iperf3 printed two events '{name}', and it is unclear which counts"));
        }
    }
    Ok(Value::Object(whole))
}

fn error_in(document: &Value) -> Option<String> {
    let error = document.get("error")?;
    Some(short(error.as_str().unwrap_or(&error.to_string())))
}

/// What a run that failed says in its JSON.
pub(super) fn complaint(stdout: &str) -> Option<String> {
    error_in(&result(stdout).ok()?)
}

fn tcp(reading: &mut Reading, way: &Way, ran: &Ran<'_>) -> Result<(), String> {
    let Ran { end, asked, printed } = ran;
    let sent = Sum::of(end, way.sent)?.ok_or_else(|| format!("iperf3's result has no {}", way.sent))?;
    let received = Sum::of(end, way.received)?.ok_or_else(|| format!("iperf3's result has no {}", way.received))?;
    sent.fulfils(asked, printed)?;
    received.lasts(asked, printed)?;
    if received.bytes == 0.0 {
        return Err("iperf3 says that nothing was received".into());
    }
    reading.put(&format!("{}rate_mbit_s", way.before), received.mbit_s, printed)?;
    let retransmits = end.get(way.sent).and_then(|sum| number(sum, "/retransmits"));
    let why = "iperf3 counts no retransmits here; it does where Linux sends";
    reading.put_or(&format!("{}retransmits", way.before), retransmits, why, printed)
}

fn udp(reading: &mut Reading, way: &Way, ran: &Ran<'_>) -> Result<(), String> {
    let Ran { end, asked, printed } = ran;
    let both = Sum::of(end, way.both)?;
    let (sent, received) = (Sum::of(end, way.sent)?, Sum::of(end, way.received)?);
    let sums = || end.get(way.both).into_iter().chain(end.get(way.received));
    let find = |key: &str| sums().find_map(|sum| number(sum, key));
    let (packets, lost) = (find("/packets"), find("/lost_packets"));
    let (Some(packets), Some(lost)) = (packets, lost) else {
        return Err("iperf3's result does not say how many packets went and were lost".into());
    };
    if packets <= 0.0 || lost < 0.0 || lost >= packets {
        return Err(format!("iperf3 says that {lost} of {packets} packets were lost"));
    }
    let whole = sent.or(both).ok_or_else(|| format!("iperf3's result has neither {} nor {}", way.sent, way.both))?;
    if received.or(both).is_some_and(|sum| sum.bytes == 0.0) {
        return Err("iperf3 says that nothing was received".into());
    }
    whole.fulfils(asked, printed)?;
    // Before 3.10 there is one sum, of what was sent: it is what was received only where nothing was lost.
    let rate = received.or(both.filter(|_| lost == 0.0)).map(|sum| sum.mbit_s);
    let why = "this iperf3 says only what was sent, and some of it was lost; 3.10 and later say what was received";
    reading.put_or(&format!("{}rate_mbit_s", way.before), rate, why, printed)?;
    let jitter = find("/jitter_ms");
    reading.put_or(&format!("{}jitter_ms", way.before), jitter, "iperf3 names no jitter", printed)?;
    reading.put(&format!("{}lost_percent", way.before), 100.0 * lost / packets, printed)
}

/// What went one way.
#[derive(Clone, Copy)]
struct Sum {
    seconds: f64,
    bytes: f64,
    mbit_s: f64,
}

impl Sum {
    /// A sum by its name; one that contradicts itself is an error.
    fn of(end: &Map<String, Value>, name: &str) -> Result<Option<Sum>, String> {
        let Some(sum) = end.get(name) else { return Ok(None) };
        let get = |key: &str| {
            let value = sum.get(key).and_then(Value::as_f64);
            value.ok_or_else(|| format!("iperf3's {name} has no number at {key}"))
        };
        let (seconds, bytes, bits_per_s) = (get("seconds")?, get("bytes")?, get("bits_per_second")?);
        if seconds <= 0.0 || bytes < 0.0 || bits_per_s < 0.0 {
            return Err(format!("iperf3's {name} says {bytes} bytes in {seconds} s, {bits_per_s} bit/s"));
        }
        let fitting = 8.0 * bytes / seconds;
        if (fitting - bits_per_s).abs() > 0.02 * fitting + 1000.0 {
            return Err(format!(
                "iperf3's {name} contradicts itself: {bytes} bytes in {} s are not {bits_per_s} bit/s",
                brief(seconds)
            ));
        }
        Ok(Some(Sum { seconds, bytes, mbit_s: bits_per_s / 1e6 }))
    }

    fn lasts(&self, asked: &Asked, printed: &Printed) -> Result<(), String> {
        if falls_short(self.seconds, asked.seconds) {
            let (ran, wanted) = (brief(self.seconds), brief(asked.seconds));
            return Err(format!("iperf3 ran for {ran} s of the {wanted} s asked for"));
        }
        printed.lasted(self.seconds, "iperf3")
    }

    fn fulfils(&self, asked: &Asked, printed: &Printed) -> Result<(), String> {
        self.lasts(asked, printed)?;
        let in_blocks = self.mbit_s + asked.block_mbit / self.seconds;
        if falls_short(self.mbit_s, asked.mbit_s) && in_blocks < asked.mbit_s {
            let (sent, wanted) = (brief(self.mbit_s), brief(asked.mbit_s));
            return Err(format!("iperf3 sent {sent} Mbit/s of the {wanted} asked for; ask for less, or for no rate"));
        }
        Ok(())
    }
}

fn cpu(reading: &mut Reading, document: &Value, bidir: bool, reversed: bool, printed: &Printed) -> Result<(), String> {
    let ends = if reversed { ["remote", "host"] } else { ["host", "remote"] };
    for (name, end) in shares(bidir).into_iter().zip(ends) {
        let share = number(document, &format!("/end/cpu_utilization_percent/{end}_total"));
        reading.put_or(name, share, "iperf3 names no CPU share", printed)?;
    }
    Ok(())
}

/// The mean round trip of the streams that this end or a newer other end sent, us; 0 is how iperf3 says that it knows none.
fn round_trip_us(document: &Value) -> Option<f64> {
    let streams = document.pointer("/end/streams")?.as_array()?;
    let sends = |stream: &&Value| number(stream, "/sender/mean_rtt").is_some_and(|us| us > 0.0);
    let ours = |stream: &&Value| stream.pointer("/sender/sender").and_then(Value::as_bool) != Some(false);
    let known: Vec<&Value> = streams.iter().filter(sends).collect();
    let forward: Vec<f64> =
        known.iter().copied().filter(ours).filter_map(|stream| number(stream, "/sender/mean_rtt")).collect();
    let all = || known.iter().filter_map(|stream| number(stream, "/sender/mean_rtt")).collect();
    let trips: Vec<f64> = if forward.is_empty() { all() } else { forward };
    (!trips.is_empty()).then(|| trips.iter().sum::<f64>() / trips.len() as f64)
}
