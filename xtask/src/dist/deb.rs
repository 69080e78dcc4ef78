//! The Debian packages: `powerband`, and `powerband-agent` alone for machines that are only measured. No maintainer's script: nothing is
//! started by an installation, and nothing of ours is left by a removal.
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::Architecture;
use super::build::Programs;
use super::tree::{self, put, write};
use crate::cargo::{output, top};

/// Revision of the packaging, behind powerband's own version.
const REVISION: &str = "1";

/// One package: its name and how it is described.
struct Package {
    name: &'static str,
    summary: &'static str,
    text: &'static str,
    /// Other packages that add to it.
    suggests: &'static str,
}

const COMMAND: Package = Package {
    name: "powerband",
    summary: "find the kernel settings at which a machine works best, by measuring",
    text: " powerband compares settings of the kernel (CPU frequency governors and limits,\n idle states, interrupt \
           coalescing and others) by running a command under each\n of them in a random order, reports which is better and how sure \
           that is, and\n restores everything or keeps the result over reboots.\n",
    suggests: "Suggests: ethtool, linux-cpupower\n",
};

const AGENT: Package = Package {
    name: "powerband-agent",
    summary: "part of powerband that runs on a machine that is measured",
    text: " powerband starts it over ssh or another command on a machine whose settings\n it compares, and is connected to its \
           standard input and output. powerband copies\n it there automatically; the package is for machines where that is not\n \
           wanted.\n",
    suggests: "",
};

/// Both packages of an architecture.
///
/// # Errors
/// When a file cannot be written or dpkg-deb fails.
pub(super) fn packages(
    architecture: &Architecture,
    programs: &Programs,
    version: &str,
    into: &Path,
) -> Result<[PathBuf; 2]> {
    let root = |package: &Package| -> Result<PathBuf> {
        let root = into.join("trees").join(format!("{}-{}.deb", package.name, architecture.debian));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root)?;
        Ok(root)
    };
    let (command, agent) = (root(&COMMAND)?, root(&AGENT)?);
    put(&programs.powerband, &command.join("usr/bin/powerband"), "755")?;
    tree::manual(architecture, programs, &command.join("usr/share/man/man1"))?;
    for (shell, path) in tree::SHELLS {
        write(&command.join(path), tree::completions(architecture, programs, shell)?.as_bytes())?;
    }
    for unit in tree::UNITS {
        let text = std::fs::read_to_string(top().join("etc").join(unit))?;
        let text = text.replace("/usr/local/bin/", "/usr/bin/");
        write(&command.join("lib/systemd/system").join(unit), text.as_bytes())?;
    }
    tree::shared(&command.join("usr/share/powerband"))?;
    let doc = command.join("usr/share/doc/powerband");
    put(&top().join("README.md"), &doc.join("README.md"), "644")?;
    put(&top().join("etc/access.toml"), &doc.join("examples/access.toml"), "644")?;
    put(&top().join("etc/slurm/powerband-undo.sh"), &doc.join("examples/slurm/powerband-undo.sh"), "644")?;
    put(&programs.agent, &agent.join("usr/bin/powerband-agent"), "755")?;
    // Not in section 1: powerband has a page of that name there, for its verb.
    put(&top().join("etc/powerband-agent.8"), &agent.join("usr/share/man/man8/powerband-agent.8"), "644")?;
    Ok([packed(&COMMAND, architecture, version, &command, into)?, packed(&AGENT, architecture, version, &agent, into)?])
}

/// Adds what every package has, and packs.
fn packed(package: &Package, architecture: &Architecture, version: &str, root: &Path, into: &Path) -> Result<PathBuf> {
    let (name, maintainer) = (package.name, maintainer()?);
    let doc = root.join("usr/share/doc").join(name);
    put(&top().join("CHANGELOG.md"), &doc.join("changelog"), "644")?;
    write(&doc.join("changelog.Debian"), changes(name, version, &maintainer)?.as_bytes())?;
    write(&doc.join("copyright"), copyright()?.as_bytes())?;
    // A program that runs wherever its kernel does is the point of it.
    let overrides = format!("{name}: statically-linked-binary [usr/bin/{name}]\n");
    write(&root.join("usr/share/lintian/overrides").join(name), overrides.as_bytes())?;
    let sections = ["man1", "man8"].map(|section| root.join("usr/share/man").join(section));
    let pages = sections.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let pages = pages.filter_map(|entry| Some(entry.ok()?.path()));
    output(
        Command::new("gzip")
            .args(["-9", "-n"])
            .args(pages)
            .arg(doc.join("changelog"))
            .arg(doc.join("changelog.Debian")),
    )?;
    output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(root))?;
    let kilobytes = output(Command::new("du").args(["-k", "-s", "--apparent-size"]).arg(root))?;
    let kilobytes = kilobytes.split_whitespace().next().context("du prints a size")?;
    let control = format!(
        "Package: {name}\nVersion: {version}-{REVISION}\nArchitecture: {}\nMaintainer: {maintainer}\nInstalled-Size: {kilobytes}\n\
         {}Section: admin\nPriority: optional\nDescription: {}\n{}",
        architecture.debian, package.suggests, package.summary, package.text
    );
    write(&root.join("DEBIAN/control"), control.as_bytes())?;
    let sums = output(
        Command::new("sh")
            .current_dir(root)
            .args(["-c", "find * -path DEBIAN -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum"]),
    )?;
    write(&root.join("DEBIAN/md5sums"), sums.as_bytes())?;
    let path = into.join(format!("{name}_{version}-{REVISION}_{}.deb", architecture.debian));
    let mut pack = Command::new("dpkg-deb");
    pack.env("SOURCE_DATE_EPOCH", tree::committed_s()?).args(["--root-owner-group", "-Zxz", "--build"]);
    output(pack.arg(root).arg(&path))?;
    Ok(path)
}

/// Who makes the packages: as Debian's own programs take it from the environment, else who made the commit.
fn maintainer() -> Result<String> {
    let set = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    if let (Some(name), Some(address)) = (set("DEBFULLNAME"), set("DEBEMAIL")) {
        return Ok(format!("{name} <{address}>"));
    }
    Ok(output(Command::new("git").args(["log", "-1", "--format=%an <%ae>"]).current_dir(top()))?.trim().to_owned())
}

/// The changelog of the packaging.
fn changes(name: &str, version: &str, maintainer: &str) -> Result<String> {
    let date = output(Command::new("date").args(["-u", "-R", "-d"]).arg(format!("@{}", tree::committed_s()?)))?;
    Ok(format!(
        "{name} ({version}-{REVISION}) unstable; urgency=medium\n\n  * Version {version}; see changelog.gz.\n\n -- {maintainer}  {}\n",
        date.trim()
    ))
}

/// The licences, as Debian's machine-readable copyright file has them.
fn copyright() -> Result<String> {
    let mit = std::fs::read_to_string(top().join("LICENSE-MIT"))?;
    let holder = mit.lines().find(|line| line.starts_with("Copyright")).unwrap_or("Copyright the powerband authors");
    let holder = holder.trim_start_matches("Copyright").trim_start_matches(" (c)").trim();
    let indented = |text: &str| -> String {
        text.lines().map(|line| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") }).collect()
    };
    let terms = mit.find("Permission is").map_or(mit.as_str(), |at| &mit[at..]);
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: powerband\n\n\
         Files: *\nCopyright: {holder}\nLicense: Expat or Apache-2.0\n\nLicense: Expat\n{}\nLicense: Apache-2.0\n \
         On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.\n",
        indented(terms)
    ))
}
