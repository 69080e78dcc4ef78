//! The Linux cpufreq subsystem as arithmetic: policies, limits, files and governors of three kernels, without a clock of its own.
//!
//! Nothing here waits or keeps a queue of events. The engine calls, with the time in ns since boot:
//! - [`Cpufreq::read`], [`Cpufreq::write`], [`Cpufreq::list`] for the files below `/sys/devices/system/cpu`;
//! - [`Cpufreq::current`], [`Cpufreq::enqueued`], [`Cpufreq::dequeued`] when a CPU's running task or queue changes
//!   (they keep the utilisation signals of 6.1; nothing happens in them under the old rules);
//! - [`Cpufreq::utilisation`] after each enqueue and dequeue and at each tick of a busy CPU;
//! - [`Cpufreq::run_due`] when the instant of [`Cpufreq::next_due_ns`] has come, before anything later;
//! - [`Cpufreq::take_changes`] after any of these, if [`Cpufreq::has_changes`].
//!
//! At one instant: time sums first (they are read through [`CpuTimes`]), then task events, then [`Cpufreq::utilisation`] in
//! CPU order, then [`Cpufreq::run_due`]. Instants must not go backwards.
use powerband_machine::Errno;

mod agenda;
mod attributes;
mod clock;
mod config;
mod conservative;
mod context;
mod core_clock;
mod cpu;
mod dbs;
mod files;
mod governor;
mod hardware;
mod interactive;
mod limits;
mod load;
mod number;
mod ondemand;
pub mod pelt;
mod policy;
mod pstate;
mod schedutil;
mod signals;
mod state;
mod stats;
mod table;
mod times;
mod tunable;
mod tunables;

pub use config::{BoostSupport, BootConfig, Cppc, Deaf, Governor, KernelRules, PolicyConfig, PstateConfig, Step};
pub use schedutil::{demand, raw_khz};
pub use table::{FrequencyTable, TableRelation};
pub use times::{CpuTimes, FrequencyChange, OtherClasses, TreeEntry, Util};

use agenda::Agenda;
use context::Context;
use cpu::{Cpu, IoBoost, LoadSnapshot, Look};
use files::Tree;
use governor::{Governed, Shared};
use hardware::Mode;
use policy::Policy;
use pstate::Pstate;
use state::State;

/// A machine's cpufreq: all policies and governors.
#[derive(Clone, Debug)]
pub struct Cpufreq {
    config: BootConfig,
    policies: Vec<Policy>,
    cpus: Vec<Cpu>,
    tasks: Vec<pelt::SchedTask>,
    shared: Shared,
    agenda: Agenda,
    changes: Vec<FrequencyChange>,
    boost_on: bool,
    pstate: Option<Pstate>,
    /// Next round of 2.6.18 conservative's system-wide timer.
    walk_due_ns: Option<u64>,
    /// Whether tasks' estimates may ever be wanted: a kernel that has schedutil keeps them whatever governs.
    follows_tasks: bool,
}

impl Cpufreq {
    /// Boots: every policy comes up and its default governor starts (performance, if that one is refused).
    ///
    /// # Errors
    /// EINVAL for a table with an entry twice, a policy without CPUs or range, a CPU in two policies or above
    /// `possible_cpus`, a default governor that is not built in, schedutil under rules older than it, interactive under others than 2.6.32, or ticks
    /// outside 1..=100000 a second.
    pub fn new(mut config: BootConfig, now_ns: u64, times: &dyn CpuTimes) -> Result<Self, Errno> {
        let pstate = config.pstate.map(|own| Pstate::new(own, Mode::Active));
        pstate.iter().for_each(|pstate| pstate.shape(&mut config));
        let count = u32::try_from(config.policies.len()).map_err(|_| Errno::EINVAL)?;
        let policies: Vec<Policy> = (0..count).map(|i| Policy::new(i, &config, now_ns)).collect::<Result<_, _>>()?;
        let idle = || Cpu {
            policy: None,
            online: true,
            queue: pelt::Queue::new(now_ns, 1024, 1024),
            load: LoadSnapshot::default(),
            boost: IoBoost::default(),
            interactive: Look::default(),
        };
        let mut cpus: Vec<Cpu> = (0..config.possible_cpus).map(|_| idle()).collect();
        for policy in &policies {
            for &member in policy.members.iter() {
                let cpu = cpus.get_mut(member as usize).filter(|c| c.policy.is_none()).ok_or(Errno::EINVAL)?;
                cpu.policy = Some(policy.index);
                let queue = pelt::Queue::new(now_ns, policy.config.capacity, policy.speed());
                cpu.queue = queue.within(config.window_phase_ns);
            }
        }
        let built_in = |governor| config.available_governors.contains(&governor);
        let too_new = config.rules != KernelRules::V6_1 && built_in(Governor::Schedutil)
            || config.rules != KernelRules::V2_6_32 && built_in(Governor::Interactive);
        if !built_in(config.default_governor) || too_new || !(1..=100_000).contains(&config.hz) {
            return Err(Errno::EINVAL);
        }
        let mut this = Cpufreq {
            agenda: Agenda::new(policies.len() + 1),
            boost_on: config.boost.is_on(),
            pstate,
            shared: Shared::default(),
            tasks: Vec::new(),
            changes: Vec::new(),
            walk_due_ns: None,
            follows_tasks: config.rules == KernelRules::V6_1 && built_in(Governor::Schedutil),
            config,
            policies,
            cpus,
        };
        for index in 0..this.policies.len() {
            this.fit(index);
            this.bring_up(index, now_ns, times);
        }
        Ok(this)
    }

    /// Fits a policy to the mode of the maker's own driver, which knows two rules of its own while the hardware chooses.
    fn fit(&mut self, index: usize) {
        let Some(pstate) = &self.pstate else { return };
        let policy = &mut self.policies[index];
        policy.hardware = Some(pstate.hardware((policy.lo, policy.hi)));
        let own = matches!(policy.last_governor, Governor::Performance | Governor::Powersave);
        if pstate.mode == Mode::Active && !own {
            policy.last_governor = pstate.fallback();
        }
        pstate.bound(policy);
    }

    /// The maker's own driver begins anew, in this mode: every policy is made again, and nothing that was set on one is left.
    fn drive(&mut self, mode: Mode, now_ns: u64, times: &dyn CpuTimes) -> Result<(), Errno> {
        let own = self.config.pstate.ok_or(Errno::EAGAIN)?;
        let pstate = Pstate::new(own, mode);
        pstate.shape(&mut self.config);
        self.pstate = Some(pstate);
        self.boost_on = self.config.boost.is_on();
        for index in 0..self.policies.len() {
            Governed { policies: &mut self.policies, index, shared: &mut self.shared }.stop(&self.config);
            let old = &self.policies[index];
            let mut new = Policy::new(old.index, &self.config, now_ns)?;
            // The silicon runs on as it did.
            (new.clock, new.of_core_khz, new.online) = (old.clock.clone(), old.of_core_khz, old.online.clone());
            self.policies[index] = new;
            self.fit(index);
            if !self.policies[index].online.is_empty() {
                self.bring_up(index, now_ns, times);
            }
        }
        Ok(())
    }

    /// Names in a folder, given relative to `/sys/devices/system/cpu`, e.g. `cpufreq/policy0`; sorted.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR.
    pub fn list(&self, dir: &str) -> Result<Vec<TreeEntry>, Errno> {
        self.tree(|tree| tree.list(dir))
    }

    /// What `cpuN/cpufreq` points to, relative to `cpuN`; `None` where it is itself the folder, or absent.
    #[must_use]
    pub fn link(&self, cpu: u32) -> Option<String> {
        let policy = &self.policies[self.folder_of(cpu)?];
        match self.config.rules {
            KernelRules::V6_1 => Some(format!("../cpufreq/policy{}", policy.members[0])),
            _ => policy.online.first().filter(|&&first| first != cpu).map(|first| format!("../cpu{first}/cpufreq")),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// As the kernel: ENOENT, EISDIR, ENOTDIR, EACCES, EBUSY, EINVAL, ENODEV, EFBIG.
    pub fn read(&mut self, path: &str, now_ns: u64, privileged: bool, times: &dyn CpuTimes) -> Result<String, Errno> {
        let (node, mode) = self.tree(|tree| tree.find(path))?;
        let needed = if privileged { 0o444 } else { 0o004 };
        if !node.is_dir() && mode & needed == 0 {
            return Err(Errno::EACCES);
        }
        self.run_due(now_ns, times);
        self.show(node, now_ns, times)
    }

    /// Writes a file, as root. Writing no bytes at all does nothing, as in sysfs.
    ///
    /// # Errors
    /// As the kernel: ENOENT, EISDIR, ENOTDIR, EACCES, EBUSY, EINVAL.
    pub fn write(&mut self, path: &str, text: &str, now_ns: u64, times: &dyn CpuTimes) -> Result<(), Errno> {
        let (node, mode) = self.tree(|tree| tree.find(path))?;
        if node.is_dir() {
            return Err(Errno::EISDIR);
        }
        if mode & 0o222 == 0 {
            return Err(Errno::EACCES);
        }
        if text.is_empty() {
            return Ok(());
        }
        self.run_due(now_ns, times);
        let result = self.store(node, text, now_ns, times);
        for index in 0..self.policies.len() {
            self.reschedule(index);
        }
        result
    }

    /// The clock the silicon runs at now, kHz: the old one until a change is complete. 0 for a CPU in no policy.
    #[must_use]
    #[inline]
    pub fn khz(&self, cpu: u32) -> u32 {
        self.policy_of(cpu).map_or(0, |index| self.core_khz(index))
    }

    /// The governor of a CPU's policy.
    #[must_use]
    pub fn governor(&self, cpu: u32) -> Option<Governor> {
        self.policies[self.policy_of(cpu)?].governor
    }

    /// Limits in effect of a CPU's policy, kHz: lowest, highest.
    #[must_use]
    pub fn limits_khz(&self, cpu: u32) -> Option<(u32, u32)> {
        self.policy_of(cpu).map(|index| (self.policies[index].min, self.policies[index].max))
    }

    /// When [`Cpufreq::run_due`] is next wanted, ns. May lie at or before the present.
    #[must_use]
    #[inline]
    pub fn next_due_ns(&self) -> Option<u64> {
        self.agenda.next_ns()
    }

    /// Does all that is due at `now_ns`: completed changes, delayed limits, timers and workers; earliest first, and of
    /// equal times lowest policy first.
    pub fn run_due(&mut self, now_ns: u64, times: &dyn CpuTimes) {
        while let Some(slot) = self.agenda.due(now_ns) {
            let index = slot as usize;
            if index == self.policies.len() {
                self.walk(now_ns, times);
                continue;
            }
            let (policies, shared, mut cx) = self.split(now_ns, times);
            let policy = &mut policies[index];
            policy.complete_changes(&mut cx);
            if policy.limits_due_ns.is_some_and(|due| due <= now_ns) {
                policy.limits_due_ns = None;
                policy.refresh_limits(cx.config.rules);
                policy.governor_limits(&mut cx);
            }
            match policy.state {
                State::Dbs(dbs) if dbs.due_ns.is_some_and(|due| due <= now_ns) => {
                    if let Some(&set) = shared.in_use(policy) {
                        dbs::work(policy, &set, &mut cx);
                    }
                }
                State::Schedutil(own) if own.worker_due_ns.is_some_and(|due| due <= now_ns) => {
                    schedutil::work(policy, &mut cx);
                }
                State::Interactive(own) if own.due_ns.is_some_and(|due| due <= now_ns) => {
                    if let Some(&set) = shared.in_use(policy) {
                        interactive::work(policy, &set.interactive, &mut cx);
                    }
                }
                _ => {}
            }
            self.reschedule(index);
        }
    }

    /// The scheduler's callback on `cpu`. Call it after [`Cpufreq::current`], [`Cpufreq::enqueued`], [`Cpufreq::dequeued`]
    /// of the same instant. Cheap when the governor does not listen.
    pub fn utilisation(&mut self, cpu: u32, now_ns: u64, why: Util, times: &dyn CpuTimes) {
        let Some(index) = self.policy_of(cpu) else { return };
        if why == Util::Tick {
            self.ticked(cpu, now_ns);
        }
        if self.pstate.is_some() {
            let (policies, _, mut cx) = self.split(now_ns, times);
            policies[index].look(cpu, &mut cx);
        }
        let queued = match &mut self.policies[index].state {
            State::Fixed | State::Userspace { .. } => {
                // A window's end that nobody listened for is not told later.
                if self.config.rules == KernelRules::V6_1 {
                    self.cpus[cpu as usize].queue.take_window_end(now_ns);
                }
                return;
            }
            State::Dbs(dbs) if self.config.rules == KernelRules::V6_1 => {
                let queue = &mut self.cpus[cpu as usize].queue;
                let counts = queue.take_window_end(now_ns) || matches!(why, Util::IoWake | Util::Direct);
                let exit_ns = if queue.woken_ns == now_ns { self.config.idle_exit_ns } else { 0 };
                let delay_ns = self.config.worker_delay_ns + exit_ns;
                counts && dbs.scheduler_event(now_ns, delay_ns, cpu, times.idle_ns(cpu))
            }
            State::Dbs(dbs) => dbs.wake(now_ns),
            State::Hardware => {
                self.cpus[cpu as usize].queue.take_window_end(now_ns);
                false
            }
            State::Interactive(_) | State::Schedutil(_) => self.scheduler_event(index, cpu, now_ns, why, times),
        };
        if queued {
            self.reschedule(index);
        }
    }

    /// The callback where the governor looks at each CPU by itself; whether it may be due at another time now.
    #[inline(never)]
    fn scheduler_event(&mut self, index: usize, cpu: u32, now_ns: u64, why: Util, times: &dyn CpuTimes) -> bool {
        let (policies, shared, mut cx) = self.split(now_ns, times);
        let policy = &mut policies[index];
        let Some(set) = shared.in_use(policy).copied() else { return false };
        if let State::Interactive(_) = policy.state {
            interactive::scheduler_event(policy, cpu, why, &set.interactive, &mut cx);
            return true;
        }
        let counts = cx.cpus[cpu as usize].queue.take_window_end(now_ns);
        let asked = matches!(why, Util::IoWake | Util::Direct);
        (counts || asked) && schedutil::scheduler_event(policy, cpu, why, &set, &mut cx)
    }

    /// Takes a CPU out of service or back. A policy without CPUs answers EBUSY (its folder is gone under the old rules);
    /// when it comes back it starts with the governor it had, under 2.6.18 with the default one. A CPU that leaves must
    /// be idle ([`Cpufreq::current`]).
    pub fn set_online(&mut self, cpu: u32, online: bool, now_ns: u64, times: &dyn CpuTimes) {
        let Some(index) = self.policy_of(cpu) else { return };
        if std::mem::replace(&mut self.cpus[cpu as usize].online, online) == online {
            return;
        }
        let cpus = &self.cpus;
        let policy = &mut self.policies[index];
        let was_active = !policy.online.is_empty();
        policy.online = policy.members.iter().copied().filter(|&c| cpus[c as usize].online).collect();
        let is_active = !policy.online.is_empty();
        let (policies, shared, mut cx) = self.split(now_ns, times);
        match (was_active, is_active) {
            (true, true) => governor::restart(&mut policies[index], shared, &mut cx),
            (true, false) => Governed { policies, index, shared }.stop(cx.config),
            (false, _) => self.bring_up(index, now_ns, times),
        }
        self.governors_changed(now_ns);
        self.reschedule(index);
    }

    /// Firmware limits a policy (index in the configuration) to `khz`, or no longer.
    pub fn set_bios_limit(&mut self, policy: u32, khz: Option<u32>, now_ns: u64, times: &dyn CpuTimes) {
        let index = policy as usize;
        if index >= self.policies.len() {
            return;
        }
        let (policies, _, mut cx) = self.split(now_ns, times);
        policies[index].requests.firmware_max = khz;
        policies[index].refresh_limits(cx.config.rules);
        policies[index].governor_limits(&mut cx);
        self.reschedule(index);
    }

    /// From now on the driver of a policy (index in the configuration) fails each change with this error, or works again.
    pub fn set_driver_fault(&mut self, policy: u32, fault: Option<Errno>) {
        if let Some(policy) = self.policies.get_mut(policy as usize) {
            policy.clock.fault = fault;
        }
    }

    /// Loads a governor's module, or unloads it. The one loaded last is named first in `scaling_available_governors`.
    ///
    /// # Errors
    /// EEXIST for one that is loaded, ENOENT for one that is not, EAGAIN for one that a policy uses.
    pub fn set_governor_loaded(&mut self, governor: Governor, loaded: bool) -> Result<(), Errno> {
        let place = self.config.available_governors.iter().position(|&other| other == governor);
        match (place, loaded) {
            (Some(_), true) => return Err(Errno::EEXIST),
            (None, false) => return Err(Errno::ENOENT),
            (Some(_), false) if governor::users(&self.policies, governor) > 0 => return Err(Errno::EAGAIN),
            (Some(place), false) => {
                self.config.available_governors.remove(place);
            }
            (None, true) => self.config.available_governors.insert(0, governor),
        }
        Ok(())
    }

    /// Whether [`Cpufreq::take_changes`] would give anything.
    #[must_use]
    #[inline]
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    fn policy_of(&self, cpu: u32) -> Option<usize> {
        self.cpus.get(cpu as usize)?.policy.map(|index| index as usize)
    }

    /// The policy whose folder or link `cpuN/cpufreq` is there.
    fn folder_of(&self, cpu: u32) -> Option<usize> {
        let gone = self.config.rules != KernelRules::V6_1 && !self.cpus.get(cpu as usize)?.online;
        self.policy_of(cpu).filter(|_| !gone)
    }

    fn tree<T>(&self, ask: impl FnOnce(&Tree<'_>) -> T) -> T {
        let policy_of = |cpu| self.folder_of(cpu);
        let pstate = self.pstate.as_ref();
        let (config, policies, shared) = (&self.config, &self.policies, &self.shared);
        let tree = Tree { config, policies, shared, pstate, policy_of: &policy_of };
        ask(&tree)
    }

    fn split<'a>(
        &'a mut self,
        now_ns: u64,
        times: &'a dyn CpuTimes,
    ) -> (&'a mut [Policy], &'a mut Shared, Context<'a>) {
        let Cpufreq { config, policies, cpus, shared, changes, .. } = self;
        (policies, shared, Context { now_ns, config, cpus, changes, times })
    }

    fn reschedule(&mut self, index: usize) {
        let policy = &self.policies[index];
        self.agenda.set(policy.index, policy.due_ns());
    }

    /// A policy comes into service.
    fn bring_up(&mut self, index: usize, now_ns: u64, times: &dyn CpuTimes) {
        let rules = self.config.rules;
        let policy = &mut self.policies[index];
        if !self.config.policy_boost {
            policy.boosts = self.boost_on;
        }
        match (self.config.boost, self.config.pstate) {
            (BoostSupport::Table(_), _) => {
                (policy.lo, policy.hi) = policy.table.bounds(policy.boosts).unwrap_or((policy.lo, policy.hi));
            }
            (BoostSupport::Range(_), Some(own)) => policy.hi = own.end_khz(policy.boosts),
            _ => {}
        }
        if rules != KernelRules::V6_1 {
            policy.requests = limits::Requests::new(rules, (policy.lo, policy.hi), policy.requests.firmware_max);
        }
        policy.refresh_limits(rules);
        let wanted = if rules == KernelRules::V2_6_18 { self.config.default_governor } else { policy.last_governor };
        let fallback = self.config.available_governors.contains(&Governor::Performance);
        let (policies, shared, mut cx) = self.split(now_ns, times);
        let mut governed = Governed { policies, index, shared };
        if governed.start(wanted, &mut cx).is_err() && fallback {
            let _ = governed.start(Governor::Performance, &mut cx);
        }
        self.governors_changed(now_ns);
        self.reschedule(index);
    }

    /// Starts or stops what depends on which governors run.
    fn governors_changed(&mut self, now_ns: u64) {
        if self.config.rules != KernelRules::V2_6_18 {
            return;
        }
        let set = self.shared.of(Governor::Conservative);
        self.walk_due_ns = match set.filter(|_| governor::users(&self.policies, Governor::Conservative) > 0) {
            Some(set) => {
                let period = load::ticks_of_us(set.rate_us, &self.config);
                Some(self.walk_due_ns.unwrap_or_else(|| load::after_ticks(period, now_ns, &self.config)))
            }
            None => None,
        };
        self.schedule_walk();
    }

    fn schedule_walk(&mut self) {
        if let Ok(slot) = u32::try_from(self.policies.len()) {
            self.agenda.set(slot, self.walk_due_ns);
        }
    }

    /// A round of 2.6.18 conservative over all policies that run it.
    fn walk(&mut self, now_ns: u64, times: &dyn CpuTimes) {
        self.walk_due_ns = None;
        if let Some(set) = self.shared.of(Governor::Conservative).copied() {
            let period = load::ticks_of_us(set.rate_us, &self.config);
            self.walk_due_ns = Some(load::after_ticks(period, now_ns, &self.config));
            let (policies, _, mut cx) = self.split(now_ns, times);
            for policy in policies.iter_mut().filter(|p| p.governor == Some(Governor::Conservative)) {
                conservative::sample_nominal(policy, &set, &mut cx);
            }
            for index in 0..self.policies.len() {
                self.reschedule(index);
            }
        }
        self.schedule_walk();
    }
}
