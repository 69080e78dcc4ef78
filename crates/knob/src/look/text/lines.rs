//! Lines of the text of `info`: no wider than the page, what could not be read at the end of each part.
use crate::look::ReadFailure;
use powerband_record::CpuList;

/// Columns of the text.
const WIDTH: usize = 80;

/// How much further in a sentence goes on.
const FURTHER: usize = 4;

/// Lines of one part.
#[derive(Default)]
pub struct Lines(String);

impl Lines {
    /// All of them.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// A sentence, `indent` columns in; what does not fit goes on further in, from a comma or semicolon on if it can.
    pub fn say(&mut self, indent: usize, sentence: &str) {
        let mut line = " ".repeat(indent);
        let mut width = indent;
        for clause in clauses(sentence) {
            let begins_anew =
                width > indent && fits(width, clause).is_none() && fits(indent + FURTHER, clause).is_some();
            for (number, word) in clause.split_inclusive([' ', ',']).enumerate() {
                let full = fits(width, word).is_none() && width > indent;
                if full || number == 0 && begins_anew {
                    self.row(&line);
                    line = " ".repeat(indent + FURTHER);
                    width = indent + FURTHER;
                }
                line.push_str(word);
                width += word.chars().count();
            }
        }
        self.row(&line);
    }

    /// A line as it is.
    pub fn row(&mut self, line: &str) {
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    /// What could not be read: files that differ only in their numbers and fail alike are one line.
    pub fn unread(&mut self, unread: &[ReadFailure]) {
        let mut kinds: Vec<(String, &ReadFailure, usize)> = Vec::new();
        for one in unread {
            let kind = without_numbers(&one.path);
            match kinds.iter_mut().find(|(known, first, _)| *known == kind && first.why == one.why) {
                Some((_, _, count)) => *count += 1,
                None => kinds.push((kind, one, 1)),
            }
        }
        for (_, first, count) in kinds {
            let more = if count > 1 { format!(" (and {} similar)", count - 1) } else { String::new() };
            self.say(0, &format!("cannot be read: {}{more}: {}", first.path, first.why));
        }
    }
}

/// A sentence in pieces that end after a comma or a semicolon and its blank.
fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    let mut rest = sentence;
    std::iter::from_fn(move || {
        let ends = [", ", "; "].iter().filter_map(|mark| rest.find(mark)).min().map_or(rest.len(), |at| at + 2);
        let (clause, more) = rest.split_at_checked(ends)?;
        rest = more;
        (!clause.is_empty()).then_some(clause)
    })
}

/// The column after `text` on a line that is `width` wide, if it fits; a blank at its end need not.
fn fits(width: usize, text: &str) -> Option<usize> {
    Some(width + text.trim_end().chars().count()).filter(|&end| end <= WIDTH)
}

/// `policy0/stats` and `policy12/stats` are one kind of file.
fn without_numbers(path: &str) -> String {
    let mut kind = String::new();
    for c in path.chars() {
        if !c.is_ascii_digit() {
            kind.push(c);
        } else if !kind.ends_with('#') {
            kind.push('#');
        }
    }
    kind
}

/// `cpu 3`, `cpus 0-3`.
pub(super) fn cpus_named(cpus: &CpuList) -> String {
    format!("{} {}", if cpus.len() == 1 { "cpu" } else { "cpus" }, briefly(cpus))
}

/// A list with strides, as `-c` takes it and as threads and nodes are often numbered: `0-62:2`.
pub(super) fn briefly(cpus: &CpuList) -> String {
    let mut parts = Vec::new();
    let mut rest = cpus.as_slice();
    while let Some(&first) = rest.first() {
        let stride = rest.get(1).map_or(1, |next| next - first);
        let expected = (0..).map(|number| u64::from(first) + number * u64::from(stride));
        let run = rest.iter().zip(expected).take_while(|&(&cpu, expected)| u64::from(cpu) == expected).count();
        // Two that are apart are shorter by themselves.
        let run = if stride > 1 && run < 3 { 1 } else { run };
        let (taken, more) = rest.split_at(run);
        parts.push(match (taken.last(), stride) {
            (Some(&last), 1) if last > first => format!("{first}-{last}"),
            (Some(&last), stride) if last > first => format!("{first}-{last}:{stride}"),
            _ => first.to_string(),
        });
        rest = more;
    }
    parts.join(",")
}

/// The value, or a question mark.
pub(super) fn or_unknown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "?".into(), |value| value.to_string())
}

/// Puts what is alike together, in the order of the first of each kind.
pub(super) fn alike<T>(all: &[T], same: impl Fn(&T, &T) -> bool) -> Vec<Vec<&T>> {
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for one in all {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| same(first, one))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_go_on_below() {
        let mut lines = Lines::default();
        let odd: Vec<u32> = (0..60).map(|number| number * number).collect();
        lines.say(4, &format!("of {}: words", CpuList::new(odd.clone())));
        assert!(lines.0.lines().count() > 2 && lines.0.lines().all(|line| line.len() <= WIDTH), "{}", lines.0);
        let joined: String = lines.0.split_whitespace().collect();
        assert_eq!(joined, format!("of{}:words", CpuList::new(odd)));
        let mut lines = Lines::default();
        lines.say(0, &format!("{}, sampling_rate 10000", "x".repeat(70)));
        assert_eq!(lines.0, format!("{},\n    sampling_rate 10000\n", "x".repeat(70)));
    }

    #[test]
    fn lists_are_as_brief_as_they_can_be_read_again() {
        for (list, told) in [
            ("", ""),
            ("7", "7"),
            ("0-3", "0-3"),
            ("0-1", "0-1"),
            ("0,2", "0,2"),
            ("0,2,4", "0-4:2"),
            ("0,2-5,9,11,13", "0,2-5,9-13:2"),
            ("0,4-6", "0,4-6"),
        ] {
            let list: CpuList = list.parse().unwrap();
            assert_eq!(briefly(&list), told);
            assert_eq!(briefly(&list).parse::<CpuList>().unwrap(), list);
        }
    }

    #[test]
    fn files_that_fail_alike_are_one_line() {
        let one = |number: u32, why: &str| ReadFailure { path: format!("/policy{number}/stats"), why: why.into() };
        let mut lines = Lines::default();
        lines.unread(&[one(0, "broken"), one(12, "broken"), one(3, "gone")]);
        assert_eq!(
            lines.0,
            "cannot be read: /policy0/stats (and 1 similar): broken\ncannot be read: /policy3/stats: gone\n"
        );
    }
}
