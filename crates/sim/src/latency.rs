//! How long waking up may take: what is asked for the whole machine while a file is held open, and for single CPUs.
use powerband_machine::{Errno, LATENCY_DEVICE};

use crate::board::Board;
use crate::schedule::Cpu;

/// What the device answers while nobody asks for anything, us.
const NO_REQUEST_US: u32 = 2_000_000_000;

/// The requests there are.
#[derive(Debug)]
pub(crate) struct Latency {
    /// Of anyone who holds the device open, us.
    pub(crate) everywhere_us: Option<u32>,
    /// Of single CPUs, us.
    pub(crate) of_cpu_us: Vec<Option<u32>>,
}

impl Latency {
    pub(crate) fn new(cpus: usize) -> Self {
        Latency { everywhere_us: None, of_cpu_us: vec![None; cpus] }
    }

    /// What the device reads.
    pub(crate) fn show(&self) -> String {
        format!("{}\n", self.everywhere_us.unwrap_or(NO_REQUEST_US))
    }

    /// What the file of a CPU reads: there 0 is no limit, and n/a allows no wait at all.
    pub(crate) fn show_cpu(&self, cpu: u32) -> String {
        match self.of_cpu_us[cpu as usize] {
            None => "0\n".into(),
            Some(0) => "n/a\n".into(),
            Some(us) => format!("{us}\n"),
        }
    }

    pub(crate) fn set_cpu(&mut self, cpu: u32, text: &str) -> Result<(), Errno> {
        let text = text.trim_end();
        self.of_cpu_us[cpu as usize] = match text {
            "n/a" => Some(0),
            "0" => None,
            number => Some(
                number
                    .parse()
                    .ok()
                    .filter(|&us| i32::try_from(us).is_ok_and(|us| us < i32::MAX))
                    .ok_or(Errno::EINVAL)?,
            ),
        };
        Ok(())
    }
}

impl Board {
    /// Writes to a file and keeps it open. Only the latency device means anything by that.
    pub(crate) fn hold(&mut self, path: &str, text: &str) -> Result<(), Errno> {
        if path != LATENCY_DEVICE || self.idle.is_none() {
            return Err(if self.read(path).is_ok() { Errno::EOPNOTSUPP } else { Errno::ENOENT });
        }
        let digits = text.trim().strip_prefix("0x").ok_or(Errno::EINVAL)?;
        let us = u32::from_str_radix(digits, 16).map_err(|_| Errno::EINVAL)?;
        self.latency.everywhere_us = Some(us);
        self.look_up();
        Ok(())
    }

    /// Closes what was held; nothing to do for what is not.
    pub(crate) fn release(&mut self, path: &str) {
        if path == LATENCY_DEVICE && self.latency.everywhere_us.take().is_some() {
            self.look_up();
        }
    }

    /// The kernel lets every idle CPU choose again.
    fn look_up(&mut self) {
        self.keep_stirring();
        for cpu in 0..u32::try_from(self.cpus.len()).unwrap_or(0) {
            if self.cpus.get(cpu as usize).is_some_and(Cpu::is_asleep) {
                self.jog(cpu);
            }
        }
    }
}
