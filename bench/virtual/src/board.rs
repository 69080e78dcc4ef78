//! The board: what the guest's firmware says of P-states and power, generated from a machine file. The values themselves
//! live in scratch registers of serial ports that nobody uses, where the guest writes and the host reads, or the reverse.
use std::path::Path;
use std::process::Command;

use powerband_sim::{IdleStep, PowerSpec, Profile};

use crate::error::{BenchError, Result};
use crate::places::{run, write};

/// Ports that hold the P-states chosen, a CPU each: the scratch registers of the second and third serial port.
pub(crate) const STATE_PORTS: [u16; 2] = [0x2FF, 0x3EF];
/// The port the power meter reads: that of the fourth.
pub(crate) const METER_PORT: u16 = 0x2EF;

/// One P-state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PState {
    /// Clock, kHz.
    pub khz: u32,
    /// What one CPU draws running at it, mW.
    pub power_mw: u64,
}

/// A board with one or two CPUs and a power meter over them.
#[derive(Clone, Debug)]
pub struct PcBoard {
    /// How many CPUs.
    pub cpus: usize,
    /// P-states, the fastest first, as the firmware numbers them.
    pub states: Vec<PState>,
    /// How long a change takes, µs.
    pub latency_us: u32,
    /// What the meter's byte counts in, mW.
    pub meter_step_mw: u64,
    /// Whether the firmware offers idle states.
    pub idle_states: bool,
    pub(crate) power: PowerSpec,
}

/// Idle states of one CPU: C1, which the kernel enters by halting, and C2, entered by reading a port. Nothing sleeps behind
/// that port, so C2 takes so long to leave that the kernel seldom picks it.
const IDLE_STATES: &str = "    Name (_CST, Package (3) { 2,
      Package (4) { ResourceTemplate () { Register (FFixedHW, 1, 2, 0, 1) }, 1, 1, 1000 },
      Package (4) { ResourceTemplate () { Register (SystemIO, 8, 0, 0x2E7) }, 2, 50000, 500 } })
";

impl PcBoard {
    /// The first CPUs of a simulated machine, at most two. The meter covers them and their package, not the rest.
    ///
    /// # Errors
    /// When the machine's driver has no table of clocks, or more clocks than a byte of status can say.
    pub fn new(profile: &Profile) -> Result<Self> {
        let policy = profile.cpufreq.policies.first();
        let mut clocks: Vec<u32> = policy.iter().flat_map(|policy| &policy.table).map(|step| step.khz).collect();
        clocks.sort_unstable_by(|a, b| b.cmp(a));
        clocks.dedup();
        if clocks.is_empty() || clocks.len() > 16 {
            let why =
                format!("a board needs 1 to 16 clocks in a table, and machine '{}' has {}", profile.name, clocks.len());
            return Err(BenchError::Missing(why));
        }
        let power = halting(profile);
        let states: Vec<PState> = clocks
            .iter()
            .map(|&khz| {
                let (running_uw, leakage_uw) = power.at(khz);
                PState { khz, power_mw: (running_uw + leakage_uw) / 1000 }
            })
            .collect();
        let cpus = profile.present.len().min(STATE_PORTS.len());
        let most_mw =
            power.package_uw / 1000 + cpus as u64 * states.iter().map(|state| state.power_mw).max().unwrap_or(0);
        let latency_us = policy.map_or(0, |policy| policy.transition_latency_ns / 1000);
        Ok(PcBoard { cpus, states, latency_us, meter_step_mw: most_mw.div_ceil(250).max(1), idle_states: false, power })
    }

    /// The table the firmware gets, in ACPI's source language.
    #[must_use]
    pub fn source(&self) -> String {
        let mut text = String::from("DefinitionBlock (\"\", \"SSDT\", 2, \"PWRBND\", \"BOARD\", 1)\n{\n");
        for (cpu, port) in STATE_PORTS.iter().enumerate().take(self.cpus) {
            text.push_str(&self.cpu_source(cpu, *port));
        }
        text.push_str(&self.meter_source());
        text.push_str("}\n");
        text
    }

    fn cpu_source(&self, cpu: usize, port: u16) -> String {
        let latency = self.latency_us;
        let states: Vec<String> = self
            .states
            .iter()
            .enumerate()
            .map(|(number, state)| {
                let (mhz, power_mw) = (state.khz / 1000, state.power_mw);
                format!("      Package () {{ {mhz}, {power_mw}, {latency}, {latency}, {number}, {number} }}")
            })
            .collect();
        let (count, states) = (states.len(), states.join(",\n"));
        let idle_states = if self.idle_states { IDLE_STATES } else { "" };
        format!(
            "  External (\\_SB.CPUS.C00{cpu}, DeviceObj)
  Scope (\\_SB.CPUS.C00{cpu})
  {{
    Name (_PCT, Package () {{
      ResourceTemplate () {{ Register (SystemIO, 8, 0, 0x{port:X}, 1) }},
      ResourceTemplate () {{ Register (SystemIO, 8, 0, 0x{port:X}, 1) }} }})
    Name (_PSS, Package ({count}) {{
{states} }})
    Name (_PPC, 0)
    Name (_PSD, Package () {{ Package () {{ 5, 0, {cpu}, 0xFC, 1 }} }})
{idle_states}  }}\n"
        )
    }

    fn meter_source(&self) -> String {
        let covered: Vec<String> = (0..self.cpus).map(|cpu| format!("\\_SB.CPUS.C00{cpu}")).collect();
        let (covered, step_mw) = (covered.join(", "), self.meter_step_mw);
        // _PMC: measures, in mW, what goes in, exact, the mean of each 100 ms; no limit to set.
        format!(
            "  Device (\\_SB.PMTR)
  {{
    Name (_HID, \"ACPI000D\")
    OperationRegion (PORT, SystemIO, 0x{METER_PORT:X}, 1)
    Field (PORT, ByteAcc, NoLock, Preserve) {{ DRAW, 8 }}
    Method (_STA) {{ Return (0x0F) }}
    Name (_PMC, Package () {{ 1, 0, 0, 100000, 100, 100, 100, 0, 0, 0, 0, \"virtual\", \"1\", \"powerband\" }})
    Method (_PMM) {{ Return (DRAW * {step_mw}) }}
    Method (_GAI) {{ Return (100) }}
    Method (_PMD) {{ Return (Package () {{ {covered} }}) }}
  }}\n"
        )
    }

    /// Compiles the table into `folder` and answers the file.
    pub(crate) fn compiled(&self, folder: &Path) -> Result<std::path::PathBuf> {
        let source = folder.join("board.asl");
        write(&source, self.source().as_bytes())?;
        run(Command::new("iasl").current_dir(folder).args(["-p", "board", "board.asl"]))?;
        Ok(folder.join("board.aml"))
    }

    /// What all of it draws over `window_ns`, given each CPU's clock and how long it ran, mW.
    pub(crate) fn draw_mw(&self, cpus: &[(u32, u64)], window_ns: u64) -> u64 {
        let mut energy_fj = 0;
        let mut awake_ns = 0;
        for &(khz, busy_ns) in cpus {
            let busy_ns = busy_ns.min(window_ns);
            let at = self.power.at(khz);
            energy_fj += self.power.awake_fj(at, busy_ns, 0) + self.power.asleep_fj(at, 0, window_ns - busy_ns);
            awake_ns = busy_ns.max(awake_ns);
        }
        energy_fj += self.power.package_awake_fj(awake_ns) + self.power.package_asleep_fj(0, window_ns - awake_ns);
        u64::try_from(energy_fj / u128::from(window_ns.max(1)) / 1000).unwrap_or(u64::MAX)
    }

    /// The clock of the table nearest to a mean of clocks, kHz.
    pub(crate) fn nearest_khz(&self, mean_khz: u32) -> u32 {
        let clocks = self.states.iter().map(|state| state.khz);
        clocks.min_by_key(|khz| khz.abs_diff(mean_khz)).unwrap_or(mean_khz)
    }

    /// What the meter's byte says for a power: the nearest it can.
    pub(crate) fn meter_byte(&self, power_mw: u64) -> u8 {
        u8::try_from((power_mw + self.meter_step_mw / 2) / self.meter_step_mw).unwrap_or(u8::MAX)
    }
}

/// What a machine draws whose idle CPUs halt and never come to a deeper state: the guest's kernel has no driver for those.
fn halting(profile: &Profile) -> PowerSpec {
    let mut power = profile.power.clone();
    if let Some(idle) = &profile.idle {
        let halted = idle.states.iter().position(|state| !state.polls).and_then(|at| power.idle.get(at));
        power.idle = halted.map(|step| IdleStep { after_ns: 0, ..step.clone() }).into_iter().collect();
        power.package_idle_after_ns = u64::MAX;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quadcore() -> PcBoard {
        PcBoard::new(&Profile::builtin("quadcore").unwrap()).unwrap()
    }

    #[test]
    fn a_board_has_the_machines_clocks_fastest_first() {
        let board = quadcore();
        assert_eq!(board.cpus, 2);
        let clocks: Vec<u32> = board.states.iter().map(|state| state.khz).collect();
        assert_eq!(clocks, [2_400_000, 2_133_000, 1_867_000, 1_600_000]);
        assert!(board.states.windows(2).all(|pair| pair[0].power_mw > pair[1].power_mw));
        assert!(board.source().contains("Package () { 2133, "));
    }

    #[test]
    fn the_meter_follows_clock_and_work_and_fits_its_byte() {
        let board = quadcore();
        let draw = |khz, busy_ns| board.draw_mw(&[(khz, busy_ns), (1_600_000, 0)], 1_000_000);
        assert!(draw(2_400_000, 1_000_000) > draw(1_600_000, 1_000_000));
        assert!(draw(2_400_000, 1_000_000) > draw(2_400_000, 500_000));
        assert!(draw(2_400_000, 500_000) > draw(2_400_000, 0));
        let most = board.draw_mw(&[(2_400_000, 9_000_000), (2_400_000, 1_000_000)], 1_000_000);
        assert!((200..=250).contains(&board.meter_byte(most)), "{most} mW");
    }
}
