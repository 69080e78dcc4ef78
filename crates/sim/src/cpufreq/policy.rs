//! One frequency domain: limits, clock, governor, statistics, and the acts that tie them together.
use std::sync::Arc;

use powerband_machine::Errno;

use super::clock::Clock;
use super::config::{BoostSupport, BootConfig, Governor, KernelRules, PolicyConfig};
use super::context::Context;
use super::hardware::Hardware;
use super::limits::{Range, Requests, Side};
use super::state::State;
use super::stats::Stats;
use super::table::{FrequencyTable, TableRelation};
use super::times::FrequencyChange;
use super::tunables::Tunables;

/// A policy.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) index: u32,
    pub(crate) config: PolicyConfig,
    pub(crate) members: Arc<[u32]>,
    pub(crate) online: Vec<u32>,
    pub(crate) table: FrequencyTable,
    pub(crate) lo: u32,
    pub(crate) hi: u32,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) requests: Requests,
    pub(crate) clock: Clock,
    /// The clock of its core, where another policy shares that, as the engine last heard of it, kHz.
    pub(crate) of_core_khz: u32,
    pub(crate) stats: Option<Stats>,
    pub(crate) governor: Option<Governor>,
    pub(crate) last_governor: Governor,
    pub(crate) state: State,
    /// The tunables of the present governor, when they are the policy's own.
    pub(crate) tunables: Option<Tunables>,
    pub(crate) limits_due_ns: Option<u64>,
    /// Whether its own switch for boost is on.
    pub(crate) boosts: bool,
    /// What the maker's own driver tells the hardware.
    pub(crate) hardware: Option<Hardware>,
}

impl Policy {
    pub(crate) fn new(index: u32, config: &BootConfig, now_ns: u64) -> Result<Self, Errno> {
        let own = config.policies.get(index as usize).cloned().ok_or(Errno::EINVAL)?;
        let table = FrequencyTable::new(own.table.clone(), config.rules)?;
        let boost = config.boost == BoostSupport::Table(true);
        let (lo, hi) = table.bounds(boost).unwrap_or(own.range_khz);
        let mut khz = own.initial_khz;
        if !table.is_empty() && table.index(khz).is_none() {
            let target = khz.saturating_sub(1);
            khz = table.resolve(target, (lo, hi), TableRelation::AtLeast, false).ok_or(Errno::EINVAL)?;
        }
        if own.cpus.is_empty() || lo > hi || hi == 0 {
            return Err(Errno::EINVAL);
        }
        Ok(Policy {
            index,
            members: own.cpus.clone().into(),
            online: own.cpus.clone(),
            lo,
            hi,
            min: lo,
            max: hi,
            requests: Requests::new(config.rules, (lo, hi), own.bios_limit_khz),
            clock: Clock::new(khz, own.transition_latency_ns),
            of_core_khz: khz,
            stats: (!table.is_empty()).then(|| Stats::new(&table, khz, now_ns)),
            governor: None,
            last_governor: config.default_governor,
            state: State::Fixed,
            tunables: None,
            limits_due_ns: None,
            boosts: config.boost.is_on(),
            hardware: None,
            table,
            config: own,
        })
    }

    /// Speed of the clock in 1024ths of the highest, for signals that follow it.
    pub(crate) fn speed(&self) -> u32 {
        self.speed_at(self.clock.silicon_khz)
    }

    /// The same at a clock in kHz.
    pub(crate) fn speed_at(&self, khz: u32) -> u32 {
        if !self.config.invariant {
            return 1024;
        }
        u32::try_from(u64::from(khz) * 1024 / u64::from(self.hi)).unwrap_or(1024)
    }

    /// When something of this policy is next due, ns.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        let governor = match &self.state {
            State::Dbs(dbs) => dbs.due_ns,
            State::Schedutil(schedutil) => schedutil.worker_due_ns,
            State::Interactive(interactive) => interactive.due_ns,
            State::Fixed | State::Userspace { .. } | State::Hardware => None,
        };
        [self.clock.due_ns(), self.limits_due_ns, governor].into_iter().flatten().min()
    }

    /// Asks the driver for the entry that suits `khz` (within the limits); a clock that is there already is left alone.
    ///
    /// # Errors
    /// EINVAL if no entry suits, and what the driver says.
    pub(crate) fn target(
        &mut self,
        khz: u32,
        relation: TableRelation,
        efficient: bool,
        cx: &mut Context<'_>,
    ) -> Result<(), Errno> {
        let limits = (self.min, self.max);
        let to = self.table.resolve(khz, limits, relation, efficient).ok_or(Errno::EINVAL)?;
        let to = self.grained(to, relation);
        self.switch(to, false, cx)
    }

    /// As [`Policy::target`], for callers that drop the driver's answer as the kernel's governors do.
    pub(crate) fn aim(&mut self, khz: u32, relation: TableRelation, efficient: bool, cx: &mut Context<'_>) {
        let _ = self.target(khz, relation, efficient, cx);
    }

    /// Changes the clock to what a governor asks for, an entry of the table or a clock that the hardware has.
    pub(crate) fn switch(&mut self, to: u32, fast: bool, cx: &mut Context<'_>) -> Result<(), Errno> {
        let to = self.guided(to);
        self.change(self.grained(to, TableRelation::AtLeast), fast, cx)
    }

    /// Changes the clock. A refusal by the driver counts as there and back.
    pub(crate) fn change(&mut self, to: u32, fast: bool, cx: &mut Context<'_>) -> Result<(), Errno> {
        let cur = self.clock.cur_khz;
        if to == cur {
            return Ok(());
        }
        if let Some(fault) = self.clock.fault {
            if let Some(stats) = &mut self.stats {
                stats.record(&self.table, to, cx.now_ns);
                stats.record(&self.table, cur, cx.now_ns);
            }
            return Err(fault);
        }
        self.clock.start(to, cx.now_ns, fast);
        self.complete_changes(cx);
        Ok(())
    }

    /// Lets changes of clock that are complete by now take effect.
    pub(crate) fn complete_changes(&mut self, cx: &mut Context<'_>) {
        while let Some((from_khz, to_khz, at_ns)) = self.clock.complete(cx.now_ns) {
            if let Some(stats) = &mut self.stats {
                stats.record(&self.table, to_khz, at_ns);
            }
            let speed = self.speed();
            for &cpu in self.members.iter() {
                cx.cpus[cpu as usize].queue.set_speed(speed, at_ns);
            }
            if let State::Interactive(_) = self.state {
                self.members.iter().for_each(|&cpu| cx.count_work(cpu, from_khz));
            }
            let stall_ns = self.config.stall_ns;
            cx.changes.push(FrequencyChange { policy: self.index, from_khz, to_khz, at_ns, stall_ns });
        }
    }

    fn range(&self) -> Range<'_> {
        Range { lo: self.lo, hi: self.hi, table: &self.table }
    }

    /// Recomputes the limits from what is asked.
    pub(crate) fn refresh_limits(&mut self, rules: KernelRules) {
        (self.min, self.max) = self.requests.resolve(rules, &self.range());
    }

    /// A write to a limit's file. True if the governor must hear of it now.
    pub(crate) fn write_limit(&mut self, side: Side, text: &str, cx: &mut Context<'_>) -> Result<bool, Errno> {
        if cx.config.rules != KernelRules::V6_1 {
            let (mut requests, old) = (self.requests, (self.min, self.max));
            (self.min, self.max) = requests.ask_old(cx.config.rules, side, text, old, &self.range())?;
            self.requests = requests;
            return Ok(true);
        }
        self.requests.ask(side, text)?;
        if cx.config.limits_delay_ns > 0 {
            self.limits_due_ns.get_or_insert(cx.now_ns + u64::from(cx.config.limits_delay_ns));
            return Ok(false);
        }
        self.refresh_limits(cx.config.rules);
        Ok(true)
    }

    /// Boost entries come or go: the range changes and the user's maximum with it.
    pub(crate) fn set_boost(&mut self, on: bool, cx: &mut Context<'_>) {
        self.boosts = on;
        match (cx.config.boost, cx.config.pstate) {
            (BoostSupport::Table(_), _) => {
                let Some((lo, hi)) = self.table.bounds(on) else { return };
                (self.lo, self.hi) = (lo, hi);
                self.requests.user_max = hi;
            }
            (BoostSupport::Range(_), Some(own)) => self.hi = own.end_khz(on),
            _ => return,
        }
        let speed = self.speed();
        for &cpu in self.members.iter() {
            cx.cpus[cpu as usize].queue.set_speed(speed, cx.now_ns);
        }
        self.refresh_limits(cx.config.rules);
    }

    /// Stops the governor, if one runs.
    pub(crate) fn stop(&mut self) {
        if let Some(governor) = self.governor.take() {
            self.last_governor = governor;
        }
        self.state = State::Fixed;
    }

    /// A write to `scaling_setspeed`. Succeeds whatever the driver says.
    pub(crate) fn set_speed(&mut self, khz: u32, cx: &mut Context<'_>) -> Result<(), Errno> {
        let State::Userspace { asked_khz } = &mut self.state else { return Err(Errno::EINVAL) };
        *asked_khz = khz;
        self.aim(khz, TableRelation::AtLeast, false, cx);
        Ok(())
    }
}
