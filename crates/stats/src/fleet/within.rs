//! What each node measured of one setting, and the noise of one block difference pooled over all nodes.

use serde::{Deserialize, Serialize};

/// Variance of a block difference where all differences of each node are equal, so that weights stay finite.
const MIN_VARIANCE: f64 = 1e-14;

/// Effect of one setting on one node, on the scale of the differences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NodeEffect {
    /// Blocks that hold both the setting and the reference; at least 1.
    pub blocks: u32,
    /// Mean block difference.
    pub mean: f64,
    /// Sum of the squared deviations of block differences from their mean.
    pub squares: f64,
}

impl NodeEffect {
    /// The effect from the node's block differences; none without a difference, or where one is not finite.
    #[must_use]
    pub fn of(differences: &[f64]) -> Option<Self> {
        let blocks = u32::try_from(differences.len()).ok().filter(|blocks| *blocks > 0)?;
        let mean = differences.iter().sum::<f64>() / f64::from(blocks);
        let squares = differences.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>();
        (mean.is_finite() && squares.is_finite()).then_some(Self { blocks, mean, squares })
    }

    /// Variance of the node's own block differences; none with one block.
    #[must_use]
    pub fn own_variance(&self) -> Option<f64> {
        (self.blocks > 1).then(|| self.squares / f64::from(self.blocks - 1))
    }
}

/// Nodes with the same number of blocks: they have the same weight, so their sums are all that is needed.
#[derive(Debug, Clone, Copy)]
struct Class {
    blocks: f64,
    nodes: f64,
    /// Sum of the effects, from [`Effects::centre`].
    sum: f64,
    /// Sum of their squares.
    squares: f64,
}

/// Effects of one setting on several nodes. A sum over nodes costs a step for each number of blocks, not for each node.
#[derive(Debug, Clone)]
pub struct Effects {
    nodes: Vec<NodeEffect>,
    classes: Vec<Class>,
    centre: f64,
    variance: f64,
    df: f64,
    mean_inverse: f64,
}

impl Effects {
    /// Pools the nodes.
    #[must_use]
    pub fn new(nodes: Vec<NodeEffect>) -> Self {
        let count = nodes.len().max(1) as f64;
        let centre = nodes.iter().map(|node| node.mean).sum::<f64>() / count;
        let df = nodes.iter().map(|node| f64::from(node.blocks - node.blocks.min(1))).sum::<f64>();
        let squares = nodes.iter().map(|node| node.squares).sum::<f64>();
        let variance = if df > 0.0 && squares > 0.0 { squares / df } else { MIN_VARIANCE };
        let mean_inverse = nodes.iter().map(|node| 1.0 / f64::from(node.blocks.max(1))).sum::<f64>() / count;
        let mut sums: std::collections::BTreeMap<u32, Class> = std::collections::BTreeMap::new();
        for node in &nodes {
            let blocks = f64::from(node.blocks.max(1));
            let class = sums.entry(node.blocks).or_insert(Class { blocks, nodes: 0.0, sum: 0.0, squares: 0.0 });
            let from_centre = node.mean - centre;
            class.nodes += 1.0;
            class.sum += from_centre;
            class.squares += from_centre * from_centre;
        }
        Self { nodes, classes: sums.into_values().collect(), centre, variance, df, mean_inverse }
    }

    /// The nodes, in the order given.
    #[must_use]
    pub fn nodes(&self) -> &[NodeEffect] {
        &self.nodes
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Variance of one block difference, pooled over the nodes.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// Its degrees of freedom; 0 where no node has two blocks, and then nothing is known of the noise.
    #[must_use]
    pub fn df(&self) -> f64 {
        self.df
    }

    /// Mean over the nodes of the variance that noise alone gives a node's effect.
    #[must_use]
    pub fn mean_variance(&self) -> f64 {
        self.variance * self.mean_inverse
    }

    /// Plain mean and sum of squared deviations of the nodes' effects.
    pub(super) fn unweighted(&self) -> (f64, f64) {
        (self.centre, self.classes.iter().map(|class| class.squares).sum())
    }

    /// Weighted sums over the nodes at a variance between nodes.
    pub(super) fn weighted(&self, between: f64) -> Weighted {
        let (mut weight, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for class in &self.classes {
            let w = 1.0 / (between + self.variance / class.blocks);
            weight += w * class.nodes;
            sum += w * class.sum;
            squares += w * class.squares;
        }
        let off = sum / weight;
        Weighted { weight, mean: self.centre + off, q: (squares - weight * off * off).max(0.0) }
    }

    /// Largest variance between nodes worth trying first: `Q` is far below its target there.
    pub(super) fn upper_guess(&self) -> f64 {
        let mut effects: Vec<f64> = self.nodes.iter().map(|node| node.mean).collect();
        effects.sort_by(f64::total_cmp);
        let half = effects.len() / 2;
        let median = if effects.is_empty() {
            0.0
        } else if effects.len() % 2 == 1 {
            effects[half]
        } else {
            0.5 * (effects[half - 1] + effects[half])
        };
        let squares: f64 = effects.iter().map(|y| (y - median) * (y - median)).sum();
        4.0 * squares / (effects.len().max(2) - 1) as f64
    }
}

/// Sums over nodes weighted by the inverse of their variance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    /// Sum of the weights.
    pub(super) weight: f64,
    /// Weighted mean effect.
    pub(super) mean: f64,
    /// Weighted sum of squared deviations from it (Cochran's Q).
    pub(super) q: f64,
}

/// Root of a function that rises from below zero, between 0 and an upper end that is doubled until it is above.
pub(super) fn rising_root(upper: f64, above: impl Fn(f64) -> bool) -> f64 {
    const DOUBLINGS: u32 = 200;
    const HALVINGS: u32 = 60;
    let mut high = upper.max(f64::MIN_POSITIVE);
    let mut low = 0.0;
    for _ in 0..DOUBLINGS {
        if above(high) {
            break;
        }
        low = high;
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    0.5 * (low + high)
}
