//! What each file says when read, and does when written.
use std::fmt::Display;

use powerband_machine::Errno;

use super::Cpufreq;
use super::config::{Governor, KernelRules};
use super::files::{Node, PolicyFile, StatsFile};
use super::governor::Governed;
use super::hardware::{Hardware, Mode};
use super::limits::Side;
use super::pstate::{Asked, Pstate, PstateFile};
use super::state::State;
use super::times::CpuTimes;
use super::tunable::{After, Tunable};
use super::tunables::Tunables;
use super::{interactive, load, number};

fn line(value: impl Display) -> String {
    format!("{value}\n")
}

fn cpus(list: &[u32]) -> String {
    let words: Vec<String> = list.iter().map(u32::to_string).collect();
    line(words.join(" "))
}

/// Words each with a space behind, then the end of the line.
fn spaced(words: impl Iterator<Item = impl Display>) -> String {
    let mut text: String = words.map(|word| format!("{word} ")).collect();
    text.push('\n');
    text
}

/// A switch that takes 0 or 1.
fn flag(text: &str) -> Result<bool, Errno> {
    match number::signed(text)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Errno::EINVAL),
    }
}

impl Cpufreq {
    pub(crate) fn show(&self, node: Node, now_ns: u64, times: &dyn CpuTimes) -> Result<String, Errno> {
        if let Some(index) = node.policy()
            && self.policies[index].online.is_empty()
        {
            return Err(Errno::EBUSY);
        }
        match node {
            Node::PolicyFile(index, file) => self.show_policy(index, file, times),
            Node::StatsFile(index, file) => self.show_stats(index, file, now_ns),
            Node::Tunable(governor, index, tunable) => {
                let set = match index {
                    Some(index) => self.policies[index].tunables.as_ref(),
                    None => self.shared.of(governor),
                };
                set.map(|set| line(set.show(governor, tunable))).ok_or(Errno::EBUSY)
            }
            Node::Boost => Ok(line(u8::from(self.boost_on))),
            Node::PstateFile(file) => self.pstate.as_ref().map(|pstate| pstate.show(file)).ok_or(Errno::EAGAIN),
            Node::Pstate | Node::Root | Node::Policy(_) | Node::Stats(_) | Node::Governor(..) => Err(Errno::EISDIR),
        }
    }

    fn show_policy(&self, index: usize, file: PolicyFile, times: &dyn CpuTimes) -> Result<String, Errno> {
        let policy = &self.policies[index];
        let frequencies = |boost: bool| {
            let steps = policy.table.steps().iter().filter(|s| s.boost == boost).map(|s| s.khz);
            if policy.table.is_empty() { Err(Errno::ENODEV) } else { Ok(spaced(steps)) }
        };
        let first = policy.online.first().copied().unwrap_or(0);
        Ok(match file {
            PolicyFile::AffectedCpus => cpus(&policy.online),
            PolicyFile::AmdHighestPerf | PolicyFile::AmdPrefcoreRanking => line(self.amd_levels()?[0]),
            PolicyFile::AmdMaxFreq => line(self.amd_levels()?[1]),
            PolicyFile::AmdLowestNonlinearFreq => line(self.amd_levels()?[2]),
            // Its cores are all alike.
            PolicyFile::AmdHwPrefcore => line("disabled"),
            PolicyFile::BaseFrequency => line(self.pstate.as_ref().map_or(policy.hi, Pstate::base_khz)),
            PolicyFile::Boost => line(u8::from(policy.boosts)),
            PolicyFile::EnergyPreference => policy.hardware.ok_or(Errno::ENODEV)?.show(policy.governor),
            PolicyFile::EnergyPreferences => Hardware::offered(),
            PolicyFile::FreqdomainCpus | PolicyFile::RelatedCpus => cpus(&policy.members),
            PolicyFile::CpuinfoMinFreq => line(policy.lo),
            PolicyFile::CpuinfoMaxFreq => line(policy.hi),
            PolicyFile::CpuinfoTransitionLatency => line(policy.config.transition_latency_ns),
            PolicyFile::CpuinfoCurFreq => match (policy.clock.cur_khz, self.config.rules) {
                (0, KernelRules::V2_6_18) => "<unknown>".to_owned(),
                (0, _) => line("<unknown>"),
                (khz, _) => line(khz),
            },
            PolicyFile::ScalingMinFreq => line(policy.min),
            PolicyFile::ScalingMaxFreq => line(policy.max),
            PolicyFile::ScalingCurFreq => {
                let measured = if policy.config.measured_cur_freq { times.average_khz(first) } else { None };
                line(measured.unwrap_or_else(|| self.shown_khz(index)))
            }
            PolicyFile::ScalingGovernor => line(policy.governor.ok_or(Errno::EINVAL)?.name()),
            PolicyFile::ScalingDriver => line(&policy.config.driver),
            PolicyFile::ScalingAvailableGovernors if self.is_active() => line("performance powersave"),
            PolicyFile::ScalingAvailableGovernors => spaced(self.config.available_governors.iter().map(|g| g.name())),
            PolicyFile::ScalingAvailableFrequencies => frequencies(false)?,
            PolicyFile::ScalingBoostFrequencies => frequencies(true)?,
            PolicyFile::ScalingSetspeed => match policy.state {
                State::Userspace { .. } => line(policy.clock.cur_khz),
                _ => line("<unsupported>"),
            },
            PolicyFile::BiosLimit => line(policy.requests.firmware_max.unwrap_or(policy.hi)),
        })
    }

    fn show_stats(&self, index: usize, file: StatsFile, now_ns: u64) -> Result<String, Errno> {
        let policy = &self.policies[index];
        let stats = policy.stats.as_ref().ok_or(Errno::ENOENT)?;
        match file {
            StatsFile::Reset => Err(Errno::EACCES),
            StatsFile::TimeInState => Ok(stats.time_in_state(&policy.table, now_ns)),
            StatsFile::TotalTrans => Ok(stats.total_trans()),
            StatsFile::TransTable => stats.trans_table(&policy.table, self.config.rules),
        }
    }

    pub(crate) fn store(&mut self, node: Node, text: &str, now_ns: u64, times: &dyn CpuTimes) -> Result<(), Errno> {
        if let Some(index) = node.policy()
            && self.policies[index].online.is_empty()
        {
            return Err(Errno::EBUSY);
        }
        match node {
            Node::PolicyFile(index, file) => self.store_policy(index, file, text, now_ns, times),
            Node::StatsFile(index, StatsFile::Reset) => {
                if let Some(stats) = &mut self.policies[index].stats {
                    stats.reset(now_ns);
                }
                Ok(())
            }
            Node::StatsFile(..) => Err(Errno::EACCES),
            Node::Tunable(governor, index, tunable) => {
                self.store_tunable(governor, index, tunable, text, now_ns, times)
            }
            Node::Boost => self.store_boost(text, now_ns, times),
            Node::PstateFile(file) => self.store_pstate(file, text, now_ns, times),
            Node::Pstate | Node::Root | Node::Policy(_) | Node::Stats(_) | Node::Governor(..) => Err(Errno::EISDIR),
        }
    }

    fn store_policy(
        &mut self,
        index: usize,
        file: PolicyFile,
        text: &str,
        now_ns: u64,
        times: &dyn CpuTimes,
    ) -> Result<(), Errno> {
        let (active, boost_on) = (self.is_active(), self.boost_on);
        let (policies, shared, mut cx) = self.split(now_ns, times);
        let policy = &mut policies[index];
        let side = match file {
            PolicyFile::Boost => {
                let on = flag(text)?;
                if !boost_on {
                    return Err(Errno::EINVAL);
                }
                if policy.boosts != on {
                    policy.set_boost(on, &mut cx);
                    policy.governor_limits(&mut cx);
                }
                return Ok(());
            }
            PolicyFile::EnergyPreference => {
                let governor = policy.governor;
                return policy.hardware.as_mut().ok_or(Errno::ENODEV)?.store(text, governor);
            }
            PolicyFile::ScalingGovernor => {
                let asked = Governor::parse(text)?;
                let own = matches!(asked, Governor::Performance | Governor::Powersave);
                if if active { !own } else { !cx.config.available_governors.contains(&asked) } {
                    return Err(Errno::EINVAL);
                }
                let result = Governed { policies, index, shared }.switch(asked, &mut cx);
                self.governors_changed(now_ns);
                return result;
            }
            PolicyFile::ScalingSetspeed => {
                if !matches!(policy.state, State::Userspace { .. }) {
                    return Err(Errno::EINVAL);
                }
                return policy.set_speed(number::unsigned(text)?, &mut cx);
            }
            PolicyFile::ScalingMinFreq => Side::Min,
            PolicyFile::ScalingMaxFreq => Side::Max,
            _ => return Err(Errno::EACCES),
        };
        if policy.write_limit(side, text, &mut cx)? {
            policy.governor_limits(&mut cx);
        }
        Ok(())
    }

    fn store_tunable(
        &mut self,
        governor: Governor,
        index: Option<usize>,
        tunable: Tunable,
        text: &str,
        now_ns: u64,
        times: &dyn CpuTimes,
    ) -> Result<(), Errno> {
        let rules = self.config.rules;
        let (policies, shared, mut cx) = self.split(now_ns, times);
        let set: &mut Tunables = match index {
            Some(index) => policies[index].tunables.as_mut(),
            None => shared.of_mut(governor),
        }
        .ok_or(Errno::EBUSY)?;
        let after = set.store(governor, rules, tunable, text)?;
        let set = *set;
        for policy in policies.iter_mut().filter(|p| p.governor == Some(governor)) {
            if index.is_some_and(|index| index != policy.index as usize) {
                continue;
            }
            if let After::Boost { for_us } = after {
                interactive::boost(policy, for_us, &set.interactive, &mut cx);
            }
            if let State::Dbs(dbs) = &mut policy.state {
                dbs.tunable_written(after);
                if after == After::Snapshot {
                    load::snapshot(&policy.online, &set, &mut cx);
                }
            }
        }
        Ok(())
    }

    fn store_boost(&mut self, text: &str, now_ns: u64, times: &dyn CpuTimes) -> Result<(), Errno> {
        let on = flag(text)?;
        if std::mem::replace(&mut self.boost_on, on) == on {
            return Ok(());
        }
        let (policies, _, mut cx) = self.split(now_ns, times);
        for policy in policies.iter_mut().filter(|p| !p.online.is_empty()) {
            policy.set_boost(on, &mut cx);
            policy.governor_limits(&mut cx);
        }
        Ok(())
    }

    /// Whether the hardware chooses, within what the maker's own driver says.
    pub(crate) fn is_active(&self) -> bool {
        self.pstate.as_ref().is_some_and(|pstate| pstate.mode == Mode::Active)
    }

    fn amd_levels(&self) -> Result<[u32; 3], Errno> {
        self.pstate.as_ref().and_then(Pstate::levels).ok_or(Errno::ENODEV)
    }

    fn store_pstate(&mut self, file: PstateFile, text: &str, now_ns: u64, times: &dyn CpuTimes) -> Result<(), Errno> {
        match self.pstate.as_mut().ok_or(Errno::EAGAIN)?.store(file, text)? {
            Asked::Nothing => {}
            Asked::Mode(mode) => self.drive(mode, now_ns, times)?,
            Asked::Limits | Asked::Turned => {
                let pstate = self.pstate.clone();
                let (policies, _, mut cx) = self.split(now_ns, times);
                for policy in policies.iter_mut() {
                    pstate.iter().for_each(|pstate| pstate.bound(policy));
                    policy.refresh_limits(cx.config.rules);
                    policy.governor_limits(&mut cx);
                }
            }
        }
        Ok(())
    }
}
