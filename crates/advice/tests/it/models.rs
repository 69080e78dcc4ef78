//! What the model learns of noise, and whether its draws are those of its predictions.
use std::sync::Arc;

use powerband_advice::{Coordinates, Data, Prior, Process};
use powerband_stats::{Draws, Purpose};

use crate::server;

#[test]
fn repeats_teach_the_noise() {
    let table = server(3, 0.5);
    let coordinates = Arc::new(Coordinates::new(&table.space));
    let mut random = Draws::new(1, Purpose::Trial, 12, 0);
    let sd = |data: &Data| {
        let prior = Prior::watts();
        Process::fit(&coordinates, &prior, &prior.mean(table.start.0, &table.trends.0), data)
            .noise_variance(table.start.0)
            .sqrt()
    };
    for noise in [0.002, 0.03] {
        let mut data = Data::default();
        for point in [3, 20, 40] {
            let runs: Vec<f64> = (0..6).map(|_| table.goal[point] + noise * random.normal()).collect();
            data.add(Some(point), &runs);
        }
        let found = sd(&data);
        assert!(found > 0.6 * noise && found < 1.7 * noise, "{found} for {noise}");
    }
}

#[test]
fn draws_have_the_moments_of_the_predictions() {
    let table = server(4, 0.5);
    let coordinates = Arc::new(Coordinates::new(&table.space));
    let prior = Prior::tail();
    let mut data = Data::default();
    for point in [0, 24, 48] {
        data.add(Some(point), &[table.tail[point]]);
    }
    let process = Process::fit(&coordinates, &prior, &prior.mean(table.start.1, &table.trends.1), &data);
    let points = [10, 11, 24];
    let draws = process.draws(&points, 4000, 5);
    for (at, point) in points.into_iter().enumerate() {
        let prediction = process.predict(point);
        let mean = draws.iter().map(|draw| draw[at]).sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|draw| (draw[at] - mean) * (draw[at] - mean)).sum::<f64>() / draws.len() as f64;
        let sd = prediction.variance().sqrt();
        assert!((mean - prediction.mean()).abs() < 0.08 * sd, "{mean} for {}", prediction.mean());
        assert!((square.sqrt() / sd - 1.0).abs() < 0.1, "{} for {sd}", square.sqrt());
    }
    // Neighbours move together; and what was measured hardly moves at all.
    let apart = |at: usize, other: usize| {
        draws.iter().map(|draw| (draw[at] - draw[other]).abs()).sum::<f64>() / draws.len() as f64
    };
    let alone = process.predict(10).variance().sqrt();
    assert!(apart(0, 1) - (process.predict(10).mean() - process.predict(11).mean()).abs() < alone);
    assert!(process.predict(24).variance() < 0.3 * process.predict(10).variance());
}

#[test]
fn noise_that_grows_with_the_level_is_learned() {
    let table = server(3, 0.5);
    let coordinates = Arc::new(Coordinates::new(&table.space));
    let prior = Prior::tail();
    let ratio = |growth: f64| {
        let mut random = Draws::new(2, Purpose::Trial, 13, 0);
        let mut data = Data::default();
        for (point, level) in [(3, 4.5), (10, 5.0), (20, 5.5), (30, 6.0), (40, 6.5)] {
            let sd = 0.01 * (growth * (level - 4.5_f64)).exp();
            let runs: Vec<f64> = (0..8).map(|_| level + sd * random.normal()).collect();
            data.add(Some(point), &runs);
        }
        let process = Process::fit(&coordinates, &prior, &prior.mean(4.5, &table.trends.1), &data);
        (process.noise_variance(6.5) / process.noise_variance(4.5)).sqrt()
    };
    let (even, growing) = (ratio(0.0), ratio(1.0));
    assert!(even < 1.6, "even noise seems to grow {even} times");
    assert!(growing > 2.5, "noise that grows 7.4 times seems to grow {growing} times");
}
