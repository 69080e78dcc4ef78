//! `cpufreq.max_freq`: the highest frequency a governor may choose.
use super::frequency_file::{FrequencyFile, HIGHEST, Kept};
use crate::{About, Phase, Scope};

/// The upper limit.
pub const MAX_FREQ: FrequencyFile = FrequencyFile {
    file: "scaling_max_freq",
    reset: Some(HIGHEST),
    kept: Kept { at_most: Some("bios_limit"), up: false, since: (6, 0, 0) },
    about: &ABOUT,
};

const ABOUT: About = About {
    name: "cpufreq.max_freq",
    short: "max_freq",
    aliases: &["scaling_max_freq"],
    unit: "kHz",
    scope: Scope::Policy,
    summary: "the highest frequency a governor may choose",
    doc: "Since Linux 5.3 the file takes any number and shows what came of it: lowered to the next step of the table, and not \
          above what firmware, thermal control or a switched-off boost allow at the moment. Older kernels refuse an upper \
          limit below the lower one; powerband writes the two in the order that neither kind refuses.",
    accepts: "a frequency from cpuinfo_min_freq to cpuinfo_max_freq: 1867MHz, 2.4GHz, or kHz as a bare number",
    needs: "",
    source: "scaling_max_freq; Linux 6.1 drivers/cpufreq/cpufreq.c (request and effective limit), Linux 2.6.32 (errors)",
    invalid: "it lies below min_freq: set min_freq as well",
    phase: Phase::Limit,
};
