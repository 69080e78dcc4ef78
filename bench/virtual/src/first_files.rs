//! The guest's first file system and its disk.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::Archive;
use crate::error::{BenchError, Result};
use crate::places;

/// Bytes of the disk; nothing of it is used that nobody writes.
const DISK_BYTES: u64 = 64 << 20;

/// The guest's first process.
pub(crate) const INIT: &str = include_str!("../guest/init.sh");
/// Where a PC is copied: the line of init before which, and what comes there.
pub(crate) const COPIED: (&str, &str) = ("ip link set lo up\n", include_str!("../guest/copied.sh"));

/// The guest's first file system: busybox, programs of ours, modules, init, and files for it.
pub(crate) fn archive(
    init: &str,
    busybox: &[u8],
    modules: &[(String, Vec<u8>)],
    programs: &[(String, Vec<u8>)],
    files: &[(String, Vec<u8>)],
) -> Vec<u8> {
    let mut archive = Archive::default();
    for folder in ["bin", "dev", "etc", "modules", "proc", "root", "run", "sys", "tmp", "var", "var/lib"] {
        archive.folder(folder);
    }
    archive.device("dev/console", (5, 1));
    archive.device("dev/null", (1, 3));
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n");
    archive.file("etc/group", b"root:x:0:\nnogroup:x:65534:\n");
    archive.program("init", init.as_bytes());
    archive.program("bin/busybox", busybox);
    let mut folders: Vec<&Path> = programs.iter().flat_map(|(path, _)| Path::new(path).ancestors().skip(1)).collect();
    folders.sort_unstable();
    folders.dedup();
    // Those of the guest are there already, and the root has no name.
    for folder in folders.iter().filter_map(|folder| folder.to_str()).filter(|path| !path.is_empty() && *path != "bin")
    {
        archive.folder(folder);
    }
    for (path, bytes) in programs {
        archive.program(path, bytes);
    }
    let mut order = String::new();
    for (name, bytes) in modules {
        order.push_str(&format!("{name}\n"));
        archive.file(&format!("modules/{name}"), bytes);
    }
    archive.file("modules/order", order.as_bytes());
    for (path, bytes) in files {
        archive.file(path, bytes);
    }
    archive.finished()
}

/// This machine's busybox, which is every program of the guest but ours.
pub(crate) fn busybox() -> Result<Vec<u8>> {
    places::read(Path::new("/bin/busybox"))
}

/// Makes an empty disk in a folder.
pub(crate) fn make_disk(folder: &Path) -> Result<PathBuf> {
    let disk = folder.join("disk");
    let file = fs::File::create(&disk).map_err(BenchError::file("make", &disk))?;
    file.set_len(DISK_BYTES).map_err(BenchError::file("size", &disk))?;
    let path = std::env::var("PATH").unwrap_or_default();
    // An ordinary user's path does not look where Debian puts it.
    places::run(
        Command::new("mke2fs").env("PATH", format!("{path}:/usr/sbin:/sbin")).args(["-q", "-t", "ext4"]).arg(&disk),
    )?;
    Ok(disk)
}
