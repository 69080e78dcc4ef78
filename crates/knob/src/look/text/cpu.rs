//! The CPUs and their clocks, in words.
use crate::look::{Clock, Cpus, PolicyInfo, Pstate, Stats};
use powerband_record::{CpuList, format_duration, format_khz, format_number};

use super::lines::{Lines, alike, briefly, cpus_named, or_unknown};
use super::shares;

/// What holds for all CPUs; `asked`: this part alone was asked for.
pub fn all(lines: &mut Lines, cpus: &Cpus, asked: bool) {
    lines.say(0, &format!("CPUs online: {}", cpus.online));
    let lists = [
        ("possible", &cpus.possible),
        ("present", &cpus.present),
        ("offline", &cpus.offline),
        ("isolated", &cpus.isolated),
        ("nohz_full", &cpus.nohz_full),
    ];
    let list = |(name, list): &(&str, &Option<String>)| {
        let list = list.as_deref()?;
        Some(format!("{name} {}", if list.is_empty() { "none" } else { list }))
    };
    let mut told: Vec<String> = lists.iter().filter_map(list).collect();
    told.extend(cpus.smt.as_ref().map(|control| {
        // The other words say already that there is none.
        let active = cpus.smt_active.filter(|_| control == "on");
        format!("SMT {control}{}", active.map_or("", |active| if active { ", in use" } else { ", not in use" }))
    }));
    if !told.is_empty() {
        lines.say(4, &told.join("; "));
    }
    if let Some(limit) = &cpus.time_limit {
        let delayed = limit.delayed_periods.zip(limit.delayed_ms).map_or_else(String::new, |(periods, ms)| {
            format!("; delayed in {periods} periods, by {} in all", format_duration(ms * 1_000_000))
        });
        lines.say(4, &format!("CPU time limited to {:.2} CPUs ({}){delayed}", limit.cpus, limit.path));
    }
    for model in &cpus.models {
        let name = model.name.as_deref().unwrap_or("a kind the kernel does not name");
        let loops = model.bogomips_least.zip(model.bogomips_most).map_or_else(String::new, |(least, most)| {
            let most = if most > least { format!(" .. {most:.2}") } else { String::new() };
            format!(", BogoMIPS {least:.2}{most}")
        });
        lines.say(4, &format!("{}: {name}{loops}", cpus_named(&model.cpus)));
    }
    if let Some(boost) = &cpus.boost {
        lines.say(4, &format!("boost {} ({})", if boost.on { "on" } else { "off" }, boost.path));
    }
    cpus.pstate.iter().for_each(|driver| pstate(lines, driver));
    savings(lines, cpus, asked);
}

fn pstate(lines: &mut Lines, driver: &Pstate) {
    let values: String = driver.values.iter().map(|(name, value)| format!(", {name} {value}")).collect();
    lines.say(4, &format!("{}: mode {}{values}", driver.driver, or_unknown(driver.mode.as_ref())));
}

fn savings(lines: &mut Lines, cpus: &Cpus, asked: bool) {
    for (name, value) in [
        ("sched_mc_power_savings", cpus.sched_mc_power_savings),
        ("sched_smt_power_savings", cpus.sched_smt_power_savings),
    ] {
        match value {
            Some(value) => lines.say(4, &format!("{name} {value}")),
            None if asked => lines.say(4, &format!("{name}: this kernel has none")),
            None => {}
        }
    }
}

/// The policies, those that are alike together; `asked`: this part alone was asked for.
pub fn policies(lines: &mut Lines, clocks: &[Clock], asked: bool) {
    let governors: Vec<&str> = clocks.iter().map(|clock| or(&clock.info.governor)).collect();
    if let Some(shares) = shares(&governors) {
        lines.say(0, &format!("governors: {shares} policies"));
    }
    for group in alike(clocks, are_alike) {
        let Some(first) = group.first() else { continue };
        let info = &first.info;
        lines.say(0, &format!("{}: {}, governor {}", title(&group), or(&info.driver), or(&info.governor)));
        together(lines, &group);
        now(lines, &group);
        limits(lines, first);
        offers(lines, first);
        statistics(lines, &group, asked);
    }
}

fn or(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("?")
}

/// Alike but for name, CPUs, frequency of the moment and statistics.
fn are_alike(one: &Clock, other: &Clock) -> bool {
    let still = |clock: &Clock| {
        let policy = crate::Policy {
            name: String::new(),
            folder: String::new(),
            cpus: CpuList::default(),
            online: CpuList::default(),
        };
        let info = PolicyInfo { policy, current_khz: None, ..clock.info.clone() };
        Clock { info, freqdomain_cpus: None, hardware_khz: None, stats: None, ..clock.clone() }
    };
    let keeps = |clock: &Clock| clock.stats.as_ref().map(|stats| stats.changes.is_some());
    one.info.policy.cpus.len() == other.info.policy.cpus.len()
        && keeps(one) == keeps(other)
        && still(one) == still(other)
}

/// `policy0 (cpus 0)`, `policy0-3 (cpus 0-3, 4 policies)`.
fn title(group: &[&Clock]) -> String {
    let cpus = CpuList::new(group.iter().flat_map(|clock| clock.info.policy.cpus.as_slice()).copied().collect());
    match group {
        [one] => format!("{} (cpus {})", one.info.policy.name, briefly(&cpus)),
        all => {
            let number = |clock: &&Clock| clock.info.policy.name.trim_start_matches("policy").parse().ok();
            let numbers = CpuList::new(all.iter().filter_map(number).collect());
            format!("policy{} (cpus {}, {} policies)", briefly(&numbers), briefly(&cpus), all.len())
        }
    }
}

/// CPUs of a policy that are out of service, and those whose clock goes along.
fn together(lines: &mut Lines, group: &[&Clock]) {
    for clock in group {
        let policy = &clock.info.policy;
        if policy.online != policy.cpus {
            lines.say(4, &format!("{}: of these online {}", policy.name, briefly(&policy.online)));
        }
        if let Some(wide) = &clock.freqdomain_cpus {
            lines.say(4, &format!("{}: the hardware changes cpus {} together", policy.name, briefly(wide)));
        }
    }
}

/// The frequency of this moment from each source, as a range where policies differ.
fn now(lines: &mut Lines, group: &[&Clock]) {
    let range = |khz: fn(&Clock) -> Option<u32>| {
        let all: Vec<u32> = group.iter().filter_map(|clock| khz(clock)).collect();
        let (least, most) = (all.iter().min()?, all.iter().max()?);
        let most = if most > least { format!(" .. {}", format_khz(*most)) } else { String::new() };
        Some(format!("{}{most}", format_khz(*least)))
    };
    let told = range(|clock| clock.info.current_khz);
    lines.say(4, &format!("now {}, reported by the kernel (scaling_cur_freq)", or_unknown(told)));
    if let Some(asked) = range(|clock| clock.hardware_khz) {
        lines.say(4, &format!("now {asked}, read from the hardware (cpuinfo_cur_freq)"));
    }
}

fn limits(lines: &mut Lines, clock: &Clock) {
    let (info, khz) = (&clock.info, |value: Option<u32>| or_unknown(value.map(format_khz)));
    let mut told = format!("limits {} .. {}", khz(info.min_khz), khz(info.max_khz));
    told += &format!(", hardware {} .. {}", khz(info.lowest_khz), khz(info.highest_khz));
    for (name, value) in [("base", clock.base_khz), ("firmware allows", info.bios_limit_khz)] {
        told += &value.map_or_else(String::new, |khz| format!(", {name} {}", format_khz(khz)));
    }
    lines.say(4, &told);
    let steps = |steps: &[u32]| steps.iter().map(|&khz| format_khz(khz)).collect::<Vec<_>>().join(", ");
    if !info.steps_khz.is_empty() {
        lines.say(4, &format!("steps {}", steps(&info.steps_khz)));
    }
    if !clock.boost_steps_khz.is_empty() {
        lines.say(4, &format!("boost steps {}", steps(&clock.boost_steps_khz)));
    }
}

fn offers(lines: &mut Lines, clock: &Clock) {
    let info = &clock.info;
    let mut told = format!("governors {}", info.available_governors.join(", "));
    told += &info.latency_ns.map(|ns| format!("; a change takes {}", format_duration(ns))).unwrap_or_default();
    lines.say(4, &told);
    if let Some(preference) = &clock.preference {
        let of = clock.available_preferences.join(", ");
        lines.say(4, &format!("prefers {preference}{}", if of.is_empty() { of } else { format!(" (of {of})") }));
    }
    if let Some(boost) = clock.boost {
        lines.say(4, if boost { "may boost" } else { "may not boost" });
    }
    if let Some(tunables) = &clock.tunables {
        let values: Vec<String> = tunables.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        lines.say(4, &format!("tunables of {}: {}", or(&info.governor), values.join(", ")));
    }
}

/// Those of all policies of a group together; the table of changes only when this part alone was asked for.
fn statistics(lines: &mut Lines, group: &[&Clock], asked: bool) {
    if group.iter().all(|clock| clock.stats.is_none()) {
        if asked {
            lines.say(4, "time at each step: this kernel keeps no statistics of it");
        }
        return;
    }
    let stats = Stats::sum(group.iter().filter_map(|clock| clock.stats.as_ref()));
    let noun = |count| if count == 1 { "change" } else { "changes" };
    let changes = stats.total_changes.map_or_else(String::new, |count| format!("; {count} {}", noun(count)));
    if stats.time_in_state.iter().all(|state| state.time_ms == 0) {
        lines.say(4, &format!("time at each step: none yet{changes}"));
    } else {
        let state = |state: &crate::look::InState| {
            format!("{} {} %", format_khz(state.khz), format_number((state.time_pct * 10.0).round() / 10.0))
        };
        let states: Vec<String> = stats.time_in_state.iter().map(state).collect();
        lines.say(4, &format!("time at {}{changes}", states.join(", ")));
    }
    let Some(changes) = stats.changes.filter(|_| asked) else {
        if asked {
            lines.say(4, "changes from step to step: the kernel shows no table");
        }
        return;
    };
    for row in changes.chunk_by(|one, next| one.from_khz == next.from_khz) {
        let to: Vec<String> =
            row.iter().map(|change| format!("to {} {} times", format_khz(change.to_khz), change.count)).collect();
        let from = row.first().map(|change| format_khz(change.from_khz)).unwrap_or_default();
        lines.say(4, &format!("from {from}: {}", to.join(", ")));
    }
}
