//! How many primes there are below a limit: what a load that counts them is checked against.

/// The number of primes below `limit`, by crossing out from sums instead of numbers (after Legendre): exact, and within
/// a moment for all limits of 32 bits.
#[must_use]
pub fn primes_below(limit: u64) -> u64 {
    let Some(most) = limit.checked_sub(1).filter(|most| *most >= 2) else { return 0 };
    let root = most.isqrt() as usize;
    // How many of 2..=i, and of 2..=most/i, are left when the multiples of the primes so far are crossed out.
    let mut low: Vec<u64> = (0..=root as u64).map(|i| i.saturating_sub(1)).collect();
    let mut high: Vec<u64> = (0..=root as u64).map(|i| most.checked_div(i).map_or(0, |i| i - 1)).collect();
    for prime in 2..=root {
        let before = low[prime - 1];
        if low[prime] == before {
            continue;
        }
        let square = prime * prime;
        for i in 1..=root.min(most as usize / square) {
            let multiple = i * prime;
            let left = high.get(multiple).copied().unwrap_or_else(|| low[most as usize / multiple]);
            high[i] -= left - before;
        }
        for i in (square..=root).rev() {
            low[i] -= low[i / prime] - before;
        }
    }
    high[1]
}

#[cfg(test)]
mod tests {
    use super::primes_below;

    #[test]
    fn powers_of_ten_have_as_many_primes_as_the_tables_say() {
        let known = [0, 4, 25, 168, 1_229, 9_592, 78_498, 664_579, 5_761_455, 50_847_534];
        for (power, primes) in (0..).zip(known) {
            assert_eq!(primes_below(10_u64.pow(power)), primes, "10^{power}");
        }
        assert_eq!(primes_below(1 << 32), 203_280_221);
    }

    #[test]
    fn every_small_limit_agrees_with_division() {
        let mut primes = 0;
        for limit in 0..2_000_u64 {
            assert_eq!(primes_below(limit), primes, "{limit}");
            let is_prime = limit >= 2 && (2..limit).all(|divisor| !limit.is_multiple_of(divisor));
            primes += u64::from(is_prime);
        }
    }
}
