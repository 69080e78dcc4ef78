//! A replicated article for a terminal: its plans, its table next to ours, its claims.
use powerband_record::format_duration;

use super::decide::number;
use super::{ClaimOutcome, Judged, MeasuredMeans, Point, Replication};
use crate::layout::{clean, cut, fit, fold};

/// Columns of a number of four digits, and of the border next to a cell.
const NUMBER: usize = 6;
const PADDING: usize = 3;
/// Columns of the word before a claim.
const WORD: usize = 21;

/// Lines of the default text, less what is typed and the prompt.
const MAX: usize = 22;

/// Prints all articles in as many lines as a small terminal has: how many claims of each hold, and which do not. `summary` and
/// `all`, what is typed for everything, stand last.
#[must_use]
pub fn brief(done: &[Replication], summary: &str, all: &str, width: usize) -> String {
    let heads: Vec<Vec<String>> = done.iter().map(|one| head(one, width)).collect();
    let end = fold(summary, width, 0);
    let taken: usize = heads.iter().map(Vec::len).sum::<usize>() + end.len() + 2;
    let failing: Vec<Vec<String>> = done.iter().map(|one| failing(one, width)).collect();
    let mut room = MAX.saturating_sub(taken);
    let mut lines = Vec::new();
    for (place, (head, failing)) in heads.into_iter().zip(&failing).enumerate() {
        lines.extend(head);
        // Each article leaves the ones after it a line each, where they have something to say.
        let after = done.len() - place - 1;
        let fits = failing.len().min(room.saturating_sub(after));
        let shown = if fits < failing.len() { fits.saturating_sub(1) } else { fits };
        lines.extend(failing.iter().take(shown).cloned());
        if shown < failing.len() && fits > 0 {
            lines.push(format!("  {} more with -v", failing.len() - shown));
        }
        room = room.saturating_sub(fits);
    }
    lines.extend(end);
    lines.push("details:".to_owned());
    lines.push(clean(all));
    lines.join("\n") + "\n"
}

/// `router: 9 of 9 claims hold, 10 of 10 numbers within tolerance; 5 plans, 120 trials`.
fn head(one: &Replication, width: usize) -> Vec<String> {
    let claims = one.claims.len();
    let holding = one.claims.iter().filter(|claim| claim.holds == ClaimOutcome::Yes).count();
    if let Some(why) = one.put_off() {
        return fold(&format!("{}: none of its {claims} claims was tried: {why}", one.name), width, 2);
    }
    let points: Vec<bool> = one.points.iter().filter_map(Point::holds).collect();
    let met = points.iter().filter(|holds| **holds).count();
    let numbers =
        if points.is_empty() { String::new() } else { format!(", {met} of {} numbers within tolerance", points.len()) };
    let trials: u32 = one.ran.iter().map(|ran| ran.trials).sum();
    let line = format!("{}: {holding} of {claims} claims hold{numbers} ({trials} trials)", one.name);
    vec![cut(&line, width)]
}

/// A line for each claim that does not hold, and for each number out of its tolerance.
fn failing(one: &Replication, width: usize) -> Vec<String> {
    if one.put_off().is_some() {
        return Vec::new();
    }
    let claims = one.claims.iter().filter(|claim| claim.holds != ClaimOutcome::Yes);
    let claims = claims.map(|claim| {
        let measured = claim.checks.iter().map(|check| check.found.as_str()).filter(|found| !found.is_empty());
        let measured: Vec<&str> = measured.collect();
        let why = if measured.is_empty() { claim.why.clone().unwrap_or_default() } else { measured.join("; ") };
        format!("  {} {}: {why}", word(claim.holds), claim.id)
    });
    let points = one.points.iter().filter(|point| point.holds() == Some(false)).map(|point| {
        let deviation = point.off().map_or_else(|| "not measured".to_owned(), |off| format!("{:+.1} %", off * 100.0));
        format!("  {} of {}: {deviation} from the published {}", point.metric, point.setting, number(point.published))
    });
    claims.chain(points).map(|line| cut(&clean(&line), width)).collect()
}

/// Prints it whole for `width` columns.
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
    let head = ["setting", "published", "measured", "deviation", "tolerance", ""].map(String::from);
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

/// What was found where the published figures are pictures: as many settings next to each other as have room, the others below.
fn pictured(found: &MeasuredMeans, width: usize) -> Vec<String> {
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
pub(crate) fn word(holds: ClaimOutcome) -> &'static str {
    match holds {
        ClaimOutcome::Yes => "holds",
        ClaimOutcome::Deviates => "holds with deviation",
        ClaimOutcome::Tie => "not decidable",
        ClaimOutcome::No => "does not follow",
        ClaimOutcome::NotTried => "not tried",
        ClaimOutcome::Undecidable => "not decidable",
    }
}

/// How many claims hold, and of the others what came of them, by name where they are few.
pub(crate) fn summed(articles: &[Replication]) -> String {
    const NAMED: usize = 6;
    let claims = || articles.iter().flat_map(|article| &article.claims);
    let of = |wanted: &[ClaimOutcome]| -> Vec<&str> {
        claims().filter(|claim| wanted.contains(&claim.holds)).map(|claim| claim.id.as_str()).collect()
    };
    let mut summed =
        format!("{} of {} claims hold", claims().filter(|it| it.holds == ClaimOutcome::Yes).count(), claims().count());
    for (holds, one, several) in [
        (&[ClaimOutcome::Deviates][..], "holds with a deviation", "hold with a deviation"),
        (&[ClaimOutcome::No], "does not follow", "do not follow"),
        (&[ClaimOutcome::NotTried], "was not tried", "were not tried"),
        (&[ClaimOutcome::Tie, ClaimOutcome::Undecidable], "is not decidable", "are not decidable"),
    ] {
        let ids = of(holds);
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
    let found = (!found.is_empty()).then(|| format!("measured: {}", found.join("; ")));
    let why_off = claim.why_off.as_ref().map(|why| format!("why: {why}"));
    let not = claim.does_not_follow.as_ref().map(|why| format!("why not: {why}"));
    let parts = [Some(format!("{}: {}", claim.id, claim.text)), found, claim.why.clone(), why_off, not, built_in];
    let mut lines = Vec::new();
    for (place, part) in parts.into_iter().flatten().enumerate() {
        for line in fold(&part, width.saturating_sub(WORD), 0) {
            let word = if lines.is_empty() && place == 0 { word } else { "" };
            lines.push(format!("{word:<WORD$}{line}").trim_end().to_owned());
        }
    }
    lines
}
