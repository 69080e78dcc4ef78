//! Pictures on a page: each a figure with its caption, and its numbers as a table to open.
use super::html::{Table, text};
use crate::picture::Picture;

/// All of them; nothing where there is none.
pub(super) fn figures(pictures: &[Picture]) -> String {
    if pictures.is_empty() {
        return String::new();
    }
    format!("<div class=\"figures\">\n{}</div>\n", pictures.iter().map(figure).collect::<String>())
}

fn figure(picture: &Picture) -> String {
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
