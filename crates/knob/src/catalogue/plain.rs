//! A knob that is one plain file of the machine, of each CPU or of each policy: what the kernel shows there is what is in
//! force, and writing it back takes it back.
use powerband_machine::{Errno, Look};

use super::takes::{Takes, valued_by};
use crate::policy::policies;
use crate::{About, Knob, KnobError, Landed, Selection, Site, Sites, Value, cpu};

/// Where the file is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// The first of these that exists.
    System(&'static [&'static str]),
    /// Below the folder of each CPU: `power/energy_perf_bias`.
    EachCpu(&'static str),
    /// In the folder of each policy.
    EachPolicy(&'static str),
}

/// A knob that is one plain file.
#[derive(Clone, Copy, Debug)]
pub struct PlainFile {
    pub(super) about: &'static About,
    pub(super) place: Place,
    pub(super) takes: Takes,
    /// Why it is absent where it is, and what works instead.
    pub(super) absent: &'static str,
    /// What the kernel's answers mean here, beyond "invalid argument".
    pub(super) answers: &'static [(Errno, &'static str)],
}

impl PlainFile {
    pub(super) const fn new(
        about: &'static About,
        place: Place,
        takes: Takes,
        absent: &'static str,
        answers: &'static [(Errno, &'static str)],
    ) -> Self {
        PlainFile { about, place, takes, absent, answers }
    }

    fn policy_sites(&self, name: &str, file: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        let mut sites = policies(machine, name)?.sites(name, file, at)?;
        let is_there = |site: &Site| site.path.as_deref().is_some_and(|path| machine.read(path) != Err(Errno::ENOENT));
        sites.sites.retain(is_there);
        if sites.sites.is_empty() { Err(KnobError::absent(name, self.absent)) } else { Ok(sites) }
    }
}

impl Knob for PlainFile {
    fn about(&self) -> &'static About {
        self.about
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        match self.place {
            Place::System(paths) => {
                super::file::only_everywhere(name, at)?;
                let there =
                    paths.iter().find(|path| !matches!(machine.read(path), Err(Errno::ENOENT | Errno::ENOTDIR)));
                let path = there.ok_or_else(|| KnobError::absent(name, self.absent))?;
                Ok(Sites { sites: vec![Site::system((*path).to_owned())], ..Sites::default() })
            }
            Place::EachPolicy(file) => self.policy_sites(name, file, machine, at),
            Place::EachCpu(file) => {
                let mut sites = Sites::default();
                for number in cpu::chosen(name, machine, at)? {
                    let path = powerband_sysfs::topology::file(number, file);
                    if !matches!(machine.read(&path), Err(Errno::ENOENT | Errno::ENOTDIR)) {
                        sites.sites.push(Site { name: format!("cpu{number}"), path: Some(path), policy: None });
                    }
                }
                if sites.sites.is_empty() { Err(KnobError::absent(name, self.absent)) } else { Ok(sites) }
            }
        }
    }

    valued_by!(self => self.takes);

    fn meaning(&self, errno: Errno) -> Option<&'static str> {
        let told = self.answers.iter().find(|(answer, _)| *answer == errno).map(|&(_, words)| words);
        told.or_else(|| crate::knob::invalid(self.about, errno))
    }

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        match self.takes {
            Takes::Number { .. } | Takes::Since { .. } => Landed::Clamped { to: reads.to_owned() },
            _ => Landed::ReadsOther { reads: reads.to_owned() },
        }
    }
}
