//! Labels, measured by characters: cut, folded into lines, placed next to points where they lie on nothing.
use unicode_width::UnicodeWidthStr as _;

use crate::layout::cut;

/// Height of letters, in the drawing's units.
pub const SIZE: f64 = 12.0;
/// Height of small letters.
pub const SMALL: f64 = 10.5;
/// Width of a column of text over the height of its letters: what the widest common sans-serif fonts take on average.
const COLUMN: f64 = 0.64;

/// A text on one line such that every character of it is seen and none of them moves others: blanks for line ends and tabs,
/// code points (`U+202E`) for what shows nothing.
#[must_use]
pub fn visible(text: &str) -> String {
    crate::escape::seen(text).replace(['\n', '\t'], " ")
}

/// Room a text takes, in the drawing's units.
#[must_use]
pub fn length(text: &str, size: f64) -> f64 {
    visible(text).width() as f64 * size * COLUMN
}

/// How many columns of text fit.
#[must_use]
pub fn columns(room: f64, size: f64) -> usize {
    (room / (size * COLUMN)).max(0.0) as usize
}

/// A label in at most `lines` lines of `most` columns, parted at blanks, or behind a
/// dash, where it can be; the end is cut where it is longer.
#[must_use]
pub fn folded(text: &str, most: usize, lines: usize) -> Vec<String> {
    let text = visible(text);
    let mut told = Vec::new();
    let mut rest = text.trim();
    while told.len() + 1 < lines && rest.width() > most {
        let fits = cut(rest, most + 1);
        let fits = fits.trim_end_matches('…');
        let behind = |end: usize, c: char| if c == ' ' { end } else { end + 1 };
        // Between words where the line is half full then: the name of a knob may have a dash.
        let blank = fits.rfind(' ').filter(|end| fits[..*end].width() * 2 >= most);
        let end = blank
            .or_else(|| fits.rfind([' ', '-', '=']))
            .map(|end| behind(end, fits[end..].chars().next().unwrap_or(' ')));
        let end = end.filter(|end| *end > 0).unwrap_or(fits.len());
        let (line, behind) = rest.split_at(end.max(rest.chars().next().map_or(0, char::len_utf8)));
        told.push(line.trim_end().to_owned());
        rest = behind.trim_start();
    }
    told.push(cut(rest, most.max(1)));
    told
}

/// Labels that have room for `most` columns: where one is longer, the words that all settings have in common are left out, as
/// what is told apart stands in the others.
#[must_use]
pub fn told_apart(labels: &[&str], most: usize) -> Vec<String> {
    let whole = || labels.iter().map(|label| (*label).to_owned()).collect();
    let turning: Vec<&&str> = labels.iter().filter(|label| label.contains('=')).collect();
    if turning.len() < 2 || labels.iter().all(|label| visible(label).width() <= most) {
        return whole();
    }
    let first = turning.first().map_or("", |label| **label);
    let common = |word: &&str| turning.iter().all(|label| label.split(' ').any(|other| other == *word));
    let common: Vec<&str> = first.split(' ').filter(|word| common(word)).collect();
    let short = |label: &&str| {
        let words: Vec<&str> = label.split(' ').filter(|word| !common.contains(word)).collect();
        if words.is_empty() { (*label).to_owned() } else { words.join(" ") }
    };
    let short: Vec<String> = if common.is_empty() { whole() } else { labels.iter().map(short).collect() };
    // Nothing tells labels apart that are all the same.
    if short.windows(2).all(|pair| pair[0] == pair[1]) {
        return whole();
    }
    short.iter().map(|label| knobs_cut(label, most)).collect()
}

/// Settings of several knobs that are still too long: the knobs' names are cut, never their values, which alone tell such
/// settings apart.
fn knobs_cut(label: &str, most: usize) -> String {
    const MIN: usize = 3;
    let words: Vec<&str> = label.split(' ').collect();
    let knobs = words.iter().filter(|word| word.contains('=')).count();
    if visible(label).width() <= most || knobs < 2 || knobs < words.len() {
        return label.to_owned();
    }
    let values: usize = words.iter().filter_map(|word| word.split_once('=')).map(|(_, value)| value.width() + 2).sum();
    let each = (most.saturating_sub(values) / knobs).max(MIN);
    let cut = |word: &str| match word.split_once('=') {
        Some((knob, value)) => format!("{}={value}", cut(knob, each)),
        None => word.to_owned(),
    };
    words.into_iter().map(cut).collect::<Vec<_>>().join(" ")
}

/// A box of the drawing: left, top, right, bottom.
pub type Frame = (f64, f64, f64, f64);

/// Places labels next to points: right, left, above or below, the first place where it stays inside and lies on nothing
/// that was placed before; `None` where there is none.
#[derive(Clone, Debug)]
pub struct Placing {
    inside: Frame,
    taken: Vec<Frame>,
}

impl Placing {
    /// Inside a frame, around points (with `half` of their size on each side).
    #[must_use]
    pub fn new(inside: Frame, points: &[(f64, f64)], half: f64) -> Placing {
        let taken = points.iter().map(|(x, y)| (x - half, y - half, x + half, y + half)).collect();
        Placing { inside, taken }
    }

    /// Whether nothing lies in a frame.
    #[must_use]
    pub fn is_free(&self, (left, top, right, bottom): Frame) -> bool {
        !self.taken.iter().any(|other| left < other.2 && right > other.0 && top < other.3 && bottom > other.1)
    }

    /// Takes the place of a label whose baseline begins at `at`, if nothing that was placed before lies there.
    pub fn taken_at(&mut self, text: &str, (left, base): (f64, f64), size: f64) -> bool {
        let frame = (left, base - size * 0.85, left + length(text, size), base + size * 0.2);
        let free = self.is_free(frame);
        self.taken.push(frame);
        free
    }

    /// Keeps a frame free of labels.
    pub fn take(&mut self, frame: Frame) {
        self.taken.push(frame);
    }

    /// Where the label of the point at `x`, `y` may begin (its baseline), once only.
    pub fn place(&mut self, text: &str, (x, y): (f64, f64), size: f64) -> Option<(f64, f64)> {
        let (long, high) = (length(text, size), size);
        let beginnings = [
            (x + 8.0, y + high * 0.35),
            (x - 8.0 - long, y + high * 0.35),
            (x + 5.0, y - 7.0),
            (x - 5.0 - long, y - 7.0),
            (x + 5.0, y + high + 4.0),
            (x - 5.0 - long, y + high + 4.0),
            (x - long / 2.0, y - 9.0),
            (x - long / 2.0, y + high + 7.0),
        ];
        let found = beginnings.into_iter().find(|(left, base)| {
            let (left, top, right, bottom) = (*left, base - high * 0.85, left + long, base + high * 0.2);
            let inside =
                left >= self.inside.0 && top >= self.inside.1 && right <= self.inside.2 && bottom <= self.inside.3;
            inside && self.is_free((left, top, right, bottom))
        })?;
        self.taken.push((found.0, found.1 - high * 0.85, found.0 + long, found.1 + high * 0.2));
        Some(found)
    }
}
