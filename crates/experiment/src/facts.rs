//! What is known of the machines when an experiment begins, and again when it ends: CPUs, clocks, idle states, memory, cards,
//! meters. Settings alone are read, never a clock's frequency, so that no sleeping CPU is woken.
use powerband_knob::policies;
use powerband_machine::{Errno, Look, World};
use powerband_record::{CpuList, Fact, Side};
use powerband_sysfs::{cpufreq, cpufreq::CPUFREQ, cpuidle, names, net, power, proc, topology};

/// Files of a policy, and what they are called.
const POLICY: [(&str, &str); 7] = [
    ("scaling_driver", "driver"),
    ("scaling_governor", "governor"),
    ("cpuinfo_min_freq", "lowest frequency, kHz"),
    ("cpuinfo_max_freq", "highest frequency, kHz"),
    ("scaling_min_freq", "lower limit, kHz"),
    ("scaling_max_freq", "upper limit, kHz"),
    ("energy_performance_preference", "energy preference"),
];
/// The place of the governor in it.
const GOVERNOR: usize = 1;
/// Files of the whole machine: part, name, path.
const WHOLE: [(&str, &str, &str); 8] = [
    ("CPUs", "online", topology::ONLINE),
    ("CPUs", "SMT", topology::SMT_ACTIVE),
    ("clocks", "boost", cpufreq::BOOST),
    ("clocks", "intel_pstate", cpufreq::INTEL_STATUS),
    ("clocks", "no_turbo", cpufreq::NO_TURBO),
    ("clocks", "platform profile", power::PLATFORM_PROFILE),
    ("idle states", "driver", cpuidle::CURRENT_DRIVER),
    ("idle states", "governor", cpuidle::CURRENT_GOVERNOR_RO),
];
/// More policies than this are not asked for the tunables of their governor one by one, nor more CPUs for idle states.
const EACH: usize = 64;

/// Where a file takes longer than this nothing is asked: a hundred of them would, and the other machine waits meanwhile, which
/// its agent takes for silence after some seconds.
const PROMPT_NS: u64 = 10_000_000;

/// What is known of the machines; nothing of one that is far away in time.
#[must_use]
pub fn facts(world: &mut dyn World) -> Vec<Fact> {
    let mut all = Vec::new();
    let lost = world.lost().map(|(side, _)| side);
    for side in world.sides().into_iter().filter(|side| Some(*side) != lost) {
        // A busy machine may be late once.
        let prompt = (0..2).any(|_| answers_promptly(world, side));
        if let Some(machine) = world.machine(side).filter(|_| prompt) {
            all.extend(of_machine(machine, side));
        }
    }
    all
}

fn answers_promptly(world: &mut dyn World, side: Side) -> bool {
    let asked_ns = world.now_ns();
    let Some(machine) = world.machine(side) else { return false };
    // Whether there is such a file does not matter.
    let _ = machine.read(topology::ONLINE);
    world.now_ns() - asked_ns <= PROMPT_NS
}

/// Facts as they come, each part in turn.
struct Facts<'a> {
    machine: &'a mut dyn Look,
    side: Side,
    facts: Vec<Fact>,
}

fn of_machine(machine: &mut dyn Look, side: Side) -> Vec<Fact> {
    let mut facts = Facts { machine, side, facts: Vec::new() };
    let system = facts.machine.identity().system.clone();
    facts.tell("kernel", "release", system);
    let model = facts.machine.read(proc::CPUINFO).ok();
    if let Some(model) = model.as_deref().and_then(model_of) {
        facts.tell("CPUs", "model", model);
    }
    for (part, what, path) in WHOLE {
        if let Some(value) = facts.text(path) {
            facts.tell(part, what, value);
        }
    }
    facts.clocks();
    facts.idle();
    let memory = facts.machine.read(proc::MEMINFO).ok();
    if let Some(kib) = memory.as_deref().and_then(|text| proc::field(text, "MemTotal")) {
        facts.tell("memory", "in all", kib);
    }
    facts.cards();
    facts.meters();
    facts.facts
}

impl Facts<'_> {
    fn tell(&mut self, part: &str, what: &str, value: String) {
        self.facts.push(Fact { side: self.side, part: part.to_owned(), what: what.to_owned(), value });
    }

    /// One line of a file, where it is there and holds one.
    fn text(&mut self, path: &str) -> Option<String> {
        line(&self.machine.read(path))
    }

    /// Policies that stand alike are told together.
    fn clocks(&mut self) {
        let Ok(found) = policies(self.machine, "governor") else { return };
        let cpus: Vec<CpuList> = found.active.iter().map(|policy| policy.cpus.clone()).collect();
        let folders: Vec<String> = found.active.iter().map(|policy| policy.folder.clone()).collect();
        let texts = self.machine.read_in(&folders, &POLICY.map(|(file, _)| file));
        for (place, (_, what)) in POLICY.into_iter().enumerate() {
            let of = texts.iter().map(|texts| texts.get(place).and_then(line));
            self.tell_grouped("clocks", what, &grouped(of.zip(&cpus)));
        }
        let governor = |texts: &Texts| texts.get(GOVERNOR).and_then(line);
        let mut governors: Vec<String> = texts.iter().filter_map(governor).collect();
        governors.sort();
        governors.dedup();
        for name in governors {
            let under = texts
                .iter()
                .zip(folders.iter().zip(&cpus))
                .filter(|(texts, _)| governor(texts).as_ref() == Some(&name));
            let (own, cpus): (Vec<String>, Vec<&CpuList>) =
                under.take(EACH).map(|(_, (folder, cpus))| (format!("{folder}/{name}"), cpus)).unzip();
            // One set for all, or one for each policy.
            self.tunables(&name, &[format!("{CPUFREQ}/{name}")], &cpus[..1.min(cpus.len())]);
            self.tunables(&name, &own, &cpus);
        }
    }

    /// The tunables of a governor in these folders, each of a policy's CPUs.
    fn tunables(&mut self, governor: &str, folders: &[String], cpus: &[&CpuList]) {
        let Some(Ok(entries)) = folders.first().map(|folder| self.machine.list(folder)) else { return };
        let names: Vec<String> = entries.into_iter().filter(|entry| !entry.folder).map(|entry| entry.name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let texts = self.machine.read_in(folders, &names);
        for (place, name) in names.iter().enumerate() {
            let of = texts.iter().map(|texts| texts.get(place).and_then(line));
            self.tell_grouped("clocks", &format!("{governor}/{name}"), &grouped(of.zip(cpus.iter().copied())));
        }
    }

    fn tell_grouped(&mut self, part: &str, what: &str, values: &[(String, Vec<u32>)]) {
        let told = match values {
            [] => return,
            [(value, _)] => value.clone(),
            several => {
                let one =
                    |(value, cpus): &(String, Vec<u32>)| format!("{value} on CPUs {}", CpuList::new(cpus.clone()));
                several.iter().map(one).collect::<Vec<_>>().join("; ")
            }
        };
        self.tell(part, what, told);
    }

    /// The idle states of the first CPU by name, and which of them are off where.
    fn idle(&mut self) {
        let mut states = names(self.machine, &cpuidle::of_cpu(0));
        states.retain(|name| name.starts_with("state"));
        let online = self.text(topology::ONLINE).and_then(|text| text.parse::<CpuList>().ok());
        let cpus: Vec<u32> = online.as_ref().map_or(&[0][..], CpuList::as_slice).iter().copied().take(EACH).collect();
        let mut names = Vec::new();
        for state in &states {
            let Some(name) = self.text(&format!("{}/{state}/name", cpuidle::of_cpu(0))) else { continue };
            let folders: Vec<String> = cpus.iter().map(|cpu| format!("{}/{state}", cpuidle::of_cpu(*cpu))).collect();
            let texts = self.machine.read_in(&folders, &["disable"]);
            let is_off = |texts: &Texts| texts.first().and_then(line).is_some_and(|text| text != "0");
            let off: Vec<u32> =
                cpus.iter().zip(&texts).filter(|(_, texts)| is_off(texts)).map(|(cpu, _)| *cpu).collect();
            let off = if off.is_empty() { String::new() } else { format!(" (off on CPUs {})", CpuList::new(off)) };
            names.push(format!("{name}{off}"));
        }
        if !names.is_empty() {
            self.tell("idle states", "states", names.join(", "));
        }
    }

    /// Cards with their coalescing. One that is called after its address is told without it.
    fn cards(&mut self) {
        for card in names(self.machine, net::NET) {
            let Ok(coalescing) = self.machine.coalescing(&card) else { continue };
            let named = !(card.starts_with("enx") && card.len() == 15);
            let name = if named { card.as_str() } else { "enx…" };
            let lines = coalescing.to_string();
            let told: Vec<&str> =
                lines.lines().filter(|line| !line.ends_with(" 0") && !line.ends_with(" off")).collect();
            self.tell("network", &format!("{name}, coalescing"), told.join(", "));
            if let Some(speed) = self.text(&net::file(&card, "speed")) {
                self.tell("network", &format!("{name}, Mbit/s"), speed);
            }
        }
    }

    fn meters(&mut self) {
        let found = powerband_meter::find_all(self.machine).meters;
        let mut told: Vec<String> = Vec::new();
        for meter in found {
            let one = format!("{} ({})", meter.meter, meter.boundary);
            if !told.contains(&one) {
                told.push(one);
            }
        }
        if !told.is_empty() {
            self.tell("meters", "found", told.join(", "));
        }
    }
}

/// Texts of some files of a folder.
type Texts = Vec<Result<String, Errno>>;

/// The one line of a text.
fn line(text: &Result<String, Errno>) -> Option<String> {
    let text = text.as_ref().ok()?.trim();
    (!text.is_empty() && !text.contains('\n')).then(|| text.to_owned())
}

/// Values with the CPUs that have them, in the order in which they first come.
fn grouped<'a>(values: impl Iterator<Item = (Option<String>, &'a CpuList)>) -> Vec<(String, Vec<u32>)> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for (value, cpus) in values.filter_map(|(value, cpus)| Some((value?, cpus))) {
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, all)) => all.extend(cpus.as_slice()),
            None => groups.push((value, cpus.as_slice().to_vec())),
        }
    }
    groups
}

/// What the first CPU calls itself; never the line of serial numbers that old boards have.
fn model_of(cpuinfo: &str) -> Option<String> {
    ["model name", "Processor", "cpu model", "Hardware"].into_iter().find_map(|name| proc::field(cpuinfo, name))
}
