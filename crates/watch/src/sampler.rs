//! Reading everything at once, and what lies between two readings.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Handle, Look};
use powerband_meter::state::{
    ClockNow, ClockPolicy, Clocks, CpuTime, IdleTimes, Interrupts, PowerNow, Powers, SleepTime, Text, Utilisation,
    present,
};
use powerband_meter::{MeterInstance, find_all};
use powerband_record::CpuList;

/// What of a machine stays as it is while it is watched, as it was when that began.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Its name.
    pub machine: String,
    /// CPUs that are watched, each with the names of its idle states from the lightest.
    pub cpus: Vec<(u32, Vec<String>)>,
    /// CPUs that share a clock.
    pub policies: Vec<ClockPolicy>,
    /// Meters of power.
    pub meters: Vec<MeterInstance>,
    /// What is not there, in words.
    pub missing: Vec<String>,
}

/// A machine at one moment, and what happened since the sample before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineSample {
    /// The World's clock when it was read, ns.
    pub at_ns: u64,
    /// In the order of [`Scene::cpus`].
    pub cpus: Vec<CpuNow>,
    /// In the order of [`Scene::policies`].
    pub policies: Vec<ClockNow>,
    /// In the order of [`Scene::meters`], W.
    pub watts: Vec<Option<f64>>,
}

/// One CPU. What is not known, or needs an earlier sample, is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuNow {
    /// Its clock, kHz.
    pub clock_khz: Option<u32>,
    /// Share of the time it was busy, 0 to 1.
    pub busy: Option<f64>,
    /// Interrupts a second.
    pub interrupts_per_s: Option<f64>,
    /// Idle states entered a second: it woke as often.
    pub wakeups_per_s: Option<f64>,
    /// Share of the time in each idle state, 0 to 1.
    pub idle: Vec<Option<f64>>,
}

/// The open files of a machine that is watched.
#[derive(Debug)]
pub struct Sampler {
    scene: Scene,
    /// Also what keeps CPUs awake to be read.
    free: bool,
    utilisation: Option<Utilisation>,
    interrupts: Option<Interrupts>,
    clocks: Clocks,
    idle: IdleTimes,
    powers: Powers,
    /// All of the above, in that order.
    handles: Vec<Handle>,
    texts: Vec<Text>,
    last: Option<Raw>,
    /// The CPUs in service at the latest sample.
    online: Option<Vec<u32>>,
    /// Whether files that had gone were just opened again.
    reopened: bool,
}

/// Everything that was read at one moment.
#[derive(Debug)]
struct Raw {
    at_ns: u64,
    busy: BTreeMap<u32, CpuTime>,
    interrupts: BTreeMap<u32, u64>,
    /// By CPU.
    sleeps: BTreeMap<u32, Vec<SleepTime>>,
    power: PowerNow,
}

impl Sampler {
    /// Opens what there is for `cpus`, all when absent. `free`: also what keeps the CPUs of a real machine awake to be read.
    pub fn open(machine: &mut dyn Look, cpus: Option<&CpuList>, free: bool) -> Self {
        let all = present(machine);
        let wanted = all.as_slice().iter().copied().filter(|&cpu| cpus.is_none_or(|cpus| cpus.contains(cpu)));
        let cpus = CpuList::new(wanted.collect());
        let meters = find_all(machine).meters;
        let (utilisation, interrupts) = (Utilisation::open(machine).ok(), Interrupts::open(machine).ok());
        let clocks = Clocks::open(machine, &cpus, free);
        let (idle, powers) = (IdleTimes::open(machine, &cpus), Powers::open(machine, &meters));
        let states = |cpu| {
            let found = idle.cpus().iter().find(|sleeps| sleeps.cpu == cpu);
            found.map(|sleeps| sleeps.states.clone()).unwrap_or_default()
        };
        let scene = Scene {
            machine: machine.identity().name.clone(),
            cpus: cpus.as_slice().iter().map(|&cpu| (cpu, states(cpu))).collect(),
            policies: clocks.policies().to_vec(),
            meters: powers.meters().to_vec(),
            missing: missing(&clocks, &idle, &powers),
        };
        let (handles, texts, last, online, reopened) = (Vec::new(), Vec::new(), None, None, false);
        let mut all = Sampler {
            scene,
            free,
            utilisation,
            interrupts,
            clocks,
            idle,
            powers,
            handles,
            texts,
            last,
            online,
            reopened,
        };
        all.list_handles();
        all
    }

    fn list_handles(&mut self) {
        self.handles.clear();
        self.handles.extend(self.utilisation.iter().flat_map(Utilisation::handles));
        self.handles.extend(self.interrupts.iter().flat_map(Interrupts::handles));
        self.handles.extend(self.clocks.handles());
        self.handles.extend(self.idle.handles());
        self.handles.extend(self.powers.handles());
    }

    /// Opens what comes and goes with CPUs again.
    fn reopen(&mut self, machine: &mut dyn Look) {
        let gone = self.clocks.handles().into_iter().chain(self.idle.handles());
        gone.for_each(|handle| machine.close(handle));
        let cpus = CpuList::new(self.scene.cpus.iter().map(|&(cpu, _)| cpu).collect());
        self.clocks = Clocks::open(machine, &cpus, self.free);
        self.idle = IdleTimes::open(machine, &cpus);
        self.list_handles();
    }

    /// What stays.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Forgets the sample before: what happened in between belongs to nothing.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// Reads everything, at `at_ns` of the World's clock.
    pub fn sample(&mut self, machine: &mut dyn Look, at_ns: u64) -> MachineSample {
        machine.read_many(&self.handles, &mut self.texts);
        let mut rest = self.texts.as_slice();
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(count.min(rest.len()));
            rest = left;
            taken
        };
        let busy = self.utilisation.as_ref().map(|it| it.snapshot(take(1))).unwrap_or_default();
        let interrupts = self.interrupts.as_ref().map(|it| it.snapshot(take(1))).unwrap_or_default();
        let (clocked, slept) = (take(self.clocks.handles().len()), take(self.idle.handles().len()));
        let lost = clocked.iter().chain(slept).any(|text| matches!(text, Err(Errno::ENODEV)));
        let clocks: Vec<(&ClockPolicy, ClockNow)> =
            self.clocks.policies().iter().zip(self.clocks.snapshot(clocked)).collect();
        let sleeps = self.idle.cpus().iter().map(|it| it.cpu).zip(self.idle.snapshot(slept)).collect();
        let power = self.powers.snapshot(at_ns, rest);
        let now = Raw { at_ns, busy, interrupts, sleeps, power };
        let last = self.last.take();
        let cpus = self.scene.cpus.iter().map(|&(cpu, _)| {
            let mut it = last.as_ref().map(|last| Self::between(cpu, last, &now)).unwrap_or_default();
            let own = clocks.iter().find(|(policy, _)| policy.cpus.contains(cpu));
            it.clock_khz = own.and_then(|(_, clock)| clock.khz);
            it
        });
        let cpus = cpus.collect();
        let of = |name: &str| clocks.iter().find(|(policy, _)| policy.name == name).map(|(_, clock)| clock.clone());
        let policies = self.scene.policies.iter().map(|policy| of(&policy.name).unwrap_or_default()).collect();
        let watts = self.powers.watts(last.as_ref().map(|last| &last.power), &now.power);
        self.follow(machine, &now.busy, lost);
        self.last = Some(now);
        MachineSample { at_ns, cpus, policies, watts }
    }

    /// Opens the files of CPUs again for the next sample, where a CPU came or went since the one before, or files are
    /// `lost` as if one had: what was open is of a folder that is no more.
    fn follow(&mut self, machine: &mut dyn Look, busy: &BTreeMap<u32, CpuTime>, lost: bool) {
        let online: Vec<u32> = busy.keys().copied().collect();
        let moved = !online.is_empty() && self.online.as_ref().is_some_and(|before| *before != online);
        let again = moved || lost && !self.reopened;
        if again {
            self.reopen(machine);
        }
        // Files that are lost right after they were opened are not there to be had.
        self.reopened = again || lost && self.reopened;
        if !online.is_empty() {
            self.online = Some(online);
        }
    }

    /// What one CPU did.
    fn between(cpu: u32, last: &Raw, now: &Raw) -> CpuNow {
        let ns = now.at_ns.saturating_sub(last.at_ns);
        let busy = last.busy.get(&cpu).zip(now.busy.get(&cpu)).and_then(|(then, now)| now.busy_since(then));
        let interrupts = last.interrupts.get(&cpu).zip(now.interrupts.get(&cpu));
        let interrupts_per_s = interrupts.and_then(|(&then, &now)| Interrupts::rate_per_s(then, now, ns));
        let sleeps = last.sleeps.get(&cpu).zip(now.sleeps.get(&cpu));
        let pairs: Vec<(&SleepTime, &SleepTime)> =
            sleeps.map(|(then, now)| then.iter().zip(now).collect()).unwrap_or_default();
        let entries: Option<Vec<f64>> = pairs.iter().map(|(then, now)| now.entries_per_s(then, ns)).collect();
        CpuNow {
            clock_khz: None,
            busy,
            interrupts_per_s,
            wakeups_per_s: entries.filter(|entries| !entries.is_empty()).map(|entries| entries.iter().sum()),
            idle: pairs.iter().map(|(then, now)| now.share_since(then, ns)).collect(),
        }
    }

    /// Gives the files up; there is nothing to sample any more.
    pub fn close(&mut self, machine: &mut dyn Look) {
        self.handles.drain(..).for_each(|handle| machine.close(handle));
    }
}

fn missing(clocks: &Clocks, idle: &IdleTimes, powers: &Powers) -> Vec<String> {
    let mut missing = Vec::new();
    if clocks.policies().is_empty() {
        missing.push("no frequencies: this machine has no cpufreq".to_owned());
    }
    missing.extend(clocks.unread.as_ref().map(|why| format!("no frequencies: {why}")));
    if idle.cpus().is_empty() {
        missing.push("no idle states: this machine has no cpuidle".to_owned());
    }
    if powers.meters().is_empty() {
        missing.push("no watts: this machine has no meter; `powerband info meters` says why".to_owned());
    }
    missing
}

impl CpuNow {
    /// The shares of its idle states; as many unknown ones as `states`, before there was an earlier sample.
    pub(crate) fn idle_of(&self, states: usize) -> impl Iterator<Item = Option<f64>> {
        (0..states).map(|place| self.idle.get(place).copied().flatten())
    }
}
