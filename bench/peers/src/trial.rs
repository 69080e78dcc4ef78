//! One trial: ours or theirs, some seconds, and one number on standard output.
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use regex_lite::Regex;
use serde_json::{Value, json};

use crate::namespaces::{CPUS, Place};

/// Length of a trial, s: a stream's rate wanders by a tenth from one tenth of a second to the next.
const SECONDS: u64 = 4;
const FOR_NS: u64 = SECONDS * 1_000_000_000;
/// Packets a second of a ping. From 10 ms between two of them on ping(8) sleeps as ours does; below it looks without pause, on
/// a CPU that never rests.
const RATE: u64 = 50;
/// Of sockperf, whose sender never sleeps: as many as give a steady median.
const SOCKPERF_RATE: u64 = 1_000;
/// Port of servers that cannot say which they have.
const PORT: u16 = 21_731;
/// Rank of who wakes, and how often, us.
const PRIORITY: u32 = 80;
const INTERVAL_US: u64 = 1_000;

/// Runs one trial and prints its number.
pub(crate) fn run(pair: &str, turn: &Path, powerband: &str, place: &str) -> Result<bool> {
    let turn = std::fs::read_to_string(turn).context("cannot read whose turn it is")?;
    let place = Place::named(place);
    let value = match (pair, turn.trim()) {
        ("stream and iperf3" | "stream and nuttcp", "ours") => stream(powerband, place)?,
        ("ping and ping", "ours") => {
            ping(powerband, place, "icmp", RATE)?["rtt_p50_ns"].as_f64().context("no median")? / 1e3
        }
        ("ping and sockperf", "ours") => median(&ping(powerband, place, "udp", SOCKPERF_RATE)?)? / 1e3,
        ("wake and cyclictest", "ours") => median(&wake(powerband)?)? / 1e3,
        ("stream and iperf3", "theirs") => iperf3(place)?,
        ("stream and nuttcp", "theirs") => nuttcp(place)?,
        ("ping and ping", "theirs") => iputils(place)?,
        ("ping and sockperf", "theirs") => sockperf(place)?,
        ("wake and cyclictest", "theirs") => cyclictest()?,
        (pair, turn) => bail!("there is no trial of '{pair}' for '{turn}'"),
    };
    ensure!(value.is_finite() && value > 0.0, "the number is {value}");
    say(value);
    Ok(true)
}

#[expect(clippy::print_stdout, reason = "the number is read there")]
fn say(value: f64) {
    println!("value {value}");
}

/// A child that is ended when it is no longer needed.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One part of a load of ours: the values it says, a line each.
struct Part {
    child: Ended,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Part {
    fn start(mut command: Command, work: &Value) -> Result<Part> {
        command.args(["__inside", &work.to_string()]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start our load")?;
        let stdout = child.stdout.take().context("no output")?;
        Ok(Part { child: Ended(child), lines: BufReader::new(stdout).lines() })
    }

    /// The next value that has this key.
    fn wait_for(&mut self, key: &str) -> Result<Value> {
        for line in self.lines.by_ref() {
            let value: Value = serde_json::from_str(&line?)?;
            if let Some(told) = value.get(key) {
                return Ok(told.clone());
            }
        }
        bail!("our load ended without '{key}'")
    }

    fn port(&mut self) -> Result<u64> {
        self.wait_for("ready")?["port"].as_u64().context("no port")
    }

    fn report(mut self) -> Result<Value> {
        let report = self.wait_for("report")?;
        ensure!(self.child.0.wait()?.success(), "our load failed");
        Ok(report)
    }
}

fn stream(powerband: &str, place: Place) -> Result<f64> {
    let address = place.address();
    let receive = json!({"kind": "stream_receive", "address": address, "port": 0});
    let mut receive = Part::start(place.bound(0, powerband), &receive)?;
    let port = receive.port()?;
    let send = json!({"kind": "stream_send", "address": address, "port": port, "for_ns": FOR_NS, "rtt_exchanges": 1});
    let send = Part::start(place.bound(1, powerband), &send)?;
    send.report()?;
    let got = receive.report()?;
    let number = |key: &str| got[key].as_f64().context("no number");
    Ok(number("bytes")? * 8e-6 / number("seconds")?)
}

fn ping(powerband: &str, place: Place, protocol: &str, rate_per_s: u64) -> Result<Value> {
    let address = place.address();
    let echo = json!({"kind": "echo", "protocol": protocol, "address": address, "port": 0});
    let mut echo = (protocol != "icmp").then(|| Part::start(place.command(0, powerband), &echo)).transpose()?;
    let port = echo.as_mut().map_or(Ok(0), Part::port)?;
    let work = json!({"kind": "ping", "protocol": protocol, "address": address, "port": port, "for_ns": FOR_NS,
                      "rate_per_s": rate_per_s as f64, "arrivals": "constant", "seed": 1, "size_bytes": 56});
    Part::start(place.command(1, powerband), &work)?.report()
}

fn wake(powerband: &str) -> Result<Value> {
    let work = json!({"kind": "wake", "for_ns": FOR_NS, "interval_ns": INTERVAL_US * 1_000, "priority": PRIORITY});
    Part::start(Place::Loopback.bound(0, powerband), &work)?.report()
}

/// The median of a histogram of ours, ns.
fn median(report: &Value) -> Result<f64> {
    let cells: Vec<(f64, f64)> = serde_json::from_value(report["histogram"].clone()).context("no histogram")?;
    let all: f64 = cells.iter().map(|cell| cell.1).sum();
    let mut seen = 0.0;
    let middle = cells.iter().find(|cell| {
        seen += cell.1;
        seen >= all / 2.0
    });
    middle.map(|cell| cell.0).context("an empty histogram")
}

/// What a program printed, which ended well.
fn printed(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("cannot start a peer")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "a peer ended with {}: {complaint}{text}", output.status);
    Ok(text)
}

/// The number of the group in the first match.
fn found(text: &str, pattern: &str) -> Result<f64> {
    let pattern = Regex::new(pattern)?;
    let captures = pattern.captures(text).with_context(|| format!("'{pattern}' is not in: {text}"))?;
    Ok(captures.get(1).context("no group")?.as_str().parse()?)
}

/// A server, once it listens.
fn server(place: Place, mut command: Command, words: &[&str]) -> Result<Ended> {
    let child = command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let server = Ended(child.context("cannot start a peer's server")?);
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(20));
        if listens(place)? {
            return Ok(server);
        }
    }
    bail!("a peer's server does not listen")
}

/// Whether somebody has the port, by TCP or UDP, proc_net_tcp(5).
fn listens(place: Place) -> Result<bool> {
    let mut cat = place.command(0, "cat");
    cat.args(["/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"]);
    let text = printed(cat)?;
    let port = format!(":{PORT:04X} ");
    Ok(text
        .lines()
        .any(|line| line.split_whitespace().nth(1).is_some_and(|local| format!("{local} ").ends_with(&port))))
}

fn iperf3(place: Place) -> Result<f64> {
    let (port, seconds) = (PORT.to_string(), SECONDS.to_string());
    let _server = server(place, place.bound(0, "iperf3"), &["-s", "-1", "-p", &port, "-B", place.address()])?;
    let mut client = place.bound(1, "iperf3");
    client.args(["-c", place.address(), "-p", &port, "-t", &seconds, "-J"]);
    let value: Value = serde_json::from_str(&printed(client)?)?;
    Ok(value["end"]["sum_received"]["bits_per_second"].as_f64().context("no rate")? / 1e6)
}

fn nuttcp(place: Place) -> Result<f64> {
    let port = PORT.to_string();
    let data = (PORT + 1).to_string();
    let _server = server(place, place.bound(0, "nuttcp"), &["-S", "--nofork", "-P", &port])?;
    let mut client = place.bound(1, "nuttcp");
    client.args(["-t", "-fparse", "-P", &port, "-p", &data, &format!("-T{SECONDS}"), place.address()]);
    found(&printed(client)?, r"rate_Mbps=([0-9.]+)")
}

fn iputils(place: Place) -> Result<f64> {
    let mut ping = place.command(1, "ping");
    let interval = format!("{}", 1.0 / RATE as f64);
    ping.args(["-i", &interval, "-c", &(RATE * SECONDS).to_string(), "-s", "56", place.address()]);
    let text = printed(ping)?;
    let time = Regex::new(r"time=([0-9.]+) ms")?;
    let times = time.captures_iter(&text).map(|it| Ok((it[1].parse::<f64>()? * 1e3).round() as u64));
    let mut cells: BTreeMap<u64, f64> = BTreeMap::new();
    for us in times.collect::<Result<Vec<u64>>>()? {
        *cells.entry(us).or_default() += 1.0;
    }
    middle(&cells)
}

fn sockperf(place: Place) -> Result<f64> {
    let (port, rate, seconds) = (PORT.to_string(), SOCKPERF_RATE.to_string(), SECONDS.to_string());
    let _server = server(place, place.command(0, "sockperf"), &["server", "-i", place.address(), "-p", &port])?;
    let mut client = place.command(1, "sockperf");
    client.args(["under-load", "-i", place.address(), "-p", &port, "-t", &seconds, "-m", "56", "--mps", &rate]);
    client.args(["--reply-every", "1", "--full-rtt"]);
    found(&printed(client)?, r"percentile 50\.000 = +([0-9.]+)")
}

/// Without its tuning of the system: as it comes it keeps CPUs from resting, and measures another machine. Its main thread looks
/// every 10 ms whether it shall end; on the CPU that is measured these wakings alone make the others a tenth shorter, so that
/// thread has the other CPU.
fn cyclictest() -> Result<f64> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let file = folder.path().join("wakes.json");
    let mut test = Command::new("cyclictest");
    let loops = SECONDS * 1_000_000 / INTERVAL_US;
    test.args(["-a", CPUS[0], &format!("--mainaffinity={}", CPUS[1])]);
    test.args(["-q", "--default-system", "-t1", "-m", "-h", "20000"]);
    test.args(["-p", &PRIORITY.to_string(), "-i", &INTERVAL_US.to_string()]);
    test.args(["-l", &loops.to_string()]).arg(format!("--json={}", file.display()));
    printed(test)?;
    let mut text = String::new();
    std::fs::File::open(&file).context("no result")?.read_to_string(&mut text)?;
    let value: Value = serde_json::from_str(&text)?;
    let histogram = value["thread"]["0"]["histogram"].as_object().context("no histogram")?;
    let cells = histogram.iter().filter_map(|(us, count)| Some((us.parse().ok()?, count.as_f64()?)));
    middle(&cells.collect())
}

/// The median of counts by whole microseconds. Both tools cut off what is below one: the values of a cell are even in it.
fn middle(cells: &BTreeMap<u64, f64>) -> Result<f64> {
    let half = cells.values().sum::<f64>() / 2.0;
    let mut seen = 0.0;
    for (&us, &count) in cells {
        if seen + count >= half && count > 0.0 {
            return Ok(us as f64 + (half - seen) / count);
        }
        seen += count;
    }
    bail!("an empty histogram")
}
