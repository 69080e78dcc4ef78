//! What a dozen settings teach of all others: median errors of the model, and how often its intervals cover.

use powerband_advice::{Candidate, Coordinates, Data, Goal, Process};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::ReplayTable;
use std::sync::Arc;

/// Settings in a Latin hypercube.
const SETTINGS: usize = 12;

/// Runs of the start.
const START_RUNS: usize = 3;

/// Half the width of a 90 % interval, in standard deviations.
const HALF_90: f64 = 1.645;

/// One metric over all sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Column {
    errors: Vec<f64>,
    covered: usize,
    predicted: usize,
}

impl Column {
    /// Median of the sets' median errors in percent; the worst set's; coverage of the 90 % intervals.
    pub(crate) fn words(&self) -> String {
        let worst = 100.0 * self.errors.iter().copied().fold(0.0, f64::max);
        format!(
            "{:.1} % (worst {worst:.1}), intervals cover {:.0} %",
            100.0 * median(self.errors.clone()),
            100.0 * self.covered as f64 / self.predicted.max(1) as f64
        )
    }
}

/// Watts and tail over `sets` sets of runs; none where the goal is known or there is no bound.
pub(crate) fn columns(table: &ReplayTable, sets: u64, louder: f64) -> Option<[Column; 2]> {
    let problem = table.problem(1);
    let Goal::Measured { trends, prior } = &problem.goal else { return None };
    let bound = problem.bounds.first()?;
    let coordinates = Arc::new(Coordinates::new(&table.space));
    let mut columns = [Column::default(), Column::default()];
    for set in 0..sets {
        let data = measure(table, set, louder);
        let metrics = [(prior, trends, &table.goal), (&bound.prior, &bound.trends, &table.tail)];
        for (place, (prior, trends, truth)) in metrics.into_iter().enumerate() {
            let (data, start_ln) = &data[place];
            let model = Process::fit(&coordinates, prior, &prior.mean(*start_ln, trends), data);
            let column = &mut columns[place];
            let others = || (0..truth.len()).filter(|point| data.tried.iter().all(|tried| tried.point != *point));
            let off = |at: usize| (model.predict(at).mean() - truth[at]).abs();
            column.errors.push(median(others().map(off).collect()));
            for at in others() {
                let prediction = model.predict(at);
                let inside = off(at) <= HALF_90 * prediction.variance().sqrt();
                column.covered += usize::from(inside);
                column.predicted += 1;
            }
        }
    }
    Some(columns)
}

/// Both metrics at the settings of one Latin hypercube, and the start's means.
fn measure(table: &ReplayTable, set: u64, louder: f64) -> [(Data, f64); 2] {
    let mut draws = Draws::new(set, Purpose::Trial, 83, 0);
    let mut noise = Draws::new(set, Purpose::Noise, 2, 0);
    let mut data = [Data::default(), Data::default()];
    let start: Vec<(f64, f64)> = (0..START_RUNS).map(|_| table.run(Candidate::Start, &mut noise, louder)).collect();
    let start = [start.iter().map(|run| run.0).collect::<Vec<f64>>(), start.iter().map(|run| run.1).collect()];
    for point in hypercube(table, &mut draws) {
        let (goal, tail) = table.run(Candidate::Point(point), &mut noise, louder);
        data[0].add(Some(point), &[goal]);
        data[1].add(Some(point), &[tail]);
    }
    let [goal, tail] = data;
    let with_start = |mut data: Data, start: &Vec<f64>| {
        data.add(None, start);
        (data, start.iter().sum::<f64>() / START_RUNS as f64)
    };
    [with_start(goal, &start[0]), with_start(tail, &start[1])]
}

/// Different points nearest to a Latin hypercube over the levels.
fn hypercube(table: &ReplayTable, draws: &mut Draws) -> Vec<usize> {
    let strata: Vec<Vec<f64>> = table
        .space
        .factors
        .iter()
        .map(|_| {
            let mut order: Vec<usize> = (0..SETTINGS).collect();
            draws.shuffle(&mut order);
            order.into_iter().map(|place| (place as f64 + draws.uniform()) / SETTINGS as f64).collect()
        })
        .collect();
    let mut chosen: Vec<usize> = Vec::new();
    for row in 0..SETTINGS {
        let away = |point: usize| -> f64 {
            let levels = table.space.points[point].iter().zip(&table.space.factors).zip(&strata);
            levels
                .map(|((level, factor), stratum)| {
                    let place = (level.map_or(0.0, f64::from) + 0.5) / factor.levels() as f64;
                    (place - stratum[row]) * (place - stratum[row])
                })
                .sum()
        };
        let left = (0..table.goal.len()).filter(|point| !chosen.contains(point));
        chosen.extend(left.min_by(|a, b| away(*a).total_cmp(&away(*b))));
    }
    chosen
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
