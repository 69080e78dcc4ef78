//! nuttcp by its `-fparse`: words of the form `key=value`, one line at the end.
//!
//! Its rate is what the receiver got; CPU shares are per cent of one CPU, in whole numbers.
use std::collections::BTreeMap;

use powerband_record::{Better, IntoOrdered as _};

use super::json::short;
use super::options::{Options, seconds};
use super::{Call, Printed, Reading, brief, falls_short, figure, judged, shown};

/// Short options that take a value.
const VALUED: &str = "abcefgilmnopqvwxzIKMNPRST";

/// The same of what may stand behind its option or be left out; nuttcp wants values right behind their letter.
fn options(words: &[String]) -> Options {
    Options::of(words, VALUED, None)
}

/// Bytes in what nuttcp calls a megabyte, in bits and millions of them.
const MBIT_PER_MEGABYTE: f64 = 8.0 * 1024.0 * 1024.0 / 1e6;

pub(super) fn call(words: &[String]) -> Call {
    let mut metrics = vec![judged("rate_mbit_s", Better::Higher)];
    if words.iter().any(|word| is_flag(word, 'u')) {
        metrics.push(judged("lost_percent", Better::Lower));
        metrics.extend(shown(Better::Lower, ["dropped_packets"]));
    } else {
        metrics.extend(shown(Better::Lower, ["retransmits", "rtt_ms"]));
    }
    metrics.extend(shown(Better::Lower, ["tx_percent", "rx_percent"]));
    let readable = words.iter().any(|word| word == "-fparse") || words.windows(2).any(|pair| pair == ["-f", "parse"]);
    let add = "nuttcp's lines for people are not read; add -fparse to have rate_mbit_s and the rest as metrics";
    Call { metrics, unreadable: (!readable).then(|| add.to_owned()) }
}

/// Whether a word is a cluster of flags with this one in it.
fn is_flag(word: &str, flag: char) -> bool {
    let cluster = word.strip_prefix('-').unwrap_or_default();
    cluster.contains(flag) && cluster.chars().all(|c| "46BDEFhjLrstuUVWY".contains(c))
}

pub(super) fn read(words: &[String], printed: &Printed) -> Result<Reading, String> {
    if let Some(error) = complaint(printed.stdout, printed.stderr) {
        return Err(format!("nuttcp says: {error}"));
    }
    let results: Vec<&str> = printed.stdout.lines().filter(|line| line.contains("real_seconds=")).collect();
    let line = match results[..] {
        [line] => line,
        [] => return Err("nuttcp printed no line of results as -fparse has it".into()),
        _ => return Err("nuttcp printed more than one line of results, and it is unclear which counts".into()),
    };
    let pairs: BTreeMap<&str, &str> = line.split_whitespace().filter_map(|word| word.split_once('=')).into_map();
    let get = |key: &str| -> Result<Option<f64>, String> {
        let Some(&text) = pairs.get(key) else { return Ok(None) };
        figure(text).map(Some).ok_or_else(|| format!("nuttcp printed {key}={}, which is no number", short(text)))
    };
    let need = |key: &str| get(key)?.ok_or_else(|| format!("nuttcp's line of results has no {key}"));
    let (megabytes, real_s, rate) = (need("megabytes")?, need("real_seconds")?, need("rate_Mbps")?);
    if megabytes == 0.0 || real_s == 0.0 {
        return Err("nuttcp says that nothing was received".into());
    }
    // Seconds are printed to a hundredth.
    let fitting = megabytes * MBIT_PER_MEGABYTE / real_s;
    if (fitting - rate).abs() > (0.01 + 0.006 / real_s) * fitting {
        return Err(format!("nuttcp contradicts itself: {megabytes} MB in {real_s} s are not {rate} Mbit/s"));
    }
    let mut reading = Reading::default();
    reading.put("rate_mbit_s", rate, printed)?;
    for (name, key) in
        [("tx_percent", "tx_cpu"), ("rx_percent", "rx_cpu"), ("retransmits", "retrans"), ("rtt_ms", "rtt_ms")]
    {
        let why = format!("nuttcp printed no {key} this time");
        reading.put_or(name, get(key)?, &why, printed)?;
    }
    let lost = get("data_loss")?;
    reading.put_or("lost_percent", lost, "nuttcp printed no data_loss", printed)?;
    reading.put_or("dropped_packets", get("drop")?, "nuttcp printed no drop", printed)?;
    as_asked(&options(words), real_s, rate, lost.unwrap_or(0.0))?;
    printed.lasted(real_s, "nuttcp")?;
    Ok(reading)
}

/// Whether it ran as long and sent as fast as it was told to.
fn as_asked(options: &Options, real_s: f64, rate: f64, lost_percent: f64) -> Result<(), String> {
    let timed = !options.has(&["n"]);
    if let Some(wanted) = options.value(&["T"]).and_then(seconds).filter(|_| timed)
        && falls_short(real_s + 0.005, wanted)
    {
        return Err(format!("nuttcp ran for {} s of the {} s asked for", brief(real_s), brief(wanted)));
    }
    let sent = rate / (1.0 - lost_percent.min(99.0) / 100.0);
    if let Some(wanted) = options.value(&["R"]).and_then(mbit_s)
        && falls_short(sent, wanted)
    {
        let (sent, wanted) = (brief(sent), brief(wanted));
        return Err(format!("nuttcp sent {sent} Mbit/s of the {wanted} asked for; ask for less, or for no rate"));
    }
    Ok(())
}

/// The rate behind `-R`, Mbit/s: kbit/s unless `m` or `g` is behind it, an `i` before it and a burst after it aside; `None`
/// where it is one of packets.
fn mbit_s(text: &str) -> Option<f64> {
    let text = text.trim_start_matches('i').split('/').next()?;
    let units = [("k", 1e-3), ("m", 1.0), ("g", 1e3)];
    let found = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (number, size) = found.unwrap_or((text, 1e-3));
    Some(figure(number)? * size)
}

/// The first line in which nuttcp says that something went wrong.
pub(super) fn complaint(stdout: &str, stderr: &str) -> Option<String> {
    let ours = |line: &&str| line.trim_start().starts_with("nuttcp") && line.contains("Error:");
    let line = stderr.lines().chain(stdout.lines()).find(ours)?;
    line.split_once("Error:").map(|(_, error)| short(error.trim()))
}
