//! Whether the model's intervals and its certificate mean what they say.
use std::sync::Arc;

use powerband_advice::{Coordinates, Data, Prior, Process};
use powerband_stats::{Draws, Purpose};

use crate::{seeds, server};

#[test]
fn sweep_ninety_percent_intervals_cover() {
    let (mut inside, mut all, mut errors) = ([0.0; 2], 0.0, [0.0; 2]);
    for seed in seeds(20, 200) {
        let table = server(seed, 0.5);
        let coordinates = Arc::new(Coordinates::new(&table.space));
        let mut random = Draws::new(seed, Purpose::Trial, 11, 0);
        let mut order: Vec<usize> = (0..table.goal.len()).collect();
        random.shuffle(&mut order);
        let (seen, rest) = order.split_at(12);
        for metric in 0..2 {
            let (prior, truth, trends, start) = if metric == 0 {
                (Prior::watts(), &table.goal, &table.trends.0, table.start.0)
            } else {
                (Prior::tail(), &table.tail, &table.trends.1, table.start.1)
            };
            let mut data = Data::default();
            for point in seen {
                data.add(Some(*point), &[truth[*point] + 0.01 * random.normal()]);
            }
            let process = Process::fit(&coordinates, &prior, &prior.mean(start, trends), &data);
            for point in rest {
                let prediction = process.predict(*point);
                let off = (prediction.mean() - truth[*point]).abs();
                inside[metric] += f64::from(u8::from(off <= 1.645 * prediction.variance().sqrt()));
                errors[metric] += off;
            }
            all += 0.5 * rest.len() as f64;
        }
    }
    let shares = inside.map(|count| count / all);
    println!("covered {shares:?}, mean error {:?}", errors.map(|sum| sum / all));
    // Surfaces of laws, not draws from the prior: narrow intervals are the failure, wide ones cost trials.
    for share in shares {
        assert!((0.80..0.995).contains(&share), "{shares:?}");
    }
}

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
