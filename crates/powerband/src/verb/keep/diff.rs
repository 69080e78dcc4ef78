//! A file before and after, as the lines that differ with some around them.
use powerband_persist::FileChange;

/// Lines shown around those that differ.
const AROUND: usize = 2;

/// The difference in the form that `diff -u` has, in one piece.
pub(super) fn of(change: &FileChange) -> String {
    let lines =
        |text: &Option<String>| text.as_deref().unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(&change.before), lines(&change.after));
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - same;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let name = |text: &Option<String>| if text.is_some() { change.path.as_str() } else { "/dev/null" };
    let mut text = format!("--- {}\n+++ {}", name(&change.before), name(&change.after));
    let mut add = |mark: char, lines: &[String]| text.extend(lines.iter().map(|line| format!("\n{mark}{line}")));
    add(' ', &before[same.saturating_sub(AROUND)..same]);
    add('-', &before[same..before.len() - tail]);
    add('+', &after[same..after.len() - tail]);
    add(' ', &before[before.len() - tail..(before.len() - tail + AROUND).min(before.len())]);
    text
}

#[cfg(test)]
mod tests {
    use super::{FileChange, of};

    #[test]
    fn lines_that_differ_are_told_with_some_around_them() {
        let change = |before: Option<&str>, after: Option<&str>| FileChange {
            path: "/etc/x".into(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        assert_eq!(of(&change(None, Some("a\nb\n"))), "--- /dev/null\n+++ /etc/x\n+a\n+b");
        assert_eq!(of(&change(Some("a\n"), None)), "--- /etc/x\n+++ /dev/null\n-a");
        let told = of(&change(Some("1\n2\n3\n4\n5\n6\n7"), Some("1\n2\n3\nx\n5\n6\n7")));
        assert_eq!(told, "--- /etc/x\n+++ /etc/x\n 2\n 3\n-4\n+x\n 5\n 6");
        assert_eq!(of(&change(Some("a\na"), Some("a"))), "--- /etc/x\n+++ /etc/x\n a\n-a");
    }
}
