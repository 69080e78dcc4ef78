//! Lines of more readings than a drawing holds, for a page whose scripts may draw and enlarge them: of each line the least and the
//! most in columns of time that all share.
use serde::{Deserialize, Serialize};

use super::label::visible;
use crate::courses::{COLUMNS, Course};

/// Values in all lines of one picture: a page stays small.
const VALUES: usize = 4 * COLUMNS;

/// What is drawn besides the drawing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dense {
    /// How long a column is, s; the first begins at 0.
    pub step_s: f64,
    /// Unit of the values.
    pub unit: String,
    /// How many readings a column stands for at most.
    pub readings: usize,
    /// The lines.
    pub lines: Vec<DenseLine>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenseLine {
    /// Label of the setting, as it is shown.
    pub label: String,
    /// Its index.
    pub setting: u32,
    /// The least in each column; none where no reading tells a value, and after the last.
    pub low: Vec<Option<f64>>,
    /// The most, where that is not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Vec<Option<f64>>>,
}

/// The lines of these courses; nothing where none has more columns than `most`, which a drawing holds.
pub(super) fn dense(courses: &[(String, &Course)], unit: &str, most: usize) -> Option<Dense> {
    let columns = courses.iter().map(|(_, course)| course.columns.len()).max().filter(|columns| *columns > most)?;
    let columns = columns.min(VALUES / courses.len().max(1));
    let end_s = courses.iter().map(|(_, course)| course.end_s).fold(0.0, f64::max);
    let step_s = rounded(end_s / columns as f64, 8);
    if !step_s.is_finite() || step_s <= 0.0 {
        return None;
    }
    let lines: Vec<DenseLine> = courses.iter().map(|(label, course)| line(label, course, step_s)).collect();
    let of = |course: &Course| (course.readings as f64 * step_s / course.end_s.max(step_s)).ceil() as usize;
    let readings = courses.iter().map(|(_, course)| of(course)).max().unwrap_or(1).max(1);
    Some(Dense { step_s, unit: unit.to_owned(), readings, lines })
}

fn line(label: &str, course: &Course, step_s: f64) -> DenseLine {
    let count = (course.end_s / step_s).ceil() as usize;
    let mut cells: Vec<Option<(f64, f64)>> = vec![None; count];
    let mut known = None;
    let mut filled = 0;
    for column in &course.columns {
        let place = ((column.at_s / step_s) as usize).min(count.saturating_sub(1));
        // What was read last holds until the next reading.
        for cell in cells.iter_mut().take(place).skip(filled) {
            *cell = cell.or(known);
        }
        known = column.low.is_finite().then_some((column.low, column.high));
        let Some(cell) = cells.get_mut(place) else { continue };
        *cell = match (*cell, known) {
            (Some(before), Some(now)) => Some((before.0.min(now.0), before.1.max(now.1))),
            (before, now) => before.or(now),
        };
        filled = place;
    }
    cells.iter_mut().skip(filled).for_each(|cell| *cell = cell.or(known));
    let values = |of: fn((f64, f64)) -> f64| cells.iter().map(|cell| cell.map(|ends| rounded(of(ends), 5))).collect();
    let (low, high): (Vec<_>, Vec<_>) = (values(|ends| ends.0), values(|ends| ends.1));
    let high = (high != low).then_some(high);
    DenseLine { label: visible(label), setting: course.setting, low, high }
}

/// To so many digits, more of which nobody sees on a screen.
fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use powerband_record::{MeterQuantity, Side};

    use super::*;
    use crate::courses::{Column, CourseSite};

    fn course(count: usize, step_s: f64, value: impl Fn(usize) -> (f64, f64)) -> Course {
        let column = |i: usize| {
            let (low, high) = value(i);
            Column { at_s: i as f64 * step_s, low, mean: low, high }
        };
        let site = CourseSite {
            side: Side::Near,
            meter: "clock".into(),
            boundary: "policy0".into(),
            stretch: None,
            quantity: MeterQuantity::ClockKhz,
        };
        let (columns, end_s) = ((0..count).map(column).collect(), count as f64 * step_s);
        Course { setting: 1, trial: 0, site, readings: count * 10, together: 10, columns, end_s, mean: 0.0 }
    }

    #[test]
    fn what_stands_out_stays_and_nothing_is_drawn_of_few() {
        let long = course(2900, 0.1, |i| (1.0, if i == 1234 { 77.7 } else { 2.0 }));
        let short = course(40, 1.0, |i| (i as f64, i as f64));
        let few = dense(&[("a".into(), &short)], "MHz", 300);
        assert_eq!(few, None);
        let both = dense(&[("a".into(), &short), ("b\u{202e}".into(), &long)], "MHz", 300).unwrap();
        assert_eq!((both.readings, both.lines.len(), both.lines[1].label.as_str()), (10, 2, "bU+202E"));
        let high = both.lines[1].high.as_ref().unwrap();
        let place = high.iter().position(|value| *value == Some(77.7)).unwrap();
        assert!((place as f64 * both.step_s - 123.4).abs() <= both.step_s);
        // A value holds until the next one, and nothing is told behind the last.
        let held = &both.lines[0];
        assert_eq!((held.high.as_ref(), held.low.iter().filter(|value| value.is_none()).count()), (None, 0));
        let at = |at_s: f64| held.low[(at_s / both.step_s) as usize];
        assert_eq!((at(0.5), at(20.5), at(39.5)), (Some(0.0), Some(20.0), Some(39.0)));
        assert!(held.low.len() < both.lines[1].low.len());
    }
}
