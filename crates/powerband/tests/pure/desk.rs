//! A state folder and the command called in it, without a process: what every test begins with.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once};

use powerband::{Streams, Surroundings};
use powerband_report::json::Report;
use serde_json::Value;
use tempfile::TempDir;

/// A search on the table of this repository, whose rows are formulas: 90 settings.
pub(crate) const KEEPER: [&str; 9] = [
    "--machine",
    "table:machines/tables/keeper.csv",
    "tune",
    "freq=all",
    "rx-usecs=all",
    "--minimize",
    "watts",
    "--require",
    "p99_us<=200",
];

/// The root of the workspace, where `plans/` and `published/` are.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

/// A fresh state folder.
pub(crate) struct Desk {
    folder: TempDir,
    /// How words are run.
    pub(crate) by: fn(&Desk, &[String]) -> Ran,
}

/// What a run of the command came to.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// It ended with `code`; what it printed.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// It ended with `code` and said why in one line; the sentence.
    #[track_caller]
    pub(crate) fn refused(self, code: i32) -> String {
        let ran = self.ended(code);
        let sentence = ran.err.strip_prefix("powerband: ").and_then(|rest| rest.strip_suffix('\n'));
        let sentence = sentence.unwrap_or_else(|| panic!("not one line of ours: {:?}", ran.err));
        assert!(!sentence.contains('\n') && !sentence.is_empty(), "{:?}", ran.err);
        assert!(!sentence.contains("panicked"), "{sentence}");
        sentence.to_owned()
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }

    /// What it printed, as a report.
    #[track_caller]
    pub(crate) fn report(&self) -> Report {
        Report::parse(&self.out).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err))
    }
}

impl Desk {
    /// One whose words the command is called with in this process.
    pub(crate) fn new() -> Desk {
        Desk { folder: TempDir::new().unwrap(), by: Desk::call }
    }

    /// Where the state is.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// A path next to the state, for files to be turned.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The variables that a run has in place of this process's; without a value: not at all.
    pub(crate) fn variables(&self) -> [(&'static str, Option<OsString>); 7] {
        [
            ("POWERBAND_STATE_DIR", Some(self.state().into())),
            // A machine that is busy with tests takes its time to answer.
            ("POWERBAND_PEER_TIMEOUT", Some("60s".into())),
            // Expected outputs are those of one order of trials.
            ("POWERBAND_SEED", Some("1".into())),
            ("POWERBAND_MACHINE", None),
            ("POWERBAND_STORE", None),
            ("COLUMNS", None),
            ("NO_COLOR", None),
        ]
    }

    /// The environment of a run.
    pub(crate) fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut environment: BTreeMap<_, _> = std::env::vars_os().collect();
        for (name, value) in self.variables() {
            match value {
                Some(value) => environment.insert(name.into(), value),
                None => environment.remove(&OsString::from(name)),
            };
        }
        environment
    }

    /// Calls the command with this environment.
    pub(crate) fn call_in(environment: BTreeMap<OsString, OsString>, words: &[String]) -> Ran {
        static ENTER: Once = Once::new();
        // Cargo starts a test in its package's folder.
        ENTER.call_once(|| std::env::set_current_dir(workspace()).unwrap());
        let (out, err) = (Kept::default(), Kept::default());
        let words: Vec<OsString> =
            ["powerband"].into_iter().chain(words.iter().map(String::as_str)).map(Into::into).collect();
        let surroundings = Surroundings::of(environment, env!("CARGO_BIN_EXE_powerband").into());
        let code = powerband::run(&words, surroundings, &mut Streams::to(out.clone(), err.clone()));
        Ran { code: Some(code.into()), out: out.text(), err: err.text() }
    }

    /// Calls the command in this process, however this desk runs words.
    pub(crate) fn call(&self, words: &[String]) -> Ran {
        Desk::call_in(self.environment(), words)
    }

    /// Calls it with one variable more.
    pub(crate) fn run_with(&self, name: &str, value: &str, words: &(impl Words + ?Sized)) -> Ran {
        let mut environment = self.environment();
        environment.insert(name.into(), value.into());
        Desk::call_in(environment, &words.words())
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, words: &(impl Words + ?Sized)) -> Ran {
        (self.by)(self, &words.words())
    }

    /// Runs it with `--json`.
    fn run_json(&self, words: &(impl Words + ?Sized)) -> Ran {
        let mut words = words.words();
        words.insert(0, "--json".into());
        self.run(&words)
    }

    /// Runs it with `--json` to a good end; what it printed.
    #[track_caller]
    pub(crate) fn json(&self, words: &(impl Words + ?Sized)) -> Value {
        self.run_json(words).ended(0).value()
    }

    /// Runs an experiment with `--json` to a good end.
    #[track_caller]
    pub(crate) fn report(&self, words: &(impl Words + ?Sized)) -> Report {
        self.run_json(words).ended(0).report()
    }

    /// The events of an experiment without the header, as lines.
    #[track_caller]
    pub(crate) fn journal(&self) -> Vec<String> {
        let text = self.run("export last --journal").ended(0).out;
        let mut lines = text.lines().map(str::to_owned);
        assert!(lines.next().is_some_and(|line| line.starts_with("{\"header\":")));
        lines.collect()
    }

    /// How many experiments are kept.
    #[track_caller]
    pub(crate) fn experiments(&self) -> usize {
        self.json("list")["experiments"].as_array().unwrap().len()
    }

    /// What is turned on this machine and not undone, as `info turned` tells it.
    #[track_caller]
    pub(crate) fn turned(&self) -> usize {
        self.json("info turned")["turned"].as_array().unwrap().len()
    }
}

/// Words as they are typed: one text, split at blanks outside of quotes, or each apart.
pub(crate) trait Words {
    fn words(&self) -> Vec<String>;
}

impl Words for str {
    fn words(&self) -> Vec<String> {
        powerband_record::split_words(self).unwrap()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

impl Words for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl<S: AsRef<str>> Words for [S] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| word.as_ref().to_owned()).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Words for [S; N] {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

impl<S: AsRef<str>> Words for Vec<S> {
    fn words(&self) -> Vec<String> {
        self[..].words()
    }
}

/// What was printed to a stream.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a file holds.
#[track_caller]
pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The published figures of one article.
pub(crate) fn published(name: &str) -> powerband_report::published::Published {
    let path = workspace().join("published").join(name);
    powerband_report::published::Published::parse(&text(&path)).unwrap()
}

/// A level of a setting by its label; its trials are not zero.
#[track_caller]
pub(crate) fn level<'a>(report: &'a Report, label: &str, metric: &str) -> &'a powerband_report::json::LevelRow {
    let setting = report.settings.iter().find(|setting| setting.label == label);
    let setting = setting.unwrap_or_else(|| panic!("no setting {label}"));
    setting.levels.get(metric).unwrap_or_else(|| panic!("no {metric} of {label}"))
}

/// The typical value of a metric at a setting.
#[track_caller]
pub(crate) fn typical(report: &Report, label: &str, metric: &str) -> f64 {
    level(report, label, metric).typical.unwrap()
}

/// Words as one types them: each between spaces, or between two backquotes.
pub(crate) fn split(words: &str) -> Vec<&str> {
    let parts = words.split('`').enumerate();
    parts.flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }).collect()
}
