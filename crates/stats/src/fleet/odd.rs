//! Nodes that do not belong to the others: generalised extreme studentised deviates (Rosner 1983), each suspect compared
//! with the nodes that are left.

use super::mean::Mean;
use super::within::Effects;
use crate::distribution::{t_two_sided, t_upper};
use serde::{Deserialize, Serialize};

/// Chance of any false odd node in a fleet, for each of effect, level and noise.
pub const ALPHA: f64 = 0.01 / 3.0;
/// Fewest nodes among which one can be odd.
pub const MIN_NODES: usize = 5;
/// Residual degrees of freedom of a node from which its noise is judged.
pub const MIN_NOISE_DF: f64 = 6.0;

/// Which deviations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deviations {
    /// In both directions.
    Both,
    /// Upwards only.
    Upper,
}

/// A node that was set apart from those left, oddest first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    /// Index of the node in the values.
    pub node: usize,
    /// Mean of the others.
    pub mean: f64,
    /// Standard deviation of the others.
    pub sd: f64,
    /// How far the node is from them, in standard deviations of such a difference.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Chance of one so odd among so many, by Bonferroni's bound; may exceed 1.
    pub p: f64,
}

/// Suspects in the order in which they were taken out, and how many of them are odd.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Odd {
    /// All that were taken out.
    pub suspects: Vec<Suspect>,
    /// The first so many are odd.
    pub odd: usize,
}

impl Odd {
    /// The odd nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Suspect] {
        self.suspects.get(..self.odd).unwrap_or_default()
    }
}

/// Finds odd values at error rate `alpha`; `excess` is what a value's own noise adds to its variance, 0 where that is unknown.
/// Nothing is odd among fewer than five. Both slices have the same length.
#[must_use]
pub fn find(values: &[f64], excess: &[f64], side: Deviations, alpha: f64) -> Odd {
    let count = values.len();
    if count < MIN_NODES {
        return Odd::default();
    }
    let most = ((count - 1) / 4).clamp(1, 8);
    let mut left: Vec<usize> = (0..count).collect();
    let mut found = Odd::default();
    for _ in 0..most {
        let Some((place, suspect)) = oddest(values, excess, &left, side) else { break };
        left.swap_remove(place);
        found.suspects.push(suspect);
    }
    found.odd = found.suspects.iter().rposition(|suspect| suspect.p <= alpha).map_or(0, |last| last + 1);
    found
}

/// The value of those `left` that is furthest from the others.
fn oddest(values: &[f64], excess: &[f64], left: &[usize], side: Deviations) -> Option<(usize, Suspect)> {
    let n = left.len() as f64;
    let centre = left.iter().map(|&node| values[node]).sum::<f64>() / n;
    let squares: f64 = left.iter().map(|&node| (values[node] - centre).powi(2)).sum();
    let df = n - 2.0;
    let mut best: Option<(usize, Suspect)> = None;
    for (place, &node) in left.iter().enumerate() {
        let off = values[node] - centre;
        // Without this one: its mean moves by off/(n − 1), its sum of squares falls by off²·n/(n − 1).
        let mean = centre - off / (n - 1.0);
        let variance = ((squares - off * off * n / (n - 1.0)) / df).max(0.0);
        let own = excess.get(node).copied().unwrap_or(0.0);
        let error = (variance * n / (n - 1.0) + own).sqrt();
        let difference = values[node] - mean;
        let t = if difference == 0.0 { 0.0 } else { difference / error };
        let further = |than: f64| if side == Deviations::Both { t.abs() > than.abs() } else { t > than };
        if best.as_ref().is_none_or(|(_, known)| further(known.t)) {
            let tail = if side == Deviations::Both { t_two_sided(t, df) } else { t_upper(t, df) };
            best = Some((place, Suspect { node, mean, sd: variance.sqrt(), t, df, p: n * tail }));
        }
    }
    best
}

/// Finds nodes whose effect is odd, at error rate `alpha`. A node's own noise, where it is larger than that of all, speaks
/// for it: it is added to the variance the node is held against.
#[must_use]
pub fn effects(of: &Effects, mean: &Mean, alpha: f64) -> Odd {
    let equal = of.nodes().windows(2).all(|pair| pair[0].blocks == pair[1].blocks);
    let between = mean.between_sd.unwrap_or(0.0).powi(2);
    let usual = between + of.mean_variance();
    let value = |node: &super::NodeEffect| {
        let own = between + of.variance() / f64::from(node.blocks);
        mean.effect + (node.mean - mean.effect) * (usual / own).sqrt()
    };
    let values: Vec<f64> = of.nodes().iter().map(|node| if equal { node.mean } else { value(node) }).collect();
    let excess = |node: &super::NodeEffect| {
        node.own_variance().map_or(0.0, |own| (own - of.variance()).max(0.0) / f64::from(node.blocks))
    };
    let excess: Vec<f64> = of.nodes().iter().map(excess).collect();
    find(&values, &excess, Deviations::Both, alpha)
}

/// Noise of each node from the residuals of its own two-way fit, clipped at twice the scale of the fleet so that one wild
/// trial does not make a node odd; 0 where a node has no residual.
#[must_use]
pub fn noise_levels(residuals: &[Vec<f64>]) -> Vec<f64> {
    const CLIP: f64 = 2.0;
    const MAD_TO_SD: f64 = 1.4826;
    let mut sizes: Vec<f64> = residuals.iter().flatten().map(|r| r.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let median = match sizes.len() {
        0 => return vec![0.0; residuals.len()],
        len if len % 2 == 1 => sizes[len / 2],
        len => 0.5 * (sizes[len / 2 - 1] + sizes[len / 2]),
    };
    let clip = (CLIP * MAD_TO_SD * median).powi(2);
    let level = |of: &Vec<f64>| {
        let squares: f64 = of.iter().map(|r| (r * r).min(clip)).sum();
        if of.is_empty() { 0.0 } else { (squares / of.len() as f64).sqrt() }
    };
    residuals.iter().map(level).collect()
}

/// Residuals of the two-way fit of setting and block to complete rows: a block each, a value for each setting.
#[must_use]
pub fn residuals(rows: &[Vec<f64>]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    if rows.len() < 2 || columns < 2 || rows.iter().any(|row| row.len() != columns) {
        return Vec::new();
    }
    let blocks = rows.len() as f64;
    let of_setting: Vec<f64> =
        (0..columns).map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / blocks).collect();
    let all = of_setting.iter().sum::<f64>() / columns as f64;
    let of_row = |row: &Vec<f64>| row.iter().sum::<f64>() / columns as f64;
    rows.iter()
        .flat_map(|row| {
            let block = of_row(row);
            row.iter().zip(&of_setting).map(move |(x, setting)| x - block - setting + all).collect::<Vec<f64>>()
        })
        .collect()
}
