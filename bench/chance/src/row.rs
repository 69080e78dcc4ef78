//! A row of a table of error rates: what is simulated, how often, and what the result may be.

use std::ops::RangeInclusive;

/// What the mean of a column over all experiments may be; shares are in percent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    /// Printed, not held.
    Any,
    /// At most so much: the limit includes what chance adds.
    Most(f64),
    /// At least so much.
    Least(f64),
    /// From so much to so much.
    Within(f64, f64),
    /// Within so much of zero, and three standard errors of the mean.
    Zero(f64),
}

impl Limit {
    /// The most of a share whose true value is at most `rate` percent: four standard errors over it, and two more experiments
    /// where that is few.
    pub(crate) fn of_rate(rate: f64, runs: u32) -> Self {
        let (p, n) = (rate / 100.0, f64::from(runs));
        Self::Most(100.0 * (p * n + 4.0 * (p * n * (1.0 - p)).sqrt() + 2.0) / n)
    }

    /// The most of a share whose true value is at most `rate` percent: the least count that a binomial exceeds with probability
    /// below 0.002.
    pub(crate) fn binomial(rate: f64, runs: u32) -> Self {
        let p = rate / 100.0;
        let mut probability = (1.0 - p).powi(runs.cast_signed());
        let (mut below, mut most) = (probability, 0);
        while 1.0 - below >= 0.002 && most < runs {
            probability *= f64::from(runs - most) / f64::from(most + 1) * p / (1.0 - p);
            below += probability;
            most += 1;
        }
        Self::Most(100.0 * f64::from(most) / f64::from(runs))
    }

    /// Whether the mean of a column keeps it.
    pub(crate) fn holds(self, cell: Cell) -> bool {
        let Cell { mean, error, count } = cell;
        let range: RangeInclusive<f64> = match self {
            Self::Any => return true,
            Self::Most(most) => f64::NEG_INFINITY..=most,
            Self::Least(least) => least..=f64::INFINITY,
            Self::Within(least, most) => least..=most,
            Self::Zero(off) => -(off + 3.0 * error)..=off + 3.0 * error,
        };
        // Counts over a limit in whole experiments are exact; a sum of shares is not.
        count > 0.0 && (range.contains(&mean) || range.contains(&(mean - 1e-9)) || range.contains(&(mean + 1e-9)))
    }
}

/// A column of a row: the mean of its numbers, its standard error, how many there are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cell {
    pub(crate) mean: f64,
    pub(crate) error: f64,
    pub(crate) count: f64,
}

impl Cell {
    /// Of the numbers that are not NaN: an experiment that has nothing to add to a column gives that.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for value in values.filter(|value| !value.is_nan()) {
            (count, sum, squares) = (count + 1.0, sum + value, squares + value * value);
        }
        let mean: f64 = sum / count;
        let variance: f64 = squares / count - mean * mean;
        Self { mean, error: (variance.max(0.0) / count).sqrt(), count }
    }
}

/// One experiment: a number for each column.
pub(crate) type Play = Box<dyn Fn(u64) -> Vec<f64> + Send + Sync>;

/// Many experiments of one kind.
pub(crate) struct Row {
    /// Rows of one label are printed as one, from the least to the most of each column.
    pub(crate) label: String,
    /// Which of them it is.
    pub(crate) detail: String,
    /// Experiments.
    pub(crate) runs: u32,
    /// A limit for each column.
    pub(crate) limits: Vec<Limit>,
    pub(crate) play: Play,
}

/// A table of error rates.
pub(crate) struct Table {
    /// What `--only` picks it by.
    pub(crate) part: &'static str,
    pub(crate) title: &'static str,
    /// Where its limits come from.
    pub(crate) from: &'static str,
    /// Titles; those with a `%` are shares.
    pub(crate) columns: &'static [&'static str],
    pub(crate) rows: Vec<Row>,
}

/// A row of the cases of one label.
pub(crate) fn row(
    (label, detail): (&str, &str),
    runs: u32,
    limits: &[Limit],
    play: impl Fn(u64) -> Vec<f64> + Send + Sync + 'static,
) -> Row {
    let (label, detail) = (label.to_owned(), detail.to_owned());
    Row { label, detail, runs, limits: limits.to_vec(), play: Box::new(play) }
}

/// A share's contribution in percent.
pub(crate) fn once(is: bool) -> f64 {
    if is { 100.0 } else { 0.0 }
}
