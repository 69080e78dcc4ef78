//! Tables with borders, not wider than asked: what has no room in a line is folded within its cell.
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell as TableCell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};

use super::clean;

/// Widest column of labels; longer ones are folded.
pub(crate) const LABELS: usize = 24;

/// What a column that may be folded should have.
const SPARE: usize = 8;

/// What a table takes next to the contents: a border for each column and one more, a blank on either side.
pub(crate) fn frame(cells: usize) -> usize {
    3 * cells + 1
}

/// A bordered table not wider than `width`, its first `left` columns to the left, the others to the right. Where the
/// width allows it, the columns of `whole` are not folded.
pub(crate) fn fit(head: &[String], rows: &[Vec<String>], width: usize, left: usize, whole: &[usize]) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX)).set_header(head.iter().map(TableCell::new));
    for row in rows {
        let aligned = row.iter().enumerate().map(|(place, text)| {
            let side = if place < left { CellAlignment::Left } else { CellAlignment::Right };
            TableCell::new(clean_lines(text)).set_alignment(side)
        });
        table.add_row(aligned.collect::<Vec<_>>());
    }
    if head.first().is_some_and(|head| head == "setting")
        && let Some(column) = table.column_mut(0)
    {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(u16::try_from(LABELS + 2).unwrap_or(26))));
    }
    let contents = table.column_max_content_widths();
    let unfolded: usize =
        whole.iter().filter_map(|&place| contents.get(place)).map(|&content| usize::from(content)).sum();
    if unfolded + frame(head.len()) + SPARE * (head.len() - whole.len()) <= width {
        for &place in whole {
            if let Some(column) = table.column_mut(place) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// As [`clean`], but a cell may have several lines.
fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}
