//! Looking without turning: one knob's readings; the parts of `info` are in `look/`.
mod clock;
mod cpus;
mod idle;
mod net;
mod power;
mod seen;
mod stats;
pub mod text;

pub use clock::{Clock, PolicyFrequencies, PolicyInfo, Tunables, clocks, cpufreq};
pub use cpus::{BoostSwitch, CpuModel, Cpus, Pstate, TimeLimit, cpus};
pub use idle::{CpuIdle, CpuIdleState, Idle, NO_REQUEST_US, ResumeLimit, idle};
pub use net::{Devices, NetDevice, devices};
pub use power::{Cooling, Power, Throttled, Zone, ZoneLimit, power};
pub use seen::ReadFailure;
pub use stats::{InState, Stats, Transition};
pub(crate) use stats::{TICK_MS, times_in_state};

use powerband_machine::{Errno, Look};
use powerband_record::{CpuList, KnobRef};
use serde::Serialize;

use crate::{KnobError, Selection, Value};

/// A knob at one site as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct KnobReading {
    /// Canonical name.
    pub knob: String,
    /// Site.
    pub site: String,
    /// CPUs of that site, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// What reads there, as it can be typed again; absent when it cannot be read.
    pub value: Option<String>,
    /// For people: `1867 MHz`, or why it cannot be read.
    pub shown: String,
    /// Values it takes, as they can be typed; empty when they cannot be listed or are more than 64.
    pub choices: Vec<String>,
    /// The file that cannot be read, and why.
    #[serde(skip)]
    pub unreadable: Option<(String, Errno)>,
}

/// More choices than this are a range, which the knob's description gives.
const LISTED: usize = 64;

/// Reads a knob at its sites.
///
/// # Errors
/// [`KnobError`] when the name, the site or the knob is not there; a file that cannot be read is a [`KnobReading`] that
/// says so.
pub fn get(machine: &mut dyn Look, knob: &KnobRef, narrow: &Selection) -> Result<Vec<KnobReading>, KnobError> {
    let named = narrow.resolve(&knob.name, &[], machine)?;
    let sites = named.knob.sites(&named.name, machine, &narrow.at(knob.site.as_deref()))?;
    let mut readings = Vec::new();
    for site in sites.sites {
        let choices = named.knob.choices(machine, &site);
        let shown_choices = if choices.len() <= LISTED { &choices[..] } else { &[] };
        let choices = shown_choices.iter().map(Value::typed).collect();
        let mut unreadable = None;
        let (value, shown) = match &site.path {
            None => (None, "only while a load runs".to_owned()),
            Some(path) => match machine.read(path) {
                Ok(text) => {
                    let meant = named.knob.stands_for(&text, machine, &site);
                    let meant = meant.map_or_else(String::new, |meant| format!(" ({meant})"));
                    (Some(text.trim().to_owned()), named.knob.shown(&text) + &meant)
                }
                Err(errno) => {
                    unreadable = Some((path.clone(), errno));
                    (None, format!("cannot be read: {path}: {errno}"))
                }
            },
        };
        let cpus = site.policy.map(|policy| policy.cpus);
        readings.push(KnobReading {
            knob: named.name.clone(),
            site: site.name,
            cpus,
            value,
            shown,
            choices,
            unreadable,
        });
    }
    Ok(readings)
}
