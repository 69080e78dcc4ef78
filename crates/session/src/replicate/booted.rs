//! A simulated machine as it boots, for claims that no plan holds: its files read and written as any program could.
use powerband_machine::{Errno, Machine, Turn, Wake, World};
use powerband_record::Side;
use powerband_rig::profile;
use powerband_sim::SimWorld;
use powerband_sysfs::{cpufreq, proc::CPUINFO};

use crate::SessionError;

/// Longer than any clock takes to change, ns.
const SETTLED_NS: u64 = 10_000_000;

/// A simulated machine as it boots.
pub(super) struct Booted {
    name: String,
    pub(super) world: SimWorld,
}

impl Booted {
    pub(super) fn new(name: &str) -> Result<Booted, SessionError> {
        let world = SimWorld::new(profile(name)?, None, 1).map_err(|error| SessionError::Failed(error.to_string()))?;
        Ok(Booted { name: name.to_owned(), world })
    }

    pub(super) fn machine(&mut self) -> Result<&mut dyn Machine, SessionError> {
        let name = &self.name;
        self.world.machine(Side::Near).ok_or_else(|| SessionError::Failed(format!("sim:{name} is not there")))
    }

    /// Reads a cpufreq file of a CPU.
    pub(super) fn cpufreq(&mut self, cpu: u32, file: &str) -> Result<String, SessionError> {
        self.read(&format!("{}/{file}", cpufreq::of_cpu(cpu)))
    }

    pub(super) fn read(&mut self, path: &str) -> Result<String, SessionError> {
        let name = self.name.clone();
        let text =
            self.machine()?.read(path).map_err(|errno| SessionError::Failed(format!("sim:{name} {path}: {errno}")))?;
        Ok(text.trim().to_owned())
    }

    /// The names in a folder.
    pub(super) fn list(&mut self, folder: &str) -> Result<Vec<String>, SessionError> {
        let name = self.name.clone();
        let entries = self.machine()?.list(folder);
        let entries = entries.map_err(|errno| SessionError::Failed(format!("sim:{name} {folder}: {errno}")))?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    /// Writes to a cpufreq file of a CPU, as any program could, waits until it has had its effect, and answers the refusal.
    pub(super) fn write(&mut self, cpu: u32, file: &str, text: &str) -> Result<Option<Errno>, SessionError> {
        self.write_to(&format!("{}/{file}", cpufreq::of_cpu(cpu)), text)
    }

    /// The same to any file.
    pub(super) fn write_to(&mut self, path: &str, text: &str) -> Result<Option<Errno>, SessionError> {
        let turn = Turn { read_back: Some(path.into()), ..Turn::write(path, text) };
        let acted = self.machine()?.act(&turn).map_err(|error| SessionError::Failed(error.to_string()))?;
        let until_ns = self.world.now_ns() + SETTLED_NS;
        while self.world.wait(Some(until_ns)) != Wake::Deadline {}
        Ok(acted.errno)
    }

    /// BogoMIPS of the first CPU.
    pub(super) fn bogomips(&mut self) -> Result<f64, SessionError> {
        let text = self.read(CPUINFO)?;
        let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with("bogomips"));
        let number = line.and_then(|line| line.split(':').nth(1)?.trim().parse().ok());
        number.ok_or_else(|| SessionError::Failed("a simulated /proc/cpuinfo has no BogoMIPS".into()))
    }
}
