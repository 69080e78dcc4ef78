//! Claims that are no experiments: something is written to a simulated machine, and read.
use powerband_machine::{Errno, Job, Machine, Turn, Wake, World};
use powerband_record::{CpuList, Side, Work};
use powerband_report::replication::Tried;
use powerband_rig::profile;
use powerband_sim::SimWorld;

use super::{boot, gathered};
use crate::SessionError;

pub(super) const CPUS: &str = "/sys/devices/system/cpu";
/// Longer than any clock takes to change, ns.
const SETTLED_NS: u64 = 10_000_000;
/// Between two looks at a clock, ns.
const LOOK_NS: u64 = 1_000_000;

/// Tries something by its name; nothing when there is nothing of that name.
///
/// # Errors
/// When a simulated machine cannot be made or does not do what any does.
pub(super) fn on_machines(what: &str, machine: Option<&str>) -> Result<Option<Tried>, SessionError> {
    // The article's own machine, unless another is put in its place.
    let given = machine.and_then(|name| name.strip_prefix("sim:")?.split('#').next());
    let tried = match what {
        "bogomips" => bogomips(given.unwrap_or("omap3530"))?,
        "limits-in-either-order" => limits_in_either_order(given.unwrap_or("omap3530"))?,
        "one-cpu-of-many" => one_cpu_of_many(given.unwrap_or("quadcore"))?,
        "work-by-cpu" => gathered::work_by_cpu(given.unwrap_or("x3650"))?,
        "work-by-core" => gathered::work_by_core("smt")?,
        "boot-chain" => boot::chain()?,
        "clock-from-rest-to-load" => clock_from_rest_to_load(given.unwrap_or("mpi-server"))?,
        _ => return Ok(None),
    };
    Ok(Some(tried))
}

/// A simulated machine as it boots.
pub(super) struct Booted {
    name: String,
    pub(super) world: SimWorld,
}

impl Booted {
    pub(super) fn new(name: &str) -> Result<Booted, SessionError> {
        let world = SimWorld::new(profile(name)?, None, 1).map_err(|error| SessionError::Failed(error.to_string()))?;
        Ok(Booted { name: name.to_owned(), world })
    }

    pub(super) fn machine(&mut self) -> Result<&mut dyn Machine, SessionError> {
        let name = &self.name;
        self.world.machine(Side::Near).ok_or_else(|| SessionError::Failed(format!("sim:{name} is not there")))
    }

    /// Reads a cpufreq file of a CPU.
    fn cpufreq(&mut self, cpu: u32, file: &str) -> Result<String, SessionError> {
        self.read(&format!("{CPUS}/cpu{cpu}/cpufreq/{file}"))
    }

    pub(super) fn read(&mut self, path: &str) -> Result<String, SessionError> {
        let name = self.name.clone();
        let text =
            self.machine()?.read(path).map_err(|errno| SessionError::Failed(format!("sim:{name} {path}: {errno}")))?;
        Ok(text.trim().to_owned())
    }

    /// The names in a folder.
    pub(super) fn list(&mut self, folder: &str) -> Result<Vec<String>, SessionError> {
        let name = self.name.clone();
        let entries = self.machine()?.list(folder);
        let entries = entries.map_err(|errno| SessionError::Failed(format!("sim:{name} {folder}: {errno}")))?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    /// Writes to a cpufreq file of a CPU, as any program could, waits until it has had its effect, and answers the refusal.
    pub(super) fn write(&mut self, cpu: u32, file: &str, text: &str) -> Result<Option<Errno>, SessionError> {
        self.write_to(&format!("{CPUS}/cpu{cpu}/cpufreq/{file}"), text)
    }

    /// The same to any file.
    pub(super) fn write_to(&mut self, path: &str, text: &str) -> Result<Option<Errno>, SessionError> {
        let turn = Turn { read_back: Some(path.into()), ..Turn::write(path, text) };
        let acted = self.machine()?.act(&turn).map_err(|error| SessionError::Failed(error.to_string()))?;
        let until_ns = self.world.now_ns() + SETTLED_NS;
        while self.world.wait(Some(until_ns)) != Wake::Deadline {}
        Ok(acted.errno)
    }

    /// BogoMIPS of the first CPU.
    fn bogomips(&mut self) -> Result<f64, SessionError> {
        let text = self.read("/proc/cpuinfo")?;
        let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with("bogomips"));
        let number = line.and_then(|line| line.split(':').nth(1)?.trim().parse().ok());
        number.ok_or_else(|| SessionError::Failed("a simulated /proc/cpuinfo has no BogoMIPS".into()))
    }
}

/// The clocks a CPU of the server shows, each once, as it idles, works and idles again, a look a millisecond.
fn clocks(name: &str, governor: &str) -> Result<Vec<u32>, SessionError> {
    const MOMENTS: [(bool, u32); 3] = [(false, 1_000), (true, 1_000), (false, 1_000)];
    let mut server = Booted::new(name)?;
    server.write(0, "scaling_governor", governor)?;
    let mut shown: Vec<u32> = Vec::new();
    for (works, looks) in MOMENTS {
        let work = Work::Counter { for_ns: u64::from(looks) * LOOK_NS, align_to_second: false };
        let cpus = Some(CpuList::new(vec![0]));
        let job = Job { work, cpus, group: None, user: None, output_limit: None, around: Vec::new() };
        if works {
            server.machine()?.spawn(&job).map_err(|error| SessionError::Failed(error.to_string()))?;
        } else {
            // What a machine does by itself now and then, and a governor whose timer wakes nobody needs.
            let idle = Job { work: Work::Idle { for_ns: u64::from(looks) * LOOK_NS }, ..job };
            server.machine()?.spawn(&idle).map_err(|error| SessionError::Failed(error.to_string()))?;
        }
        for _ in 0..looks {
            let until_ns = server.world.now_ns() + LOOK_NS;
            while server.world.wait(Some(until_ns)) != Wake::Deadline {}
            let khz = server.cpufreq(0, "scaling_cur_freq")?.parse().unwrap_or(0);
            if shown.last() != Some(&khz) {
                shown.push(khz);
            }
        }
    }
    Ok(shown)
}

/// How each governor's clock goes: ondemand's in one step up, conservative's through every step, the others' not at all.
fn clock_from_rest_to_load(name: &str) -> Result<Tried, SessionError> {
    let mhz = |shown: &[u32]| shown.iter().map(|khz| (khz / 1_000).to_string()).collect::<Vec<_>>().join(" ");
    let [ondemand, conservative, powersave, performance] =
        ["ondemand", "conservative", "powersave", "performance"].map(|governor| clocks(name, governor));
    let (ondemand, conservative, powersave, performance) = (ondemand?, conservative?, powersave?, performance?);
    let (low, high) = (powersave.first().copied(), performance.first().copied());
    let still = powersave.len() == 1 && performance.len() == 1 && low < high;
    let jumps = ondemand.windows(2).any(|pair| Some(pair[0]) == low && Some(pair[1]) == high);
    // Up through all clocks, one at a time; down in more than one step.
    let up = conservative.windows(6).any(|six| Some(six[0]) == low && six.is_sorted() && Some(six[5]) == high);
    let last = conservative.iter().rev().copied().take_while(|khz| Some(*khz) != high).count();
    let climbs = up && last >= 2;
    let seen = format!("ondemand {} MHz, conservative {}", mhz(&ondemand), mhz(&conservative));
    Ok(Tried::so(still && jumps && climbs, seen))
}

/// BogoMIPS over the clock, at each clock of the router.
fn bogomips(name: &str) -> Result<Tried, SessionError> {
    let mut router = Booted::new(name)?;
    router.write(0, "scaling_governor", "userspace")?;
    let clocks = router.cpufreq(0, "stats/time_in_state")?;
    let mut shares = Vec::new();
    for khz in clocks.lines().filter_map(|line| line.split(' ').next()) {
        router.write(0, "scaling_setspeed", khz)?;
        shares.push(router.bogomips()? / (khz.parse::<f64>().unwrap_or(f64::NAN) / 1e3));
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let off = shares.iter().map(|share| (share / mean - 1.0).abs()).fold(0.0, f64::max);
    let seen = format!("{mean:.4} per MHz at {} frequencies, deviation {:.3} % at most", shares.len(), off * 100.0);
    Ok(Tried::so(shares.len() > 1 && off < 0.001, seen))
}

/// Both limits are raised from the lowest clock to the highest, and lowered again, each in both orders. Upper before lower is
/// taken for raising and refused for lowering, lower before upper the other way round; since 5.3 all are taken.
fn limits_in_either_order(old: &str) -> Result<Tried, SessionError> {
    let (min, max) = ("scaling_min_freq", "scaling_max_freq");
    let mut seen = Vec::new();
    let mut so = true;
    for (name, refuses) in [(old, true), ("pc", false)] {
        let mut refused = Vec::new();
        for (raises, first, second) in [(true, max, min), (true, min, max), (false, max, min), (false, min, max)] {
            let mut machine = Booted::new(name)?;
            let low = machine.cpufreq(0, "cpuinfo_min_freq")?;
            let high = machine.cpufreq(0, "cpuinfo_max_freq")?;
            // Where it begins, as any kernel lets it.
            let (at, from, to) = if raises { (max, &low, &high) } else { (min, &high, &low) };
            machine.write(0, at, from)?;
            let taken = machine.write(0, first, to)?.is_none() && machine.write(0, second, to)?.is_none();
            so &= taken == (!refuses || raises == (first == max));
            if !taken {
                refused.push(format!("{} {first} first", if raises { "raising" } else { "lowering" }));
            }
        }
        let rules = Booted::new(name)?.machine()?.identity().system.clone();
        let refused = if refused.is_empty() { "nothing".to_owned() } else { refused.join(" and ") };
        seen.push(format!("{rules} refuse {refused}"));
    }
    Ok(Tried::so(so, seen.join("; ")))
}

/// One CPU's governor is written; who else has it then depends on what shares its clock.
fn one_cpu_of_many(name: &str) -> Result<Tried, SessionError> {
    let mut seen = Vec::new();
    let mut so = true;
    for (name, alone) in [(name, true), ("board", false)] {
        let mut machine = Booted::new(name)?;
        let related = machine.cpufreq(1, "related_cpus")?;
        let other = machine.cpufreq(0, "scaling_governor")?;
        machine.write(1, "scaling_governor", "powersave")?;
        let now = machine.cpufreq(0, "scaling_governor")?;
        so &= other != "powersave" && (now == other) == alone;
        seen.push(format!("on sim:{name} setting CPU 1 sets CPUs {}", related.replace(' ', ",")));
    }
    Ok(Tried::so(so, seen.join("; ")))
}
