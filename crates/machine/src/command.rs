//! Places that read like a file and are what a command prints.
use std::fmt;

/// What such a place begins with. No path does, as paths are absolute.
const PLACE: &str = "command:";

/// What a line for `sh` prints on its standard output: `command:cat /run/level`. Reading it fails when the line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandPlace<'p> {
    /// The line.
    pub line: &'p str,
}

impl<'p> CommandPlace<'p> {
    /// Of a path, if it is one of these and no file's.
    #[must_use]
    pub fn of(path: &'p str) -> Option<Self> {
        path.strip_prefix(PLACE).map(|line| CommandPlace { line })
    }

    /// Program and arguments. It runs in the folder `/`, so that it means the same to whoever reads it later.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        ["sh", "-c", &format!("cd / && {}", self.line)].map(str::to_owned).to_vec()
    }
}

impl fmt::Display for CommandPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PLACE}{}", self.line)
    }
}

/// What a place of lines begins with.
const LINES: &str = "lines:";

/// The lines that a line for `sh` prints while it is open, each behind the machine's time at which it came, ns:
/// `12345 3.2 W`. Opened, it is started, and answers when its first line has come; read, it tells the lines since it was
/// read last and two before; closed, it is killed. It is not to be read without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinesPlace<'p> {
    /// The line.
    pub line: &'p str,
}

impl<'p> LinesPlace<'p> {
    /// Of a path, if it is one of these and no file's.
    #[must_use]
    pub fn of(path: &'p str) -> Option<Self> {
        path.strip_prefix(LINES).map(|line| LinesPlace { line })
    }

    /// Program and arguments, in the folder `/`.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        CommandPlace { line: self.line }.argv()
    }
}

impl fmt::Display for LinesPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LINES}{}", self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_prints_as_it_is_read_and_runs_in_the_root_folder() {
        let place = CommandPlace::of("command:cat /run/level").unwrap();
        assert_eq!(place.to_string(), "command:cat /run/level");
        assert_eq!(place.argv(), ["sh", "-c", "cd / && cat /run/level"]);
        assert_eq!(CommandPlace::of("/command:x"), None);
        let lines = LinesPlace::of("lines:./watts").unwrap();
        assert_eq!(lines.to_string(), "lines:./watts");
        assert_eq!(lines.argv(), ["sh", "-c", "cd / && ./watts"]);
    }
}
