//! The daemon's configuration in `/etc/sysconfig/cpuspeed`, as far as it decides.
use thiserror::Error;

use crate::DaemonOptions;

/// What the file says; `None` for what it leaves to the daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// `MIN_SPEED`, kHz.
    pub min_khz: Option<u32>,
    /// `MAX_SPEED`, kHz.
    pub max_khz: Option<u32>,
    /// `UP_THRESHOLD`: busier than this, and the clock goes to the top, %.
    pub up_busy_percent: Option<u32>,
    /// `DOWN_THRESHOLD`: less busy than this, and the clock goes down, %.
    pub down_busy_percent: Option<u32>,
    /// `IGNORE_NICE`.
    pub ignore_nice: Option<bool>,
    /// `GOVERNOR`, unless it is userspace: the service would not start the daemon.
    pub other_governor: Option<String>,
    /// What the file says and the daemon's rule does not know: `OPTS`.
    pub unused: Vec<String>,
}

/// A line of the file that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {key} is '{value}'; write {takes}")]
pub struct LineError {
    /// Counted from 1.
    pub line: usize,
    /// The key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it takes.
    pub takes: &'static str,
}

impl FileOptions {
    /// Reads the file's text: assignments of a shell, the last of a name counts, an empty one says nothing.
    ///
    /// # Errors
    /// [`LineError`], the first line whose value cannot be meant.
    pub fn parse(text: &str) -> Result<FileOptions, LineError> {
        let mut read = FileOptions::default();
        for (place, line) in text.lines().enumerate() {
            let Some((key, value)) = assignment(line) else { continue };
            let wrong = |takes| LineError { line: place + 1, key: key.into(), value: value.into(), takes };
            let number = |most: u32, takes| match value {
                "" => Ok(None),
                _ => value.parse().ok().filter(|number| *number <= most).map(Some).ok_or_else(|| wrong(takes)),
            };
            match key {
                "MIN_SPEED" => read.min_khz = number(u32::MAX, "a frequency in kHz")?,
                "MAX_SPEED" => read.max_khz = number(u32::MAX, "a frequency in kHz")?,
                "UP_THRESHOLD" => read.up_busy_percent = number(100, "a percentage, 0 to 100")?,
                "DOWN_THRESHOLD" => read.down_busy_percent = number(100, "a percentage, 0 to 100")?,
                "IGNORE_NICE" => read.ignore_nice = number(1, "0 or 1")?.map(|one| one == 1),
                "GOVERNOR" => {
                    read.other_governor = Some(value).filter(|it| !matches!(*it, "" | "userspace")).map(Into::into)
                }
                "OPTS" if !value.is_empty() => read.unused.push(format!("OPTS={value}")),
                _ => {}
            }
        }
        Ok(read)
    }

    /// These options with what the file says: its thresholds are of busy time, the daemon's of idle time.
    #[must_use]
    pub fn over(&self, options: DaemonOptions) -> DaemonOptions {
        let idle = |busy: Option<u32>, or: u32| busy.map_or(or, |busy| 100 - busy.min(100));
        DaemonOptions {
            min_khz: self.min_khz.or(options.min_khz),
            max_khz: self.max_khz.or(options.max_khz),
            fast_up_percent: idle(self.up_busy_percent, options.fast_up_percent),
            threshold_percent: idle(self.down_busy_percent, options.threshold_percent),
            ignore_nice: self.ignore_nice.unwrap_or(options.ignore_nice),
            ..options
        }
    }
}

/// Name and value of a line, if it is an assignment: quotes and what follows a `#` after a blank are cut off.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.trim().split_once('=')?;
    let is_name = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let value = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next().unwrap_or_default(),
        _ => rest.split_whitespace().next().filter(|word| !word.starts_with('#')).unwrap_or_default(),
    };
    is_name.then_some((key, value.trim()))
}
