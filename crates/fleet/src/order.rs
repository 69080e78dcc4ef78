//! The order in which nodes are measured and looked at, and the seeds of their tasks: all from the fleet's seed.
use powerband_stats::{Draws, Purpose};

use crate::Node;

/// Distinguishes the draws of a fleet from those of an experiment with the same seed.
const FLEET: u64 = 0x66_6c65_6574;

/// The nodes in an order drawn from the seed. It depends on which nodes they are, not on how they were listed.
#[must_use]
pub fn order(seed: u64, mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_by(|a, b| (a.number, &a.name).cmp(&(b.number, &b.name)));
    let mut draws = Draws::new(seed, Purpose::Order, FLEET, 0);
    for last in (1..nodes.len()).rev() {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the number of nodes")]
        let other = (draws.uniform() * (last + 1) as f64) as usize;
        nodes.swap(last, other.min(last));
    }
    nodes
}

/// The seed of the task at a position; short enough to be typed.
#[must_use]
pub fn seed_of(seed: u64, position: u32) -> u64 {
    Draws::new(seed, Purpose::Order, FLEET, u64::from(position) + 1).bits() >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbered;

    fn names(seed: u64, list: &[&str]) -> String {
        let nodes = numbered(list.iter().map(|name| (*name).to_owned()).collect());
        order(seed, nodes).into_iter().map(|node| node.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_order_is_the_seeds_and_not_the_lists() {
        assert_eq!(names(1, &["n1", "n2", "n3", "n4"]), names(1, &["n4", "n2", "n3", "n1"]));
        let first: std::collections::BTreeSet<String> =
            (0..40).map(|seed| names(seed, &["n1", "n2", "n3", "n4"])[..2].to_owned()).collect();
        assert_eq!(first.len(), 4, "every node comes first under some seed");
    }

    #[test]
    fn tasks_have_seeds_of_their_own() {
        let seeds: std::collections::BTreeSet<u64> = (0..1000).map(|position| seed_of(7, position)).collect();
        assert_eq!(seeds.len(), 1000);
        assert_ne!(seed_of(7, 0), seed_of(8, 0));
    }
}
