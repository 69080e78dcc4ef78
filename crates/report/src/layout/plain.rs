//! Tables without borders, a line a row: what is too wide is cut.
use super::{clean, columns, cut};

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
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(place, (text, wide))| {
            let text = cut(&clean(text), *wide);
            let fill = " ".repeat(wide.saturating_sub(columns(&text)));
            if place < left { format!("{text}{fill}") } else { format!("{fill}{text}") }
        });
        cut(cells.collect::<Vec<_>>().join("  ").trim_end(), width)
    };
    rows.iter().map(line).collect()
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
}
