//! `command`: any program; wall, user and system time, memory, exit status, and whatever is picked from its output.
use std::borrow::Cow;
use std::collections::BTreeMap;

use powerband_machine::Finished;
use powerband_record::{
    Better, CommandEnd, CpuList, Demand, ExitStatus, Invocation, LoadVariant, Metric, Repeated, Side, Void, Work,
    split_words,
};
use serde::{Deserialize, Serialize};

use crate::drivers::{self, Driver};
use crate::metric::{judged, shown};
use crate::reported::failure;
use crate::{
    CommandLine, Concluded, Finishes, IgnoredStatuses, LoadError, LoadFacts, LoadKind, LoadPart, Reads, RigEnds,
    Server, Shell,
};

/// Any program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLoad {
    /// Program and arguments; empty where [`CommandLoad::commands`] has the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Command lines: one, or several that are compared with each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandLine>,
    /// What runs those that are text.
    #[serde(default, skip_serializing_if = "crate::spelling::is_default")]
    pub shell: Shell,
    /// File that standard input is read from; empty input when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Where the output goes.
    #[serde(default, skip_serializing_if = "crate::spelling::is_default")]
    pub output: CommandOutput,
    /// Runs within each trial; as many as take 100 ms when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// What it talks to, on the far machine: starts first, and is ended when the command has ended. `{far}` and `{near}` in
    /// either stand for the machines' addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub far_command: Vec<String>,
    /// The port that listens on; whichever comes to listen when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_port: Option<u16>,
    /// CPUs it is pinned to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<CpuList>,
    /// Keep a trial even when the program returns another code than 0.
    #[serde(default)]
    pub ignore_failure: IgnoredStatuses,
    /// Whose output it prints; the program's it begins with, if that is one that is known.
    #[serde(default, skip_serializing_if = "crate::spelling::is_default")]
    pub reads: Reads,
    /// What it costs, for machines that cannot run it but can model it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demand>,
    /// What the setting of a trial sets: environment variables, and how often the command runs within the trial.
    #[serde(skip)]
    pub set: Invocation,
}

/// Where the output of a command goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CommandOutput {
    /// Into the journal, up to a limit.
    #[default]
    Captured,
    /// To where our own goes.
    Inherit,
    /// Into a file, which each run writes anew; `/dev/null` to discard it.
    File(String),
}

/// Reads `captured`, `inherit`, `null` or a file's name.
impl From<String> for CommandOutput {
    fn from(text: String) -> Self {
        match text.as_str() {
            "captured" | "pipe" => CommandOutput::Captured,
            "inherit" => CommandOutput::Inherit,
            "null" => CommandOutput::File("/dev/null".into()),
            _ => CommandOutput::File(text),
        }
    }
}

impl From<CommandOutput> for String {
    fn from(output: CommandOutput) -> Self {
        match output {
            CommandOutput::Captured => "captured".into(),
            CommandOutput::Inherit => "inherit".into(),
            CommandOutput::File(path) => path,
        }
    }
}

/// The part of a command's peer.
const FAR_END: &str = "far";

/// Words with the machines' addresses in their places.
fn addressed(words: &[String], rig: &RigEnds) -> Vec<String> {
    let far = rig.far.as_ref().unwrap_or(&rig.near);
    words.iter().map(|word| word.replace("{far}", far).replace("{near}", &rig.near)).collect()
}

impl LoadKind for CommandLoad {
    fn facts(&self) -> &'static LoadFacts {
        &LoadFacts { kind: "command", ..LoadFacts::NONE }
    }

    fn measured_ns(&self) -> Option<u64> {
        None
    }

    /// What its output says, which is judged, and what any process tells; which is judged where nothing is read.
    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = self.driver().map(|driver| driver.metrics().to_vec()).unwrap_or_default();
        let alone = !metrics.iter().any(|metric| metric.judged);
        metrics.push(Metric { judged: alone, ..judged("real_s", Better::Lower) });
        metrics.extend(shown(Better::Lower, ["user_s", "sys_s", "peak_rss_kib"]));
        metrics
    }

    fn parts(&self, rig: &RigEnds) -> Vec<LoadPart> {
        let read = self.driver().filter(|driver| !driver.metrics().is_empty());
        let mut env = read.map(|driver| driver.env().clone()).unwrap_or_default();
        env.extend(self.set.env.clone());
        let invocation = Invocation {
            env,
            input: self.input.clone(),
            output: match &self.output {
                CommandOutput::File(path) => Some(path.clone()),
                CommandOutput::Captured | CommandOutput::Inherit => None,
            },
            any_status: self.ignore_failure.is_given() && self.set.repeats(),
            ..self.set.clone()
        };
        let work = Work::Command { argv: addressed(&self.argv, rig), demand: self.demand.clone(), invocation };
        let load = LoadPart::near(work, self.pin.clone());
        if self.far_command.is_empty() {
            return vec![load];
        }
        // Without a far machine both ends are here, and one of them is metered.
        let side = if rig.far.is_some() { Side::Far } else { Side::Near };
        let work = Work::command(addressed(&self.far_command, rig));
        let far = LoadPart { name: FAR_END, side, work, cpus: None, after: None, metered: side == Side::Far };
        vec![far, LoadPart { after: Some(FAR_END), ..load }]
    }

    fn measured(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let finished = finishes.get("load").ok_or_else(|| Void::LoadFailed { why: "the command never ran".into() })?;
        let driver = self.driver();
        let reading = driver.map(|driver| driver.read(finished)).transpose().map_err(|why| Void::LoadFailed { why })?;
        let reading = reading.unwrap_or_default();
        if let Some(lossy) = reading.as_lossy() {
            return Err(lossy);
        }
        let mut runs = statuses(finished).filter(|status| !status.success());
        if let Some(status) = runs.find(|status| self.ignore_failure.end(*status).is_none()) {
            let finished = Finished { status, ..finished.clone() };
            return Err(Void::LoadFailed { why: failure("load", &self.describe(), &finished, None) });
        }
        let mut values = usage(finished, self.set.runs.max(1));
        values.extend(reading.values);
        Ok(Concluded { values, missing: reading.missing, notes: reading.notes })
    }

    fn check(&self) -> Result<(), LoadError> {
        if !self.commands.is_empty() && !self.argv.is_empty() {
            return Err(LoadError::TwoCommands);
        }
        if self.far_port.is_some() && self.far_command.is_empty() {
            return Err(LoadError::PortAlone);
        }
        if self.repeat.is_some() && !self.is_repeatable() {
            return Err(LoadError::Repeated);
        }
        let is_empty = |words: &Vec<String>| words.first().is_none_or(String::is_empty);
        let read = |line: &CommandLine| line.argv(&self.shell, str::to_owned).err();
        match self.commands.iter().find_map(read) {
            Some(why) => Err(LoadError::Command(why)),
            None if self.lines().iter().any(is_empty) => Err(LoadError::Empty),
            None => Ok(()),
        }
    }

    fn describe(&self) -> String {
        let lines: Vec<String> = self.commands.iter().map(CommandLine::text).collect();
        match lines.as_slice() {
            [] => self.argv.join(" "),
            [line] => line.clone(),
            lines => lines.iter().map(|line| format!("'{line}'")).collect::<Vec<_>>().join(", "),
        }
    }

    fn failed(&self, part: &str, finished: &Finished, finishes: &Finishes) -> Option<Void> {
        // ping(8) fails where no answer came, which says how much was lost.
        if let Some(lossy) = self.lossy(finishes) {
            return Some(lossy);
        }
        let driver = self.driver().filter(|_| part == "load");
        let complaint = driver.and_then(|driver| driver.complaint(&finished.output));
        let why = || failure(part, &self.describe(), finished, complaint);
        self.ignore_failure.end(finished.status).is_none().then(|| Void::LoadFailed { why: why() })
    }

    fn ended(&self, finishes: &Finishes) -> Option<CommandEnd> {
        let failures = finishes.values().flat_map(statuses).filter(|status| !status.success());
        let ends: Vec<CommandEnd> = failures.filter_map(|status| self.ignore_failure.end(status)).collect();
        ends.iter().find(|end| !end.accepted).or(ends.first()).copied()
    }

    fn server(&self) -> Option<Server> {
        (!self.far_command.is_empty()).then_some(Server { part: FAR_END, port: self.far_port })
    }

    fn names_far(&self) -> bool {
        self.lines().iter().flatten().chain(&self.far_command).any(|word| word.contains("{far}"))
    }

    fn advice(&self) -> Option<String> {
        let first = self.lines().into_iter().next()?;
        if self.demand.is_some() { None } else { drivers::advice(&first, self.reads) }
    }

    fn is_read(&self) -> bool {
        self.driver().is_some()
    }

    fn shows_output(&self) -> bool {
        self.output == CommandOutput::Inherit
    }

    fn own_words<'a>(&self, finishes: &'a Finishes) -> Cow<'a, Finishes> {
        let own = self.driver().and_then(|driver| driver.own(&finishes.get("load")?.output));
        let Some(output) = own else { return Cow::Borrowed(finishes) };
        let mut finishes = finishes.clone();
        if let Some(finished) = finishes.get_mut("load") {
            finished.output = output;
        }
        Cow::Owned(finishes)
    }

    /// The command line of a setting: the one it names, else the first, with its parameters in their places.
    fn vary(&mut self, variant: &LoadVariant) -> Result<(), LoadError> {
        self.set.env.extend(variant.env.iter().cloned());
        let line = match &variant.command {
            None => self.commands.first(),
            Some(name) => {
                let line = self.commands.iter().find(|line| line.text() == *name);
                Some(line.ok_or_else(|| LoadError::Variant(format!("the plan has no command '{name}'")))?)
            }
        };
        self.argv = match line {
            None => self.argv.iter().map(|word| variant.filled(word)).collect(),
            Some(line) => line.argv(&self.shell, |text| variant.filled(text)).map_err(LoadError::Variant)?,
        };
        // A report names what ran, not the shell before it.
        self.commands = line.map(|line| CommandLine::Text(variant.filled(&line.text()))).into_iter().collect();
        Ok(())
    }

    fn command_lines(&self) -> Vec<String> {
        match self.commands.is_empty() {
            true => vec![self.argv.join(" ")],
            false => self.commands.iter().map(CommandLine::text).collect(),
        }
    }

    /// Whether it may be repeated within a trial: it is not read for what it prints, nor served, nor modelled.
    fn asking_tool(&self) -> Option<&'static str> {
        self.driver()?.asking_tool()
    }

    fn is_repeatable(&self) -> bool {
        self.far_command.is_empty() && self.demand.is_none() && self.driver().is_none()
    }

    fn repeat(&mut self, runs: u32) {
        self.set.runs = runs;
    }

    fn runs(&self, finishes: &Finishes) -> Option<Repeated> {
        let finished = finishes.get("load").filter(|_| self.set.repeats())?;
        Some(Repeated { runs: self.set.runs, real_s: real_times(finished) })
    }
}

impl CommandLoad {
    /// Each command line as words, for finding out what program it is.
    fn lines(&self) -> Vec<Vec<String>> {
        let words = |line: &CommandLine| match line {
            CommandLine::Words(words) => words.clone(),
            CommandLine::Text(text) => split_words(text).unwrap_or_default(),
        };
        if self.commands.is_empty() { vec![self.argv.clone()] } else { self.commands.iter().map(words).collect() }
    }

    /// What reads its output. A command that may be modelled is read only where the plan says so: a model prints nothing.
    /// Of several commands, only what reads them all.
    fn driver(&self) -> Option<Driver> {
        if self.demand.is_some() && self.reads == Reads::Auto {
            return None;
        }
        let mut drivers = self.lines().into_iter().map(|argv| drivers::driver(&argv, self.reads));
        let first = drivers.next()??;
        drivers.all(|other| other.is_some_and(|other| other.metrics() == first.metrics())).then_some(first)
    }

    /// A run that failed for what it lost, where its driver can say so.
    fn lossy(&self, finishes: &Finishes) -> Option<Void> {
        self.driver()?.read(finishes.get("load")?).ok()?.as_lossy()
    }
}

/// What one run cost: of several the mean, from what each reported where the machine knows that.
fn usage(finished: &Finished, runs: u32) -> BTreeMap<String, f64> {
    let usage = finished.usage;
    let reported: Vec<[u64; 4]> = finished
        .report
        .as_ref()
        .and_then(|report| serde_json::from_value(report.get("runs")?.clone()).ok())
        .unwrap_or_default();
    let ([real, user, sys], kib) = match reported.as_slice() {
        [] => {
            let ns = [usage.real_ns, usage.user_ns, usage.sys_ns];
            (ns.map(|ns| ns as f64 / f64::from(runs)), usage.peak_rss_kib)
        }
        all => {
            let mean = |at: usize| all.iter().map(|run| run[at] as f64).sum::<f64>() / all.len() as f64;
            ([0, 1, 2].map(mean), all.iter().map(|run| run[3]).max().unwrap_or(0))
        }
    };
    [
        ("real_s".to_owned(), real / 1e9),
        ("user_s".to_owned(), user / 1e9),
        ("sys_s".to_owned(), sys / 1e9),
        ("peak_rss_kib".to_owned(), kib as f64),
    ]
    .into()
}

/// How it ended, and each run of a repeated command that did not end with 0.
fn statuses(finished: &Finished) -> impl Iterator<Item = ExitStatus> + '_ {
    let runs = finished.report.as_ref().and_then(|report| report.get("statuses")).and_then(serde_json::Value::as_array);
    let code = |status: &serde_json::Value| status.as_i64().and_then(|code| i32::try_from(code).ok());
    let runs = runs.into_iter().flatten().filter_map(code).map(ExitStatus::Code);
    std::iter::once(finished.status).chain(runs)
}

/// Real time of each run of a repeated command, s; empty where its machine knows only their sum.
fn real_times(finished: &Finished) -> Vec<f64> {
    let runs = finished.report.as_ref().and_then(|report| report.get("runs")).and_then(serde_json::Value::as_array);
    let real = |run: &serde_json::Value| run.get(0).and_then(serde_json::Value::as_f64).map(|ns| ns / 1e9);
    runs.into_iter().flatten().filter_map(real).collect()
}
