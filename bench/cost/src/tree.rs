//! The eight sources: the kernel's two tables of CPUs and interrupts, and six made-up meters of power.
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::mount::{MountFlags, mount};

const CLASSES: &str = "/sys/class";
const HWMON: &str = "/sys/class/hwmon";
const METERS: usize = 6;
const TABLES: [&str; 2] = ["/proc/stat", "/proc/interrupts"];

/// How many there are.
pub(crate) const SOURCES: usize = TABLES.len() + METERS;

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

fn files() -> Vec<String> {
    let meters = (0..METERS).map(|number| format!("{HWMON}/hwmon{number}/power1_average"));
    TABLES.into_iter().map(str::to_owned).chain(meters).collect()
}

/// Reads all files and nothing more, again and again, until it is killed.
pub(crate) fn read_forever(interval: Duration) -> Result<ExitCode> {
    let files: Vec<File> =
        files().into_iter().map(File::open).collect::<Result<_, _>>().context("cannot open a source")?;
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
pub(crate) fn psutil_loop(interval: Duration) -> String {
    let meters: Vec<String> = files().split_off(TABLES.len());
    format!(
        "import psutil, time\nmeters = {meters:?}\ndue = time.monotonic()\nwhile True:\n    psutil.cpu_times(percpu=True); psutil.cpu_stats()\n    \
         for name in meters:\n        with open(name) as file: int(file.read())\n    due += {}\n    time.sleep(max(0, due - time.monotonic()))\n",
        interval.as_secs_f64()
    )
}
