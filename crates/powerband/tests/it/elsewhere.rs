//! What was turned in another network namespace, or on a device that is another one now: left alone, and said.
use std::path::Path;
use std::process::Command;

use crate::desk::{Desk, Ran, root, split, text};

/// A network namespace of its own, by name; gone when dropped.
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) fn new(name: &str) -> Namespace {
        let name = format!("powerband-{name}-{}", std::process::id());
        run("ip", &["netns", "add", &name]);
        Namespace(name)
    }

    pub(crate) fn run(&self, program: &str, words: &[&str]) {
        run("ip", &[&["netns", "exec", &self.0, program], words].concat());
    }

    /// The binary with these words, in there.
    pub(crate) fn command(&self, desk: &Desk, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        desk.furnish(&mut command);
        command.args(["netns", "exec", &self.0, env!("CARGO_BIN_EXE_powerband")]).args(words);
        command
    }

    pub(crate) fn powerband(&self, desk: &Desk, words: &[&str]) -> Ran {
        Ran::of(&self.command(desk, words).output().unwrap())
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let output = Command::new("ip").args(["netns", "exec", &self.0, "cat", path]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {output:?}");
}

const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";

#[test]
fn another_network_namespace_is_not_touched_from_here() {
    let Some(desk) = Desk::as_root() else { return };
    let there = Namespace::new("there");
    let (here, before) = (text(Path::new(SOMAXCONN)), there.read(SOMAXCONN));
    there.powerband(&desk, &["set", "sysctl.net.core.somaxconn=1234"]).ended(0);
    assert_eq!(there.read(SOMAXCONN), "1234");
    let why = desk.run(&["undo"]).refused(1);
    assert!(why.contains("it was set in another network namespace; run undo there"), "{why}");
    assert_eq!((text(Path::new(SOMAXCONN)), there.read(SOMAXCONN)), (here.clone(), "1234".into()));
    assert_eq!(desk.turned(), 1, "it stays open");
    there.powerband(&desk, &["undo"]).ended(0);
    assert_eq!(there.read(SOMAXCONN), before);

    there.powerband(&desk, &["set", "sysctl.net.core.somaxconn=1234"]).ended(0);
    drop(there);
    desk.run(&["undo"]).refused(1);
    let told = desk.run(&["undo", "--force"]).ended(0).out;
    assert!(told.contains("let go of without touching them: 1"), "{told}");
    assert_eq!((desk.turned(), text(Path::new(SOMAXCONN))), (0, here));
}

/// Makes one end of a cable; the kernel names the other.
const PAIR: [&str; 4] = ["link", "add", "name", "pbtest0"];

#[test]
fn a_device_made_anew_is_another_device() {
    let Some(desk) = Desk::as_root() else { return };
    let there = Namespace::new("device");
    let queue = "/sys/class/net/pbtest0/tx_queue_len";
    let make = |address: &str| there.run("ip", &[&PAIR[..], &["address", address, "type", "veth"]].concat());
    let set = format!("file:{queue}=777");
    make("02:00:00:00:00:01");
    let before = there.read(queue);
    there.powerband(&desk, &["set", &set]).ended(0);
    there.powerband(&desk, &["undo"]).ended(0);
    assert_eq!(there.read(queue), before);

    there.powerband(&desk, &["set", &set]).ended(0);
    there.run("ip", &["link", "del", "pbtest0"]);
    let why = there.powerband(&desk, &["undo"]).refused(1);
    assert!(why.contains("with the address 02:00:00:00:00:01, and pbtest0 is gone"), "{why}");
    make("02:00:00:00:00:02");
    there.run("ip", &["link", "set", "pbtest0", "txqueuelen", "777"]);
    let why = there.powerband(&desk, &["undo"]).refused(1);
    assert!(why.contains("pbtest0 is another one now, 02:00:00:00:00:02"), "{why}");
    assert_eq!(there.read(queue), "777", "not ours to touch");
    there.powerband(&desk, &["undo", "--force"]).ended(0);
    assert_eq!((there.read(queue).as_str(), desk.turned()), ("777", 0));
}

#[test]
fn the_closing_line_does_not_say_everything_when_something_was_left() {
    if !root() {
        return;
    }
    let there = Namespace::new("closing");
    let make = |address: &str| there.run("ip", &[&PAIR[..], &["address", address, "type", "veth"]].concat());
    make("02:00:00:00:00:01");
    let setting = "b:file:/sys/class/net/pbtest0/tx_queue_len=777";
    let words = format!("try -s a: -s `{setting}` --settle 0 --blocks 2 --warmup 0 -- sh -c");
    let words = split(&words);
    let anew = "ip link del pbtest0; ip link add name pbtest0 address 02:00:00:00:00:02 type veth";
    // A device that is another one after the trial makes the trial void, too.
    for (load, code, said) in [("true", 0, "Everything was restored."), (anew, 6, "RESTORE INCOMPLETE")] {
        let desk = Desk::new();
        let ran = there.powerband(&desk, &[&words[..], &[load]].concat()).ended(code);
        let told = ran.out.replace('\n', " ");
        assert!(told.contains(said), "{}\n{}", ran.out, ran.err);
    }
}
