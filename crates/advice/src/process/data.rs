//! What was measured of one metric, reduced to what a process needs.

/// One setting that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredSetting {
    /// The point.
    pub point: usize,
    /// Mean of its runs' logarithms.
    pub mean: f64,
    /// Number of runs.
    pub runs: usize,
}

/// How far the runs of one setting lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    /// Mean of the runs.
    pub mean: f64,
    /// Sum of squares around it.
    pub within: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// All settings that were measured, and how far their repeats lie apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Data {
    /// The settings.
    pub tried: Vec<MeasuredSetting>,
    /// Settings with several runs, those that are no point included.
    pub repeats: Vec<Repeats>,
    /// Sum of squares of the runs around their settings' means.
    pub within: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

impl Data {
    /// The points of the settings.
    pub(super) fn points(&self) -> Vec<usize> {
        self.tried.iter().map(|tried| tried.point).collect()
    }

    /// Adds all runs of one setting; a setting that is no point (`None`) teaches noise alone.
    pub fn add(&mut self, point: Option<usize>, values: &[f64]) {
        if values.is_empty() {
            return;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let within = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        let freedom = (values.len() - 1) as f64;
        (self.within, self.freedom) = (self.within + within, self.freedom + freedom);
        if values.len() > 1 {
            self.repeats.push(Repeats { mean, within, freedom });
        }
        if let Some(point) = point {
            self.tried.push(MeasuredSetting { point, mean, runs: values.len() });
        }
    }
}
