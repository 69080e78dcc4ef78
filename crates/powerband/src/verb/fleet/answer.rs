//! What the results of a fleet decide.
use powerband_fleet::{Attempt, Fleet, Judge, Look};

/// Judges results while a fleet runs.
pub(super) struct Verdicts {}

impl Verdicts {
    pub(super) fn new(_: &Fleet) -> Verdicts {
        Verdicts {}
    }
}

impl Judge for Verdicts {
    fn look(&mut self, nodes: &[(bool, Option<&Attempt>)]) -> Result<Look, String> {
        // PLACE OF THE ANSWER.
        let first = nodes.iter().take_while(|(finished, _)| *finished).count();
        Ok(Look { nodes: u32::try_from(first).unwrap_or(u32::MAX), decided: false })
    }
}
