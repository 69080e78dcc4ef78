//! An article done again, for a terminal: its plans, its table beside ours, its claims.
use powerband_record::format_duration;

use super::decide::number;
use super::{Found, Holds, Judged, Point, Replication};
use crate::text::{fit, fold};

/// Columns of a number of four digits, and of the border beside a cell.
const NUMBER: usize = 6;
const PADDING: usize = 3;
/// Columns of the word before a claim.
const WORD: usize = 14;

/// Prints it for `width` columns.
#[must_use]
pub fn render(replication: &Replication, width: usize) -> String {
    let mut lines = fold(&format!("{}: {}.", replication.name, replication.title), width, 0);
    for ran in &replication.ran {
        let voids = if ran.voids == 0 { String::new() } else { format!(", {} void", ran.voids) };
        let time = format_duration((ran.machine_s * 1e9) as u64 / 1_000_000_000 * 1_000_000_000);
        let line = format!(
            "{} on {}: {} blocks, {} trials{voids}, {time} of its time",
            ran.plan,
            ran.machines.join(" with "),
            ran.blocks,
            ran.trials
        );
        lines.extend(fold(&format!("  {line}"), width, 4));
    }
    if let Some(why) = replication.put_off() {
        let count = replication.claims.len();
        lines.extend(fold(&format!("  None of its {count} claims was tried: {why}"), width, 2));
        return lines.join("\n") + "\n";
    }
    for metric in metrics(&replication.points) {
        lines.push(String::new());
        lines.extend(table(metric, &replication.points, width));
    }
    for found in &replication.tables {
        lines.push(String::new());
        lines.extend(pictured(found, width));
    }
    lines.push(String::new());
    lines.extend(replication.claims.iter().flat_map(|claim| said(claim, width)));
    lines.join("\n") + "\n"
}

/// Metrics of the points, each once, in their order.
fn metrics(points: &[Point]) -> Vec<&str> {
    let mut metrics: Vec<&str> = points.iter().map(|point| point.metric.as_str()).collect();
    metrics.dedup();
    metrics
}

fn table(metric: &str, points: &[Point], width: usize) -> Vec<String> {
    let head = ["setting", "published", "found", "off", "may be", ""].map(String::from);
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let row = |point: &Point| {
        let setting = if point.held_out { format!("{} (held out)", point.setting) } else { point.setting.clone() };
        vec![
            setting,
            number(point.published),
            point.found.map_or("-".into(), number),
            point.off().filter(|off| off.is_finite()).map_or("-".into(), percent),
            point.tolerance.map_or("shown only".into(), |tolerance| format!("{:.0} %", tolerance * 100.0)),
            point.holds().map_or("", |holds| if holds { "holds" } else { "fails" }).into(),
        ]
    };
    let rows: Vec<Vec<String>> = points.iter().filter(|point| point.metric == metric).map(row).collect();
    let mut lines = vec![metric.to_owned()];
    lines.extend(fit(&head, &rows, width, 1, &[1, 2, 3]));
    lines
}

/// What was found where the published figures are pictures: as many settings beside each other as have room, the others below.
fn pictured(found: &Found, width: usize) -> Vec<String> {
    let columns = |label: &String| label.chars().count().max(NUMBER) + PADDING;
    let first = found.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + PADDING + 1;
    let mut lines = vec![found.title.clone()];
    let mut from = 0;
    while from < found.settings.len() {
        let mut room = width.saturating_sub(first);
        let fits = found.settings[from..].iter().take_while(|label| {
            let needs = columns(label);
            let has = needs <= room;
            room = room.saturating_sub(needs);
            has
        });
        let to = from + fits.count().max(1);
        let head: Vec<String> =
            std::iter::once(String::new()).chain(found.settings[from..to].iter().cloned()).collect();
        let cell = |mean: &Option<f64>| mean.map_or_else(|| "-".to_owned(), number);
        let row = |(name, means): &(String, Vec<Option<f64>>)| {
            std::iter::once(name.clone()).chain(means[from..to].iter().map(cell)).collect::<Vec<_>>()
        };
        lines.extend(fit(&head, &found.rows.iter().map(row).collect::<Vec<_>>(), width, 1, &[]));
        from = to;
    }
    lines
}

/// What came of a claim, in words.
pub(crate) fn word(holds: Holds) -> &'static str {
    match holds {
        Holds::Yes => "holds",
        Holds::OffSize => "size off",
        Holds::Tie => "tie",
        Holds::No => "does not hold",
        Holds::NotTried => "not tried",
        Holds::Undecidable => "undecidable",
    }
}

/// How many claims hold, and of the others what came of them, by name where they are few.
pub(crate) fn summed(articles: &[Replication]) -> String {
    const NAMED: usize = 6;
    let claims = || articles.iter().flat_map(|article| &article.claims);
    let of = |wanted: Holds| claims().filter(|claim| claim.holds == wanted).map(|claim| claim.id.as_str()).collect();
    let mut summed =
        format!("{} of {} claims hold", claims().filter(|it| it.holds == Holds::Yes).count(), claims().count());
    for (holds, one, several) in [
        (Holds::OffSize, "has the right direction and another size", "have the right direction and another size"),
        (Holds::Tie, "is within the noise", "are within the noise"),
        (Holds::No, "does not hold", "do not hold"),
        (Holds::NotTried, "was not tried", "were not tried"),
        (Holds::Undecidable, "is not decided by the published evidence", "are not decided by the published evidence"),
    ] {
        let ids: Vec<&str> = of(holds);
        let names = if ids.len() <= NAMED { format!(" ({})", ids.join(", ")) } else { String::new() };
        match ids.len() {
            0 => {}
            1 => summed += &format!("; 1 {one}{names}"),
            count => summed += &format!("; {count} {several}{names}"),
        }
    }
    summed
}

/// A claim: what came of it, what it says, what was found.
fn said(claim: &Judged, width: usize) -> Vec<String> {
    let word = word(claim.holds);
    let built_in = claim.built_in.as_ref().map(|what| format!("built in: {what}"));
    let found = claim.checks.iter().map(|check| check.found.clone()).collect::<Vec<_>>();
    let found = (!found.is_empty()).then(|| format!("found: {}", found.join("; ")));
    let why_off = claim.why_off.as_ref().map(|why| format!("why: {why}"));
    let parts = [Some(format!("{}: {}", claim.id, claim.text)), found, claim.why.clone(), why_off, built_in];
    let mut lines = Vec::new();
    for (place, part) in parts.into_iter().flatten().enumerate() {
        for line in fold(&part, width.saturating_sub(WORD), 0) {
            let word = if lines.is_empty() && place == 0 { word } else { "" };
            lines.push(format!("{word:<WORD$}{line}").trim_end().to_owned());
        }
    }
    lines
}
