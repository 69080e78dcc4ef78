//! How fast the guest's CPUs run: a plugin of the emulator counts their instructions and holds back a CPU that has run what
//! its clock allows.
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{BenchError, Result};
use crate::places::{cache, run, write};

/// The plugin.
const SOURCE: &str = include_str!("../guest/pace.c");
/// What it shares with us: so many CPUs, each three numbers of eight bytes (`struct cpu` there).
const CPUS: usize = 8;
const CPU_BYTES: u64 = 24;

/// The numbers shared with a guest's plugin.
#[derive(Debug)]
pub(crate) struct Pace {
    path: PathBuf,
    file: File,
}

impl Pace {
    /// Makes the file for a guest in its folder; every CPU is free at first.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn make(folder: &Path) -> Result<Self> {
        let path = folder.join("pace");
        write(&path, &[0; CPUS * CPU_BYTES as usize])?;
        let opened = File::options().read(true).write(true).open(&path);
        let file = opened.map_err(BenchError::file("open", &path))?;
        Ok(Pace { path, file })
    }

    /// What the emulator is told. The plugin is compiled when it is new.
    ///
    /// # Errors
    /// When it cannot be compiled.
    pub(crate) fn words(&self) -> Result<Vec<String>> {
        Ok(vec!["-plugin".to_owned(), format!("{},pace={}", plugin()?.display(), self.path.display())])
    }

    /// Lets a CPU run so many instructions a second; 0: as fast as it can.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn set_rate(&self, cpu: usize, per_s: u64) -> Result<()> {
        let written = self.file.write_all_at(&per_s.to_ne_bytes(), cpu as u64 * CPU_BYTES);
        written.map_err(BenchError::file("write", &self.path))
    }

    /// How many instructions a CPU has run since it began.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn instructions(&self, cpu: usize) -> Result<u64> {
        self.number(cpu, 1)
    }

    /// How often a CPU met a breakpoint that the kernel had removed, and was freed from it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn stale_breakpoints(&self, cpu: usize) -> Result<u64> {
        self.number(cpu, 2)
    }

    fn number(&self, cpu: usize, at: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        let read = self.file.read_exact_at(&mut bytes, cpu as u64 * CPU_BYTES + 8 * at);
        read.map_err(BenchError::file("read", &self.path))?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

/// The compiled plugin, kept for the next guest under a name that tells its source.
fn plugin() -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    SOURCE.hash(&mut hasher);
    let kept = cache()?.join(format!("pace-{:016x}.so", hasher.finish()));
    if !kept.exists() {
        let folder = tempfile::tempdir_in(cache()?).map_err(BenchError::file("make a folder in", &cache()?))?;
        let (source, made) = (folder.path().join("pace.c"), folder.path().join("pace.so"));
        write(&source, SOURCE.as_bytes())?;
        run(Command::new("cc").args(["-O2", "-Wall", "-shared", "-fPIC", "-o"]).args([&made, &source]))?;
        fs::rename(&made, &kept).map_err(BenchError::file("keep", &kept))?;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_where_the_plugin_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let pace = Pace::make(folder.path()).unwrap();
        pace.set_rate(1, 7).unwrap();
        pace.file.write_all_at(&[9_u64, 5].map(u64::to_ne_bytes).concat(), 32).unwrap();
        let bytes = fs::read(folder.path().join("pace")).unwrap();
        assert_eq!((bytes.len(), bytes[24]), (192, 7));
        assert_eq!((pace.instructions(0).unwrap(), pace.instructions(1).unwrap()), (0, 9));
        assert_eq!((pace.stale_breakpoints(0).unwrap(), pace.stale_breakpoints(1).unwrap()), (0, 5));
        assert!(SOURCE.contains("enum { CPUS = 8,"));
    }
}
