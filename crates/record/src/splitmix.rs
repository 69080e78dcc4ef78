//! Numbers that look like chance and are the same for the same seed everywhere (SplitMix64; Steele, Lea, Flood 2014).

/// The next number of the stream that is in this state; its first state is its seed.
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    stirred(*state)
}

/// The stream's last step: a number for each, of which every bit depends on every bit.
#[must_use]
pub fn stirred(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // The first three of seed 1234567, of the reference implementation (Vigna, splitmix64.c).
        let mut state = 1_234_567;
        let first = [splitmix(&mut state), splitmix(&mut state), splitmix(&mut state)];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}
