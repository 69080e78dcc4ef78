//! Somebody else who wrote to a knob, as far as can be told.
use std::fmt;

use serde::{Deserialize, Serialize};

/// A program next to us that wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Writer {
    /// Number of its process; absent where the kernel does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its program; absent where it had ended before its name could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The unit it runs in (`tuned.service`), if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How it was found out, where it is no more than likely; without a process, why nobody can be named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inferred: Option<String>,
}

impl Writer {
    /// Nobody who could be named, and why.
    #[must_use]
    pub fn unknown(why: impl Into<String>) -> Self {
        Writer { inferred: Some(why.into()), ..Writer::default() }
    }
}

impl fmt::Display for Writer {
    /// `pid 4711 (tuned, tuned.service)`, `pid 4711 (gone)`, `pid 4711 (ethtool; probably: …)`, `somebody (…)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.pid else {
            return write!(f, "somebody ({})", self.inferred.as_deref().unwrap_or("nobody knows who"));
        };
        write!(f, "pid {pid} ({}", self.program.as_deref().unwrap_or("gone"))?;
        self.unit.iter().try_for_each(|unit| write!(f, ", {unit}"))?;
        self.inferred.iter().try_for_each(|why| write!(f, "; probably: {why}"))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_is_told_in_a_few_words() {
        let tuned = Writer {
            pid: Some(4711),
            program: Some("tuned".into()),
            unit: Some("tuned.service".into()),
            ..Writer::default()
        };
        assert_eq!(tuned.to_string(), "pid 4711 (tuned, tuned.service)");
        assert_eq!(Writer { pid: Some(4711), ..Writer::default() }.to_string(), "pid 4711 (gone)");
        let likely = Writer { unit: None, inferred: Some("it ran".into()), ..tuned.clone() };
        assert_eq!(likely.to_string(), "pid 4711 (tuned; probably: it ran)");
        assert_eq!(Writer::unknown("nobody ran").to_string(), "somebody (nobody ran)");
        let json = serde_json::to_string(&tuned).unwrap();
        assert_eq!(json, r#"{"pid":4711,"program":"tuned","unit":"tuned.service"}"#);
        assert_eq!(serde_json::from_str::<Writer>(&json).unwrap(), tuned);
    }
}
