//! The catalogue as text: `powerband knobs`, and the page generated from it.
use std::fmt::Write;

use crate::catalogue::ALL;
use crate::{About, KnobError, resolve};

/// One line a knob, names aligned.
#[must_use]
pub fn list() -> String {
    let width = ALL.iter().map(|knob| knob.about().name.len()).max().unwrap_or_default();
    ALL.iter().map(|knob| format!("{:width$}  {}\n", knob.about().name, knob.about().summary)).collect()
}

/// The whole catalogue as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from("# Knobs\n");
    for knob in ALL {
        page.push('\n');
        page.push_str(&section(knob.about()));
    }
    page
}

/// One knob's section.
///
/// # Errors
/// [`KnobError::Unknown`] or [`KnobError::Ambiguous`].
pub fn explain(name: &str) -> Result<String, KnobError> {
    resolve(name).map(|named| section(named.knob.about()))
}

fn section(about: &About) -> String {
    let mut text = format!("## `{}`: {}\n\n{}\n\n", about.name, about.summary, about.doc);
    let mut row = |label: &str, words: &str| {
        if !words.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "- {label}: {words}");
        }
    };
    if about.short != about.name {
        let others: Vec<String> =
            std::iter::once(&about.short).chain(about.aliases).map(|name| format!("`{name}`")).collect();
        row("also", &others.join(", "));
    }
    row("takes", about.accepts);
    row("unit", about.unit);
    row("reaches", about.scope.words());
    row("needs", about.needs);
    row("source", about.source);
    text
}
