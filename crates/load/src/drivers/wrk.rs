//! wrk, and wrk2 with its asked rate (`-R`), by their summary.
use powerband_record::Better;

use super::json::short;
use super::options::{Options, seconds};
use super::{Call, Printed, Reading, brief, falls_short, figure, judged, shown};

/// Short options that take a value.
const VALUED: &str = "cdtsHTRB";

/// Where nothing else is asked for it runs so long.
const DEFAULT_S: f64 = 10.0;

fn options(words: &[String]) -> Options {
    Options::of(words, VALUED, None)
}

pub(super) fn call(words: &[String]) -> Call {
    let options = options(words);
    let (paced, spread) = (options.has(&["R", "rate"]), options.has(&["latency", "L"]));
    let rate = judged("requests_per_s", Better::Higher);
    let mut metrics = Vec::new();
    // At a rate that is given, what differs is how long requests take.
    let chief = if spread { "p99_us" } else { "mean_us" };
    if paced {
        metrics.push(judged(chief, Better::Lower));
    }
    metrics.push(powerband_record::Metric { judged: !paced, ..rate });
    let rest =
        if spread { &["p50_us", "p90_us", "p99_us", "mean_us", "max_us"][..] } else { &["mean_us", "max_us"][..] };
    metrics
        .extend(rest.iter().filter(|name| !(paced && **name == chief)).flat_map(|name| shown(Better::Lower, [*name])));
    Call { metrics, unreadable: None }
}

pub(super) fn read(words: &[String], printed: &Printed) -> Result<Reading, String> {
    let text = printed.stdout;
    let line = |words: &str| text.lines().map(str::trim).find(|line| line.contains(words));
    if let Some(errors) = line("Socket errors:").and_then(|line| line.split_once(':')) {
        return Err(format!("wrk had socket errors:{}", short(errors.1)));
    }
    if let Some(refused) = line("Non-2xx or 3xx responses:").and_then(|line| line.split_once(':')) {
        return Err(format!("{} of wrk's requests were answered with an error by the server", short(refused.1.trim())));
    }
    let (requests, ran_s) = counted(text)?;
    let options = options(words);
    let asked_s = options.value(&["d", "duration"]).and_then(seconds).unwrap_or(DEFAULT_S);
    if falls_short(ran_s, asked_s) {
        return Err(format!("wrk ran for {} s of the {} s asked for", brief(ran_s), brief(asked_s)));
    }
    printed.lasted(ran_s, "wrk")?;
    let rate = line("Requests/sec:").and_then(|line| figure(line.split_once(':')?.1.trim()));
    let rate = rate.ok_or("wrk ended without its requests a second")?;
    if requests == 0.0 || rate == 0.0 {
        return Err("no request of wrk's was answered".into());
    }
    let fitting = requests / ran_s;
    if (fitting - rate).abs() > (0.01 + 0.006 / ran_s) * fitting {
        return Err(format!("wrk contradicts itself: {requests} requests in {ran_s} s are not {rate} a second"));
    }
    if let Some(asked) = options.value(&["R", "rate"]).and_then(count)
        && falls_short(rate, asked)
    {
        return Err(format!("wrk made {} requests/s of the {} asked for; ask for fewer", brief(rate), brief(asked)));
    }
    let mut reading = Reading::default();
    reading.put("requests_per_s", rate, printed)?;
    latencies(&mut reading, text, printed)?;
    Ok(reading)
}

/// `2154 requests in 1.00s, 424.91KB read`.
fn counted(text: &str) -> Result<(f64, f64), String> {
    let line = text.lines().map(str::trim).find(|line| line.contains(" requests in "));
    let (requests, rest) =
        line.and_then(|line| line.split_once(" requests in ")).ok_or("wrk ended without its count of requests")?;
    let ran_s = rest.split(',').next().and_then(time_us).map(|us| us / 1e6).filter(|s| *s > 0.0);
    let both = figure(requests).zip(ran_s);
    both.ok_or_else(|| format!("wrk's count of requests is '{}'", short(line.unwrap_or_default())))
}

fn latencies(reading: &mut Reading, text: &str, printed: &Printed) -> Result<(), String> {
    let stats = text.lines().map(str::trim).find_map(|line| line.strip_prefix("Latency "));
    let stats: Vec<&str> = stats.into_iter().flat_map(str::split_whitespace).collect();
    if let [mean, _, max, ..] = stats[..]
        && let (Some(mean), Some(max)) = (time_us(mean), time_us(max))
    {
        reading.put("mean_us", mean, printed)?;
        reading.put("max_us", max, printed)?;
    }
    // wrk2 prints a second table of them without what waiting adds; the first counts.
    let table = text.lines().skip_while(|line| !line.contains("Latency Distribution")).skip(1);
    for line in table.take_while(|line| line.contains('%')) {
        let Some((share, time)) = line.trim().split_once('%') else { break };
        let time =
            time_us(time.trim()).ok_or_else(|| format!("wrk's latencies have the line '{}'", short(line.trim())))?;
        let share = figure(share);
        for (name, wanted) in [("p50_us", 50.0), ("p90_us", 90.0), ("p99_us", 99.0)] {
            if share == Some(wanted) {
                reading.put(name, time, printed)?;
            }
        }
    }
    let order = ["p50_us", "p90_us", "p99_us"].map(|name| reading.values.get(name).copied());
    if order.into_iter().flatten().is_sorted() { Ok(()) } else { Err("wrk's percentiles are out of order".into()) }
}

/// A time as wrk prints it, us: `805.00us`, `1.01ms`, `2.00s`, `1.50m`, `1.00h`.
fn time_us(text: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6), ("m", 60e6), ("h", 3600e6)];
    let (number, size) = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)))?;
    Some(figure(number)? * size)
}

/// A count as wrk takes it: `2000`, `2k`, `1M`, `1G`.
fn count(text: &str) -> Option<f64> {
    let units = [("k", 1e3), ("M", 1e6), ("G", 1e9)];
    let found = units.into_iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)));
    let (number, size) = found.unwrap_or((text, 1.0));
    Some(figure(number)? * size)
}
