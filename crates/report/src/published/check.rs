//! Checks: how a published claim can be seen in what plans measured. Data, not code: a claim names the plan, the metric and
//! the settings, and nothing else about a machine can be said here.
use serde::Deserialize;

/// One thing that must be so for a claim to hold.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// Each differs from the first by no more than `within`, relative.
    Alike {
        /// Plan that measures them.
        plan: String,
        /// Metric.
        metric: String,
        /// Settings, by label.
        settings: Vec<String>,
        /// Largest difference, relative.
        within: f64,
        /// Largest difference that is still a deviation and no contradiction, relative; absent = `within`.
        #[serde(default)]
        deviates_within: Option<f64>,
    },
    /// The first is `value` times the second.
    Ratio {
        /// Plan that measures them.
        plan: String,
        /// Metric.
        metric: String,
        /// Two settings, by label.
        of: [String; 2],
        /// Ratio as published; absent = the claim's.
        #[serde(default)]
        value: Option<f64>,
        /// Largest difference from it, absolute; absent = the claim's.
        #[serde(default)]
        tolerance: Option<f64>,
    },
    /// The first is larger than the second by `value` of it, give or take the claim's tolerance factor.
    Change {
        /// Plan that measures them.
        plan: String,
        /// Metric.
        metric: String,
        /// Two settings, by label.
        of: [String; 2],
        /// Relative change as published: positive when the first is larger.
        value: f64,
    },
    /// The first is larger than the second by `value`, in the metric's unit, give or take the claim's tolerance factor.
    Difference {
        /// Plan that measures them.
        plan: String,
        /// Metric.
        metric: String,
        /// Two settings, by label.
        of: [String; 2],
        /// Difference as published: positive when the first is larger.
        value: f64,
    },
    /// In at least so many of some metrics a setting is above (or below) every other.
    Above {
        /// Plan that measures them.
        plan: String,
        /// Metrics.
        metrics: Vec<String>,
        /// Setting, by label.
        setting: String,
        /// The others, by label.
        others: Vec<String>,
        /// Below instead of above.
        #[serde(default)]
        below: bool,
        /// In how many of the metrics; absent = in all.
        #[serde(default)]
        at_least: Option<usize>,
        /// In how many it is a deviation and no contradiction; absent = `at_least`.
        #[serde(default)]
        deviates_at_least: Option<usize>,
        /// Whether a metric counts in which the others are not shown to be above it.
        #[serde(default)]
        or_tied: bool,
    },
    /// From setting to setting it does not fall, and the last is above the first.
    Rising {
        /// Plan that measures them.
        plan: String,
        /// Metric.
        metric: String,
        /// Settings, by label.
        settings: Vec<String>,
        /// By what share of the first the last is above it at least; absent = by any that is shown.
        #[serde(default)]
        by: f64,
    },
    /// Divided by `to`, all are one number.
    Proportional {
        /// Plan that measures them.
        plan: String,
        /// Metric.
        metric: String,
        /// Settings, by label.
        settings: Vec<String>,
        /// What each is proportional to, in the same order.
        to: Vec<f64>,
        /// Largest distance from their mean, relative; absent = the claim's tolerance.
        #[serde(default)]
        within: Option<f64>,
    },
    /// The setting has this value.
    Level {
        /// Plan that measures it.
        plan: String,
        /// Metric.
        metric: String,
        /// Setting, by label.
        setting: String,
        /// Value.
        value: f64,
        /// Largest difference, relative.
        within: f64,
    },
    /// The setting's value lies between two; beyond them by the claim's tolerance factor it deviates.
    Between {
        /// Plan that measures it.
        plan: String,
        /// Metric.
        metric: String,
        /// Setting, by label.
        setting: String,
        /// Least and most, as published.
        from: f64,
        /// The most.
        to: f64,
    },
    /// The setting has at least this value.
    AtLeast {
        /// Plan that measures it.
        plan: String,
        /// Metric.
        metric: String,
        /// Setting, by label.
        setting: String,
        /// Value.
        value: f64,
    },
    /// What no experiment measures is tried on the machine itself.
    Tried {
        /// What is tried, by name.
        what: String,
    },
}

impl Check {
    /// The plan it needs.
    #[must_use]
    pub fn plan(&self) -> Option<&str> {
        match self {
            Check::Alike { plan, .. }
            | Check::Ratio { plan, .. }
            | Check::Change { plan, .. }
            | Check::Difference { plan, .. }
            | Check::Above { plan, .. }
            | Check::Rising { plan, .. }
            | Check::Proportional { plan, .. }
            | Check::Level { plan, .. }
            | Check::Between { plan, .. }
            | Check::AtLeast { plan, .. } => Some(plan),
            Check::Tried { .. } => None,
        }
    }

    /// The settings it compares.
    #[must_use]
    pub fn settings(&self) -> Vec<&str> {
        match self {
            Check::Alike { settings, .. } | Check::Rising { settings, .. } | Check::Proportional { settings, .. } => {
                settings.iter().map(String::as_str).collect()
            }
            Check::Ratio { of, .. } | Check::Change { of, .. } | Check::Difference { of, .. } => {
                of.iter().map(String::as_str).collect()
            }
            Check::Above { setting, others, .. } => {
                std::iter::once(setting).chain(others).map(String::as_str).collect()
            }
            Check::Level { setting, .. } | Check::Between { setting, .. } | Check::AtLeast { setting, .. } => {
                vec![setting]
            }
            Check::Tried { .. } => Vec::new(),
        }
    }

    /// The metrics it looks at.
    #[must_use]
    pub fn metrics(&self) -> Vec<&str> {
        match self {
            Check::Above { metrics, .. } => metrics.iter().map(String::as_str).collect(),
            Check::Alike { metric, .. }
            | Check::Rising { metric, .. }
            | Check::Proportional { metric, .. }
            | Check::Ratio { metric, .. }
            | Check::Change { metric, .. }
            | Check::Difference { metric, .. }
            | Check::Level { metric, .. }
            | Check::Between { metric, .. }
            | Check::AtLeast { metric, .. } => vec![metric],
            Check::Tried { .. } => Vec::new(),
        }
    }

    /// What is wrong with it by itself.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let numbers: Vec<f64> = match self {
            Check::Alike { settings, within, deviates_within, .. } => {
                if settings.len() < 2 {
                    return Some("it compares fewer than two settings");
                }
                if deviates_within.is_some_and(|most| most <= *within) {
                    return Some("its deviates_within is not above within");
                }
                vec![*within]
            }
            Check::Above { metrics, others, at_least, deviates_at_least, .. } => {
                let least = at_least.unwrap_or(metrics.len());
                let few = least == 0
                    || least > metrics.len()
                    || deviates_at_least.is_some_and(|few| few == 0 || few >= least);
                return (metrics.is_empty() || others.is_empty() || few)
                    .then_some("it names no metric, no other setting, or more metrics than it names");
            }
            Check::Rising { settings, .. } if settings.len() < 2 => return Some("it compares fewer than two settings"),
            Check::Proportional { settings, to, within, .. } => {
                if settings.len() < 2 || settings.len() != to.len() {
                    return Some("it does not have a number for each setting");
                }
                to.iter().copied().chain(*within).collect()
            }
            Check::Ratio { value, tolerance, .. } => value.iter().chain(tolerance).copied().collect(),
            Check::Change { value, .. } | Check::Difference { value, .. } => vec![*value],
            Check::Level { value, within, .. } => vec![*value, *within],
            Check::Between { from, to, .. } if from >= to => return Some("its from is not below its to"),
            Check::Between { from, to, .. } => vec![*from, *to],
            Check::AtLeast { value, .. } => vec![*value],
            Check::Rising { .. } | Check::Tried { .. } => vec![],
        };
        let zero = |number: &f64| !number.is_finite() || *number == 0.0;
        numbers.iter().any(zero).then_some("a number of a check is zero or not finite")
    }
}
