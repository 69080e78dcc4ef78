//! The processor of a guest, whatever board it is on: which frequencies it has, and which it runs at, read from outside.
use crate::arm_board::ArmBoard;
use crate::board::{METER_PORT, PcBoard, STATE_PORTS};
use crate::error::Result;
use crate::qmp::Qmp;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) enum Chip {
    /// A PC's, with a power meter.
    Pc(PcBoard),
    /// A board's, which nothing meters.
    Arm(&'static ArmBoard),
}

impl Chip {
    /// How many CPUs.
    pub(crate) fn cpus(&self) -> usize {
        match self {
            Chip::Pc(board) => board.cpus,
            Chip::Arm(board) => board.cpus,
        }
    }

    /// The highest frequency, kHz.
    pub(crate) fn top_khz(&self) -> u32 {
        match self {
            Chip::Pc(board) => board.states[0].khz,
            Chip::Arm(board) => board.frequencies_khz[0],
        }
    }

    /// The frequency of every CPU now, kHz.
    pub(crate) fn khz(&self, qmp: &mut Qmp) -> Result<Vec<u32>> {
        match self {
            // While the guest boots its serial driver tries these registers out.
            Chip::Pc(board) => STATE_PORTS
                .iter()
                .take(board.cpus)
                .map(|port| Ok(board.states.get(usize::from(qmp.port(*port)?)).unwrap_or(&board.states[0]).khz))
                .collect(),
            Chip::Arm(board) => Ok(vec![board.khz(qmp)?; board.cpus]),
        }
    }

    /// The P-state of a frequency, 0 the fastest; the number of states where it is none of them.
    pub(crate) fn state(&self, khz: u32) -> u8 {
        let at = match self {
            Chip::Pc(board) => board.states.iter().position(|state| state.khz == khz).unwrap_or(board.states.len()),
            Chip::Arm(board) => {
                board.frequencies_khz.iter().position(|it| *it == khz).unwrap_or(board.frequencies_khz.len())
            }
        };
        u8::try_from(at).unwrap_or(u8::MAX)
    }

    /// Shows what the CPUs draw, given each one's mean frequency and how long it ran; `fixed_mw` in place of that. Answers what
    /// is shown, mW: 0 without a meter.
    pub(crate) fn show_power(
        &self,
        qmp: &mut Qmp,
        cpus: &[(u32, u64)],
        window_ns: u64,
        fixed_mw: Option<u64>,
    ) -> Result<u64> {
        let Chip::Pc(board) = self else { return Ok(0) };
        let cpus: Vec<(u32, u64)> = cpus.iter().map(|(khz, busy_ns)| (board.nearest_khz(*khz), *busy_ns)).collect();
        let byte = board.meter_byte(fixed_mw.unwrap_or_else(|| board.draw_mw(&cpus, window_ns)));
        qmp.set_port(METER_PORT, byte)?;
        Ok(u64::from(byte) * board.meter_step_mw)
    }
}
