//! What many searches come to: medians, 95th percentiles and shares, as a row of the table.

use powerband_advice::SearchConclusion;
use powerband_testkit::replay::{Played, ReplayTable};

use crate::searchers::{BUDGET, Naive};

/// Counts of many searches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Score {
    tried: Vec<f64>,
    picked: Vec<f64>,
    stop_settings: Vec<f64>,
    stop_runs: Vec<f64>,
    stop_regret: Vec<f64>,
    blocks: Vec<f64>,
    runs: Vec<f64>,
    regret: Vec<f64>,
    far_over: f64,
    broken: f64,
    start: f64,
    seconds: f64,
}

impl Score {
    pub(crate) const HEADER: &str = "surface        searcher         tried    picked   stop at (runs)      regret there   blocks   \
                                     runs     regret at the end    broken  start  s each  far over";

    pub(crate) fn add(&mut self, table: &ReplayTable, played: &Played, seconds: f64) {
        let never = (BUDGET + 1) as f64;
        let count = |found: Option<usize>| found.map_or(never, |count| count as f64).min(never);
        self.tried.push(count(played.tried));
        self.picked.push(count(played.picked));
        if let Some((settings, runs)) = played.stop {
            self.stop_settings.push(settings as f64);
            self.stop_runs.push(runs as f64);
            self.stop_regret.push(played.stop_regret);
        }
        self.blocks.push(played.blocks as f64);
        self.runs.push(played.runs as f64);
        self.regret.push(played.regret);
        self.far_over += played.far_over as f64;
        self.broken += f64::from(u8::from(played.broken));
        let ended_at_start =
            !matches!(played.end, Some(SearchConclusion::Confirmed(_))) && table.best() < table.start.0;
        self.start += f64::from(u8::from(ended_at_start));
        self.seconds += seconds;
    }

    pub(crate) fn add_naive(&mut self, table: &ReplayTable, naive: &Naive, seconds: f64) {
        self.seconds += seconds;
        let never = (BUDGET + 1) as f64;
        let count = |found: Option<usize>| found.map_or(never, |count| count as f64);
        self.tried.push(count(naive.tried));
        self.picked.push(count(naive.picked));
        self.runs.push(BUDGET as f64);
        let goal = naive.answer.map_or(table.start.0, |point| table.goal[point]);
        self.regret.push((goal - table.best()).max(0.0));
        self.broken += f64::from(u8::from(naive.answer.is_some_and(|point| table.tail[point] > table.limit)));
        self.start += f64::from(u8::from(naive.answer.is_none()));
    }

    /// Whether tried meets median and 95th percentile, and few enough answers break the bound.
    pub(crate) fn reaches(&self, median: f64, high: f64, broken: f64) -> bool {
        let count = self.tried.len() as f64;
        quantile(&self.tried, 0.5) <= median && quantile(&self.tried, 0.95) <= high && self.broken <= broken * count
    }

    pub(crate) fn row(&self, surface: &str, searcher: &str) -> String {
        let pair = |values: &[f64]| {
            if values.is_empty() {
                return "–".to_owned();
            }
            format!("{:.0} / {:.0}", quantile(values, 0.5), quantile(values, 0.95))
        };
        let percent = |values: &[f64]| {
            if values.is_empty() {
                return "–".to_owned();
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let large = values.iter().filter(|value| **value > 0.05).count();
            format!("{:.2} / {:.1} % ({large})", 100.0 * mean, 100.0 * quantile(values, 0.95))
        };
        let stop = format!("{} ({})", pair(&self.stop_settings), pair(&self.stop_runs));
        let count = self.tried.len().max(1) as f64;
        format!(
            "{surface:<14} {searcher:<16} {:<8} {:<8} {stop:<19} {:<14} {:<8} {:<8} {:<20} {:<7} {:<6} {:<7.2} {:.0} %",
            pair(&self.tried),
            pair(&self.picked),
            percent(&self.stop_regret),
            pair(&self.blocks),
            pair(&self.runs),
            percent(&self.regret),
            self.broken,
            self.start,
            self.seconds / count,
            100.0 * self.far_over / self.runs.iter().sum::<f64>().max(1.0),
        )
    }
}

/// The smallest value that at least a share `p` of the values does not exceed.
fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}
