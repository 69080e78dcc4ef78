//! From trials to a verdict with a known error rate. Pure: numbers and a seed in, numbers out.
//!
//! An experiment measures settings in *blocks*: every setting once and a reference, in an order drawn afresh for each block
//! ([`block_order`]). So a setting that does nothing is as likely above its reference as below it, whatever the noise.
//!
//! The caller fills a [`Table`] and hands it to a [`MetricJudge`] after each completed block. The judge looks:
//!
//! 1. One mixed model of all trials ([`MixedModel`]): settings' levels, a random walk, a disturbance, noise. Which walk, which
//!    disturbance and whose noise is larger is not chosen; all variants are averaged by their weight. With enough data, outlying
//!    trials are pulled in first (Huber, k = 2).
//! 2. Each comparison is a mixture of what the variants say of it ([`Contrast`]), widened where differences inside blocks
//!    scatter more than a variant expects.
//! 3. Each look may spend a part of the error rate ([`Spending`]); no number of blocks need be fixed beforehand. Over
//!    settings, differences are corrected by Holm's steps.
//! 4. A setting is claimed higher, lower, or the same within a margin ([`Claim`]); claims stay, with the numbers of the
//!    latest look. What stays open has an interval that is valid at every look, and a [`Prediction`] of the blocks that
//!    would decide it.
//!
//! A [`Knee`] asks instead for the cheapest setting that is good enough, or the best one. [`Pairs`] says which settings
//! are alike. What must hold at the beginning is in [`steady`], what is suspicious in [`modes`], [`carry_over`], [`drift`]
//! and [`change_point`]; measurements that share no block are compared in [`apart`].
//!
//! [`calibrate`] says from an experiment that turns nothing what the noise is and what can be seen in it; [`limit`] holds
//! levels and differences against a bound.
//!
//! [`fleet`] judges one experiment that ran on many nodes.
//!
//! [`noise`] is what measurements do when nothing changes. The error rates and the machine time of all this are measured on
//! it in the tests, with the machines and fleets of `crates/testkit`.
//!
//! Every transcendental function comes from `libm` and every random number from a keyed ChaCha stream: the same input
//! gives the same last bit in debug and release builds and on every host.

mod carry;
mod drift;
mod error;
mod judge;
mod knee;
mod latency;
mod median;
mod mixed;
mod order;
mod pairs;
mod predict;
mod random;
mod rare;
mod rules;
mod spending;
mod table;
mod trials;
mod verdict;

pub mod apart;
pub mod calibrate;
pub mod distribution;
pub mod exact;
pub mod fleet;
pub mod limit;
pub mod modes;
pub mod noise;
pub mod posterior;
pub mod signed_rank;
pub mod steady;
mod steps;

pub use carry::{CarryOver, carry_over};
pub use drift::{ChangePoint, Drift, change_point, drift};
pub use error::Error;
pub use judge::MetricJudge;
pub use knee::{Knee, KneeGoal, KneeLook, KneeSearch, Provisional};
pub use latency::{Latencies, quantile_interval};
pub use mixed::{AfterEffect, Contrast, MixedModel, Period, VariantDifference};
pub use order::{FIRST_LOOK, Slot, block_order, open_order, slots};
pub use pairs::Pairs;
pub use predict::{Patience, Prediction, trials_left};
pub use random::{Draws, Purpose};
pub use rare::Rare;
pub use rules::{Rules, Scale, Spend};
pub use spending::{Spending, next_look};
pub use table::{Table, TrialTime};
pub use verdict::{Claim, SettingLook, TableLook};
