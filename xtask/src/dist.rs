//! `cargo xtask dist`: what people install, for three architectures: static programs as .deb and .tar.xz, with checksums.
mod build;
mod deb;
mod installed;
mod tree;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::architecture::{self, ALL, Architecture};
use crate::cargo::{output, top};
use crate::metadata::target_folder;
use crate::test::needs::Fetch;
use crate::value;

/// What to make.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    architectures: Vec<&'static Architecture>,
    /// Whether each package is installed in a tree of its own, run and removed.
    check: bool,
}

/// Reads the words behind `dist`.
///
/// # Errors
/// When a word is not an option or not an architecture.
pub(crate) fn parse(words: &[String]) -> Result<Asked> {
    let mut asked = Asked { architectures: Vec::new(), check: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => asked.check = true,
            "--only" => asked.architectures.push(architecture::named(word, value(word, &mut words)?)?),
            other => bail!("'{other}' means nothing to dist; try: cargo xtask dist --only arm64 --check"),
        }
    }
    if asked.architectures.is_empty() {
        asked.architectures = ALL.iter().collect();
    }
    Ok(asked)
}

/// The version of the workspace, which every package carries.
fn version() -> Result<String> {
    let manifest: toml::Table = std::fs::read_to_string(top().join("Cargo.toml"))?.parse()?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    Ok(version.context("Cargo.toml gives no version")?.to_owned())
}

/// Builds, packs, lets lintian look, and with `--check` installs. The answer is whether all was well.
///
/// # Errors
/// When something cannot be built or packed.
pub(crate) fn run(asked: &Asked) -> Result<bool> {
    let mut programs: Vec<&str> = asked.architectures.iter().flat_map(|it| it.needs()).collect();
    programs.extend(["dpkg-deb", "lintian", "xz", "strip"]);
    if asked.check {
        programs.extend(["mmdebstrap", "arch-test"]);
    }
    Fetch::begin(&programs).ready(&programs).map_err(anyhow::Error::msg)?;
    let version = version()?;
    let into = target_folder()?.join("dist");
    std::fs::create_dir_all(&into)?;
    let mut made = Vec::new();
    for architecture in &asked.architectures {
        let programs = build::programs(architecture)?;
        made.extend(tree::tarball(architecture, &programs, &version, &into)?);
        made.extend(deb::packages(architecture, &programs, &version, &into)?);
        // As powerband on another machine looks for it, which copies it to one of this architecture.
        let agent = into.join(format!("powerband-agent-{}", architecture.machine));
        tree::put(&programs.agent, &agent, "755")?;
        made.push(agent);
    }
    let packages: Vec<&PathBuf> = made.iter().filter(|path| path.extension().is_some_and(|it| it == "deb")).collect();
    let mut well = crate::cargo::succeeds(
        Command::new("lintian").args(["--fail-on", "error", "--allow-root", "--tag-display-limit", "0"]).args(packages),
    )?;
    checksums(&made, &into)?;
    if asked.check {
        well &= installed::check(&asked.architectures, &version, &into)?;
    }
    println!("{}", into.display());
    Ok(well)
}

/// `SHA256SUMS`, as sha256sum reads them back.
fn checksums(made: &[PathBuf], into: &Path) -> Result<()> {
    let mut text = String::new();
    for path in made {
        let name = path.file_name().context("a package has a name")?.display().to_string();
        let printed = output(Command::new("sha256sum").arg(&name).current_dir(into))?;
        writeln!(text, "{}", printed.trim_end())?;
        let bytes = std::fs::metadata(path)?.len();
        println!("{:>8.2} MB  {name}", bytes as f64 / 1e6);
    }
    std::fs::write(into.join("SHA256SUMS"), text)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_made_unless_some_are_named() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(parse(&[]).unwrap().architectures.len(), 3);
        let asked = parse(&words(&["--only", "armhf", "--check"])).unwrap();
        assert_eq!((asked.architectures, asked.check), (vec![&ALL[2]], true));
        let refused = parse(&words(&["--only", "mips"])).unwrap_err().to_string();
        assert_eq!(refused, "--only takes one of amd64, arm64, armhf, not 'mips'");
    }
}
