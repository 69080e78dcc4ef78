//! Why something else than what was asked is in force: what holds a frequency down, and what has not come yet.
use powerband_machine::Look;
use powerband_record::{CpuList, format_khz};
use powerband_sysfs::{cpufreq, parsed, power::THERMAL, text, topology};

use crate::plan::Move;
use crate::policy::policies;
use crate::{Applied, Landed, Policy, Reached, frequency};

/// Types of cooling devices that hold CPUs down (Linux 6.12 drivers/acpi/processor_thermal.c, drivers/thermal/cpufreq_cooling.c,
/// drivers/thermal/intel/intel_powerclamp.c).
const COOLS_CPUS: [&str; 4] = ["Processor", "cpufreq-", "thermal-cpufreq", "intel_powerclamp"];

/// Says more of a landing that is not what was asked, where something is known of it.
pub(crate) fn explain(machine: &mut dyn Look, reached: &mut Reached) {
    if !matches!(reached.landed, Landed::Clamped { .. } | Landed::ReadsOther { .. }) {
        return;
    }
    let Some(reads) = reached.reads_back.clone() else { return };
    let shown = reached.named.knob.shown(&reads);
    let by = match (reached.named.name.as_str(), &reached.site.policy) {
        ("cpufreq.max_freq", Some(policy)) => {
            let (asked, now) = (reached.asked.number().unwrap_or_default(), khz(&reads));
            let rounded = is_the_step_below(machine, policy, asked, now);
            (!rounded).then(|| if now < asked { holds_down(machine, policy, asked) } else { None })
        }
        ("cpufreq.min_freq", Some(policy)) => other_limit(machine, policy, &reached.asked.number(), &reads),
        ("cpufreq.freq", Some(policy)) => outside_limits(machine, policy, reached.asked.number().unwrap_or_default()),
        (name, None) if name.starts_with("powercap.") && reached.before.as_deref().map(str::trim) == Some(&reads) => {
            Some(Some("the firmware, which has locked this limit".into()))
        }
        _ => None,
    };
    let stale = reached.before.as_deref().map(str::trim) == Some(reads.as_str());
    reached.landed = match by {
        Some(Some(by)) => Landed::Overridden { by, reads: shown },
        // Since Linux 5.3 a limit takes effect a moment after the write.
        Some(None) if stale => Landed::Pending { reads: shown },
        _ => return,
    };
}

/// What holds an upper limit down that reads lower than the CPU's highest, so that what was asked of the kernel before
/// cannot be known; `None` when nothing is found.
pub(crate) fn throttle(machine: &mut dyn Look, policy: &Policy) -> Option<String> {
    let highest = policy.khz(machine, "cpuinfo_max_freq")?;
    let shown = policy.khz(machine, "scaling_max_freq")?;
    if shown < highest { holds_down(machine, policy, u64::from(highest)) } else { None }
}

/// Policies that one note names at most.
const NAMED: usize = 4;

/// Knobs whose frequency the hardware brings to the highest request of all CPUs that share a clock.
const CLOCKS: [&str; 2] = ["cpufreq.freq", "cpufreq.max_freq"];

/// Says of frequencies that landed whether CPUs whose clock the hardware changes together with theirs hold it up.
pub(crate) fn by_siblings(machine: &mut dyn Look, applied: &mut Applied) {
    let is_clock = |it: &&mut Reached| CLOCKS.contains(&it.named.name.as_str());
    let landed = |it: &&mut Reached| {
        matches!(it.landed, Landed::Applied | Landed::Already | Landed::Clamped { .. } | Landed::Overridden { .. })
    };
    let mut all = None;
    for reached in applied.sites.iter_mut().filter(is_clock).filter(landed) {
        let Some(policy) = &reached.site.policy else { continue };
        let Some(domain) = domain(machine, policy) else { continue };
        let all = all.get_or_insert_with(|| active(machine));
        let ours = reached.reads_back.as_deref().map_or(0, khz);
        let highest = highest_request(machine, policy, &domain, all).filter(|it| it.khz > ours && it.surely);
        let Some(Request { policy: sibling, khz: theirs, .. }) = highest else { continue };
        let by = format!("{sibling}, which shares its frequency (cpus {domain}) and asks for {}", shown(theirs));
        reached.landed = Landed::Overridden { by, reads: shown(theirs) };
    }
}

/// A note on frequencies about to be set while CPUs that share the clock are left as they are, and ask for more: surely, or
/// perhaps.
pub(crate) fn left_higher(machine: &mut dyn Look, moves: &[Move], surely: bool) -> Option<String> {
    let (ask, rises) = if surely { ("ask", "stays there") } else { ("may ask", "rises with it") };
    let mut all = None;
    let is_set = |name: &str| moves.iter().any(|step| step.site.name == name);
    let mut higher: Vec<(Request, CpuList, &str)> = Vec::new();
    for step in moves.iter().filter(|step| CLOCKS.contains(&step.named.name.as_str())) {
        let (Some(policy), Some(ours)) = (&step.site.policy, step.value.number()) else { continue };
        let Some(domain) = domain(machine, policy) else { continue };
        let all = all.get_or_insert_with(|| {
            let mut all = active(machine);
            all.retain(|policy| !is_set(&policy.name));
            all
        });
        let highest = highest_request(machine, policy, &domain, all).filter(|it| it.khz > ours && it.surely == surely);
        higher.extend(highest.map(|request| (request, domain, policy.name.as_str())));
    }
    let theirs = shown(higher.iter().map(|(request, ..)| request.khz).max()?);
    if let [(Request { policy: sibling, .. }, domain, ours)] = &higher[..] {
        let asks = if surely { "asks" } else { ask };
        return Some(format!(
            "{sibling}, which shares its frequency (cpus {domain}), {asks} for {theirs}: the frequency of {ours} {rises}"
        ));
    }
    let more = higher.len().saturating_sub(NAMED);
    let named: Vec<&str> = higher.iter().take(NAMED).map(|(request, ..)| request.policy.as_str()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "{}{more} share their frequency with policies set here and {ask} for up to {theirs}: it {}",
        named.join(", "),
        if surely { rises } else { "rises with theirs" }
    ))
}

fn active(machine: &mut dyn Look) -> Vec<Policy> {
    policies(machine, "cpufreq.freq").map(|all| all.active).unwrap_or_default()
}

/// CPUs whose clock changes together with a policy's, where they are more than its own: those the driver names, and the
/// threads of its cores.
fn domain(machine: &mut dyn Look, policy: &Policy) -> Option<CpuList> {
    // Linux 3.9 and later have the first; before, the second says it.
    let text = policy.read(machine, "freqdomain_cpus").or_else(|_| policy.read(machine, "related_cpus")).ok()?;
    let mut cpus = CpuList::parse_spaced(&text).ok()?.as_slice().to_vec();
    for &cpu in policy.online.as_slice() {
        cpus.extend(topology::threads_of_core(machine, cpu).iter().flat_map(CpuList::as_slice));
    }
    let domain = CpuList::new(cpus);
    domain.as_slice().iter().any(|&cpu| !policy.cpus.contains(cpu)).then_some(domain)
}

/// The frequency that a policy asks of the clock it shares.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    khz: u64,
    /// False if its governor may choose less.
    surely: bool,
    policy: String,
}

/// The other policy of a domain that asks for the highest clock; of two that ask for the same, the one that surely does.
fn highest_request(machine: &mut dyn Look, ours: &Policy, domain: &CpuList, all: &[Policy]) -> Option<Request> {
    let siblings =
        all.iter().filter(|it| it.name != ours.name && it.online.as_slice().iter().any(|&cpu| domain.contains(cpu)));
    let requests = siblings.filter_map(|sibling| {
        let governor = sibling.read(machine, "scaling_governor").unwrap_or_default().to_lowercase();
        let (file, surely) = match governor.as_str() {
            "userspace" => ("scaling_setspeed", true),
            "performance" => ("scaling_max_freq", true),
            "powersave" if !sibling.has_own_rules(machine) => ("scaling_min_freq", true),
            _ => ("scaling_max_freq", false),
        };
        Some(Request { khz: u64::from(sibling.khz(machine, file)?), surely, policy: sibling.name.clone() })
    });
    requests.max()
}

/// A fixed frequency, brought within the limits in force.
pub(crate) fn within_limits(machine: &mut dyn Look, policy: &Policy, asked_khz: u32) -> u32 {
    let lower = policy.khz(machine, "scaling_min_freq").unwrap_or(0);
    let upper = policy.khz(machine, "scaling_max_freq").unwrap_or(u32::MAX);
    asked_khz.max(lower).min(upper)
}

fn khz(text: &str) -> u64 {
    text.trim().parse().unwrap_or_default()
}

/// The kernel rounds an upper limit down to a step of the table.
fn is_the_step_below(machine: &mut dyn Look, policy: &Policy, asked: u64, now: u64) -> bool {
    policy.steps_khz(machine).into_iter().map(u64::from).filter(|&step| step <= asked).max() == Some(now)
}

/// What keeps a policy below `asked`, kHz.
fn holds_down(machine: &mut dyn Look, policy: &Policy, asked: u64) -> Option<String> {
    let mut number = |path: &str| parsed::<u64>(machine, path);
    if number(cpufreq::NO_TURBO) == Some(1) {
        return Some("pstate.no_turbo=1".into());
    }
    if let Some(percent) = number(cpufreq::MAX_PERF_PCT).filter(|&percent| percent < 100) {
        return Some(format!("pstate.max_perf_pct={percent}"));
    }
    if let Some(limit) = number(&policy.file("bios_limit")).filter(|&limit| limit > 0 && limit < asked) {
        return Some(format!("the firmware (bios_limit is {})", shown(limit)));
    }
    let nominal = policy.khz(machine, "cpuinfo_max_freq").map(u64::from);
    let boost = text(machine, cpufreq::BOOST).is_some_and(|text| text == "0");
    if boost && nominal.is_some_and(|nominal| asked > nominal) {
        return Some("cpufreq.boost=0".into());
    }
    cooling(machine)
}

/// A device that cools CPUs by slowing them, while it does.
fn cooling(machine: &mut dyn Look) -> Option<String> {
    for entry in machine.list(THERMAL).ok()?.into_iter().filter(|entry| entry.name.starts_with("cooling_device")) {
        let mut word = |file: &str| text(machine, &format!("{THERMAL}/{}/{file}", entry.name));
        let Some(kind) = word("type").filter(|kind| COOLS_CPUS.iter().any(|known| kind.starts_with(known))) else {
            continue;
        };
        if let Some(state) = word("cur_state").and_then(|text| text.parse::<i64>().ok()).filter(|&state| state > 0) {
            let most = word("max_state").unwrap_or_else(|| "?".into());
            return Some(format!("thermal control ({} of type {kind} is at {state} of {most})", entry.name));
        }
    }
    None
}

/// A lower limit above the upper one: the upper one wins.
fn other_limit(machine: &mut dyn Look, policy: &Policy, asked: &Option<u64>, reads: &str) -> Option<Option<String>> {
    let asked = (*asked)?;
    let upper = policy.khz(machine, "scaling_max_freq").map(u64::from)?;
    let step_above = policy.steps_khz(machine).into_iter().map(u64::from).find(|&step| step >= asked);
    if step_above == Some(khz(reads)) {
        return None;
    }
    Some((upper < asked).then(|| format!("max_freq={}", shown(upper))))
}

/// A fixed frequency stays inside the limits.
fn outside_limits(machine: &mut dyn Look, policy: &Policy, asked: u64) -> Option<Option<String>> {
    let limit = |machine: &mut dyn Look, file| policy.khz(machine, file).map(u64::from);
    let (lower, upper) = (limit(machine, "scaling_min_freq")?, limit(machine, "scaling_max_freq")?);
    match asked {
        _ if asked > upper => Some(Some(format!("max_freq={}", shown(upper)))),
        _ if asked < lower => Some(Some(format!("min_freq={}", shown(lower)))),
        _ => None,
    }
}

fn shown(khz: u64) -> String {
    u32::try_from(khz).map_or_else(|_| frequency::shown(&khz.to_string()), format_khz)
}
