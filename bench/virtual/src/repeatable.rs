//! A guest whose time is counted in instructions: the same script takes the same steps at the same times, run after run.
//! It has one CPU whose speed does not follow its clock, no disk, no cable and nobody to talk to.
use std::path::Path;
use std::time::{Duration, Instant};

use crate::board::PcBoard;
use crate::boot_options::BootOptions;
use crate::emulator::{Kept, PC_EMULATOR};
use crate::error::Result;
use crate::first_files::{INIT, archive, busybox};
use crate::kernel::MODULES;
use crate::pc::{kernel_line, machine_words};
use crate::places;

/// How long boot and script may take, on a host with little to spare.
const WHOLE: Duration = Duration::from_secs(1800);

/// Boots a guest in which time is counted, runs a script in it, and answers what the script printed on the console.
///
/// # Errors
/// When something is missing on this machine, or the script did not end well in time.
pub fn run_counted(options: &BootOptions, script: &str) -> Result<String> {
    let board = board(options)?;
    let kernel = options.kernel()?;
    let folder = Kept::make()?;
    // Without the command, which no script here needs: how long the guest takes to unpack its files, and with it when every
    // later tick falls, must not change with each build of it.
    let initramfs = folder.path().join("initramfs");
    places::write(&initramfs, &archive(INIT, &busybox()?, &kernel.modules(&MODULES)?, &[], &files(options, script)))?;
    let table = board.compiled(folder.path())?;
    let words = words(&table, kernel.image(), &initramfs, folder.path());
    let emulator = folder.start(PC_EMULATOR, &words)?;
    let deadline = Instant::now() + WHOLE;
    while emulator.lives() {
        if Instant::now() > deadline {
            return Err(emulator.failed("the script did not end in time"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let console = emulator.console();
    printed(&console).map(str::to_owned).ok_or_else(|| emulator.failed("the script did not end well"))
}

/// Everything of this workspace that decides what [`run_counted`] answers: the emulator's words, the firmware's table and the
/// guest's files. Kernel, busybox and emulator are this machine's and not among it.
///
/// # Errors
/// When the machine of the options has no board.
pub fn counted_inputs(options: &BootOptions, script: &str) -> Result<Vec<u8>> {
    let words = words(Path::new("table"), Path::new("kernel"), Path::new("initramfs"), Path::new("folder"));
    let modules: Vec<(String, Vec<u8>)> = MODULES.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
    let files = archive(INIT, &[], &modules, &[], &files(options, script));
    Ok([words.join(" ").into_bytes(), board(options)?.source().into_bytes(), files].concat())
}

fn board(options: &BootOptions) -> Result<PcBoard> {
    Ok(PcBoard { cpus: 1, ..options.pc()? })
}

fn files(options: &BootOptions, script: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = options.files.clone();
    files.push(("script".into(), script.as_bytes().to_vec()));
    files
}

/// The emulator's command line. An instruction takes 2 ns. Everything that would bring in this machine's time or chance is
/// fixed.
fn words(table: &Path, kernel: &Path, initramfs: &Path, folder: &Path) -> Vec<String> {
    let mut words = machine_words(1, table, kernel, initramfs, folder);
    let counted = "-accel tcg,thread=single -icount shift=1,sleep=off,align=off -rtc base=2020-01-01,clock=vm -seed 1 \
                   -nic none -no-reboot";
    words.extend(counted.split(' ').map(str::to_owned));
    words.extend(["-append".to_owned(), format!("{} nokaslr", kernel_line())]);
    words
}

/// What stands on the console between the marks around a script that ended well.
fn printed(console: &str) -> Option<&str> {
    let (_, rest) = console.split_once("bench: begin\n")?;
    rest.split_once("bench: end 0\n").map(|(printed, _)| printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_output_of_a_script_that_ended_well_counts() {
        assert_eq!(printed("[1] boot\nbench: begin\na\nb\nbench: end 0\n[9] down\n"), Some("a\nb\n"));
        for console in ["bench: begin\na\nbench: end 1\n", "bench: begin\na\n", "a\n"] {
            assert_eq!(printed(console), None, "{console}");
        }
    }
}
