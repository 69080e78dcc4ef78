//! How a governor's tunable behaves; the table of them is in `tunable/table.rs`.
mod table;

pub(super) use table::*;

use powerband_machine::{Errno, Look};
use powerband_sysfs::{cpufreq::CPUFREQ, names};

use super::takes::{Takes, valued_by};
use crate::policy::{Policy, policies};
use crate::{About, Knob, KnobError, Landed, Selection, Site, Sites, Value};

/// One tunable: a file of a governor's folder.
#[derive(Clone, Copy, Debug)]
pub struct Tunable {
    about: &'static About,
    governor: &'static str,
    takes: Takes,
}

/// Where a governor keeps its tunables for a policy, and whether all policies share them there; `None` while the
/// governor is not in force.
///
/// # Errors
/// [`KnobError::Unreadable`] when a folder is there, or may be, and cannot be listed.
pub(crate) fn folder(
    machine: &mut dyn Look,
    policy: &Policy,
    governor: &str,
) -> Result<Option<(String, bool)>, KnobError> {
    for (path, shared) in [(format!("{CPUFREQ}/{governor}"), true), (policy.file(governor), false)] {
        match machine.list(&path) {
            Ok(_) => return Ok(Some((path, shared))),
            Err(Errno::ENOENT | Errno::ENOTDIR) => {}
            Err(errno) => return Err(KnobError::Unreadable { knob: governor.to_owned(), path, errno }),
        }
    }
    Ok(None)
}

impl Tunable {
    /// The tunable's site for one policy that runs its governor.
    fn site(&self, name: &str, machine: &mut dyn Look, policy: &Policy) -> Result<Site, KnobError> {
        let governor = self.governor;
        let Some((folder, shared)) = folder(machine, policy, governor)? else {
            let why = format!("the driver of {} keeps no tunables for {governor}", policy.name);
            return Err(KnobError::absent(name, why));
        };
        let there = names(machine, &folder);
        if !there.iter().any(|file| file == self.about.short) {
            let why = format!("this kernel's {governor} has only {}", there.join(", "));
            return Err(KnobError::absent(name, why));
        }
        let path = format!("{folder}/{}", self.about.short);
        Ok(if shared {
            Site::system(path)
        } else {
            Site { name: policy.name.clone(), path: Some(path), policy: Some(policy.clone()) }
        })
    }

    /// The policies meant that run the governor: all of them where a selection names them, else those that do.
    fn running(
        &self,
        name: &str,
        machine: &mut dyn Look,
        at: &Selection,
        chosen: Vec<Policy>,
    ) -> Result<Vec<Policy>, KnobError> {
        let mut running = Vec::new();
        let mut other = None;
        for policy in chosen {
            let found = policy.read(machine, "scaling_governor").map_err(|errno| KnobError::Unreadable {
                knob: name.to_owned(),
                path: policy.file("scaling_governor"),
                errno,
            })?;
            let found = found.to_lowercase();
            if found == self.governor {
                running.push(policy);
            } else {
                other.get_or_insert((policy.name, found));
            }
        }
        let named = at.site.as_deref().is_some_and(|site| site != "-") || at.cpus.is_some();
        match other {
            Some((site, found)) if named || running.is_empty() => Err(KnobError::NeedsFirst {
                knob: name.into(),
                needs: self.governor,
                site,
                found,
                hint: format!("governor={} {}=VALUE together", self.governor, self.about.short),
            }),
            _ => Ok(running),
        }
    }
}

impl Knob for Tunable {
    fn about(&self) -> &'static About {
        self.about
    }

    fn sites(&self, name: &str, machine: &mut dyn Look, at: &Selection) -> Result<Sites, KnobError> {
        let all = policies(machine, name)?;
        let mut found = Sites::default();
        let chosen = all.select(name, at, &mut found.notes)?;
        let part = chosen.len() < all.active.len();
        for policy in self.running(name, machine, at, chosen)? {
            let site = self.site(name, machine, &policy)?;
            if site.policy.is_some() {
                found.policies = all.active.len() + all.asleep.len();
            }
            if !found.sites.contains(&site) {
                found.sites.push(site);
            }
        }
        if found.policies == 0 {
            // Remarks about single policies do not apply to what all of them share.
            found.notes.clear();
            if part {
                let governor = self.governor;
                found.notes.push(format!(
                    "the tunables of {governor} are shared here: {name} is set for all policies that run it"
                ));
            }
        }
        Ok(found)
    }

    valued_by!(self => self.takes);

    fn landed_elsewhere(&self, reads: &str) -> Landed {
        Landed::Clamped { to: reads.to_owned() }
    }
}
