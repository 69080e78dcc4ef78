//! Places that read like a file and are what a command prints.
use std::fmt;

/// What such a place begins with. No path does, as paths are absolute.
const PLACE: &str = "command";

/// What a line for `sh` prints on its standard output: `command:cat /run/level`, or `command@1000:cat /run/level` for the
/// user 1000. Reading it fails when the line does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandPlace<'p> {
    /// The line.
    pub line: &'p str,
    /// Number of the user it runs as, see [`crate::Action::Run`].
    pub user: Option<u32>,
}

/// User and line of a place that begins with `kind`.
fn parts<'p>(path: &'p str, kind: &str) -> Option<(Option<u32>, &'p str)> {
    let rest = path.strip_prefix(kind)?;
    match rest.strip_prefix('@') {
        Some(rest) => rest.split_once(':').and_then(|(user, line)| Some((Some(user.parse().ok()?), line))),
        None => rest.strip_prefix(':').map(|line| (None, line)),
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, kind: &str, user: Option<u32>, line: &str) -> fmt::Result {
    match user {
        Some(user) => write!(f, "{kind}@{user}:{line}"),
        None => write!(f, "{kind}:{line}"),
    }
}

/// What a line begins with where it runs, so that it runs in the folder `/`.
const IN_ROOT: &str = "cd / && ";

impl<'p> CommandPlace<'p> {
    /// Of a path, if it is one of these and no file's.
    #[must_use]
    pub fn of(path: &'p str) -> Option<Self> {
        parts(path, PLACE).map(|(user, line)| CommandPlace { line, user })
    }

    /// Program and arguments. It runs in the folder `/`, so that it means the same to anyone who reads it later.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        ["sh", "-c", &format!("{IN_ROOT}{}", self.line)].map(str::to_owned).to_vec()
    }

    /// The line of such a program and its arguments; `None` of any other.
    #[must_use]
    pub fn line_of(argv: &[String]) -> Option<&str> {
        match argv {
            [shell, option, line] if shell == "sh" && option == "-c" => line.strip_prefix(IN_ROOT),
            _ => None,
        }
    }
}

impl fmt::Display for CommandPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, PLACE, self.user, self.line)
    }
}

/// What a place of lines begins with.
const LINES: &str = "lines";

/// The lines that a line for `sh` prints while it is open, each behind the machine's time at which it came, ns:
/// `12345 3.2 W`. Opened, it is started, and answers when its first line has come; read, it tells the lines since it was
/// read last and two before; closed, it is killed. It is not to be read without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinesPlace<'p> {
    /// The line.
    pub line: &'p str,
    /// Number of the user it runs as, see [`crate::Action::Run`].
    pub user: Option<u32>,
}

impl<'p> LinesPlace<'p> {
    /// Of a path, if it is one of these and no file's.
    #[must_use]
    pub fn of(path: &'p str) -> Option<Self> {
        parts(path, LINES).map(|(user, line)| LinesPlace { line, user })
    }

    /// Program and arguments, in the folder `/`.
    #[must_use]
    pub fn argv(&self) -> Vec<String> {
        CommandPlace { line: self.line, user: self.user }.argv()
    }
}

impl fmt::Display for LinesPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(f, LINES, self.user, self.line)
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
        assert_eq!((CommandPlace::of("/command:x"), CommandPlace::of("command@x:y")), (None, None));
        let place = CommandPlace::of("command@1000:cat a:b").unwrap();
        assert_eq!(
            (place.user, place.line, place.to_string().as_str()),
            (Some(1000), "cat a:b", "command@1000:cat a:b")
        );
        let lines = LinesPlace::of("lines:./watts").unwrap();
        assert_eq!(lines.to_string(), "lines:./watts");
        assert_eq!(lines.argv(), ["sh", "-c", "cd / && ./watts"]);
    }
}
