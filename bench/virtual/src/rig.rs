//! Guests as the machines of a rig: what powerband is told so that it finds them.
use std::path::Path;

use crate::guest::Guest;
use crate::port::quoted;

/// Verbs that open machines. The others know none, or go on with those an experiment was begun on.
const OPENING: [&str; 10] = ["info", "get", "knobs", "set", "undo", "with", "calibrate", "try", "tune", "run"];

/// The second guest as the first one reaches it over the cable, where init listens.
pub const OVER_THE_CABLE: &str = "cmd@10.0.0.2:nc 10.0.0.2 7421";

/// A guest as a powerband on this machine reaches it; `program` is one whose verb `plug` is [`crate::plug`].
#[must_use]
pub fn machine(guest: &Guest, program: &Path) -> String {
    let address = guest.address().map(|address| format!("@{address}")).unwrap_or_default();
    let word = |path: &Path| String::from_utf8_lossy(&quoted(path.as_os_str().as_encoded_bytes())).into_owned();
    format!("cmd{address}:{} plug {}", word(program), word(&guest.agent()))
}

/// What powerband is told, with the machines put in front for a verb that opens some. Those it names itself stay.
#[must_use]
pub fn with_machines(words: &[String], near: Option<&str>, far: Option<&str>) -> Vec<String> {
    let ours = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let opens = words[..ours].iter().any(|word| OPENING.contains(&word.as_str()));
    let given = |option: &str| {
        let is = |word: &String| word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
        words[..ours].iter().any(is)
    };
    let put = [("--machine", near), ("--far", far)].into_iter().filter(|(option, _)| opens && !given(option));
    let put = put.filter_map(|(option, name)| Some([option.to_owned(), name?.to_owned()])).flatten();
    put.chain(words.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_that_open_machines_get_those_they_do_not_name() {
        let told = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            with_machines(&words, Some("N"), Some("F")).join(" ")
        };
        assert_eq!(told("try freq=all --load ping"), "--machine N --far F try freq=all --load ping");
        assert_eq!(told("--far x run p.toml"), "--machine N --far x run p.toml");
        assert_eq!(told("run p.toml --machine=x"), "--far F run p.toml --machine=x");
        assert_eq!(told("tune -q freq=all"), "--machine N --far F tune -q freq=all");
        assert_eq!(told("with a=1 -- x --far"), "--machine N --far F with a=1 -- x --far");
        for line in ["resume", "list", "show 2 -- run"] {
            assert_eq!(told(line), line);
        }
        assert_eq!(with_machines(&["get".into()], None, Some("F")).join(" "), "--far F get");
    }
}
