//! Keys of experiments that have none of their own, from what does not change of them.
use std::collections::BTreeMap;

use powerband_record::ExperimentHeader;

/// Computes keys of a store's experiments in the order of their numbers, so that two that say the same have two keys.
#[derive(Debug, Default)]
pub(crate) struct Computed {
    seen: BTreeMap<u128, u32>,
}

impl Computed {
    /// The key of an experiment whose header has none: of when and where it began, its words and its first event.
    pub(crate) fn key(&mut self, header: &ExperimentHeader, first_event: &str) -> String {
        let words = (header.started_unix_s, &header.host, &header.powerband, &header.command_line, first_event);
        let text = serde_json::to_string(&words).unwrap_or_default();
        let before = self.seen.entry(fnv1a(text.as_bytes())).or_insert(0);
        let key = fnv1a(format!("{text}{before}").as_bytes());
        *before += 1;
        format!("{key:032x}")
    }
}

/// The key of an experiment that begins where none can be drawn: of its process.
#[cfg(feature = "postgresql")]
pub(crate) fn of_process(header: &ExperimentHeader) -> String {
    format!("{:032x}", fnv1a(serde_json::to_string(header).unwrap_or_default().as_bytes()))
}

/// The hash FNV-1a with 128 bits: nobody attacks it, and it must be the same in every version.
fn fnv1a(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    /// The published values of the hash's authors.
    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
