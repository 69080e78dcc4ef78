//! What the hardware of a policy is told by its maker's own driver, and what it remembers.
use powerband_machine::Errno;

use super::config::Governor;

/// How the clock is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Active,
    Passive,
    Guided,
}

impl Mode {
    pub(crate) const ALL: [(Mode, &str); 3] =
        [(Mode::Active, "active"), (Mode::Passive, "passive"), (Mode::Guided, "guided")];

    pub(crate) fn name(self) -> &'static str {
        Mode::ALL.iter().find(|(mode, _)| *mode == self).map_or("", |(_, name)| name)
    }
}

/// Hints by name, as the processor knows them.
const NAMES: [&str; 4] = ["performance", "balance_performance", "balance_power", "power"];
const INTEL_HINTS: [u8; 4] = [0, 128, 192, 255];
const AMD_HINTS: [u8; 4] = [0, 128, 191, 255];

/// The hint at boot.
pub(crate) const DEFAULT_HINT: u8 = 128;

/// What the hardware of a policy is told, and what it would choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hardware {
    pub(crate) mode: Mode,
    pub(crate) hint: u8,
    /// What the driver's percentages leave, kHz.
    pub(crate) held_khz: (u32, u32),
    pub(crate) amd: bool,
    pub(crate) step_khz: u32,
    pub(crate) looked: Looked,
    /// What it would choose by the load, and what a governor has asked for last, kHz.
    pub(crate) wish_khz: u32,
    pub(crate) asked_khz: u32,
}

/// What the hardware remembers between two looks at the load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looked {
    pub(crate) at_ns: u64,
    pub(crate) idle_ns: u64,
}

impl Hardware {
    pub(crate) fn is_active(self) -> bool {
        self.mode == Mode::Active
    }

    /// Whether a policy has a file for its hint. Intel's hardware heeds it in passive mode as well.
    pub(crate) fn takes_hints(self) -> bool {
        !self.amd || self.is_active()
    }

    pub(crate) fn is_pinned(self, governor: Option<Governor>) -> bool {
        self.is_active() && governor == Some(Governor::Performance)
    }

    /// Whether it looks at the load by itself.
    pub(crate) fn looks(self, governor: Option<Governor>) -> bool {
        match self.mode {
            Mode::Active => !self.is_pinned(governor),
            Mode::Guided => governor.is_some_and(Governor::is_dynamic),
            Mode::Passive => false,
        }
    }

    fn hints(self) -> impl Iterator<Item = (&'static str, u8)> {
        NAMES.into_iter().zip(if self.amd { AMD_HINTS } else { INTEL_HINTS })
    }

    /// The hint in force: a name, or the number that has none.
    pub(crate) fn show(self, governor: Option<Governor>) -> String {
        let hint = if self.is_pinned(governor) { 0 } else { self.hint };
        let name = self.hints().find(|(_, value)| *value == hint);
        name.map_or_else(|| format!("{hint}\n"), |(name, _)| format!("{name}\n"))
    }

    pub(crate) fn store(&mut self, text: &str, governor: Option<Governor>) -> Result<(), Errno> {
        let word = text.trim();
        let hint = match self.hints().find(|(name, _)| *name == word) {
            Some((_, value)) => value,
            None if word == "default" => DEFAULT_HINT,
            None if self.amd => return Err(Errno::EINVAL),
            None => word.parse().map_err(|_| Errno::EINVAL)?,
        };
        if !self.is_pinned(governor) {
            self.hint = hint;
        } else if hint > 0 {
            return Err(Errno::EBUSY);
        }
        Ok(())
    }

    /// All hints by name.
    pub(crate) fn offered() -> String {
        format!("default {} \n", NAMES.join(" "))
    }
}
