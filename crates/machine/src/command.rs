//! A place that reads like a file and is what a command prints.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_prints_as_it_is_read_and_runs_in_the_root_folder() {
        let place = CommandPlace::of("command:cat /run/level").unwrap();
        assert_eq!(place.to_string(), "command:cat /run/level");
        assert_eq!(place.argv(), ["sh", "-c", "cd / && cat /run/level"]);
        assert_eq!(CommandPlace::of("/command:x"), None);
    }
}
