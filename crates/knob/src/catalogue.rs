//! The catalogue: every knob in one table. Names, help, documentation pages and completion are all read off it.
mod boost;
mod command;
mod cpus;
mod cpuspeed;
mod file;
mod freq;
mod frequency_file;
mod governor;
mod idle;
mod max_freq;
mod min_freq;
mod module;
pub(crate) mod nic;
mod plain;
mod pmqos;
mod powercap;
mod preference;
mod pstate;
mod quota;
mod sysctl;
mod takes;
mod tunable;

use crate::Knob;

pub use boost::Boost;
pub use command::Command;
pub use file::File;
pub use freq::FREQ;
pub use frequency_file::FrequencyFile;
pub use governor::GovernorKnob;
pub(crate) use governor::MAINLINE;
pub use idle::Disable;
pub use max_freq::MAX_FREQ;
pub use min_freq::MIN_FREQ;
pub use module::Module;
pub use nic::Nic;
pub use plain::PlainFile;
pub use pmqos::CpuDmaLatency;
pub use powercap::PowerLimit;
pub use quota::CpuQuotaKnob;
pub use sysctl::Sysctl;
pub use tunable::Tunable;

pub(crate) use pstate::STATUS;
pub(crate) use tunable::folder as tunable_folder;

/// Every knob, in the order of the documentation.
pub const ALL: &[&dyn Knob] = &[
    &GovernorKnob,
    &FREQ,
    &MIN_FREQ,
    &MAX_FREQ,
    &Boost,
    &preference::EPP,
    &preference::EPB,
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
    &tunable::INTERACTIVE_TARGET_LOADS,
    &tunable::INTERACTIVE_MIN_SAMPLE_TIME,
    &tunable::INTERACTIVE_HISPEED_FREQ,
    &tunable::INTERACTIVE_GO_HISPEED_LOAD,
    &tunable::INTERACTIVE_ABOVE_HISPEED_DELAY,
    &tunable::INTERACTIVE_TIMER_RATE,
    &tunable::INTERACTIVE_TIMER_SLACK,
    &tunable::INTERACTIVE_BOOST,
    &tunable::INTERACTIVE_BOOSTPULSE_DURATION,
    &tunable::INTERACTIVE_IO_IS_BUSY,
    &cpuspeed::DAEMON,
    &pstate::STATUS,
    &pstate::NO_TURBO,
    &pstate::MIN_PERF_PCT,
    &pstate::MAX_PERF_PCT,
    &pstate::HWP_DYNAMIC_BOOST,
    &Disable,
    &idle::GOVERNOR,
    &CpuDmaLatency,
    &pmqos::RESUME_LATENCY_US,
    &cpus::ONLINE,
    &cpus::SMT,
    &cpus::MC_POWER_SAVINGS,
    &cpus::SMT_POWER_SAVINGS,
    &powercap::POWER_LIMIT_UW,
    &powercap::TIME_WINDOW_US,
    &CpuQuotaKnob,
    &Sysctl,
    &Module,
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
