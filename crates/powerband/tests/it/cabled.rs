//! Rigs over a network: two namespaces with a cable between them, an sshd in the far one with keys and settings of its own.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;

use crate::desk::{Desk, Ran, root, split, text, typical, until};
use crate::driven::has;
use crate::rigged::{Two, has_begun};

/// Two namespaces and the cable; gone with everybody in them when dropped.
pub(crate) struct Cable {
    near: String,
    pub(crate) far: String,
}

const NEAR: &str = "10.231.7.1";
pub(crate) const FAR: &str = "10.231.7.2";

#[track_caller]
pub(crate) fn sh(script: &str) -> String {
    let ran = Ran::of(&Command::new("sh").args(["-ec", script]).stdin(Stdio::null()).output().unwrap());
    ran.ended(0).out
}

impl Cable {
    /// `None` without root.
    pub(crate) fn new() -> Option<Cable> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !root() {
            return None;
        }
        let name = format!("pb{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let cable = Cable { near: format!("{name}a"), far: format!("{name}b") };
        let Cable { near, far } = &cable;
        sh(&format!(
            "ip netns add {near}; ip netns add {far}
             ip -n {near} link add cable type veth peer name cable netns {far}
             ip -n {near} link set cable addrgenmode none; ip -n {far} link set cable addrgenmode none
             ip -n {near} addr add {NEAR}/24 dev cable; ip -n {far} addr add {FAR}/24 dev cable
             for n in {near} {far}; do ip -n $n link set lo up; ip -n $n link set cable up; done"
        ));
        Some(cable)
    }

    /// The binary of a desk, in the near namespace.
    pub(crate) fn command(&self, desk: &Desk, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.near, env!("CARGO_BIN_EXE_powerband")]).args(words);
        desk.furnish(&mut command);
        command
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let Cable { near, far } = self;
        let script = format!(
            "for n in {near} {far}; do for p in $(ip netns pids $n); do kill -9 $p; done; ip netns del $n; done"
        );
        let _ = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status();
    }
}

/// An sshd in the far namespace, and an ssh that knows it as `far`.
struct Sshd {
    two: Two,
    cable: Cable,
    folder: PathBuf,
    child: Child,
}

impl Sshd {
    fn new() -> Option<Sshd> {
        let cable = Cable::new()?;
        let two = Two::new();
        let folder = two.far.beside("ssh");
        let at = folder.display();
        let state = two.far.state();
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::create_dir_all(folder.join("tmp")).unwrap();
        sh(&format!("ssh-keygen -q -t ed25519 -N '' -f {at}/host; ssh-keygen -q -t ed25519 -N '' -f {at}/user"));
        let host_key = text(&folder.join("host.pub"));
        fs::write(folder.join("known"), format!("[{FAR}]:2231 {host_key}")).unwrap();
        let config = format!(
            "Port 2231\nListenAddress {FAR}\nHostKey {at}/host\nAuthorizedKeysFile {at}/user.pub\nStrictModes no\nUsePAM no\n\
             PermitRootLogin yes\nPidFile none\nSetEnv POWERBAND_STATE_DIR={} TMPDIR={at}/tmp XDG_CACHE_HOME={at}/cache\n",
            state.display()
        );
        fs::write(folder.join("sshd"), config).unwrap();
        let config = format!(
            "Host far\n HostName {FAR}\n Port 2231\n User root\n IdentityFile {at}/user\n IdentitiesOnly yes\n\
             UserKnownHostsFile {at}/known\n StrictHostKeyChecking yes\n RemoteCommand exec sh\n"
        );
        fs::write(folder.join("config"), config).unwrap();
        let client = sh("command -v ssh");
        fs::write(folder.join("bin/ssh"), format!("#!/bin/sh\nexec {} -F {at}/config \"$@\"\n", client.trim()))
            .unwrap();
        sh(&format!("chmod 755 {at}/bin/ssh"));
        // Its folder below /run is one of its own.
        let start =
            format!("mount -t tmpfs none /run; mkdir -m 755 /run/sshd; exec $(command -v sshd) -D -e -f {at}/sshd");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &cable.far, "sh", "-ec", &start]);
        let child =
            command.stdin(Stdio::null()).stderr(fs::File::create(folder.join("said")).unwrap()).spawn().unwrap();
        let sshd = Sshd { two, cable, folder, child };
        until("sshd listens", || text(&sshd.folder.join("said")).contains("listening"));
        Some(sshd)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.cable.command(&self.two.near, words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.folder.join("bin").display()));
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.command(words).output().unwrap())
    }

    /// `try` of the far file, once that is turned.
    fn measuring(&self) -> Child {
        self.measuring_within("60s")
    }

    /// The same with a limit to how long the far machine may be silent.
    fn measuring_within(&self, silence: &str) -> Child {
        let b = format!("b:{}", self.two.turns("7"));
        let words = format!("--far ssh:far try -s a: -s `{b}` --settle 0 --warmup 0");
        let words = split(&words);
        let mut command = self.command(&[&words[..], &["--load", "counter", "--for", "2s"]].concat());
        command.env("POWERBAND_PEER_TIMEOUT", silence);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        until("it is turned", || self.two.reads() == "7");
        until("a trial runs", || has_begun(self.two.near.run(&split("export last --journal"))));
        child
    }

    /// The owner ends as it should; the far side is as found.
    #[track_caller]
    fn is_lost(&self, owner: Child) {
        let ran = Ran::of(&owner.wait_with_output().unwrap()).ended(8);
        assert!(ran.err.contains("lost the far machine"), "{}", ran.err);
        until("the far side is back", || self.two.is_clean());
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processes in a namespace whose command line holds `what`.
pub(crate) fn pids(namespace: &str, what: &str) -> Vec<i32> {
    let pids = sh(&format!("ip netns pids {namespace}"));
    let is_one = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(what))
    };
    pids.lines().filter_map(|pid| pid.trim().parse().ok()).filter(is_one).collect()
}

fn kill(pid: i32) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_stream_runs_from_one_namespace_to_the_other() {
    let Some(cable) = Cable::new() else { return };
    let two = Two::new();
    let far = format!("cmd@{FAR}:ip netns exec {} {}", cable.far, two.way());
    let b = format!("b:{}", two.turns("7"));
    let words = format!("--json --far `{far}` try -s a: -s `{b}` --load stream --for 300ms --blocks 2");
    let words = split(&words);
    let before = counted(&cable.far, "tx_bytes");
    let ran = Ran::of(
        &cable.command(&two.near, &[&words[..], &["--warmup", "0", "--settle", "0"]].concat()).output().unwrap(),
    );
    let report = ran.ended(0).report();
    let rate = typical(&report, "b", "rate_mbit_s");
    let crossed = counted(&cable.far, "tx_bytes") - before;
    // Four trials of 0.3 s crossed the cable from the peer.
    assert!(rate > 0.0 && crossed as f64 > 4.0 * 0.3 * rate * 1e6 / 8.0 / 10.0, "{rate} Mbit/s, {crossed} bytes");
    assert!(two.is_clean());
}

pub(crate) fn counted(namespace: &str, what: &str) -> u64 {
    sh(&format!("ip netns exec {namespace} cat /sys/class/net/cable/statistics/{what}")).trim().parse().unwrap()
}

#[test]
fn a_machine_behind_ssh_needs_nothing_installed_and_keeps_nothing() {
    let Some(sshd) = Sshd::new() else { return };
    let b = format!("b:{}", sshd.two.turns("7"));
    let words = format!("--json --far ssh:far try -s a: -s `{b}` --load stream --for 300ms");
    let words = split(&words);
    // Both addresses are known by ssh.
    let report =
        sshd.run(&[&words[..], &["--blocks", "2", "--warmup", "0", "--settle", "0"]].concat()).ended(0).report();
    assert!(typical(&report, "b", "rate_mbit_s") > 0.0);
    let plan = sshd.two.near.beside("plan.toml");
    let load = "[load]\nkind = \"counter\"\nfor = \"200ms\"\n";
    let text =
        format!("far = \"ssh:far\"\nsettings = [\"a:\", \"{b}\"]\nblocks = 2\nwarmup = 0\nsettle = \"0s\"\n{load}");
    fs::write(&plan, text).unwrap();
    sshd.run(&["run", &plan.display().to_string()]).ended(0);
    assert!(sshd.two.is_clean() && !sshd.two.far.state().exists());
    let left: Vec<_> = fs::read_dir(sshd.folder.join("tmp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_agent_that_is_kept_is_copied_once_and_checked_before_it_serves() {
    let Some(sshd) = Sshd::new() else { return };
    let cache = sshd.folder.join("cache/powerband");
    let look = |code| sshd.run(&split("--keep-agent --machine ssh:far info turned")).ended(code);
    let kept = || fs::read_dir(&cache).into_iter().flatten().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    look(0);
    let agent = <[PathBuf; 1]>::try_from(kept()).unwrap().into_iter().next().unwrap();
    let written = || fs::metadata(&agent).unwrap().modified().unwrap();
    let first = written();
    look(0);
    assert_eq!((kept(), written()), (vec![agent.clone()], first), "it was not copied again");
    let whole = fs::read(&agent).unwrap();
    // A copy that was cut off is replaced.
    fs::write(&agent, &whole[..whole.len() / 2]).unwrap();
    look(0);
    assert!(fs::read(&agent).unwrap() == whole);
    // A program of the same size that still runs, and one that does not.
    let other = [&whole[..whole.len() - 1], &[!whole[whole.len() - 1]]].concat();
    fs::write(&agent, other).unwrap();
    let ran = look(8);
    assert!(ran.err.contains("is not the agent"), "{}", ran.err);
    assert!(kept().is_empty(), "it is not run again");
    look(0);
    fs::write(&agent, vec![0; whole.len()]).unwrap();
    look(8);
    assert!(kept().is_empty(), "it is not run again");
    look(0);
    assert!(fs::read_dir(sshd.folder.join("tmp")).unwrap().next().is_none());
}

#[test]
fn what_a_command_talks_to_is_started_behind_ssh_and_ended() {
    if !has("iperf3") {
        return;
    }
    let Some(sshd) = Sshd::new() else { return };
    let words = split("--json --far ssh:far try -s a: -s b: --blocks 2 --warmup 0");
    let tool = split("--far-command `iperf3 -s` -- iperf3 -c {far} -t 1 --json");
    let report = sshd.run(&[&words[..], &tool].concat()).ended(0).report();
    assert!(typical(&report, "b", "rate_mbit_s") > 0.0 && typical(&report, "b", "tx_percent") > 0.0);
    assert!(pids(&sshd.cable.far, "iperf3").is_empty(), "it does not outlive its trial");
}

#[test]
fn a_cut_connection_and_a_killed_agent_leave_the_far_side_as_found() {
    let Some(sshd) = Sshd::new() else { return };
    let owner = sshd.measuring();
    let clients = pids(&sshd.cable.near, "-T -o BatchMode=yes");
    assert!(!clients.is_empty());
    clients.into_iter().for_each(kill);
    sshd.is_lost(owner);

    let owner = sshd.measuring();
    let agents = pids(&sshd.cable.far, "agent --carried");
    let agent = *agents.last().unwrap();
    kill(agent);
    sshd.is_lost(owner);

    let mut again = sshd.command(&["resume"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("it goes on", || sshd.two.reads() == "7");
    rustix::process::kill_process(rustix::process::Pid::from_child(&again), Signal::INT).unwrap();
    assert_eq!(again.wait().unwrap().code(), Some(130));
    assert!(sshd.two.is_clean());
}

#[test]
fn packets_that_no_longer_come_are_a_loss_for_both_sides() {
    let Some(sshd) = Sshd::new() else { return };
    let owner = sshd.measuring_within("15s");
    sh(&format!("ip -n {} link set cable down", sshd.cable.far));
    sshd.is_lost(owner);
}

#[test]
fn a_setting_that_cuts_its_own_connection_is_put_back_by_the_far_side() {
    let Some(sshd) = Sshd::new() else { return };
    let state =
        || sh(&format!("ip netns exec {} cat /sys/class/net/cable/operstate", sshd.cable.far)).trim().to_owned();
    until("it is plugged in", || state() == "up");
    let knobs = sshd.two.near.beside("cable.toml");
    let get = "get = \"cat /sys/class/net/cable/operstate\"";
    std::fs::write(&knobs, format!("[knobs.cable]\n{get}\nset = \"ip link set dev cable {{value}}\"\n")).unwrap();
    let words = format!("--machine ssh:far set --knobs {} cable=down --confirm-within 60s", knobs.display());
    let set = sshd.command(&split(&words)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is cut", || state() == "down");
    let ran = Ran::of(&set.wait_with_output().unwrap()).ended(8);
    assert!(ran.err.contains("lost the near machine"), "{}", ran.err);
    until("the far side has put it back", || state() == "up");
    assert!(sshd.run(&["list"]).ended(0).err.contains("may have left something changed at ssh:far"));
    sshd.run(&["--machine", "ssh:far", "undo", "--left"]).ended(0);
    assert_eq!(sshd.run(&["list"]).ended(0).err, "");
}

#[test]
fn while_a_trial_is_measured_nothing_of_ours_crosses_the_cable() {
    let Some(sshd) = Sshd::new() else { return };
    let seen = sshd.two.near.beside("seen");
    let script = crossing(&seen);
    let b = format!("b:{}", sshd.two.turns("7"));
    let words = format!("--far ssh:far try -s a: -s `{b}` --settle 0 --warmup 0 --blocks 1");
    let words = split(&words);
    sshd.run(&[&words[..], &["--", "sh", "-c", &script]].concat()).ended(0);
    nothing_crossed(&seen);
}

/// A load that counts what crosses the cable in its own time, once the acknowledgement of its beginning is over and nothing more comes.
pub(crate) fn crossing(seen: &Path) -> String {
    let count = "$(cat /sys/class/net/cable/statistics/rx_bytes /sys/class/net/cable/statistics/tx_bytes)";
    let still = "until sleep 0.7; now={count}; [ \"$now\" = \"$before\" ]; do before=$now; done";
    format!("{}; (sleep 7; echo $before {count}) >> {}", still.replace("{count}", count), seen.display())
}

/// In no trial of such a load.
#[track_caller]
pub(crate) fn nothing_crossed(seen: &Path) {
    let lines: Vec<Vec<u64>> =
        text(seen).lines().map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect();
    assert!(lines.len() >= 2, "{lines:?}");
    for line in &lines {
        assert!(line[0] > 0 && line[..2] == line[2..], "{lines:?}");
    }
}

/// As a user names it: nothing about state folders.
#[test]
fn two_namespaces_of_one_host_are_a_rig_without_a_state_folder_named() {
    let Some(cable) = Cable::new() else { return };
    let desk = Desk::new();
    let far = format!("cmd@{FAR}:ip netns exec {} {} agent", cable.far, env!("CARGO_BIN_EXE_powerband"));
    let knob = "sysctl.net.ipv4.tcp_ecn";
    let ecn = || sh(&format!("ip netns exec {} cat /proc/sys/net/ipv4/tcp_ecn", cable.far)).trim().to_owned();
    let run = |words: &[&str]| {
        let mut command = desk.command(&[&["--far", &far], words].concat());
        Ran::of(&command.output().unwrap())
    };
    let before = ecn();
    let setting = format!("far/{knob}=0,1");
    let words = format!("try `{setting}` --load counter --for 20ms --blocks 2 --warmup 0");
    let words = split(&words);
    run(&words).ended(0);
    assert_eq!(ecn(), before);

    // The near machine's ledger is another one, and each `undo` finds its own.
    fs::write(desk.beside("near"), "0").unwrap();
    let other = if before == "0" { "1" } else { "0" };
    run(&["set", &format!("far/{knob}={other}"), &format!("{}=1", desk.knob("near"))]).ended(0);
    assert_eq!((ecn().as_str(), desk.turned()), (other, 1));
    run(&["undo", "--all"]).ended(0);
    assert_eq!((ecn(), desk.turned()), (before, 0));
}
