//! The part of a machine file on idle states that its CPUs choose among.
use serde::Deserialize;

use super::file::{scaled, wrong};
use super::{KernelRules, ProfileError};
use crate::cpuidle::{IdleGovernor, IdleSpec, IdleState};

/// Most states a kernel keeps.
const MAX: usize = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cpuidle {
    driver: String,
    governors: Vec<String>,
    governor: String,
    states: Vec<State>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    name: String,
    desc: String,
    exit_us: f64,
    residency_us: f64,
    running_share: f64,
    leakage_share: f64,
    #[serde(default)]
    polls: bool,
}

fn governor(key: &str, name: &str) -> Result<IdleGovernor, ProfileError> {
    let known = IdleGovernor::ALL.into_iter().find(|governor| governor.name() == name);
    known.map_or_else(|| wrong(key, format!("has '{name}'; there are models of ladder and menu")), Ok)
}

impl Cpuidle {
    pub(super) fn spec(&self, rules: KernelRules) -> Result<IdleSpec, ProfileError> {
        if rules == KernelRules::V2_6_18 {
            return wrong("cpuidle", "belongs to rules 2.6.32 and 6.1: Linux chooses among idle states since 2.6.24");
        }
        let states = self.states.iter().map(State::spec).collect::<Result<Vec<_>, _>>()?;
        let rises =
            |pair: &[IdleState]| pair[0].exit_ns <= pair[1].exit_ns && pair[0].residency_ns <= pair[1].residency_ns;
        if states.is_empty() || states.len() > MAX || !states.windows(2).all(rises) {
            return wrong("cpuidle.states", "must be one to ten, with rising exit_us and residency_us");
        }
        if states.iter().skip(1).any(|state| state.polls) || states.iter().all(|state| state.polls) {
            return wrong("cpuidle.states", "may poll in the first alone, and one must not");
        }
        let governors: Vec<_> =
            self.governors.iter().map(|name| governor("cpuidle.governors", name)).collect::<Result<_, _>>()?;
        let first = governor("cpuidle.governor", &self.governor)?;
        if !governors.contains(&first) {
            return wrong("cpuidle.governor", "is not among cpuidle.governors");
        }
        Ok(IdleSpec { driver: self.driver.clone(), governors, governor: first, states })
    }
}

impl State {
    fn spec(&self) -> Result<IdleState, ProfileError> {
        if self.name.is_empty() || self.name.contains(char::is_whitespace) {
            return wrong("cpuidle.states.name", "must be a word");
        }
        Ok(IdleState {
            name: self.name.clone(),
            desc: self.desc.clone(),
            exit_ns: scaled("cpuidle.states.exit_us", self.exit_us, 1e3, (0.0, 1e6))?,
            residency_ns: scaled("cpuidle.states.residency_us", self.residency_us, 1e3, (0.0, 1e7))?,
            running_ppm: scaled("cpuidle.states.running_share", self.running_share, 1e6, (0.0, 1.0))?,
            leakage_ppm: scaled("cpuidle.states.leakage_share", self.leakage_share, 1e6, (0.0, 1.0))?,
            polls: self.polls,
        })
    }
}
