//! Distributions as bars: how the values of each setting lie on one logarithmic scale.
use super::cell::cell;
use crate::Distribution;
use crate::distribution::printed;
use crate::layout::{columns, cut};

use powerband_record::Level;

/// Bars by height; nothing at all is a dot.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const NONE: char = '·';

/// Columns of bars at most, and of labels.
const MAX: usize = 48;
const LABELS: usize = 24;

/// `rtt, us`.
pub(super) fn title(name: &str) -> String {
    let plain = name.rsplit_once('_').map_or(name, |(plain, _)| plain);
    format!("{plain}, {}: percentiles", printed(name).1)
}

/// A line of bars for each setting, and one that says what they stand for.
pub(super) fn draw(name: &str, of: &[(String, &Distribution)], width: usize) -> Vec<String> {
    let labels: Vec<String> = of.iter().map(|(label, _)| cut(label, LABELS)).collect();
    let widest = labels.iter().map(|label| columns(label)).max().unwrap_or(0);
    let wide = width.saturating_sub(widest + 2).min(MAX);
    let (low, high) = of.iter().fold((u64::MAX, 0), |(low, high), (_, it)| (low.min(it.min()), high.max(it.max())));
    if low >= high {
        return vec![];
    }
    let mut lines: Vec<String> = labels
        .iter()
        .zip(of)
        .map(|(label, (_, it))| {
            let heights = it.columns(low, high, wide);
            let tallest = heights.iter().copied().max().unwrap_or(1).max(1);
            let bars: String = heights.iter().map(|&height| bar(height, tallest)).collect();
            format!("{label}{}  {bars}", " ".repeat(widest - columns(label)))
        })
        .collect();
    let (divisor, unit) = printed(name);
    let end = |value: u64| {
        let typical = value as f64 / divisor;
        cell(&Level { setting: 0, metric: String::new(), trials: 0, typical, low: None, high: None }, 0).value
    };
    let scale = format!("{} .. {} {unit}, logarithmic", end(low), end(high));
    lines.push(cut(&format!("{}  {scale}", " ".repeat(widest)), width));
    lines
}

fn bar(height: u64, tallest: u64) -> char {
    if height == 0 {
        return NONE;
    }
    let last = BARS.len() - 1;
    let step = (height as f64 / tallest as f64 * last as f64).round() as usize;
    BARS[step.min(last)]
}
