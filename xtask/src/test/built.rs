//! The test binaries: all of the workspace are built at once, so that nothing is compiled twice for different sets of features.
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cargo::{cargo, locked, shown, top};
use crate::metadata::Package;

/// What the command can have and has not by default; it is tested with all of it.
pub(crate) const FEATURES: &str = "powerband/png,powerband/postgresql";

/// What a binary has the tests of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A library.
    Library,
    /// A program.
    Program,
    /// A folder or file below `tests`.
    Integration,
}

/// One test binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    /// Its package.
    pub(crate) package: String,
    /// The package's folder, where the tests run.
    pub(crate) folder: PathBuf,
    pub(crate) kind: Kind,
    /// The target's name.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl Binary {
    /// How it is called in what is printed: `powerband-host/it`.
    pub(crate) fn title(&self) -> String {
        let name = if self.kind == Kind::Library { "lib" } else { &self.name };
        format!("{}/{name}", self.package)
    }
}

/// What a build brought.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) binaries: Vec<Binary>,
    /// Whether there are examples in the documentation.
    pub(crate) examples: bool,
    /// Variables of the tests: the command, for those that put it into a guest, and where snapshots are.
    pub(crate) variables: Vec<(String, PathBuf)>,
}

/// Builds the tests of these packages; nothing when they cannot be built. Cargo's own output says why.
///
/// # Errors
/// When cargo cannot be started or its answer not be read.
pub(crate) fn build(all: &[Package], packages: &[Package]) -> Result<Option<Built>> {
    let mut command = cargo();
    command.arg("test").args(locked()).args(["--workspace", "--no-run", "--message-format"]);
    command.arg("json-render-diagnostics");
    // Cargo refuses features of a package that is left out.
    if packages.iter().any(|package| FEATURES.starts_with(&format!("{}/", package.name))) {
        command.args(["--features", FEATURES]);
    }
    // Without the others, and not with these alone: cargo would choose other features for the packages they need.
    for other in all.iter().filter(|package| !packages.contains(package)) {
        command.args(["--exclude", &other.name]);
    }
    eprintln!("$ {}", shown(&command));
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    if !output.status.success() {
        return Ok(None);
    }
    let built = read(&String::from_utf8_lossy(&output.stdout), all)?;
    Ok(Some(Built { examples: packages.iter().any(|package| package.examples), ..built }))
}

/// Reads cargo's messages, one in a line.
fn read(messages: &str, packages: &[Package]) -> Result<Built> {
    let mut built = Built::default();
    let top = top().canonicalize()?;
    for line in messages.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).context("cargo's messages cannot be read")?;
        let Some(path) = message["executable"].as_str().map(PathBuf::from) else { continue };
        let folder = PathBuf::from(message["manifest_path"].as_str().unwrap_or_default());
        let folder = folder.parent().map(PathBuf::from).unwrap_or_default();
        let Some(package) = packages.iter().find(|package| folder == top.join(&package.folder)) else { continue };
        let name = message["target"]["name"].as_str().unwrap_or_default().to_owned();
        if message["profile"]["test"] != true {
            if name == "powerband" {
                built.variables.push(("POWERBAND_BUILT".to_owned(), path));
            }
            continue;
        }
        let kind = match message["target"]["kind"][0].as_str() {
            Some("test") => Kind::Integration,
            Some("bin") => Kind::Program,
            _ => Kind::Library,
        };
        built.binaries.push(Binary { package: package.name.clone(), folder, kind, name, path });
    }
    // As cargo lists them is as they were ready.
    built.binaries.sort_by(|a, b| (&a.package, a.kind, &a.name).cmp(&(&b.package, b.kind, &b.name)));
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_and_the_command_are_read_from_cargos_messages() {
        let top = top().canonicalize().unwrap();
        let artifact = |folder: &str, kind: &str, name: &str, test: bool, path: Option<&str>| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "manifest_path": top.join(folder).join("Cargo.toml"),
                "target": {"kind": [kind], "name": name},
                "profile": {"test": test},
                "executable": path,
            })
        };
        let messages = [
            artifact("crates/record", "lib", "powerband_record", false, None),
            artifact("crates/powerband", "bin", "powerband", false, Some("/t/powerband")),
            artifact("crates/powerband", "test", "quiet", true, Some("/t/deps/quiet-1")),
            artifact("crates/powerband", "bin", "powerband", true, Some("/t/deps/powerband-1")),
            artifact("crates/record", "lib", "powerband_record", true, Some("/t/deps/record-1")),
            serde_json::json!({"reason": "build-finished", "success": true}),
        ];
        let messages: Vec<String> = messages.iter().map(Value::to_string).collect();
        let package =
            |name: &str, folder: &str| Package { name: name.into(), folder: folder.into(), ..Package::default() };
        let packages = [package("powerband", "crates/powerband"), package("powerband-record", "crates/record")];
        let built = read(&messages.join("\n"), &packages).unwrap();
        assert_eq!(built.variables, [("POWERBAND_BUILT".to_owned(), "/t/powerband".into())]);
        let titles: Vec<String> = built.binaries.iter().map(Binary::title).collect();
        assert_eq!(titles, ["powerband/powerband", "powerband/quiet", "powerband-record/lib"]);
        assert_eq!(built.binaries[1].folder, top.join("crates/powerband"));
    }
}
