//! From trials to a verdict with a known error rate. Pure: numbers and a seed in, numbers out.

mod carry;
mod contrast;
mod drift;
mod error;
mod fit;
mod judge;
mod knee;
mod latency;
mod order;
mod pairs;
mod predict;
mod random;
mod rules;
mod spending;
mod table;
mod verdict;
mod winsor;

pub mod apart;
pub mod distribution;
pub mod formula;
pub mod modes;
pub mod noise;
pub mod posterior;
pub mod race;
pub mod signed_rank;
pub mod steady;

pub use carry::{CarryOver, carry_over};
pub use contrast::Contrast;
pub use drift::{ChangePoint, Drift, change_point, drift};
pub use error::Error;
pub use judge::Judge;
pub use knee::{Goal, Knee, KneeLook, Provisional, Quest};
pub use latency::Latencies;
pub use order::{Slot, block_order, first_look, reference_copies, slots};
pub use pairs::Pairs;
pub use predict::{Patience, Prediction, trials_left};
pub use random::{Draws, Purpose};
pub use rules::{Rules, Scale, Spend};
pub use spending::Spending;
pub use table::Table;
pub use verdict::{Claim, Look, SettingLook};
