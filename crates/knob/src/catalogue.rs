//! The catalogue: every knob in one table. Names, help, documentation pages and completion are all read off it.
mod file;
mod freq;
mod frequency_file;
mod governor;
mod max_freq;
mod min_freq;
pub(crate) mod nic;
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
pub use nic::Nic;
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
    &nic::RX_USECS,
    &nic::RX_FRAMES,
    &nic::RX_USECS_IRQ,
    &nic::RX_FRAMES_IRQ,
    &nic::TX_USECS,
    &nic::TX_FRAMES,
    &nic::TX_USECS_IRQ,
    &nic::TX_FRAMES_IRQ,
    &nic::STATS_BLOCK_USECS,
    &nic::ADAPTIVE_RX,
    &nic::ADAPTIVE_TX,
    &nic::PKT_RATE_LOW,
    &nic::RX_USECS_LOW,
    &nic::RX_FRAMES_LOW,
    &nic::TX_USECS_LOW,
    &nic::TX_FRAMES_LOW,
    &nic::PKT_RATE_HIGH,
    &nic::RX_USECS_HIGH,
    &nic::RX_FRAMES_HIGH,
    &nic::TX_USECS_HIGH,
    &nic::TX_FRAMES_HIGH,
    &nic::SAMPLE_INTERVAL,
    &nic::CQE_MODE_TX,
    &nic::CQE_MODE_RX,
    &nic::TX_AGGR_MAX_BYTES,
    &nic::TX_AGGR_MAX_FRAMES,
    &nic::TX_AGGR_TIME_USECS,
];
