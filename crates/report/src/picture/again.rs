//! An article done again: what was found over what was published, and of each claim whether it holds.
use powerband_record::format_number;

use super::legend::Key;
use super::mark::MarkStyle;
use super::palette::{BAD, FAINT, GOOD, PLAIN, Shape};
use super::rows::{Row, RowMark, Rows};
use super::scale::Reach;
use super::{Caption, Picture};
use crate::replication::text::{summed, word};
use crate::replication::{ClaimOutcome, Judged, Point, Replication};
use crate::words::percent;

/// Half a 95 % interval over its standard error.
const NORMAL: f64 = 1.96;
/// More points than this are told by the table alone, those within their tolerance first.
const POINTS: usize = 100;

fn look(holds: Option<bool>) -> MarkStyle {
    let (colour, shape) = match holds {
        Some(true) => (GOOD, Shape::Circle),
        Some(false) => (BAD, Shape::Cross),
        None => (FAINT, Shape::Diamond),
    };
    MarkStyle { colour, shape, dash: "", hollow: holds.is_none() }
}

fn key(label: &str, look: MarkStyle) -> Key {
    Key { label: label.to_owned(), look, joined: false, pointed: true }
}

/// Found over published, a row for each point, one picture for each metric.
pub(super) fn points(again: &Replication) -> Vec<Picture> {
    let mut metrics: Vec<&str> = Vec::new();
    for point in &again.points {
        if !metrics.contains(&point.metric.as_str()) {
            metrics.push(&point.metric);
        }
    }
    metrics.into_iter().filter_map(|metric| of_metric(again, metric)).collect()
}

fn of_metric(again: &Replication, metric: &str) -> Option<Picture> {
    let all: Vec<&Point> = again.points.iter().filter(|point| point.metric == metric).collect();
    let rows: Vec<Row> = all.iter().filter_map(|point| row(point)).take(POINTS).collect();
    let table = all.iter().map(|point| {
        let optional = |value: Option<f64>| value.map(format_number).unwrap_or_default();
        let (off, tolerance) = (point.off().map(percent), point.tolerance.map(percent));
        let held_out = if point.held_out { "yes" } else { "" };
        let numbers = [format_number(point.published), optional(point.found), optional(point.error)];
        let tail = [off.unwrap_or_default(), tolerance.unwrap_or_default(), held_out.to_owned()];
        [point.setting.clone()].into_iter().chain(numbers).chain(tail).collect()
    });
    let judged = || all.iter().filter_map(|point| point.holds());
    let (within, of) = (judged().filter(|holds| *holds).count(), judged().count());
    let farthest =
        all.iter().filter_map(|point| Some((point, point.off()?))).max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let farthest = farthest.map(|(point, off)| format!(" The farthest is {}, off by {}.", point.setting, percent(off)));
    let held = if of > 0 {
        format!("{within} of {of} points within their tolerance")
    } else {
        "shown without a tolerance".to_owned()
    };
    let title = format!("{metric}: found over published");
    let desc = format!("{metric} of {}: {held}.{}", again.title, farthest.unwrap_or_default());
    let with_tolerance = of > 0;
    let mut legend =
        vec![key("within its tolerance (band)", look(Some(true))), key("not within it", look(Some(false)))];
    if !with_tolerance {
        legend.clear();
    }
    let drawing = Rows {
        title: title.clone(),
        desc: desc.clone(),
        axis: "found / published".to_owned(),
        reach: Reach::Log,
        rule: Some((1.0, "published".to_owned())),
        ribbon: None,
        legend,
        rows,
    };
    let svg = if drawing.rows.is_empty() { None } else { drawing.draw() };
    let columns = ["setting", "published", "found", "standard error", "off", "tolerance", "held out"];
    Caption { id: format!("again-{}-{metric}", again.name), title, desc }.hang(svg, &columns, table.collect())
}

fn row(point: &Point) -> Option<Row> {
    let ratio = point.off().map(|off| off + 1.0).filter(|ratio| ratio.is_finite() && *ratio > 0.0)?;
    let half =
        point.error.map(|error| NORMAL * error / point.published).filter(|half| half.is_finite() && *half < ratio);
    let interval = half.map(|half| (ratio - half, ratio + half));
    let label = if point.held_out { format!("{} (held out)", point.setting) } else { point.setting.clone() };
    let told = format!(
        "{label}: found {}, published {} ({})",
        format_number(point.found?),
        format_number(point.published),
        percent(ratio - 1.0)
    );
    let holds = point.holds();
    let state = holds.map(|holds| if holds { "holds" } else { "off" });
    let mark = RowMark { value: ratio, interval, look: look(holds), label: String::new(), state, told };
    let ribbon = point.tolerance.map(|tolerance| ((1.0 - tolerance).max(0.01), 1.0 + tolerance));
    let behind = format!("{:+.1} %", (ratio - 1.0) * 100.0);
    Some(Row { label, setting: None, marks: vec![mark], ribbon, behind })
}

/// A deviation larger than this many tolerances is drawn at it.
const FARTHEST: f64 = 3.0;

/// How far every claim of some articles is from what was published, in tolerances.
pub(super) fn claims(articles: &[Replication]) -> Option<Picture> {
    let all = || articles.iter().flat_map(|article| article.claims.iter().map(move |claim| (article, claim)));
    let several = articles.len() > 1;
    let name = |article: &Replication, claim: &Judged| match several {
        true => format!("{}: {}", article.name, claim.id),
        false => claim.id.clone(),
    };
    let rows: Vec<Row> = all().map(|(article, claim)| row_of(claim, &name(article, claim))).collect();
    let table = all().map(|(article, claim)| {
        let deviation = claim.deviation().map(format_number).unwrap_or_default();
        vec![name(article, claim), word(claim.holds).to_owned(), deviation]
    });
    let kinds =
        [ClaimOutcome::Yes, ClaimOutcome::Deviates, ClaimOutcome::Tie, ClaimOutcome::No, ClaimOutcome::Undecidable];
    let drawn =
        |kind: ClaimOutcome| all().any(|(_, claim)| claim.deviation().is_some() && same_sign(claim.holds, kind));
    let title = "Deviation of every claim from the article".to_owned();
    let desc = format!(
        "Deviation as a share of the tolerance: up to 1 a claim holds. Where an article claims a direction without a size, the \
         tolerance is what `compare` needs to show it. Claims without a mark have no deviation. {}.",
        summed(articles)
    );
    let drawing = Rows {
        title: title.clone(),
        desc: desc.clone(),
        axis: format!("deviation / tolerance (drawn up to {FARTHEST})"),
        reach: Reach::Values,
        rule: Some((0.0, "as published".to_owned())),
        ribbon: Some((0.0, 1.0)),
        legend: kinds.into_iter().filter(|kind| drawn(*kind)).map(|kind| key(sign_word(kind), sign(kind))).collect(),
        rows,
    };
    let any = all().any(|(_, claim)| claim.deviation().is_some());
    let svg = if any { drawing.draw() } else { None };
    Caption { id: "claims-all".into(), title, desc }.hang(svg, &["claim", "came out", "deviation"], table.collect())
}

/// Labelled by the claim alone: with the article's name before it, many labels would be cut to the same letters.
fn row_of(claim: &Judged, name: &str) -> Row {
    let mark = |deviation: f64| RowMark {
        value: deviation.min(FARTHEST),
        interval: None,
        look: sign(claim.holds),
        label: String::new(),
        state: Some(word(claim.holds)),
        told: format!("{name}: {}, {} of its tolerance. {}", word(claim.holds), percent(deviation), claim.text),
    };
    let marks = claim.deviation().map(mark).into_iter().collect();
    Row { label: claim.id.clone(), setting: None, marks, ribbon: None, behind: word(claim.holds).to_owned() }
}

fn sign(holds: ClaimOutcome) -> MarkStyle {
    let (colour, shape, hollow) = match holds {
        ClaimOutcome::Yes => (GOOD, Shape::Circle, false),
        ClaimOutcome::Deviates => (PLAIN, Shape::Triangle, false),
        ClaimOutcome::Tie => (PLAIN, Shape::Triangle, true),
        ClaimOutcome::No => (BAD, Shape::Cross, false),
        ClaimOutcome::NotTried | ClaimOutcome::Undecidable => (FAINT, Shape::Diamond, true),
    };
    MarkStyle { colour, shape, dash: "", hollow }
}

fn same_sign(one: ClaimOutcome, other: ClaimOutcome) -> bool {
    sign(one) == sign(other)
}

/// What a sign says of all that have it.
fn sign_word(holds: ClaimOutcome) -> &'static str {
    match holds {
        ClaimOutcome::Yes => "holds",
        ClaimOutcome::Deviates => "holds with a deviation",
        ClaimOutcome::Tie => "not decidable",
        ClaimOutcome::No => "does not follow",
        ClaimOutcome::NotTried | ClaimOutcome::Undecidable => "not tried, or not decidable by the article",
    }
}
