//! Boards with ARM processors: their frequencies, the register of the PLL that their CPUs run by, and what is built and loaded for them.
use crate::debian::Foreign;
use crate::error::{BenchError, Result};
use crate::qmp::Qmp;

/// One of them. Every CPU runs at the same frequency.
#[derive(Debug, PartialEq, Eq)]
pub struct ArmBoard {
    /// How the bench calls it.
    pub name: &'static str,
    /// How many CPUs.
    pub cpus: usize,
    /// Frequencies its CPUs may have, kHz, the fastest first.
    pub frequencies_khz: &'static [u32],
    /// What is built for it.
    pub(crate) foreign: &'static Foreign,
    /// The emulator.
    pub(crate) emulator: &'static str,
    /// The emulator's options for the machine.
    pub(crate) machine: &'static str,
    /// The device tree's file in the kernel's package; `None`: the emulator makes it.
    pub(crate) tree: Option<&'static str>,
    /// Source that is added to it.
    pub(crate) changes: &'static str,
    /// Address of the PLL's register.
    register: u64,
    /// The number that the PLL multiplies by: that of the register, and this.
    adds: u32,
    /// The kernel's console.
    pub(crate) console: &'static str,
    /// Whether its disk, ports and card are those of a PC, by virtio and PCI.
    pub(crate) pci: bool,
    /// What its kernel loads, in front of the governors.
    modules: &'static [&'static str],
}

/// Governors and the driver that sets a PLL.
const CPUFREQ: [&str; 5] =
    ["cpufreq_ondemand", "cpufreq_conservative", "cpufreq_powersave", "cpufreq_userspace", "cpufreq-dt"];

/// Disk, ports and card of a board with PCI.
const PCI: &[&str] = &["virtio_pci", "virtio_blk", "virtio_console", "crc32c_generic", "ext4", "e1000e"];

const BOARDS: [ArmBoard; 3] = [
    ArmBoard {
        name: "orangepi-pc",
        cpus: 4,
        frequencies_khz: &[1_008_000, 816_000, 648_000],
        foreign: &Foreign::ARMHF,
        emulator: "qemu-system-arm",
        machine: "-M orangepi-pc -m 1G -smp 4",
        tree: Some("sun8i-h3-orangepi-pc.dtb"),
        changes: include_str!("../guest/orangepi-pc.dts"),
        register: 0x01c2_0000,
        adds: 1,
        console: "ttyS0,115200",
        pci: false,
        modules: &["crc32c_generic", "ext4", "sunxi-mmc", "realtek", "mdio-mux", "dwmac-sun8i"],
    },
    ArmBoard {
        name: "virt-armhf",
        cpus: 2,
        frequencies_khz: &[600_000, 552_000, 504_000, 252_000, 126_000],
        foreign: &Foreign::ARMHF,
        emulator: "qemu-system-arm",
        machine: "-M virt,gic-version=2,highmem=off -cpu cortex-a15 -m 512 -smp 2 \
                  -device loader,addr=0x5ff00000,data=0x90001510,data-len=4",
        tree: None,
        changes: include_str!("../guest/virt-armhf.dts"),
        register: 0x5ff0_0000,
        adds: 0,
        console: "ttyAMA0",
        pci: true,
        modules: PCI,
    },
    ArmBoard {
        name: "virt-arm64",
        cpus: 2,
        frequencies_khz: &[1_008_000, 816_000, 648_000, 480_000],
        foreign: &Foreign::ARM64,
        emulator: "qemu-system-aarch64",
        // In the second register the CPUs are on that PLL. Its lock bit is set, or the driver would wait for it.
        machine: "-M virt,gic-version=2 -cpu cortex-a53 -m 512 -smp 2 \
                  -device loader,addr=0x5ff00000,data=0x90001410,data-len=4 \
                  -device loader,addr=0x5ff00050,data=0x20000,data-len=4",
        tree: None,
        changes: include_str!("../guest/virt-arm64.dts"),
        register: 0x5ff0_0000,
        adds: 1,
        console: "ttyAMA0",
        pci: true,
        modules: PCI,
    },
];

/// What the crystal before a PLL gives, kHz.
const CRYSTAL_KHZ: u32 = 24_000;

impl ArmBoard {
    /// The board of a name, if it is one.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static ArmBoard> {
        const ALL: &[ArmBoard] = &BOARDS;
        ALL.iter().find(|board| board.name == name)
    }

    /// What its kernel loads.
    pub(crate) fn modules(&self) -> Vec<&'static str> {
        self.modules.iter().chain(&CPUFREQ).copied().collect()
    }

    /// The frequency of its CPUs by the PLL's register, read past everything in the guest, kHz.
    pub(crate) fn khz(&self, qmp: &mut Qmp) -> Result<u32> {
        let command = format!("xp /1wx {:#x}", self.register);
        let answer = qmp.monitor(&command)?;
        let value = answer.rsplit_once("0x").and_then(|(_, digits)| u32::from_str_radix(digits.trim(), 16).ok());
        value.map(|value| self.decoded(value)).ok_or(BenchError::Emulator { command, answer })
    }

    /// Numbers N, K, M and P of an Allwinner PLL: 24 MHz · N · (K + 1) / (M + 1) / 2^P. N counts from 1 in the newer ones.
    fn decoded(&self, register: u32) -> u32 {
        let bits = |from: u32, count: u32| register >> from & ((1 << count) - 1);
        (CRYSTAL_KHZ * (bits(8, 5) + self.adds) * (bits(4, 2) + 1) / (bits(0, 2) + 1)) >> bits(16, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_decoded() {
        let khz = |name: &str, register| ArmBoard::named(name).unwrap().decoded(register);
        for (register, expected) in [(0x9000_1a00, 648_000), (0x9000_1010, 816_000), (0x9000_1410, 1_008_000)] {
            assert_eq!(khz("orangepi-pc", register), expected);
            assert_eq!(khz("virt-arm64", register), expected);
        }
        assert_eq!((khz("virt-armhf", 0x9000_1510), khz("virt-armhf", 0x9002_1500)), (1_008_000, 126_000));
        assert_eq!(ArmBoard::named("quadcore"), None);
    }

    #[test]
    fn frequencies_go_down() {
        assert!(BOARDS.iter().all(|board| board.frequencies_khz.windows(2).all(|pair| pair[0] > pair[1])));
    }
}
