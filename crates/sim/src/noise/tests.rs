//! Moments, correlation and keys of the noise.
use super::*;

const QUIET: NoiseSpec = NoiseSpec {
    sigma: 0.0,
    link_sigma: 0.0,
    rtt_sigma: 0.0,
    drift_per_hour: 0.0,
    rho: 0.0,
    heavy_tails: false,
    outlier_share: 0.0,
    outlier_size: 0.0,
    interrupt_us: 0.0,
    wake_us: 0.0,
    late_share: 0.0,
    late_us: 0.0,
};

fn logs(spec: NoiseSpec, runs: u64) -> Vec<f64> {
    let mut noise = Noise::new(spec, 7, "near");
    (0..runs).map(|run| log(noise.of_run(run, 0).cpu_ppb as f64 / WHOLE_PPB as f64)).collect()
}

fn moments(xs: &[f64]) -> (f64, f64) {
    let n = xs.len() as f64;
    let mean = xs.iter().sum::<f64>() / n;
    (mean, sqrt(xs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n))
}

#[test]
fn off_is_exactly_off() {
    let mut noise = Noise::new(QUIET, 1, "near");
    let whole = Factors { cpu_ppb: WHOLE_PPB, link_ppb: WHOLE_PPB, rtt_ppb: WHOLE_PPB };
    assert!((0..50).all(|run| noise.of_run(run, run * 1_000_000_000) == whole));
}

#[test]
fn sigma_is_the_standard_deviation() {
    for heavy_tails in [false, true] {
        let (mean, sd) = moments(&logs(NoiseSpec { sigma: 0.02, heavy_tails, ..QUIET }, 20_000));
        assert!(mean.abs() < 0.001, "{mean}");
        assert!((0.017..0.023).contains(&sd), "{sd}");
    }
}

#[test]
fn neighbours_correlate_by_rho() {
    let xs = logs(NoiseSpec { sigma: 0.02, rho: 0.6, ..QUIET }, 20_000);
    let (mean, sd) = moments(&xs);
    let lag: f64 = xs.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>() / xs.len() as f64;
    assert!((lag / (sd * sd) - 0.6).abs() < 0.03);
}

#[test]
fn drift_and_outliers() {
    let mut drifting = Noise::new(NoiseSpec { drift_per_hour: 0.1, ..QUIET }, 1, "near");
    let later = drifting.of_run(0, 7_200_000_000_000).cpu_ppb;
    assert!(later.abs_diff(1_200_000_000) <= 1);
    let xs = logs(NoiseSpec { outlier_share: 0.25, outlier_size: 1.0, ..QUIET }, 4_000);
    let share = xs.iter().filter(|&&x| x > 0.5).count();
    assert!((900..1100).contains(&share), "{share}");
}

#[test]
fn draws_are_keyed() {
    let first = |seed, name, index| keyed(seed, name, index).next_u64();
    let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
    assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
    assert_eq!(first(1, "a", 1), first(1, "a", 1));
}
