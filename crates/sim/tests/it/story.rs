//! Stories of whole machines: what is read and written in `stories/*.txt`; what each command gives is in `snapshots/`.
use std::path::Path;

use powerband_machine::{Errno, World};
use powerband_record::{CpuList, Side};
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, alone, counter, quiet, spawn, write};

/// Plays a story: the answers to each of its lines, which are neither headings nor empty, under the line.
#[expect(clippy::disallowed_methods, reason = "the stories are files next to the tests")]
pub(crate) fn check(name: &str, mut tell: impl FnMut(&str) -> Vec<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/stories/{name}.txt"));
    let mut told = String::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        told += &format!("{line}\n");
        if !line.is_empty() && !line.starts_with('#') {
            tell(line).into_iter().for_each(|answer| told += &format!("    {answer}\n"));
        }
    }
    insta::assert_snapshot!(name, told);
}

macro_rules! stories {
    ($($name:ident)*) => { $(#[test] fn $name() {
        let mut world = alone(quiet("pc"));
        check(stringify!($name), |line| tell(&mut world, line));
    })* };
}

stories! { amd_pstate intel_pstate tree wrong }

fn tell(world: &mut SimWorld, line: &str) -> Vec<String> {
    let line = line.replace("$C", "/sys/devices/system/cpu").replace("$P", "/sys/devices/system/cpu/cpufreq/policy2");
    let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
    let words: Vec<&str> = rest.split(' ').collect();
    match verb {
        "machine" => *world = alone(quiet(rest)),
        "read" => return words.iter().map(|path| format!("{path}: {}", read(world, path))).collect(),
        "list" => {
            let listed = world.machine(Side::Near).unwrap().list(rest);
            let names = |all: Vec<powerband_machine::Entry>| {
                all.iter().map(|entry| format!(" {}", entry.name)).collect::<String>()
            };
            return vec![listed.map_or_else(|errno| errno.name().to_owned(), |all| names(all).trim().to_owned())];
        }
        "write" => {
            let (path, text) = rest.split_once(' ').unwrap();
            let written = write(world, path, &text.replace("\\n", "\n"));
            return vec![written.map_or_else(|errno| errno.name().to_owned(), |reads| format!("reads {reads}"))];
        }
        "busy" => return vec![format!("{} kHz", busy_khz(world, rest.parse::<u64>().unwrap() * SECOND))],
        "pass" => pass(world, rest.parse::<u64>().unwrap() * SECOND),
        "wrong" => return vec![refused(rest)],
        _ => panic!("no such verb: {line}"),
    }
    Vec::new()
}

/// Why a machine file is refused: of a machine with one text in place of another, or with a text after its own.
fn refused(words: &str) -> String {
    let (machine, change) = words.split_once(' ').unwrap();
    let text = match machine {
        "eight" => include_str!("eight.toml").to_owned(),
        name => Profile::builtin_text(name).unwrap_or_default().to_owned(),
    };
    let wrong = match change.split_once(" => ") {
        Some((from, to)) => text.replacen(from.trim_start_matches("| "), &to.replace("\\n", "\n"), 1),
        None => format!("{text}\n{}\n", change.trim_start_matches("+ ").replace("\\n", "\n")),
    };
    assert_ne!(wrong, text, "{words}");
    let why = Profile::parse(&wrong).unwrap_err().to_string();
    assert!(!why.contains('\n') && why.len() < 600, "{why}");
    why
}

fn read(world: &mut SimWorld, path: &str) -> String {
    let read: Result<String, Errno> = world.machine(Side::Near).unwrap().read(path);
    read.map_or_else(|errno| errno.name().to_owned(), |text| text.replace('\n', "\\n"))
}

fn pass(world: &mut SimWorld, for_ns: u64) {
    let until = world.now_ns() + for_ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

/// The clock of CPU 2 after a counter has run there for so long.
fn busy_khz(world: &mut SimWorld, for_ns: u64) -> String {
    let mut job = counter(for_ns + SECOND);
    job.cpus = Some(CpuList::new(vec![2]));
    let id = spawn(world, Side::Near, &job);
    pass(world, for_ns);
    let khz = read(world, "/sys/devices/system/cpu/cpufreq/policy2/scaling_cur_freq");
    world.machine(Side::Near).unwrap().end(id, true);
    khz.trim_end_matches("\\n").to_owned()
}
