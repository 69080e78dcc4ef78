//! Waiting for a machine to cool down between trials.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{format_duration, format_number, parse_duration_ns};

/// How long is waited when nothing else is said, ns.
const TIMEOUT_NS: u64 = 600_000_000_000;

/// No load begins before the hottest thermal zone is this cool, or the time is over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Cool {
    /// At or below this, °C.
    pub at_most_c: f64,
    /// The longest wait, ns.
    pub timeout_ns: u64,
}

impl Cool {
    /// Reads `50C` or `50C:2m`; without a time it is ten minutes.
    ///
    /// # Errors
    /// What is wrong with it, one sentence.
    pub fn parse(text: &str) -> Result<Cool, String> {
        let wrong = || format!("'{text}' is no temperature; write e.g. 50C, or 50C:2m to wait for two minutes at most");
        let (degrees, time) = text.split_once(':').map_or((text, None), |(degrees, time)| (degrees, Some(time)));
        let degrees = degrees.trim().trim_end_matches(['C', 'c']).trim_end_matches('°').trim_end();
        let at_most_c = degrees.parse::<f64>().ok().filter(|c| (-50.0..=150.0).contains(c)).ok_or_else(wrong)?;
        let timeout_ns = time.map(parse_duration_ns).transpose().map_err(|error| error.to_string())?;
        Ok(Cool { at_most_c, timeout_ns: timeout_ns.unwrap_or(TIMEOUT_NS) })
    }
}

impl fmt::Display for Cool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} °C within {}", format_number(self.at_most_c), format_duration(self.timeout_ns))
    }
}
