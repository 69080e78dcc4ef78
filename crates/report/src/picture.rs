//! Pictures of what was found: each an SVG that stands alone, with the numbers it shows.

/// A picture and its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// A short name, unique on a page.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The same in a sentence or two, with the main numbers.
    pub desc: String,
    /// The picture, one `<svg>` element.
    pub svg: String,
    /// Heads of the columns of its numbers.
    pub columns: Vec<String>,
    /// Its numbers.
    pub rows: Vec<Vec<String>>,
}
