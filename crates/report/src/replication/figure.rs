//! Pictures of an article as data: what was found at each number and setting, next to what was published there.
use powerband_stats::distribution::t_upper_quantile;
use serde::Serialize;

use super::{Estimate, Evidence};
use crate::published::{Published, PublishedFigure};

/// A picture as data.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Drawn {
    /// What it shows.
    pub title: String,
    /// The metric, by the name of its first number.
    pub metric: String,
    /// What the numbers are; empty = there are none, and each line is one setting.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub along: String,
    /// Its lines.
    pub lines: Vec<FigureLine>,
}

/// A line of it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FigureLine {
    /// The setting; empty where each number is one.
    pub label: String,
    /// Its points.
    pub spots: Vec<Spot>,
}

/// A point of a line.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Spot {
    /// The number; 0 where there are none.
    pub at: f64,
    /// The setting.
    pub setting: String,
    /// Mean that was found.
    pub found: f64,
    /// Its 95 % interval (t over the blocks), of two blocks or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Mean of the published runs, where there are numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    /// The lowest and the highest of them, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<(f64, f64)>,
}

/// The pictures of an article whose plans were run, and one of each metric with published numbers that none of them shows.
pub(super) fn figures(published: &Published, evidence: &Evidence) -> Vec<Drawn> {
    let told = published.experiment.figures.iter().filter_map(|figure| drawn(figure, published, evidence));
    let mut all: Vec<Drawn> = told.collect();
    for metric in published.experiment.loads.iter().flat_map(|load| &load.metrics) {
        let of_metric = published.results.iter().filter(|result| result.values.contains_key(metric));
        // Settings of plans are named without blanks.
        let settings: Vec<String> = of_metric.map(|result| result.setting.split_whitespace().collect()).collect();
        let plan = evidence.runs.iter().find(|(_, run)| settings.iter().any(|it| run.mean(it, metric).is_some()));
        let Some((plan, _)) = plan.filter(|_| all.iter().all(|drawn| drawn.metric != *metric)) else { continue };
        let figure = PublishedFigure {
            title: format!("{metric} by setting"),
            plan: plan.clone(),
            metric: metric.clone(),
            along: String::new(),
            at: Vec::new(),
            at_zero: None,
            settings,
            each: false,
            unpublished: false,
        };
        all.extend(drawn(&figure, published, evidence));
    }
    all
}

/// Tail of a 95 % interval.
const TAIL: f64 = 0.025;

fn interval(found: &Estimate) -> Option<(f64, f64)> {
    let df = found.count.checked_sub(1).filter(|df| *df > 0)?;
    let half = t_upper_quantile(TAIL, df as f64) * found.error;
    half.is_finite().then_some((found.mean - half, found.mean + half))
}

fn drawn(figure: &PublishedFigure, published: &Published, evidence: &Evidence) -> Option<Drawn> {
    let places = figure.places();
    let spot = |(at, plan, metric): &(f64, String, String), setting: &String| {
        let found = evidence.runs.get(plan)?.mean(setting, metric)?;
        let results = if figure.unpublished { &[][..] } else { &published.results };
        let runs = results.iter().find(|it| it.setting.split_whitespace().collect::<String>() == *setting);
        let runs = runs.and_then(|it| it.values.get(metric)).filter(|runs| !runs.is_empty());
        let span = |runs: &Vec<f64>| {
            (runs.iter().copied().fold(f64::INFINITY, f64::min), runs.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        Some(Spot {
            at: *at,
            setting: setting.clone(),
            found: found.mean,
            interval: interval(&found),
            published: runs.map(|runs| runs.iter().sum::<f64>() / runs.len() as f64),
            span: runs.filter(|runs| runs.len() > 1).map(span),
        })
    };
    let lines: Vec<FigureLine> = if figure.each {
        let spots = places.iter().zip(&figure.settings).filter_map(|(place, setting)| spot(place, setting));
        vec![FigureLine { label: String::new(), spots: spots.collect() }]
    } else {
        let line = |setting: &String| FigureLine {
            label: setting.clone(),
            spots: places.iter().filter_map(|place| spot(place, setting)).collect(),
        };
        figure.settings.iter().map(line).collect()
    };
    let metric = places.first().map_or_else(String::new, |(_, _, metric)| metric.clone());
    let (title, along) = (figure.title.clone(), figure.along.clone());
    // Of what was nothing there, there is nothing to see.
    let spots = || lines.iter().flat_map(|line| &line.spots);
    spots().any(|spot| spot.found != 0.0 || spot.published.is_some_and(|it| it != 0.0)).then_some(Drawn {
        title,
        metric,
        along,
        lines,
    })
}
