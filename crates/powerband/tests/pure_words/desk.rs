//! A state folder and the command in it, by a line as one types it.
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use powerband_record::split_words;
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_powerband"));
        command.arg0("powerband").args(&words[variables..]).current_dir(workspace()).stdin(Stdio::null());
        for name in ["POWERBAND_MACHINE", "POWERBAND_STORE", "POWERBAND_PEER_TIMEOUT", "COLUMNS", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.env("POWERBAND_STATE_DIR", self.file("state")).env("POWERBAND_SEED", "1");
        command.envs(words[..variables].iter().map(|word| word.split_once('=').unwrap()));
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| normal::places(&String::from_utf8(bytes).unwrap(), self.folder.path());
        Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }
}
