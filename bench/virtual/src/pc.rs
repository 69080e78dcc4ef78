//! What the emulator gets where the board is a PC: firmware, kernel, first file system, devices.
use std::path::{Path, PathBuf};

use crate::boot_options::{BootOptions, Cable};
use crate::error::Result;
use crate::first_files::{COPIED, INIT, archive, busybox};
use crate::kernel::MODULES;
use crate::{devices, places, tools};

/// A PC's memory, MiB.
pub(crate) const MEMORY: u32 = 512;

/// The files of a machine, and what the emulator needs to know of it besides them.
#[derive(Debug)]
pub(crate) struct Made {
    table: PathBuf,
    image: PathBuf,
    initramfs: PathBuf,
    cpus: usize,
}

impl Made {
    /// Makes them in a folder.
    pub(crate) fn of(options: &BootOptions, folder: &Path) -> Result<Made> {
        let (board, kernel) = (options.pc()?, options.kernel()?);
        let initramfs = folder.join("initramfs");
        let command = ("bin/powerband".to_owned(), places::stripped(&places::powerband()?)?);
        let mut programs = vec![command];
        for tool in &options.tools {
            programs.extend(tools::with_libraries(tool)?);
        }
        // Two tools may share a library.
        programs.sort_by(|a, b| a.0.cmp(&b.0));
        programs.dedup_by(|a, b| a.0 == b.0);
        // What follows is done by each copy; see `booted`.
        let init = INIT.replacen(COPIED.0, &[COPIED.1, COPIED.0].concat(), 1);
        let modules = kernel.modules(&MODULES)?;
        places::write(&initramfs, &archive(&init, &busybox()?, &modules, &programs, &options.files))?;
        Ok(Made { table: board.compiled(folder)?, image: kernel.unpacked(), initramfs, cpus: board.cpus })
    }

    /// Kernel, first file system and devices on the emulator's command line.
    pub(crate) fn words(&self, cable: Option<&Cable>, folder: &Path, disk: &Path) -> Vec<String> {
        // Guards against spying cost most of a system call here, and so most of a packet's way.
        let line = format!("bench.cable={} mitigations=off", u8::from(cable.is_some()));
        let mut words = machine_words(self.cpus, &self.table, &self.image, &self.initramfs, folder);
        words.extend(devices::paced(folder));
        words.extend(devices::pci(folder, disk, cable, Cable::Open.hardware_address()));
        // Copies of one machine draw the same numbers unless they learn that they are copies.
        words.extend(["-device", "vmgenid,guid=auto"].map(str::to_owned));
        // On a busy host no tick of the timer may come while the kernel looks whether it works.
        words.extend(["-append".into(), format!("{} no_timer_check {line}", kernel_line())]);
        words
    }
}

/// What every guest has: the board, the kernel, four serial ports of which only the first is one.
pub(crate) fn machine_words(cpus: usize, table: &Path, image: &Path, initramfs: &Path, folder: &Path) -> Vec<String> {
    // With another vendor acpi-cpufreq leaves the P-states to drivers of its own.
    let text = format!(
        "-nodefaults -display none -cpu max,vendor=GenuineIntel -M q35 -m {MEMORY} -smp {cpus} -acpitable file={} -kernel {} \
         -initrd {} -serial file:{}/console.log -serial null -serial null -serial null",
        table.display(),
        image.display(),
        initramfs.display(),
        folder.display()
    );
    text.split(' ').map(str::to_owned).collect()
}

/// The kernel's command line. The kernel halts at a panic, so that its last messages can be read.
pub(crate) fn kernel_line() -> &'static str {
    "console=ttyS0 loglevel=5 panic=0 rdinit=/init"
}
