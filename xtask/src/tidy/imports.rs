//! Who may import whom: one table, and the rules that hold it. The picture of it is in ARCHITECTURE.md.
use super::Problem;
use crate::metadata::Package;

/// One crate and what it may import of ours.
struct Row {
    /// Its folder under `crates/`.
    name: &'static str,
    /// Folders under `crates/` it may import, outside tests, with blanks between.
    may: &'static str,
}

/// Downwards only; a crate without a row may not exist. A row may wait for its crate.
const TABLE: &[Row] = &[
    Row { name: "record", may: "" },
    Row { name: "stats", may: "" },
    Row { name: "cpuspeed", may: "" },
    Row { name: "advice", may: "stats" },
    Row { name: "machine", may: "record" },
    Row { name: "host", may: "record machine" },
    Row { name: "sim", may: "record machine cpuspeed" },
    // Of tests and benchmarks: no row names it, so it is imported as a dev-dependency.
    Row { name: "testkit", may: "record stats advice machine sim" },
    Row { name: "sysfs", may: "record machine" },
    Row { name: "knob", may: "record machine sysfs" },
    Row { name: "meter", may: "record machine sysfs" },
    Row { name: "load", may: "record machine sysfs" },
    Row { name: "experiment", may: "record stats advice machine sysfs knob meter load" },
    Row { name: "store", may: "record" },
    Row { name: "persist", may: "record machine sysfs knob" },
    Row { name: "fleet", may: "record stats host" },
    Row { name: "report", may: "record stats advice" },
    Row { name: "rig", may: "record machine sysfs host sim knob" },
    Row {
        name: "session",
        may: "record stats cpuspeed machine sysfs host sim knob meter load experiment persist store report rig",
    },
    Row { name: "agent", may: "host load rig" },
    Row { name: "raster", may: "" },
    Row { name: "mount", may: "record machine sysfs host sim" },
    Row { name: "watch", may: "record machine meter host rig" },
    Row { name: "tui", may: "record store report" },
    Row { name: "web", may: "record store report" },
    Row {
        name: "powerband",
        may: "agent record stats cpuspeed machine sysfs host sim knob meter load experiment advice store persist fleet report rig \
              session raster mount watch tui web",
    },
];

/// Libraries for arguments, printing and errors without a type: only the command and our own chores need them.
const EDGE_ONLY: [&str; 5] = ["anyhow", "clap", "clap_complete", "clap_mangen", "indicatif"];

/// Crates that are handed everything: time, chance and files come from outside.
const PURE: [&str; 6] = ["record", "report", "advice", "cpuspeed", "raster", "testkit"];

/// What would bring time, chance or the system in. Matched from the beginning of a dependency's name.
const IMPURE: [&str; 8] = ["rand", "getrandom", "fastrand", "chrono", "time", "rustix", "libc", "tempfile"];

/// Every import of ours is in [`TABLE`], and every crate has a row.
pub(super) fn imports(packages: &[Package]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in packages {
        let manifest = format!("{}/Cargo.toml", package.folder);
        let ours = package.dependencies.iter().filter(|dependency| !dependency.dev);
        let ours = ours.filter_map(|dependency| crate_name(&dependency.name, packages));
        let Some(name) = package.folder.strip_prefix("crates/") else {
            if !package.folder.starts_with("bench/") {
                problems.extend(ours.map(|other| Problem::new(&manifest, 0, format!("may not import {other}"))));
            }
            continue;
        };
        let expected = if name == "powerband" { name.to_owned() } else { format!("powerband-{name}") };
        if package.name != expected {
            problems.push(Problem::new(&manifest, 0, format!("the package of crates/{name} is called {expected}")));
        }
        let Some(row) = TABLE.iter().find(|row| row.name == name) else {
            let what = format!("crates/{name} has no row in xtask/src/tidy/imports.rs: say what it may import");
            problems.push(Problem::new(&manifest, 0, what));
            continue;
        };
        let others = ours.filter(|other| !row.may.split_whitespace().any(|may| may == other.as_str()));
        problems.extend(others.map(|other| {
            Problem::new(&manifest, 0, format!("{name} may not import {other}: imports go down only (ARCHITECTURE.md)"))
        }));
    }
    problems
}

/// Nothing below the command parses arguments, prints or throws errors without a type.
pub(super) fn edge_only(packages: &[Package]) -> Vec<Problem> {
    let libraries = packages
        .iter()
        .filter(|package| package.folder.strip_prefix("crates/").is_some_and(|name| name != "powerband"));
    forbidden(libraries, "belongs to the command, not to a library", |name| EDGE_ONLY.contains(&name))
}

/// [`PURE`] crates depend on nothing that could bring the world in.
pub(super) fn pure(packages: &[Package]) -> Vec<Problem> {
    let pure = packages
        .iter()
        .filter(|package| package.folder.strip_prefix("crates/").is_some_and(|name| PURE.contains(&name)));
    forbidden(pure, "brings time, chance or the system into a crate that is handed everything", |name| {
        let stem = name.split(['_', '-']).next().unwrap_or(name);
        IMPURE.contains(&stem)
    })
}

fn forbidden<'a>(packages: impl Iterator<Item = &'a Package>, why: &str, is: impl Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in packages {
        let bad = package.dependencies.iter().filter(|dependency| !dependency.dev && is(&dependency.name));
        let manifest = format!("{}/Cargo.toml", package.folder);
        problems.extend(bad.map(|dependency| Problem::new(&manifest, 0, format!("{} {why}", dependency.name))));
    }
    problems
}

/// The folder under `crates/` of a package of ours.
fn crate_name(package: &str, packages: &[Package]) -> Option<String> {
    let found = packages.iter().find(|candidate| candidate.name == package)?;
    Some(found.folder.strip_prefix("crates/").unwrap_or(&found.folder).to_owned())
}

#[cfg(test)]
mod tests;
