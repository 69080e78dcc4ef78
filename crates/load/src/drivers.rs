//! The field's own load tools: which of them a command calls, what can be read of its output, and when that is no measurement.
//! What is particular to a tool is its row in `tools.toml`; a reader in code is for what a row cannot say.
mod cyclictest;
mod document;
mod iperf3;
mod json;
mod mpirun;
mod options;
mod perf_stat;
mod row;
mod table;

use std::collections::{BTreeMap, BTreeSet};

pub use document::tools_page;
pub(crate) use json::short;
use powerband_machine::Finished;
use powerband_record::{MAX_LOST_PERCENT, Metric, Output, Void};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use table::{Reader, Tool, basename, by_name, recognised, table};

use crate::metric::{judged, shown};
use crate::pick::most;

/// Whose output a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
#[non_exhaustive]
pub enum Reads {
    /// That of the program it begins with, if that is a tool known here.
    #[default]
    Auto,
    /// Nobody's: nothing is read of what it prints but what metrics ask for.
    None,
    /// That of the tool of this name in `tools.toml`.
    Tool(&'static str),
}

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
        match name {
            "auto" => Ok(Reads::Auto),
            "none" => Ok(Reads::None),
            _ => table::called(name).map(|tool| Reads::Tool(&tool.name)).ok_or_else(|| {
                let names: Vec<&str> = table().tools.iter().map(|tool| tool.name.as_str()).collect();
                format!("nothing reads the output of '{name}'; use auto, none, {}", names.join(", "))
            }),
        }
    }
}

impl<'de> Deserialize<'de> for Reads {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Reads::parse(&String::deserialize(deserializer)?).map_err(Error::custom)
    }
}

impl From<Reads> for String {
    fn from(reads: Reads) -> Self {
        match reads {
            Reads::Auto => "auto".into(),
            Reads::None => "none".into(),
            Reads::Tool(name) => name.into(),
        }
    }
}

/// A tool as a command calls it.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    tool: &'static Tool,
    /// What follows the tool's name.
    words: Vec<String>,
    /// Whether the command shows how the tool is called; a script does not.
    shown: bool,
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

/// The driver of a command, if one reads its output.
pub(crate) fn driver(argv: &[String], reads: Reads) -> Option<Driver> {
    let (tool, words) = match reads {
        Reads::None => return None,
        Reads::Auto => recognised(argv).map(|(tool, words)| (tool, Some(words.to_vec())))?,
        Reads::Tool(name) => by_name(name).map(|tool| (tool, after(argv, tool)))?,
    };
    let (shown, words) = (words.is_some(), words.unwrap_or_default());
    let mut call = match tool.reader {
        Reader::Row => row::call(tool, &words, shown)?,
        Reader::Iperf3 => iperf3::call(&words),
        Reader::Cyclictest => cyclictest::call(&words),
        Reader::PerfStat => perf_stat::call(&words),
        Reader::Mpirun => Call::default(),
    };
    if call.unreadable.is_some() && reads == Reads::Auto {
        call.metrics.clear();
    }
    Some(Driver { tool, words, shown, call })
}

/// What is worth saying about a command before it runs: how to have it read.
pub(crate) fn advice(argv: &[String], reads: Reads) -> Option<String> {
    if reads == Reads::Auto && recognised(argv).is_none() {
        let (program, rest) = argv.split_first()?;
        let launched = if LAUNCHERS.contains(&basename(program)) { rest } else { &[] };
        if let Some((tool, _)) = (0..launched.len()).find_map(|at| recognised(launched.get(at..)?)) {
            let (starts, name) = (basename(program), &tool.name);
            return Some(format!(
                "{starts} starts {}, whose output can be read; add --reads {name} (in a plan: reads = \"{name}\")",
                tool.title()
            ));
        }
        let mut words = std::iter::once(program).chain(launched).map(|word| basename(word));
        let name = words.find(|name| table().unread.iter().any(|unread| unread == name))?;
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

    /// The tool's name, if it asks a server.
    pub(crate) fn asking_tool(&self) -> Option<&'static str> {
        self.tool.asks.then(|| self.tool.title())
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
        let (stdout, stderr) = (uncoloured(&output.stdout), uncoloured(&output.stderr));
        let printed = Printed { stdout: self.whole(&stdout), stderr: self.whole(&stderr), real_s };
        let mut reading = match self.tool.reader {
            Reader::Row => row::read(self.tool, &self.words, self.shown, &printed)?,
            Reader::Iperf3 => iperf3::read(&self.words, &printed)?,
            Reader::Cyclictest => cyclictest::read(&self.words, &printed)?,
            Reader::PerfStat => perf_stat::read(&self.words, &printed)?,
            Reader::Mpirun => Reading::default(),
        };
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
        match self.tool.reader {
            Reader::Row => row::complaint(self.tool, &output.stdout, &output.stderr),
            Reader::Iperf3 => iperf3::complaint(&output.stdout),
            Reader::Mpirun => mpirun::complaint(&output.stderr),
            Reader::Cyclictest | Reader::PerfStat => None,
        }
    }

    /// What the load itself printed, without what its launcher did.
    pub(crate) fn own(&self, output: &Output) -> Option<Output> {
        (self.tool.reader == Reader::Mpirun).then(|| mpirun::without_chatter(output))
    }

    /// Environment that its runs have, so that they print numbers and words as they are read here.
    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.tool.env
    }

    fn name(&self) -> &'static str {
        self.tool.title()
    }

    /// A text without a last line that nothing ended: a number at its end may be the beginning of another. Where a JSON
    /// document ends, it says itself.
    fn whole<'t>(&self, text: &'t str) -> &'t str {
        if self.tool.prints_json() {
            text
        } else {
            text.get(..text.rfind('\n').map_or(0, |at| at + 1)).unwrap_or_default()
        }
    }
}

/// The words after a tool's name, wherever that is: after other programs, or in a shell's script; `None` if it is not there.
fn after(argv: &[String], tool: &Tool) -> Option<Vec<String>> {
    let words: Vec<String> = argv.iter().flat_map(|word| word.split_whitespace()).map(str::to_owned).collect();
    (0..words.len()).find_map(|at| Some(tool.after(words.get(at..)?)?.to_vec()))
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
        // A moment more is the tool's rounding.
        let most = most(name, 1.01 * printed.real_s + 0.05);
        if !value.is_finite() || value < 0.0 || value > most {
            let value = if value.abs() < 1e15 { value.to_string() } else { format!("{value:e}") };
            return Err(format!("the output has {value} for {name}, which is impossible"));
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
pub(crate) fn uncoloured(text: &str) -> String {
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
