//! What a setting must fulfil besides being good: `p99_us<=500`, `rate_mbit_s>=900`, `p99_us<=+10%` against the reference.
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::metric::{MetricName, canonical_metric, unit_of};
use crate::quantity::format_number;

/// On which side of the limit the metric must stay; on the limit is within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitSide {
    /// `<=`.
    AtMost,
    /// `>=`.
    AtLeast,
}

impl LimitSide {
    /// Whether `value` is on the side of `limit` where it must be.
    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            LimitSide::AtMost => value <= limit,
            LimitSide::AtLeast => value >= limit,
        }
    }
}

impl fmt::Display for LimitSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LimitSide::AtMost => "<=",
            LimitSide::AtLeast => ">=",
        })
    }
}

/// A limit on one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Requirement {
    /// The metric, by its full name.
    pub metric: MetricName,
    /// Which side of the limit is within it.
    pub relation: LimitSide,
    /// The limit, in the metric's own unit; a share of the reference (0.1 = 10 % more, -0.05 = 5 % less) when `relative`.
    pub limit: f64,
    /// Against the reference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
}

/// Whether a setting fulfils a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Shown to be within the limit.
    Holds,
    /// Shown to be beyond it.
    Broken,
    /// Neither.
    Open,
}

/// What a look found for one requirement of one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequirementStanding {
    /// Index of the setting.
    pub setting: u32,
    /// Index of the requirement in the plan.
    pub requirement: u32,
    /// What was found.
    #[serde(flatten)]
    pub found: RequirementFinding,
}

/// Where a requirement stands at a setting, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RequirementFinding {
    /// Where it stands.
    pub standing: Standing,
    /// Chance that the setting is truly within the limit.
    pub probability: f64,
    /// What was measured: in the metric's own unit, or the share of the reference it differs by (0.1 = 10 % more). Absent
    /// where the reference is zero, of which there is no share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// Interval at the level of this look, lower end; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Trials it rests on; blocks where it is against the reference.
    pub trials: u32,
    /// Predicted total of them until it is known, low and high, when open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<(u32, u32)>,
    /// The metric drifted or changed its level meanwhile, so that it is known for this session only: blocks protect
    /// differences, not levels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub this_session: bool,
}

impl RequirementFinding {
    /// Nothing is known yet.
    pub const UNKNOWN: RequirementFinding = RequirementFinding {
        standing: Standing::Open,
        probability: 0.5,
        estimate: None,
        low: None,
        high: None,
        trials: 0,
        predicted: None,
        this_session: false,
    };
}

/// Why a text is not a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// No `<=` or `>=`.
    #[error(
        "'{0}' is not METRIC<=LIMIT or METRIC>=LIMIT; write e.g. 'p99_us<=500', in quotes as the shell knows < too"
    )]
    NoRelation(String),
    /// Nothing before the relation, or more than one word.
    #[error("'{0}' names no metric before its limit; write e.g. 'p99_us<=500'")]
    NoMetric(String),
    /// A number in another unit than the metric's.
    #[error("'{limit}': {metric} is in {unit}; write '{metric}{relation}{instead}'")]
    OtherUnit {
        /// The metric.
        metric: String,
        /// The relation as typed.
        relation: LimitSide,
        /// The limit as typed.
        limit: String,
        /// The metric's unit.
        unit: &'static str,
        /// The same limit in that unit.
        instead: String,
    },
    /// No number behind it.
    #[error("'{limit}' is not a limit for {metric}; write a number in its unit{}, e.g. '{metric}<=500', or '{metric}<=+10%'", in_unit(.metric))]
    NoLimit {
        /// The metric.
        metric: String,
        /// What stood behind the relation.
        limit: String,
    },
    /// A percentage without a sign, of a metric that is none.
    #[error(
        "'{limit}' of what? write '+{limit}' for a limit against the reference, or a number in the unit of {metric}"
    )]
    Unsigned {
        /// The metric.
        metric: String,
        /// The percentage.
        limit: String,
    },
    /// Nothing can be less than nothing by a share.
    #[error("no value is less than the reference by 100 % or more; write e.g. '{metric}<=-20%'")]
    BelowNothing {
        /// The metric.
        metric: String,
    },
}

/// ` (us)`, where a metric's name says its unit.
fn in_unit(metric: &str) -> String {
    let unit = unit_of(metric);
    if unit.is_empty() { String::new() } else { format!(" ({unit})") }
}

/// Units of one quantity each, with the size of each in the first.
const UNITS: [&[(&str, f64)]; 5] = [
    &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)],
    &[("mW", 1.0), ("W", 1e3), ("kW", 1e6)],
    &[("mJ", 1.0), ("J", 1e3), ("kJ", 1e6), ("Wh", 3.6e6), ("kWh", 3.6e9)],
    &[("kbit/s", 1.0), ("Mbit/s", 1e3), ("Gbit/s", 1e6)],
    &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)],
];

/// A number with a unit of its own, in `unit`; `None` where the two are not of one quantity.
fn converted(limit: &str, unit: &str) -> Option<f64> {
    let at = limit.find(|c: char| c.is_alphabetic())?;
    let (number, typed) = (limit[..at].trim().parse::<f64>().ok()?, limit[at..].trim());
    let size =
        |units: &[(&str, f64)], name: &str| units.iter().find(|(known, _)| *known == name).map(|&(_, size)| size);
    UNITS.iter().find_map(|units| Some(number * size(units, typed)? / size(units, unit)?)).filter(|v| v.is_finite())
}

impl Requirement {
    /// Reads `METRIC<=LIMIT` or `METRIC>=LIMIT`. A limit is a number in the metric's own unit (which may be written
    /// behind it) or a signed percentage against the reference: `p99_us<=500`, `rtt_ms<=2ms`, `power_w<=-5%`.
    ///
    /// # Errors
    /// [`RequirementError`]: no relation, no metric, or a limit that is none.
    pub fn parse(text: &str) -> Result<Self, RequirementError> {
        let at_most = text.split_once("<=").map(|parts| (LimitSide::AtMost, parts));
        let parts = at_most.or_else(|| text.split_once(">=").map(|parts| (LimitSide::AtLeast, parts)));
        let Some((relation, (metric, limit))) = parts else { return Err(RequirementError::NoRelation(text.into())) };
        let (metric, limit) = (canonical_metric(metric.trim()).to_owned(), limit.trim());
        if metric.is_empty() || metric.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '=')) {
            return Err(RequirementError::NoMetric(text.into()));
        }
        let wrong = || RequirementError::NoLimit { metric: metric.clone(), limit: limit.into() };
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(wrong);
        let Some(percent) = limit.strip_suffix('%').filter(|_| limit.starts_with(['+', '-'])) else {
            let unit = unit_of(&metric);
            if limit.ends_with('%') && unit != "%" {
                return Err(RequirementError::Unsigned { metric, limit: limit.into() });
            }
            let bare = if unit.is_empty() { limit } else { limit.strip_suffix(unit).unwrap_or(limit) };
            if let (Err(_), Some(value)) = (number(bare), converted(limit, unit)) {
                let (limit, instead) = (limit.into(), format_number(value));
                return Err(RequirementError::OtherUnit { metric, relation, limit, unit, instead });
            }
            let limit = number(bare)?;
            return Ok(Requirement { metric, relation, limit, relative: false });
        };
        let limit = number(percent)? / 100.0;
        if limit <= -1.0 {
            return Err(RequirementError::BelowNothing { metric });
        }
        Ok(Requirement { metric, relation, limit, relative: true })
    }
}

impl fmt::Display for Requirement {
    /// As it can be typed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.metric, self.relation)?;
        if !self.relative {
            return if self.limit.abs() < 1e16 { write!(f, "{}", self.limit) } else { write!(f, "{:e}", self.limit) };
        }
        // Two decimals of a per cent are more than anybody types; rounding hides what division by 100 left behind.
        let percent = (self.limit * 1e6).round() / 1e4;
        write!(f, "{percent:+}%")
    }
}
