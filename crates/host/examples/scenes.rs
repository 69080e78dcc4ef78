//! The program the integration tests start loads through: the hidden verbs, as the command serves them, and a few
//! scenes that need a process of their own.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "part of the tests: it prints to them, and panics to fail"
)]
use std::ffi::OsString;
use std::path::Path;

use powerband_host::{FileLedger, HostWorld, INSIDE_VERB, LocalMachine, Lock, LockError, SHIM_VERB};
use powerband_machine::{Action, Before, CpuQuota, Hold, Job, Turn, Wake, World};
use powerband_record::{Side, Work};

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    match words.as_slice() {
        [SHIM_VERB, ..] => powerband_host::shim_main(&arguments[1..]),
        [INSIDE_VERB, json] => std::process::exit(powerband_load::inside::main(json)),
        ["wait-for-stops", folder] => wait_for_stops(Path::new(folder)),
        ["hold-lock", folder] => hold_lock(Path::new(folder)),
        ["die-with-load", folder] => die_with_load(Path::new(folder)),
        ["fill-and-turn", folder, knob] => fill_and_turn(Path::new(folder), knob),
        ["make-group", folder, name] => make_group(Path::new(folder), name),
        ["spawn-many", folder] => spawn_many(Path::new(folder)),
        ["overwrite-on-full", folder, knob] => overwrite_on_full(Path::new(folder), Path::new(knob)),
        other => panic!("unknown scene {other:?}"),
    }
}

fn world(folder: &Path) -> HostWorld {
    HostWorld::new(LocalMachine::new(FileLedger::new(folder)).expect("a ledger")).expect("a world")
}

fn sleep_job() -> Job {
    let work = Work::command(vec!["sleep".into(), "1000".into()]);
    Job { work, cpus: None, group: None, user: None, output_limit: Some(100), around: Vec::new() }
}

/// Prints each stop signal as it is told; ends after the second, or when the load ends by itself.
fn wait_for_stops(folder: &Path) {
    let mut world = world(folder);
    world.machine(Side::Near).expect("near").spawn(&sleep_job()).expect("sleep");
    println!("ready");
    let mut stops = 0;
    while stops < 2 {
        match world.wait(None) {
            Wake::Stop(signal) => {
                stops += 1;
                println!("{signal:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Takes the lock and waits to be killed.
fn hold_lock(folder: &Path) {
    let _lock = match Lock::acquire(folder, "turning cpufreq.governor") {
        Ok(lock) => lock,
        Err(LockError::Held(holder)) => panic!("{holder}"),
        Err(other) => panic!("{other}"),
    };
    println!("locked");
    std::thread::sleep(std::time::Duration::from_secs(100));
}

/// Starts a load that writes its number to a file, and is killed with SIGKILL in the middle of it.
fn die_with_load(folder: &Path) {
    let mut world = world(folder);
    let file = folder.join("pid").display().to_string();
    let argv = ["sh", "-c", "echo $$ > \"$0\"; exec sleep 1000", &file].map(str::to_owned).into();
    let job = Job { work: Work::command(argv), ..sleep_job() };
    world.machine(Side::Near).expect("near").spawn(&job).expect("sh");
    println!("started");
    world.wait(None);
}

/// Runs 200 loads of either kind; prints the open descriptors before and after, and the children left.
fn spawn_many(folder: &Path) {
    let mut world = world(folder);
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("proc").count();
    let before = descriptors();
    for round in 0..200 {
        let work = match round % 2 {
            0 => Work::command(vec!["true".into()]),
            _ => Work::Idle { for_ns: 1000 },
        };
        let near = world.machine(Side::Near).expect("near");
        let process = near.spawn(&Job { work, ..sleep_job() }).expect("a load");
        assert_eq!(world.wait(None), Wake::Ended(Side::Near, process));
        let finished = world.machine(Side::Near).expect("near").finished(process).expect("finished");
        assert!(finished.status.success(), "{finished:?}");
    }
    let bad = Job { work: Work::command(vec!["/no/such".into()]), ..sleep_job() };
    for _ in 0..20 {
        world.machine(Side::Near).expect("near").spawn(&bad).expect_err("no such program");
    }
    let left = world.machine(Side::Near).expect("near").left_behind(true);
    assert_eq!(left, powerband_machine::LeftBehind::default(), "nothing was left");
    let children = std::fs::read_to_string("/proc/thread-self/children").expect("proc");
    println!("{before} {} [{}]", descriptors(), children.trim());
}

/// Turns an ordinary file on a full disk; prints what came of it.
fn overwrite_on_full(folder: &Path, knob: &Path) {
    let before = "before".repeat(1000);
    std::fs::write(knob, &before).expect("room so far");
    fill(knob.parent().expect("a folder"));
    let mut world = world(folder);
    let path = knob.display().to_string();
    let turn = Turn {
        action: Action::WriteFile { path: path.clone(), text: "after".repeat(10_000) },
        undo: Some(Action::WriteFile { path: path.clone(), text: before.clone() }),
        read_back: None,
        ..group_turn("unused")
    };
    let acted = world.machine(Side::Near).expect("near").act(&turn).expect("a ledger elsewhere");
    let same = std::fs::read_to_string(knob).is_ok_and(|text| text == before);
    println!("{:?} {}", acted.errno, if same { "as before" } else { "damaged" });
}

/// In a file system filled to its last byte: what a turn says, and whether it turned.
fn fill_and_turn(folder: &Path, knob: &str) {
    let mut world = world(folder);
    let turn = |text: &str| Turn {
        action: Action::WriteFile { path: knob.into(), text: text.into() },
        undo: Some(Action::WriteFile { path: knob.into(), text: "0\n".into() }),
        hold: Hold::Held,
        knob: format!("file:{knob}"),
        site: knob.into(),
        asked: text.into(),
        before: Before::Reads("0".into()),
        read_back: Some(knob.into()),
        step: None,
        moves: std::collections::BTreeMap::new(),
    };
    let near = world.machine(Side::Near).expect("near");
    match std::env::var("FULL").as_deref() {
        Ok("before") => fill(folder),
        _ => {
            near.act(&turn("1\n")).expect("room for the first");
            fill(folder);
            // What was turned before the disk was full can be undone.
            let entry = near.open_entries()[0].id;
            println!("undone {:?}", near.undo(entry, false));
        }
    }
    println!("turned {:?}", near.act(&turn("2\n")).map(|acted| acted.errno));
}

fn fill(folder: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(folder.join("filler")).expect("a filler");
    while file.write_all(&[0; 512]).is_ok() {}
}

fn group_turn(name: &str) -> Turn {
    Turn {
        action: Action::MakeGroup { group: name.into(), quota: CpuQuota { millionths: 500_000 } },
        undo: Some(Action::RemoveGroup { group: name.into() }),
        hold: Hold::Held,
        knob: "cgroup.cpu_quota".into(),
        site: "load".into(),
        asked: "50%".into(),
        before: Before::Unknown,
        read_back: None,
        step: None,
        moves: std::collections::BTreeMap::new(),
    }
}

/// As anyone who runs this: what making a group says.
fn make_group(folder: &Path, name: &str) {
    let mut world = world(folder);
    let acted = world.machine(Side::Near).expect("near").act(&group_turn(name)).expect("a ledger");
    println!("{:?} {}", acted.errno, acted.words.unwrap_or_default());
}
