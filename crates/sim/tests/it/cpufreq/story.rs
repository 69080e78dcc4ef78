//! Stories of the cpufreq subsystem: files, limits and samples in `stories/*.txt`; what each command gives is in `snapshots/`.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{BoostSupport, BootConfig, Governor, KernelRules, PolicyConfig};

use super::bench::{Bench, OMAP, SRV, Window};
use crate::story::check;

macro_rules! stories {
    ($($name:ident)*) => { $(#[test] fn $name() {
        let mut bench = None;
        check(stringify!($name), |line| tell(&mut bench, line));
    })* };
}

stories! { boost conservative events files hotplug limits ondemand tunables }

fn named(name: &str) -> Governor {
    Governor::ALL.into_iter().find(|governor| governor.name() == name).unwrap()
}

/// `RULES TABLE KHZ GOVERNOR` and what differs from the usual, a `name` or `name=value` each.
fn boot(text: &str) -> Bench {
    let words: Vec<&str> = text.split(' ').collect();
    let rules = match words[0] {
        "2.6.18" => KernelRules::V2_6_18,
        "2.6.32" => KernelRules::V2_6_32,
        _ => KernelRules::V6_1,
    };
    let option = |name: &str| words[4..].iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let has = |name: &str| words[4..].contains(&name);
    let number = |name: &str| option(name).map(|text| text.parse::<u32>().unwrap());
    let table: Vec<u32> = match words[1] {
        "SRV" => SRV.to_vec(),
        "OMAP" => OMAP.to_vec(),
        "percents" => (0..=100).map(|percent| 100_000 + percent * 1000).collect(),
        khz => khz.split(',').filter(|khz| *khz != "none").map(|khz| khz.parse().unwrap()).collect(),
    };
    let policy = |cpus: &str| {
        let mut policy = PolicyConfig::new(cpus.split(',').map(|cpu| cpu.parse().unwrap()).collect(), &table);
        policy.initial_khz = words[2].parse().unwrap();
        policy.transition_latency_ns = number("latency").unwrap_or(policy.transition_latency_ns);
        policy.stall_ns = number("stall").unwrap_or(policy.stall_ns);
        policy.bios_limit_khz = number("bios");
        policy.no_dynamic_switching = has("no-dynamic-switching");
        policy.measured_cur_freq = has("measured");
        policy.reads_hardware = !has("no-hardware");
        if let Some(range) = option("range").and_then(|range| range.split_once('-')) {
            policy.range_khz = (range.0.parse().unwrap(), range.1.parse().unwrap());
        }
        if has("boosted") {
            policy.table[0].boost = true;
        }
        policy
    };
    let policies = option("policies").unwrap_or("0").split('/').map(policy).collect();
    let mut config = BootConfig::new(rules, policies);
    config.default_governor = named(words[3]);
    config.hz = number("hz").unwrap_or(config.hz);
    config.limits_delay_ns = number("limits-delay").unwrap_or(0);
    config.per_policy_governors = has("per-policy");
    config.io_is_busy = has("io-is-busy");
    config.policy_boost = has("policy-boost");
    config.boost = match option("boost") {
        Some("table-off") => BoostSupport::Table(false),
        Some("table-on") => BoostSupport::Table(true),
        Some("hardware-on") => BoostSupport::Hardware(true),
        _ => config.boost,
    };
    if let Some(names) = option("governors") {
        config.available_governors = names.split(',').map(named).collect();
    }
    Bench::new(config)
}

/// Carries out a line: a path is of CPU 0's folder unless it begins with `cpu`.
fn tell(bench: &mut Option<Bench>, line: &str) -> Vec<String> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    if verb == "boot" {
        *bench = Some(boot(rest));
        return Vec::new();
    }
    let bench = bench.as_mut().unwrap();
    let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let whole = |file: &str| file.starts_with("cpu") && !file.starts_with("cpuinfo") || file.starts_with("cpu0");
    let at = |file: &str| if whole(file) { file.to_owned() } else { format!("cpu0/cpufreq/{file}") };
    let numbers: Vec<u64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
    match verb {
        "list" => match bench.cpufreq.list(rest) {
            Ok(all) => vec![
                all.iter()
                    .map(|entry| format!(" {}{}", entry.name, if entry.is_dir { "/" } else { "" }))
                    .collect::<String>()
                    .trim()
                    .to_owned(),
            ],
            Err(errno) => vec![errno.name().to_owned()],
        },
        "modes" => {
            bench.cpufreq.list(rest).unwrap().iter().map(|entry| format!("{:o} {}", entry.mode, entry.name)).collect()
        }
        "read" => rest.split(' ').map(|file| format!("{file}: {}", shown(bench.read_at(&at(file))))).collect(),
        "nobody" => vec![shown(bench.cpufreq.read(&at(rest), 0, false, &bench.sums))],
        "write" => {
            let result = bench.write_at(&at(first), &text.replace("\\n", "\n"));
            let refused = result.map_or_else(|errno| format!("{}; ", errno.name()), |()| String::new());
            vec![format!("{refused}reads {}; {}", shown(bench.read_at(&at(first))), state(bench))]
        }
        "link" => vec![format!("{:?}", bench.cpufreq.link(first.parse().unwrap()))],
        "module" => {
            let result = bench.cpufreq.set_governor_loaded(named(first), text == "loaded");
            vec![result.map_or_else(|errno| errno.name().to_owned(), |()| "done".to_owned())]
        }
        // Loads in percent, a period of so many µs each, then a callback of the scheduler; or a timer of old kernels.
        "loads" => vec![format!("{:?}", bench.loads(numbers[0], &numbers[1..]))],
        "timers" => {
            let mut sample = |load: &u64| {
                bench.pass(Window::load(numbers[0], *load));
                bench.run();
                bench.mhz()
            };
            vec![format!("{:?}", numbers[1..].iter().map(&mut sample).collect::<Vec<_>>())]
        }
        "window" | "pass" | "pass-on" => {
            let [wall, idle, iowait, nice, cpu] = [0, 1, 2, 3, 4].map(|place| numbers.get(place).copied().unwrap_or(0));
            let window = Window { wall, idle, iowait, nice };
            match verb {
                "window" => return vec![bench.sample(window).to_string()],
                "pass" => bench.pass(window),
                _ => bench.pass_on(cpu as usize, window),
            }
            Vec::new()
        }
        "wait" | "at" => {
            bench.now_ns = first.parse::<u64>().unwrap() + if verb == "wait" { bench.now_ns } else { 0 };
            Vec::new()
        }
        _ => change(bench, verb, first, text),
    }
}

fn change(bench: &mut Bench, verb: &str, first: &str, text: &str) -> Vec<String> {
    let khz = || first.parse::<u32>().ok();
    match verb {
        "run" => bench.run(),
        "event" => bench.event(),
        "online" => bench.cpufreq.set_online(first.parse().unwrap(), text == "1", bench.now_ns, &bench.sums),
        "bios" => bench.cpufreq.set_bios_limit(0, khz(), 0, &bench.sums),
        "average" => bench.sums.average_khz = khz(),
        "asleep" => bench.sums.running[0] = false,
        "fault" => bench.cpufreq.set_driver_fault(0, (first == "on").then_some(Errno::EIO)),
        "due" => return vec![format!("{:?}, silicon {} kHz", bench.cpufreq.next_due_ns(), bench.cpufreq.khz(0))],
        "changes" => return bench.changes().iter().map(|change| format!("{change:?}")).collect(),
        "" | "state" => {}
        _ => panic!("no such verb: {verb}"),
    }
    vec![state(bench)]
}

fn shown(read: Result<String, Errno>) -> String {
    read.map_or_else(|errno| errno.name().to_owned(), |text| text.replace('\n', "\\n"))
}

/// The limits and the clock.
fn state(bench: &mut Bench) -> String {
    let mut file = |name: &str| shown(bench.read(name)).trim_end_matches("\\n").to_owned();
    format!("{} to {}, at {}", file("scaling_min_freq"), file("scaling_max_freq"), file("scaling_cur_freq"))
}
