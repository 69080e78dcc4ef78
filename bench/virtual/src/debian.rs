//! Packages of another architecture from Debian's archive, fetched and unpacked without telling the system's package tools of it.
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{BenchError, Result};
use crate::places::{read, run, write};

/// An architecture that is not this machine's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Debian's name of it.
    pub(crate) name: &'static str,
    /// What Debian calls its ordinary kernel.
    pub(crate) kernel: &'static str,
    /// What the names of its compiler and its tools begin with.
    pub(crate) gnu: &'static str,
    /// Names the command where it was built for it.
    pub(crate) built: &'static str,
}

impl Foreign {
    /// 32-bit ARM.
    pub(crate) const ARMHF: Foreign =
        Foreign { name: "armhf", kernel: "armmp", gnu: "arm-linux-gnueabihf", built: "POWERBAND_BUILT_ARMHF" };
    /// 64-bit ARM.
    pub(crate) const ARM64: Foreign =
        Foreign { name: "arm64", kernel: "arm64", gnu: "aarch64-linux-gnu", built: "POWERBAND_BUILT_ARM64" };

    /// The command that was built for it.
    ///
    /// # Errors
    /// When nobody did.
    pub(crate) fn powerband(&self) -> Result<PathBuf> {
        std::env::var_os(self.built).map(PathBuf::from).ok_or_else(|| {
            let name = self.name;
            BenchError::Missing(format!("{} names no powerband for {name}; cargo xtask builds it", self.built))
        })
    }

    /// Unpacks its newest kernel and its busybox into a folder below `place`, and answers that with the kernel's release.
    pub(crate) fn fetch(&self, place: &Path) -> Result<(String, PathBuf)> {
        let archive = Archive::of(self, place)?;
        let release = archive.newest(self.kernel)?;
        let unpacked = place.join("unpacked");
        for package in [format!("linux-image-{release}"), "busybox-static".to_owned()] {
            archive.unpack(&package, &unpacked)?;
        }
        Ok((release, unpacked))
    }
}

/// Package tools whose lists and sources are their own.
struct Archive {
    place: PathBuf,
    options: Vec<String>,
}

impl Archive {
    /// The release of Debian that this machine has, for another architecture. The lists are fetched.
    fn of(foreign: &Foreign, place: &Path) -> Result<Archive> {
        let release = String::from_utf8_lossy(&read(Path::new("/etc/os-release"))?).into_owned();
        let name = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let name = name.filter(|_| release.lines().any(|line| line == "ID=debian"));
        let name = name.ok_or_else(|| BenchError::Missing("the virtual bench needs Debian's packages".into()))?;
        let key = "/usr/share/keyrings/debian-archive-keyring.gpg";
        let source = format!("deb [signed-by={key}] http://deb.debian.org/debian {name} main\n");
        write(&place.join("sources.list"), source.as_bytes())?;
        write(&place.join("status"), b"")?;
        let at = |path: &str| place.join(path).display().to_string();
        let options = [
            format!("Dir::State={}", at("state")),
            format!("Dir::State::status={}", at("status")),
            format!("Dir::Cache={}", at("cache")),
            format!("Dir::Etc::sourcelist={}", at("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            format!("APT::Architecture={}", foreign.name),
            format!("APT::Architectures={}", foreign.name),
            "Acquire::Languages=none".to_owned(),
            // As root apt-get would download as a user of its own, who may not write here.
            "APT::Sandbox::User=root".to_owned(),
        ];
        let options = options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect();
        let archive = Archive { place: place.to_owned(), options };
        for folder in ["state/lists/partial", "cache/archives/partial", "unpacked"] {
            std::fs::create_dir_all(place.join(folder)).map_err(BenchError::file("make a folder in", place))?;
        }
        archive.run("apt-get", &["-qq", "update"])?;
        Ok(archive)
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<String> {
        run(Command::new(program).current_dir(&self.place).args(&self.options).args(words))
    }

    /// The release of the newest kernel of a kind.
    fn newest(&self, kernel: &str) -> Result<String> {
        newest(&self.run("apt-cache", &["depends", &format!("linux-image-{kernel}")])?)
    }

    fn unpack(&self, package: &str, into: &Path) -> Result<()> {
        self.run("apt-get", &["-qq", "download", package])?;
        let file = files(&self.place)?.into_iter().find(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&format!("{package}_")) && name.ends_with(".deb")
        });
        let file = file.ok_or_else(|| BenchError::Missing(format!("apt-get brought no {package}")))?;
        run(Command::new("dpkg").arg("-x").arg(&file).arg(into)).map(drop)
    }
}

/// The release that a package of no kernel but the newest depends on.
pub(crate) fn newest(depends: &str) -> Result<String> {
    let release = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    release.map(str::to_owned).ok_or_else(|| {
        BenchError::Missing("apt-cache knows no kernel of Debian's; the virtual bench needs Debian's packages".into())
    })
}

/// What lies in a folder.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(BenchError::file("list", folder))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
}
