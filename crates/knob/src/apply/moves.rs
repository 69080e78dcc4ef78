//! What a write changes besides its own file, and the kernel does not bring back: how the rows of `moves.toml` are read.
use std::sync::LazyLock;

use powerband_machine::Look;
use serde::Deserialize;

use crate::plan::governors_in_force;
use crate::policy::{Policy, policies};

/// The table; a test reads it as well.
static TABLE: LazyLock<Table> = LazyLock::new(|| toml::from_str(include_str!("moves.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
struct Table {
    row: Vec<Row>,
}

/// One row, as the table's head describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    written: String,
    #[serde(default)]
    knob: String,
    moved: Vec<Moved>,
}

/// Files that change with another one, and which of them need saving.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Moved {
    file: String,
    #[serde(default)]
    knob: String,
    unless: Option<String>,
    only: Option<String>,
    at_least: Option<u64>,
    unless_as: Option<String>,
    #[serde(rename = "where")]
    beside: Option<(String, String)>,
    #[serde(default)]
    of_that_cpu: bool,
    #[serde(default)]
    if_set: bool,
}

/// Policies' folders; before Linux 2.6.20 they were of CPUs.
const POLICIES: [&str; 2] = ["/sys/devices/system/cpu/cpufreq/policy", "/sys/devices/system/cpu/cpu"];

/// One file to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToSave {
    pub(crate) path: String,
    /// Canonical name of its knob, or `file:` and its path.
    pub(super) knob: String,
    /// The policy or CPU it belongs to, or `-`.
    pub(super) site: String,
    /// Whether it is lost only with its folder: a governor that another policy runs stays.
    pub(super) with_folder: bool,
    /// Whether it needs saving. Otherwise it moves back with the other file, unless it is set meanwhile.
    pub(super) is_lost: bool,
}

/// The files that a write of `path` moves along, in the order of saving, for a setting that sets the knobs and files for which
/// `sets` holds.
pub(crate) fn moved_by(machine: &mut dyn Look, path: &str, sets: &dyn Fn(&str) -> bool) -> Vec<ToSave> {
    let mut found: Vec<ToSave> = Vec::new();
    for row in &TABLE.row {
        let Some(stands_for) = matched(&row.written, path) else { continue };
        for moved in &row.moved {
            let form = moved.file.replace("{}", stands_for);
            let governors = governors(machine, &form, path);
            let forms = own_folders(machine, &form, stands_for).into_iter().map(|own| form.replace("{own}", &own));
            for (form, governor) in
                forms.flat_map(|form| governors.iter().map(move |governor| (form.clone(), governor)))
            {
                for file in expanded(machine, &form.replace("{governor}", governor)) {
                    let name = file.rsplit('/').next().unwrap_or_default();
                    let is_named = moved.file.ends_with("/*")
                        && row.moved.iter().any(|other| other.file.rsplit('/').next() == Some(name));
                    if file == path || is_named {
                        continue;
                    }
                    let known = found.iter().position(|known| known.path == file);
                    if known.is_some_and(|place| found[place].is_lost) {
                        continue;
                    }
                    let is_asked = !moved.if_set || sets(&moved.knob) || sets(&file);
                    let is_lost = is_asked && moved.needs_saving(machine, &file, stands_for);
                    if is_lost || moved.moves_back() {
                        known.map(|place| found.remove(place));
                        found.push(ToSave { is_lost, ..ToSave::of(file, &moved.knob, governor) });
                    }
                }
            }
        }
    }
    found
}

/// What a knob, or a file that the catalogue does not know, changes along, in words; nothing where it changes itself alone.
pub(crate) fn also_changed(knob: &str, path: Option<&str>) -> Vec<String> {
    let of_knob = |row: &&Row| match path {
        Some(path) => matched(&row.written, path).is_some(),
        None => row.knob == knob,
    };
    let mut found: Vec<String> = Vec::new();
    for moved in TABLE.row.iter().filter(of_knob).flat_map(|row| &row.moved) {
        let words = match moved.knob.as_str() {
            "" if moved.file.contains("{governor}") => "tunables of the governor that leaves".to_owned(),
            "" => moved.file.clone(),
            knob => knob.to_owned(),
        };
        if !found.contains(&words) {
            found.push(words);
        }
    }
    found
}

/// The folders that `{own}` stands for: those of policies without another CPU online than the one of this number, of all where
/// none is named.
fn own_folders(machine: &mut dyn Look, file: &str, stands_for: &str) -> Vec<String> {
    if !file.contains("{own}") {
        return vec![String::new()];
    }
    let all = policies(machine, "cpu.online").unwrap_or_default().active;
    let is_own = |policy: &Policy| stands_for.is_empty() || policy.online.to_string() == stands_for;
    all.into_iter().filter(is_own).map(|policy| policy.folder).collect()
}

/// The governors that `{governor}` stands for; a name that says nothing where it does not occur.
fn governors(machine: &mut dyn Look, file: &str, written: &str) -> Vec<String> {
    if !file.contains("{governor}") {
        return vec![String::new()];
    }
    match machine.read(written) {
        Ok(text) if written.ends_with("/scaling_governor") => vec![text.trim().to_lowercase()],
        _ => governors_in_force(machine),
    }
}

impl ToSave {
    fn of(path: String, knob: &str, governor: &str) -> ToSave {
        let name = path.rsplit('/').next().unwrap_or_default();
        let knob = match (knob, governor) {
            ("", "") => format!("file:{path}"),
            ("", governor) => format!("{governor}.{name}"),
            (knob, _) => knob.to_owned(),
        };
        ToSave { knob, site: site_of(&path), with_folder: !governor.is_empty(), path, is_lost: true }
    }
}

impl Moved {
    /// Whether a file that needs no saving moves along and back all the same.
    fn moves_back(&self) -> bool {
        self.if_set || self.unless_as.is_some()
    }

    /// Whether a file with this path needs saving; one that cannot be read may.
    fn needs_saving(&self, machine: &mut dyn Look, file: &str, stands_for: &str) -> bool {
        let mut text = |file: &str| machine.read(file).map(|text| text.trim().to_owned());
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        if let Some((name, wanted)) = &self.beside {
            return text(&format!("{folder}/{name}")).is_ok_and(|found| found == *wanted);
        }
        let other = self.unless_as.as_ref().map(|name| text(&format!("{folder}/{name}")));
        let is_asked = other.is_some() || self.of_that_cpu || self.at_least.is_some();
        if !is_asked && self.unless.is_none() && self.only.is_none() {
            return true;
        }
        let Ok(value) = text(file) else { return true };
        self.unless.as_ref().is_none_or(|default| value != *default)
            && self.only.as_ref().is_none_or(|only| value == *only)
            && self.at_least.is_none_or(|least| value.parse::<u64>().is_ok_and(|value| value >= least))
            && other.is_none_or(|other| other.as_ref() != Ok(&value))
            && (!self.of_that_cpu || value == stands_for)
    }
}

/// What `*` or `{policy}` stands for in a path that has this form; nothing in particular where the form has neither.
fn matched<'p>(form: &str, path: &'p str) -> Option<&'p str> {
    if let Some(file) = form.strip_prefix("{policy}/") {
        let (folder, name) = path.rsplit_once('/')?;
        let [policy, cpu] = POLICIES.map(|start| folder.strip_prefix(start));
        let number = policy.or_else(|| cpu?.strip_suffix("/cpufreq"))?;
        return (matched(file, name).is_some() && number.parse::<u32>().is_ok()).then_some(folder);
    }
    let Some((before, after)) = form.split_once('*') else { return (form == path).then_some("") };
    let middle = path.strip_prefix(before)?.strip_suffix(after)?;
    (!middle.is_empty() && !middle.contains('/')).then_some(middle)
}

/// The files that have this form, in the order of their folders; of a whole folder those that may be written.
fn expanded(machine: &mut dyn Look, form: &str) -> Vec<String> {
    let Some(star) = form.find('*') else { return vec![form.to_owned()] };
    let (folder, name) = form[..star].rsplit_once('/').unwrap_or(("", &form[..star]));
    let rest = &form[star + 1..];
    let (end, below) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let mut entries = machine.list(folder).unwrap_or_default();
    if below.is_empty() {
        entries.retain(|entry| !entry.folder && entry.mode & 0o222 != 0);
    }
    let fits = |entry: &String| {
        entry.strip_prefix(name).and_then(|rest| rest.strip_suffix(end)).is_some_and(|middle| !middle.is_empty())
    };
    let names: Vec<String> = entries.into_iter().map(|entry| entry.name).filter(fits).collect();
    let mut found = Vec::new();
    for name in names {
        let file = format!("{folder}/{name}{below}");
        if below.contains('*') {
            found.extend(expanded(machine, &file));
        } else if below.is_empty() || machine.read(&file).is_ok() {
            found.push(file);
        }
    }
    found
}

/// The policy or CPU in a path.
fn site_of(path: &str) -> String {
    let number_of = |part: &str, word: &str| part.strip_prefix(word)?.parse::<u32>().ok();
    let parts: Vec<&str> = path.split('/').collect();
    for pair in parts.windows(2) {
        if number_of(pair[0], "policy").is_some() {
            return pair[0].to_owned();
        }
        if let Some(number) = number_of(pair[0], "cpu") {
            return if pair[1] == "cpufreq" { format!("policy{number}") } else { pair[0].to_owned() };
        }
    }
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_says_once_what_a_write_moves() {
        let table: Table = toml::from_str(include_str!("moves.toml")).unwrap();
        let mut written: Vec<&str> = table.row.iter().map(|row| row.written.as_str()).collect();
        written.sort_unstable();
        written.dedup();
        assert_eq!(written.len(), table.row.len());
        assert_eq!(TABLE.row.len(), table.row.len());
    }

    #[test]
    fn a_form_matches_names_and_no_folders() {
        assert_eq!(matched("/cpu/cpu*/online", "/cpu/cpu12/online"), Some("12"));
        assert_eq!(matched("/cpu/cpu*/online", "/cpu/cpu1/x/online"), None);
        assert_eq!(matched("/cpu/cpu*/online", "/cpu/online"), None);
        assert_eq!(matched("/a", "/a"), Some(""));
    }

    #[test]
    fn a_file_has_the_site_of_its_policy_or_cpu() {
        assert_eq!(site_of("/sys/devices/system/cpu/cpu3/cpuidle/state1/disable"), "cpu3");
        assert_eq!(site_of("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"), "policy0");
        assert_eq!(site_of("/proc/sys/vm/min_free_kbytes"), "-");
    }
}
