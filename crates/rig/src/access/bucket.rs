//! How often something may happen: so many times at once, and then at a steady rate.

/// Times that are left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Thousandths of one time.
    left: u64,
    most: u64,
    each_ns: u64,
    at_ns: u64,
}

impl Bucket {
    /// `most` times at once, and one more each `each_ns`.
    pub(super) fn new(most: u64, each_ns: u64, now_ns: u64) -> Bucket {
        Bucket { left: most * 1000, most: most * 1000, each_ns, at_ns: now_ns }
    }

    /// Takes one; answers how long it is until there is one, ns, where there is none.
    pub(super) fn take(&mut self, now_ns: u64) -> Result<(), u64> {
        let passed_ns = now_ns.saturating_sub(self.at_ns);
        let more = u128::from(passed_ns) * 1000 / u128::from(self.each_ns.max(1));
        let more = u64::try_from(more).unwrap_or(self.most);
        if more > 0 {
            self.left = self.left.saturating_add(more).min(self.most);
            self.at_ns = now_ns;
        }
        if self.left < 1000 {
            return Err((1000 - self.left) * (self.each_ns / 1000).max(1));
        }
        self.left -= 1000;
        Ok(())
    }

    /// Whether nothing was taken for so long that it is as new.
    pub(super) fn is_full(&self, now_ns: u64) -> bool {
        let mut then = *self;
        then.take(now_ns).is_ok() && then.left + 1000 >= self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_at_once_and_then_at_a_rate() {
        let mut bucket = Bucket::new(3, 1_000_000_000, 0);
        for _ in 0..3 {
            assert_eq!(bucket.take(0), Ok(()));
        }
        let wait_ns = bucket.take(0).unwrap_err();
        assert_eq!(wait_ns, 1_000_000_000);
        assert!(bucket.take(500_000_000).is_err());
        assert_eq!(bucket.take(1_000_000_000), Ok(()));
        assert!(bucket.take(1_100_000_000).is_err());
        assert!(!bucket.is_full(1_200_000_000));
        assert!(bucket.is_full(60_000_000_000));
    }
}
