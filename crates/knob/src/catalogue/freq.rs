//! `cpufreq.freq`: one fixed frequency, under the governor userspace.
use super::frequency_file::{FrequencyFile, Kept};
use crate::{About, Phase, Scope};

/// One fixed frequency.
pub const FREQ: FrequencyFile = FrequencyFile {
    file: "scaling_setspeed",
    reset: None,
    kept: Kept { at_most: None, up: true, since: (0, 0, 0) },
    about: &ABOUT,
};

const ABOUT: About = About {
    name: "cpufreq.freq",
    short: "freq",
    aliases: &["scaling_setspeed", "setspeed", "frequency"],
    unit: "kHz",
    scope: Scope::Policy,
    summary: "one fixed frequency, under the governor userspace",
    doc: "The kernel keeps the request inside the limits and rounds it up to the next step of the driver's table; what is \
          read back is the frequency the CPU was set to, so a request between two steps becomes the upper one and is \
          reported as clamped. The kernel accepts every number even when the driver then fails, which only the \
          reading shows.",
    accepts: "a frequency from cpuinfo_min_freq to cpuinfo_max_freq: 1867MHz, 2.4GHz, or kHz as a bare number",
    needs: "governor=userspace",
    source: "scaling_setspeed; Linux 6.1 drivers/cpufreq/cpufreq_userspace.c",
    invalid: "the governor here is not userspace: write governor=userspace as well",
    phase: Phase::Frequency,
};
