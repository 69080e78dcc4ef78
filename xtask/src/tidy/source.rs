//! Source text split into code, comments, strings and tests, so that a rule looks only at what it means.
use std::collections::BTreeSet;

/// One source file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Path from the top, with slashes.
    pub(crate) path: String,
    /// Its first line, as it is.
    pub(crate) first_line: String,
    /// Its lines.
    pub(crate) lines: Vec<Line>,
    /// Modules it declares for tests only and keeps in files of their own.
    test_modules: Vec<String>,
}

/// One line, in layers. Blanked parts of a layer are left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Code; of strings only the quotes, of characters nothing.
    pub(crate) code: String,
    /// Comments, their slashes left out.
    pub(crate) comment: String,
    /// Contents of strings, each behind a quote.
    pub(crate) strings: String,
    /// Whether it is compiled for tests only.
    pub(crate) test: bool,
}

impl Source {
    /// Splits a text.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let mut lines = split(text);
        let test_modules = mark_tests(&mut lines);
        let mut source =
            Source { path: path.into(), first_line: text.lines().next().unwrap_or("").into(), lines, test_modules };
        if path.contains("/tests/") || path.contains("/benches/") {
            source.mark_all();
        }
        source
    }

    fn mark_all(&mut self) {
        self.lines.iter_mut().for_each(|line| line.test = true);
    }

    /// Lines that are in the product, with their numbers from 1.
    pub(crate) fn product(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.numbered().filter(|(_, line)| !line.test)
    }

    /// All lines with their numbers from 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        (1..).zip(&self.lines)
    }

    /// Its package's folder: `crates/record`, `xtask`, `bench/verdict`.
    pub(crate) fn package(&self) -> &str {
        ["/src/", "/tests/", "/benches/", "/examples/"]
            .iter()
            .filter_map(|part| self.path.find(part))
            .min()
            .map_or("", |end| &self.path[..end])
    }
}

/// Marks the files of modules that another file declares for tests only.
pub(crate) fn follow_test_modules(sources: &mut [Source]) {
    let mut tests = BTreeSet::new();
    for source in sources.iter() {
        let stem = source.path.trim_end_matches(".rs");
        let folder = match stem.rsplit_once('/') {
            Some((folder, "lib" | "main")) => folder,
            _ => stem,
        };
        tests.extend(source.test_modules.iter().map(|module| format!("{folder}/{module}")));
    }
    for source in sources {
        let stem = source.path.trim_end_matches(".rs");
        if tests.iter().any(|module| stem == module || stem.starts_with(&format!("{module}/"))) {
            source.mark_all();
        }
    }
}

/// Where the splitter is.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Code,
    LineComment,
    BlockComment(u32),
    Text,
    RawText(usize),
}

fn split(text: &str) -> Vec<Line> {
    let chars: Vec<char> = text.chars().collect();
    let mut splitter = Splitter { chars: &chars, lines: vec![Line::default()], at: At::Code };
    let mut i = 0;
    while i < chars.len() {
        i += splitter.step(i).max(1);
    }
    if text.ends_with('\n') {
        splitter.lines.pop();
    }
    splitter.lines
}

struct Splitter<'a> {
    chars: &'a [char],
    lines: Vec<Line>,
    at: At,
}

impl Splitter<'_> {
    fn has(&self, i: usize, what: &str) -> bool {
        what.chars().enumerate().all(|(k, c)| self.chars.get(i + k) == Some(&c))
    }

    fn line(&mut self) -> &mut Line {
        if self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let last = self.lines.len() - 1;
        &mut self.lines[last]
    }

    /// Takes what begins at `i` and answers how many characters that was.
    fn step(&mut self, i: usize) -> usize {
        let c = self.chars[i];
        if c == '\n' {
            if self.at == At::LineComment {
                self.at = At::Code;
            }
            self.lines.push(Line::default());
            return 1;
        }
        match self.at {
            At::Code => self.code(i, c),
            At::LineComment => {
                self.line().comment.push(c);
                1
            }
            At::BlockComment(depth) => self.block_comment(i, c, depth),
            At::Text if c == '\\' && self.chars.get(i + 1) != Some(&'\n') => {
                self.line().strings.push(c);
                2
            }
            At::Text if c == '"' => self.leave_text(1),
            At::RawText(hashes) if c == '"' && self.has(i + 1, &"#".repeat(hashes)) => self.leave_text(1 + hashes),
            At::Text | At::RawText(_) => {
                self.line().strings.push(c);
                1
            }
        }
    }

    fn leave_text(&mut self, length: usize) -> usize {
        self.line().code.push('"');
        self.at = At::Code;
        length
    }

    fn block_comment(&mut self, i: usize, c: char, depth: u32) -> usize {
        if self.has(i, "/*") {
            self.at = At::BlockComment(depth + 1);
            return 2;
        }
        if self.has(i, "*/") {
            self.at = if depth == 1 { At::Code } else { At::BlockComment(depth - 1) };
            return 2;
        }
        self.line().comment.push(c);
        1
    }

    fn code(&mut self, i: usize, c: char) -> usize {
        if self.has(i, "//") {
            self.at = At::LineComment;
            return 2;
        }
        if self.has(i, "/*") {
            self.at = At::BlockComment(1);
            self.line().code.push(' ');
            return 2;
        }
        if c == '"' {
            return self.enter_text(At::Text, 1);
        }
        if let Some(hashes) = self.raw_text(i, c) {
            return self.enter_text(At::RawText(hashes), 2 + hashes);
        }
        if c == '\''
            && let Some(length) = self.character(i)
        {
            self.line().code.push(' ');
            return length;
        }
        self.line().code.push(c);
        1
    }

    fn enter_text(&mut self, at: At, length: usize) -> usize {
        self.at = at;
        self.line().code.push('"');
        self.line().strings.push('"');
        length
    }

    /// Number of hashes when a raw string begins here.
    fn raw_text(&self, i: usize, c: char) -> Option<usize> {
        let before = self.chars[..i].iter().rev().take_while(|c| is_word(**c)).count();
        let prefix_ends = before == 0 || (before == 1 && matches!(self.chars[i - 1], 'b' | 'c'));
        if c != 'r' || !prefix_ends {
            return None;
        }
        let hashes = self.chars[i + 1..].iter().take_while(|c| **c == '#').count();
        (self.chars.get(i + 1 + hashes) == Some(&'"')).then_some(hashes)
    }

    /// Length of the character literal that begins here; `None` for a lifetime.
    fn character(&self, i: usize) -> Option<usize> {
        if self.chars.get(i + 1) == Some(&'\\') {
            let rest = self.chars.get(i + 3..)?;
            return Some(4 + rest.iter().position(|c| *c == '\'')?);
        }
        (self.chars.get(i + 2) == Some(&'\'')).then_some(3)
    }
}

/// Whether a character can be part of a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Marks what stands behind `#[cfg(test)]` and answers the names of test modules in other files.
fn mark_tests(lines: &mut [Line]) -> Vec<String> {
    let mut code = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        code.extend(line.code.chars().map(|c| (c, number)));
        code.push(('\n', number));
    }
    let chars: Vec<char> = code.iter().map(|(c, _)| *c).collect();
    let mut modules = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let whole_file = starts(&chars, i, "#![cfg(");
        if !whole_file && !starts(&chars, i, "#[cfg(") {
            i += 1;
            continue;
        }
        let end = closing(&chars, i, '[', ']');
        let condition: String = chars[i..end].iter().collect();
        if !condition.contains("test") || condition.contains("not(test") {
            i = end;
            continue;
        }
        let last = if whole_file { chars.len() - 1 } else { item_end(&chars, end, &mut modules) };
        let (from, to) = (code[i].1, code[last.min(chars.len() - 1)].1);
        lines[from..=to].iter_mut().for_each(|line| line.test = true);
        i = last.max(end);
    }
    modules
}

fn starts(chars: &[char], i: usize, what: &str) -> bool {
    what.chars().enumerate().all(|(k, c)| chars.get(i + k) == Some(&c))
}

/// Index of the bracket that closes the first one at or after `i`; the end when none does.
fn closing(chars: &[char], i: usize, open: char, close: char) -> usize {
    let mut depth = 0_i32;
    for (k, c) in chars.iter().enumerate().skip(i) {
        if *c == open {
            depth += 1;
        } else if *c == close {
            depth -= 1;
            if depth == 0 {
                return k;
            }
        }
    }
    chars.len() - 1
}

/// Where the item behind an attribute ends. Notes a module that is kept in another file.
fn item_end(chars: &[char], attribute_end: usize, modules: &mut Vec<String>) -> usize {
    let mut i = attribute_end + 1;
    let mut depth = 0_i32;
    let mut begin = i;
    while i < chars.len() {
        if depth == 0 && starts(chars, i, "#[") {
            i = closing(chars, i, '[', ']') + 1;
            begin = i;
            continue;
        }
        match chars[i] {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '{' if depth == 0 => return closing(chars, i, '{', '}'),
            '}' if depth == 0 => return i,
            ';' if depth == 0 => {
                let item: String = chars[begin..i].iter().collect();
                modules.extend(module_name(&item));
                return i;
            }
            _ => {}
        }
        i += 1;
    }
    chars.len() - 1
}

/// `tests` of `pub(crate) mod tests`.
fn module_name(item: &str) -> Option<String> {
    let mut words = item.split_whitespace().skip_while(|word| *word != "mod");
    words.next()?;
    words.next().map(str::to_owned)
}

#[cfg(test)]
mod tests;
