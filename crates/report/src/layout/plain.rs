//! Tables without borders, a line a row: what is too wide is cut.
use std::collections::BTreeSet;

use super::{clean, columns, cut, cut_before};

/// Between columns.
const GAP: usize = 2;
/// Columns that a cut text keeps.
const MIN: usize = 8;

/// Rows of cells, the head first: the first `left` columns to the left, the others to the right. Where `width` is too
/// small, the columns of `shrink` are cut, the widest first.
pub(crate) fn aligned(rows: &[Vec<String>], left: usize, width: usize, shrink: &[usize]) -> Vec<String> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let wide = |place: usize| rows.iter().filter_map(|row| row.get(place)).map(|text| columns(&clean(text))).max();
    let mut widths: Vec<usize> = (0..count).map(|place| wide(place).unwrap_or(0)).collect();
    let excess =
        |widths: &[usize]| (widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)).saturating_sub(width);
    while excess(&widths) > 0 {
        let widest = shrink.iter().copied().filter_map(|place| widths.get(place).map(|wide| (*wide, place))).max();
        let Some((wide, place)) = widest.filter(|(wide, _)| *wide > MIN) else { break };
        if let Some(of) = widths.get_mut(place) {
            *of = wide - 1;
        }
    }
    let column = |(place, wide): (usize, &usize)| {
        let texts: Vec<String> = rows.iter().map(|row| clean(row.get(place).map_or("", String::as_str))).collect();
        shortened(&texts, *wide)
    };
    let texts: Vec<Vec<String>> = widths.iter().enumerate().map(column).collect();
    let line = |row: usize| {
        let cells = texts.iter().zip(&widths).enumerate().map(|(place, (column, wide))| {
            let text = &column[row];
            let fill = " ".repeat(wide.saturating_sub(columns(text)));
            if place < left { format!("{text}{fill}") } else { format!("{fill}{text}") }
        });
        cut(cells.collect::<Vec<_>>().join("  ").trim_end(), width)
    };
    (0..rows.len()).map(line).collect()
}

/// Texts of a column in so many columns of a terminal: their beginnings, or their ends, or both without the middle, where those
/// tell more of them apart.
fn shortened(texts: &[String], wide: usize) -> Vec<String> {
    let apart = |texts: &Vec<String>| texts.iter().collect::<BTreeSet<_>>().len();
    let ways: [fn(&str, usize) -> String; 3] = [cut, cut_before, cut_between];
    let cut = ways.map(|way| texts.iter().map(|text| way(text, wide)).collect::<Vec<_>>());
    // Of equals the first.
    cut.into_iter().rev().max_by_key(apart).unwrap_or_default()
}

/// The beginning and the end of a text that is too wide.
fn cut_between(text: &str, wide: usize) -> String {
    if columns(text) <= wide {
        return text.to_owned();
    }
    let end = cut_before(text, wide.div_ceil(2));
    format!("{}{}", cut(text, wide / 2 + 1), end.strip_prefix('…').unwrap_or(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_wide_is_cut_and_every_row_stays_one_line() {
        let rows = [["a", "what it is", "1"], ["bb", "a very long text that has no room here", "22"]];
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(aligned(&rows, 2, 24, &[1]), ["a   what it is         1", "bb  a very long tex…  22"]);
        assert_eq!(aligned(&rows, 2, 80, &[1])[1], "bb  a very long text that has no room here  22");
    }

    #[test]
    fn what_differs_at_both_ends_is_cut_between_them() {
        let rows = ["4:a-long-name-one", "5:a-long-name-one", "5:a-long-name-two"].map(|text| vec![text.to_owned()]);
        assert_eq!(aligned(&rows, 1, 9, &[0]), ["4:a-…-one", "5:a-…-one", "5:a-…-two"]);
        assert_eq!(aligned(&rows, 1, 10, &[0]), ["4:a-l…-one", "5:a-l…-one", "5:a-l…-two"]);
    }

    #[test]
    fn what_tells_rows_apart_is_not_cut_off() {
        let rows = [
            ["setting", "nodes"],
            ["file:/sys/module/m/parameters/p=1", "3"],
            ["file:/sys/module/m/parameters/p=20", "3"],
        ];
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(
            aligned(&rows, 1, 20, &[0]),
            ["setting        nodes", "…rameters/p=1      3", "…ameters/p=20      3"]
        );
    }
}
