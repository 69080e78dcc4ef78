//! Noise as a dial: what makes one run of a process differ from the next, and every random draw there is.
//!
//! A draw is keyed by (seed, component, index), never taken from a shared sequence: leaving a component out, or asking
//! for one draw more, moves no other.
use libm::{cos, exp, log, sqrt};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// One whole, in the unit of [`Factors`].
pub(crate) const WHOLE_PPB: u64 = 1_000_000_000;

/// A random stream of its own for `component` at `index`.
pub(crate) fn keyed(seed: u64, component: &str, index: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&fnv1a(component.as_bytes()).to_le_bytes());
    let length = u64::try_from(component.len()).unwrap_or(u64::MAX);
    key[16..24].copy_from_slice(&length.to_le_bytes());
    let mut stream = ChaCha8Rng::from_seed(key);
    stream.set_stream(index);
    stream
}

/// FNV-1a, 64 bits: a name as a number, the same everywhere.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Uniform in (0, 1].
fn uniform(stream: &mut ChaCha8Rng) -> f64 {
    ((stream.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

/// Standard normal (Box and Muller's cosine half).
pub(crate) fn normal(stream: &mut ChaCha8Rng) -> f64 {
    let radius = sqrt(-2.0 * log(uniform(stream)));
    radius * cos(2.0 * std::f64::consts::PI * uniform(stream))
}

/// Student's t with three degrees of freedom, scaled to variance 1.
fn student_t3(stream: &mut ChaCha8Rng) -> f64 {
    let top = normal(stream);
    let squares: f64 = (0..3).map(|_| normal(stream)).map(|z| z * z).sum();
    top / sqrt(squares)
}

/// The dial, as it stands in a machine file. All zero is no noise at all.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseSpec {
    /// Standard deviation of the CPU cost of a process from run to run, relative.
    pub sigma: f64,
    /// The same of the link's goodput.
    pub link_sigma: f64,
    /// The same of the time on the wire.
    pub rtt_sigma: f64,
    /// By how much costs grow in an hour, relative.
    pub drift_per_hour: f64,
    /// Correlation of a run's deviation with the one before, -1..1.
    pub rho: f64,
    /// Deviations follow Student's t with three degrees of freedom instead of a normal law.
    pub heavy_tails: bool,
    /// Share of runs that are outliers, 0..1.
    pub outlier_share: f64,
    /// By how much an outlier costs more, relative.
    pub outlier_size: f64,
    /// How late an interrupt for a packet of a ping is on average, µs.
    pub interrupt_us: f64,
    /// How late a process that sleeps for such a packet runs on average, µs.
    pub wake_us: f64,
    /// Share of these wake-ups that find something in their way, 0..1.
    pub late_share: f64,
    /// How much longer those take on average, µs.
    pub late_us: f64,
}

/// What one run of a process pays, against the machine file; unit: [`WHOLE_PPB`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factors {
    /// On cycles.
    pub(crate) cpu_ppb: u64,
    /// On the time a byte takes on the link.
    pub(crate) link_ppb: u64,
    /// On the time on the wire.
    pub(crate) rtt_ppb: u64,
}

impl Factors {
    /// Of what is no process.
    pub(crate) const NONE: Factors = Factors { cpu_ppb: WHOLE_PPB, link_ppb: WHOLE_PPB, rtt_ppb: WHOLE_PPB };
}

/// The noise of one machine, run by run.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    spec: NoiseSpec,
    seed: u64,
    component: String,
    interrupts: String,
    ticks: String,
    wakes: String,
    exits: String,
    before: Option<[f64; 3]>,
}

impl Noise {
    /// `component` tells the machines of a World apart.
    pub(crate) fn new(spec: NoiseSpec, seed: u64, component: &str) -> Self {
        Noise {
            spec,
            seed,
            component: format!("noise of {component}"),
            interrupts: format!("interrupts of {component}"),
            ticks: format!("ticks of {component}"),
            wakes: format!("wake-ups of {component}"),
            exits: format!("idle states of {component}"),
            before: None,
        }
    }

    /// By how much the interrupt for received packet `number` of a machine is late, ns.
    pub(crate) fn interrupt_late_ns(&self, number: u64) -> u64 {
        if self.spec.interrupt_us <= 0.0 {
            return 0;
        }
        let mut stream = keyed(self.seed, &self.interrupts, number);
        exponential_ns(&mut stream, self.spec.interrupt_us)
    }

    /// How long a CPU takes out of an idle state that it entered as its `number`-th, ns: half of the worst case to all of it.
    pub(crate) fn exit_ns(&self, cpu: u32, number: u32, worst_ns: u64) -> u64 {
        if worst_ns == 0 {
            return 0;
        }
        let index = (u64::from(cpu) << 32) | u64::from(number);
        let share = uniform(&mut keyed(self.seed, &self.exits, index));
        worst_ns - (worst_ns as f64 / 2.0 * share) as u64
    }

    /// By how much tick `number` is late, evenly up to `most_ns`.
    pub(crate) fn tick_late_ns(&self, number: u64, most_ns: u32) -> u64 {
        if most_ns == 0 {
            return 0;
        }
        u64::from(keyed(self.seed, &self.ticks, number).next_u32() % (most_ns + 1))
    }

    /// By how much a process runs late that slept for its packet `number`, ns.
    pub(crate) fn wake_late_ns(&self, process: u32, number: u64) -> u64 {
        let NoiseSpec { wake_us, late_share, late_us, .. } = self.spec;
        if wake_us <= 0.0 && late_share <= 0.0 {
            return 0;
        }
        let index = (u64::from(process) << 32) | (number & u64::from(u32::MAX));
        let mut stream = keyed(self.seed, &self.wakes, index);
        let late_ns = exponential_ns(&mut stream, wake_us);
        if uniform(&mut stream) > late_share {
            return late_ns;
        }
        late_ns + exponential_ns(&mut stream, late_us)
    }

    /// The factors of run number `run`, which begins at `now_ns`. Runs are asked for in order.
    pub(crate) fn of_run(&mut self, run: u64, now_ns: u64) -> Factors {
        let mut stream = keyed(self.seed, &self.component, run);
        let heavy = self.spec.heavy_tails;
        let mut fresh = || if heavy { student_t3(&mut stream) } else { normal(&mut stream) };
        let mut deviation = [fresh(), fresh(), fresh()];
        if let Some(before) = self.before {
            let rho = self.spec.rho;
            for (now, then) in deviation.iter_mut().zip(before) {
                *now = rho * then + sqrt(1.0 - rho * rho) * *now;
            }
        }
        self.before = Some(deviation);
        let outlier = uniform(&mut stream) <= self.spec.outlier_share;
        let hours = now_ns as f64 / 3.6e12;
        let common = (1.0 + self.spec.drift_per_hour * hours).max(0.01)
            * if outlier { 1.0 + self.spec.outlier_size } else { 1.0 };
        Factors {
            cpu_ppb: ppb(common * exp(self.spec.sigma * deviation[0])),
            link_ppb: ppb(common * exp(self.spec.link_sigma * deviation[1])),
            rtt_ppb: ppb(exp(self.spec.rtt_sigma * deviation[2])),
        }
    }
}

/// Exponentially distributed around a mean, ns.
fn exponential_ns(stream: &mut ChaCha8Rng, mean_us: f64) -> u64 {
    (-log(uniform(stream)) * mean_us * 1e3) as u64
}

/// Exponential with mean 1.
pub(crate) fn unit_exponential(stream: &mut ChaCha8Rng) -> f64 {
    -log(uniform(stream))
}

/// Log-normal of a mean and a coefficient of variation.
pub(crate) fn log_normal(stream: &mut ChaCha8Rng, mean: f64, variation: f64) -> f64 {
    let variance = log(1.0 + variation * variation);
    mean * exp(sqrt(variance) * normal(stream) - variance / 2.0)
}

/// A factor as parts per billion, kept between a thousandth and a thousandfold.
fn ppb(factor: f64) -> u64 {
    (factor.clamp(1e-3, 1e3) * WHOLE_PPB as f64) as u64
}

/// `value` times a factor in parts per billion.
pub(crate) fn scaled(value: u64, factor_ppb: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(factor_ppb) / u128::from(WHOLE_PPB)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
