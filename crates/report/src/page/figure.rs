//! Pictures on a page: each a figure with its caption, and its data as a table to open.
use super::html::{Table, text};
use crate::Model;
use crate::picture::Picture;

/// With more settings than this a row for each is no sight at once.
const AT_A_GLANCE: usize = 24;

/// The picture that stands next to the verdict, and the others in their order: where a knee was sought, or the settings are many, the
/// curve over the knob; else the first, if its rows are few.
pub(super) fn parted<'a>(model: &Model, pictures: &'a [Picture]) -> (Option<&'a Picture>, Vec<&'a Picture>) {
    let curve = |picture: &&Picture| picture.id.ends_with("-against-knob") && !picture.id.starts_with("shown-");
    let many = model.started.search.is_none() && model.settings.len() > AT_A_GLANCE;
    let over_knob = pictures.iter().find(curve).filter(|_| many || model.knee.is_some());
    let lead = over_knob.or_else(|| pictures.first().filter(|_| !many));
    let others = pictures.iter().filter(|picture| lead.is_none_or(|lead| lead.id != picture.id)).collect();
    (lead, others)
}

/// Several of them in two columns, each in the one that is shorter until then, so that a low one leaves no hole next to a tall one;
/// nothing where there is none. They stand in their order, and on paper and in a narrow window in one column.
pub(super) fn figures<'a>(pictures: impl IntoIterator<Item = &'a Picture>) -> String {
    let (mut left, mut right) = (0.0, 0.0);
    let mut all = String::new();
    for picture in pictures {
        let (height, side) = if right < left { (&mut right, "right") } else { (&mut left, "left") };
        *height += about_high(picture);
        all.push_str(&placed(picture, side));
    }
    if all.is_empty() { all } else { format!("<div class=\"figures\">\n{all}</div>\n") }
}

/// How high a figure stands in a column, about, in units of its drawing's width.
fn about_high(picture: &Picture) -> f64 {
    const FRAME: f64 = 0.25;
    let size = picture.svg.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"'));
    let size = size.and_then(|(size, _)| size.split_once(' '));
    let size = size.and_then(|(wide, high)| Some((wide.parse::<f64>().ok()?, high.parse::<f64>().ok()?)));
    size.map_or(1.0, |(wide, high)| high / wide) + FRAME
}

/// One of them.
pub(super) fn figure(picture: &Picture) -> String {
    placed(picture, "")
}

/// One of them, at a side of two columns.
fn placed(picture: &Picture, side: &str) -> String {
    let side = if side.is_empty() { String::new() } else { format!(" class=\"{side}\"") };
    let head: Vec<&str> = picture.columns.iter().map(String::as_str).collect();
    let table = Table::of_words(&format!("Data: {}", picture.title), &head, picture.rows.clone()).render();
    let (id, title, desc) = (text(&picture.id), text(&picture.title), text(&picture.desc));
    // The drawing has the same words for readers who do not see it.
    let data = format!("<details>\n<summary>Data</summary>\n<p>{desc}</p>\n{table}</details>\n");
    format!(
        "<figure id=\"picture-{id}\"{side}>\n<figcaption><h3>{title}</h3></figcaption>\n\
         <div class=\"picture\">{}</div>\n{data}</figure>\n",
        picture.svg
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_pictures_stand_beside_a_tall_one_in_their_order() {
        let picture = |id: &str, high: u32| Picture {
            id: id.into(),
            title: id.into(),
            desc: String::new(),
            svg: format!("<svg viewBox=\"0 0 460 {high}\"></svg>"),
            rows: Vec::new(),
            columns: Vec::new(),
            dense: None,
        };
        let all = [picture("tall", 900), picture("a", 200), picture("b", 200), picture("c", 200)];
        let html = figures(&all);
        let sides = ["tall\" class=\"left\"", "a\" class=\"right\"", "b\" class=\"right\"", "c\" class=\"right\""];
        let places = sides.map(|of| html.find(&format!("id=\"picture-{of}")));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{html}");
        assert_eq!(figures(&all[..0]), "", "no hollow frame");
    }
}
