//! What is kept of a machine's CPUs while a load runs, where that is asked for: `clock`, `far/utilisation@0-3:1s`.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CpuList, Side, format_duration, parse_duration_ns};

/// How often is read when nothing else is said, ns: 10 Hz, as meters of power are.
const PERIOD_NS: u64 = 100_000_000;

/// How long it may be recorded after the load, ns.
const AFTER_MOST_NS: u64 = 600_000_000_000;

/// What can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// The clock of each policy of cpufreq.
    Clock,
    /// How busy each CPU was.
    Utilisation,
}

/// One course that is kept of each trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recording {
    /// Which machine's.
    pub side: Side,
    /// What.
    pub what: Recorded,
    /// Of which CPUs; absent = those that are turned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// How often it is read, ns.
    pub period_ns: u64,
    /// How long it is read on after the load, under the same setting, ns.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_ns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(time_ns: &u64) -> bool {
    *time_ns == 0
}

impl Recorded {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Recorded::Clock => "clock",
            Recorded::Utilisation => "utilisation",
        }
    }

    /// How often it may be read at most, ns: governors decide from every 10 ms on, and the kernel counts how busy a CPU was
    /// in ticks of as much, of which several are needed for a share.
    fn least_period_ns(self) -> u64 {
        match self {
            Recorded::Clock => 10_000_000,
            Recorded::Utilisation => PERIOD_NS,
        }
    }
}

impl Recording {
    /// Reads `[far/]clock|utilisation[@CPUS][:TIME]`, several of them with commas between; without a time it is ten times
    /// a second. `after=TIME` among them is how long all of the list are read on after the load.
    ///
    /// # Errors
    /// What is wrong with it, one sentence.
    pub fn parse_list(text: &str) -> Result<Vec<Recording>, String> {
        // A list of CPUs has commas, too: behind one of them stands a number.
        let mut parts: Vec<String> = Vec::new();
        for part in text.split(',') {
            match parts.last_mut().filter(|_| part.trim_start().starts_with(|c: char| c.is_ascii_digit())) {
                Some(last) => *last = format!("{last},{part}"),
                None => parts.push(part.to_owned()),
            }
        }
        let (after, parts): (Vec<&str>, Vec<&str>) =
            parts.iter().map(|part| part.trim()).partition(|part| part.starts_with("after="));
        let after_ns = match after[..] {
            [] => 0,
            [one] => parse_duration_ns(one.trim_start_matches("after=")).map_err(|error| error.to_string())?,
            _ => return Err(format!("'{text}' says twice how long to record after the load")),
        };
        if after_ns > AFTER_MOST_NS {
            return Err(format!("'{text}' records too long after the load; write after=10min or less"));
        }
        if parts.is_empty() {
            return Err(format!("'{text}' names nothing to record; write e.g. clock:10ms,after=5s"));
        }
        parts.into_iter().map(|part| Ok(Recording { after_ns, ..Recording::parse(part)? })).collect()
    }

    fn parse(text: &str) -> Result<Recording, String> {
        let (side, rest) = Side::split(text);
        let (rest, time) = rest.split_once(':').map_or((rest, None), |(rest, time)| (rest, Some(time)));
        let (name, cpus) = rest.split_once('@').map_or((rest, None), |(name, cpus)| (name, Some(cpus)));
        let what = [Recorded::Clock, Recorded::Utilisation].into_iter().find(|what| what.name() == name);
        let what = what.ok_or_else(|| {
            format!(
                "'{text}' cannot be recorded; write clock or utilisation, e.g. clock@0-3:1s for some CPUs once a second"
            )
        })?;
        let cpus = cpus.map(str::parse::<CpuList>).transpose().map_err(|error| error.to_string())?;
        if cpus.as_ref().is_some_and(CpuList::is_empty) {
            return Err(format!("'{text}' names no CPU; write e.g. {name}@0-3"));
        }
        let period_ns = time.map(parse_duration_ns).transpose().map_err(|error| error.to_string())?;
        let (period_ns, least_ns) = (period_ns.unwrap_or(PERIOD_NS), what.least_period_ns());
        if period_ns < least_ns {
            return Err(format!(
                "'{text}' is too often; write {name}:{} or more",
                format_duration(least_ns).replace(' ', "")
            ));
        }
        Ok(Recording { side, what, cpus, period_ns, after_ns: 0 })
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = self.side.prefix();
        let cpus = self.cpus.as_ref().map_or_else(String::new, |cpus| format!(" of CPUs {cpus}"));
        write!(f, "{side}{}{cpus} every {}", self.what.name(), format_duration(self.period_ns))?;
        if self.after_ns > 0 { write!(f, " and {} after the load", format_duration(self.after_ns)) } else { Ok(()) }
    }
}
