//! How often a simulated experiment is run: a short form on every change, the long one in a sweep.

use powerband_testkit::formula::run_seed;

/// Whether the long form is asked for.
pub(crate) fn sweeping() -> bool {
    std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1")
}

/// `short` runs, or `long` in a sweep.
pub(crate) fn runs(short: u32, long: u32) -> u32 {
    if sweeping() { long } else { short }
}

/// What may be counted at most: `short` of the short form, `long` of the long one.
pub(crate) fn limit(short: u32, long: u32) -> u32 {
    runs(short, long)
}

/// Seed of run `run` of case `case`: fixed, unless a sweep shifts it by `POWERBAND_SWEEP_SEED`.
pub(crate) fn seed(case: u64, run: u32) -> u64 {
    let shift: u64 = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    run_seed(20 + shift, case, u64::from(run))
}
