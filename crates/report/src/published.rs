//! Figures and claims of published articles: the one shape that every file in `published/` has.
use std::collections::{BTreeMap, BTreeSet};

use powerband_record::IntoOrdered as _;
use serde::{Deserialize, Serialize};
use thiserror::Error;

mod check;

pub use check::Check;

/// Why a file is not of this shape.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublishedError {
    /// Not TOML, or an unknown, missing or wrong key.
    #[error("this is not a file of published figures: {0}")]
    Shape(#[from] toml::de::Error),
    /// A claim's kind and numbers do not fit.
    #[error("claim '{id}': {why}")]
    Claim {
        /// The claim.
        id: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A result without a usable number.
    #[error("result '{setting}': {why}")]
    Result {
        /// Its setting.
        setting: String,
        /// What is wrong.
        why: &'static str,
    },
}

/// One article.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What was published.
    pub source: ArticleSource,
    /// On what.
    pub machine: PublishedMachine,
    /// What was done.
    pub experiment: PublishedExperiment,
    /// Published numbers by setting; none where only pictures were.
    #[serde(default, rename = "result")]
    pub results: Vec<SettingResult>,
    /// Published conclusions, and what can be said of the evidence.
    #[serde(rename = "claim")]
    pub claims: Vec<PublishedClaim>,
}

/// The article, in our own words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArticleSource {
    /// What it could be called.
    pub title: String,
    /// What it did.
    pub about: String,
    /// Its language.
    pub language: String,
    /// When, where it says so.
    #[serde(default)]
    pub year: Option<u16>,
    /// Where its figures are.
    pub figures: Figures,
    /// What its readers should take away.
    #[serde(default)]
    pub takeaway: Option<Takeaway>,
}

/// What readers of an article should take away, as far as a claim of it holds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Takeaway {
    /// A clause without commas.
    pub text: String,
    /// Name of the claim it rests on.
    pub claim: String,
}

/// Where an article's figures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figures {
    /// In its text.
    Text,
    /// In pictures: here is only what the text says of them.
    Pictures,
}

/// What is known of a machine.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedMachine {
    /// Make and model.
    pub model: Option<String>,
    /// System on chip.
    pub soc: Option<String>,
    /// Distribution.
    pub system: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// cpufreq driver.
    pub driver: Option<String>,
    /// How many logical CPUs.
    pub logical_cpus: Option<u32>,
    /// CPUs the kernel could serve, in its spelling.
    pub cpus_possible: Option<String>,
    /// CPUs that are there.
    pub cpus_present: Option<String>,
    /// CPUs that are on.
    pub cpus_online: Option<String>,
    /// Frequencies, kHz, ascending.
    pub frequencies_khz: Vec<u32>,
    /// Time to change frequency, us.
    pub transition_latency_us: Option<u32>,
    /// Governors, in the order shown.
    pub governors: Vec<String>,
    /// BogoMIPS by kHz.
    pub bogomips: BTreeMap<String, f64>,
    /// Values knobs had.
    pub defaults: BTreeMap<String, f64>,
    /// Knobs the article explains.
    #[serde(rename = "knob")]
    pub knobs: Vec<ArticleKnob>,
    /// What else is known.
    pub notes: Vec<String>,
    /// Other machines the article speaks of.
    pub other: Vec<PublishedMachine>,
}

/// A knob an article explains.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArticleKnob {
    /// Name in the kernel's spelling.
    pub name: String,
    /// What it does.
    pub what: String,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedExperiment {
    /// Runs of each setting, where stated.
    pub repeats: Option<u32>,
    /// Settings that have no [`SettingResult`].
    pub settings: Vec<String>,
    /// Whether two machines were changed at once.
    pub both_ends_changed_together: bool,
    /// What must be known with the figures.
    pub notes: Vec<String>,
    /// Plans that do it again, by the names of their files; none yet = it cannot be done again so far.
    pub plans: Vec<String>,
    /// Loads, at least one.
    #[serde(rename = "load")]
    pub loads: Vec<PublishedLoad>,
    /// Tables of what is found where the published figures are pictures, in their shape.
    #[serde(rename = "table")]
    pub tables: Vec<PublishedTable>,
    /// Pictures of what is found, after the published ones.
    #[serde(rename = "figure")]
    pub figures: Vec<PublishedFigure>,
}

/// A picture of what is found: a metric by setting, or against a number with a line for each setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// What it shows.
    pub title: String,
    /// Plan that measures it; `{}` stands for the number where each has a plan of its own.
    pub plan: String,
    /// Metric it shows, `{}` likewise.
    pub metric: String,
    /// What the numbers are, with their unit; empty = settings are not along any.
    #[serde(default)]
    pub along: String,
    /// The numbers.
    #[serde(default)]
    pub at: Vec<f64>,
    /// The metric at number 0, where it has another name.
    #[serde(default)]
    pub at_zero: Option<String>,
    /// Settings, by label: a line each, or with `each` the one at each number.
    pub settings: Vec<String>,
    /// Whether the settings are what has the numbers, one after the other.
    #[serde(default)]
    pub each: bool,
    /// Whether the article has no numbers of it: those of these settings belong to another load.
    #[serde(default)]
    pub unpublished: bool,
}

impl PublishedFigure {
    /// What there is at each number: the plan and the metric; with the number, which is 0 where there are none.
    pub(crate) fn places(&self) -> Vec<(f64, String, String)> {
        let at = if self.at.is_empty() { &[0.0][..] } else { &self.at };
        let filled = |text: &str, at: f64| text.replace("{}", &powerband_record::format_number(at));
        let metric = |at: f64| match &self.at_zero {
            Some(name) if at == 0.0 => name.clone(),
            _ => filled(&self.metric, at),
        };
        at.iter().map(|&at| (at, filled(&self.plan, at), metric(at))).collect()
    }
}

/// A table of what is found: settings across, metrics down.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedTable {
    /// What it shows.
    pub title: String,
    /// Plan that measures it.
    pub plan: String,
    /// What stands before each row, and the metric it shows.
    pub rows: Vec<(String, String)>,
    /// Settings, by label.
    pub settings: Vec<String>,
}

/// A load of an experiment.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedLoad {
    /// The nearest load of ours.
    pub name: String,
    /// What ran.
    pub what: String,
    /// Metrics, in our spelling.
    pub metrics: Vec<String>,
    /// Unit of a count.
    #[serde(default)]
    pub unit: Option<String>,
    /// Load levels, percent of the most.
    #[serde(default)]
    pub levels_percent: Vec<f64>,
    /// Simulated customers.
    #[serde(default)]
    pub clients: Vec<u32>,
    /// CPU utilisation by number of customers, percent, lowest and highest.
    #[serde(default)]
    pub utilisation_percent: BTreeMap<String, (f64, f64)>,
}

/// Published numbers of one setting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingResult {
    /// What to call it.
    pub setting: String,
    /// Governor.
    #[serde(default)]
    pub governor: Option<String>,
    /// Frequency, kHz.
    #[serde(default)]
    pub khz: Option<u32>,
    /// Not to be used to fit a model, only to check it.
    #[serde(default)]
    pub held_out: bool,
    /// How far a reproduction may be off, relative; absent = 0.05.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Runs by metric, in the order published.
    pub values: BTreeMap<String, Vec<f64>>,
    /// Means as printed, where they are.
    #[serde(default)]
    pub means: BTreeMap<String, f64>,
}

/// How firmly a claim can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// Carries a published number or an equality.
    Exact,
    /// An "about", with its tolerance.
    Approx,
    /// Only an ordering or a sign.
    Direction,
    /// What can honestly be said of the evidence.
    Finding,
}

/// A published conclusion.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedClaim {
    /// Name, unique in its file.
    pub id: String,
    /// How firmly it can be checked.
    pub kind: ClaimKind,
    /// In our own words.
    pub text: String,
    /// Next to a ratio absolute, else relative.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// A reproduction may be larger or smaller by this factor.
    #[serde(default)]
    pub tolerance_factor: Option<f64>,
    /// Ratio that is claimed.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// False for advice that was not measured.
    #[serde(default = "yes")]
    pub measured: bool,
    /// Not to be used to fit a model, only to check it.
    #[serde(default)]
    pub held_out: bool,
    /// The numbers it speaks of, by what they are.
    #[serde(default)]
    pub figures: BTreeMap<String, Vec<f64>>,
    /// Settings it speaks of, by label: those that its checks compare, no fewer and no more.
    #[serde(default)]
    pub among: Vec<String>,
    /// Levels of load it speaks of, percent: its checks look at each.
    #[serde(default)]
    pub levels: Vec<u32>,
    /// What must be so for it to hold, all of it.
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
    /// What of it a simulated machine was built to show, so that its holding proves nothing.
    #[serde(default)]
    pub built_in: Option<String>,
    /// Why a size that is found differs from the published one, as far as that is known.
    #[serde(default)]
    pub why_off: Option<String>,
    /// Why it does not follow from what is measured again, where that is known.
    #[serde(default)]
    pub does_not_follow: Option<String>,
    /// Why it is not checked; for a finding, why it cannot be.
    #[serde(default)]
    pub unchecked: Option<String>,
}

fn yes() -> bool {
    true
}

impl Published {
    /// Reads a file of published figures.
    ///
    /// # Errors
    /// [`PublishedError`] for unknown keys, missing ones, numbers that are not finite, results without numbers,
    /// claims that repeat a name or state a tolerance that cannot be met.
    pub fn parse(text: &str) -> Result<Published, PublishedError> {
        let published: Published = toml::from_str(text)?;
        for result in &published.results {
            result.check().map_err(|why| PublishedError::Result { setting: result.setting.clone(), why })?;
        }
        for (place, claim) in published.claims.iter().enumerate() {
            let repeated = published.claims[..place].iter().any(|earlier| earlier.id == claim.id);
            let checked = if repeated { Err("there are two of this name") } else { claim.check() };
            let planned = |plan: &str| published.experiment.plans.iter().any(|known| known == plan);
            let tables = published.experiment.tables.iter().map(|table| table.plan.as_str());
            let figures =
                published.experiment.figures.iter().flat_map(PublishedFigure::places).map(|(_, plan, _)| plan);
            let unplanned = figures.into_iter().any(|plan| !planned(&plan))
                || tables.chain(claim.checks.iter().filter_map(Check::plan)).any(|plan| !planned(plan));
            let checked = if unplanned { checked.and(Err("a check needs a plan that is not listed")) } else { checked };
            checked.map_err(|why| PublishedError::Claim { id: claim.id.clone(), why })?;
        }
        if let Some(of) = &published.source.takeaway
            && published.claims.iter().all(|claim| claim.id != of.claim)
        {
            return Err(PublishedError::Claim {
                id: of.claim.clone(),
                why: "the takeaway rests on it, and there is none",
            });
        }
        Ok(published)
    }
}

impl SettingResult {
    /// How far a reproduction may be off, relative.
    #[must_use]
    pub fn tolerance(&self) -> f64 {
        self.tolerance.unwrap_or(0.05)
    }

    fn check(&self) -> Result<(), &'static str> {
        let numbers = self.values.values().flatten().chain(self.means.values()).chain(&self.tolerance);
        if !numbers.copied().all(f64::is_finite) {
            return Err("a number is not finite");
        }
        if self.values.is_empty() || self.values.values().any(Vec::is_empty) {
            return Err("it has no values");
        }
        if self.means.keys().any(|metric| !self.values.contains_key(metric)) {
            return Err("it has a mean of a metric without values");
        }
        if self.tolerance() <= 0.0 { Err("its tolerance is not positive") } else { Ok(()) }
    }
}

impl PublishedClaim {
    fn check(&self) -> Result<(), &'static str> {
        let numbers = self.figures.values().flatten().chain(&self.ratio);
        if !numbers.copied().all(f64::is_finite) {
            return Err("a number is not finite");
        }
        if self.tolerance.is_some_and(|tolerance| !tolerance.is_finite() || tolerance <= 0.0) {
            return Err("its tolerance is not positive");
        }
        if self.tolerance_factor.is_some_and(|factor| !factor.is_finite() || factor <= 1.0) {
            return Err("its tolerance factor is not above one");
        }
        if self.ratio.is_some() && self.tolerance.is_none() {
            return Err("its ratio has no tolerance");
        }
        if self.checks.is_empty() == self.unchecked.is_none() {
            return Err("it has neither a check nor a reason for none, or both");
        }
        self.names_all()?;
        let sized =
            |check: &Check| matches!(check, Check::Change { .. } | Check::Difference { .. } | Check::Between { .. });
        if self.tolerance_factor.is_none() && self.checks.iter().any(sized) {
            return Err("a check of its size needs a tolerance factor");
        }
        let bare = |check: &Check| match check {
            Check::Ratio { value, tolerance, .. } => {
                value.or(self.ratio).is_none() || tolerance.or(self.tolerance).is_none()
            }
            Check::Proportional { within, .. } => within.or(self.tolerance).is_none(),
            _ => false,
        };
        if self.checks.iter().any(bare) {
            return Err("a check of its ratio or proportion lacks the number or its tolerance");
        }
        self.checks.iter().find_map(Check::fault).map_or(Ok(()), Err)
    }

    /// A check that leaves out a setting or a level of which the article speaks proves less than the article says.
    fn names_all(&self) -> Result<(), &'static str> {
        let compared: BTreeSet<&str> = self.checks.iter().flat_map(Check::settings).into_set();
        if compared != self.among.iter().map(String::as_str).collect() {
            return Err("its checks do not compare exactly the settings of its `among`");
        }
        let metrics: BTreeSet<&str> = self.checks.iter().flat_map(Check::metrics).into_set();
        let looks = |level: &u32| metrics.iter().any(|metric| metric.starts_with(&format!("at_{level}_")));
        if self.levels.iter().all(looks) { Ok(()) } else { Err("no check looks at one of its levels") }
    }
}
