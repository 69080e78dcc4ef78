//! The load of a plan: an enum of all kinds, which dereferences to its kind, and what works the same for all of them.
use std::ops::{Deref, DerefMut};

use powerband_record::{LoadVariant, Void};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ladder::mixed;
use crate::{
    CommandLoad, Concluded, CounterLoad, Finishes, IdleLoad, LadderLoad, LoadError, LoadKind, OrdersLoad, PingLoad,
    PrimesLoad, ShopLoad, Stage, StreamLoad, WakeLoad,
};

/// What makes the machine work, as a plan spells it: `kind = "counter"`, …. What it does is the [`LoadKind`] it dereferences to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", expecting = "a table, e.g. [load] with kind = \"counter\"")]
#[non_exhaustive]
pub enum Load {
    /// Counts in a loop for a fixed time.
    Counter(CounterLoad),
    /// Bulk transfers for a fixed time.
    Stream(StreamLoad),
    /// Small packets there and back.
    Ping(PingLoad),
    /// A thread that sleeps and wakes.
    Wake(WakeLoad),
    /// Primes counted by ranks that wait for one another.
    Primes(PrimesLoad),
    /// An order system at one rate.
    Orders(OrdersLoad),
    /// Levels of a load.
    Ladder(LadderLoad),
    /// A web shop and its customers.
    Shop(ShopLoad),
    /// Any program.
    Command(CommandLoad),
    /// Nothing: the machine as it idles.
    Idle(IdleLoad),
}

/// The built-in loads, in the order of the documentation. Each has a default for everything.
pub(crate) const BUILT_IN: [&str; 9] =
    ["counter", "stream", "ping", "wake", "primes", "orders", "ladder", "shop", "idle"];

/// The kind of a load, borrowed as the load is.
macro_rules! kind_of {
    ($load:expr) => {
        match $load {
            Load::Counter(kind) => kind,
            Load::Stream(kind) => kind,
            Load::Ping(kind) => kind,
            Load::Wake(kind) => kind,
            Load::Primes(kind) => kind,
            Load::Orders(kind) => kind,
            Load::Ladder(kind) => kind,
            Load::Shop(kind) => kind,
            Load::Command(kind) => kind,
            Load::Idle(kind) => kind,
        }
    };
}

impl Deref for Load {
    type Target = dyn LoadKind;

    fn deref(&self) -> &Self::Target {
        kind_of!(self)
    }
}

impl DerefMut for Load {
    fn deref_mut(&mut self) -> &mut Self::Target {
        kind_of!(self)
    }
}

impl Load {
    /// A built-in load by name, with its default length or the one given.
    ///
    /// # Errors
    /// [`LoadError`] when there is none of that name or the length is zero.
    pub fn builtin(name: &str, for_ns: Option<u64>) -> Result<Self, LoadError> {
        let known = BUILT_IN.into_iter().find(|kind| *kind == name);
        let kind = known.ok_or_else(|| LoadError::Unknown { name: name.into() })?;
        let mut spelled = json!({ "kind": kind });
        if let Some(ns) = for_ns {
            spelled["for"] = format!("{ns}ns").into();
        }
        // All but the length has a default, so only that can be wrong.
        let load: Load = serde_json::from_value(spelled).map_err(|_| LoadError::OwnEnd(kind))?;
        load.check().map(|()| load)
    }

    /// Reads the metrics out of what the parts came to.
    ///
    /// # Errors
    /// [`Void::LoadFailed`] when a part did not end well or did not report.
    pub fn conclude(&self, finishes: &Finishes) -> Result<Concluded, Void> {
        let mut failed = finishes.iter().filter(|(_, finished)| !finished.status.success());
        match failed.find_map(|(name, finished)| self.failed(name, finished, finishes)) {
            Some(void) => Err(void),
            None => self.measured(finishes),
        }
    }

    /// The stretches of one trial, in order. `draw` is what the trial shares with those it is compared with.
    #[must_use]
    pub fn stages(&self, full_per_s: Option<f64>, draw: u64) -> Vec<Stage> {
        self.phases(full_per_s, draw).unwrap_or_else(|| {
            let mut load = self.clone();
            if let Some(seed) = load.trial_seed_mut() {
                *seed = mixed(*seed, draw);
            }
            vec![Stage::whole(load)]
        })
    }

    /// The load as a setting changes it.
    ///
    /// # Errors
    /// As [`LoadKind::vary`].
    pub fn of_variant(&self, variant: &LoadVariant) -> Result<Load, LoadError> {
        let mut load = self.clone();
        load.vary(variant).map(|()| load)
    }

    /// The same, run so often within a trial.
    #[must_use]
    pub fn repeated(mut self, runs: u32) -> Load {
        self.repeat(runs);
        self
    }
}

#[cfg(test)]
mod tests;
