//! The settings that can be chosen, as points over the knobs' levels.

use crate::ProblemError;

/// All settings that may be tried, and the factors (knobs) they are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    /// The knobs.
    pub factors: Vec<Factor>,
    /// For each point the index of the level of each factor; `None` where the knob is inactive (a frequency without the
    /// governor that takes one).
    pub points: Vec<Vec<Option<u16>>>,
}

/// One knob.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// What it is called, for messages.
    pub name: String,
    /// Its levels.
    pub kind: FactorKind,
    /// How long a machine takes to settle when it is turned, in seconds: the catalogue's guess, used until measured.
    pub switch_s: f64,
}

/// What the levels of a factor are.
#[derive(Debug, Clone, PartialEq)]
pub enum FactorKind {
    /// Numbers, ascending.
    Number(Vec<f64>),
    /// So many names in a meaningful order.
    Names(usize),
    /// So many names without an order.
    Category(usize),
}

impl Factor {
    /// Number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        match &self.kind {
            FactorKind::Number(values) => values.len(),
            FactorKind::Names(levels) | FactorKind::Category(levels) => *levels,
        }
    }

    /// Whether levels have an order.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        !matches!(self.kind, FactorKind::Category(_))
    }
}

impl Space {
    /// Every combination of the factors' levels; the last factor changes fastest.
    #[must_use]
    pub fn crossed(factors: Vec<Factor>) -> Self {
        let mut points = vec![Vec::new()];
        for factor in &factors {
            let longer = |point: &Vec<Option<u16>>| {
                let point = point.clone();
                (0..factor.levels() as u16).map(move |level| [point.as_slice(), &[Some(level)]].concat())
            };
            points = points.iter().flat_map(longer).collect();
        }
        Self { factors, points }
    }

    /// Checks that every point fits the factors.
    ///
    /// # Errors
    /// When there is no point, a point names a level that is not there, or values are not finite and ascending.
    pub fn check(&self) -> Result<(), ProblemError> {
        if self.points.is_empty() {
            return Err(ProblemError::NoPoints);
        }
        for factor in &self.factors {
            let FactorKind::Number(values) = &factor.kind else { continue };
            let ascend = values.is_sorted_by(|a, b| a < b);
            if !ascend || values.iter().any(|value| !value.is_finite()) {
                return Err(ProblemError::Values { factor: factor.name.clone() });
            }
        }
        for (index, point) in self.points.iter().enumerate() {
            if point.len() != self.factors.len() {
                let (have, need) = (point.len(), self.factors.len());
                return Err(ProblemError::Length { what: "a setting", have, need });
            }
            for (level, factor) in point.iter().zip(&self.factors) {
                if level.is_some_and(|level| usize::from(level) >= factor.levels()) {
                    return Err(ProblemError::Level { point: index, factor: factor.name.clone() });
                }
            }
        }
        Ok(())
    }

    /// Factors in which two points differ; a knob active in one of them only differs.
    pub fn differing(&self, a: usize, b: usize) -> impl Iterator<Item = usize> {
        let pairs = self.points[a].iter().zip(&self.points[b]).enumerate();
        pairs.filter(|(_, (a, b))| a != b).map(|(factor, _)| factor)
    }
}
