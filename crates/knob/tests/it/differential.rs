//! A differential test of restoring: from a random state of a simulated machine, every knob is set and restored, and every file
//! that can be read is compared before and after.
use std::collections::{BTreeMap, BTreeSet};

use powerband_knob::*;
use powerband_machine::{Hold, Machine, World};
use powerband_record::{Setting, Side, splitmix};
use powerband_sim::{Profile, SimWorld};

/// Files that change without being written: counters, clocks, and what follows the load.
const MOVING: [&str; 22] = [
    "above",
    "below",
    "cpuinfo_avg_freq",
    "cpuinfo_cur_freq",
    "energy_uj",
    "fan1_input",
    "freq1_input",
    "interrupts",
    "loadavg",
    "power1_average",
    "power1_input",
    "rejected",
    "reset",
    "scaling_cur_freq",
    "schedstat",
    "stat",
    "temp",
    "temp1_input",
    "time",
    "time_in_state",
    "uptime",
    "usage",
];

/// Every file that can be read below a folder.
fn texts(machine: &mut dyn Machine, folder: &str, into: &mut BTreeMap<String, String>) {
    for entry in machine.list(folder).unwrap_or_default() {
        let path = format!("{folder}/{}", entry.name);
        if entry.link.is_some()
            || MOVING.contains(&entry.name.as_str())
            || ["stats", "statistics"].contains(&entry.name.as_str())
        {
            continue;
        }
        if entry.folder {
            texts(machine, &path, into);
        } else if let Ok(text) = machine.read(&path) {
            into.insert(path, text);
        }
    }
}

fn snapshot(machine: &mut dyn Machine) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for folder in ["/sys/devices", "/sys/class/powercap", "/sys/module", "/proc/sys"] {
        texts(machine, folder, &mut all);
    }
    assert!(all.len() > 20);
    all
}

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(splitmix(&mut self.0) % end as u64).unwrap()
    }
}

/// A random value of a knob, at all of its sites or at one.
fn assignment(numbers: &mut Numbers, machine: &mut dyn Machine, name: &str) -> Option<String> {
    let everywhere = Selection::everywhere();
    let named = everywhere.resolve(name, &[], machine).ok()?;
    let sites = named.knob.sites(&named.name, machine, &everywhere).ok()?.sites;
    let site = &sites[numbers.below(sites.len())];
    let choices = named.knob.choices(machine, site);
    if choices.is_empty() {
        return None;
    }
    let value = choices[numbers.below(choices.len())].typed();
    let place = if site.name == "-" || numbers.below(2) == 0 { String::new() } else { format!("@{}", site.name) };
    Some(format!("{name}{place}={value}"))
}

fn wait(world: &mut SimWorld) {
    let now = world.now_ns();
    world.wait(Some(now + 50_000_000));
}

/// Compares machines in so many random states; what was checked, and what differs.
fn compared(states: u64) -> (BTreeSet<String>, usize, Vec<String>) {
    let (mut knobs, mut checked, mut differing) = (BTreeSet::new(), 0, Vec::new());
    let names: BTreeSet<String> = names().into_iter().filter(|name| name.contains('.')).map(str::to_owned).collect();
    for machine_name in Profile::names() {
        for state in 0..states {
            let mut numbers = Numbers(state);
            let mut world = SimWorld::new(Profile::builtin(machine_name).unwrap(), None, 1).unwrap();
            let mut found = Vec::new();
            for name in &names {
                let machine = world.machine(Side::Near).unwrap();
                let Some(text) = (numbers.below(3) == 0).then(|| assignment(&mut numbers, machine, name)).flatten()
                else {
                    continue;
                };
                let setting = Setting::parse(&text).unwrap();
                if apply(machine, &setting, Hold::Held, &Selection::everywhere()).is_ok() {
                    found.push(text);
                }
            }
            wait(&mut world);
            let mut before = snapshot(world.machine(Side::Near).unwrap());
            for name in &names {
                let machine = world.machine(Side::Near).unwrap();
                let Some(text) = assignment(&mut numbers, machine, name) else { continue };
                let setting = Setting::parse(&text).unwrap();
                let mut left = Vec::new();
                // What is refused has changed nothing either.
                if let Ok(applied) = apply(machine, &setting, Hold::Held, &Selection::everywhere()) {
                    knobs.insert(name.clone());
                    checked += 1;
                    wait(&mut world);
                    left = restore(world.machine(Side::Near).unwrap(), &applied.entries, false).left();
                }
                wait(&mut world);
                let after = snapshot(world.machine(Side::Near).unwrap());
                left.extend(differences(&before, &after));
                differing.extend(left.into_iter().map(|it| format!("{machine_name} {text}: {it}; {found:?}")));
                before = after;
            }
        }
    }
    (knobs, checked, differing)
}

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differs = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    differs
        .map(|path| format!("{path}: {:?} became {:?}", before.get(path), after.get(path)))
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn every_knob_is_restored_exactly_from_every_state() {
    let states = if std::env::var_os("POWERBAND_SWEEP").is_some() { 500 } else { 20 };
    let (knobs, checked, differing) = compared(states);
    println!("{} knobs, {checked} settings", knobs.len());
    assert!(differing.is_empty(), "{} of {checked}:\n{}", differing.len(), differing.join("\n"));
    assert!(knobs.len() > 20 && checked > 150, "{} {checked}", knobs.len());
}

/// Compares machines before and after two commands that are undone one after the other, the later one first; as [`compared`].
fn compared_in_steps(states: u64) -> (usize, Vec<String>) {
    let (mut checked, mut differing) = (0, Vec::new());
    let names: BTreeSet<String> = names().into_iter().filter(|name| name.contains('.')).map(str::to_owned).collect();
    let names: Vec<String> = names.into_iter().collect();
    for machine_name in Profile::names() {
        for state in 0..states {
            let mut numbers = Numbers(state);
            let mut world = SimWorld::new(Profile::builtin(machine_name).unwrap(), None, 1).unwrap();
            let before = snapshot(world.machine(Side::Near).unwrap());
            let (mut steps, mut found) = (Vec::new(), Vec::new());
            while found.len() < 2 + numbers.below(3) {
                let machine = world.machine(Side::Near).unwrap();
                let name = &names[numbers.below(names.len())];
                let Some(text) = assignment(&mut numbers, machine, name) else { continue };
                found.push(text.clone());
                let setting = Setting::parse(&text).unwrap();
                if let Ok(applied) = apply(machine, &setting, Hold::Set, &Selection::everywhere()) {
                    steps.push(applied.entries);
                }
                wait(&mut world);
            }
            checked += usize::from(steps.len() > 1);
            let mut left = Vec::new();
            for entries in steps.iter().rev() {
                left.extend(restore(world.machine(Side::Near).unwrap(), entries, false).left());
                wait(&mut world);
            }
            left.extend(differences(&before, &snapshot(world.machine(Side::Near).unwrap())));
            left.extend(
                world.machine(Side::Near).unwrap().open_entries().iter().map(|it| format!("open: {:?}", it.turn)),
            );
            differing.extend(left.into_iter().map(|it| format!("{machine_name}#{state} {found:?}: {it}")));
        }
    }
    (checked, differing)
}

#[test]
fn commands_that_are_undone_one_by_one_leave_nothing() {
    let states = if std::env::var_os("POWERBAND_SWEEP").is_some() { 5_000 } else { 60 };
    let (checked, differing) = compared_in_steps(states);
    println!("{checked} pairs");
    assert!(differing.is_empty(), "{} of {checked}:\n{}", differing.len(), differing.join("\n"));
    assert!(checked > 300, "{checked}");
}
