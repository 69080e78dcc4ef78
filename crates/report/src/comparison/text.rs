//! A comparison in words: the finding, a table a metric, and what must be known.
use powerband_record::{BASELINE, Better, InOrder, Verdict, format_number, is_loss, seen, unit_of};

use super::{Comparison, ComparisonRow, How};
use crate::labels::{shared_knobs, values_alone};
use crate::layout::{aligned, clean, cut, fit, fold};
use crate::words::{counted, percent, word};

/// More comparisons than this are counted, and only the differences told.
const TOLD: usize = 6;

/// The finding in one sentence, without a full stop.
pub(super) fn finding(rows: &[ComparisonRow]) -> String {
    let mut metrics: Vec<&str> = rows.iter().map(|row| row.metric.as_str()).collect();
    metrics.dedup();
    let several = metrics.len() > 1;
    let clause = |row: &ComparisonRow| {
        let place = if several { format!("in {}, ", row.metric) } else { String::new() };
        let (setting, against) = (&row.setting, &row.against);
        let size = change(row).map_or_else(String::new, |size| format!(" ({size})"));
        match row.verdict {
            Verdict::Better | Verdict::Worse => {
                format!("{place}{setting} is {} than {against}{size}", word(row.verdict))
            }
            Verdict::Same => format!("{place}{setting} is the same as {against} within {}", margin(row)),
            Verdict::Undecided => {
                let more = row
                    .predicted
                    .map_or_else(String::new, |predicted| format!(", {}", predicted_words(row, predicted)));
                format!("{place}undecided: {setting} against {against}{size}{more}")
            }
        }
    };
    if rows.is_empty() {
        return "nothing could be compared".into();
    }
    if rows.len() <= TOLD {
        return rows.iter().map(clause).collect::<Vec<_>>().join("; ");
    }
    let differs = |row: &&ComparisonRow| matches!(row.verdict, Verdict::Better | Verdict::Worse);
    let mut told: Vec<String> = rows.iter().filter(differs).take(TOLD).map(clause).collect();
    told.push(counts(rows));
    told.join("; ")
}

impl Comparison {
    /// The error rate, and what it is one of.
    pub(crate) fn rate_words(&self) -> String {
        let of = if self.each_by_itself {
            "for all differences claimed of one experiment"
        } else {
            "for all differences claimed together"
        };
        format!("{} {of}", percent(self.alpha))
    }
}

/// How many of all the comparisons came to what.
pub(crate) fn counts(rows: &[ComparisonRow]) -> String {
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let kinds = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Undecided];
    let counts = kinds.into_iter().filter(|kind| count(*kind) > 0);
    let counts: Vec<String> = counts.map(|kind| format!("{} {}", count(kind), word(kind))).collect();
    let all = counted(u32::try_from(rows.len()).unwrap_or(u32::MAX), "comparison");
    format!("of {all} {}", counts.join(", "))
}

/// The margins of rows, each once.
pub(crate) fn margins(rows: &[ComparisonRow]) -> String {
    let mut all: Vec<String> = Vec::new();
    for margin in rows.iter().map(margin) {
        if !all.contains(&margin) {
            all.push(margin);
        }
    }
    all.join(" or ")
}

pub(crate) fn margin(row: &ComparisonRow) -> String {
    match row.absolute {
        // Of a share of packets, a percentage is no share of it.
        true if is_loss(&row.metric) => format!("{} percentage points", format_number(row.margin)),
        true => unit(row, row.margin),
        false => percent(row.margin),
    }
}

fn unit(row: &ComparisonRow, value: f64) -> String {
    format!("{} {}", format_number(value), unit_of(&row.metric)).trim_end().to_owned()
}

/// `-15.5 %, -33 .. +24`.
fn change(row: &ComparisonRow) -> Option<String> {
    let size = shown(row, row.change?);
    let unit = if row.absolute { unit_of(&row.metric) } else { "%" };
    Some(match interval(row) {
        Some(interval) => format!("{size} {unit}, {interval}").replace("  ", " "),
        None => format!("{size} {unit}").trim_end().to_owned(),
    })
}

pub(super) fn interval(row: &ComparisonRow) -> Option<String> {
    Some(format!("{} .. {}", shown(row, row.low?), shown(row, row.high?)))
}

fn shown(row: &ComparisonRow, value: f64) -> String {
    if row.absolute {
        let sign = if value > 0.0 { "+" } else { "" };
        return format!("{sign}{}", format_number(value));
    }
    let decimals = if value.abs() >= 0.0995 { 0 } else { 1 };
    let percent = 100.0 * value;
    if value.abs() >= 0.0995 || value.abs() >= 0.005 {
        format!("{percent:+.decimals$}")
    } else {
        format!("{percent:+.2}")
    }
}

fn predicted_words(row: &ComparisonRow, (low, high): (u32, u32)) -> String {
    let what = if row.how == How::Sessions { "sessions of each" } else { "blocks" };
    if low == high {
        format!("about {low} {what} would decide")
    } else {
        format!("about {low} to {high} {what} would decide")
    }
}

/// How a comparison was made, in a few words.
fn how(row: &ComparisonRow) -> String {
    match row.how {
        How::Blocks => counted(row.count, "block"),
        How::SharedReference => "shared reference".into(),
        How::Sessions => counted(row.count, "session"),
        How::Apart => "nothing in common".into(),
    }
}

/// Rows in the table of the default text.
const ROWS: usize = 12;
/// Lines of the finding, and caveats, in the default text.
const FINDING: usize = 3;
const CAVEATS: usize = 2;

/// The default text, the finding last: at most 24 lines of 80 columns. `all` is what is typed for everything.
pub(super) fn brief(of: &Comparison, width: usize, all: &str) -> String {
    let of = &shown_whole(of);
    let mut rows: Vec<&ComparisonRow> = of.rows.iter().collect();
    let several = rows.windows(2).any(|pair| pair[0].metric != pair[1].metric);
    // What differs comes first, where not everything has room.
    if rows.len() > ROWS {
        rows.order_by_key(|row| !matches!(row.verdict, Verdict::Better | Verdict::Worse));
    }
    let mut lines = Vec::new();
    if !rows.is_empty() {
        // Knobs' names are said once: what tells rows apart must not be cut off.
        let labels = of.rows.iter().flat_map(|row| [&row.setting, &row.against]).map(|label| setting_of(label));
        let knobs = shared_knobs(labels.filter(|label| *label != BASELINE)).unwrap_or_default();
        let named = if knobs.is_empty() { "setting".to_owned() } else { knobs.join(" ") };
        let head = ["metric", &named, "against", "change", "interval", "verdict", "by"].map(str::to_owned).to_vec();
        let one = rows.iter().take(ROWS).map(|row| brief_cells(row, &knobs));
        let references = references(&of.rows);
        let shown = |column: usize| (column != 0 || several) && (column != 2 || references.is_none());
        let keep = |row: Vec<String>| row.into_iter().enumerate().filter(|(at, _)| shown(*at)).map(|(_, cell)| cell);
        let table: Vec<Vec<String>> = [head].into_iter().chain(one).map(|row| keep(row).collect()).collect();
        let words = (0..3).filter(|column| shown(*column)).count();
        lines.extend(aligned(&table, words, width, &(0..words).collect::<Vec<_>>()));
        lines.extend(references.map(|them| cut(&format!("each compared with {}", them.join(" or ")), width)));
        if rows.len() > ROWS {
            lines.push(format!("{} more comparisons with -v", rows.len() - ROWS));
        }
        lines.push(String::new());
    }
    let labels = of.rows.iter().flat_map(|row| [&row.setting, &row.against]);
    let named = labels.fold(of.finding.clone(), |finding, label| finding.replace(label, &as_typed(label)));
    let finding = fold(&format!("{}.", clean(&named)), width, 0);
    let cut_short = finding.len() > FINDING;
    lines.extend(finding.into_iter().take(FINDING));
    if let Some(last) = lines.last_mut().filter(|_| cut_short) {
        *last = format!("{}…", cut(last, width.saturating_sub(1)).trim_end_matches('…'));
    }
    lines.extend(fold(&format!("Error rate {}.", of.rate_words()), width, 0));
    let mut notes: Vec<&String> = of.rows.iter().flat_map(|row| &row.notes).chain(&of.notes).collect();
    notes.dedup();
    for note in notes.iter().take(CAVEATS) {
        lines.push(cut(&format!("Caveat: {}", clean(note)), width));
    }
    if notes.len() > CAVEATS {
        lines.push(format!("{} more caveats with -v", notes.len() - CAVEATS));
    }
    lines.push("details:".to_owned());
    lines.push(clean(all));
    lines.join("\n") + "\n"
}

/// What all rows are compared with, where that is the one reference of each experiment and needs no column.
fn references(rows: &[ComparisonRow]) -> Option<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for row in rows {
        let (setting, against) = (as_typed(&row.setting), as_typed(&row.against));
        let id = |typed: &str| typed.split_once(':').map(|(id, _)| id.to_owned());
        if id(&setting) != id(&against) {
            return None;
        }
        if !all.contains(&against) {
            all.push(against);
        }
    }
    let mut ids: Vec<&str> = all.iter().filter_map(|typed| Some(typed.split_once(':')?.0)).collect();
    ids.dedup();
    (rows.len() > 1 && ids.len() == all.len()).then_some(all)
}

/// `a of experiment 4` as `compare` takes it: `4:a`.
fn as_typed(label: &str) -> String {
    let split = label.rsplit_once(" of experiment ").filter(|(_, id)| id.bytes().all(|b| b.is_ascii_digit()));
    split.map_or_else(|| label.to_owned(), |(setting, id)| format!("{id}:{setting}"))
}

/// The setting of `a of experiment 4`.
fn setting_of(label: &str) -> &str {
    label.rsplit_once(" of experiment ").map_or(label, |(setting, _)| setting)
}

/// Cells of a row; `knobs` are the head of its column and not said again.
fn brief_cells(row: &ComparisonRow, knobs: &[String]) -> Vec<String> {
    let unit = if row.absolute { unit_of(&row.metric) } else { "%" };
    let change = row.change.map_or_else(|| "-".to_owned(), |change| format!("{} {unit}", shown(row, change)));
    let between = interval(row).map_or_else(|| "-".to_owned(), |it| it.replace(" .. ", ".."));
    let short = |label: &str| {
        let (typed, setting) = (as_typed(label), setting_of(label));
        let id = typed.strip_suffix(setting).unwrap_or_default();
        format!("{id}{}", values_alone(setting, knobs))
    };
    let (setting, mut against) = (short(&row.setting), short(&row.against));
    if let (Some((_, of)), Some((id, other))) = (setting.split_once(':'), against.split_once(':'))
        && of == other
    {
        // The same setting of another experiment.
        against = id.to_owned();
    }
    let by = if row.how == How::SharedReference { "reference".into() } else { how(row) };
    vec![row.metric.clone(), setting, against, change, between, word(row.verdict).into(), by]
}

/// With every character of the names seen: two that differ in one that is not must not look alike.
fn shown_whole(of: &Comparison) -> Comparison {
    let mut of = of.clone();
    of.finding = seen(&of.finding);
    for row in &mut of.rows {
        [&mut row.setting, &mut row.against, &mut row.metric].into_iter().for_each(|name| *name = seen(name));
    }
    of
}

pub(super) fn render(of: &Comparison, width: usize) -> String {
    let of = &shown_whole(of);
    let mut lines = fold(&format!("{}.", clean(&of.finding)), width, 0);
    lines.push(String::new());
    lines.extend(fold(&format!("error rate {}", of.rate_words()), width, 0));
    let mut rest = of.rows.as_slice();
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|row| row.metric == first.metric).count();
        let (now, later) = rest.split_at(same);
        rest = later;
        lines.push(String::new());
        let wanted = match first.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
        };
        lines.extend(fold(&format!("{} ({wanted}; margin {})", first.metric, margins(now)), width, 0));
        lines.extend(table(now, width));
        let told = now.iter().filter(|row| row.t.is_some()).map(test);
        told.for_each(|text| lines.extend(fold(&format!("- {}", clean(&text)), width, 2)));
        let mut notes: Vec<&String> = now.iter().flat_map(|row| &row.notes).collect();
        notes.dedup();
        notes.into_iter().for_each(|note| lines.extend(fold(&format!("- {}", clean(note)), width, 2)));
    }
    for note in &of.notes {
        lines.extend(fold(&format!("- {}", clean(note)), width, 2));
    }
    lines.join("\n") + "\n"
}

fn table(rows: &[ComparisonRow], width: usize) -> Vec<String> {
    let (head, cells) = cells(rows);
    fit(&head, &cells, width, 2, &[2, 3, 4])
}

/// Comparisons on one metric as a head and rows.
pub(crate) fn cells(rows: &[ComparisonRow]) -> ([String; 6], Vec<Vec<String>>) {
    let unit = match rows.iter().find(|row| row.absolute) {
        Some(row) => unit_of(&row.metric),
        None => "%",
    };
    let head = ["setting", "against", &format!("change {unit}"), &format!("interval {unit}"), "verdict", "by"];
    let head = head.map(|text| text.trim().to_owned());
    let dash = || "-".to_owned();
    let cells = rows.iter().map(|row| {
        let change = row.change.map_or_else(dash, |change| shown(row, change));
        let interval = interval(row).unwrap_or_else(dash);
        vec![row.setting.clone(), row.against.clone(), change, interval, word(row.verdict).into(), how(row)]
    });
    (head, cells.collect())
}

/// The test behind a row.
pub(crate) fn test(row: &ComparisonRow) -> String {
    let number =
        |value: Option<f64>, decimals: usize| value.map_or_else(|| "-".into(), |it| format!("{it:.decimals$}"));
    let p = match row.p {
        // Never `0.000`: a probability is not zero.
        Some(p) if p < 0.000_5 => "p < 0.001".to_owned(),
        p => format!("p {}", number(p, 3)),
    };
    let p = match row.p_asked {
        Some(asked) => format!("{p}, significance threshold at this look: {asked:.4}"),
        None => format!("{p}, decides nothing here"),
    };
    let predicted =
        row.predicted.map_or_else(String::new, |predicted| format!("; {}", predicted_words(row, predicted)));
    format!("{}: t {} with {} degrees of freedom, {p}{predicted}", row.setting, number(row.t, 3), df(row.df))
}

fn df(value: Option<f64>) -> String {
    value.map_or_else(
        || "-".into(),
        |df| if (df - df.round()).abs() < 1e-9 { format!("{df:.0}") } else { format!("{df:.1}") },
    )
}
