//! What the emulator gets where the board is a PC: firmware, kernel, first file system, devices.
use std::path::Path;

use crate::board::PcBoard;
use crate::boot_options::BootOptions;
use crate::error::Result;
use crate::first_files::{archive, busybox};
use crate::kernel::{GuestKernel, MODULES};
use crate::{devices, places, tools};

/// Kernel, first file system and devices on the emulator's command line.
pub(crate) fn words(
    options: &BootOptions,
    board: &PcBoard,
    kernel: &GuestKernel,
    folder: &Path,
    disk: &Path,
) -> Result<Vec<String>> {
    let initramfs = folder.join("initramfs");
    let command = ("bin/powerband".to_owned(), places::stripped(&places::powerband()?)?);
    let mut programs = vec![command];
    for tool in &options.tools {
        programs.extend(tools::with_libraries(tool)?);
    }
    // Two tools may share a library.
    programs.sort_by(|a, b| a.0.cmp(&b.0));
    programs.dedup_by(|a, b| a.0 == b.0);
    places::write(&initramfs, &archive(&busybox()?, &kernel.modules(&MODULES)?, &programs, &options.files))?;
    let table = board.compiled(folder)?;
    // Guards against spying cost most of a system call here, and so most of a packet's way.
    let mut line = "bench.disk=1 mitigations=off".to_owned();
    let mut words = machine_words(board.cpus, &table, kernel, &initramfs, folder);
    words.extend(devices::paced(folder));
    words.extend(devices::pci(folder, disk, options.cable.as_ref(), &mut line));
    // On a busy host no tick of the timer may come while the kernel looks whether it works.
    words.extend(["-append".into(), format!("{} no_timer_check {line}", kernel_line())]);
    Ok(words)
}

/// What every guest has: the board, the kernel, four serial ports of which only the first is one.
pub(crate) fn machine_words(
    cpus: usize,
    table: &Path,
    kernel: &GuestKernel,
    initramfs: &Path,
    folder: &Path,
) -> Vec<String> {
    // With another vendor acpi-cpufreq leaves the P-states to drivers of its own.
    let text = format!(
        "-nodefaults -display none -cpu max,vendor=GenuineIntel -M q35 -m 512 -smp {cpus} -acpitable file={} -kernel {} \
         -initrd {} -serial file:{}/console.log -serial null -serial null -serial null",
        table.display(),
        kernel.image().display(),
        initramfs.display(),
        folder.display()
    );
    text.split(' ').map(str::to_owned).collect()
}

/// The kernel's command line. The kernel halts at a panic, so that its last messages can be read.
pub(crate) fn kernel_line() -> &'static str {
    "console=ttyS0 loglevel=5 panic=0 rdinit=/init"
}
