//! Snapshots of words: the environment that tests find them by, accepting new ones, and those that no test reads any more.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::built::{Binary, Kind};
use crate::cargo::{output, top};
use crate::metadata::{Package, target_folder};
use crate::tally::Tally;

/// The library that compares them; tests of a package that needs it may have some.
const LIBRARY: &str = "insta";

/// The snapshots of one run.
#[derive(Debug)]
pub(crate) struct Snapshots {
    top: PathBuf,
    /// Where tests list the snapshots that they read.
    read: PathBuf,
    accept: bool,
}

/// Whether a package's tests may have snapshots.
pub(crate) fn may_have(package: &Package) -> bool {
    package.dependencies.iter().any(|dependency| dependency.name == LIBRARY)
}

impl Snapshots {
    /// Begins a run, in which tests replace what differs if `accept` holds.
    ///
    /// # Errors
    /// When there is no target folder.
    pub(crate) fn begin(accept: bool) -> Result<Self> {
        let read = target_folder()?.join("snapshots-read");
        let _ = fs::remove_file(&read);
        Ok(Snapshots { top: top().canonicalize()?, read, accept })
    }

    /// Variables of the tests.
    pub(crate) fn variables(&self) -> [(String, PathBuf); 3] {
        [
            ("INSTA_UPDATE".to_owned(), if self.accept { "always" } else { "no" }.into()),
            ("INSTA_WORKSPACE_ROOT".to_owned(), self.top.clone()),
            ("INSTA_SNAPSHOT_REFERENCES_FILE".to_owned(), self.read.clone()),
        ]
    }

    /// After all tests of these binaries: a check that each of their snapshots was read. One that was not is removed if `accept` holds.
    ///
    /// # Errors
    /// When snapshots cannot be listed or removed.
    pub(crate) fn end(&self, ran: &[&Binary]) -> Result<Tally> {
        let read = fs::read_to_string(&self.read).unwrap_or_default();
        let read: BTreeSet<PathBuf> = read.lines().filter_map(|line| Path::new(line).canonicalize().ok()).collect();
        let mut tally = Tally::default();
        for binary in ran {
            let mut files = Vec::new();
            list(&folder_of(binary), &mut files)?;
            for file in files.iter().filter(|file| !read.contains(*file)) {
                if self.accept {
                    fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
                    continue;
                }
                let name = file.strip_prefix(&self.top).unwrap_or(file).display();
                tally.add(Tally::failure(&format!(
                    "no test reads the snapshot {name}; `cargo xtask test --accept` removes it"
                )));
            }
        }
        if self.accept {
            let mut git = Command::new("git");
            let changed = output(git.current_dir(&self.top).args(["status", "--short", "--", ":(glob)**/*.snap"]))?;
            println!("snapshots that differ from the last commit (`git diff` shows the words):\n{changed}");
        }
        Ok(tally)
    }
}

/// Where the snapshots of a binary are, at any depth.
fn folder_of(binary: &Binary) -> PathBuf {
    match binary.kind {
        Kind::Integration => binary.folder.join("tests").join(&binary.name),
        Kind::Library | Kind::Program => binary.folder.join("src"),
    }
}

/// Adds all snapshots below a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "snap") {
            files.push(path.canonicalize()?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_no_test_reads_is_a_failure_and_accepting_removes_it() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let place = top.join("crates/a/tests/it/snapshots");
        fs::create_dir_all(&place).unwrap();
        for name in ["read.snap", "stale.snap"] {
            fs::write(place.join(name), "").unwrap();
        }
        let read = top.join("read");
        fs::write(&read, format!("{}\n", place.join("read.snap").display())).unwrap();
        let package = "a".to_owned();
        let binary = Binary {
            package,
            folder: top.join("crates/a"),
            kind: Kind::Integration,
            name: "it".to_owned(),
            path: PathBuf::new(),
        };
        let mut snapshots = Snapshots { top: top.clone(), read, accept: false };
        let tally = snapshots.end(&[&binary]).unwrap();
        assert!(tally.failed == 1 && tally.failures[0].title.contains("crates/a/tests/it/snapshots/stale.snap"));
        snapshots.accept = true;
        Command::new("git").args(["init", "--quiet"]).current_dir(&top).status().unwrap();
        assert!(snapshots.end(&[&binary]).unwrap().well());
        let mut left = Vec::new();
        list(&place, &mut left).unwrap();
        assert_eq!(left, [place.join("read.snap")]);
    }
}
