//! Starting, ending, output, usage.
use powerband_host::{FileLedger, LocalMachine};
use powerband_machine::{Errno, SpawnError};
use powerband_record::{CpuList, ExitStatus, Work};

use crate::{Stage, assert_gone, command, counter, job, number, online, sh, until, written};

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let mut stage = Stage::new();
    let killed = ("kill -9 $$", ExitStatus::Signal(9));
    for (script, status) in [("exit 0", ExitStatus::Code(0)), ("exit 42", ExitStatus::Code(42)), killed] {
        assert_eq!(stage.sh(script).status, status, "{script}");
    }
}

#[test]
fn what_cannot_be_executed_says_why() {
    use std::os::unix::fs::PermissionsExt;
    let mut stage = Stage::new();
    let [plain, orphan] = ["plain", "orphan"].map(|name| stage.path(name));
    std::fs::write(&plain, "text").unwrap();
    std::fs::write(&orphan, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&orphan, std::fs::Permissions::from_mode(0o755)).unwrap();
    for path in ["powerband-no-such-program", "/no/such"] {
        let refused = stage.near().spawn(&command(&[path])).unwrap_err();
        assert_eq!(refused, SpawnError::NotFound(path.into()));
    }
    let refused = stage.near().spawn(&command(&[&plain])).unwrap_err();
    assert_eq!(refused, SpawnError::Denied(plain));
    let refused = stage.near().spawn(&command(&[&orphan])).unwrap_err();
    assert!(refused.to_string().contains("interpreter"), "{refused}");
    for argv in [&[][..], &["true", "a\0b"]] {
        assert_eq!(stage.refused(&command(argv)), Some(Errno::EINVAL));
    }
}

#[test]
fn output_is_kept_apart_and_cut_at_the_limit() {
    let mut stage = Stage::new();
    // Cat finds its standard input empty.
    let output = stage.sh("echo out; echo err >&2; cat").output;
    assert!(output.stdout == "out\n" && output.stderr == "err\n" && !output.cut, "{output:?}");

    let mut long = sh("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2");
    long.output_limit = Some(100_000);
    let finished = stage.run(&long);
    assert!(finished.output.stdout == "x".repeat(100_000) && finished.output.stderr == "end\n");
    assert!(finished.output.cut && finished.status.success());

    let finished = stage.sh("printf 'a\\377b'");
    assert_eq!(finished.output.stdout, "a\u{fffd}b");
    let mut halved = sh("printf 'aé'");
    halved.output_limit = Some(2);
    // Half a character is no character.
    assert_eq!(stage.run(&halved).output.stdout, "a");
}

#[test]
fn a_grandchild_that_keeps_the_output_open_is_not_waited_for() {
    let mut stage = Stage::new();
    let output = stage.sh("echo before; sleep 1000 & echo $!").output;
    let pid = output.stdout.strip_prefix("before\n").unwrap().trim();
    // It is still there.
    let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn usage_is_that_of_the_load_alone() {
    let mut stage = Stage::new();
    // Memory of ours that must not count as the load's.
    let ours = vec![1_u8; 64 << 20];
    let idle = stage.run(&job(Work::Idle { for_ns: 200_000_000 }));
    assert!(ours.iter().all(|&byte| byte == 1));
    let (cpu_ns, usage) = (crate::cpu_ns(&idle), idle.usage);
    assert!(usage.real_ns >= 190_000_000 && cpu_ns < 100_000_000, "{usage:?}");
    assert!((200..20_000).contains(&usage.peak_rss_kib), "{usage:?}");
    let busy = stage.run(&job(counter(200)));
    let (cpu_ns, usage) = (crate::cpu_ns(&busy), busy.usage);
    assert!(usage.real_ns >= 195_000_000 && cpu_ns <= usage.real_ns + 20_000_000, "{usage:?}");

    // The shell's own word on its CPU time, in which others on this machine have no part, within a clock tick and its exit.
    let counted = stage.sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times");
    let own_ns = cpu_ns_of_times(&counted.output.stdout);
    assert!(own_ns > 30_000_000, "{:?}", counted.output);
    let cpu_ns = crate::cpu_ns(&counted);
    assert!(cpu_ns.abs_diff(own_ns) < 30_000_000, "{own_ns}: {:?}", counted.usage);

    let large = stage.sh("head -c 50000000 /dev/zero | tail -c 40000000 | wc -c");
    // Children that were waited for count.
    assert!(large.output.stdout.trim() == "40000000" && large.usage.peak_rss_kib > 38_000);
}

/// User and system time of the shell itself in what `times` prints first: `0m0.31s 0m0.02s`.
fn cpu_ns_of_times(printed: &str) -> u64 {
    let ns = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60e9 + seconds.parse::<f64>().unwrap() * 1e9
    };
    let own = printed.lines().next().unwrap();
    own.split(' ').map(ns).sum::<f64>() as u64
}

#[test]
fn built_in_work_reports_and_is_pinned() {
    let mut stage = Stage::new();
    let finished = stage.run(&job(counter(100)));
    assert!(number(&finished, "count") > 100.0 && number(&finished, "seconds") >= 0.1);
    for cpu in online() {
        let mut pinned = sh("grep Cpus_allowed_list /proc/self/status; nproc");
        pinned.cpus = Some(CpuList::new(vec![cpu]));
        let printed = stage.run(&pinned).output.stdout;
        assert_eq!(printed, format!("Cpus_allowed_list:\t{cpu}\n1\n"));
    }
    let mut absent = sh("true");
    for cpus in [vec![60_000], vec![0, 1000]] {
        absent.cpus = Some(CpuList::new(cpus));
        assert_eq!(stage.refused(&absent), Some(Errno::EINVAL));
    }
}

#[test]
fn a_wall_clock_second_can_be_waited_for() {
    let mut stage = Stage::new();
    // A busy machine may end one late, but not twenty.
    let is_in_time = |_| {
        let work = Work::Counter { for_ns: 1_000_000, align_to_second: true };
        assert!(stage.run(&job(work)).status.success());
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        wall.unwrap().subsec_millis() < 200
    };
    assert!((0..20).any(is_in_time));
}

#[test]
fn a_load_begins_clean() {
    let mut stage = Stage::new();
    let script = "ls /proc/self/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status; env | grep -c POWERBAND_CONTROL";
    // ls itself holds the fourth.
    let none = "0000000000000000";
    let clean = format!("0\n1\n2\n3\nSigBlk:\t{none}\nSigIgn:\t{none}\n0\n");
    assert_eq!(stage.sh(script).output.stdout, clean);
    // It has its own process group and session.
    let session = stage.sh("echo $$; cut -d' ' -f5,6 /proc/$$/stat").output.stdout;
    let (pid, rest) = session.trim().split_once('\n').unwrap();
    assert_eq!(rest, format!("{pid} {pid}"));
}

#[test]
fn neither_descriptors_nor_children_are_left_by_many() {
    let place = tempfile::tempdir().unwrap();
    let said = crate::scene(&["spawn-many", place.path().to_str().unwrap()]).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let text = String::from_utf8(said.stdout).unwrap();
    let [before, after, children] = text.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!((after, children), (before, "[]"));
}

#[test]
fn ending_reaches_grandchildren_and_dropping_ends_everything() {
    let mut stage = Stage::new();
    let file = stage.path("pid");
    let script = format!("trap '' TERM; sleep 1000 & echo $! > {file}; wait; sleep 1000");
    let process = stage.spawn(&sh(&script));
    let pid = &written(&file)[0];
    // A polite request is ignored, an order cannot be.
    stage.near().end(process, false);
    let until = stage.world_ms(50);
    stage.idle_until(until);
    stage.near().end(process, true);
    assert_eq!(stage.end_of(process).0.status, ExitStatus::Signal(9));
    assert_gone(pid);

    let file = stage.path("pids");
    stage.spawn(&sh(&format!("sleep 1000 & echo $! $$ > {file}; wait")));
    let pids = written(&file);
    drop(stage);
    pids.iter().for_each(|pid| assert_gone(pid));
}

#[test]
fn a_load_dies_with_its_owner() {
    let place = tempfile::tempdir().unwrap();
    let mut owner = crate::scene(&["die-with-load", place.path().to_str().unwrap()]).spawn().unwrap();
    let file = place.path().join("pid");
    let pid = || std::fs::read_to_string(&file).unwrap_or_default().trim().to_owned();
    until(|| !pid().is_empty());
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_gone(&pid());
}

/// Why no load is started through such a program.
fn through(shim: &std::path::Path, folder: &std::path::Path) -> SpawnError {
    let machine = LocalMachine::new(FileLedger::new(folder)).unwrap();
    let mut machine = machine.with_program(shim);
    powerband_machine::Run::spawn(&mut *machine, &command(&["true"])).unwrap_err()
}

#[test]
fn a_program_that_is_no_shim_is_found_out() {
    let place = tempfile::tempdir().unwrap();
    let refused = through(std::path::Path::new("/bin/true"), place.path());
    assert!(matches!(refused, SpawnError::Refused { .. }), "{refused}");
}

#[test]
fn a_load_of_a_shim_that_hangs_is_nobodys_and_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let (shim, file) = (place.path().join("shim"), place.path().join("pid"));
    // It says which process the load is, and then nothing any more.
    let script = format!(
        "#!/bin/sh\nread -r line\nsetsid sleep 1000 >/dev/null 2>&1 </dev/null &\necho $! > {}\necho \"{{\\\"pid\\\":$!}}\" >&0\nexec sleep 1000\n",
        file.display()
    );
    std::fs::write(&shim, script).unwrap();
    let made = std::process::Command::new("chmod").arg("755").arg(&shim).status();
    assert!(made.unwrap().success());
    assert!(matches!(through(&shim, place.path()), SpawnError::Refused { errno: Errno::ETIMEDOUT, .. }));
    assert_gone(std::fs::read_to_string(&file).unwrap().trim());
}
