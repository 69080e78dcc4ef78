//! Reading everything at once, and what lies between two readings.
use std::collections::BTreeMap;

use powerband_machine::{Handle, Machine};
use powerband_meter::state::{
    ClockNow, ClockPolicy, Clocks, CpuTime, IdleTimes, Interrupts, PowerNow, Powers, SleepTime, Text, Utilisation,
    present,
};
use powerband_meter::{MeterInstance, find_all};
use powerband_record::CpuList;

/// What of a machine stays as it is while it is watched.
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
pub struct Sample {
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
    utilisation: Option<Utilisation>,
    interrupts: Option<Interrupts>,
    clocks: Clocks,
    idle: IdleTimes,
    powers: Powers,
    /// All of the above, in that order.
    handles: Vec<Handle>,
    texts: Vec<Text>,
    last: Option<Raw>,
}

/// Everything that was read at one moment.
#[derive(Debug)]
struct Raw {
    at_ns: u64,
    busy: BTreeMap<u32, CpuTime>,
    interrupts: BTreeMap<u32, u64>,
    sleeps: Vec<Vec<SleepTime>>,
    power: PowerNow,
}

impl Sampler {
    /// Opens what there is for `cpus`, all when absent. `interrupting`: also what keeps CPUs awake to be read.
    pub fn open(machine: &mut dyn Machine, cpus: Option<&CpuList>, interrupting: bool) -> Self {
        let all = present(machine);
        let wanted = all.as_slice().iter().copied().filter(|&cpu| cpus.is_none_or(|cpus| cpus.contains(cpu)));
        let cpus = CpuList::new(wanted.collect());
        let meters = find_all(machine).meters;
        let (utilisation, interrupts) = (Utilisation::open(machine).ok(), Interrupts::open(machine).ok());
        let clocks = Clocks::open(machine, &cpus, interrupting);
        let (idle, powers) = (IdleTimes::open(machine, &cpus), Powers::open(machine, &meters));
        let mut handles: Vec<Handle> = Vec::new();
        handles.extend(utilisation.iter().flat_map(Utilisation::handles));
        handles.extend(interrupts.iter().flat_map(Interrupts::handles));
        handles.extend(clocks.handles());
        handles.extend(idle.handles());
        handles.extend(powers.handles());
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
        let last = None;
        Sampler { scene, utilisation, interrupts, clocks, idle, powers, handles, texts: Vec::new(), last }
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
    pub fn sample(&mut self, machine: &mut dyn Machine, at_ns: u64) -> Sample {
        machine.read_many(&self.handles, &mut self.texts);
        let mut rest = self.texts.as_slice();
        let mut take = |count: usize| {
            let (taken, left) = rest.split_at(count.min(rest.len()));
            rest = left;
            taken
        };
        let busy = self.utilisation.as_ref().map(|it| it.snapshot(take(1))).unwrap_or_default();
        let interrupts = self.interrupts.as_ref().map(|it| it.snapshot(take(1))).unwrap_or_default();
        let policies = self.clocks.snapshot(take(self.clocks.handles().len()));
        let sleeps = self.idle.snapshot(take(self.idle.handles().len()));
        let power = self.powers.snapshot(at_ns, rest);
        let now = Raw { at_ns, busy, interrupts, sleeps, power };
        let last = self.last.take();
        let cpus = self.scene.cpus.iter().map(|&(cpu, _)| {
            let mut it = last.as_ref().map(|last| self.between(cpu, last, &now)).unwrap_or_default();
            let own = self.scene.policies.iter().position(|policy| policy.cpus.contains(cpu));
            it.clock_khz = own.and_then(|place| policies.get(place)?.khz);
            it
        });
        let cpus = cpus.collect();
        let watts = self.powers.watts(last.as_ref().map(|last| &last.power), &now.power);
        self.last = Some(now);
        Sample { at_ns, cpus, policies, watts }
    }

    /// What one CPU did.
    fn between(&self, cpu: u32, last: &Raw, now: &Raw) -> CpuNow {
        let ns = now.at_ns.saturating_sub(last.at_ns);
        let busy = last.busy.get(&cpu).zip(now.busy.get(&cpu)).and_then(|(then, now)| now.busy_since(then));
        let interrupts = last.interrupts.get(&cpu).zip(now.interrupts.get(&cpu));
        let interrupts_per_s = interrupts.and_then(|(&then, &now)| Interrupts::rate_per_s(then, now, ns));
        let place = self.idle.cpus().iter().position(|sleeps| sleeps.cpu == cpu);
        let pairs: Vec<(&SleepTime, &SleepTime)> = match place {
            Some(place) => last.sleeps[place].iter().zip(&now.sleeps[place]).collect(),
            None => Vec::new(),
        };
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
    pub fn close(&mut self, machine: &mut dyn Machine) {
        self.handles.drain(..).for_each(|handle| machine.close(handle));
    }
}

fn missing(clocks: &Clocks, idle: &IdleTimes, powers: &Powers) -> Vec<String> {
    let mut missing = Vec::new();
    if clocks.policies().is_empty() {
        missing.push("no clocks: this machine has no cpufreq".to_owned());
    }
    missing.extend(clocks.unread.as_ref().map(|why| format!("no clocks: {why}")));
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
