//! The user's own command, corrected: what an error suggests, put into the words that were typed, ready to be pasted.
use std::path::Path;

use powerband_knob::{KnobError, resolve_among};
use powerband_record::{Side, quoted_line};
use powerband_sysfs::proc::SYSCTL;

use crate::cli::Shared;
use crate::rig;
use crate::typed::for_machines;

/// Verbs that act on the machine named by `--machine`.
const ON_A_MACHINE: [&str; 9] = ["info", "get", "why", "doctor", "set", "undo", "confirm", "with", "try"];

/// Folders of /proc/sys in which a sysctl is looked for that was typed by its last name alone.
const SYSCTL_FOLDERS: [&str; 6] = ["vm", "kernel", "fs", "net/core", "net/ipv4", "kernel/sched_domain"];

/// The sentence of an error, with the corrected command where the mistake is one of the typed words.
pub(crate) fn sentence(error: &KnobError) -> String {
    let words: Vec<String> = crate::typed::words().skip(1).collect();
    match (error, corrected(error, &words)) {
        (KnobError::NeedsFirst { knob, needs, site, found, .. }, Some(command)) => {
            format!("{knob} acts only under the governor {needs} ({site} has {found}); type: {command}")
        }
        (KnobError::Unknown { name, .. }, Some(command)) if sysctl_of(name).is_some() => {
            format!("'{name}' is not a knob; sysctls are written sysctl.NAME; type: {command}")
        }
        (KnobError::Unknown { .. } | KnobError::Ambiguous { .. }, Some(command)) => format!("{error}; type: {command}"),
        _ => error.to_string(),
    }
}

/// The command with the mistake of one knob's name mended; nothing where the words do not hold it, as in a plan.
fn corrected(error: &KnobError, words: &[String]) -> Option<String> {
    let mended = match error {
        KnobError::NeedsFirst { knob, needs, .. } => {
            let is_it = |name: &str| resolve_among(name, &[(*needs).into()]).is_ok_and(|named| named.name == *knob);
            mend(words, is_it, |part| format!("{}governor{}={needs} {}", part.side, part.at, part.whole))
        }
        KnobError::Unknown { name, nearest } => {
            let instead = sysctl_of(name).or_else(|| nearest.clone())?;
            mend(words, |typed| typed == name, |part| format!("{}{instead}{}", part.side, part.rest))
        }
        KnobError::Ambiguous { name, names } => {
            let instead = names.first()?;
            mend(words, |typed| typed == name, |part| format!("{}{instead}{}", part.side, part.rest))
        }
        _ => None,
    }?;
    Some(command(&mended))
}

/// One assignment or name of a knob within a word.
struct Part<'w> {
    /// `far/` or the like, or nothing.
    side: &'w str,
    /// `@TARGET`, or nothing.
    at: &'w str,
    /// What follows the name.
    rest: &'w str,
    /// All of it.
    whole: &'w str,
}

/// The words with the first part changed whose knob is meant. What is changed into several assignments becomes several words,
/// unless it is part of a longer one (`-s 'name:a=1 b=2'`).
fn mend(words: &[String], meant: impl Fn(&str) -> bool, change: impl Fn(&Part<'_>) -> String) -> Option<Vec<String>> {
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    for (number, word) in words[..end].iter().enumerate() {
        let label = match word.split_once(':') {
            Some((label, _)) if !label.contains(['=', '/', ' ', '@', '.']) => label.len() + 1,
            _ => 0,
        };
        let mut at = label;
        for whole in assignments(&word[label..]) {
            if let Some(changed) = changed(whole, &meant, &change) {
                let text = format!("{}{changed}{}", &word[..at], &word[at + whole.len()..]);
                let alone = at == 0 && whole.len() == word.len();
                let new =
                    if alone { assignments(&changed).into_iter().map(str::to_owned).collect() } else { vec![text] };
                return Some([&words[..number], &new, &words[number + 1..]].concat());
            }
            at += whole.len() + 1;
        }
    }
    None
}

/// The assignments of a word; a blank before anything else is one of a value (`freq=1.6GHz,2400 MHz`).
fn assignments(word: &str) -> Vec<&str> {
    let is_one = |at: &usize| word[*at..].split(' ').next().is_some_and(|piece| piece.contains('='));
    let later: Vec<usize> = word.match_indices(' ').map(|(blank, _)| blank + 1).filter(is_one).collect();
    let starts = std::iter::once(0).chain(later.iter().copied());
    let ends = later.iter().map(|start| start - 1).chain(std::iter::once(word.len()));
    starts.zip(ends).map(|(start, end)| &word[start..end]).collect()
}

fn changed(whole: &str, meant: &impl Fn(&str) -> bool, change: &impl Fn(&Part<'_>) -> String) -> Option<String> {
    let side = whole.split_once('/').filter(|(side, _)| side.parse::<Side>().is_ok());
    let side = side.map_or("", |(side, _)| &whole[..=side.len()]);
    let name_and_rest = &whole[side.len()..];
    let name_ends = name_and_rest.find(['=', '@']).unwrap_or(name_and_rest.len());
    let (name, rest) = name_and_rest.split_at(name_ends);
    let at = &rest[..rest.find('=').unwrap_or(rest.len())];
    (!name.is_empty() && meant(name)).then(|| change(&Part { side, at, rest, whole }))
}

/// A command of ours as a shell takes it.
pub(crate) fn command(words: &[String]) -> String {
    format!("powerband {}", quoted_line(words))
}

/// The sysctl that is meant by its last name alone, as this machine has them.
fn sysctl_of(name: &str) -> Option<String> {
    if name.is_empty() || name.contains(['/', '.']) {
        return None;
    }
    let is_in = |folder: &&&str| Path::new(SYSCTL).join(folder).join(name).is_file();
    let folder = SYSCTL_FOLDERS.iter().find(is_in)?;
    Some(format!("sysctl.{}.{name}", folder.replace('/', ".")))
}

/// A sentence in which each command to type names the machines of this one.
pub(crate) fn on_these_machines(sentence: &str, shared: &Shared) -> String {
    let names = rig::names(shared);
    let mut text = sentence.to_owned();
    for verb in ON_A_MACHINE {
        text = text.replace(&format!("`powerband {verb}"), &format!("`{}", for_machines(&names, verb)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        powerband_record::split_words(line).unwrap()
    }

    #[test]
    fn the_corrected_command_is_the_users_own() {
        let needs = |knob: &str| KnobError::NeedsFirst {
            knob: knob.into(),
            needs: "userspace",
            site: "policy0".into(),
            found: "performance".into(),
            hint: String::new(),
        };
        let unknown =
            |name: &str, nearest: &str| KnobError::Unknown { name: name.into(), nearest: Some(nearest.into()) };
        for (error, typed, mended) in [
            (
                needs("cpufreq.freq"),
                "try freq=all --margin 2% -- ./bench a",
                "try governor=userspace freq=all --margin 2% -- ./bench a",
            ),
            (
                needs("cpufreq.freq"),
                "try 'freq=1.6GHz,2400 MHz' -- ./bench",
                "try governor=userspace 'freq=1.6GHz,2400 MHz' -- ./bench",
            ),
            (
                needs("cpufreq.freq"),
                "set far/freq@policy0=1GHz",
                "set far/governor@policy0=userspace far/freq@policy0=1GHz",
            ),
            (
                needs("cpufreq.freq"),
                "try -s base: -s 'slow:boost=0 freq=1GHz' --load ping",
                "try -s base: -s 'slow:boost=0 governor=userspace freq=1GHz' --load ping",
            ),
            (unknown("vm.x", "sysctl.vm.x"), "try vm.x=10,60 -- sleep 'a b'", "try sysctl.vm.x=10,60 -- sleep 'a b'"),
            (unknown("gubernor", "governor"), "get gubernor@policy0 boost", "get governor@policy0 boost"),
        ] {
            assert_eq!(corrected(&error, &words(typed)), Some(format!("powerband {mended}")), "{typed}");
        }
        assert_eq!(corrected(&needs("cpufreq.freq"), &words("run plan.toml")), None, "it is in the plan");
        assert_eq!(corrected(&unknown("x", "y"), &words("try -- x=1")), None, "what is behind -- is the load's");
    }
}
