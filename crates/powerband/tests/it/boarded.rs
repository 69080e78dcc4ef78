//! Boards with busybox alone at a console, which an agent is copied to through their shell.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::cabled::sh;
use crate::desk::{Desk, Ran, root, text, typical, until};

/// A desk with the command and an agent next to each other, as they are installed; and a folder that holds a board's files.
struct Board {
    desk: Desk,
    files: PathBuf,
}

impl Board {
    /// Without some of busybox's programs, and with a command around all that runs there. `None` without root.
    fn new(missing: &[&str], around: &str) -> Option<Board> {
        if !root() {
            return None;
        }
        let desk = Desk::new();
        let files = desk.beside("board");
        let at = files.display();
        sh(&format!(
            "mkdir -p {at}/bin {at}/proc {at}/dev {at}/tmp {at}/etc {at}/var
             cp $(command -v busybox) {at}/bin/busybox; chroot {at} /bin/busybox --install -s /bin
             mknod {at}/dev/null c 1 3; echo there > {at}/etc/knob"
        ));
        for program in missing {
            fs::remove_file(files.join("bin").join(program)).unwrap();
        }
        let command = Path::new(env!("CARGO_BIN_EXE_powerband"));
        let agent = command.with_file_name("powerband-agent");
        // Its names of functions are ten times its size, and a console is no fast way.
        let agent = if agent.exists() { agent } else { command.to_owned() };
        let bin = desk.beside("bin");
        fs::create_dir(&bin).unwrap();
        sh(&format!(
            "cp {} {2}/powerband; strip -o {2}/powerband-agent {1}",
            command.display(),
            agent.display(),
            bin.display()
        ));
        // Its processes are its own: a machine goes on when the line to its console is cut. So is its network, by which one powerband
        // waits for another of the same kernel.
        let script = format!(
            "#!/bin/sh\nexec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin {around} unshare --mount --net sh -c \
             'mount -t proc none {at}/proc && exec chroot {at} /bin/sh -i'\n"
        );
        fs::write(bin.join("console"), script).unwrap();
        sh(&format!("chmod 755 {}/console", bin.display()));
        Some(Board { desk, files })
    }

    /// As a console's line, which echoes, prompts and ends nobody's input.
    fn name(&self) -> String {
        format!("sh+agent:script -qfc {} /dev/null", self.desk.beside("bin/console").display())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.desk.beside("bin/powerband"));
        command.args(["--machine", &self.name()]).args(words);
        self.desk.furnish(&mut command);
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.command(words).output().unwrap())
    }

    fn listed(&self) -> String {
        sh(&format!("cd {}; find . -xdev -path ./proc -prune -o -print | LC_ALL=C sort", self.files.display()))
    }

    fn knob(&self) -> String {
        text(&self.files.join("etc/knob"))
    }
}

#[test]
fn a_board_with_busybox_alone_is_measured_over_its_console_and_keeps_nothing() {
    let Some(board) = Board::new(&[], "") else { return };
    let before = board.listed();
    let words = ["--json", "try", "-s", "a:", "-s", "b:file:/etc/knob=7", "--settle", "0", "--warmup", "0"];
    let words = [&words[..], &["--blocks", "2", "--load", "counter", "--for", "0.2s"]].concat();
    let report = board.run(&words).ended(0).report();
    assert_eq!(report.settings.len(), 2);
    assert!(typical(&report, "b", "count") > 0.0, "built-in work runs there");
    assert_eq!((board.listed(), board.knob()), (before, "there\n".to_owned()));
}

#[test]
fn a_board_without_decoders_gets_one_too() {
    let Some(board) = Board::new(&["base64", "gunzip", "mktemp", "setsid"], "") else { return };
    let before = board.listed();
    let ran = board.run(&["with", "file:/etc/knob=8", "--", "cat", "/etc/knob"]).ended(0);
    assert_eq!((ran.out.as_str(), board.listed(), board.knob()), ("8\n", before, "there\n".to_owned()));
}

#[test]
fn a_killed_owner_leaves_a_board_as_it_was() {
    let Some(board) = Board::new(&[], "") else { return };
    let before = board.listed();
    let mut child = board.command(&["with", "file:/etc/knob=9", "--", "sleep", "1000"]).spawn().unwrap();
    until("it is set", || board.knob() == "9\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
    until("the board is as it was", || board.knob() == "there\n" && board.listed() == before);
}

#[test]
fn an_agent_for_another_machine_is_asked_for_by_name() {
    let Some(board) = Board::new(&[], "setarch i686") else { return };
    let before = board.listed();
    let why = board.run(&["info"]).refused(4);
    assert!(why.contains("powerband-agent-i686"), "{why}");
    until("the shell has gone", || board.listed() == before);
}
