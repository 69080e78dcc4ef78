//! Primes counted by ranks: as processes of ours, and by the mpirun of Open MPI as an ordinary user.
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use powerband_host::{FileLedger, HostWorld, LocalMachine};
use powerband_machine::{Finished, Job, User};
use powerband_record::{CpuList, Work, primes_below};

use crate::{Stage, job, sh};

/// Takes some tenths of a second of one CPU.
const LIMIT: u64 = 3_000_000;

fn primes(ranks: u32, limit: u64, mpirun: bool) -> Work {
    Work::Primes { ranks: Some(ranks), limit, mpirun, among: None }
}

/// On two CPUs, or on as many as there are.
fn on_two(work: Work) -> Job {
    let online: CpuList = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim().parse().unwrap();
    let two = online.as_slice().iter().copied().take(2).collect();
    Job { cpus: Some(CpuList::new(two)), ..job(work) }
}

/// A stage whose helper an ordinary user can execute, wherever it was built.
fn open_to_all() -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("helper");
    // Copied by another process: what another test forks meanwhile would keep our copy open for writing, and busy.
    let copied = Command::new("install").args(["-m", "755"]).arg(crate::helper()).arg(&copy).status().unwrap();
    assert!(copied.success());
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let machine = LocalMachine::new(FileLedger::new(&folder.path().join("ledger"))).unwrap().with_program(&copy);
    Stage { world: HostWorld::new(machine).unwrap(), folder }
}

fn nobody() -> User {
    User {
        uid: 65534,
        gid: 65534,
        groups: Vec::new(),
        name: "nobody".into(),
        home: "/nonexistent".into(),
        shell: "/bin/sh".into(),
    }
}

fn has_mpirun() -> bool {
    let here =
        Command::new("mpirun").arg("--version").output().is_ok_and(|said| said.stdout.starts_with(b"mpirun (Open"));
    assert!(here || std::env::var("CI").as_deref() != Ok("true"), "this test needs Open MPI, and CI=true");
    if !here {
        eprintln!("not run: needs mpirun of Open MPI");
    }
    here
}

/// Counted right by so many, and what the kernel says that it cost holds what the ranks say of themselves.
fn assert_counted(finished: &Finished, ranks: u64, limit: u64) {
    assert!(finished.status.success(), "{finished:?}");
    let report = finished.report.as_ref().unwrap();
    assert_eq!((report["primes"].as_u64(), report["ranks"].as_u64()), (Some(primes_below(limit)), Some(ranks)));
    let said = report["cpu_seconds"].as_f64().unwrap();
    let usage = finished.usage;
    let cost = (usage.user_ns + usage.sys_ns) as f64 / 1e9;
    // Ticks may round the kernel's sums, a rank's by less than two of the slowest clock.
    assert!(said > 0.01 && cost > said - 0.02 * ranks as f64, "{said} s of {usage:?}");
    let most = usage.real_ns as f64 / 1e9 * 2.0;
    assert!(cost < most + 0.1, "two CPUs have no more: {usage:?}");
}

#[test]
fn four_ranks_on_two_cpus_count_right_and_all_of_them_is_booked() {
    let finished = Stage::new().run(&on_two(primes(4, LIMIT, false)));
    assert_counted(&finished, 4, LIMIT);
    let report = finished.report.as_ref().unwrap();
    let cost = (finished.usage.user_ns + finished.usage.sys_ns) as f64 / 1e9;
    assert!(
        cost - report["cpu_seconds"].as_f64().unwrap() < 1.0,
        "starting four processes is little work: {finished:?}"
    );
}

#[test]
fn without_a_count_there_are_as_many_ranks_as_cpus() {
    let online: CpuList = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim().parse().unwrap();
    let finished = Stage::new().run(&job(Work::Primes { ranks: None, limit: 100_000, mpirun: false, among: None }));
    let report = finished.report.unwrap();
    assert_eq!(report["ranks"].as_u64(), Some(online.len() as u64));
    assert_eq!(report["primes"].as_u64(), Some(9_592));
}

#[test]
fn mpirun_starts_four_ranks_on_two_cpus_for_an_ordinary_user() {
    if !crate::can_be_root() || !has_mpirun() {
        return;
    }
    let mut stage = open_to_all();
    let finished = stage.run(&Job { user: Some(nobody()), ..on_two(primes(4, LIMIT, true)) });
    assert_counted(&finished, 4, LIMIT);
    // What a shell's `time` says of the same.
    let by_hand = format!(
        "time -p mpirun --oversubscribe -n 4 {} __inside '{{\"kind\":\"primes_share\",\"rank\":null,\"ranks\":4,\"limit\":{LIMIT}}}'",
        stage.folder.path().join("helper").display()
    );
    let words = ["bash", "-c", &by_hand].map(str::to_owned).to_vec();
    let timed = stage.run(&Job { user: Some(nobody()), ..on_two(Work::command(words)) });
    assert!(timed.status.success(), "{timed:?}");
    assert_eq!(timed.output.stdout.lines().filter(|line| line.contains("\"rank\"")).count(), 4, "{timed:?}");
    let seconds = |name: &str| -> f64 {
        let line = timed.output.stderr.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let by_time = seconds("user") + seconds("sys");
    let ours = (finished.usage.user_ns + finished.usage.sys_ns) as f64 / 1e9;
    // Waiting ranks spin, so that it is never the same twice; without the ranks it would be a small part.
    assert!((0.33..3.0).contains(&(ours / by_time)), "{ours} s here, {by_time} s by time");
}

#[test]
fn root_may_have_its_ranks_started_by_mpirun_too() {
    if !crate::can_be_root() || !has_mpirun() {
        return;
    }
    assert_counted(&Stage::new().run(&on_two(primes(3, LIMIT, true))), 3, LIMIT);
}

#[test]
fn ending_it_leaves_no_rank() {
    let by_mpirun = if crate::can_be_root() && has_mpirun() { vec![false, true] } else { vec![false] };
    for mpirun in by_mpirun {
        let mut stage = Stage::new();
        // No other test counts to here, and nobody would wait for it.
        let limit = 4_294_967_201 + u64::from(mpirun);
        let process = stage.near().spawn(&job(primes(3, limit, mpirun))).unwrap();
        // Counts the ranks only. An mpirun that gets SIGTERM while it starts them may never end.
        until(|| processes_of(limit).iter().filter(|words| !words.contains("mpirun")).count() >= 3);
        // Asked politely, mpirun also takes away what it made in /tmp.
        stage.near().end(process, !mpirun);
        stage.end_of(process);
        until(|| processes_of(limit).is_empty());
    }
}

/// Returns the command lines that contain this limit, those of `mpirun` and the launcher too. Zombies have none.
fn processes_of(limit: u64) -> Vec<String> {
    let wanted = limit.to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let words = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    words.map(|words| String::from_utf8_lossy(&words).into_owned()).filter(|words| words.contains(&wanted)).collect()
}

#[track_caller]
fn until(mut done: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !done() {
        assert!(std::time::Instant::now() < deadline, "it does not come to that");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_missing_mpirun_is_named() {
    let mut stage = Stage::new();
    let script = format!(
        "PATH=/nowhere exec {} __inside '{{\"kind\":\"primes\",\"ranks\":2,\"limit\":100,\"mpirun\":true}}'",
        crate::helper().display()
    );
    let finished = stage.run(&sh(&script));
    assert!(!finished.status.success());
    assert!(finished.output.stderr.contains("cannot execute mpirun"), "{finished:?}");
}
