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

/// Several of them in two columns, each in the one that is shorter until then, so that a low one leaves no hole beside a tall one;
/// nothing where there is none. Where there is room for one column they stand in their order.
pub(super) fn figures<'a>(pictures: impl IntoIterator<Item = &'a Picture>) -> String {
    let mut columns = [(0.0, String::new()), (0.0, String::new())];
    for (place, picture) in pictures.into_iter().enumerate() {
        let shorter = usize::from(columns[1].0 < columns[0].0);
        let (height, html) = &mut columns[shorter];
        *height += about_high(picture);
        html.push_str(&placed(picture, Some(place)));
    }
    let column = |(_, html): &(f64, String)| format!("<div class=\"column\">\n{html}</div>\n");
    let all: String = columns.iter().filter(|(_, html)| !html.is_empty()).map(column).collect();
    if all.is_empty() { all } else { format!("<div class=\"figures\">\n{all}</div>\n") }
}

/// How high a figure stands in a column, about, in units of its drawing's width.
fn about_high(picture: &Picture) -> f64 {
    const FRAME: f64 = 0.25;
    const LETTERS: f64 = 1300.0;
    let size = picture.svg.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"'));
    let size = size.and_then(|(size, _)| size.split_once(' '));
    let size = size.and_then(|(wide, high)| Some((wide.parse::<f64>().ok()?, high.parse::<f64>().ok()?)));
    size.map_or(1.0, |(wide, high)| high / wide) + picture.desc.len() as f64 / LETTERS + FRAME
}

/// One of them.
pub(super) fn figure(picture: &Picture) -> String {
    placed(picture, None)
}

/// One of them, with its place among others.
fn placed(picture: &Picture, place: Option<usize>) -> String {
    let order = place.map(|place| format!(" style=\"order:{place}\"")).unwrap_or_default();
    let head: Vec<&str> = picture.columns.iter().map(String::as_str).collect();
    let table = Table::of_words(&format!("Numbers of: {}", picture.title), &head, picture.rows.clone()).render();
    let numbers = if table.is_empty() {
        String::new()
    } else {
        format!("<details>\n<summary>Its numbers</summary>\n{table}</details>\n")
    };
    let (id, title, desc) = (text(&picture.id), text(&picture.title), text(&picture.desc));
    format!(
        "<figure id=\"picture-{id}\"{order}>\n<figcaption><h3>{title}</h3><p>{desc}</p></figcaption>\n\
         <div class=\"picture\">{}</div>\n{numbers}</figure>\n",
        picture.svg
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_pictures_stand_beside_a_tall_one_and_keep_their_order_in_one_column() {
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
        let columns: Vec<&str> = html.split("<div class=\"column\">").skip(1).collect();
        let [left, right] = columns[..] else { panic!("{html}") };
        assert!(left.contains("picture-tall") && left.matches("<figure").count() == 1, "{html}");
        let places: Vec<Option<usize>> =
            ["a\" style=\"order:1", "b\" style=\"order:2", "c\" style=\"order:3"].map(|of| right.find(of)).to_vec();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{html}");
        assert_eq!(figures(&all[..0]), "", "no hollow frame");
    }
}
