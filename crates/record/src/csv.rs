//! Comma-separated values: a line of names, then rows as long as it.
use thiserror::Error;

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvRows {
    /// The names, each once; none where the text is empty.
    pub columns: Vec<String>,
    /// The rows, each with the number of its line.
    pub rows: Vec<(usize, Vec<String>)>,
}

/// Why a text is no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct CsvError {
    /// The line.
    pub line: usize,
    /// What is wrong there.
    pub why: String,
}

impl CsvRows {
    /// Reads cells between commas, in double quotes where they hold one, in which two are one. Blank lines, lines that begin with
    /// `#` and a byte order mark are left out.
    ///
    /// # Errors
    /// [`CsvError`]: a quote that is not closed, a row of another length, two columns of one name, other separators.
    pub fn parse(text: &str) -> Result<CsvRows, CsvError> {
        let text = text.trim_start_matches('\u{feff}');
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let wrong = |line: usize, why: String| CsvError { line, why };
        let read = |(line, text)| Ok((line, cells(text).ok_or_else(|| wrong(line, "a quote is not closed".into()))?));
        let mut all = lines.map(read);
        let Some((line, columns)) = all.next().transpose()? else { return Ok(CsvRows::default()) };
        for (mark, name) in [(';', "semicolons"), ('\t', "tabs")] {
            if columns.iter().any(|column| column.contains(mark)) {
                let why = format!(
                    "its columns seem to be separated by {name}; save it with commas between them, and decimal points"
                );
                return Err(wrong(line, why));
            }
        }
        let twice = (1..).zip(&columns).find(|(place, name)| columns[*place..].contains(name));
        if let Some((_, name)) = twice {
            let why = format!("there are two columns '{name}', and nobody knows which of them is meant; rename one");
            return Err(wrong(line, why));
        }
        let rows = all.collect::<Result<Vec<_>, _>>()?;
        match rows.iter().find(|(_, row)| row.len() != columns.len()) {
            Some((line, row)) => Err(wrong(
                *line,
                format!("it has another number of fields ({}) than the first line ({})", row.len(), columns.len()),
            )),
            None => Ok(CsvRows { columns, rows }),
        }
    }

    /// The place of a column.
    #[must_use]
    pub fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|name| name == column)
    }
}

/// The cells of a line; `None` when a quote is open.
fn cells(line: &str) -> Option<Vec<String>> {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut cell).trim().to_owned()),
            c => cell.push(c),
        }
    }
    all.push(cell.trim().to_owned());
    (!quoted).then_some(all)
}
