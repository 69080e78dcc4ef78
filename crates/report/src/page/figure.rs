//! Pictures on a page: each a figure with its caption, and its numbers as a table to open.
use super::html::{Table, text};
use crate::Model;
use crate::picture::Picture;

/// With more settings than this a row for each is no sight at once.
const AT_A_GLANCE: usize = 24;

/// The picture that stands beside the verdict, and the others in their order: where a knee was sought, or the settings are many, the
/// curve over the knob; else the first, if its rows are few.
pub(super) fn parted<'a>(model: &Model, pictures: &'a [Picture]) -> (Option<&'a Picture>, Vec<&'a Picture>) {
    let curve = |picture: &&Picture| picture.id.ends_with("-against-knob") && !picture.id.starts_with("shown-");
    let many = model.started.search.is_none() && model.settings.len() > AT_A_GLANCE;
    let over_knob = pictures.iter().find(curve).filter(|_| many || model.knee.is_some());
    let lead = over_knob.or_else(|| pictures.first().filter(|_| !many));
    let others = pictures.iter().filter(|picture| lead.is_none_or(|lead| lead.id != picture.id)).collect();
    (lead, others)
}

/// Several of them; nothing where there is none.
pub(super) fn figures<'a>(pictures: impl IntoIterator<Item = &'a Picture>) -> String {
    let all: String = pictures.into_iter().map(figure).collect();
    if all.is_empty() { all } else { format!("<div class=\"figures\">\n{all}</div>\n") }
}

/// One of them.
pub(super) fn figure(picture: &Picture) -> String {
    let head: Vec<&str> = picture.columns.iter().map(String::as_str).collect();
    let table = Table::of_words(&format!("Numbers of: {}", picture.title), &head, picture.rows.clone()).render();
    let numbers = if table.is_empty() {
        String::new()
    } else {
        format!("<details>\n<summary>Its numbers</summary>\n{table}</details>\n")
    };
    let (id, title, desc) = (text(&picture.id), text(&picture.title), text(&picture.desc));
    format!(
        "<figure id=\"picture-{id}\">\n<figcaption><h3>{title}</h3><p>{desc}</p></figcaption>\n\
         <div class=\"picture\">{}</div>\n{numbers}</figure>\n",
        picture.svg
    )
}
