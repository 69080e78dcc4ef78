//! The catalogue: every knob in one table. Names, help, documentation pages and completion are all read off it.
mod file;
mod freq;
mod frequency_file;
mod governor;
mod max_freq;
mod min_freq;
mod quota;
mod sysctl;
mod tunable;

use crate::Knob;

pub use file::File;
pub use freq::FREQ;
pub use frequency_file::FrequencyFile;
pub use governor::Governor;
pub use max_freq::MAX_FREQ;
pub use min_freq::MIN_FREQ;
pub use quota::CpuQuota;
pub use sysctl::Sysctl;
pub use tunable::Tunable;

pub(crate) use tunable::folder as tunable_folder;

/// Every knob, in the order of the documentation.
pub const ALL: &[&dyn Knob] = &[
    &Governor,
    &FREQ,
    &MIN_FREQ,
    &MAX_FREQ,
    &tunable::ONDEMAND_SAMPLING_RATE,
    &tunable::ONDEMAND_UP_THRESHOLD,
    &tunable::ONDEMAND_SAMPLING_DOWN_FACTOR,
    &tunable::ONDEMAND_IGNORE_NICE_LOAD,
    &tunable::ONDEMAND_POWERSAVE_BIAS,
    &tunable::ONDEMAND_IO_IS_BUSY,
    &tunable::CONSERVATIVE_SAMPLING_RATE,
    &tunable::CONSERVATIVE_UP_THRESHOLD,
    &tunable::CONSERVATIVE_DOWN_THRESHOLD,
    &tunable::CONSERVATIVE_SAMPLING_DOWN_FACTOR,
    &tunable::CONSERVATIVE_FREQ_STEP,
    &tunable::CONSERVATIVE_IGNORE_NICE_LOAD,
    &tunable::SCHEDUTIL_RATE_LIMIT_US,
    &CpuQuota,
    &Sysctl,
    &File,
];
