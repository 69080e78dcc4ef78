//! A small writer of HTML: text from outside becomes characters on the page and nothing else, and tables.
use std::fmt::Write as _;

pub(super) use crate::escape::escaped as text;

/// A name from outside, which keeps its own direction of writing to itself.
pub(super) fn name(raw: &str) -> String {
    format!("<bdi>{}</bdi>", text(raw))
}

/// Words to be typed.
pub(super) fn typed(raw: &str) -> String {
    format!("<pre class=\"typed\"><code>{}</code></pre>", text(raw))
}

/// A paragraph of plain words.
pub(super) fn paragraph(raw: &str) -> String {
    format!("<p>{}</p>\n", text(raw))
}

/// A list of sentences; nothing when there is none.
pub(super) fn list(items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("<li>{}</li>\n", text(item))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// Names and what they are; both plain text, those that are empty left out.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let told = facts.iter().filter(|(_, what)| !what.is_empty());
    let told: String =
        told.map(|(name, what)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", text(what))).collect();
    if told.is_empty() { told } else { format!("<dl class=\"facts\">\n{told}</dl>\n") }
}

/// A cell: what it shows, and the number it is sorted by.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    html: String,
    sort: Option<f64>,
    number: bool,
    class: &'static str,
}

impl Cell {
    /// Words.
    pub(super) fn words(raw: &str) -> Cell {
        Cell { html: name(raw), ..Cell::default() }
    }

    /// Words in one of the page's own classes.
    pub(super) fn marked(raw: &str, class: &'static str) -> Cell {
        Cell { class, ..Cell::words(raw) }
    }

    /// A number as it is printed, sorted by what it is.
    pub(super) fn number(printed: &str, value: Option<f64>) -> Cell {
        Cell { html: text(printed), sort: value.filter(|value| value.is_finite()), number: true, class: "" }
    }

    fn render(&self, out: &mut String) {
        let sort = self.sort.map(|value| format!(" data-sort=\"{value}\"")).unwrap_or_default();
        let class = match (self.number, self.class) {
            (true, _) => " class=\"number\"".to_owned(),
            (false, "") => String::new(),
            (false, class) => format!(" class=\"{class}\""),
        };
        let _ = write!(out, "<td{class}{sort}>{}</td>", self.html);
    }
}

/// A table whose first column names its rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// What it is, for its caption.
    pub(super) caption: String,
    /// Heads of the columns.
    pub(super) head: Vec<String>,
    /// Its rows.
    pub(super) rows: Vec<Row>,
    /// Whether its rows are settings, which can be picked for the pictures.
    pub(super) picks: bool,
}

/// A row of a [`Table`].
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// What it is about.
    pub(super) name: String,
    /// Behind the name: that it is the reference, say.
    pub(super) beside: &'static str,
    /// Index of the setting it is about, where it is about one.
    pub(super) setting: Option<usize>,
    /// The other columns.
    pub(super) cells: Vec<Cell>,
}

impl Table {
    /// A table of plain words, without the columns that have none.
    pub(super) fn of_words(caption: &str, head: &[&str], mut rows: Vec<Vec<String>>) -> Table {
        let told = |at: usize| at == 0 || rows.iter().any(|row| row.get(at).is_some_and(|word| !word.is_empty()));
        let kept: Vec<usize> = (0..head.len()).filter(|&at| told(at)).collect();
        let head: Vec<&str> = kept.iter().map(|&at| head[at]).collect();
        for row in &mut rows {
            *row = kept.iter().map(|&at| row.get(at).cloned().unwrap_or_default()).collect();
        }
        let row = |row: Vec<String>| {
            let mut words = row.into_iter();
            let name = words.next().unwrap_or_default();
            Row { name, beside: "", setting: None, cells: words.map(|word| cell_of(&word)).collect() }
        };
        Table {
            caption: caption.into(),
            head: head.iter().map(|head| (*head).to_owned()).collect(),
            rows: rows.into_iter().map(row).collect(),
            picks: false,
        }
    }

    /// In a box of its own, which scrolls where the page is narrower; nothing without rows.
    pub(super) fn render(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let caption = text(&self.caption);
        let picks = if self.picks { " data-picks=\"\"" } else { "" };
        let mut out = format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{caption}\">\n<table data-sortable=\"\"{picks}>\n\
             <caption><span>{caption}</span></caption>\n<thead><tr>"
        );
        for head in &self.head {
            let _ = write!(out, "<th scope=\"col\">{}</th>", text(head));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            let pick = row.setting.map(|at| format!(" data-setting=\"{at}\"")).unwrap_or_default();
            let beside = if row.beside.is_empty() { String::new() } else { format!(" <small>{}</small>", row.beside) };
            let _ = write!(out, "<tr{pick}><th scope=\"row\">{}{beside}</th>", name(&row.name));
            row.cells.iter().for_each(|cell| cell.render(&mut out));
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table>\n</div>\n");
        out
    }
}

/// Words that are a number sort as one.
fn cell_of(word: &str) -> Cell {
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Cell::number(word, Some(value)),
        _ => Cell::words(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_direction_to_itself() {
        assert_eq!(name("שלום<"), "<bdi>שלום&lt;</bdi>");
    }

    #[test]
    fn a_cell_of_digits_sorts_as_a_number() {
        let table = Table::of_words("c", &["a", "b", "c"], vec![vec!["x".into(), "1.5".into(), "nan".into()]]);
        let html = table.render();
        assert!(html.contains("<td class=\"number\" data-sort=\"1.5\">1.5</td><td><bdi>nan</bdi></td>"), "{html}");
        assert_eq!(Table::of_words("c", &["a"], vec![]).render(), "", "no hollow frame");
    }
}
