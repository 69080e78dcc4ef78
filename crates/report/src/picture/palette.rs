//! Colours that colour-blind people tell apart, and shapes and dashes that say the same without colour.

/// Okabe and Ito's colours (Color Universal Design, 2008), by how far they stand out from white paper; in place of their
/// yellow, which is too pale for lines there, a grey.
const COLOURS: [&str; 8] = [
    "var(--pb-1,#0072b2)",
    "var(--pb-2,#d55e00)",
    "var(--pb-3,#009e73)",
    "var(--pb-4,#cc79a7)",
    "var(--pb-5,#e69f00)",
    "var(--pb-6,#56b4e9)",
    "var(--pb-7,#5f5f5f)",
    "var(--pb-8,#000000)",
];

/// Text and axes.
pub const INK: &str = "var(--pb-ink,#222222)";
/// Lines behind the data.
pub const GRID: &str = "var(--pb-grid,#d9d9d9)";
/// What is drawn on.
pub const PAPER: &str = "var(--pb-paper,#ffffff)";

/// The colour of what is well.
pub const GOOD: &str = COLOURS[2];
/// The colour of what is not.
pub const BAD: &str = COLOURS[1];
/// The colour of what is only there.
pub const PLAIN: &str = COLOURS[0];
/// The colour of what says nothing.
pub const FAINT: &str = COLOURS[6];

/// What a point looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A disc.
    Circle,
    /// Standing on an edge.
    Square,
    /// On its side, point up.
    Triangle,
    /// Standing on a corner.
    Diamond,
    /// On its point.
    Wedge,
    /// Two strokes.
    Cross,
}

const SHAPES: [Shape; 5] = [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Wedge];
const DASHES: [&str; 4] = ["", "6 3", "2 2.5", "8 3 2 3"];

/// The colour of the series with this number, from 0.
#[must_use]
pub fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

/// Its shape: colour and shape together repeat after forty.
#[must_use]
pub fn shape(series: usize) -> Shape {
    SHAPES[series % SHAPES.len()]
}

/// Its dash, as `stroke-dasharray` has it; empty = none.
#[must_use]
pub fn dash(series: usize) -> &'static str {
    DASHES[(series + series / COLOURS.len()) % DASHES.len()]
}

/// Which paper a drawing stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// White.
    Light,
    /// Nearly black.
    Dark,
}

/// The properties of drawings on dark paper, as a page has them there.
pub const DARK: [(&str, &str); 11] = [
    ("paper", "#15181c"),
    ("ink", "#e8eaed"),
    ("grid", "#3a4049"),
    ("1", "#56b4e9"),
    ("2", "#ff9a4d"),
    ("3", "#3fcfa0"),
    ("4", "#e39ac4"),
    ("5", "#f0e442"),
    ("6", "#8fd0f5"),
    ("7", "#b4b4b4"),
    ("8", "#ffffff"),
];

/// A drawing for readers that know no custom properties: each `var(--pb-…,#123456)` becomes the colour in it, or on dark
/// paper that of [`DARK`].
#[must_use]
pub fn plain(svg: &str, theme: Theme) -> String {
    let mut parts = svg.split("var(--pb-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')').and_then(|(inside, rest)| Some((inside.split_once(',')?, rest))) {
            Some(((name, light), rest)) => {
                let dark = DARK.iter().find(|(known, _)| theme == Theme::Dark && *known == name);
                out.extend([dark.map_or(light, |(_, dark)| *dark), rest]);
            }
            None => out.extend(["var(--pb-", part]),
        }
    }
    out
}
