//! An article done again: published figures next to those that were found, and of every claim whether it holds.
//!
//! Pure: figures and claims come from [`crate::published`], what was measured from [`Evidence`]; a claim is checked by the
//! data it carries ([`Check`]), and nothing of a machine can be set here, so that no claim gets a parameter of its own.
use serde::Serialize;

use crate::published::{ClaimKind, Published, PublishedClaim, PublishedTable, SettingResult};

pub(crate) mod decide;
mod evidence;
mod figure;
mod takeaway;
pub(crate) mod text;

pub use crate::published::Check;
pub use evidence::{Apart, Estimate, Evidence, Observed, Tried};
pub use figure::{Drawn, FigureLine, Spot};
pub use takeaway::{CheckedTakeaway, takeaway};
pub use text::{brief, render};

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// It holds.
    Yes,
    /// It holds with a deviation: its direction is as published, a size is not within its factor, or a few of many levels
    /// are otherwise.
    Deviates,
    /// What was measured again does not tell the two apart.
    Tie,
    /// It does not hold.
    No,
    /// It was not tried.
    NotTried,
    /// The published evidence does not decide it.
    Undecidable,
}

/// What one check, or all of a claim's, came to.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Answer {
    /// Whether it holds.
    pub holds: ClaimOutcome,
    /// What was found, with what was published in brackets.
    pub found: String,
    /// Found size over published size, where a size was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Deviation from what was published as a share of its tolerance: up to 1 the check holds. Of a direction that is claimed
    /// without a size, the tolerance is what `compare` would need to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
}

/// A claim and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Judged {
    /// Its name.
    pub id: String,
    /// How firmly it can be checked.
    pub kind: ClaimKind,
    /// What it says.
    pub text: String,
    /// Whether it holds: the worst of its checks.
    pub holds: ClaimOutcome,
    /// Its checks, in order.
    pub checks: Vec<Answer>,
    /// What of it the machine was built to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_in: Option<String>,
    /// Why it deviates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_off: Option<String>,
    /// Why it does not follow, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub does_not_follow: Option<String>,
    /// Why it was not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A published number and the one that was found.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Point {
    /// Setting, as published.
    pub setting: String,
    /// Metric.
    pub metric: String,
    /// Mean of the published rows.
    pub published: f64,
    /// Mean that was found, and its standard error.
    pub found: Option<f64>,
    /// Standard error of what was found.
    pub error: Option<f64>,
    /// Relative distance it may have; absent for what is only shown as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Whether no model was fitted to it.
    pub held_out: bool,
}

/// How a plan went.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PlanRun {
    /// Its name.
    pub plan: String,
    /// On what.
    pub machines: Vec<String>,
    /// Blocks.
    pub blocks: u32,
    /// Valid trials in blocks.
    pub trials: u32,
    /// Trials that do not count.
    pub voids: u32,
    /// Seconds of the machines' time.
    pub machine_s: f64,
    /// What happened on them in that time, events.
    pub events: u64,
}

/// One article done again.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Replication {
    /// Name of its file.
    pub name: String,
    /// What it could be called.
    pub title: String,
    /// What its readers should take away, and whether that holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeaway: Option<CheckedTakeaway>,
    /// Plans that were run.
    pub ran: Vec<PlanRun>,
    /// Published numbers.
    pub points: Vec<Point>,
    /// What was found, in the shape of published pictures.
    pub tables: Vec<MeasuredMeans>,
    /// What was found, as published pictures show it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Drawn>,
    /// Published claims.
    pub claims: Vec<Judged>,
}

/// Articles done again, as programs read them.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Replications<'a> {
    /// Version of this shape.
    pub version: u32,
    /// Always `replication`.
    pub kind: &'static str,
    /// What readers of the articles should take away, one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takeaway: Option<String>,
    /// The articles.
    pub articles: &'a [Replication],
    /// Sizes that were checked, and how many of them were within their factor.
    pub sizes: (usize, usize),
    /// What was published and does not come out again, a sentence each.
    pub fails: Vec<String>,
    /// Claims that were not tried.
    pub not_tried: usize,
}

/// Means that were found: settings across, metrics down.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MeasuredMeans {
    /// What it shows.
    pub title: String,
    /// Settings, by label.
    pub settings: Vec<String>,
    /// What stands before a row, and a mean for each setting, absent where it was not measured.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Point {
    /// Relative distance of what was found.
    #[must_use]
    pub fn off(&self) -> Option<f64> {
        Some(self.found? / self.published - 1.0)
    }

    /// Whether it is as near as it must be; absent for what is only shown.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        let tolerance = self.tolerance?;
        Some(self.off().is_some_and(|off| off.abs() <= tolerance))
    }
}

impl Judged {
    /// The largest deviation of its checks, see [`Answer::deviation`].
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        self.checks.iter().filter_map(|check| check.deviation).max_by(f64::total_cmp)
    }
}

impl Replication {
    /// Holds an article against evidence.
    #[must_use]
    pub fn of(name: &str, published: &Published, evidence: &Evidence) -> Replication {
        let ran = published.experiment.plans.iter().filter_map(|plan| {
            let run = evidence.runs.get(plan)?;
            Some(PlanRun {
                plan: plan.clone(),
                machines: run.machines.clone(),
                blocks: run.blocks,
                trials: run.trials,
                voids: run.voids,
                machine_s: run.elapsed_ns as f64 / 1e9,
                events: run.events,
            })
        });
        let claims: Vec<Judged> = published.claims.iter().map(|claim| judged(claim, evidence)).collect();
        Replication {
            name: name.into(),
            title: published.source.title.clone(),
            takeaway: published.source.takeaway.as_ref().and_then(|of| CheckedTakeaway::new(of, &claims)),
            ran: ran.collect(),
            points: points(published, evidence),
            tables: published.experiment.tables.iter().filter_map(|table| found(table, evidence)).collect(),
            figures: figure::figures(published, evidence),
            claims,
        }
    }

    /// Sizes that were checked: how many there are and how many are within their factor.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        let sizes = || self.claims.iter().flat_map(|claim| &claim.checks).filter(|check| check.factor.is_some());
        (sizes().count(), sizes().filter(|check| check.holds == ClaimOutcome::Yes).count())
    }

    /// What fails: points out of their tolerance, claims that are not decided or do not follow for a reason that is not known.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let points = self.points.iter().filter(|point| point.holds() == Some(false));
        let points = points.map(|point| format!("{} of {}", point.metric, point.setting));
        let claims = self.claims.iter().filter(|claim| matches!(claim.holds, ClaimOutcome::No | ClaimOutcome::Tie));
        let claims = claims.filter(|claim| claim.does_not_follow.is_none());
        let named = |claim: &Judged| match claim.holds {
            ClaimOutcome::Tie => format!("{}: not decided", claim.id),
            _ => claim.id.clone(),
        };
        points.chain(claims.map(named)).collect()
    }

    /// Why nothing of it was tried, when there is one reason for all of it.
    #[must_use]
    pub fn put_off(&self) -> Option<&str> {
        let why = self.claims.first()?.why.as_deref();
        let untried = |claim: &Judged| claim.checks.is_empty() && claim.why.as_deref() == why;
        self.claims.iter().all(untried).then_some(why).flatten()
    }

    /// Claims that were not tried.
    #[must_use]
    pub fn untried(&self) -> usize {
        self.claims.iter().filter(|claim| claim.holds == ClaimOutcome::NotTried).count()
    }
}

/// Whether a number of sizes are enough: two thirds within their factor.
#[must_use]
pub fn enough(sizes: usize, within: usize) -> bool {
    3 * within >= 2 * sizes
}

/// A table of what was found, if its plan was run.
fn found(table: &PublishedTable, evidence: &Evidence) -> Option<MeasuredMeans> {
    let run = evidence.runs.get(&table.plan)?;
    let mean = |setting: &String, metric: &String| run.mean(setting, metric).map(|found| found.mean);
    let row = |(name, metric): &(String, String)| {
        (name.clone(), table.settings.iter().map(|setting| mean(setting, metric)).collect::<Vec<_>>())
    };
    let rows = table.rows.iter().map(row).collect();
    Some(MeasuredMeans { title: table.title.clone(), settings: table.settings.clone(), rows })
}

/// Published numbers next to those found. A load's first metric is what its article reports of each setting and is held to
/// the tolerance; claims speak of the others, which are shown as well.
fn points(published: &Published, evidence: &Evidence) -> Vec<Point> {
    if evidence.runs.is_empty() {
        return Vec::new();
    }
    let first: Vec<&String> = published.experiment.loads.iter().filter_map(|load| load.metrics.first()).collect();
    let metrics = published.experiment.loads.iter().flat_map(|load| &load.metrics);
    let cells = metrics.flat_map(|metric| published.results.iter().map(move |result| (metric, result)));
    cells.filter_map(|(metric, result)| point(metric, result, first.contains(&metric), evidence)).collect()
}

fn point(metric: &str, result: &SettingResult, judged: bool, evidence: &Evidence) -> Option<Point> {
    let values = result.values.get(metric)?;
    // Settings of plans are named without blanks.
    let label: String = result.setting.split_whitespace().collect();
    let found = evidence.runs.values().find_map(|run| run.mean(&label, metric));
    // Of what was nothing there, nothing can be told in percent.
    let empty = values.iter().all(|value| *value == 0.0);
    (judged || found.is_some() && !empty).then(|| Point {
        setting: result.setting.clone(),
        metric: metric.into(),
        published: values.iter().sum::<f64>() / values.len() as f64,
        found: found.map(|found| found.mean),
        error: found.map(|found| found.error),
        tolerance: judged.then(|| result.tolerance()),
        held_out: result.held_out,
    })
}

fn judged(claim: &PublishedClaim, evidence: &Evidence) -> Judged {
    let checks: Vec<Answer> = claim.checks.iter().map(|check| decide::decide(claim, check, evidence)).collect();
    let unchecked = if claim.kind == ClaimKind::Finding { ClaimOutcome::Undecidable } else { ClaimOutcome::NotTried };
    // What is not tried leaves the claim open, unless what is already says no.
    let holds =
        [ClaimOutcome::No, ClaimOutcome::NotTried, ClaimOutcome::Tie, ClaimOutcome::Deviates, ClaimOutcome::Yes]
            .into_iter()
            .find(|holds| checks.iter().any(|check| check.holds == *holds))
            .unwrap_or(unchecked);
    let checks_off = checks.iter().any(|check| check.holds == ClaimOutcome::Deviates);
    Judged {
        id: claim.id.clone(),
        kind: claim.kind,
        text: claim.text.clone(),
        holds,
        checks,
        built_in: claim.built_in.clone(),
        why_off: claim.why_off.clone().filter(|_| checks_off),
        does_not_follow: claim.does_not_follow.clone().filter(|_| holds == ClaimOutcome::No),
        why: claim.unchecked.clone(),
    }
}
