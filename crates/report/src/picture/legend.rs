//! Legends: which look belongs to whom, in as many lines as they take.
use super::label::{SIZE, folded, length};
use super::mark::{self, Datum, MarkStyle, Stand};
use super::svg::Element;

/// Height of a line of a legend.
const LINE: f64 = 17.0;
/// Longest entry, columns.
const MAX: usize = 44;

/// One entry.
pub(super) struct Key {
    pub(super) label: String,
    pub(super) look: MarkStyle,
    /// Whether lines join its points.
    pub(super) joined: bool,
    /// Whether its points are drawn.
    pub(super) pointed: bool,
}

/// The entries from `top` on, and where what is below may begin; nothing of one entry or none.
pub(super) fn draw(entries: &[Key], top: f64) -> (Option<Element>, f64) {
    if entries.len() < 2 {
        return (None, top);
    }
    let (mut x, mut y) = (4.0, top + 9.0);
    let mut legend = Element::new("g").set("class", "pb-legend");
    for Key { label, look, joined, pointed } in entries {
        let sign = if *joined { 26.0 } else { 12.0 };
        let told = folded(label, MAX, 1).concat();
        let long = sign + 4.0 + length(&told, SIZE) + 14.0;
        if x > 4.0 && x + long - 14.0 > super::WIDTH {
            (x, y) = (4.0, y + LINE);
        }
        let nobody = Datum::default();
        let mut entry = Element::new("g").set("class", "pb-key").set("data-key", label.clone());
        if *joined {
            entry = entry.with(mark::line(&[(x, y), (x + sign, y)], false, *look, &nobody).without_class());
        }
        if *pointed {
            entry = entry.with(mark::point((x + sign / 2.0, y), *look, &nobody).without_class());
        }
        legend = legend.with(entry.with(mark::text((x + sign + 4.0, y + 4.0), Stand::Begins, false, &told)));
        x += long;
    }
    (Some(legend), y + LINE - 6.0)
}
