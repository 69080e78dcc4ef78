//! Portable keyed random streams: the same numbers for the same key on every host.
//!
//! A stream is ChaCha with 8 rounds under a 256-bit key made of a seed, a purpose and two indices, so
//! asking for one more number in one place never shifts the numbers of another.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// What a stream is for. Streams of different purposes are independent under the same seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Order of the trials in a block.
    Order,
    /// Noise of a simulated trial.
    Noise,
    /// Draws for the probability of a provisional answer.
    Posterior,
    /// Re-labelling of recorded blocks.
    Relabel,
    /// Anything a test or a race draws for itself.
    Trial,
}

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Draws {
    stream: ChaCha8Rng,
    spare_normal: Option<f64>,
}

impl Draws {
    /// The stream of (`seed`, `purpose`, `first`, `second`).
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, first: u64, second: u64) -> Self {
        let tag: u64 = match purpose {
            Purpose::Order => 1,
            Purpose::Noise => 2,
            Purpose::Posterior => 3,
            Purpose::Relabel => 4,
            Purpose::Trial => 5,
        };
        let mut key = [0_u8; 32];
        for (part, word) in key.chunks_exact_mut(8).zip([seed, tag, first, second]) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        Self { stream: ChaCha8Rng::from_seed(key), spare_normal: None }
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.stream.next_u64()
    }

    /// Uniform in the open interval (0, 1), on a grid of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        ((self.bits() >> 11) as f64 + 0.5) * STEP
    }

    /// Uniform in (`low`, `high`).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform among 0 .. `n` − 1, without bias (multiply and reject); 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let reject_under = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            if wide as u64 >= reject_under {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Standard normal (Box and Muller 1958); every second call uses the spare of the one before.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        let angle = 2.0 * std::f64::consts::PI * self.uniform();
        let (sine, cosine) = libm::sincos(angle);
        self.spare_normal = Some(radius * sine);
        radius * cosine
    }

    /// Chi-squared with `df` > 0 degrees of freedom, not necessarily whole (Marsaglia and Tsang 2000).
    pub fn chi_squared(&mut self, df: f64) -> f64 {
        let shape = df / 2.0;
        let (shape, boost) =
            if shape < 1.0 { (shape + 1.0, libm::pow(self.uniform(), 1.0 / shape)) } else { (shape, 1.0) };
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let z = self.normal();
            let root = 1.0 + c * z;
            if root <= 0.0 {
                continue;
            }
            let cube = root * root * root;
            if libm::log(self.uniform()) < 0.5 * z * z + d - d * cube + d * libm::log(cube) {
                return 2.0 * d * cube * boost;
            }
        }
    }

    /// Puts `items` in a uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}
