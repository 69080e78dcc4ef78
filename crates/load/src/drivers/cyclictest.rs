//! cyclictest by `--json=/dev/stdout`, by its histogram (`-h`), or by the lines that `-q` leaves.
//!
//! Times are us, also where it counts ns (`-N`). Percentiles come from the histograms of all threads together.
use std::collections::BTreeMap;

use powerband_record::Better;
use serde_json::Value;

use super::json::{document, number};
use super::options::Options;
use super::{Call, Printed, Reading, figure, judged, shown};

/// Short options that take a value.
const VALUED: &str = "aAbcCdDhHilopPTtvy";

fn options(words: &[String]) -> Options {
    Options::of(words, VALUED, None)
}

/// To standard output is where powerband reads.
fn prints_json(options: &Options) -> bool {
    options.value(&["json"]).is_some_and(|file| ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(&file))
}

fn has_histogram(options: &Options) -> bool {
    options.has(&["h", "H", "histogram", "histofall"])
}

pub(super) fn call(words: &[String]) -> Call {
    let options = options(words);
    let mut metrics = Vec::new();
    if has_histogram(&options) {
        metrics.push(judged("p50_us", Better::Lower));
        metrics.extend(shown(Better::Lower, ["p90_us", "p99_us", "max_us", "mean_us", "min_us"]));
    } else {
        metrics.push(judged("mean_us", Better::Lower));
        metrics.extend(shown(Better::Lower, ["max_us", "min_us"]));
    }
    let to_file = options.has(&["json"]) && !prints_json(&options);
    let readable = options.has(&["q", "quiet"]) || has_histogram(&options) || prints_json(&options);
    let readable = readable && !options.has(&["histfile"]);
    let add = if options.has(&["histfile"]) {
        "cyclictest's histogram goes to a file; leave out --histfile to have it read"
    } else if to_file {
        "cyclictest's JSON goes to a file; write --json=/dev/stdout to have it read"
    } else {
        "cyclictest's display is not read; add -q, or --json=/dev/stdout, to have mean_us and the rest as metrics"
    };
    Call { metrics, unreadable: (!readable).then(|| add.to_owned()) }
}

/// What one thread or all of them came to, in the unit cyclictest counted in.
#[derive(Debug, Default)]
struct Seen {
    wakes: f64,
    sum: f64,
    min: Option<f64>,
    max: Option<f64>,
    /// How often each latency came.
    histogram: BTreeMap<u64, u64>,
    /// How many lay beyond the histogram.
    beyond: f64,
}

impl Seen {
    fn add(&mut self, wakes: f64, min: f64, mean: f64, max: f64) -> Result<(), String> {
        if wakes < 1.0 {
            return Err("one of cyclictest's threads never woke".into());
        }
        // The mean is cut to a whole number.
        if min > mean + 1.0 || mean > max {
            return Err(format!("cyclictest contradicts itself: least {min}, mean {mean}, most {max}"));
        }
        self.wakes += wakes;
        self.sum += wakes * mean;
        self.min = Some(self.min.map_or(min, |least| least.min(min)));
        self.max = Some(self.max.map_or(max, |most| most.max(max)));
        Ok(())
    }

    fn count(&mut self, latency: u64, times: u64) {
        if times > 0 {
            let count = self.histogram.entry(latency).or_default();
            *count = count.saturating_add(times);
        }
    }

    /// The latency that a share of all wakings did not exceed.
    fn percentile(&self, share: f64) -> Option<f64> {
        let total = self.histogram.values().fold(0.0, |sum, &count| sum + count as f64) + self.beyond;
        let mut seen = 0.0;
        self.histogram.iter().find_map(|(&latency, &count)| {
            seen += count as f64;
            (seen >= share * total).then_some(latency as f64)
        })
    }
}

pub(super) fn read(words: &[String], printed: &Printed) -> Result<Reading, String> {
    let options = options(words);
    let (seen, unit_us) = if prints_json(&options) {
        in_json(printed.stdout)?
    } else {
        let unit_us = if options.has(&["N", "nsecs"]) { 1e-3 } else { 1.0 };
        let with_sum = options.has(&["H", "histofall"]);
        let histogram = printed.stdout.contains("# Histogram");
        let threads = options.value(&["t", "threads"]).and_then(|threads| threads.parse().ok());
        let seen = if histogram { in_histogram(printed.stdout, with_sum)? } else { in_lines(printed.stdout, threads)? };
        (seen, unit_us)
    };
    let (Some(min), Some(max)) = (seen.min, seen.max) else { return Err("cyclictest printed no result".into()) };
    let mut reading = Reading::default();
    reading.put("mean_us", seen.sum / seen.wakes * unit_us, printed)?;
    reading.put("min_us", min * unit_us, printed)?;
    reading.put("max_us", max * unit_us, printed)?;
    for (name, share) in [("p50_us", 0.5), ("p90_us", 0.9), ("p99_us", 0.99)] {
        let value = seen.percentile(share).map(|latency| latency * unit_us);
        let why = format!(
            "{} of {} wakings were later than cyclictest's histogram goes; give -h a larger number",
            seen.beyond, seen.wakes
        );
        reading.put_or(name, value, &why, printed)?;
    }
    if let Some(held_us) = held_us(printed) {
        reading.note(format!(
            "cyclictest held /dev/cpu_dma_latency at {held_us} us, so that CPUs did not sleep deeper: this is not the machine that \
             an idle policy under test would meet; add --laptop to leave it alone"
        ));
    }
    Ok(reading)
}

/// The wake-up latency that cyclictest asked the kernel for, as it says.
fn held_us(printed: &Printed) -> Option<f64> {
    let mut lines = printed.stderr.lines().chain(printed.stdout.lines());
    lines.find_map(|line| figure(line.trim().strip_prefix("# /dev/cpu_dma_latency set to ")?.strip_suffix("us")?))
}

fn in_json(text: &str) -> Result<(Seen, f64), String> {
    let document = document(text, "cyclictest")?;
    if let Some(code) = number(&document, "/return_code").filter(|&code| code != 0.0) {
        return Err(format!("cyclictest says that it ended with {code}"));
    }
    let threads = document.get("thread").and_then(Value::as_object).ok_or("cyclictest's JSON has no threads")?;
    let mut seen = Seen::default();
    for (name, thread) in threads {
        let get = |key: &str| {
            let value = thread.get(key).and_then(Value::as_f64).filter(|value| *value >= 0.0);
            value.ok_or_else(|| format!("cyclictest's thread {name} has no number at {key}"))
        };
        let wakes = get("cycles")?;
        seen.add(wakes, get("min")?, get("avg")?, get("max")?)?;
        let mut within = 0.0;
        for (latency, times) in thread.get("histogram").and_then(Value::as_object).into_iter().flatten() {
            let pair = latency.parse::<u64>().ok().zip(times.as_u64());
            let (latency, times) = pair.ok_or_else(|| format!("cyclictest's histogram has {latency}: {times}"))?;
            seen.count(latency, times);
            within += times as f64;
        }
        seen.beyond += (wakes - within).max(0.0);
    }
    let in_ns = number(&document, "/resolution_in_ns") == Some(1.0);
    Ok((seen, if in_ns { 1e-3 } else { 1.0 }))
}

/// The lines `T: 0 (20657) P:80 I:500 C: 1996 Min: 6 Act: 20 Avg: 20 Max: 1366`, the last of each thread. Where
/// their number was given, so many there must be.
fn in_lines(text: &str, wanted: Option<usize>) -> Result<Seen, String> {
    let mut threads: BTreeMap<u64, &str> = BTreeMap::new();
    for line in text.lines() {
        let thread = line.trim_start().strip_prefix("T:").and_then(|rest| rest.split_whitespace().next());
        if let Some(thread) = thread.and_then(|thread| thread.parse().ok()) {
            threads.insert(thread, line);
        }
    }
    if let Some(wanted) = wanted.filter(|wanted| *wanted != threads.len()) {
        return Err(format!("cyclictest printed {} of its {wanted} threads", threads.len()));
    }
    let mut seen = Seen::default();
    for (thread, line) in threads {
        let get = |key: &str| {
            let value = line.split_once(key).and_then(|(_, rest)| rest.split_whitespace().next());
            value.and_then(figure).ok_or_else(|| format!("cyclictest's thread {thread} has no number at {key}"))
        };
        seen.add(get(" C:")?, get("Min:")?, get("Avg:")?, get("Max:")?)?;
    }
    Ok(seen)
}

/// Rows of `latency count…`, a column a thread, and `# Total:`, `# Min Latencies:` and similar ones below. With `-H` the last
/// column is the sum of the others.
fn in_histogram(text: &str, with_sum: bool) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let own = |columns: &str| -> Option<Vec<f64>> {
        let mut columns: Vec<f64> = columns.split_whitespace().map(figure).collect::<Option<_>>()?;
        if with_sum {
            columns.pop();
        }
        Some(columns)
    };
    let wrong = |line: &str| format!("cyclictest's histogram has the line '{}'", super::json::short(line));
    for line in text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let (latency, counts) = line.split_once(' ').ok_or_else(|| wrong(line))?;
        let latency = latency.parse().map_err(|_| wrong(line))?;
        for count in own(counts).ok_or_else(|| wrong(line))? {
            // A count has no fraction; what is too large for one stays the largest.
            seen.count(latency, count as u64);
        }
    }
    let row = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.ok_or_else(|| format!("cyclictest's histogram ends without its '{name}' line"))?;
        own(line).ok_or_else(|| wrong(line))
    };
    let (within, beyond) = (row("# Total:")?, row("# Histogram Overflows:")?);
    let (min, mean, max) = (row("# Min Latencies:")?, row("# Avg Latencies:")?, row("# Max Latencies:")?);
    // cyclictest adds no sum to its rows of least and mean latencies.
    let (min, mean) =
        if with_sum { (row_of(text, "# Min Latencies:"), row_of(text, "# Avg Latencies:")) } else { (min, mean) };
    let threads = within.len();
    if threads == 0 || [&beyond, &min, &mean, &max].iter().any(|row| row.len() != threads) {
        return Err("cyclictest's histogram has rows of different length".into());
    }
    let rows = within.iter().zip(&beyond).zip(min.iter().zip(&mean)).zip(&max);
    for (((within, beyond), (min, mean)), max) in rows {
        seen.beyond += beyond;
        seen.add(within + beyond, *min, *mean, *max)?;
    }
    Ok(seen)
}

/// The numbers of a row that has no sum.
fn row_of(text: &str, name: &str) -> Vec<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().filter_map(figure).collect()
}
