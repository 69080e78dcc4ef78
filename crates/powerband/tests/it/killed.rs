//! Killed at random moments and in every manner there is: nothing stays turned.
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::desk::{Desk, machine_alone, root, split, text, until};
use crate::guarded::{FAMILY, Kernel, desk_with_a_knob, end, family, groups_of, guardians, is_all_over, lives};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Process,
    ProcessGroup,
    /// Everything in the control group it was started in, at once.
    ControlGroup,
    /// Its guardian too, the one or the other first.
    GuardianFirst,
    OwnerFirst,
}

const MANNERS: [Manner; 5] =
    [Manner::Process, Manner::ProcessGroup, Manner::ControlGroup, Manner::GuardianFirst, Manner::OwnerFirst];

/// Knuth's MMIX generator; its upper bits are the good ones.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A version 2 control group of a test, gone with it.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Group {
        let mounts = text(Path::new("/proc/self/mountinfo"));
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).and_then(|line| line.split(' ').nth(4));
        let folder = Path::new(mount.unwrap()).join(format!("powerband-{name}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        Group(folder)
    }

    fn kill(&self) {
        // Before Linux 5.14 there is no way to kill all at once.
        if fs::write(self.0.join("cgroup.kill"), "1").is_err() {
            for pid in text(&self.0.join("cgroup.procs")).lines() {
                let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL);
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        until("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

/// What the rounds came to.
#[derive(Default)]
struct Tally {
    turned: u32,
    by_the_next: u32,
    took: Vec<Duration>,
}

/// Kills an experiment that turns a file, a kernel setting and a quota, over and over.
fn kills(rounds: u32, seed: u64) -> Tally {
    let _alone = machine_alone();
    let kernel = Kernel::found();
    let (desk, path, _) = desk_with_a_knob();
    let group = Group::new("killed");
    let (mut chance, mut tally) = (Chance(seed), Tally::default());
    for (round, &manner) in (0..rounds).zip(MANNERS.iter().cycle()) {
        let what = format!("round {round} of seed {seed}, {manner:?}");
        let mut owner = start(&desk, &kernel, &group);
        let pid = Pid::from_child(&owner);
        let is_changed = || text(&path) != "as found \n\n" || !kernel.is_back();
        // Every other round begins to count at the first change, so that a slow machine does not make it an empty one.
        let most_us = if round % 2 == 0 { 500_000 } else { 100_000 };
        if round % 2 == 1 {
            until(&format!("the experiment has changed something, {what}"), is_changed);
        }
        std::thread::sleep(Duration::from_micros(chance.below(most_us)));
        tally.turned += u32::from(is_changed());
        match manner {
            Manner::Process => kill_process(pid, Signal::KILL).unwrap(),
            Manner::ProcessGroup => kill_process_group(pid, Signal::KILL).unwrap(),
            Manner::ControlGroup => group.kill(),
            Manner::GuardianFirst => {
                kill_all(&guardians(&desk));
                kill_process(pid, Signal::KILL).unwrap();
            }
            Manner::OwnerFirst => {
                let both = guardians(&desk);
                kill_process(pid, Signal::KILL).unwrap();
                std::thread::sleep(Duration::from_micros(chance.below(4_000)));
                kill_all(&both);
            }
        }
        let killed = Instant::now();
        owner.wait().unwrap();
        let is_over = || text(&path) == "as found \n\n" && kernel.is_back() && groups_of(owner.id()).is_empty();
        if matches!(manner, Manner::GuardianFirst | Manner::OwnerFirst) {
            until(&format!("nobody is left, {what}"), || guardians(&desk).is_empty());
            tally.by_the_next += u32::from(!is_over());
            desk.run(&["with", &format!("{}=1", desk.knob("other")), "--", "true"]).ended(0);
            assert!(is_over(), "after the next command, {what}");
        } else {
            until(&format!("everything is back, {what}"), is_over);
            tally.took.push(killed.elapsed());
            until(&format!("the guardian has ended, {what}"), || guardians(&desk).is_empty());
        }
        // One killed between closing its last entry and emptying the file leaves only closed ones.
        assert_eq!(desk.turned(), 0, "{what}");
    }
    tally.took.sort();
    tally
}

/// Starts the experiment as the leader of a process group and in a control group.
fn start(desk: &Desk, kernel: &Kernel, group: &Group) -> std::process::Child {
    let setting = format!("b:{}=1 {} cgroup.cpu_quota=50%", desk.knob("knob"), kernel.other());
    let mut command = std::process::Command::new("sh");
    desk.furnish(&mut command);
    command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(&group.0);
    command.arg(env!("CARGO_BIN_EXE_powerband")).args(["try", "-s", "a:", "-s", &setting]);
    command.args(split("--settle 0 --blocks 1000 --margin 0.0001% --"));
    command.args(["sh", "-c", "sleep 0.02 & wait"]);
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill_all(pids: &[Pid]) {
    for &pid in pids {
        // One that has ended meanwhile is as wanted.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn nothing_stayed(tally: &Tally) {
    assert!(tally.turned > 0, "no round met anything turned");
    // A guardian that hears of a death does not wait for what it looks for every five seconds. The quickest round says so: the others
    // depend on this machine's other work.
    let (least, most) = (tally.took[0], tally.took[tally.took.len() - 1]);
    assert!(least < Duration::from_secs(5), "{:?}", tally.took);
    let Tally { turned, by_the_next, .. } = tally;
    eprintln!(
        "turned when killed: {turned}; back after {least:?} to {most:?}; left to the next command: {by_the_next}"
    );
}

#[test]
fn killed_at_any_moment_nothing_stays_turned() {
    if root() {
        nothing_stayed(&kills(40, 20_120_417));
    }
}

#[test]
fn sweep_killed_two_hundred_times_nothing_stays_turned() {
    let set = |name| std::env::var(name).ok();
    if set("POWERBAND_SWEEP").is_some_and(|value| value == "1") && root() {
        let seed = set("POWERBAND_SWEEP_SEED").and_then(|text| text.parse().ok()).unwrap_or(1);
        nothing_stayed(&kills(200, seed));
    }
}

/// `with` a turned file around the family, said as a shell would.
fn words(desk: &Desk, pids: &Path) -> Vec<String> {
    let (knob, pids) = (format!("{}=1", desk.knob("knob")), pids.display().to_string());
    [env!("CARGO_BIN_EXE_powerband"), "with", &knob, "--", "bash", "-c", FAMILY, &pids].map(str::to_owned).to_vec()
}

#[test]
fn a_closed_terminal_leaves_nothing() {
    let (desk, path, pids) = desk_with_a_knob();
    let quote = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let quoted: Vec<String> = words(&desk, &pids).iter().map(|word| quote(word)).collect();
    let mut command = std::process::Command::new("script");
    desk.furnish(&mut command);
    // A shell stands between, as it does for people: it gets the signal first.
    let line = format!("bash -c {} ; true", quote(&quoted.join(" ")));
    command.args(["-q", "-c", &line, "/dev/null"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut terminal = command.spawn().unwrap();
    let family = family(&pids);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    until("the file is back", || text(&path) == "as found \n\n");
    until("the guardian has ended", || guardians(&desk).is_empty());
    // It was asked to end, as by SIGTERM; who ignores that is a load's own affair.
    end(&family);
    assert_eq!(desk.turned(), 0);
}

/// A version 1 or 2 group with little memory.
fn small_memory() -> PathBuf {
    let version1 = Path::new("/sys/fs/cgroup/memory");
    let (mount, limit) = if version1.is_dir() {
        (version1, "memory.limit_in_bytes")
    } else {
        (Path::new("/sys/fs/cgroup"), "memory.max")
    };
    let folder = mount.join(format!("powerband-memory-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(limit), "64M").unwrap();
    folder
}

#[test]
fn out_of_memory_leaves_nothing() {
    if !root() {
        return;
    }
    let group = small_memory();
    let (desk, path, pids) = desk_with_a_knob();
    // The kernel is told to take the owner first: its load takes that back for itself before it eats.
    let load = "echo 0 > /proc/self/oom_score_adj; echo $$ > \"$0\"; echo end >> \"$0\"; tail /dev/zero; sleep 315";
    let mut command = std::process::Command::new("sh");
    desk.furnish(&mut command);
    let enter = "echo $$ > \"$0\"/cgroup.procs; echo 1000 > /proc/self/oom_score_adj; exec \"$@\"";
    command.args(["-c", enter]).arg(&group).arg(env!("CARGO_BIN_EXE_powerband"));
    command.args(["with", &format!("{}=1", desk.knob("knob")), "--", "sh", "-c", load]).arg(&pids);
    let mut owner = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let family = family(&pids);
    let status = owner.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "the owner was to run out of memory");
    is_all_over(&desk, &path, &family);
    assert!(!family.iter().any(|pid| lives(pid)));
    until("the group is empty", || fs::remove_dir(&group).is_ok());
}
