//! A recording that a program carries in itself: written to a folder of its own, which is gone when this is dropped.
use std::io;
use std::path::{Path, PathBuf};

use super::{RecordedError, RecordedMachine};

/// The folder.
#[derive(Debug)]
pub struct CarriedRecording(PathBuf);

impl CarriedRecording {
    /// Writes the files, each by its path in the recording.
    ///
    /// # Errors
    /// When one cannot be written among temporary files.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> io::Result<Self> {
        let folder = CarriedRecording(std::env::temp_dir().join(format!("powerband-boot-{}", std::process::id())));
        std::fs::create_dir(&folder.0)?;
        for (name, text) in files {
            let path = folder.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            std::fs::write(path, text)?;
        }
        Ok(folder)
    }

    /// The machine that was recorded.
    ///
    /// # Errors
    /// As [`RecordedMachine::open`].
    pub fn open(&self, name: &str) -> Result<RecordedMachine, RecordedError> {
        RecordedMachine::open(name, &self.0)
    }
}

impl Drop for CarriedRecording {
    fn drop(&mut self) {
        // What cannot be removed lies among temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
