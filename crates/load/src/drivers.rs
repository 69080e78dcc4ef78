//! The field's own load tools: which of them a command calls, what can be read of its output, and when that is no measurement.
//! What is particular to a tool is in its own file; what all share (options, figures, what a reading holds) is here.
mod cyclictest;
mod iperf3;
mod json;
mod mpirun;
mod nuttcp;
mod options;
mod perf_stat;
mod ping;
mod sockperf;
mod wrk;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use json::short;
use powerband_machine::Finished;
use powerband_record::{MAX_LOST_PERCENT, Metric, Output, Void};
use serde::{Deserialize, Serialize};

use crate::metric::{judged, shown};

/// Whose output a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reads {
    /// That of the program it begins with, if that is a tool known here.
    #[default]
    Auto,
    /// Nobody's: nothing is read of what it prints but what metrics ask for.
    None,
    /// nuttcp's with `-fparse`.
    Nuttcp,
    /// iperf3's with `--json`.
    Iperf3,
    /// ping's: of iputils, busybox or inetutils.
    Ping,
    /// cyclictest's with `-q` or `--json=/dev/stdout`.
    Cyclictest,
    /// sockperf's: `ping-pong` and `under-load`.
    Sockperf,
    /// wrk's and wrk2's.
    Wrk,
    /// That of `perf stat` with `-x,` or `-j`.
    PerfStat,
    /// That of the program `mpirun` starts, without mpirun's own words.
    Mpirun,
}

/// Names that [`Reads`] has, and the programs each is recognised by.
const TOOLS: [(&str, Reads, &[&str]); 8] = [
    ("nuttcp", Reads::Nuttcp, &["nuttcp"]),
    ("iperf3", Reads::Iperf3, &["iperf3"]),
    ("ping", Reads::Ping, &["ping", "ping4", "ping6"]),
    ("cyclictest", Reads::Cyclictest, &["cyclictest"]),
    ("sockperf", Reads::Sockperf, &["sockperf"]),
    ("wrk", Reads::Wrk, &["wrk", "wrk2"]),
    ("perf_stat", Reads::PerfStat, &["perf"]),
    ("mpirun", Reads::Mpirun, &["mpirun", "mpiexec", "orterun"]),
];

/// Programs that start another one, which is not read unless that is said.
const LAUNCHERS: [&str; 16] = [
    "chroot", "chrt", "doas", "env", "ionice", "ip", "nice", "nohup", "nsenter", "numactl", "setarch", "stdbuf",
    "sudo", "taskset", "timeout", "unshare",
];

impl Reads {
    /// By its name in a plan or on the command line.
    ///
    /// # Errors
    /// The names there are.
    pub fn parse(name: &str) -> Result<Reads, String> {
        let known = TOOLS.iter().find(|(known, ..)| *known == name).map(|&(_, reads, _)| reads);
        match name {
            "auto" => Ok(Reads::Auto),
            "none" => Ok(Reads::None),
            _ => known.ok_or_else(|| {
                let names: Vec<&str> = TOOLS.iter().map(|(name, ..)| *name).collect();
                format!("nothing reads the output of '{name}'; write auto, none, {}", names.join(", "))
            }),
        }
    }
}

/// A tool as a command calls it.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    tool: Reads,
    /// What follows the tool's name.
    words: Vec<String>,
    /// What it promises.
    call: Call,
}

/// What a call of a tool promises.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// What is read of its output, the judged ones first.
    metrics: Vec<Metric>,
    /// Why nothing can be read of it called so, and what to add.
    unreadable: Option<String>,
}

/// What a tool printed, and how long it ran by our own clock.
pub(crate) struct Printed<'a> {
    stdout: &'a str,
    stderr: &'a str,
    real_s: f64,
}

/// What was read of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Values by metric.
    pub(crate) values: BTreeMap<String, f64>,
    /// Why others are not there.
    pub(crate) missing: BTreeMap<String, String>,
    /// What one should know about the values.
    pub(crate) notes: BTreeSet<String>,
    /// Why its times are void although they were read: too much was lost.
    pub(crate) lossy: Option<String>,
}

/// No network carries more, in Mbit/s; a larger rate is a slip of the tool.
const MAX_MBIT_S: f64 = 1e8;

/// The driver of a command, if one reads its output.
pub(crate) fn driver(argv: &[String], reads: Reads) -> Option<Driver> {
    let (tool, words) = match reads {
        Reads::None => return None,
        Reads::Auto => recognised(argv)?,
        tool => (tool, behind(argv, tool)),
    };
    let mut call = tool.call(&words)?;
    if call.unreadable.is_some() && reads == Reads::Auto {
        call.metrics.clear();
    }
    Some(Driver { tool, words, call })
}

/// Load tools that print figures nobody reads here: without a word their run time would pass for what they measure.
const UNREAD: [&str; 12] = [
    "ab",
    "fio",
    "fping",
    "h2load",
    "hey",
    "iperf",
    "memtier_benchmark",
    "netperf",
    "oha",
    "qperf",
    "sysbench",
    "vegeta",
];

/// What is worth saying about a command before it runs: how to have it read.
pub(crate) fn advice(argv: &[String], reads: Reads) -> Option<String> {
    if reads == Reads::Auto && recognised(argv).is_none() {
        let (program, rest) = argv.split_first()?;
        let launched = if LAUNCHERS.contains(&basename(program)) { rest } else { &[] };
        if let Some((tool, _)) = (0..launched.len()).find_map(|at| recognised(launched.get(at..)?)) {
            let &(name, ..) = TOOLS.iter().find(|(_, known, _)| *known == tool)?;
            return Some(format!(
                "{} starts {}, whose output can be read; add --reads {name} (in a plan: reads = \"{name}\")",
                basename(program),
                tool.name()
            ));
        }
        let mut words = std::iter::once(program).chain(launched).map(|word| basename(word));
        let name = words.find(|name| UNREAD.contains(name))?;
        return Some(format!(
            "the output of {name} is not read: its run time is measured, and what --metric NAME=regex:PATTERN picks"
        ));
    }
    let driver = driver(argv, reads)?;
    if driver.call.metrics.is_empty() { driver.call.unreadable } else { None }
}

impl Driver {
    /// What it reads, the judged ones first.
    pub(crate) fn metrics(&self) -> &[Metric] {
        &self.call.metrics
    }

    /// Reads one run.
    ///
    /// # Errors
    /// One sentence: why this was no measurement.
    pub(crate) fn read(&self, finished: &Finished) -> Result<Reading, String> {
        if self.call.metrics.is_empty() {
            return Ok(Reading::default());
        }
        let output = &finished.output;
        if output.cut {
            return Err(format!("{} printed more than is kept; let it print less", self.name()));
        }
        let real_s = finished.usage.real_ns as f64 / 1e9;
        let printed = Printed { stdout: self.whole(&output.stdout), stderr: self.whole(&output.stderr), real_s };
        let mut reading = self.tool.read(&self.words, &printed)?;
        for metric in &self.call.metrics {
            if !reading.values.contains_key(&metric.name) {
                let unsaid = || format!("{} printed no {} this time", self.name(), metric.name);
                reading.missing.entry(metric.name.clone()).or_insert_with(unsaid);
            }
        }
        Ok(reading)
    }

    /// What a run that failed says was wrong, where its last line does not.
    pub(crate) fn complaint(&self, output: &Output) -> Option<String> {
        match self.tool {
            Reads::Iperf3 => iperf3::complaint(&output.stdout),
            Reads::Nuttcp => nuttcp::complaint(&output.stdout, &output.stderr),
            Reads::Mpirun => mpirun::complaint(&output.stderr),
            _ => None,
        }
    }

    /// What the load itself printed, without what its launcher did.
    pub(crate) fn own(&self, output: &Output) -> Option<Output> {
        (self.tool == Reads::Mpirun).then(|| mpirun::without_chatter(output))
    }

    fn name(&self) -> &'static str {
        self.tool.name()
    }

    /// A text without a last line that nothing ended: a number at its end may be the beginning of another. Where a JSON
    /// document ends, it says itself.
    fn whole<'t>(&self, text: &'t str) -> &'t str {
        if self.tool == Reads::Iperf3 {
            text
        } else {
            text.get(..text.rfind('\n').map_or(0, |at| at + 1)).unwrap_or_default()
        }
    }
}

impl Reads {
    fn name(self) -> &'static str {
        match self {
            Reads::PerfStat => "perf stat",
            _ => TOOLS.iter().find(|(_, tool, _)| *tool == self).map_or("the command", |(name, ..)| name),
        }
    }

    /// What a call promises; `None` where the program does something else than a load.
    fn call(self, words: &[String]) -> Option<Call> {
        match self {
            Reads::Nuttcp => Some(nuttcp::call(words)),
            Reads::Iperf3 => Some(iperf3::call(words)),
            Reads::Ping => Some(ping::call()),
            Reads::Cyclictest => Some(cyclictest::call(words)),
            Reads::Sockperf => Some(sockperf::call(words)),
            Reads::Wrk => Some(wrk::call(words)),
            Reads::PerfStat => Some(perf_stat::call(words)),
            Reads::Mpirun => Some(Call::default()),
            Reads::Auto | Reads::None => None,
        }
    }

    fn read(self, words: &[String], printed: &Printed) -> Result<Reading, String> {
        match self {
            Reads::Nuttcp => nuttcp::read(words, printed),
            Reads::Iperf3 => iperf3::read(words, printed),
            Reads::Ping => ping::read(words, printed),
            Reads::Cyclictest => cyclictest::read(words, printed),
            Reads::Sockperf => sockperf::read(words, printed),
            Reads::Wrk => wrk::read(words, printed),
            Reads::PerfStat => perf_stat::read(words, printed),
            Reads::Auto | Reads::None | Reads::Mpirun => Ok(Reading::default()),
        }
    }
}

/// The tool a command begins with, and the words behind its name.
fn recognised(argv: &[String]) -> Option<(Reads, Vec<String>)> {
    let (program, mut rest) = argv.split_first()?;
    let mut program = basename(program);
    if program == "busybox" {
        (program, rest) = rest.split_first().map(|(first, rest)| (first.as_str(), rest))?;
    }
    let &(_, tool, _) = TOOLS.iter().find(|(_, _, programs)| programs.contains(&program))?;
    if tool == Reads::PerfStat {
        let (verb, rest) = rest.split_first()?;
        return (verb == "stat").then(|| (tool, rest.to_vec()));
    }
    Some((tool, rest.to_vec()))
}

/// The words behind a tool's name, wherever that is: behind other programs, or in a shell's script.
fn behind(argv: &[String], tool: Reads) -> Vec<String> {
    let words: Vec<String> = argv.iter().flat_map(|word| word.split_whitespace()).map(str::to_owned).collect();
    let programs = TOOLS.iter().find(|(_, known, _)| *known == tool).map_or(&[][..], |(.., programs)| programs);
    let at = words.iter().position(|word| programs.contains(&basename(word))).map_or(0, |at| at + 1);
    let skipped = at + usize::from(tool == Reads::PerfStat && words.get(at).is_some_and(|word| word == "stat"));
    words.into_iter().skip(skipped).collect()
}

fn basename(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A figure as tools print them: digits and a decimal point, neither negative nor beyond all bounds.
fn figure(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>().ok().filter(|value| plain && value.is_finite())
}

/// Whether a shortfall against what was asked is more than one per cent.
fn falls_short(done: f64, asked: f64) -> bool {
    done < 0.99 * asked
}

/// A number a few digits long, for sentences.
fn brief(value: f64) -> String {
    let digits = if value >= 100.0 { 0 } else { 2 };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl Printed<'_> {
    /// Whether the tool can have run for as long as it says: not longer than its process lived.
    fn lasted(&self, seconds: f64, name: &str) -> Result<(), String> {
        // Tools round to hundredths of a second.
        if seconds <= 1.01 * self.real_s + 0.05 {
            return Ok(());
        }
        Err(format!("{name} says it ran for {} s, but it ended after {} s", brief(seconds), brief(self.real_s)))
    }
}

impl Reading {
    /// Takes a value.
    ///
    /// # Errors
    /// A sentence, where no machine can have given such a value.
    fn put(&mut self, name: &str, value: f64, printed: &Printed) -> Result<(), String> {
        let unit_s = [("_ms", 1e-3), ("_us", 1e-6)].into_iter().find(|(unit, _)| name.ends_with(unit));
        // What is measured of single packets and wake-ups passes within the run; a moment more is the tool's rounding.
        let most = match unit_s {
            Some((_, unit_s)) => (1.01 * printed.real_s + 0.05) / unit_s,
            None if name.ends_with("_mbit_s") => MAX_MBIT_S,
            None if name.starts_with("lost_") || name.contains("_lost_") => 100.0,
            None => f64::MAX,
        };
        if !value.is_finite() || value < 0.0 || value > most {
            return Err(format!("what was printed comes to {value} for {name}, which cannot be"));
        }
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// Takes a value where there is one, else the reason.
    fn put_or(&mut self, name: &str, value: Option<f64>, why: &str, printed: &Printed) -> Result<(), String> {
        match value {
            Some(value) => self.put(name, value, printed),
            None => {
                self.missing.insert(name.to_owned(), why.to_owned());
                Ok(())
            }
        }
    }

    /// Takes the share that was lost; above [`MAX_LOST_PERCENT`] the times are void, as `why` says.
    fn put_lost(&mut self, lost_percent: f64, why: impl FnOnce() -> String, printed: &Printed) -> Result<(), String> {
        self.lossy = (lost_percent > MAX_LOST_PERCENT).then(why);
        self.put("lost_percent", lost_percent, printed)
    }

    /// The void that says how much was lost, where that was too much.
    pub(crate) fn as_lossy(&self) -> Option<Void> {
        let lost_percent = *self.values.get("lost_percent")?;
        Some(Void::Lossy { lost_percent, why: self.lossy.clone()? })
    }

    fn note(&mut self, sentence: impl Into<String>) {
        self.notes.insert(sentence.into());
    }
}

/// A text without the escape sequences that colour it on a terminal.
fn uncoloured(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if chars.next() == Some('[') {
            // A control sequence ends with a byte from '@' to '~'.
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests;
