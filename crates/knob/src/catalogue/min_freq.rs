//! `cpufreq.min_freq`: the lowest frequency a governor may choose.
use super::frequency_file::{FrequencyFile, Kept, LOWEST};
use crate::{About, Phase, Scope};

/// The lower limit.
pub const MIN_FREQ: FrequencyFile = FrequencyFile {
    file: "scaling_min_freq",
    reset: Some(LOWEST),
    kept: Kept { at_most: None, up: true, since: (6, 0, 0) },
    about: &ABOUT,
};

const ABOUT: About = About {
    name: "cpufreq.min_freq",
    short: "min_freq",
    aliases: &["scaling_min_freq"],
    unit: "kHz",
    scope: Scope::Policy,
    summary: "the lowest frequency a governor may choose",
    doc: "Since Linux 5.3 the file takes any number and shows what came of it: raised to the next step of the table, never above \
          the upper limit, and not below what firmware or thermal control ask for. Older kernels refuse a lower limit \
          above the upper one; powerband writes the two in the order that neither kind refuses.",
    accepts: "a frequency from cpuinfo_min_freq to cpuinfo_max_freq: 1867MHz, 2.4GHz, or kHz as a bare number",
    needs: "",
    source: "scaling_min_freq; Linux 6.1 drivers/cpufreq/cpufreq.c (request and effective limit), Linux 2.6.32 (errors)",
    invalid: "it lies above max_freq: set max_freq as well",
    phase: Phase::Limit,
};
