//! Kinds of nodes: by what is known of the machines, which is a claim; or blind, by two groups of values, which asks for a
//! cause.

use crate::distribution::f_upper;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Error rate of kinds by facts, over all partitions and settings together.
pub const ALPHA: f64 = 0.005;
/// Fewest nodes that are split blindly.
pub const MIN_BLIND: usize = 8;
/// Distance of two blind groups, in standard deviations inside them.
const MIN_DISTANCE: f64 = 4.0;

/// Smallest ratio of sums of squares between and within that 0.25 % of normal samples exceed, by number of nodes: 20,000
/// samples each (Engelman and Hartigan 1969).
const CRITICAL: [(f64, f64); 12] = [
    (8.0, 22.8),
    (10.0, 13.2),
    (12.0, 10.9),
    (16.0, 7.22),
    (20.0, 6.10),
    (24.0, 5.02),
    (32.0, 4.24),
    (48.0, 3.47),
    (64.0, 3.18),
    (100.0, 2.75),
    (128.0, 2.61),
    (1000.0, 2.0),
];

/// A way in which facts divide nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Names of the facts that divide the nodes in this way.
    pub facts: Vec<String>,
    /// Part of each node; none where the fact is unknown, or where the part has one node only.
    pub parts: Vec<Option<usize>>,
    /// Value of the first fact by part.
    pub values: Vec<String>,
}

/// Distinct partitions of the nodes by their facts: facts that divide them alike are one. Partitions with fewer than two
/// parts of two nodes or more are left out.
#[must_use]
pub fn partitions(facts: &[&BTreeMap<String, String>]) -> Vec<Partition> {
    let mut names: Vec<&String> = facts.iter().flat_map(|of| of.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut all: Vec<Partition> = Vec::new();
    for name in names {
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        facts.iter().filter_map(|of| of.get(name)).for_each(|value| *counts.entry(value).or_default() += 1);
        // Parts are numbered by their first node, so that equal partitions have equal numbers.
        let mut values: Vec<String> = Vec::new();
        let mut parts = Vec::with_capacity(facts.len());
        for of in facts {
            let value = of.get(name).filter(|value| counts.get(value).is_some_and(|count| *count >= 2));
            parts.push(value.map(|value| {
                values.iter().position(|known| known == value).unwrap_or_else(|| {
                    values.push(value.clone());
                    values.len() - 1
                })
            }));
        }
        if values.len() < 2 {
            continue;
        }
        match all.iter_mut().find(|known| known.parts == parts) {
            Some(known) => known.facts.push(name.clone()),
            None => all.push(Partition { facts: vec![name.clone()], parts, values }),
        }
    }
    all
}

/// One-way analysis of variance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Anova {
    /// Variance between parts over that inside them.
    pub f: f64,
    /// Degrees of freedom above and below.
    pub df: (f64, f64),
    /// Chance of an F as large where parts do not differ.
    pub p: f64,
}

/// Tests whether values differ between parts; none where fewer than two parts hold values, or nothing is left to
/// estimate the noise from.
#[must_use]
pub fn anova(values: &[f64], parts: &[Option<usize>]) -> Option<Anova> {
    let mut sums: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let members = || values.iter().zip(parts).filter_map(|(value, part)| Some((*value, (*part)?)));
    for (value, part) in members() {
        let (count, sum) = sums.entry(part).or_default();
        *count += 1.0;
        *sum += value;
    }
    let count: f64 = sums.values().map(|(count, _)| count).sum();
    let df = (sums.len() as f64 - 1.0, count - sums.len() as f64);
    if df.0 < 1.0 || df.1 < 1.0 {
        return None;
    }
    let all = sums.values().map(|(_, sum)| sum).sum::<f64>() / count;
    let between: f64 = sums.values().map(|(count, sum)| count * (sum / count - all).powi(2)).sum();
    let within: f64 = members().map(|(value, part)| (value - sums[&part].1 / sums[&part].0).powi(2)).sum();
    let f = if between == 0.0 { 0.0 } else { (between / df.0) / (within / df.1) };
    Some(Anova { f, df, p: f_upper(f, df.0, df.1) })
}

/// Two groups of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Which values are in the upper group.
    pub upper: Vec<bool>,
    /// Mean of the lower and of the upper group.
    pub means: (f64, f64),
    /// Sum of squares between the groups over that inside them.
    pub ratio: f64,
    /// What the ratio must reach.
    pub critical: f64,
    /// Distance of the means in standard deviations inside the groups.
    pub distance: f64,
}

impl Split {
    /// Whether the groups are two kinds.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.ratio >= self.critical && self.distance >= MIN_DISTANCE
    }
}

/// The best division of values into two groups, found or not; none of fewer than eight values, or where all are equal.
#[must_use]
pub fn blind(values: &[f64]) -> Option<Split> {
    let count = values.len();
    if count < MIN_BLIND {
        return None;
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let n = count as f64;
    let centre = values.iter().sum::<f64>() / n;
    let total: f64 = values.iter().map(|y| (y - centre).powi(2)).sum();
    let least = count.div_ceil(20).max(3);
    let mut best: Option<(usize, f64, f64)> = None;
    let mut sum = 0.0;
    for cut in 1..=count - least {
        sum += values[order[cut - 1]] - centre;
        if cut < least {
            continue;
        }
        let below = cut as f64;
        let between = sum * sum * n / (below * (n - below));
        if best.is_none_or(|(_, most, _)| between > most) {
            best = Some((cut, between, sum));
        }
    }
    let (cut, between, sum) = best?;
    let within = (total - between).max(0.0);
    if between <= 0.0 {
        return None;
    }
    let means = (centre + sum / cut as f64, centre - sum / (n - cut as f64));
    let mut upper = vec![false; count];
    order.iter().skip(cut).for_each(|&place| upper[place] = true);
    let sd = (within / (n - 2.0)).sqrt();
    let distance = (means.1 - means.0) / sd;
    Some(Split { upper, means, ratio: between / within, critical: critical(n), distance })
}

/// The critical ratio for so many nodes: linear in 1/n between the entries.
fn critical(nodes: f64) -> f64 {
    let above = CRITICAL.iter().position(|(known, _)| *known >= nodes);
    match above {
        Some(0) => CRITICAL[0].1,
        None => CRITICAL[CRITICAL.len() - 1].1,
        Some(place) => {
            let ((low, at_low), (high, at_high)) = (CRITICAL[place - 1], CRITICAL[place]);
            let share = (1.0 / nodes - 1.0 / low) / (1.0 / high - 1.0 / low);
            at_low + share * (at_high - at_low)
        }
    }
}
