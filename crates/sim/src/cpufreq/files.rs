//! The tree below `/sys/devices/system/cpu`: which names exist, with which modes.
use powerband_machine::Errno;

use super::config::{BoostSupport, BootConfig, Governor, KernelRules};
use super::governor::Shared;
use super::hardware::Hardware;
use super::policy::Policy;
use super::pstate::{Pstate, PstateFile};
use super::times::TreeEntry;
use super::tunable::Tunable;

/// A file of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyFile {
    AffectedCpus,
    AmdHighestPerf,
    AmdHwPrefcore,
    AmdLowestNonlinearFreq,
    AmdMaxFreq,
    AmdPrefcoreRanking,
    BaseFrequency,
    BiosLimit,
    Boost,
    CpuinfoCurFreq,
    CpuinfoMaxFreq,
    CpuinfoMinFreq,
    CpuinfoTransitionLatency,
    EnergyPreference,
    EnergyPreferences,
    FreqdomainCpus,
    RelatedCpus,
    ScalingAvailableFrequencies,
    ScalingAvailableGovernors,
    ScalingBoostFrequencies,
    ScalingCurFreq,
    ScalingDriver,
    ScalingGovernor,
    ScalingMaxFreq,
    ScalingMinFreq,
    ScalingSetspeed,
}

/// A file of a policy's `stats` folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatsFile {
    Reset,
    TimeInState,
    TotalTrans,
    TransTable,
}

const POLICY_FILES: [(PolicyFile, &str, u16); 26] = [
    (PolicyFile::AffectedCpus, "affected_cpus", 0o444),
    (PolicyFile::AmdHighestPerf, "amd_pstate_highest_perf", 0o444),
    (PolicyFile::AmdHwPrefcore, "amd_pstate_hw_prefcore", 0o444),
    (PolicyFile::AmdLowestNonlinearFreq, "amd_pstate_lowest_nonlinear_freq", 0o444),
    (PolicyFile::AmdMaxFreq, "amd_pstate_max_freq", 0o444),
    (PolicyFile::AmdPrefcoreRanking, "amd_pstate_prefcore_ranking", 0o444),
    (PolicyFile::BaseFrequency, "base_frequency", 0o444),
    (PolicyFile::BiosLimit, "bios_limit", 0o444),
    (PolicyFile::Boost, "boost", 0o644),
    (PolicyFile::CpuinfoCurFreq, "cpuinfo_cur_freq", 0o400),
    (PolicyFile::CpuinfoMaxFreq, "cpuinfo_max_freq", 0o444),
    (PolicyFile::CpuinfoMinFreq, "cpuinfo_min_freq", 0o444),
    (PolicyFile::CpuinfoTransitionLatency, "cpuinfo_transition_latency", 0o444),
    (PolicyFile::EnergyPreferences, "energy_performance_available_preferences", 0o444),
    (PolicyFile::EnergyPreference, "energy_performance_preference", 0o644),
    (PolicyFile::FreqdomainCpus, "freqdomain_cpus", 0o444),
    (PolicyFile::RelatedCpus, "related_cpus", 0o444),
    (PolicyFile::ScalingAvailableFrequencies, "scaling_available_frequencies", 0o444),
    (PolicyFile::ScalingAvailableGovernors, "scaling_available_governors", 0o444),
    (PolicyFile::ScalingBoostFrequencies, "scaling_boost_frequencies", 0o444),
    (PolicyFile::ScalingCurFreq, "scaling_cur_freq", 0o444),
    (PolicyFile::ScalingDriver, "scaling_driver", 0o444),
    (PolicyFile::ScalingGovernor, "scaling_governor", 0o644),
    (PolicyFile::ScalingMaxFreq, "scaling_max_freq", 0o644),
    (PolicyFile::ScalingMinFreq, "scaling_min_freq", 0o644),
    (PolicyFile::ScalingSetspeed, "scaling_setspeed", 0o644),
];

const STATS_FILES: [(StatsFile, &str, u16); 4] = [
    (StatsFile::Reset, "reset", 0o200),
    (StatsFile::TimeInState, "time_in_state", 0o444),
    (StatsFile::TotalTrans, "total_trans", 0o444),
    (StatsFile::TransTable, "trans_table", 0o444),
];

/// What a path means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Root,
    Policy(usize),
    Stats(usize),
    /// A governor's folder, shared or of one policy.
    Governor(Governor, Option<usize>),
    PolicyFile(usize, PolicyFile),
    StatsFile(usize, StatsFile),
    Tunable(Governor, Option<usize>, Tunable),
    Boost,
    /// The folder of the maker's own driver.
    Pstate,
    PstateFile(PstateFile),
}

/// The tree at an instant.
pub(crate) struct Tree<'a> {
    pub(crate) config: &'a BootConfig,
    pub(crate) policies: &'a [Policy],
    pub(crate) shared: &'a Shared,
    pub(crate) pstate: Option<&'a Pstate>,
    /// Policy of each CPU that has a folder or link.
    pub(crate) policy_of: &'a dyn Fn(u32) -> Option<usize>,
}

fn number_after(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let plain = digits == "0" || !digits.starts_with('0');
    if plain && digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

impl Tree<'_> {
    /// What a path means, and its permission bits.
    ///
    /// # Errors
    /// ENOENT, or ENOTDIR for a path through a file.
    pub(crate) fn find(&self, path: &str) -> Result<(Node, u16), Errno> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let mut node = match parts.next() {
            Some("cpufreq") if self.config.rules != KernelRules::V2_6_18 => (Node::Root, 0o755),
            Some(name) if self.pstate.is_some_and(|pstate| pstate.folder() == name) => (Node::Pstate, 0o755),
            Some(cpu) => {
                let policy = number_after(cpu, "cpu").and_then(self.policy_of);
                let policy = policy.filter(|_| parts.next() == Some("cpufreq")).ok_or(Errno::ENOENT)?;
                (Node::Policy(policy), 0o755)
            }
            None => return Err(Errno::ENOENT),
        };
        for part in parts {
            let inside = self.inside(node.0).ok_or(Errno::ENOTDIR)?;
            node = inside
                .into_iter()
                .find(|(name, ..)| name == part)
                .map(|(_, n, mode)| (n, mode))
                .ok_or(Errno::ENOENT)?;
        }
        Ok(node)
    }

    /// Names in a folder, sorted.
    ///
    /// # Errors
    /// As [`Tree::find`], ENOTDIR for a file.
    pub(crate) fn list(&self, dir: &str) -> Result<Vec<TreeEntry>, Errno> {
        let inside = self.inside(self.find(dir)?.0).ok_or(Errno::ENOTDIR)?;
        let entry = |(name, node, mode): (String, Node, u16)| TreeEntry { name, mode, is_dir: is_dir(node) };
        let mut entries: Vec<TreeEntry> = inside.into_iter().map(entry).collect();
        entries.sort();
        Ok(entries)
    }

    /// What a folder holds; `None` for a file.
    fn inside(&self, node: Node) -> Option<Vec<(String, Node, u16)>> {
        let mut found = Vec::new();
        match node {
            Node::Root => {
                if self.config.rules == KernelRules::V6_1 {
                    found.extend(
                        self.policies
                            .iter()
                            .enumerate()
                            .map(|(i, p)| (format!("policy{}", p.members[0]), Node::Policy(i), 0o755)),
                    );
                    if self.config.boost != BoostSupport::Absent {
                        found.push(("boost".to_owned(), Node::Boost, 0o644));
                    }
                }
                for &governor in &self.config.available_governors {
                    if self.is_used(governor) && !self.config.own_folders() {
                        self.push_governor(governor, None, &mut found);
                    }
                }
            }
            Node::Policy(i) => self.policy(i, &mut found),
            Node::Stats(i) => {
                let kept = STATS_FILES
                    .iter()
                    .filter(|(file, ..)| *file != StatsFile::Reset || self.config.rules == KernelRules::V6_1);
                found.extend(kept.map(|&(file, name, mode)| (name.to_owned(), Node::StatsFile(i, file), mode)));
            }
            Node::Governor(governor, policy) => {
                let files = Tunable::of(governor, self.config.rules).iter();
                found.extend(files.map(|&t| (t.name().to_owned(), Node::Tunable(governor, policy, t), t.mode())));
            }
            Node::Pstate => {
                let files = self.pstate.into_iter().flat_map(Pstate::files);
                found.extend(files.map(|&(file, name, mode)| (name.to_owned(), Node::PstateFile(file), mode)));
            }
            Node::PolicyFile(..) | Node::StatsFile(..) | Node::Tunable(..) | Node::Boost | Node::PstateFile(_) => {
                return None;
            }
        }
        Some(found)
    }

    fn is_used(&self, governor: Governor) -> bool {
        self.shared.of(governor).is_some() && self.policies.iter().any(|p| p.governor == Some(governor))
    }

    fn push_governor(&self, governor: Governor, policy: Option<usize>, found: &mut Vec<(String, Node, u16)>) {
        if !Tunable::of(governor, self.config.rules).is_empty() {
            found.push((governor.name().to_owned(), Node::Governor(governor, policy), 0o755));
        }
    }

    fn policy(&self, index: usize, found: &mut Vec<(String, Node, u16)>) {
        let policy = &self.policies[index];
        let amd = self.pstate.is_some_and(|pstate| pstate.levels().is_some());
        let there = |file| match file {
            PolicyFile::BiosLimit => {
                self.config.rules != KernelRules::V2_6_18 && policy.config.bios_limit_khz.is_some()
            }
            PolicyFile::CpuinfoCurFreq => policy.config.reads_hardware,
            PolicyFile::CpuinfoTransitionLatency | PolicyFile::RelatedCpus => self.config.rules != KernelRules::V2_6_18,
            // This driver alone tells which CPUs the hardware switches together.
            PolicyFile::FreqdomainCpus => {
                self.config.rules == KernelRules::V6_1 && policy.config.driver == "acpi-cpufreq"
            }
            PolicyFile::Boost => self.config.policy_boost && self.config.boost != BoostSupport::Absent,
            PolicyFile::AmdHighestPerf
            | PolicyFile::AmdHwPrefcore
            | PolicyFile::AmdLowestNonlinearFreq
            | PolicyFile::AmdMaxFreq
            | PolicyFile::AmdPrefcoreRanking => amd,
            PolicyFile::BaseFrequency => self.pstate.is_some() && !amd,
            PolicyFile::EnergyPreference | PolicyFile::EnergyPreferences => {
                policy.hardware.is_some_and(Hardware::takes_hints)
            }
            PolicyFile::ScalingAvailableFrequencies => policy.hardware.is_none(),
            PolicyFile::ScalingBoostFrequencies => policy.table.steps().iter().any(|s| s.boost),
            PolicyFile::ScalingSetspeed => {
                self.config.rules != KernelRules::V2_6_18 || policy.governor == Some(Governor::Userspace)
            }
            _ => true,
        };
        let kept = POLICY_FILES.iter().filter(|&&(file, ..)| there(file));
        found.extend(kept.map(|&(file, name, mode)| (name.to_owned(), Node::PolicyFile(index, file), mode)));
        if policy.stats.is_some() {
            found.push(("stats".to_owned(), Node::Stats(index), 0o755));
        }
        if let Some(governor) = policy.governor {
            if policy.tunables.is_some() {
                self.push_governor(governor, Some(index), found);
            } else if self.config.own_folders() {
                self.push_governor(governor, None, found);
            }
        }
    }
}

fn is_dir(node: Node) -> bool {
    matches!(node, Node::Root | Node::Pstate | Node::Policy(_) | Node::Stats(_) | Node::Governor(..))
}

impl Node {
    pub(crate) fn is_dir(self) -> bool {
        is_dir(self)
    }

    /// The policy whose being in service this file depends on.
    pub(crate) fn policy(self) -> Option<usize> {
        match self {
            Node::PolicyFile(index, _) | Node::StatsFile(index, _) => Some(index),
            _ => None,
        }
    }
}
