//! `cargo xtask test --changed`: which packages a change touches, and which of the others import those.
use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::tiers::Tier;
use crate::cargo::top;
use crate::metadata::Package;

/// Files that decide how every package is built.
const EVERYWHERE: [&str; 4] = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/"];

/// Folders outside the packages that a package's tests or build read.
const READ_BY: [(&str, &str); 5] = [
    ("machines/sim/", "powerband-sim"),
    ("machines/recorded/", "powerband"),
    ("plans/", "powerband"),
    ("published/", "powerband"),
    ("docs/", "powerband"),
];

/// Packages, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// What was edited.
    pub(crate) edited: BTreeSet<String>,
    /// What imports those, tests included, at any distance.
    pub(crate) importing: BTreeSet<String>,
}

/// The change since a commit, the working tree included: by default since the branch left `origin/main`, or since the commit
/// before this one.
///
/// # Errors
/// When git does not know the commit.
pub(crate) fn since(base: Option<&str>, packages: &[Package]) -> Result<Change> {
    let base = match base {
        Some(base) => base.to_owned(),
        None => git(&["merge-base", "HEAD", "origin/main"]).or_else(|_| git(&["rev-parse", "HEAD~"]))?,
    };
    let edited = git(&["diff", "--name-only", "--no-renames", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    let paths: Vec<&str> = edited.lines().chain(new.lines()).collect();
    eprintln!("{} files changed since {}", paths.len(), base.trim());
    Ok(of(&paths, packages))
}

impl Change {
    /// Packages whose tests are run in these tiers: all that were edited, and of those that import them the ones whose tests need no
    /// more than a compiler. What is left out is printed.
    pub(crate) fn tested(&self, packages: &[Package], tiers: &[Tier]) -> Vec<Package> {
        let is_pure = |name: &String| Tier::of_package(name) == Tier::Pure;
        let left_out: Vec<&str> = self.importing.iter().filter(|name| !is_pure(name)).map(String::as_str).collect();
        if !left_out.is_empty() {
            eprintln!("left out, although they import what was edited: the tests of {}", left_out.join(", "));
        }
        let tested = |package: &&Package| {
            self.edited.contains(&package.name) && tiers.iter().any(|tier| tier.has_tests_of(package))
                || self.importing.contains(&package.name) && is_pure(&package.name)
        };
        packages.iter().filter(tested).cloned().collect()
    }
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(top()).args(words).output().context("cannot start git")?;
    if !output.status.success() {
        bail!("git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn of(paths: &[&str], packages: &[Package]) -> Change {
    let mut change = Change::default();
    for path in paths {
        if EVERYWHERE.iter().any(|file| path == file || file.ends_with('/') && path.starts_with(file)) {
            change.edited.extend(packages.iter().map(|package| package.name.clone()));
        }
        let holds = |package: &&Package| path.starts_with(&format!("{}/", package.folder));
        change.edited.extend(packages.iter().find(holds).map(|package| package.name.clone()));
        let readers = READ_BY.iter().filter(|(folder, _)| path.starts_with(folder));
        change.edited.extend(readers.map(|(_, package)| (*package).to_owned()));
    }
    loop {
        let known = |name: &String| change.edited.contains(name) || change.importing.contains(name);
        let imports = |package: &&Package| package.dependencies.iter().any(|dependency| known(&dependency.name));
        let more: Vec<String> = packages
            .iter()
            .filter(|package| !known(&package.name))
            .filter(imports)
            .map(|package| package.name.clone())
            .collect();
        if more.is_empty() {
            return change;
        }
        change.importing.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    #[test]
    fn a_change_is_of_the_packages_edited_and_of_those_that_import_them() {
        let package = |name: &str, folder: &str, imports: &[&str]| {
            let dependencies = imports.iter().map(|name| Dependency { name: (*name).to_owned(), dev: false });
            let (name, folder, dependencies) = (name.to_owned(), folder.to_owned(), dependencies.collect());
            Package { name, folder, dependencies, ..Package::default() }
        };
        let packages = [
            package("powerband-record", "crates/record", &[]),
            package("powerband-sim", "crates/sim", &["powerband-record"]),
            package("powerband-raster", "crates/raster", &["resvg"]),
            package("powerband", "crates/powerband", &["powerband-sim", "powerband-raster"]),
            package("xtask", "xtask", &[]),
        ];
        let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
        let check = |paths: &[&str], edited: &str, importing: &str| {
            let change = of(paths, &packages);
            let tested = change.tested(&packages, &[Tier::Pure]);
            assert!(tested.iter().all(|package| package.name != "powerband"), "{paths:?}: {tested:?}");
            assert_eq!((names(&change.edited).as_str(), names(&change.importing).as_str()), (edited, importing));
        };
        check(&["crates/raster/src/lib.rs", "crates/raster/Cargo.toml"], "powerband-raster", "powerband");
        check(&["crates/record/src/lib.rs"], "powerband-record", "powerband powerband-sim");
        check(&["machines/sim/quadcore.toml"], "powerband-sim", "powerband");
        check(&["README.md", "crates/README.md"], "", "");
        check(&["Cargo.lock"], "powerband powerband-raster powerband-record powerband-sim xtask", "");
        check(
            &[".cargo/config.toml", "xtask/src/main.rs"],
            "powerband powerband-raster powerband-record powerband-sim xtask",
            "",
        );
    }
}
