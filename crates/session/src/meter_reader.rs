//! One meter that is read again and again, outside of an experiment.
use powerband_machine::{Handle, Machine};
use powerband_meter::MeterInstance;

/// A meter that is read.
pub(crate) struct MeterReader {
    /// Which.
    pub(crate) meter: MeterInstance,
    /// Its files, or why they cannot be opened.
    pub handles: Result<Vec<Handle>, String>,
    /// What it showed, and when, ns of the world's clock.
    pub read: Vec<(u64, Result<u64, String>)>,
}

impl MeterReader {
    /// Opens the meter's files.
    pub(crate) fn open(machine: &mut dyn Machine, meter: MeterInstance) -> MeterReader {
        let files = [Some(&meter.source), meter.times.as_ref()].into_iter().flatten();
        let handles = files.map(|file| machine.open(file).map_err(|errno| format!("{file}: {errno}"))).collect();
        MeterReader { handles, meter, read: Vec::new() }
    }

    /// Reads it once.
    pub(crate) fn look(&mut self, machine: &mut dyn Machine, now_ns: u64) {
        let Ok(handles) = &self.handles else { return };
        let mut texts = Vec::new();
        machine.read_many(handles, &mut texts);
        let number = match texts.iter().find_map(|text| text.as_ref().err()) {
            Some(errno) => Err(errno.to_string()),
            None => self.meter.number(texts.iter().flatten().map(String::as_str)),
        };
        self.read.push((now_ns, number));
    }

    /// Gives its files up; what it showed stays.
    pub(crate) fn close(&self, machine: &mut dyn Machine) {
        self.handles.iter().flatten().for_each(|&handle| machine.close(handle));
    }
}
