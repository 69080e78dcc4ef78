//! Keeping and unkeeping with an owner that is killed, a power cut, a refusal or a full disk at any step: what is read at boot is old
//! or new, all of it, also when it is removed. A sweep (`POWERBAND_SWEEP=1`) plays 2,000 stories.
use std::collections::BTreeMap;

use powerband_knob::restore;
use powerband_machine::{Action, EntryId, Hold, Machine, Turn, World};
use powerband_persist::{FileChange, Keeping, MANIFEST};
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld};
use powerband_testkit::faults::{Ending, Fault, FaultPlan, Faults};

type Files = BTreeMap<&'static str, Option<&'static str>>;

/// What was there, after a first `keep`, and after a second one.
fn states() -> [Files; 3] {
    let files = |defaults, unit, list| {
        Files::from([
            ("/etc/default/cpufrequtils", defaults),
            ("/etc/systemd/system/powerband-keep.service", unit),
            (MANIFEST, list),
        ])
    };
    [
        files(Some("# theirs\nGOVERNOR=\"powersave\"\n"), None, None),
        files(Some("# theirs\nGOVERNOR=\"performance\"\n"), Some("[Unit]\n"), Some("one\n")),
        files(Some("# theirs\nGOVERNOR=\"powersave\"\n"), Some("[Unit]\nmore\n"), Some("two\n")),
    ]
}

fn keeping(from: &Files, to: &Files) -> Keeping {
    let text = |files: &Files, path: &str| files[path].map(str::to_owned);
    let change =
        |path: &&'static str| FileChange { path: (*path).to_owned(), before: text(from, path), after: text(to, path) };
    let files = from.keys().map(change).filter(|change| change.before != change.after).collect();
    let mut keeping = Keeping { files, ..Keeping::default() };
    match (from[MANIFEST], to[MANIFEST]) {
        (None, Some(_)) => keeping.folders = vec!["/etc/powerband".into()],
        (Some(_), None) => keeping.needless_folders = vec!["/etc/powerband".into()],
        _ => {}
    }
    keeping
}

fn near(world: &mut SimWorld) -> &mut dyn Machine {
    world.machine(Side::Near).unwrap()
}

/// As the command does it: all of it, or back.
fn keep(world: &mut SimWorld, keeping: &Keeping) -> bool {
    let mut entries: Vec<EntryId> = Vec::new();
    for turn in keeping.turns() {
        if let Ok(acted) = near(world).act(&turn) {
            entries.push(acted.entry);
            if acted.errno.is_none() {
                continue;
            }
        }
        restore(near(world), &entries, false);
        return false;
    }
    near(world).keep(&entries).is_ok()
}

/// What the guardian does, and every next command.
fn recover(world: &mut SimWorld, faults: &Faults) {
    // What was to strike later strikes now, where it can do no harm.
    for _ in 0..30 {
        let _ = near(world).read("/etc/hostname");
    }
    if faults.ended().is_some() {
        faults.succeed(world).unwrap();
    }
    let open = near(world).open_entries();
    let held: Vec<EntryId> = open.iter().filter(|entry| entry.turn.hold == Hold::Held).map(|entry| entry.id).collect();
    restore(near(world), &held, false);
}

fn now(world: &mut SimWorld) -> BTreeMap<&'static str, Option<String>> {
    let paths: Vec<&'static str> = states()[0].keys().copied().collect();
    paths.into_iter().map(|path| (path, near(world).read(path).ok())).collect()
}

/// Which of the states the files are in; none where they are in between.
fn state(world: &mut SimWorld) -> Option<usize> {
    let now = now(world);
    states().iter().position(|state| {
        state.iter().all(|(path, text)| now[path].as_deref().map(str::trim_end) == text.map(str::trim_end))
    })
}

/// Something strikes within the next steps.
fn strike(faults: &Faults, seed: u64, round: u64) -> &'static str {
    let draw = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left((17 * round) as u32 % 64);
    let step = faults.steps() + 1 + draw % 24;
    match (draw >> 8) % 6 {
        0 | 1 => faults.end_at(step, Ending::Crash),
        2 | 3 => faults.end_at(step, Ending::PowerCut),
        4 => faults.strike_at(step, Fault::DiskFull),
        _ => faults.strike_at(step, Fault::RefusedOnce),
    }
    ["killed", "killed", "power cut", "power cut", "disk full", "refused"][((draw >> 8) % 6) as usize]
}

fn story(seed: u64) {
    let mut world = SimWorld::new(Profile::builtin("quadcore").unwrap(), None, seed).unwrap();
    let [before, one, two] = states();
    for folder in ["/etc/default", "/etc/systemd", "/etc/systemd/system"] {
        let turn = Turn { action: Action::MakeFolder { path: folder.into() }, ..Turn::write(folder, "") };
        near(&mut world).act(&turn).unwrap();
    }
    for (path, text) in before.iter().filter_map(|(path, text)| Some((path, (*text)?))) {
        near(&mut world).act(&Turn::write(path, text)).unwrap();
    }
    let faults = Faults::inject(&mut world, FaultPlan { seed, one_in: 0, blunder: None }).unwrap();
    assert_eq!(state(&mut world), Some(0), "{:?}", now(&mut world));
    let (mut at, goals) = (0, [&before, &one, &two]);
    for goal in 1..=2 {
        let struck = strike(&faults, seed, goal as u64);
        let done = keep(&mut world, &keeping(goals[at], goals[goal]));
        recover(&mut world, &faults);
        let found = state(&mut world);
        let allowed = if done && struck == "refused" { [goal, goal] } else { [at, goal] };
        let there = found.unwrap_or_else(|| panic!("seed {seed}: half of it after {struck}: {:?}", now(&mut world)));
        assert!(allowed.contains(&there), "seed {seed}: state {there} after {struck}, from {at} to {goal}");
        at = there;
    }
    strike(&faults, seed, 3);
    keep(&mut world, &keeping(goals[at], &before));
    recover(&mut world, &faults);
    faults.heal(&mut world);
    recover(&mut world, &faults);
    match state(&mut world) {
        Some(0) => {}
        Some(there) if there == at => assert!(keep(&mut world, &keeping(goals[at], &before)), "seed {seed}"),
        other => panic!("seed {seed}: {other:?} while it was removed: {:?}", now(&mut world)),
    }
    assert_eq!(state(&mut world), Some(0), "seed {seed}: {:?}", now(&mut world));
    assert_eq!(near(&mut world).open_entries(), [], "seed {seed}");
}

#[test]
fn what_is_read_at_boot_is_old_or_new() {
    let long = std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1");
    let first = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1_u64);
    (0..if long { 2_000 } else { 200 }).for_each(|run| story(first.wrapping_add(run)));
}
