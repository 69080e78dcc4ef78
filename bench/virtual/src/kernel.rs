//! The guest's kernel: Debian's package fetched and unpacked without installing it, and the order of its modules; or an image
//! that somebody built.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debian::{Foreign, files, newest};
use crate::error::{BenchError, Result};
use crate::places::{cache, read, run};

/// What a PC loads; what these need is found in the modules themselves. `crc32c` is asked for by ext4 by name alone.
pub(crate) const MODULES: [&str; 13] = [
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "crc32c_generic",
    "ext4",
    "e1000e",
    "cpufreq_ondemand",
    "cpufreq_conservative",
    "cpufreq_powersave",
    "cpufreq_userspace",
    "acpi-cpufreq",
    "acpi_power_meter",
    "msr",
];

/// A kernel to boot.
#[derive(Clone, Debug)]
pub struct GuestKernel {
    image: PathBuf,
    /// Their folder, with `modules.order` in it; none where everything is built in.
    modules: Option<PathBuf>,
}

impl GuestKernel {
    /// An image with everything built in that a guest lives on: the disk and the ports of virtio, ext4, and what else Debian's has.
    #[must_use]
    pub fn built(image: PathBuf) -> Self {
        GuestKernel { image, modules: None }
    }

    /// Debian's kernel from the cache, fetched first when there is none.
    ///
    /// # Errors
    /// When Debian's package tools are missing or cannot fetch it.
    pub fn get() -> Result<Self> {
        let cache = cache()?;
        if let Some(kernel) = Self::cached(&cache, "amd64") {
            return Ok(kernel);
        }
        let release = newest_release()
            .or_else(|_| run(Command::new("apt-get").args(["update", "-qq"])).and_then(|_| newest_release()))?;
        let place = tempfile::tempdir_in(&cache).map_err(BenchError::file("make a folder in", &cache))?;
        let package = format!("linux-image-{release}-unsigned");
        let mut download = Command::new("apt-get");
        // As root apt-get would download as a user of its own, who may not write here.
        run(download.current_dir(place.path()).args(["-qq", "-o", "APT::Sandbox::User=root", "download", &package]))?;
        let file = files(place.path())?.into_iter().find(|file| file.extension().is_some_and(|end| end == "deb"));
        let file = file.ok_or_else(|| BenchError::Missing(format!("apt-get brought no {package}")))?;
        let unpacked = place.path().join("unpacked");
        run(Command::new("dpkg").arg("-x").arg(&file).arg(&unpacked))?;
        let folder = cache.join(format!("linux-{release}"));
        // Somebody else may have been quicker; then theirs is as good.
        let _ = std::fs::rename(&unpacked, &folder);
        Self::cached(&cache, "amd64").ok_or_else(|| BenchError::Missing(format!("{package} holds no kernel")))
    }

    /// The same of another architecture. Its busybox lies next to it.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn foreign(foreign: &Foreign) -> Result<Self> {
        let cache = cache()?;
        if let Some(kernel) = Self::cached(&cache, foreign.kernel) {
            return Ok(kernel);
        }
        let place = tempfile::tempdir_in(&cache).map_err(BenchError::file("make a folder in", &cache))?;
        let (release, unpacked) = foreign.fetch(place.path())?;
        // Somebody else may have been quicker; then theirs is as good.
        let _ = std::fs::rename(&unpacked, cache.join(format!("linux-{release}")));
        Self::cached(&cache, foreign.kernel).ok_or_else(|| BenchError::Missing(format!("{release} holds no kernel")))
    }

    /// The newest of a kind in the cache.
    fn cached(cache: &Path, kind: &str) -> Option<Self> {
        let found = files(cache).ok()?.into_iter().filter_map(|folder| {
            let release = folder.file_name()?.to_str()?.strip_prefix("linux-")?;
            let release = Some(release).filter(|release| release.ends_with(&format!("-{kind}")))?;
            let image = folder.join(format!("boot/vmlinuz-{release}"));
            let modules = Some(folder.join("lib/modules").join(release));
            image.is_file().then(|| (numbers(release), GuestKernel { image, modules }))
        });
        found.max_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, kernel)| kernel)
    }

    /// The release in the image's name, `6.1.0-9-amd64`, as Debian calls its images.
    #[must_use]
    pub fn release(&self) -> Option<&str> {
        self.image.file_name()?.to_str()?.strip_prefix("vmlinuz-")
    }

    /// The folder of its modules, `lib/modules/RELEASE`; none where everything is built in.
    #[must_use]
    pub fn modules_folder(&self) -> Option<&Path> {
        self.modules.as_deref()
    }

    /// The file the emulator boots.
    #[must_use]
    pub fn image(&self) -> &Path {
        &self.image
    }

    /// The file that a PC boots: the kernel that Debian's image packs by xz, unpacked next to it, since a guest takes longer for that
    /// than for the rest of its boot. The image itself where it is packed otherwise, or here is no `xz`.
    #[must_use]
    pub fn unpacked(&self) -> PathBuf {
        let unpacked = self.image.with_file_name(format!("vmlinux-{}", self.release().unwrap_or_default()));
        if self.modules.is_none() || !unpacked.is_file() && self.unpack(&unpacked).is_none() {
            return self.image.clone();
        }
        unpacked
    }

    /// Unpacks what the header of the image names its payload (Documentation/x86/boot.rst), without the length at its end.
    fn unpack(&self, into: &Path) -> Option<()> {
        let image = read(&self.image).ok()?;
        let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
        let begin = (usize::from(*image.get(0x1f1)?) + 1) * 512 + number(0x248)?;
        let packed = tempfile::NamedTempFile::new_in(into.parent()?).ok()?;
        std::fs::write(packed.path(), image.get(begin..begin + number(0x24c)? - 4)?).ok()?;
        let unpacked = tempfile::NamedTempFile::new_in(into.parent()?).ok()?;
        let mut xz = Command::new("xz");
        xz.args(["-dc", "--single-stream"]).arg(packed.path()).stdout(unpacked.reopen().ok()?);
        xz.status().ok().filter(std::process::ExitStatus::success)?;
        unpacked.persist(into).ok().map(drop)
    }

    /// A file of its package, by the path there.
    pub(crate) fn package_file(&self, path: &str) -> PathBuf {
        self.image.ancestors().nth(2).unwrap_or(Path::new("/")).join(path)
    }

    /// The modules a guest loads and what they need, in an order in which each finds that: file name and bytes.
    pub(crate) fn modules(&self, names: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
        let Some(top) = &self.modules else { return Ok(Vec::new()) };
        let order = read(&top.join("modules.order"))?;
        let order = String::from_utf8_lossy(&order);
        let known: BTreeMap<String, PathBuf> = order
            .lines()
            .filter_map(|line| {
                let stem = Path::new(line).file_stem()?.to_str()?;
                Some((stem.replace('-', "_"), top.join(line)))
            })
            .collect();
        let mut loaded = Vec::new();
        for name in names {
            load(&name.replace('-', "_"), &known, &mut loaded)?;
        }
        Ok(loaded)
    }
}

/// A module behind everything it depends on. What the kernel has built in is in no file.
fn load(name: &str, known: &BTreeMap<String, PathBuf>, loaded: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let file = format!("{name}.ko");
    let Some(path) = known.get(name).filter(|_| loaded.iter().all(|(other, _)| *other != file)) else { return Ok(()) };
    let bytes = read(path)?;
    for needed in depends(&bytes) {
        load(&needed.replace('-', "_"), known, loaded)?;
    }
    loaded.push((file, bytes));
    Ok(())
}

/// What a module says it needs: the `depends=` text of its information section.
fn depends(module: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let Some(at) = module.windows(key.len()).position(|window| window == key) else { return Vec::new() };
    let text = module[at + key.len()..].split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The numbers of a release, so that 6.1.0-10 comes behind 6.1.0-9.
fn numbers(release: &str) -> Vec<u64> {
    release.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// The release Debian's newest kernel package depends on.
fn newest_release() -> Result<String> {
    let text = run(Command::new("apt-cache").args(["depends", "linux-image-amd64"]))?;
    newest(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_ordered_as_numbers() {
        assert!(numbers("6.1.0-10-amd64") > numbers("6.1.0-9-amd64"));
    }

    #[test]
    fn modules_load_behind_what_they_need_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut known = BTreeMap::new();
        for (name, needs) in [("ext4", "mbcache,jbd2,built_in"), ("jbd2", "mbcache"), ("mbcache", "")] {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("ELF\0license=GPL\0depends={needs}\0name={name}\0")).unwrap();
            known.insert(name.to_owned(), path);
        }
        let mut loaded = Vec::new();
        load("ext4", &known, &mut loaded).unwrap();
        load("jbd2", &known, &mut loaded).unwrap();
        let names: Vec<&str> = loaded.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["mbcache.ko", "jbd2.ko", "ext4.ko"]);
    }
}
