//! Shell text as commands: words with their quotes taken off, variables left to be filled in, where it is written to.

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// As it stands.
    Text(String),
    /// A variable, and what stands for it when nobody has set it.
    Variable(String, Option<String>),
}

/// One command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// Program and arguments.
    pub(super) words: Vec<Vec<Part>>,
    /// Files its output goes to.
    pub(super) to: Vec<Vec<Part>>,
    /// Whether its output goes to the next command.
    pub(super) piped: bool,
}

/// The commands of a line, in order. A quote that is not closed ends with the line.
pub(super) fn commands(line: &str) -> Vec<Command> {
    let mut split = Split { rest: line.chars().collect(), at: 0, found: vec![Command::default()], redirected: false };
    while split.step() {}
    split.found.retain(|command| !command.words.is_empty() || !command.to.is_empty());
    split.found
}

struct Split {
    rest: Vec<char>,
    at: usize,
    found: Vec<Command>,
    /// Whether the next word is a file that output goes to.
    redirected: bool,
}

impl Split {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    /// Reads a word or a separator; `false` at the end.
    fn step(&mut self) -> bool {
        match self.peek() {
            None => return false,
            Some('#') if self.at == 0 || self.rest[self.at - 1].is_whitespace() => return false,
            Some(c) if c.is_whitespace() => self.at += 1,
            Some('|') => {
                self.at += 1;
                let piped = self.peek() != Some('|');
                self.at += usize::from(!piped);
                self.end(piped);
            }
            Some(';' | '&' | '(' | ')') => {
                self.at += 1;
                self.end(false);
            }
            Some('>') => {
                self.at += 1;
                self.redirected = true;
                if self.peek() == Some('&') {
                    // To another descriptor, not to a file.
                    self.at += 1;
                    self.redirected = false;
                    self.word();
                }
            }
            Some('<') => {
                self.at += 1;
                self.skip_blanks();
                self.word();
            }
            Some(_) => {
                let word = self.word();
                let next = self.peek();
                let number = matches!(&word[..], [Part::Text(text)] if text.chars().all(|c| c.is_ascii_digit()));
                match self.found.last_mut() {
                    // `2>` is a descriptor, not a word.
                    Some(_) if number && matches!(next, Some('>' | '<')) && !self.redirected => {
                        self.at += 1;
                        self.skip_blanks();
                        self.word();
                    }
                    Some(command) if std::mem::take(&mut self.redirected) => command.to.push(word),
                    Some(command) => command.words.push(word),
                    None => {}
                }
            }
        }
        true
    }

    fn end(&mut self, piped: bool) {
        if let Some(command) = self.found.last_mut() {
            command.piped = piped;
        }
        self.redirected = false;
        self.found.push(Command::default());
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|c| c.is_whitespace() || matches!(c, '<' | '&')) {
            self.at += 1;
        }
    }

    fn word(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut quoted = false;
        while let Some(c) = self.peek() {
            if !quoted && (c.is_whitespace() || matches!(c, ';' | '|' | '&' | '<' | '>' | '(' | ')')) {
                break;
            }
            self.at += 1;
            match c {
                '"' => quoted = !quoted,
                '\'' if !quoted => {
                    while let Some(inner) = self.take().filter(|&inner| inner != '\'') {
                        text.push(inner);
                    }
                }
                '\\' => text.extend(self.take()),
                '$' | '`' => {
                    if let Some(variable) = self.substitution(c) {
                        if !text.is_empty() {
                            parts.push(Part::Text(std::mem::take(&mut text)));
                        }
                        parts.push(variable);
                    } else {
                        text.push(c);
                    }
                }
                c => text.push(c),
            }
        }
        if !text.is_empty() || parts.is_empty() {
            parts.push(Part::Text(text));
        }
        parts
    }

    /// What follows `$` or a backtick; `None` when it stands for itself.
    fn substitution(&mut self, opened: char) -> Option<Part> {
        let unknown = Some(Part::Variable(String::new(), None));
        if opened == '`' {
            while self.take().is_some_and(|c| c != '`') {}
            return unknown;
        }
        match self.peek()? {
            '(' => {
                let mut depth = 0;
                while let Some(c) = self.take() {
                    depth += i32::from(c == '(') - i32::from(c == ')');
                    if depth == 0 {
                        break;
                    }
                }
                unknown
            }
            '{' => {
                self.at += 1;
                let mut inside = String::new();
                while let Some(c) = self.take().filter(|&c| c != '}') {
                    inside.push(c);
                }
                let end = inside.find(|c: char| !is_of_a_name(c)).unwrap_or(inside.len());
                let default = inside[end..].strip_prefix(":-").or_else(|| inside[end..].strip_prefix('-'));
                let default = default.filter(|text| !text.contains('$')).map(str::to_owned);
                // A variable with a part cut off is another value than the variable.
                let name =
                    if end == inside.len() || default.is_some() { inside[..end].to_owned() } else { String::new() };
                Some(Part::Variable(name, default))
            }
            c if is_of_a_name(c) => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|&c| is_of_a_name(c)) {
                    name.push(c);
                    self.at += 1;
                }
                Some(Part::Variable(name, None))
            }
            '@' | '*' | '#' | '?' | '$' | '!' => {
                self.at += 1;
                unknown
            }
            _ => None,
        }
    }
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
