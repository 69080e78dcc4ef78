//! Two guests on one cable.
use powerband_bench_virtual::{Cable, Guest, GuestRig, OVER_THE_CABLE, Result};

use crate::desk::{Desk, on_own, pc};

/// The guests at both ends.
pub(crate) struct Pair {
    pub(crate) near: Guest,
    pub(crate) far: Guest,
}

impl GuestRig for Pair {
    fn guests(&mut self) -> Vec<&mut Guest> {
        vec![&mut self.near, &mut self.far]
    }
}

impl Pair {
    fn boot() -> Result<Pair> {
        let near = Guest::boot(&pc(Cable::Open)?)?;
        Ok(Pair { far: Guest::boot(&pc(Cable::Into(near.cable()))?)?, near })
    }

    /// What both NICs hold back, read by powerband in the near guest.
    #[track_caller]
    pub(crate) fn delays(&mut self) -> String {
        self.near.powerband(0, &format!("--far '{OVER_THE_CABLE}' get both/nic.rx-usecs@eth0"))
    }
}

/// Runs a test on the two guests, whose speed follows their clocks.
pub(crate) fn on_pair(test: impl Fn(&mut Pair)) {
    on_own(Pair::boot, test);
}
