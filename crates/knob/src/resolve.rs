//! Names: from what was typed to one knob of the catalogue, dashes and short names forgiven, with a guess for the rest.
use powerband_machine::Look;
use powerband_record::{KnobRef, Side};

use crate::catalogue::ALL;
use crate::policy::policies;
use crate::{Knob, KnobError, Named, governors_in_force};

/// Names of families that carry the rest of the name themselves.
const FAMILIES: [&str; 3] = ["sysctl.", "module.", "file:"];

/// A governor of Android's kernels alone: elsewhere its tunables are not meant by a short name that others have as well.
const ANDROIDS: &str = "interactive";

/// Resolves a name without knowing a machine.
///
/// # Errors
/// [`KnobError::Unknown`], with the nearest name; [`KnobError::Ambiguous`] for a tunable that two governors have.
pub fn resolve(name: &str) -> Result<Named, KnobError> {
    resolve_among(name, &[])
}

/// Resolves a name where `governors` (lower case) are chosen by the same setting or in force: they decide between
/// tunables of the same short name.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_among(name: &str, governors: &[String]) -> Result<Named, KnobError> {
    let name = name.trim();
    if let Some(family) = FAMILIES.iter().find(|family| name.len() > family.len() && name.starts_with(**family)) {
        let knob = ALL.iter().find(|knob| knob.about().name == *family);
        return knob.map(|&knob| Named { knob, name: name.to_owned() }).ok_or_else(|| unknown(name));
    }
    let is_meant = |knob: &&&dyn Knob| {
        let about = knob.about();
        !FAMILIES.contains(&about.name)
            && [about.name, about.short].iter().chain(about.aliases).any(|spelling| is_spelled(name, spelling))
    };
    let mut found: Vec<&'static dyn Knob> = ALL.iter().filter(is_meant).copied().collect();
    if found.len() > 1 && !governors.iter().any(|governor| governor == ANDROIDS) {
        found.retain(|knob| knob.governor() != Some(ANDROIDS));
    }
    if found.len() > 1 {
        let decided: Vec<&'static dyn Knob> = found
            .iter()
            .filter(|knob| knob.governor().is_some_and(|governor| governors.iter().any(|g| g == governor)))
            .copied()
            .collect();
        if decided.len() == 1 {
            found = decided;
        }
    }
    match found[..] {
        [] => Err(unknown(name)),
        [knob] => Ok(Named { knob, name: knob.about().name.to_owned() }),
        _ => Err(KnobError::Ambiguous {
            name: name.to_owned(),
            names: found.iter().map(|knob| knob.about().name.to_owned()).collect(),
        }),
    }
}

/// Resolves a name on a machine: the governors chosen decide between namesakes, or else the one in force.
///
/// # Errors
/// As [`resolve`]; [`KnobError::Absent`] for namesakes on a machine where no governor can decide.
pub fn resolve_here(name: &str, chosen: &[String], machine: &mut dyn Look) -> Result<Named, KnobError> {
    match resolve_among(name, chosen) {
        Err(KnobError::Ambiguous { .. }) => {
            policies(machine, name)?;
            resolve_among(name, &governors_in_force(machine))
        }
        other => other,
    }
}

/// Whether a name is this spelling but for what is forgiven. It is asked of every spelling for every assignment of every
/// setting, so that it copies nothing.
fn is_spelled(name: &str, spelling: &str) -> bool {
    let forgiven = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    name.len() == spelling.len() && name.bytes().zip(spelling.bytes()).all(|(a, b)| forgiven(a) == forgiven(b))
}

/// A name without what is forgiven: capitals, and dashes for underscores.
fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

fn unknown(name: &str) -> KnobError {
    let reference = KnobRef { side: Side::Near, name: name.to_owned(), site: None };
    match reference.of_load() {
        Some(_) => KnobError::OfLoad(reference.name),
        None => KnobError::Unknown { name: name.to_owned(), nearest: nearest(name) },
    }
}

/// Folders of /proc/sys, by which a sysctl is known that was typed without its family.
const SYSCTLS: [&str; 8] = ["abi", "debug", "dev", "fs", "kernel", "net", "user", "vm"];

/// A value of a knob as people read it, as the ledger or a list of kept settings has it: kHz as MHz.
#[must_use]
pub fn shown(knob: &str, value: &str) -> String {
    resolve(knob).map_or_else(|_| value.trim().to_owned(), |named| named.knob.shown(value))
}

/// The catalogue's name most like `name`, if any is like it at all.
fn nearest(name: &str) -> Option<String> {
    let wanted = plain(name);
    if name.split_once('.').is_some_and(|(folder, rest)| SYSCTLS.contains(&folder) && !rest.is_empty()) {
        return Some(format!("sysctl.{name}"));
    }
    let spellings = ALL.iter().flat_map(|knob| {
        let about = knob.about();
        [about.name, about.short].into_iter().chain(about.aliases.iter().copied())
    });
    let nearest = nearest_of(&wanted, spellings)?;
    // The name of a family alone is none.
    Some(if FAMILIES.contains(&nearest.as_str()) { format!("{nearest}NAME") } else { nearest })
}

/// Of these spellings the one most like `wanted`, if any is like it at all.
pub(crate) fn nearest_of<'s>(wanted: &str, spellings: impl IntoIterator<Item = &'s str>) -> Option<String> {
    let (distance, best) = spellings
        .into_iter()
        .filter(|spelling| !spelling.is_empty())
        .map(|s| (distance(wanted, &plain(s)), s))
        .min_by_key(|&(d, _)| d)?;
    (distance * 3 <= wanted.len().max(best.len())).then(|| best.to_owned())
}

/// Levenshtein distance: insertions, deletions and replacements of single bytes.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_canonical_name_resolves_to_itself() {
        for knob in ALL {
            let name = knob.about().name;
            let name = if FAMILIES.contains(&name) { format!("{name}x") } else { name.to_owned() };
            assert_eq!(resolve(&name).unwrap().name, name);
        }
    }

    #[test]
    fn short_names_and_dashes() {
        for (typed, name) in [
            ("governor", "cpufreq.governor"),
            ("max-freq", "cpufreq.max_freq"),
            ("scaling_setspeed", "cpufreq.freq"),
            ("Cpu-Quota", "cgroup.cpu_quota"),
            ("freq_step", "conservative.freq_step"),
            ("rx-usecs", "nic.rx-usecs"),
            ("NIC.adaptive_rx", "nic.adaptive-rx"),
            ("ondemand.up-threshold", "ondemand.up_threshold"),
            ("sysctl.net.ipv4.tcp-x", "sysctl.net.ipv4.tcp-x"),
            ("file:/tmp/a-b", "file:/tmp/a-b"),
        ] {
            assert_eq!(resolve(typed).unwrap().name, name);
        }
    }

    #[test]
    fn a_governor_decides_between_namesakes() {
        let names = vec!["ondemand.up_threshold".to_owned(), "conservative.up_threshold".to_owned()];
        assert_eq!(
            resolve("up_threshold").unwrap_err(),
            KnobError::Ambiguous { name: "up_threshold".into(), names: names.clone() }
        );
        let chosen = resolve_among("up_threshold", &["conservative".into()]).unwrap();
        assert_eq!(chosen.name, "conservative.up_threshold");
        let both = ["conservative".into(), "ondemand".into()];
        assert!(matches!(resolve_among("up_threshold", &both), Err(KnobError::Ambiguous { .. })));
    }

    #[test]
    fn what_is_unknown_is_guessed() {
        for (typed, guess) in [
            ("govenor", Some("governor")),
            ("cpufreq.govornor", Some("cpufreq.governor")),
            ("up_treshold", Some("up_threshold")),
            ("module.", Some("module.NAME")),
            ("modul", Some("module.NAME")),
            ("zzzz", None),
            ("", None),
        ] {
            assert_eq!(resolve(typed).unwrap_err(), unknown(typed));
            assert_eq!(nearest(typed).as_deref(), guess, "{typed}");
        }
        assert_eq!(
            unknown("govenor").to_string(),
            "'govenor' is not a knob; did you mean 'governor'? `powerband knobs` lists them all"
        );
    }
}
