//! What cargo knows of the workspace: its packages, what they import, what they build.
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo::cargo;

/// One package of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name in the manifest.
    pub(crate) name: String,
    /// Its folder, relative to the top: `crates/record`.
    pub(crate) folder: String,
    /// What it needs.
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether it has a library.
    pub(crate) library: bool,
    /// Whether the examples in the library's documentation are tested.
    pub(crate) examples: bool,
    /// Whether it has a program.
    pub(crate) program: bool,
    /// Names of its integration test binaries.
    pub(crate) tests: Vec<String>,
}

/// One dependency of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Package it is on.
    pub(crate) name: String,
    /// Only for tests and examples.
    pub(crate) dev: bool,
}

/// The packages of this workspace, by name.
///
/// # Errors
/// When cargo fails or answers what cannot be read.
pub(crate) fn packages() -> Result<Vec<Package>> {
    read(&metadata()?)
}

/// Where cargo builds.
///
/// # Errors
/// When cargo fails or does not say.
pub(crate) fn target_folder() -> Result<PathBuf> {
    metadata()?["target_directory"].as_str().map(PathBuf::from).context("cargo metadata names no target folder")
}

fn metadata() -> Result<Value> {
    let output = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn read(metadata: &Value) -> Result<Vec<Package>> {
    let root = metadata["workspace_root"].as_str().context("cargo metadata names no workspace root")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let mut packages: Vec<Package> = packages.iter().map(|package| package_of(package, root)).collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

fn package_of(value: &Value, root: &str) -> Package {
    let manifest = value["manifest_path"].as_str().unwrap_or_default();
    let folder = manifest.strip_prefix(root).unwrap_or(manifest).trim_end_matches("Cargo.toml").trim_matches('/');
    let mut package = Package { name: text(&value["name"]), folder: folder.to_owned(), ..Package::default() };
    for dependency in value["dependencies"].as_array().into_iter().flatten() {
        let dev = dependency["kind"] == "dev";
        package.dependencies.push(Dependency { name: text(&dependency["name"]), dev });
    }
    for target in value["targets"].as_array().into_iter().flatten() {
        package.examples |= target["doctest"] == true;
        for kind in target["kind"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            match kind {
                "lib" | "proc-macro" => package.library = true,
                "bin" => package.program = true,
                "test" => package.tests.push(text(&target["name"])),
                _ => {}
            }
        }
    }
    package
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read() {
        let value = serde_json::json!({
            "workspace_root": "/w",
            "packages": [{
                "name": "powerband-host",
                "manifest_path": "/w/crates/host/Cargo.toml",
                "dependencies": [{"name": "rustix", "kind": null}, {"name": "tempfile", "kind": "dev"}],
                "targets": [
                    {"name": "powerband_host", "kind": ["lib"], "doctest": true},
                    {"name": "it", "kind": ["test"]},
                    {"name": "quiet_kill", "kind": ["test"]},
                ],
            }],
        });
        let expect = Package {
            name: "powerband-host".into(),
            folder: "crates/host".into(),
            dependencies: vec![
                Dependency { name: "rustix".into(), dev: false },
                Dependency { name: "tempfile".into(), dev: true },
            ],
            library: true,
            examples: true,
            program: false,
            tests: vec!["it".into(), "quiet_kill".into()],
        };
        assert_eq!(read(&value).unwrap(), [expect]);
    }

    #[test]
    fn this_workspace_is_found() {
        let packages = packages().unwrap();
        let xtask = packages.iter().find(|package| package.name == "xtask").unwrap();
        assert_eq!((xtask.folder.as_str(), xtask.program, xtask.library), ("xtask", true, false));
    }
}
