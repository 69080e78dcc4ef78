//! Where the points lie: coordinates of the levels under each warp, and the sequence hyperparameters are drawn by.

use crate::Space;

/// A space as the processes see it. Made once, shared by all of them.
#[derive(Debug, Clone)]
pub struct Coordinates {
    points: usize,
}

impl Coordinates {
    /// Of a space that passed its check.
    #[must_use]
    pub fn new(space: &Space) -> Self {
        Self { points: space.points.len() }
    }

    /// Number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// Position of a point on an ordered factor in its middle warp, from −½ to ½; 0 where the factor is a category or
    /// inactive.
    #[must_use]
    pub fn centred(&self, point: usize, factor: usize) -> f64 {
        let _ = (point, factor);
        0.0
    }
}
