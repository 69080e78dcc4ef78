//! The sources: the kernel's two tables of CPUs and interrupts, six made-up meters of power, and what else of this machine
//! `powerband watch` reads.
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::mount::{MountFlags, mount};

const CLASSES: &str = "/sys/class";
const HWMON: &str = "/sys/class/hwmon";
const METERS: usize = 6;
const TABLES: [&str; 2] = ["/proc/stat", "/proc/interrupts"];
const SOURCES: [&str; 2] = ["/proc/", "/sys/"];

/// How long a process may take to open its sources.
const PATIENCE: Duration = Duration::from_secs(5);

/// Mounts the meters over this machine's own. They are in memory, and gone with the namespace.
pub(crate) fn build() -> Result<()> {
    // A machine without sensors has no folder for them.
    mount("bench-cost", CLASSES, "tmpfs", MountFlags::empty(), None).context("cannot mount a tree over the devices")?;
    for number in 0..METERS {
        let folder = PathBuf::from(format!("{HWMON}/hwmon{number}"));
        fs::create_dir_all(&folder).context("cannot make a sensor")?;
        for (name, text) in [
            ("name", format!("meter{number}\n")),
            ("power1_average", format!("{}\n", 12_345_678 + number)),
            ("power1_average_interval", "100\n".to_owned()),
        ] {
            fs::write(folder.join(name), text).context("cannot make a sensor")?;
        }
    }
    Ok(())
}

/// What a process holds open of the kernel's files, once that no longer changes: a machine with idle states has more of
/// them than one without, and what it is compared with reads the same.
pub(crate) fn opened_by(process: u32) -> Result<Vec<PathBuf>> {
    let began = Instant::now();
    let mut before = Vec::new();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = open_files(process)?;
        if !now.is_empty() && now == before {
            return Ok(now);
        }
        ensure!(began.elapsed() < PATIENCE, "powerband watch opened no files of the kernel in {PATIENCE:?}");
        before = now;
    }
}

fn open_files(process: u32) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).context("powerband watch has ended early")?;
    let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let mut files: Vec<PathBuf> = links.filter(|path| SOURCES.iter().any(|folder| path.starts_with(folder))).collect();
    files.sort();
    Ok(files)
}

/// Reads all files and nothing more, again and again, until it is killed.
pub(crate) fn read_forever(files: &[PathBuf], interval: Duration) -> Result<ExitCode> {
    let files: Vec<File> = files.iter().map(File::open).collect::<Result<_, _>>().context("cannot open a source")?;
    let mut buffer = vec![0; 1 << 16];
    let mut due = Instant::now();
    loop {
        for file in &files {
            file.read_at(&mut buffer, 0).context("cannot read a source")?;
        }
        due += interval;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// The same in Python, with psutil for the tables.
pub(crate) fn psutil_loop(files: &[PathBuf], interval: Duration) -> String {
    let rest: Vec<&Path> =
        files.iter().map(PathBuf::as_path).filter(|file| !TABLES.iter().any(|it| *file == Path::new(it))).collect();
    format!(
        "import psutil, time\nfiles = {rest:?}\ndue = time.monotonic()\nwhile True:\n    psutil.cpu_times(percpu=True); psutil.cpu_stats()\n    \
         for name in files:\n        with open(name) as file: file.read()\n    due += {}\n    time.sleep(max(0, due - time.monotonic()))\n",
        interval.as_secs_f64()
    )
}
