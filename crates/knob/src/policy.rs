//! cpufreq policies: which there are, which CPUs they drive, which of them a selection means.
use std::collections::BTreeSet;

use powerband_machine::{Errno, Look};
use powerband_record::CpuList;
use powerband_sysfs::{cpufreq, cpufreq::CPUFREQ, numbered, topology};
use serde::Serialize;

use crate::look::ReadFailure;
use crate::{KnobError, Selection, Site, Sites};

/// Drivers that choose frequencies themselves (Linux 6.12 drivers/cpufreq/intel_pstate.c, amd-pstate.c; before 6.4 the latter
/// has the other spelling).
const OWN_RULES: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd_pstate_epp"];

/// A policy's CPUs that are online, and all of them.
const LISTS: [&str; 2] = ["affected_cpus", "related_cpus"];

/// CPUs that share one clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Policy {
    /// `policy0`.
    pub name: String,
    /// Its folder, without a final slash.
    pub folder: String,
    /// Its CPUs, offline ones included.
    pub cpus: CpuList,
    /// Those that are online.
    pub online: CpuList,
}

impl Policy {
    /// Path of one of its files.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// Text of one of its files without surrounding blanks.
    ///
    /// # Errors
    /// The kernel's error number.
    pub fn read(&self, machine: &mut dyn Look, name: &str) -> Result<String, Errno> {
        machine.read(&self.file(name)).map(|text| text.trim().to_owned())
    }

    /// A file that holds kHz; `None` when it is absent or holds none.
    pub fn khz(&self, machine: &mut dyn Look, name: &str) -> Option<u32> {
        self.read(machine, name).ok()?.parse().ok()
    }

    /// The steps the driver lists, ascending; empty for drivers without a table.
    pub fn steps_khz(&self, machine: &mut dyn Look) -> Vec<u32> {
        cpufreq::steps_khz(machine, &self.folder)
    }

    /// Whether its driver chooses frequencies itself, under governors performance and powersave of its own.
    pub(crate) fn has_own_rules(&self, machine: &mut dyn Look) -> bool {
        self.read(machine, "scaling_driver").is_ok_and(|driver| OWN_RULES.contains(&driver.as_str()))
    }

    /// Whether it cannot run a governor: its driver chooses frequencies itself, or it does not offer it.
    pub(crate) fn lacks_governor(&self, governor: &str, machine: &mut dyn Look) -> bool {
        let offered = self.governors(machine);
        self.has_own_rules(machine) || offered.is_some_and(|all| !all.iter().any(|it| it == governor))
    }

    /// The governors it offers, in the kernel's order; `None` when it does not say.
    pub fn governors(&self, machine: &mut dyn Look) -> Option<Vec<String>> {
        let text = self.read(machine, "scaling_available_governors").ok()?;
        Some(text.split_whitespace().map(str::to_lowercase).collect())
    }
}

/// The policies of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// Those with a CPU online, by number.
    pub active: Vec<Policy>,
    /// Names of those whose CPUs are all offline: the kernel answers EBUSY for every file of theirs.
    pub asleep: Vec<String>,
    /// What of their lists of CPUs cannot be read.
    pub unread: Vec<ReadFailure>,
}

/// Texts of some files of one folder, in their order.
pub(crate) type Texts = Vec<Result<String, Errno>>;

/// Finds the policies.
///
/// # Errors
/// [`KnobError::Absent`] in the name of `knob` when the machine has no cpufreq.
pub fn policies(machine: &mut dyn Look, knob: &str) -> Result<Policies, KnobError> {
    policies_with(machine, knob, |_, _| Vec::new()).map(|(all, _)| all)
}

/// Finds the policies, and the texts of some files of each that is active: which, is asked once, with the first one's folder.
///
/// # Errors
/// As [`policies`].
pub(crate) fn policies_with(
    machine: &mut dyn Look,
    knob: &str,
    mut files: impl FnMut(&mut dyn Look, &str) -> Vec<&'static str>,
) -> Result<(Policies, Vec<Texts>), KnobError> {
    let (folders, found) = match machine.list(CPUFREQ) {
        Ok(entries) => (numbered(entries.into_iter().map(|entry| entry.name), "policy"), "is empty"),
        Err(_) => (Vec::new(), "does not exist"),
    };
    let mut all = Policies::default();
    let named = folders.into_iter().map(|(number, name)| (format!("policy{number}"), format!("{CPUFREQ}/{name}")));
    let named: Vec<(String, String)> = named.collect();
    let wanted = named.first().map(|(_, folder)| files(machine, folder)).unwrap_or_default();
    let mut texts = all.add(machine, named, &LISTS, &wanted);
    if all.active.is_empty() && all.asleep.is_empty() {
        (all, texts) = per_cpu_folders(machine, files);
    }
    if all.active.is_empty() && all.asleep.is_empty() {
        return Err(KnobError::absent(
            knob,
            format!(
                "this machine has no cpufreq ({CPUFREQ} {found}); a virtual machine usually has none; \
                 rehearse with cgroup.cpu_quota or --machine sim:NAME (`powerband sim list` has the names)"
            ),
        ));
    }
    Ok((all, texts))
}

/// Kernels before policy folders (2.6): each CPU has its own `cpufreq`, shared ones name the same CPUs as affected. Related
/// are there those whose clock the hardware changes together, which may have policies of their own.
fn per_cpu_folders(
    machine: &mut dyn Look,
    mut files: impl FnMut(&mut dyn Look, &str) -> Vec<&'static str>,
) -> (Policies, Vec<Texts>) {
    let (mut all, mut texts) = (Policies::default(), Vec::new());
    let mut wanted = None;
    let mut known = BTreeSet::new();
    for &number in topology::present(machine).as_slice() {
        let folder = cpufreq::of_cpu(number);
        if !known.contains(&number) && machine.list(&folder).is_ok() {
            let before = all.active.len();
            let wanted = wanted.get_or_insert_with(|| files(machine, &folder));
            texts.extend(all.add(machine, vec![(format!("policy{number}"), folder)], &LISTS[..1], wanted));
            known.extend(all.active[before..].iter().flat_map(|policy| policy.cpus.as_slice()).copied());
        }
    }
    (all, texts)
}

impl Policies {
    /// Adds policies by name and folder; `lists`: the files that name their CPUs, where the kernel tells of offline ones too.
    /// The texts of `files` of those that are active.
    fn add(
        &mut self,
        machine: &mut dyn Look,
        named: Vec<(String, String)>,
        lists: &[&str],
        files: &[&str],
    ) -> Vec<Texts> {
        let (names, folders): (Vec<String>, Vec<String>) = named.into_iter().unzip();
        let all = machine.read_in(&folders, &[lists, files].concat());
        let mut kept = Vec::new();
        for ((name, folder), mut texts) in names.into_iter().zip(folders).zip(all) {
            let rest = texts.split_off(lists.len().min(texts.len()));
            let before = self.unread.len();
            // Where no CPU is online the kernel answers so for every file, and on kernels with a folder a CPU there is none.
            let asleep = lists.len() > 1 && texts.iter().all(|text| *text == Err(Errno::EBUSY));
            if asleep {
                self.asleep.push(name);
                continue;
            }
            let mut found = lists.iter().zip(texts).map(|(file, text)| self.list(&folder, file, text));
            let (online, related) = (found.next().flatten(), found.next().flatten());
            drop(found);
            // One list stands in for the other that cannot be read, and the CPU it is named after for both.
            let doubtful = self.unread[before..].iter().any(|unread| unread.path.ends_with(LISTS[0]));
            let (online, cpus) = match (online, related) {
                (Some(online), related) => (online.clone(), related.unwrap_or(online)),
                (None, related) if doubtful => {
                    let own = || name.strip_prefix("policy").and_then(|number| number.parse().ok());
                    let cpus = related.unwrap_or_else(|| CpuList::new(own().into_iter().collect()));
                    (cpus.clone(), cpus)
                }
                (None, _) => {
                    self.asleep.push(name);
                    continue;
                }
            };
            self.active.push(Policy { name, folder, cpus, online });
            kept.push(rest);
        }
        kept
    }

    /// The CPUs one of a policy's lists names, if any.
    fn list(&mut self, folder: &str, file: &str, text: Result<String, Errno>) -> Option<CpuList> {
        let path = || format!("{folder}/{file}");
        let unread = match text.map(|text| CpuList::parse_spaced(&text)) {
            Ok(Ok(cpus)) => return (!cpus.is_empty()).then_some(cpus),
            Ok(Err(error)) => Some(ReadFailure { path: path(), why: error.to_string() }),
            // What is not there is that of a policy that just went.
            Err(errno) => ReadFailure::refused(&path(), errno),
        };
        self.unread.extend(unread);
        None
    }

    /// Those a selection means, as sites on `file`, with what a person should know about it.
    ///
    /// # Errors
    /// [`KnobError::NoSite`] when it means none.
    pub fn sites(&self, knob: &str, file: &str, at: &Selection) -> Result<Sites, KnobError> {
        let mut sites = Sites { policies: self.active.len() + self.asleep.len(), ..Sites::default() };
        for policy in self.select(knob, at, &mut sites.notes)? {
            sites.sites.push(Site { name: policy.name.clone(), path: Some(policy.file(file)), policy: Some(policy) });
        }
        Ok(sites)
    }

    /// Those a selection means; what a person should know about it is added to `notes`.
    ///
    /// # Errors
    /// [`KnobError::NoSite`] when it means none.
    pub fn select(&self, knob: &str, at: &Selection, notes: &mut Vec<String>) -> Result<Vec<Policy>, KnobError> {
        let nothing = |site: String| {
            let mut there: Vec<String> = self.active.iter().map(|policy| policy.name.clone()).collect();
            if there.is_empty() {
                there = self.asleep.iter().map(|name| format!("{name} (offline)")).collect();
            }
            KnobError::NoSite { knob: knob.into(), site, there }
        };
        let cpus = match at.site.as_deref() {
            None | Some("-") => at.cpus.clone(),
            Some(name) if name.starts_with("policy") => {
                let chosen = self.active.iter().find(|policy| policy.name == name);
                return chosen.map(|policy| vec![policy.clone()]).ok_or_else(|| nothing(name.into()));
            }
            Some(name) => Some(parse_cpus(name).ok_or_else(|| nothing(name.into()))?),
        };
        let Some(cpus) = cpus else {
            if !self.asleep.is_empty() {
                notes.push(format!("left out, as their CPUs are offline: {}", self.asleep.join(", ")));
            }
            return if self.active.is_empty() { Err(nothing("-".into())) } else { Ok(self.active.clone()) };
        };
        let chosen: Vec<Policy> =
            self.active.iter().filter(|policy| overlap(&policy.cpus, &cpus) > 0).cloned().collect();
        if chosen.is_empty() {
            return Err(nothing(format!("cpu{cpus}")));
        }
        for policy in chosen.iter().filter(|policy| overlap(&policy.cpus, &cpus) < policy.cpus.len()) {
            let (name, all, count) = (&policy.name, &policy.cpus, policy.cpus.len());
            notes.push(format!("{name} drives cpus {all} together, so {knob} applies to all {count} of them"));
        }
        let missing: Vec<u32> =
            cpus.as_slice().iter().copied().filter(|&cpu| !chosen.iter().any(|p| p.cpus.contains(cpu))).collect();
        if !missing.is_empty() {
            notes.push(format!("no policy drives cpu {}: left out", CpuList::new(missing)));
        }
        Ok(chosen)
    }
}

fn overlap(one: &CpuList, other: &CpuList) -> usize {
    one.as_slice().iter().filter(|&&cpu| other.contains(cpu)).count()
}

/// `cpu1`, `cpu0-3,8`, `0-3`.
pub(crate) fn parse_cpus(site: &str) -> Option<CpuList> {
    site.strip_prefix("cpu").unwrap_or(site).parse::<CpuList>().ok().filter(|cpus| !cpus.is_empty())
}
