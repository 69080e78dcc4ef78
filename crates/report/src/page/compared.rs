//! The sections of a comparison's page: what the two have to say of one another, then each by itself.
use super::figure::figures;
use super::frame::Section;
use super::html::{Table, facts, list, text};
use super::settings;
use super::verdict;
use crate::Model;
use crate::comparison::Comparison;
use crate::comparison::text::{cells, margins, test};
use crate::load;
use crate::picture::{Picture, SUMMARY};
use crate::sentence;
use crate::words::{counted, utc};

pub(super) fn sections(of: &Comparison, models: &[Model], pictures: &[Picture]) -> Vec<Section> {
    let (lead, others): (Vec<&Picture>, Vec<&Picture>) = pictures.iter().partition(|picture| picture.id == SUMMARY);
    let words = verdict::finding(&of.finding) + &facts(&[("Error rate", of.rate_words())]);
    let verdict = verdict::led(&words, lead.first().copied());
    let sides: String = models.iter().map(side).collect();
    let sides = if sides.is_empty() { sides } else { format!("<div class=\"sides\">\n{sides}</div>\n") };
    let mut shown = [
        Section::new("differences", "Differences", differences(of)),
        Section::new("pictures", "Charts", figures(others)),
    ];
    // What was made along a number is there for its curves.
    if of.along.is_some() {
        shown.reverse();
    }
    let [first, second] = shown;
    vec![
        Section::new("verdict", "Verdict", verdict),
        first,
        second,
        Section::new("sides", "Side by side", sides),
        Section::new("notes", "Caveats", list(&of.notes)),
    ]
}

/// More tests than these are there to be opened.
const FEW_TESTS: usize = 6;

/// A table for each metric, and the tests behind it.
fn differences(of: &Comparison) -> String {
    of.rows
        .chunk_by(|a, b| a.metric == b.metric)
        .map(|rows| {
            let (head, cells) = cells(rows);
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            let caption = format!("{} (margin {})", rows[0].metric, margins(rows));
            let tests: Vec<String> = rows.iter().filter(|row| row.t.is_some()).map(test).collect();
            let mut notes: Vec<String> = rows.iter().flat_map(|row| row.notes.clone()).collect();
            notes.dedup();
            let tests = match tests.len() > FEW_TESTS {
                true => format!("<details>\n<summary>Statistics</summary>\n{}</details>\n", list(&tests)),
                false => list(&tests),
            };
            Table::of_words(&caption, &head, cells).render() + &tests + &list(&notes)
        })
        .collect()
}

/// One experiment by itself.
fn side(model: &Model) -> String {
    let header = model.header.as_ref();
    let id = header.map_or_else(|| "An experiment".to_owned(), |header| format!("Experiment {}", header.id));
    let told = facts(&[
        ("Finding", sentence::headline(model)),
        ("Machine", format!("{}; {}", model.started.machine, model.started.system)),
        ("Load", load::load_of(model)),
        ("Begun", header.map(|header| format!("{} UTC", utc(header.started_unix_s))).unwrap_or_default()),
        ("Measured", format!("{}, {}", counted(model.blocks, "block"), counted(model.trials, "valid trial"))),
    ]);
    format!("<div class=\"side\">\n<h3>{}</h3>\n{told}{}</div>\n", text(&id), settings::section(model))
}
