//! A machine's name, understood: here, simulated, recorded in a folder, a table, or behind a command, ssh or a bare shell.

/// Where a machine is, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineName<'n> {
    /// This machine.
    Local,
    /// `sim:NAME[#SEED]`, without the seed.
    Simulated(&'n str),
    /// `recorded:DIR`.
    Recorded(&'n str),
    /// `table:FILE.csv`.
    Table(&'n str),
    /// `cmd[@ADDRESS]:COMMAND` or `sh+agent[@ADDRESS]:COMMAND`.
    Behind {
        /// Where the other machine of the rig reaches it.
        address: Option<&'n str>,
        /// The command that leads to its agent, or to a shell through which one is copied.
        command: &'n str,
        /// Whether an agent is copied.
        copied: bool,
    },
    /// `sh[@ADDRESS]:COMMAND`.
    Shell {
        /// Where the other machine of the rig reaches it.
        address: Option<&'n str>,
        /// The command whose standard input and output are a shell's.
        command: &'n str,
    },
    /// `ssh[@ADDRESS]:HOST`.
    Ssh {
        /// Where the other machine of the rig reaches it.
        address: Option<&'n str>,
        /// As ssh takes it.
        host: &'n str,
    },
}

impl<'n> MachineName<'n> {
    /// `None` for a name no machine has.
    #[must_use]
    pub fn of(name: &'n str) -> Option<MachineName<'n>> {
        if name == "local" {
            return Some(MachineName::Local);
        }
        if let Some(rest) = name.strip_prefix("sim:") {
            return Some(MachineName::Simulated(rest.split('#').next().unwrap_or(rest)));
        }
        if let Some(folder) = name.strip_prefix("recorded:") {
            return Some(MachineName::Recorded(folder)).filter(|_| !folder.is_empty());
        }
        if let Some(file) = name.strip_prefix("table:") {
            return Some(MachineName::Table(file)).filter(|_| !file.is_empty());
        }
        let behind = |(address, command)| MachineName::Behind { address, command, copied: false };
        let copied = |(address, command)| MachineName::Behind { address, command, copied: true };
        let shell = |(address, command)| MachineName::Shell { address, command };
        let ssh = |(address, host)| MachineName::Ssh { address, host };
        let there = |kind| name.strip_prefix(kind).and_then(address_and_way).filter(|(_, way)| !way.trim().is_empty());
        let command = there("cmd").map(behind).or_else(|| there("sh+agent").map(copied));
        command.or_else(|| there("ssh").map(ssh)).or_else(|| there("sh").map(shell))
    }
}

/// The profile name in `sim:NAME[#SEED]`.
pub(crate) fn simulated(name: &str) -> Option<&str> {
    match MachineName::of(name) {
        Some(MachineName::Simulated(name)) => Some(name),
        _ => None,
    }
}

/// `:WAY`, `@ADDRESS:WAY` or `@[ADDRESS]:WAY` for an address with colons.
fn address_and_way(rest: &str) -> Option<(Option<&str>, &str)> {
    let Some(rest) = rest.strip_prefix('@') else { return Some((None, rest.strip_prefix(':')?)) };
    let (address, way) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]:")?,
        None => rest.split_once(':')?,
    };
    (!address.is_empty()).then_some((Some(address), way))
}

/// The words of a command line, quoted as for a shell; nothing is expanded.
///
/// # Errors
/// A sentence about a quote that is not closed.
pub(crate) fn split_line(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => {
                let next = chars.next().ok_or_else(|| format!("nothing follows the last \\ of: {line}"))?;
                let word = word.get_or_insert_default();
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(format!("a {open} is not closed in: {line}"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_where_a_machine_is() {
        let names = "local,locale,sim:pc#7,recorded:a b,recorded:,table:a b.csv,table:,cmd:powerband agent,cmd@10.0.0.2:a b#c,\
                     cmd@[fd00::2]:a,cmd:,cmd@:a,ssh:root@b2,ssh@10.0.0.2:b2,ssh,sh:adb shell,sh@10.0.0.2:ssh board sh,\
                     sh+agent:adb shell,sh+agent@10.0.0.2:adb shell,sh+agent,sh+other:a,sh";
        let told = names.split(',').map(|name| format!("{name}\n    {:?}\n", MachineName::of(name)));
        insta::assert_snapshot!("names", told.collect::<String>());
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        let split = |line| split_line(line).unwrap();
        assert_eq!(split("  a  b\tc "), ["a", "b", "c"]);
        let words = split(r#"sh -c 'a "b" \c' "d 'e' \" \x" f\ g '' h"i"'j'"#);
        assert_eq!(words, ["sh", "-c", r#"a "b" \c"#, r#"d 'e' " \x"#, "f g", "", "hij"]);
        assert!(split("").is_empty());
        assert!(["a 'b", "a \"b", "a\\"].map(split_line).iter().all(Result::is_err));
    }
}
