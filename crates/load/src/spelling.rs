//! How plans spell what loads share: durations, and that a default is left out.

/// Whether a plan can leave it out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Durations: `"5s"`, printed again in the largest unit that is exact.
pub(crate) mod duration {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
        let exact = units.iter().find(|(unit, _)| *ns > 0 && ns.is_multiple_of(*unit)).unwrap_or(&(1, "ns"));
        serializer.serialize_str(&format!("{}{}", ns / exact.0, exact.1))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        powerband_record::parse_duration_ns(&text).map_err(D::Error::custom)
    }
}
