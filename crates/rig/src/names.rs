//! The machines of a rig as they are named.
use powerband_host::LinkOptions;
use powerband_record::{Side, Started};
use powerband_sim::SimWorld;

use crate::machine_name::simulated;
use crate::simulated::{profile, simulated_world};
use crate::{MachineName, RigError};

/// This machine.
const LOCAL: &str = "local";

/// The machines of a rig as they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub(crate) near: String,
    pub(crate) far: Option<String>,
    /// How those behind a connection are reached.
    pub(crate) link: LinkOptions,
}

impl Names {
    /// As they were typed or written down; without a near machine it is this one.
    #[must_use]
    pub fn new(near: Option<String>, far: Option<String>) -> Self {
        Names { near: near.unwrap_or_else(|| LOCAL.into()), far, link: LinkOptions::default() }
    }

    /// Reached in this way, where they are behind a connection.
    #[must_use]
    pub fn linked(self, link: LinkOptions) -> Self {
        Names { link, ..self }
    }

    /// Of an experiment that was begun.
    #[must_use]
    pub fn begun(started: &Started) -> Self {
        let typed = |typed: &Option<String>, name: &str| typed.clone().unwrap_or_else(|| name.to_owned());
        let far = started.far.as_ref().map(|far| typed(&started.far_typed, far));
        Names::new(Some(typed(&started.machine_typed, &started.machine)), far)
    }

    /// As a plan would have them, the near one first; `seeded`: the plan has a seed, which wins over one behind the machine's
    /// name. Where pieces of the machine differ, that one still says which piece it is, and stays.
    #[must_use]
    pub fn written(self, seeded: bool) -> (String, Option<String>) {
        let without_effect =
            seeded && simulated(&self.near).is_some_and(|name| !profile(name).is_ok_and(|it| it.varies()));
        let near = if without_effect { self.near.split('#').next().unwrap_or_default().into() } else { self.near };
        (near, self.far)
    }

    /// The near machine's name.
    #[must_use]
    pub fn near(&self) -> &str {
        &self.near
    }

    /// The far machine's name, if there is one.
    #[must_use]
    pub fn far(&self) -> Option<&str> {
        self.far.as_deref()
    }

    /// Whether the near machine is this one.
    #[must_use]
    pub fn here(&self) -> bool {
        self.near == LOCAL
    }

    /// Whether the near machine is a simulated one, which comes to the same again from its seed.
    #[must_use]
    pub fn simulated(&self) -> bool {
        simulated(&self.near).is_some()
    }

    /// The file of a near machine that is a table.
    #[must_use]
    pub fn table(&self) -> Option<&str> {
        match MachineName::of(&self.near) {
            Some(MachineName::Table(file)) => Some(file),
            _ => None,
        }
    }

    /// Whether the near machine is a recording.
    #[must_use]
    pub fn recorded(&self) -> bool {
        matches!(MachineName::of(&self.near), Some(MachineName::Recorded(_)))
    }

    /// That somebody else could change each of the machines.
    ///
    /// # Errors
    /// Why nobody else could, of the first machine where that is so.
    pub fn changed_by_others(&self) -> Result<(), RigError> {
        let alone = |name: &String| match MachineName::of(name) {
            Some(MachineName::Simulated(profile)) => {
                Some(RigError::AloneSimulated { name: name.clone(), profile: profile.to_owned() })
            }
            Some(MachineName::Recorded(_)) => Some(RigError::AloneRecorded(name.clone())),
            Some(MachineName::Table(_)) => Some(RigError::AloneTable(name.clone())),
            _ => None,
        };
        [Some(&self.near), self.far.as_ref()].into_iter().flatten().find_map(alone).map_or(Ok(()), Err)
    }

    /// As a machine is named, if it is there.
    #[must_use]
    pub fn of(&self, side: Side) -> Option<&str> {
        if side == Side::Near { Some(&self.near) } else { self.far.as_deref() }
    }

    /// The name of a machine that is not this one.
    #[must_use]
    pub fn elsewhere(&self, side: Side) -> Option<&str> {
        self.of(side).filter(|name| MachineName::of(name) != Some(MachineName::Local))
    }

    /// The commands that lead to the machines, each with what it leads to.
    pub fn connections(&self) -> impl Iterator<Item = (String, String)> {
        [Side::Near, Side::Far].into_iter().filter_map(|side| match MachineName::of(self.of(side)?)? {
            MachineName::Behind { command, .. } | MachineName::Shell { command, .. } => {
                Some((format!("{side} machine"), command.to_owned()))
            }
            _ => None,
        })
    }

    /// Whether the near machine is the one of this name; a seed behind it may have been without effect.
    #[must_use]
    pub fn is_on(&self, machine: &str) -> bool {
        self.near == machine || (self.simulated() && machine.split('#').next() == Some(&self.near))
    }

    /// For people.
    #[must_use]
    pub fn describe(&self) -> String {
        self.far.as_ref().map_or_else(|| self.near.clone(), |far| format!("{} with peer {far}", self.near))
    }

    /// The seed written behind the near machine's name, `sim:NAME#SEED`.
    ///
    /// # Errors
    /// [`RigError::NotASeed`].
    pub fn seed(&self) -> Result<Option<u64>, RigError> {
        let Some((_, seed)) = self.near.split_once('#').filter(|_| self.simulated()) else { return Ok(None) };
        seed.parse().map(Some).map_err(|_| RigError::NotASeed(seed.to_owned()))
    }

    /// Its simulated machines, of which nothing is kept.
    ///
    /// # Errors
    /// When a machine file cannot be read, or its machine does not boot.
    pub fn simulated_world(&self, seed: u64) -> Result<SimWorld, RigError> {
        let near = simulated(&self.near).unwrap_or_default();
        simulated_world(near, self.seed()?, self.far.as_deref().and_then(simulated), seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(near: &str) -> String {
        Names::new(Some(near.to_owned()), None).written(true).0
    }

    #[test]
    fn a_seed_that_says_which_silicon_stays_with_the_name() {
        // A plan's seed wins over the one behind a name, which then says nothing more, unless pieces of the machine differ.
        assert_eq!(written("sim:server#7"), "sim:server");
        assert_eq!(written("sim:node#7"), "sim:node#7");
        assert_eq!(written("sim:node"), "sim:node");
        assert_eq!(written("local"), "local");
    }
}
