//! Where both ends of a pair are: on loopback, or in two network namespaces on one cable, made for this and removed after.
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Where a pair runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Loopback,
    Namespaces,
}

/// Names and addresses of the two ends.
const ENDS: [(&str, &str); 2] = [("pb-peers-near", "10.231.0.1"), ("pb-peers-far", "10.231.0.2")];

/// CPUs of the two ends of a stream, and of the thread whose wakings are measured and the one that waits for it.
pub(crate) const CPUS: [&str; 2] = ["1", "0"];

impl Place {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Loopback => "loopback",
            Place::Namespaces => "namespaces",
        }
    }

    pub(crate) fn named(name: &str) -> Place {
        if name == "loopback" { Place::Loopback } else { Place::Namespaces }
    }

    /// Address of the near end, where servers are.
    pub(crate) fn address(self) -> &'static str {
        match self {
            Place::Loopback => "127.0.0.1",
            Place::Namespaces => ENDS[0].1,
        }
    }

    /// A command at the near end (0) or the far one (1).
    pub(crate) fn command(self, end: usize, program: &str) -> Command {
        match self {
            Place::Loopback => Command::new(program),
            Place::Namespaces => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", ENDS[end].0, program]);
                command
            }
        }
    }

    /// The same on a CPU of that end's own: where the scheduler puts two that pass each other gigabytes is half their rate,
    /// differs from trial to trial, and is nothing of theirs.
    pub(crate) fn bound(self, end: usize, program: &str) -> Command {
        let inner = self.command(end, program);
        let mut command = Command::new("taskset");
        command.args(["-c", CPUS[end]]).arg(inner.get_program()).args(inner.get_args());
        command
    }
}

/// Two namespaces and their cable, while this lives.
#[derive(Debug)]
pub(crate) struct Namespaces(());

impl Namespaces {
    pub(crate) fn new() -> Result<Self> {
        // What an earlier run left that was killed.
        remove();
        let made = Namespaces(());
        for (name, _) in ENDS {
            ip(&["netns", "add", name])?;
        }
        ip(&[
            "link",
            "add",
            "pb-peers0",
            "netns",
            ENDS[0].0,
            "type",
            "veth",
            "peer",
            "name",
            "pb-peers0",
            "netns",
            ENDS[1].0,
        ])?;
        for (name, address) in ENDS {
            ip(&["-n", name, "address", "add", &format!("{address}/24"), "dev", "pb-peers0"])?;
            ip(&["-n", name, "link", "set", "pb-peers0", "up"])?;
            ip(&["-n", name, "link", "set", "lo", "up"])?;
        }
        Ok(made)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        remove();
    }
}

fn remove() {
    for (name, _) in ENDS {
        let _ = Command::new("ip").args(["netns", "delete", name]).output();
    }
}

fn ip(words: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(words).output().context("cannot start ip; apt-get install iproute2")?;
    ensure!(output.status.success(), "ip {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
