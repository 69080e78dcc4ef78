//! What was looked at, in words: lines no wider than 80 columns.
mod cpu;
mod idle;
mod lines;
mod net;
mod power;

pub use cpu::{all as cpus, policies};
pub use idle::idle;
pub use lines::Lines;
pub use net::{net as devices, probed};
pub use power::power;

use powerband_record::InOrder;

/// `ondemand at 1 of 2, schedutil at 1 of 2`, where not all of several are the same.
#[must_use]
pub fn shares(all: &[&str]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for one in all {
        match counts.iter_mut().find(|(known, _)| known == one) {
            Some((_, count)) => *count += 1,
            None => counts.push((one, 1)),
        }
    }
    counts.order_by_key(|&(_, count)| std::cmp::Reverse(count));
    let told: Vec<String> = counts.iter().map(|(one, count)| format!("{one} at {count} of {}", all.len())).collect();
    (counts.len() > 1 && counts.len() < all.len().max(3)).then(|| told.join(", "))
}
