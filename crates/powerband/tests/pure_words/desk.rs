//! A state folder and the command in it, by a line as one types it.
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once};

use powerband::{Streams, Surroundings};
use powerband_record::split_words;
use serde_json::Value;
use tempfile::TempDir;

use crate::normal;

/// A fresh state folder, in a folder for files that is called `DIR` in lines and in what is printed.
pub(crate) struct Desk {
    folder: TempDir,
}

/// What a run printed, and its exit code.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// What was printed by a run that had to end well.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }
}

/// The root of the workspace, where `plans/` and `machines/` are.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk { folder: TempDir::new().unwrap() }
    }

    /// A file of the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How many experiments are kept, and how many settings the ledger says are changed.
    pub(crate) fn kept(&self) -> (usize, usize) {
        let count = |file: &str, line: &str, key: &str| {
            let answer = self.file(file).exists().then(|| self.run(line).well());
            answer.map_or(0, |json| serde_json::from_str::<Value>(&json).unwrap()[key].as_array().unwrap().len())
        };
        let experiments = count("state/powerband.sqlite", "--json list", "experiments");
        (experiments, count("state/ledger", "--json info turned", "turned"))
    }

    /// With this folder for `DIR/`.
    pub(crate) fn placed(&self, text: &str) -> String {
        text.replace("DIR/", &format!("{}/", self.folder.path().display()))
    }

    /// Runs the command with the words of a line; words of the form `NAME=VALUE` before the verb set the environment.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> Ran {
        let words = split_words(&self.placed(line)).unwrap_or_else(|| panic!("an open quote: {line}"));
        let is_variable = |word: &&String| word.starts_with("POWERBAND_") || word.starts_with("COLUMNS=");
        let variables = words.iter().take_while(is_variable).count();
        let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        for name in ["POWERBAND_MACHINE", "POWERBAND_STORE", "POWERBAND_PEER_TIMEOUT", "COLUMNS", "NO_COLOR"] {
            environment.remove(OsStr::new(name));
        }
        environment.insert("POWERBAND_STATE_DIR".into(), self.file("state").into());
        environment.insert("POWERBAND_SEED".into(), "1".into());
        let set = words[..variables].iter().map(|word| word.split_once('=').unwrap());
        environment.extend(set.map(|(name, value)| (name.into(), value.into())));
        static ENTER: Once = Once::new();
        // Cargo starts a test in its package's folder.
        ENTER.call_once(|| std::env::set_current_dir(workspace()).unwrap());
        let typed: Vec<OsString> =
            ["powerband"].into_iter().chain(words[variables..].iter().map(String::as_str)).map(Into::into).collect();
        let (out, err) = (Printed::default(), Printed::default());
        let surroundings = Surroundings::of(environment, env!("CARGO_BIN_EXE_powerband").into());
        let code = powerband::run(&typed, surroundings, &mut Streams::to(out.clone(), err.clone())).into();
        let text = |printed: Printed| {
            normal::places(&String::from_utf8(printed.0.lock().unwrap().clone()).unwrap(), self.folder.path())
        };
        Ran { code, out: text(out), err: text(err) }
    }
}

/// What was printed to a stream.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
