//! One simulated machine: its state in one place, its events, and how they are handed out.
use std::collections::BTreeMap;
use std::sync::Arc;

use powerband_machine::{Identity, Wake};
use powerband_record::Side;

use crate::SimError;
use crate::cpufreq::{Cpufreq, FrequencyChange, Util};
use crate::cpuidle::Cpuidle;
use crate::daemon::Daemon;
use crate::latency::Latency;
use crate::meters::Meters;
use crate::network::{Answer, Answering, Call, Packet};
use crate::nic::Nic;
use crate::noise::{Noise, fnv1a, keyed};
use crate::power::Package;
use crate::process::Process;
use crate::profile::{Profile, rules_name};
use crate::queue::{Class, EventQueue, Key, NEVER, key, time};
use crate::race::Race;
use crate::schedule::{Balance, Cpu, Group, Task, Times};
use crate::thermal::Heat;
use crate::tree::{Smt, Tree, speed_mbit_s};

/// Classes of events, in the order they are handled at one instant.
const TASKS: Class = 0;
const TICKS: Class = 0x1000;
const BALANCING: Class = 0x1800;
const CPUFREQ: Class = 0x2000;
const SAMPLES: Class = 0x3000;

/// The end of virtual time, ns (146 years): far enough, and no sum of times goes over.
pub(crate) const END_NS: u64 = 1 << 62;

/// Time between two stirs, ns, and how many follow the last thing that happened.
const STIR_NS: u64 = 100_000_000;
const STIRS: u32 = 100;

/// No idle machine is left quite alone: now and then a timer or a frame wakes it, and only then do governors whose timers
/// sleep with the CPU notice that nothing runs. After a while without anything happening that ends, so that hours cost nothing.
#[derive(Debug, Default)]
struct Stirring {
    /// The kernel thread of each CPU, a task that only cpufreq sees.
    threads: Vec<u32>,
    left: u32,
    planned: bool,
    stopped: bool,
}

/// What can happen on a machine.
#[derive(Debug)]
pub(crate) enum Event {
    /// The task of a CPU has retired what it had to.
    Retired {
        cpu: u32,
        #[expect(dead_code, reason = "the log of events shows it")]
        plan: u32,
    },
    /// The tick of a busy CPU.
    Tick { cpu: u32 },
    /// A tick at which CPUs look for work elsewhere.
    Balance,
    /// A CPU has come out of its idle state.
    Awake { cpu: u32, stamp: u32 },
    /// The tick of an idle CPU that kept it.
    IdleTick { cpu: u32, stamp: u32 },
    /// A process's timer.
    Timer { process: u32, stamp: u32 },
    /// A kernel thread runs on each idle CPU, too short to cost anything.
    Stir,
    /// A process of the daemon cpuspeed wakes.
    Daemon { place: u32, stamp: u32 },
    /// cpufreq has something to do.
    CpufreqDue,
    /// A group has used up its quota.
    QuotaSpent { group: u32, stamp: u32 },
    /// A group gets its quota for the next period.
    QuotaRefill { group: u32 },
    /// Somebody wants a connection.
    Called(Box<Call>),
    /// The answer to a call.
    Answered(Box<Answer>),
    /// Something arrived for a connected process.
    Arrived { process: u32, packet: Packet },
    /// The card interrupts for something that arrived.
    Heard { process: u32, packet: Packet },
    /// A process that slept runs at last.
    Woken { process: u32 },
    /// What a process's job watches is read, by the place of the watch.
    Sample { process: u32, watch: u32 },
}

impl Event {
    fn class(&self) -> Class {
        match self {
            Event::Tick { cpu } | Event::IdleTick { cpu, .. } => TICKS + Class::try_from(*cpu).unwrap_or(0),
            Event::Balance => BALANCING,
            Event::CpufreqDue => CPUFREQ,
            Event::Sample { .. } => SAMPLES,
            _ => TASKS,
        }
    }
}

/// An event for the other machine of the World, or for this one by its own address.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) at_ns: u64,
    pub(crate) to: Side,
    pub(crate) event: Event,
}

/// Everything one machine is.
pub struct Board {
    pub(crate) side: Side,
    pub(crate) has_far: bool,
    pub(crate) profile: Arc<Profile>,
    pub(crate) identity: Identity,
    pub(crate) now_ns: u64,
    queue: EventQueue<Event>,
    /// When the task of each CPU has retired what it had to.
    retirements: Race,
    pub(crate) outbox: Vec<Outgoing>,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) cpufreq: Cpufreq,
    cpufreq_planned_ns: Option<u64>,
    changes: Vec<FrequencyChange>,
    pub(crate) cpus: Vec<Cpu>,
    /// How tasks are moved between CPUs, where that is modelled.
    pub(crate) balance: Option<Balance>,
    pub(crate) packages: Vec<Package>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) free_tasks: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    pub(crate) processes: Vec<Process>,
    pub(crate) listeners: BTreeMap<u16, u32>,
    /// When the outgoing link is done with what was handed to it, ns.
    pub(crate) link_free_ns: u64,
    /// The same of each client of a radio channel, by the process at the other end, ns.
    pub(crate) clients_free_ns: BTreeMap<u32, u64>,
    /// Idle states, where the machine has any to choose from.
    pub(crate) idle: Option<Cpuidle>,
    pub(crate) latency: Latency,
    /// Where idle states are chosen: processes whose timers are set, and until when, ns since boot; in no order. Few at a time, so
    /// that a list is quicker than a tree.
    pub(crate) timers: Vec<(u32, u64)>,
    pub(crate) nic: Nic,
    pub(crate) answering: Answering,
    pub(crate) noise: Noise,
    pub(crate) meters: Meters,
    /// Until then neither meters nor the temperature change, ns.
    pub(crate) noted_until_ns: u64,
    pub(crate) heat: Heat,
    pub(crate) tree: Tree,
    /// Whether cores run two threads each.
    pub(crate) smt: Smt,
    /// The daemon that sets clocks.
    pub(crate) daemon: Daemon,
    /// The limit below which primes were counted last, and how many there are.
    pub(crate) primes: Option<(u64, u64)>,
    pub(crate) log: Option<String>,
    stirring: Stirring,
    /// Highest clock, kHz.
    pub(crate) max_khz: u32,
    pub(crate) tick_ns: u64,
}

impl Board {
    /// Boots a machine at time 0.
    ///
    /// # Errors
    /// [`SimError::Boot`] when cpufreq refuses the configuration.
    pub(crate) fn boot(profile: Profile, side: Side, has_far: bool, seed: u64) -> Result<Self, SimError> {
        let profile = Arc::new(profile);
        let component = side.to_string();
        let cpus: Vec<Cpu> = Cpu::all(&profile);
        let times = Times { cpus: &cpus, now_ns: 0, sampled_tick_ns: None };
        let cpufreq = Cpufreq::new(profile.cpufreq.clone(), 0, &times)
            .map_err(|errno| SimError::Boot { name: profile.name.clone(), errno })?;
        let count = usize::try_from(profile.packages).unwrap_or(1);
        let awake = if profile.idle.is_some() { cpus.len() / count.max(1) } else { 0 };
        let packages = vec![Package::awake(u32::try_from(awake).unwrap_or(0)); count];
        let idle = profile.idle.clone().map(|spec| Cpuidle::new(spec, cpus.len()));
        let identity = Identity {
            name: format!("sim:{}", profile.name),
            system: format!(
                "Linux {} rules (nearest published kernel: {})",
                rules_name(profile.cpufreq.rules),
                profile.kernel
            ),
            boot_id: boot_id(seed, &profile.name),
            address: component.clone(),
            privileged: true,
            owner: 0,
        };
        let mut board = Board {
            side,
            has_far,
            identity,
            now_ns: 0,
            queue: EventQueue::default(),
            retirements: Race::new(cpus.len()),
            outbox: Vec::new(),
            wakes: Vec::new(),
            cpufreq,
            cpufreq_planned_ns: None,
            latency: Latency::new(cpus.len()),
            idle,
            timers: Vec::new(),
            changes: Vec::new(),
            balance: profile
                .balance
                .map(|spec| Balance::new(spec, profile.cpufreq.rules, profile.cpufreq.hz, cpus.len())),
            cpus,
            packages,
            tasks: Vec::new(),
            free_tasks: Vec::new(),
            groups: Vec::new(),
            processes: Vec::new(),
            listeners: BTreeMap::new(),
            link_free_ns: 0,
            clients_free_ns: BTreeMap::new(),
            nic: Nic::new(profile.network.driver, &profile.name, speed_mbit_s(profile.network.stream_kbit_s())),
            answering: Answering::default(),
            noise: Noise::new(profile.noise.clone(), seed, &component),
            heat: Heat::default(),
            meters: Meters::new(&profile.meters, profile.packages, seed, &component),
            noted_until_ns: 0,
            tree: Tree::new(&profile),
            smt: Smt::default(),
            daemon: Daemon::default(),
            primes: None,
            log: None,
            stirring: Stirring::default(),
            max_khz: profile.max_khz(),
            tick_ns: profile.cpufreq.tick_ns(),
            profile,
        };
        board.stirring.threads = (0..board.cpus.len()).map(|_| board.new_task(Task::new(0))).collect();
        board.keep_stirring();
        (0..u32::try_from(board.cpus.len()).unwrap_or(0)).for_each(|cpu| board.doze(cpu));
        board.follow_cpufreq();
        Ok(board)
    }

    /// Plans an event; one beyond [`END_NS`] will never be.
    pub(crate) fn plan(&mut self, at_ns: u64, event: Event) {
        let class = event.class();
        if at_ns <= END_NS {
            self.queue.push(at_ns, class, event);
        }
    }

    /// Plans the moment at which the task of a CPU has retired what it had to, in place of any it had; or that none will come.
    pub(crate) fn plan_retirement(&mut self, cpu: u32, at_ns: Option<u64>) {
        let planned = at_ns.filter(|at_ns| *at_ns <= END_NS).map(|at_ns| key(at_ns, self.queue.rank(TASKS)));
        self.retirements.set(cpu, planned.unwrap_or(NEVER));
    }

    /// The key of the next event.
    #[inline]
    pub(crate) fn next_key(&self) -> Key {
        self.queue.next_key().min(self.retirements.first().0)
    }

    fn take_next(&mut self) -> Option<(u64, Event)> {
        let (first, cpu) = self.retirements.first();
        if first > self.queue.next_key() {
            return self.queue.pop();
        }
        self.retirements.set(cpu, NEVER);
        (first != NEVER).then(|| (time(first), Event::Retired { cpu, plan: self.cpus[cpu as usize].plan }))
    }

    /// Takes the next event and lets it happen.
    pub(crate) fn step(&mut self) {
        let Some((at_ns, event)) = self.take_next() else { return };
        self.now_ns = at_ns;
        if let Some(log) = &mut self.log {
            use std::fmt::Write as _;
            let _ = writeln!(log, "{at_ns} {} {event:?}", self.side);
        }
        match event {
            Event::Retired { cpu, .. } => self.retired(cpu),
            Event::Tick { cpu } => self.tick(cpu),
            Event::Balance => self.balance_tick(),
            Event::Awake { cpu, stamp } => self.awake(cpu, stamp),
            Event::IdleTick { cpu, stamp } => self.idle_tick(cpu, stamp),
            Event::Timer { process, stamp } => self.timer(process, stamp),
            Event::Stir => self.stir(),
            Event::Daemon { place, stamp } => self.daemon_due(place, stamp),
            Event::CpufreqDue => self.cpufreq_due(),
            Event::QuotaSpent { group, stamp } => self.quota_spent(group, stamp),
            Event::QuotaRefill { group } => self.quota_refill(group),
            Event::Called(call) => self.called(&call),
            Event::Answered(answer) => self.answered(&answer),
            Event::Arrived { process, packet } => self.arrived(process, packet),
            Event::Heard { process, packet } => self.heard(process, packet),
            Event::Woken { process } => self.woken(process),
            Event::Sample { process, watch } => self.sample(process, watch),
        }
        self.follow_cpufreq();
    }

    /// Something happened: the machine goes on being stirred for a while.
    pub(crate) fn keep_stirring(&mut self) {
        self.stirring.left = STIRS;
        if !self.stirring.stopped && !std::mem::replace(&mut self.stirring.planned, true) {
            let next = (self.now_ns / STIR_NS + 1) * STIR_NS;
            self.plan(next, Event::Stir);
        }
    }

    /// Whether the machine still stirs by itself.
    pub(crate) fn stirs(&self) -> bool {
        self.stirring.planned && !self.stirring.stopped
    }

    /// When it next does, ns.
    pub(crate) fn next_stir_ns(&self) -> Option<u64> {
        self.stirs().then(|| (self.now_ns / STIR_NS + 1) * STIR_NS)
    }

    /// Nothing stirs the machine from now on but what is played on it.
    pub(crate) fn stop_stirring(&mut self) {
        self.stirring.stopped = true;
    }

    /// A kernel thread runs on each idle CPU for an instant: when a governor that sleeps with its CPU looks at it.
    fn stir(&mut self) {
        if self.stirring.stopped {
            return;
        }
        for cpu in 0..u32::try_from(self.cpus.len()).unwrap_or(0) {
            if self.cpu(cpu).online && self.cpu(cpu).is_asleep() {
                self.stir_cpu(cpu);
            }
        }
        self.stirring.left -= 1;
        self.stirring.planned = self.stirring.left > 0;
        if self.stirring.planned {
            self.plan(self.now_ns + STIR_NS, Event::Stir);
        }
    }

    fn stir_cpu(&mut self, cpu: u32) {
        let (now, thread) = (self.now_ns, self.stirring.threads[cpu as usize]);
        let times = Times::of(&self.cpus, now, &self.profile);
        self.cpufreq.enqueued(cpu, thread, now);
        self.cpufreq.current(cpu, Some(thread), now);
        self.cpufreq.utilisation(cpu, now, Util::Enqueue, &times);
        self.cpufreq.dequeued(cpu, thread, true, now);
        self.cpufreq.utilisation(cpu, now, Util::Dequeue, &times);
        self.cpufreq.current(cpu, None, now);
        self.jog(cpu);
    }

    fn cpufreq_due(&mut self) {
        self.cpufreq_planned_ns = None;
        let times = Times::of(&self.cpus, self.now_ns, &self.profile);
        self.cpufreq.run_due(self.now_ns, &times);
    }

    /// Virtual time, ns since it booted.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Lets changes of clock take effect and plans cpufreq's next turn. To be called after anything that touched it.
    #[inline]
    pub(crate) fn follow_cpufreq(&mut self) {
        if self.cpufreq.has_changes() {
            self.follow_changes();
        }
        if let Some(due) = self.cpufreq.next_due_ns() {
            let due = due.max(self.now_ns);
            if self.cpufreq_planned_ns.is_none_or(|planned| due < planned) {
                self.cpufreq_planned_ns = Some(due);
                self.plan(due, Event::CpufreqDue);
            }
        }
    }

    #[inline(never)]
    fn follow_changes(&mut self) {
        let mut changes = std::mem::take(&mut self.changes);
        self.cpufreq.take_changes(&mut changes);
        let profile = Arc::clone(&self.profile);
        for change in changes.drain(..) {
            for &cpu in &profile.cpufreq.policies[change.policy as usize].cpus {
                self.reclock(cpu, change.to_khz, u64::from(change.stall_ns));
            }
        }
        self.keep_stirring();
        self.changes = changes;
    }

    /// Energy since boot, fJ.
    pub(crate) fn energy_fj(&self) -> u128 {
        let spec = &self.profile.power;
        let packages: u128 = self.packages.iter().map(|package| package.energy_fj(spec, self.now_ns)).sum();
        let cpus: u128 = self.cpus.iter().map(|cpu| cpu.energy_fj(spec, self.now_ns)).sum();
        spec.platform_fj(self.now_ns) + packages + cpus
    }
}

/// A boot id in the kernel's shape, the same for the same machine and seed at either end of a cable, so that what was
/// set on it through a rig can be undone without.
fn boot_id(seed: u64, name: &str) -> String {
    use rand_core::Rng as _;
    let mut bytes = [0; 16];
    keyed(seed, "boot", fnv1a(name.as_bytes())).fill_bytes(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
