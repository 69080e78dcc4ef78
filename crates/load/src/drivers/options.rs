//! The options of a command line in getopt's manner: short ones in clusters, long ones with `=` or their value behind them.

/// Options in their order, by name without dashes, each with the value it has or may have.
#[derive(Debug)]
pub(super) struct Options {
    given: Vec<(String, Option<String>)>,
    /// What is neither an option nor the value of a short one.
    pub(super) operands: Vec<String>,
}

impl Options {
    /// Reads words. `valued` are the short options that take a value; a long one may have the word behind it for one. With
    /// `until_operand`, what begins with the first operand is another program's; `long_valued` then says which long options
    /// take a word.
    pub(super) fn of(words: &[String], valued: &str, until_operand: Option<&[&str]>) -> Options {
        let mut options = Options { given: Vec::new(), operands: Vec::new() };
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                options.operands.extend(words.cloned());
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (long, words.peek().map(|next| (*next).clone())),
                };
                options.given.push((name.to_owned(), value));
                if until_operand.is_some_and(|longs| longs.contains(&long)) {
                    words.next();
                }
            } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
                for (at, letter) in cluster.char_indices() {
                    if !valued.contains(letter) {
                        options.given.push((letter.to_string(), None));
                        continue;
                    }
                    let rest = cluster.get(at + letter.len_utf8()..).filter(|rest| !rest.is_empty());
                    let value = rest.map(str::to_owned).or_else(|| words.next().cloned());
                    options.given.push((letter.to_string(), value));
                    break;
                }
            } else {
                options.operands.push(word.clone());
                if until_operand.is_some() {
                    options.operands.extend(words.cloned());
                    break;
                }
            }
        }
        options
    }

    /// Whether one of these is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of these, in their order.
    pub(super) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.given.iter().filter(|(name, _)| names.contains(&name.as_str())).filter_map(|(_, value)| value.as_deref())
    }

    /// The value of the last of these: it is the one that counts.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        let last = self.given.iter().rev().find(|(name, _)| names.contains(&name.as_str()))?;
        last.1.as_deref()
    }
}

/// A length in seconds, with the units tools take: `10`, `10s`, `2m`, `1h`, `1d`.
pub(super) fn seconds(text: &str) -> Option<f64> {
    with_unit(text, &[("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)], 1.0)
}

/// A count: `2000`, `2k`, `1M`, `1G`.
pub(super) fn count(text: &str) -> Option<f64> {
    with_unit(text, &[("k", 1e3), ("M", 1e6), ("G", 1e9)], 1.0)
}

/// nuttcp's rate, in Mbit/s: kbit/s unless `m` or `g` follows it, an `i` before it and a burst after it aside; `None` if it is
/// one of packets.
pub(super) fn kbit_rate(text: &str) -> Option<f64> {
    let text = text.trim_start_matches('i').split('/').next()?;
    with_unit(text, &[("k", 1e-3), ("m", 1.0), ("g", 1e3)], 1e-3)
}

/// A number with one of some units after it, or in the plain one.
fn with_unit(text: &str, units: &[(&str, f64)], plain: f64) -> Option<f64> {
    let found = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (number, size) = found.unwrap_or((text, plain));
    Some(super::figure(number)? * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn clusters_values_and_operands_are_told_apart() {
        let options = Options::of(&words("-uJ -p5201 -c host -b 20M --bidir --time=3 left"), "pcb", None);
        assert!(options.has(&["u", "udp"]) && options.has(&["J"]) && options.has(&["bidir"]) && !options.has(&["R"]));
        assert_eq!(options.value(&["p"]), Some("5201"));
        assert_eq!(options.value(&["b", "bitrate"]), Some("20M"));
        assert_eq!(options.value(&["t", "time"]), Some("3"));
        assert_eq!(options.operands, ["left"]);
        let options = Options::of(&words("-x, -e a,b --event c -- sleep -e 3"), "xe", Some(&["event"]));
        assert_eq!(options.values(&["e", "event"]).collect::<Vec<_>>(), ["a,b", "c"]);
        assert_eq!(options.operands, ["sleep", "-e", "3"]);
        let options = Options::of(&words("-e a true -e b"), "xe", Some(&["event"]));
        assert_eq!(options.values(&["e"]).collect::<Vec<_>>(), ["a"], "what the program is told is its own");
    }

    #[test]
    fn lengths_have_units() {
        let read = ["10", "10s", "2m", "1.5h", "x", "-3", "1e3", ""].map(seconds);
        assert_eq!(read, [Some(10.0), Some(10.0), Some(120.0), Some(5400.0), None, None, None, None]);
    }
}
