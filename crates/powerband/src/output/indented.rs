//! How JSON is laid out: a line each for what people read, one line for a row of a table deep in it.
use std::io::{Result, Write};

use serde_json::ser::Formatter;

/// Deeper than this, members stand on one line.
const DEEPEST: usize = 6;

/// Two blanks for each level with lines of its own.
const BLANKS: &[u8] = &[b' '; 2 * DEEPEST];

/// Where in the text we are.
#[derive(Debug, Default)]
pub(super) struct Indented {
    depth: usize,
    /// Whether what ends here holds anything.
    holds: bool,
}

impl Indented {
    fn line(&self, out: &mut (impl Write + ?Sized)) -> Result<()> {
        out.write_all(b"\n")?;
        out.write_all(BLANKS.get(..2 * self.depth).unwrap_or(BLANKS))
    }

    fn begin(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> Result<()> {
        self.depth += 1;
        self.holds = false;
        out.write_all(bracket)
    }

    fn end(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> Result<()> {
        let has_lines = self.holds && self.depth <= DEEPEST;
        self.depth = self.depth.saturating_sub(1);
        if has_lines {
            self.line(out)?;
        }
        out.write_all(bracket)
    }

    fn next(&self, out: &mut (impl Write + ?Sized), first: bool) -> Result<()> {
        match (first, self.depth > DEEPEST) {
            (true, true) => Ok(()),
            (false, true) => out.write_all(b", "),
            (true, false) => self.line(out),
            (false, false) => out.write_all(b",").and_then(|()| self.line(out)),
        }
    }
}

impl Formatter for Indented {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> Result<()> {
        super::clean::json_fragment(out, fragment)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.begin(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.end(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        self.next(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.holds = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.begin(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.end(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        self.next(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.holds = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize as _;
    use serde_json::{Serializer, Value, json};

    use super::*;

    fn laid_out(value: &Value) -> String {
        let mut out = Vec::new();
        value.serialize(&mut Serializer::with_formatter(&mut out, Indented::default())).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_people_read_stands_on_lines_of_its_own() {
        let value = json!({ "a": [1, { "b": [] }], "c": {}, "d": "x\ny", "e": { "f": { "g": [null, []] } } });
        assert_eq!(laid_out(&value), serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn a_row_deep_in_a_table_stands_on_one() {
        let rows = json!([{ "from": 1, "to": [2, 3] }, {}, []]);
        let value = json!([[[[[rows]]]]]);
        let text = laid_out(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[6..9], [r#"{"from": 1, "to": [2, 3]},"#, "{},", "[]"], "{text}");
    }
}
