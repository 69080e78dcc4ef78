//! Starting, ending, output, usage.
use powerband_machine::{Errno, SpawnError};
use powerband_record::{CpuList, ExitStatus, Work};

use crate::{Stage, command, counter, job, sh};

#[test]
fn exit_codes_and_signals_are_told_apart() {
    let mut stage = Stage::new();
    for (script, status) in
        [("exit 0", ExitStatus::Code(0)), ("exit 42", ExitStatus::Code(42)), ("kill -9 $$", ExitStatus::Signal(9))]
    {
        assert_eq!(stage.sh(script).status, status, "{script}");
    }
}

#[test]
fn what_cannot_be_executed_says_why() {
    use std::os::unix::fs::PermissionsExt;
    let mut stage = Stage::new();
    let place = stage.folder.path().to_path_buf();
    let at = |name: &str| place.join(name).display().to_string();
    std::fs::write(at("plain"), "text").unwrap();
    std::fs::write(at("orphan"), "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(at("orphan"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut spawn = |argv: &[&str]| stage.near().spawn(&command(argv)).unwrap_err();
    assert_eq!(spawn(&["powerband-no-such-program"]), SpawnError::NotFound("powerband-no-such-program".into()));
    assert_eq!(spawn(&["/no/such"]), SpawnError::NotFound("/no/such".into()));
    assert_eq!(spawn(&[&at("plain")]), SpawnError::Denied(at("plain")));
    let orphan = spawn(&[&at("orphan")]);
    assert!(orphan.to_string().contains("interpreter"), "{orphan}");
    assert!(matches!(spawn(&[]), SpawnError::Refused { errno: Errno::EINVAL, .. }));
    assert!(matches!(spawn(&["true", "a\0b"]), SpawnError::Refused { errno: Errno::EINVAL, .. }));
}

#[test]
fn output_is_kept_apart_and_cut_at_the_limit() {
    let mut stage = Stage::new();
    let finished = stage.sh("echo out; echo err >&2; cat");
    assert_eq!((finished.output.stdout.as_str(), finished.output.stderr.as_str()), ("out\n", "err\n"));
    assert!(!finished.output.cut, "and cat found its standard input empty");

    let mut long = sh("head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2");
    long.output_limit = Some(100_000);
    let finished = stage.run(&long);
    assert_eq!(finished.output.stdout, "x".repeat(100_000));
    assert_eq!(finished.output.stderr, "end\n");
    assert!(finished.output.cut && finished.status.success());

    let finished = stage.sh("printf 'a\\377b'");
    assert_eq!(finished.output.stdout, "a\u{fffd}b");
    let mut halved = sh("printf 'aé'");
    halved.output_limit = Some(2);
    assert_eq!(stage.run(&halved).output.stdout, "a", "half a character is no character");
}

#[test]
fn a_grandchild_that_keeps_the_output_open_is_not_waited_for() {
    let mut stage = Stage::new();
    let finished = stage.sh("echo before; sleep 30 & echo $!");
    let lines: Vec<_> = finished.output.stdout.lines().collect();
    assert_eq!(lines[0], "before");
    assert!(finished.usage.real_ns < 10_000_000_000);
    let pid = rustix::process::Pid::from_raw(lines[1].parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn usage_is_that_of_the_load_alone() {
    let mut stage = Stage::new();
    // Memory of ours that must not count as the load's.
    let ours = vec![1_u8; 64 << 20];
    let idle = stage.run(&job(Work::Idle { for_ns: 200_000_000 }));
    assert!(ours.iter().all(|&byte| byte == 1));
    assert!((190_000_000..5_000_000_000).contains(&idle.usage.real_ns), "{:?}", idle.usage);
    assert!(idle.usage.user_ns + idle.usage.sys_ns < 100_000_000, "{:?}", idle.usage);
    assert!((200..20_000).contains(&idle.usage.peak_rss_kib), "{:?}", idle.usage);

    let busy = stage.run(&job(counter(500)));
    let cpu_ns = busy.usage.user_ns + busy.usage.sys_ns;
    assert!(busy.usage.real_ns >= 495_000_000 && cpu_ns <= busy.usage.real_ns + 20_000_000, "{:?}", busy.usage);

    // The shell's own word on its CPU time, in which others on this machine have no part, within a clock tick and its exit.
    let counted = stage.sh("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; times");
    let own_ns = cpu_ns_of_times(&counted.output.stdout);
    assert!(own_ns > 30_000_000, "{:?}", counted.output);
    let cpu_ns = counted.usage.user_ns + counted.usage.sys_ns;
    assert!((own_ns - 20_000_000..own_ns + 30_000_000).contains(&cpu_ns), "{own_ns}: {:?}", counted.usage);

    let large = stage.sh("head -c 50000000 /dev/zero | tail -c 40000000 | wc -c");
    assert_eq!(large.output.stdout.trim(), "40000000");
    assert!(large.usage.peak_rss_kib > 38_000, "children that were waited for count: {:?}", large.usage);
}

/// User and system time of the shell itself in what `times` prints first: `0m0.31s 0m0.02s`.
fn cpu_ns_of_times(printed: &str) -> u64 {
    let ns = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60e9 + seconds.parse::<f64>().unwrap() * 1e9
    };
    printed.lines().next().unwrap().split(' ').map(ns).sum::<f64>() as u64
}

#[test]
fn built_in_work_reports_and_is_pinned() {
    let mut stage = Stage::new();
    let finished = stage.run(&job(counter(100)));
    let report = finished.report.unwrap();
    assert!(report["count"].as_u64().unwrap() > 10_000, "{report}");
    assert!((0.1..5.0).contains(&report["seconds"].as_f64().unwrap()), "{report}");

    let online: CpuList = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().parse().unwrap();
    for &cpu in online.as_slice() {
        let mut pinned = sh("grep Cpus_allowed_list /proc/self/status; nproc");
        pinned.cpus = Some(CpuList::new(vec![cpu]));
        let finished = stage.run(&pinned);
        assert_eq!(finished.output.stdout, format!("Cpus_allowed_list:\t{cpu}\n1\n"));
    }
    let mut absent = sh("true");
    for cpus in [vec![60_000], vec![0, 1000]] {
        absent.cpus = Some(CpuList::new(cpus));
        let refused = stage.near().spawn(&absent).unwrap_err();
        assert!(matches!(refused, SpawnError::Refused { errno: Errno::EINVAL, .. }), "{refused}");
    }
}

#[test]
fn a_wall_clock_second_can_be_waited_for() {
    let mut stage = Stage::new();
    // A busy machine may end one late, but not three.
    let late_ms: Vec<u32> = (0..3)
        .map(|_| {
            let finished = stage.run(&job(Work::Counter { for_ns: 1_000_000, align_to_second: true }));
            assert!(finished.status.success());
            let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
            wall.subsec_millis()
        })
        .collect();
    assert!(late_ms.iter().any(|&late| late < 200), "ended so long after a new second: {late_ms:?} ms");
}

#[test]
fn a_load_begins_clean() {
    let mut stage = Stage::new();
    let finished =
        stage.sh("ls /proc/self/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status; env | grep -c POWERBAND_CONTROL");
    // ls itself holds the fourth.
    assert_eq!(finished.output.stdout, "0\n1\n2\n3\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n");
    let session = stage.sh("echo $$; cut -d' ' -f5,6 /proc/$$/stat").output.stdout;
    let (pid, rest) = session.trim().split_once('\n').unwrap();
    assert_eq!(rest, format!("{pid} {pid}"), "its own process group and session");
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
    let process = stage.near().spawn(&sh("trap '' TERM; sleep 100 & echo $!; wait; sleep 100")).unwrap();
    let until = stage.world_ms(300);
    stage.idle_until(until);
    stage.near().end(process, false);
    let until = stage.world_ms(300);
    stage.idle_until(until);
    stage.near().end(process, true);
    let (finished, _) = stage.end_of(process);
    assert_eq!(finished.status, ExitStatus::Signal(9), "a polite request was ignored, an order cannot be");
    assert_gone(finished.output.stdout.lines().next().unwrap());

    let file = stage.folder.path().join("pids");
    let script = format!("sleep 100 & echo $! $$ > {}; wait", file.display());
    stage.near().spawn(&sh(&script)).unwrap();
    let until = stage.world_ms(300);
    stage.idle_until(until);
    let pids = std::fs::read_to_string(&file).unwrap();
    drop(stage);
    pids.split_whitespace().for_each(assert_gone);
}

/// Dead, or a zombie somebody else must reap; killed processes vanish after a moment.
fn assert_gone(pid: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        if stat.contains(") Z ") {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{stat}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_load_dies_with_its_owner() {
    let place = tempfile::tempdir().unwrap();
    let mut owner = crate::scene(&["die-with-load", place.path().to_str().unwrap()]).spawn().unwrap();
    let file = place.path().join("pid");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while std::fs::read_to_string(&file).unwrap_or_default().trim().is_empty() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_gone(std::fs::read_to_string(&file).unwrap().trim());
}

#[test]
fn a_program_that_is_no_shim_is_found_out() {
    let place = tempfile::tempdir().unwrap();
    let machine = powerband_host::LocalMachine::new(powerband_host::FileLedger::new(place.path())).unwrap();
    let mut machine = machine.with_program(std::path::Path::new("/bin/true"));
    let refused = powerband_machine::Run::spawn(&mut *machine, &command(&["true"])).unwrap_err();
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
    let made = std::process::Command::new("chmod").arg("755").arg(&shim).status().unwrap();
    assert!(made.success());
    let machine = powerband_host::LocalMachine::new(powerband_host::FileLedger::new(place.path())).unwrap();
    let refused = powerband_machine::Run::spawn(&mut *machine.with_program(&shim), &command(&["true"])).unwrap_err();
    assert!(refused.to_string().contains("timed out"), "{refused}");
    assert_gone(std::fs::read_to_string(&file).unwrap().trim());
}
