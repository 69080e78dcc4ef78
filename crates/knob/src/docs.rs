//! The catalogue as text: `powerband knobs`, and the pages in `docs/knobs` generated from it.
use std::fmt::Write;

use crate::apply::moves;
use crate::catalogue::ALL;
use crate::{About, KnobError, resolve};

/// Knobs of the load, which are no part of the catalogue: `try` and plans take them.
const OF_LOAD: [(&str, &str); 4] = [
    ("env.NAME", "environment variable of the load (try and plans)"),
    ("param.NAME", "what replaces {NAME} in the commands (try and plans)"),
    ("daemon", "a program that sets knobs by itself during each trial: none, or a command (try and plans)"),
    ("background", "what runs next to the load: none, spin@cpu1, 'cmd:COMMAND' (try and plans)"),
];

/// One line a knob, names aligned; those of the load last.
#[must_use]
pub fn list() -> String {
    let all = || ALL.iter().map(|knob| (knob.about().name, knob.about().summary)).chain(OF_LOAD);
    let width = all().map(|(name, _)| name.len()).max().unwrap_or_default();
    all().map(|(name, summary)| format!("{name:width$}  {summary}\n")).collect()
}

/// The whole catalogue as Markdown: name and text of a page for each family of knobs, in the catalogue's order.
#[must_use]
pub fn pages() -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    for about in ALL.iter().map(|knob| knob.about()) {
        let family = about.name.split(['.', ':']).next().unwrap_or(about.name);
        if pages.last().is_none_or(|(last, _)| last != family) {
            pages.push((
                family.to_owned(),
                format!("# Knobs: {family}\n\nGenerated from the catalogue; not edited by hand.\n"),
            ));
        }
        if let Some((_, page)) = pages.last_mut() {
            page.push('\n');
            page.push_str(&section(about, None));
        }
    }
    pages
}

/// The sections of the knobs a name may mean: one, or those of several governors under a short name they share.
///
/// # Errors
/// [`KnobError::Unknown`].
pub fn explain(name: &str) -> Result<String, KnobError> {
    let path = path_of(name);
    Ok(meant_by(name)?.into_iter().map(|about| section(about, path.as_deref())).collect::<Vec<_>>().join("\n"))
}

/// What setting a knob changes along, which is saved first and restored after it.
///
/// # Errors
/// [`KnobError::Unknown`].
pub fn also_changed(name: &str) -> Result<Vec<String>, KnobError> {
    let path = path_of(name);
    Ok(meant_by(name)?.into_iter().flat_map(|about| moves::also_changed(about.name, path.as_deref())).collect())
}

/// The file of a name that is one: `file:PATH`, `sysctl.NAME`.
fn path_of(name: &str) -> Option<String> {
    match name.strip_prefix("sysctl.") {
        Some(sysctl) => Some(powerband_sysfs::proc::sysctl(sysctl)),
        None => name.strip_prefix("file:").map(str::to_owned),
    }
}

/// The knobs a name may mean.
///
/// # Errors
/// [`KnobError::Unknown`].
pub fn meant_by(name: &str) -> Result<Vec<&'static About>, KnobError> {
    match resolve(name) {
        Ok(named) => Ok(vec![named.knob.about()]),
        Err(KnobError::Ambiguous { names, .. }) => {
            names.iter().map(|name| resolve(name).map(|named| named.knob.about())).collect()
        }
        Err(error) => Err(error),
    }
}

fn section(about: &About, path: Option<&str>) -> String {
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
    row("accepts", about.accepts);
    row("unit", about.unit);
    row("applies to", about.scope.words());
    row("needs", about.needs);
    let also = moves::also_changed(about.name, path);
    row("also changes, and restores", &also.join(", "));
    row("source", about.source);
    text
}
