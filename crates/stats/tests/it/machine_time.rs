//! The race of sixteen experiments: few wrong verdicts, and no more trials than the method needs.

use crate::runs::runs;
use crate::tables::spending;
use powerband_testkit::race::{Contender, EXPERIMENTS, NOISES, Score, score};

/// Trials over those of ten each, by noise. A first look after the second block took 0.48, 0.37, 0.69, 0.42 and 0.59, and
/// called a setting five times as noisy as the others different in 9 % of the experiments. To hold 5 % where one of few settings
/// is noisier costs a hundredth: 0.559 on the mean in place of 0.553.
const EXPECTED: [f64; 5] = [0.51, 0.42, 0.72, 0.48, 0.65];

fn total(contender: Contender, noise: powerband_stats::noise::Noise, count: u32) -> Score {
    let shift: u64 = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let mut total = Score::default();
    for index in 0..EXPERIMENTS.len() {
        total.add(&score(&contender.procedure(), index, noise, &spending(), count, 26 + shift).unwrap());
    }
    total
}

#[test]
fn few_wrong_verdicts_for_little_machine_time() {
    let count = runs(60, 300);
    let tolerance = if crate::runs::sweeping() { 0.03 } else { 0.06 };
    let (mut ratios, mut wrong, mut peers_wrong) = (0.0, 0.0, 0.0);
    for (noise, expected) in NOISES.into_iter().zip(EXPECTED) {
        let ours = total(Contender::Ours, noise, count);
        let peer = total(Contender::TenWelch, noise, count);
        println!(
            "{}: {:.1} % of experiments wrong, ratio {:.3}",
            noise.name(),
            ours.wrong_runs_percent(),
            ours.ratio()
        );
        assert!(ours.wrong_runs_percent() <= 5.0, "{}: {:?}", noise.name(), ours);
        assert!((ours.ratio() - expected).abs() <= tolerance, "{}: {}", noise.name(), ours.ratio());
        ratios += ours.ratio() / 5.0;
        wrong += ours.wrong_settings_percent();
        peers_wrong += peer.wrong_settings_percent();
    }
    assert!(ratios <= 0.565, "{ratios}");
    assert!(wrong <= 0.2 * peers_wrong, "{wrong} against {peers_wrong}");
}
