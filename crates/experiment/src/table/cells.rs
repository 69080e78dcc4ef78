//! Comma-separated values as cells: a head, then rows as long as it.

/// A file's cells.
pub(super) struct Cells {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Cells {
    /// Reads the text; a cell may stand in double quotes, in which two are one.
    ///
    /// # Errors
    /// What is wrong and on which line.
    pub(super) fn parse(text: &str) -> Result<Cells, String> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let (_, head) = lines.next().ok_or("there is nothing in it")?;
        let head = cells(head).ok_or("line 1: a quote is not closed")?;
        let mut rows = Vec::new();
        for (line, text) in lines {
            let row = cells(text).ok_or_else(|| format!("line {line}: a quote is not closed"))?;
            if row.len() != head.len() {
                return Err(format!("line {line} has {} cells, and the first line has {}", row.len(), head.len()));
            }
            rows.push(row);
        }
        if rows.is_empty() { Err("there is no row below the first line".into()) } else { Ok(Cells { head, rows }) }
    }

    /// The place of a column.
    ///
    /// # Errors
    /// Which columns there are.
    pub(super) fn place(&self, column: &str) -> Result<usize, String> {
        let place = self.head.iter().position(|name| name == column);
        place.ok_or_else(|| format!("there is no column '{column}'; there are: {}", self.head.join(", ")))
    }
}

fn cells(line: &str) -> Option<Vec<String>> {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    all.push(cell);
    (!quoted).then(|| all.into_iter().map(|cell| cell.trim().to_owned()).collect())
}
