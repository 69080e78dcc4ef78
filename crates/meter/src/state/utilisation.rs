//! How busy each CPU was, by `/proc/stat`.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Handle, Look};
use powerband_sysfs::proc::{CpuTime, STAT, cpu_times};

use super::Text;

/// `/proc/stat`, open.
#[derive(Debug)]
pub struct Utilisation(Handle);

impl Utilisation {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel's error number.
    pub fn open(machine: &mut dyn Look) -> Result<Self, Errno> {
        machine.open(STAT).map(Utilisation)
    }

    /// What is read of it.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        vec![self.0]
    }

    /// The CPUs that are online, from what its handles read.
    #[must_use]
    pub fn snapshot(&self, texts: &[Text]) -> BTreeMap<u32, CpuTime> {
        times(texts)
    }
}

/// The CPUs that are online, from the text of `/proc/stat`.
pub(super) fn times(texts: &[Text]) -> BTreeMap<u32, CpuTime> {
    texts.first().and_then(|text| text.as_ref().ok()).map(|text| cpu_times(text)).unwrap_or_default()
}
