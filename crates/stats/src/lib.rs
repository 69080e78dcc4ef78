//! From trials to a verdict with a known error rate. Pure: numbers and a seed in, numbers out.

mod contrast;
pub mod distribution;
pub mod formula;
mod drift;
mod error;
mod fit;
mod judge;
pub mod modes;
pub mod noise;
mod order;
mod predict;
mod random;
mod rules;
pub mod signed_rank;
mod spending;
pub mod steady;
mod table;
mod verdict;
mod winsor;

pub use contrast::Contrast;
pub use drift::{ChangePoint, Drift, change_point, drift};
pub use error::Error;
pub use judge::Judge;
pub use order::{Slot, block_order, first_look, reference_copies, slots};
pub use predict::{Patience, Prediction, trials_left};
pub use random::{Draws, Purpose};
pub use rules::{Rules, Scale, Spend};
pub use spending::Spending;
pub use table::Table;
pub use verdict::{Claim, Look, SettingLook};
