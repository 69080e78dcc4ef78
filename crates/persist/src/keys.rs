//! Files of keys and values: `KEY=value` with or without quotes, sections in brackets, lines that go on.

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// The section it stands in; empty before the first.
    pub(crate) section: String,
    /// Its name.
    pub(crate) name: String,
    /// Its value, without quotes.
    pub(crate) value: String,
    /// Its line, from 1.
    pub(crate) line: usize,
    /// The whole line.
    pub(crate) text: String,
}

/// Every assignment of a text, in order. What is none is passed over.
pub(crate) fn keys(text: &str) -> Vec<Key> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (line, text) in joined(text) {
        let trimmed = text.trim();
        if trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
            continue;
        }
        let Some((name, value)) = trimmed.split_once('=') else { continue };
        let name = name.trim();
        let name = name.strip_prefix("export ").unwrap_or(name).trim().to_owned();
        found.push(Key { section: section.clone(), name, value: unquoted(value), line, text: trimmed.to_owned() });
    }
    found
}

/// The last assignment of a name, which is the one in force. An empty one counts.
pub(crate) fn last<'a>(keys: &'a [Key], name: &str) -> Option<&'a Key> {
    keys.iter().rev().find(|key| key.name == name)
}

/// A value without the quotes around it, a missing one forgiven, and without a remark behind it.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    if let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inside = &value[1..];
        return inside.find(quote).map_or(inside, |end| &inside[..end]).to_owned();
    }
    let remark = value.find(" #").or_else(|| value.find("\t#")).or_else(|| value.starts_with('#').then_some(0));
    remark.map_or(value, |at| value[..at].trim_end()).to_owned()
}

/// Lines with the numbers they begin on; one that ends with a backslash goes on in the next.
pub(crate) fn joined(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        let (line, ends) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
        match found.last_mut().filter(|_| goes_on) {
            Some((_, before)) => before.push_str(line),
            None => found.push((number, line.to_owned())),
        }
        goes_on = ends;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{joined, keys, last};

    #[test]
    fn keys_are_read_with_their_sections_and_lines() {
        let found = keys(
            "# GOVERNOR=x\nGOVERNOR=\"ondemand\" # why not\nexport A='b c'\n[cpu]\ngovernor = schedutil|ondemand\nB=\nC=d # e\nnothing",
        );
        let told: Vec<(&str, &str, &str, usize)> =
            found.iter().map(|key| (&*key.section, &*key.name, &*key.value, key.line)).collect();
        assert_eq!(
            told,
            [
                ("", "GOVERNOR", "ondemand", 2),
                ("", "A", "b c", 3),
                ("cpu", "governor", "schedutil|ondemand", 5),
                ("cpu", "B", "", 6),
                ("cpu", "C", "d", 7),
            ]
        );
        assert_eq!(last(&found, "B").map(|key| key.line), Some(6));
    }

    #[test]
    fn what_is_broken_does_no_harm() {
        assert_eq!(keys("A=\"unclosed\nB='x").iter().map(|key| &*key.value).collect::<Vec<_>>(), ["unclosed", "x"]);
        assert!(keys("").is_empty() && keys("[\n]=\n[=").len() == 2);
        assert_eq!(joined("a\\\nb\\\nc\nd\\"), [(1, "abc".to_owned()), (4, "d".to_owned())]);
    }
}
