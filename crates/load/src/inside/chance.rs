//! What a load draws: numbers that look like chance and are the same for the same seed everywhere.
use powerband_record::splitmix;

/// A stream of them.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    /// The stream of `part` among those of one seed.
    pub(super) fn new(seed: u64, part: u64) -> Self {
        // Mixed, so that the streams of neighbours do not overlap.
        let mut mixed = Chance(seed ^ part.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03));
        Chance(mixed.next())
    }

    /// Any number of 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        splitmix(&mut self.0)
    }

    /// One of 0 to `count` - 1; 0 of none.
    pub(super) fn below(&mut self, count: usize) -> usize {
        // The upper half of the product; the bias of at most count / 2^64 is none.
        let product = u128::from(self.next()) * count as u128;
        usize::try_from(product >> 64).unwrap_or(0)
    }

    /// From `least` to `most`.
    pub(super) fn between(&mut self, least: u32, most: u32) -> u32 {
        let count = usize::try_from(most.saturating_sub(least)).unwrap_or(0) + 1;
        least + u32::try_from(self.below(count)).unwrap_or(0)
    }

    /// Exponential with a mean, by the inverse of its distribution.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        let uniform = ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -uniform.ln() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_evenly_and_by_their_law() {
        let mut chance = Chance::new(1, 0);
        let mut seen = [0_u32; 33];
        for _ in 0..33_000 {
            seen[chance.below(33)] += 1;
        }
        // Five standard deviations of a count of 1000.
        assert!(seen.iter().all(|count| count.abs_diff(1_000) < 160), "{seen:?}");
        assert_eq!((0..1_000).map(|_| chance.between(5, 7)).min(), Some(5));
        assert_eq!((0..1_000).map(|_| chance.between(5, 7)).max(), Some(7));
        let mean = (0..10_000).map(|_| chance.exponential(3.0)).sum::<f64>() / 10_000.0;
        assert!((mean - 3.0).abs() < 0.15, "{mean}");
    }

    #[test]
    fn streams_are_repeated_and_differ() {
        let first = |seed, part| Chance::new(seed, part).next();
        assert_eq!(first(1, 2), first(1, 2));
        assert!(first(1, 2) != first(1, 3) && first(1, 2) != first(2, 2));
    }
}
