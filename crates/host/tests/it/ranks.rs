//! Primes counted by ranks: as processes of ours, and by the mpirun of Open MPI as an ordinary user.
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use powerband_host::{FileLedger, HostWorld, LocalMachine};
use powerband_machine::{Finished, Job, User};
use powerband_record::{CpuList, Work, primes_below};

use crate::{Stage, cpu_ns, job, number, online, sh, until};

/// Takes some tenths of a second of one CPU.
const LIMIT: u64 = 3_000_000;

fn primes(ranks: u32, limit: u64, mpirun: bool) -> Work {
    let (ranks, among) = (Some(ranks), None);
    Work::Primes { ranks, limit, mpirun, among }
}

/// On two CPUs, or on as many as there are.
fn on_two(work: Work) -> Job {
    let cpus = Some(CpuList::new(online().into_iter().take(2).collect()));
    Job { cpus, ..job(work) }
}

/// A stage whose helper an ordinary user can execute, wherever it was built.
fn open_to_all() -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("helper");
    // Copied by another process: what another test forks meanwhile would keep our copy open for writing, and busy.
    let copied = Command::new("install").args(["-m", "755"]).arg(crate::helper()).arg(&copy).status();
    assert!(copied.unwrap().success());
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let machine = LocalMachine::new(FileLedger::new(&folder.path().join("ledger"))).unwrap();
    let world = HostWorld::new(machine.with_program(&copy)).unwrap();
    Stage { world, folder }
}

fn nobody() -> User {
    let nobody = serde_json::json!({"uid": 65534, "gid": 65534, "groups": [], "name": "nobody", "home": "/nonexistent", "shell": "/bin/sh"});
    serde_json::from_value(nobody).unwrap()
}

fn has_mpirun() -> bool {
    let said = Command::new("mpirun").arg("--version").output();
    let here = said.is_ok_and(|said| said.stdout.starts_with(b"mpirun (Open"));
    assert!(here || std::env::var("CI").as_deref() != Ok("true"), "needs Open MPI");
    if !here {
        eprintln!("not run: needs mpirun of Open MPI");
    }
    here
}

/// Counted right by so many, and what the kernel says that it cost holds what the ranks say of themselves.
fn assert_counted(finished: &Finished, ranks: u64, limit: u64) {
    let found = [number(finished, "primes"), number(finished, "ranks")];
    assert_eq!(found, [primes_below(limit) as f64, ranks as f64]);
    let (said, cost, usage) = (number(finished, "cpu_seconds"), cpu_ns(finished) as f64 / 1e9, finished.usage);
    // Ticks may round the kernel's sums, a rank's by less than two of the slowest clock.
    assert!(said > 0.01 && cost > said - 0.02 * ranks as f64, "{said} s of {usage:?}");
    let most = usage.real_ns as f64 / 1e9 * 2.0;
    assert!(cost < most + 0.1, "two CPUs have no more: {usage:?}");
}

#[test]
fn four_ranks_on_two_cpus_count_right_and_all_of_them_is_booked() {
    let finished = Stage::new().run(&on_two(primes(4, LIMIT, false)));
    assert_counted(&finished, 4, LIMIT);
    // Starting four processes is little work.
    let cost = cpu_ns(&finished) as f64 / 1e9;
    assert!(cost - number(&finished, "cpu_seconds") < 1.0, "{finished:?}");
}

#[test]
fn without_a_count_there_are_as_many_ranks_as_cpus() {
    let work = Work::Primes { ranks: None, limit: 100_000, mpirun: false, among: None };
    let finished = Stage::new().run(&job(work));
    assert_eq!(number(&finished, "ranks"), online().len() as f64);
    assert_eq!(number(&finished, "primes"), 9_592.0);
}

#[test]
fn mpirun_starts_four_ranks_on_two_cpus_for_an_ordinary_user() {
    if !crate::can_be_root() || !has_mpirun() {
        return;
    }
    let mut stage = open_to_all();
    let finished = stage.run(&Job { user: Some(nobody()), ..on_two(primes(4, LIMIT, true)) });
    assert_counted(&finished, 4, LIMIT);
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
    let both = crate::can_be_root() && has_mpirun();
    for mpirun in if both { vec![false, true] } else { vec![false] } {
        let mut stage = Stage::new();
        // No other test counts to here, and nobody would wait for it.
        let limit = 4_294_967_201 + u64::from(mpirun);
        let process = stage.spawn(&job(primes(3, limit, mpirun)));
        // Counts the ranks only. An mpirun that gets SIGTERM while it starts them may never end.
        let is_rank = |words: &&String| !words.contains("mpirun");
        until(|| processes_of(limit).iter().filter(is_rank).count() >= 3);
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
    let words = words.map(|words| String::from_utf8_lossy(&words).into_owned());
    words.filter(|words| words.contains(&wanted)).collect()
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
    assert!(finished.output.stderr.contains("mpirun"), "{finished:?}");
}
