//! The architectures that powerband is built for: what the build of another one than this machine's needs, and what runs its programs here.
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::cargo::{output, succeeds};

/// One of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Architecture {
    /// Debian's name of it, which packages carry.
    pub(crate) debian: &'static str,
    /// Rust's.
    pub(crate) triple: &'static str,
    /// The kernel's, as `uname -m` prints it.
    pub(crate) machine: &'static str,
    /// What Debian's cross compiler for it begins with.
    gnu: &'static str,
    /// The user-mode emulator that runs its programs elsewhere.
    pub(crate) emulator: &'static str,
    /// What a build of it elsewhere calls: the compiler, and the C library's static half.
    cross: [&'static str; 2],
}

pub(crate) const ALL: [Architecture; 3] = [
    Architecture {
        debian: "amd64",
        triple: "x86_64-unknown-linux-gnu",
        machine: "x86_64",
        gnu: "x86_64-linux-gnu",
        emulator: "qemu-x86_64-static",
        cross: ["x86_64-linux-gnu-gcc", "x86_64-linux-gnu/libc.a"],
    },
    Architecture {
        debian: "arm64",
        triple: "aarch64-unknown-linux-gnu",
        machine: "aarch64",
        gnu: "aarch64-linux-gnu",
        emulator: "qemu-aarch64-static",
        cross: ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu/libc.a"],
    },
    Architecture {
        debian: "armhf",
        triple: "armv7-unknown-linux-gnueabihf",
        machine: "armv7l",
        gnu: "arm-linux-gnueabihf",
        emulator: "qemu-arm-static",
        cross: ["arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf/libc.a"],
    },
];

/// The one of this name, Debian's or Rust's, behind `option`.
///
/// # Errors
/// When there is none.
pub(crate) fn named(option: &str, name: &str) -> Result<&'static Architecture> {
    let found = ALL.iter().find(|it| it.debian == name || it.triple == name);
    let names = ALL.map(|it| it.debian).join(", ");
    found.with_context(|| format!("{option} takes one of {names}, not '{name}'"))
}

impl Architecture {
    /// Whether this machine's own programs are of it.
    pub(crate) fn is_here(&self) -> bool {
        self.triple.starts_with(std::env::consts::ARCH)
    }

    /// A program of it, run here.
    pub(crate) fn run(&self, program: &Path) -> Command {
        if self.is_here() {
            return Command::new(program);
        }
        let mut command = Command::new(self.emulator);
        command.arg(program);
        command
    }

    /// Programs that building for it, or trying what was built, calls. Debian has all emulators in one package.
    pub(crate) fn needs(&self) -> Vec<&'static str> {
        let here = ["cc"].into_iter();
        if self.is_here() { here.collect() } else { here.chain(self.cross).chain(["qemu-arm-static"]).collect() }
    }

    /// Has a cargo build for it: sets the target, the linker and the emulator that `cargo test` and `cargo run` start programs
    /// with. Fetches Rust's library for it with rustup where it is not there.
    ///
    /// # Errors
    /// When there is no library of Rust for it.
    pub(crate) fn target(&self, cargo: &mut Command) -> Result<()> {
        let triple = self.triple;
        with_library(triple)?;
        cargo.args(["--target", triple]);
        if self.is_here() {
            return Ok(());
        }
        let (compiler, upper) = (format!("{}-gcc", self.gnu), triple.to_uppercase().replace('-', "_"));
        cargo.env(format!("CC_{}", triple.replace('-', "_")), &compiler);
        cargo.env(format!("CARGO_TARGET_{upper}_LINKER"), &compiler);
        cargo.env(format!("CARGO_TARGET_{upper}_RUNNER"), self.emulator);
        if self.debian == "armhf" {
            // GNU ld puts glibc's resolvers of functions out of a Thumb branch's reach: the program crashes before main.
            let folder = format!("{}/lib/rustlib/{}/bin/gcc-ld", sysroot()?, host()?);
            let flags = format!("-Clink-arg=-B{folder} -Clink-arg=-fuse-ld=lld");
            cargo.env(format!("CARGO_TARGET_{upper}_RUSTFLAGS"), flags);
        }
        Ok(())
    }
}

/// Fetches Rust's library for a target with rustup where it is not there.
fn with_library(triple: &str) -> Result<()> {
    let folder = output(Command::new("rustc").args(["--print", "target-libdir", "--target", triple]))?;
    if std::fs::read_dir(folder.trim()).is_ok() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", triple]).stdin(Stdio::null());
    ensure!(succeeds(&mut rustup)?, "there is no library of Rust for {triple}; type: rustup target add {triple}");
    Ok(())
}

fn sysroot() -> Result<String> {
    Ok(output(Command::new("rustc").args(["--print", "sysroot"]))?.trim().to_owned())
}

fn host() -> Result<String> {
    let printed = output(Command::new("rustc").arg("-vV"))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name this machine")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_architecture_brings_its_compiler_and_its_c_library() {
        for architecture in &ALL {
            let needs = architecture.needs();
            assert_eq!(needs.len(), if architecture.is_here() { 1 } else { 4 }, "{needs:?}");
            assert!(architecture.cross.iter().all(|it| it.starts_with(architecture.gnu)), "{architecture:?}");
        }
    }
}
