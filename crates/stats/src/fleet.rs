//! One experiment on many nodes: effects of settings over a fleet, with a known error rate.
//!
//! Every node runs whole randomised blocks of all settings, so a node's effect is the mean of its block differences
//! ([`NodeEffect`]). The unit of chance is the node: what a setting does on one node says little about the next.
//!
//! 1. [`Effects`] pools the noise of one block difference over all nodes. A node's own variance is never a weight.
//! 2. [`mean()`] is the effect over nodes: random effects (Paule and Mandel), interval of Hartung and Knapp.
//! 3. [`spread`] is the standard deviation between nodes; [`heterogeneity`] tests whether nodes differ at all.
//! 4. [`predict_node`] is the interval for a node that was not measured.
//! 5. [`holds`] bounds the effect that 90 % of nodes reach; [`counted`] does so without an assumption on its distribution.
//! 6. [`odd`] finds nodes that do not belong to the others; [`kinds`] finds groups of nodes.
//! 7. [`waves`] looks at nodes in the order drawn before the start and stops as soon as a verdict is reached.
//! 8. [`plan`] divides a budget between nodes and blocks.

mod holds;
mod mean;
mod next_node;
mod spread;
mod within;

pub mod kinds;
pub mod odd;
pub mod plan;
pub mod waves;

pub use holds::{Bounds, counted, holds, largest_unseen_kind};
pub use mean::{Mean, mean};
pub use next_node::{NextNode, predict_node};
pub use spread::{Heterogeneity, heterogeneity, spread};
pub use within::{Effects, NodeEffect};

#[cfg(test)]
mod tests;
