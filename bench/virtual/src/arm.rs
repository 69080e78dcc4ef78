//! The emulator's command line where the guest is a board: device tree, kernel, first file system, devices.
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arm_board::ArmBoard;
use crate::boot_options::{BootOptions, Cable};
use crate::devices;
use crate::error::{BenchError, Result};
use crate::first_files::{INIT, archive};
use crate::kernel::GuestKernel;
use crate::places::{read, run, stripped_by, write};

/// Kernel, device tree, first file system and devices.
pub(crate) fn words(
    board: &ArmBoard,
    options: &BootOptions,
    kernel: &GuestKernel,
    folder: &Path,
    disk: &Path,
) -> Result<Vec<String>> {
    if !options.tools.is_empty() || options.idle_states {
        let what = "programs of this machine and idle states of a PC";
        return Err(BenchError::Missing(format!("{} takes no {what}", board.name)));
    }
    let program = stripped_by(&format!("{}-strip", board.foreign.gnu), &board.foreign.powerband()?)?;
    let mut programs = vec![("bin/powerband".to_owned(), program)];
    if !board.pci {
        programs.push(("serial".to_owned(), include_bytes!("../guest/serial.sh").to_vec()));
    }
    let busybox = read(&kernel.package_file("bin/busybox"))?;
    let initramfs = folder.join("initramfs");
    write(&initramfs, &archive(INIT, &busybox, &kernel.modules(&board.modules())?, &programs, &options.files))?;
    let trees = kernel.package_file(&format!("usr/lib/linux-image-{}", kernel.release().unwrap_or_default()));
    let (tree, place) = (device_tree(board, folder, &trees)?, folder.display());
    let given = format!(
        "-nodefaults -display none -kernel {} -initrd {} -dtb {} -serial file:{place}/console.log",
        kernel.image().display(),
        initramfs.display(),
        tree.display()
    );
    let mut words = machine(board);
    words.extend(given.split(' ').map(str::to_owned));
    words.extend(devices::paced(folder));
    let first = if board.pci { "init" } else { "serial" };
    let mut line = format!("console={} loglevel=5 panic=0 rdinit=/{first} bench.disk=1", board.console);
    let cable = options.cable.as_ref();
    if let Some(cable) = cable {
        line.push_str(&format!(" bench.address={}/24", cable.address()));
    }
    words.extend(if board.pci {
        devices::pci(folder, disk, cable, cable.map_or("", Cable::hardware_address))
    } else {
        devices::on_board(folder, disk, cable)
    });
    words.extend(["-append".to_owned(), line]);
    Ok(words)
}

fn machine(board: &ArmBoard) -> Vec<String> {
    board.machine.split_whitespace().map(str::to_owned).collect()
}

/// Makes the device tree in a folder; `from_kernel` is where the kernel's package has those of real boards.
fn device_tree(board: &ArmBoard, folder: &Path, from_kernel: &Path) -> Result<PathBuf> {
    let (base, source, made) = (folder.join("base.dtb"), folder.join("tree.dts"), folder.join("tree.dtb"));
    let base = match board.tree {
        Some(name) => from_kernel.join(name),
        None => {
            let mut words = machine(board);
            if let Some(machine) = words.get_mut(1) {
                machine.push_str(&format!(",dumpdtb={}", base.display()));
            }
            run(Command::new(board.emulator).args(words))?;
            base
        }
    };
    let text = run(Command::new("dtc").args(["-q", "-I", "dtb", "-O", "dts"]).arg(base))?;
    write(&source, (text + board.changes).as_bytes())?;
    run(Command::new("dtc").args(["-q", "-I", "dts", "-O", "dtb", "-o"]).args([&made, &source]))?;
    Ok(made)
}
