//! Fleets with a known truth: what error rates are measured on.

use powerband_stats::fleet::NodeEffect;
use powerband_stats::{Draws, Purpose};

/// How true effects are distributed over nodes; mean 0 and standard deviation 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectShape {
    /// Normal.
    Normal,
    /// Student's t with 3 degrees of freedom.
    T3,
    /// Exponential, its tail downwards.
    Exponential,
    /// Uniform.
    Uniform,
}

/// Noise of trials; standard deviation 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialNoise {
    /// Independent normal.
    Gauss,
    /// Student's t with 3 degrees of freedom.
    T3,
    /// Autoregression of 0.7 between neighbouring trials.
    Ar,
}

/// A fleet that is a formula. Effects and noise are on the scale of the differences.
#[derive(Debug, Clone, PartialEq)]
pub struct FormulaFleet {
    /// Nodes.
    pub nodes: usize,
    /// Fewest and most blocks of a node, drawn for each.
    pub blocks: (u32, u32),
    /// Settings compared with the reference; all have the same mean effect.
    pub settings: usize,
    /// Mean effect over nodes.
    pub effect: f64,
    /// Standard deviation of true effects between nodes.
    pub between_sd: f64,
    /// Their distribution.
    pub shape: EffectShape,
    /// Noise of trials.
    pub noise: TrialNoise,
    /// Its standard deviation.
    pub noise_sd: f64,
    /// Standard deviation of levels between nodes.
    pub level_sd: f64,
    /// Share of nodes that are lost, each with fewer blocks than it was to run: any number, also none.
    pub lost: f64,
    /// The first so many nodes have this much added to their true effect: odd nodes, or another kind.
    pub shifted: (usize, f64),
    /// Added to the level of the first node, in ln.
    pub odd_level: f64,
    /// Standard deviation of the noise of the first node, in those of the others.
    pub odd_noise: f64,
    /// Correlation of a node's effect with how late it finishes.
    pub tied_to_time: f64,
}

impl Default for FormulaFleet {
    fn default() -> Self {
        Self {
            nodes: 8,
            blocks: (4, 4),
            settings: 1,
            effect: 0.0,
            between_sd: 0.005,
            shape: EffectShape::Normal,
            noise: TrialNoise::Gauss,
            noise_sd: 0.01,
            level_sd: 0.10,
            lost: 0.0,
            shifted: (0, 0.0),
            odd_level: 0.0,
            odd_noise: 1.0,
            tied_to_time: 0.0,
        }
    }
}

/// What one node measured.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedNode {
    /// Values by block and setting, the reference first.
    pub rows: Vec<Vec<f64>>,
    /// When it finished: a number to sort by.
    pub finished: f64,
}

impl SimulatedNode {
    /// Block differences of a setting, from 1.
    pub fn differences(&self, setting: usize) -> impl Iterator<Item = f64> + '_ {
        self.rows.iter().filter_map(move |row| Some(row.get(setting)? - row.first()?))
    }

    /// The effect of a setting; none of a node without a block.
    #[must_use]
    pub fn effect(&self, setting: usize) -> Option<NodeEffect> {
        NodeEffect::of(&self.differences(setting).collect::<Vec<f64>>())
    }

    /// Mean of the reference.
    #[must_use]
    pub fn level(&self) -> f64 {
        self.rows.iter().filter_map(|row| row.first()).sum::<f64>() / self.rows.len().max(1) as f64
    }
}

impl FormulaFleet {
    /// Draws the fleet of this seed, in the order of its nodes.
    #[must_use]
    pub fn draw(&self, seed: u64) -> Vec<SimulatedNode> {
        let mut draws = Draws::new(seed, Purpose::Noise, 0, 0);
        (0..self.nodes).map(|node| self.node(node, &mut draws)).collect()
    }

    fn node(&self, node: usize, draws: &mut Draws) -> SimulatedNode {
        let (fewest, most) = self.blocks;
        let mut blocks = fewest + draws.below(u64::from(most.saturating_sub(fewest)) + 1) as u32;
        if draws.uniform() < self.lost {
            blocks = draws.below(u64::from(blocks)) as u32;
        }
        let finished = draws.normal();
        let first = node == 0;
        let level = self.level_sd * draws.normal() + if first { self.odd_level } else { 0.0 };
        let noise_sd = self.noise_sd * if first { self.odd_noise } else { 1.0 };
        let own = (1.0 - self.tied_to_time * self.tied_to_time).max(0.0).sqrt();
        let shift = if node < self.shifted.0 { self.shifted.1 } else { 0.0 };
        let effects: Vec<f64> = (0..self.settings)
            .map(|_| {
                let drawn = self.tied_to_time * finished + own * self.shape.draw(draws);
                self.effect + shift + self.between_sd * drawn
            })
            .collect();
        let mut noise = Stream::new(self.noise, draws);
        let mut order: Vec<usize> = (0..=self.settings).collect();
        let rows = (0..blocks)
            .map(|_| {
                let mut row = vec![0.0; self.settings + 1];
                draws.shuffle(&mut order);
                for &setting in &order {
                    let effect = setting.checked_sub(1).map_or(0.0, |place| effects[place]);
                    row[setting] = level + effect + noise_sd * noise.next(draws);
                }
                row
            })
            .collect();
        SimulatedNode { rows, finished }
    }
}

impl EffectShape {
    fn draw(self, draws: &mut Draws) -> f64 {
        match self {
            Self::Normal => draws.normal(),
            Self::T3 => t3(draws),
            Self::Exponential => 1.0 + libm::log(draws.uniform()),
            Self::Uniform => (draws.uniform() - 0.5) * 12.0_f64.sqrt(),
        }
    }
}

/// Student's t with 3 degrees of freedom, scaled to standard deviation 1.
fn t3(draws: &mut Draws) -> f64 {
    let normal = draws.normal();
    let squares: f64 = (0..3).map(|_| draws.normal().powi(2)).sum();
    normal / squares.sqrt()
}

/// Noise of one node, trial after trial.
struct Stream {
    model: TrialNoise,
    carried: f64,
}

impl Stream {
    fn new(model: TrialNoise, draws: &mut Draws) -> Self {
        Self { model, carried: draws.normal() }
    }

    fn next(&mut self, draws: &mut Draws) -> f64 {
        const AUTOREGRESSION: f64 = 0.7;
        match self.model {
            TrialNoise::Gauss => draws.normal(),
            TrialNoise::T3 => t3(draws),
            TrialNoise::Ar => {
                let fresh = (1.0 - AUTOREGRESSION * AUTOREGRESSION).sqrt() * draws.normal();
                self.carried = AUTOREGRESSION * self.carried + fresh;
                self.carried
            }
        }
    }
}
