//! What to boot: a PC or a board, its kernel, its cable, and what it gets of files and programs.
use std::path::{Path, PathBuf};

use powerband_sim::Profile;

use crate::arm_board::ArmBoard;
use crate::board::PcBoard;
use crate::error::{BenchError, Result};
use crate::kernel::GuestKernel;
use crate::places;

/// Where a guest's cable lies in its folder.
pub(crate) const CABLE: &str = "cable.sock";

/// The cable of a guest's network card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cable {
    /// One whose other end is free; a second guest may come to it. `eth0` is 10.0.0.1/24.
    Open,
    /// The free end of another guest's, by [`crate::Guest::cable`]. `eth0` is 10.0.0.2/24.
    Into(PathBuf),
}

impl Cable {
    pub(crate) fn address(&self) -> &'static str {
        match self {
            Cable::Open => "10.0.0.1",
            Cable::Into(_) => "10.0.0.2",
        }
    }

    pub(crate) fn hardware_address(&self) -> &'static str {
        match self {
            Cable::Open => "52:54:00:70:62:01",
            Cable::Into(_) => "52:54:00:70:62:02",
        }
    }
}

/// What a guest is.
#[derive(Clone, Debug)]
pub enum Hardware {
    /// A PC with the clocks and the power of a simulated machine.
    Pc(Box<Profile>),
    /// A board that the emulator has itself.
    Board(&'static ArmBoard),
}

/// What to boot.
#[derive(Clone, Debug)]
pub struct BootOptions {
    /// What the guest is.
    pub hardware: Hardware,
    /// An image to boot in place of Debian's kernel, see [`GuestKernel::built`].
    pub kernel: Option<GuestKernel>,
    /// A network card with a cable, if it has one.
    pub cable: Option<Cable>,
    /// Whether its firmware offers idle states; without them an idle CPU halts.
    pub idle_states: bool,
    /// Files put into the guest before it boots: path and bytes. Its folder must be one the guest has.
    pub files: Vec<(String, Vec<u8>)>,
    /// Programs of this machine that the guest has too, with their libraries.
    pub tools: Vec<String>,
}

impl BootOptions {
    /// A machine by the name of a board, by its name in `machines/sim` or the path of its file; Debian's kernel, no cable, no
    /// idle states, no files.
    ///
    /// # Errors
    /// When there is no such machine.
    pub fn machine(name: &str) -> Result<Self> {
        let hardware = if let Some(board) = ArmBoard::named(name) {
            Hardware::Board(board)
        } else if name.contains(['/', '.']) {
            let text = places::read(Path::new(name))?;
            Hardware::Pc(Box::new(Profile::parse(&String::from_utf8_lossy(&text))?))
        } else {
            Hardware::Pc(Box::new(Profile::builtin(name)?))
        };
        Ok(BootOptions {
            hardware,
            kernel: None,
            cable: None,
            idle_states: false,
            files: Vec::new(),
            tools: Vec::new(),
        })
    }

    /// The kernel to boot.
    pub(crate) fn kernel(&self) -> Result<GuestKernel> {
        match (&self.kernel, &self.hardware) {
            (Some(kernel), _) => Ok(kernel.clone()),
            (None, Hardware::Pc(_)) => GuestKernel::get(),
            (None, Hardware::Board(board)) => GuestKernel::foreign(board.foreign),
        }
    }

    /// Whether it is a PC, on which programs of this machine run.
    #[must_use]
    pub fn is_pc(&self) -> bool {
        matches!(self.hardware, Hardware::Pc(_))
    }

    /// Where it is a PC, its board.
    ///
    /// # Errors
    /// When it is none, or the machine's clocks fit no board.
    pub(crate) fn pc(&self) -> Result<PcBoard> {
        match &self.hardware {
            Hardware::Pc(profile) => Ok(PcBoard { idle_states: self.idle_states, ..PcBoard::new(profile)? }),
            Hardware::Board(board) => Err(BenchError::Missing(format!("{} is not a PC", board.name))),
        }
    }
}
