//! A kernel's source and Debian's configuration of it, fetched from Debian's packages into the target folder, unpacked and
//! not installed.
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::metadata::target_folder;

/// The packages of source and configurations, and what of them is kept.
const SOURCE: &str = "linux-source-6.1";
const CONFIGS: &str = "linux-config-6.1";

/// What is there once all is.
pub(crate) struct KernelSource {
    /// The unpacked source.
    pub(crate) source: PathBuf,
    /// Debian's configuration for amd64.
    pub(crate) config: PathBuf,
}

/// The source, fetched first when it is not there.
///
/// # Errors
/// When this is no Debian, or its packages cannot be fetched.
pub(crate) fn get() -> Result<KernelSource> {
    let cache = target_folder()?.join("kernel-source");
    let kept = KernelSource { source: cache.join(SOURCE), config: cache.join("config.amd64") };
    if kept.source.join("Kconfig").is_file() && kept.config.is_file() {
        return Ok(kept);
    }
    // What an interrupted one left is begun again.
    let _ = std::fs::remove_dir_all(&cache);
    std::fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    eprintln!("fetching {SOURCE} {CONFIGS}");
    let mut download = Command::new("apt-get");
    // As root apt-get would download as a user of its own, who may not write here.
    download.args(["-qq", "-o", "APT::Sandbox::User=root", "download", SOURCE, CONFIGS]);
    run(download.current_dir(&cache))?;
    let entries = std::fs::read_dir(&cache).with_context(|| format!("cannot list {}", cache.display()))?;
    let mut packages = Vec::new();
    for entry in entries {
        packages.push(entry?.path());
    }
    for package in packages.iter().filter(|path| path.extension().is_some_and(|end| end == "deb")) {
        run(Command::new("dpkg").arg("-x").arg(package).arg(cache.join("packages")))?;
        std::fs::remove_file(package).with_context(|| format!("cannot remove {}", package.display()))?;
    }
    let unpacked = cache.join("packages/usr/src");
    let config = unpacked.join(CONFIGS).join("config.amd64_none_amd64.xz");
    let text = Command::new("xz").arg("-dc").arg(&config).output().context("cannot start xz")?;
    ensure!(text.status.success(), "xz cannot unpack {}", config.display());
    run(Command::new("tar").arg("-C").arg(&cache).arg("-xf").arg(unpacked.join(format!("{SOURCE}.tar.xz"))))?;
    // Last, because it says that all is there.
    std::fs::write(&kept.config, text.stdout).with_context(|| format!("cannot write {}", kept.config.display()))?;
    std::fs::remove_dir_all(cache.join("packages")).context("cannot remove the unpacked packages")?;
    if !Path::new(&kept.source).join("Kconfig").is_file() {
        bail!("{SOURCE} holds no kernel's source");
    }
    Ok(kept)
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}; this needs a Debian system"))?;
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
