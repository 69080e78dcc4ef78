//! The policy's file: `[[allow]]` tables that name users and groups, knobs with their values, and CPUs. All of it is checked
//! when it is read, so that a slip is found at the start and not by a user.
use std::collections::BTreeMap;
use std::ops::Range as Span;
use std::path::Path;

use powerband_knob::catalogue::ALL;
use powerband_knob::{KnobError, Selection, resolve};
use powerband_machine::Look;
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use super::AccessError;
use super::range::Range;
use super::rule::{Cpus, Granted, Pattern, Rule, is_catalogue};

/// Where the policy is.
pub const POLICY_FILE: &str = "/etc/powerband/access.toml";

/// Knobs that are made for a load or run a program, and so are nothing that could be set on somebody's behalf.
const NEVER: [&str; 2] = ["cgroup.cpu_quota", "cpuspeed.daemon"];

/// A slip in the policy's file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}:{line}: {why}")]
pub struct PolicyError {
    /// The file.
    pub place: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, one sentence.
    pub why: String,
}

/// Who may set what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
    /// Names that this system has not or no longer, a sentence each; what stands beside them holds.
    pub warnings: Vec<String>,
}

/// What the system knows of names of users and groups.
pub struct Names<'a> {
    /// The number of a user.
    pub user: &'a dyn Fn(&str) -> Option<u32>,
    /// The number of a group.
    pub group: &'a dyn Fn(&str) -> Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    allow: Vec<Spanned<Allow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allow {
    #[serde(default)]
    users: Vec<Spanned<Who>>,
    #[serde(default)]
    groups: Vec<Spanned<Who>>,
    cpus: Option<Spanned<String>>,
    knobs: BTreeMap<Spanned<String>, Spanned<Values>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a name or a number")]
enum Who {
    Number(u32),
    Name(String),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "\"any\", a range as \"1.2GHz..2.6GHz\", a value, or a list of values")]
enum Values {
    Number(u64),
    Text(String),
    List(Vec<Listed>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a text or a whole number")]
enum Listed {
    Number(u64),
    Text(String),
}

/// The policy in a file of root's.
///
/// # Errors
/// [`AccessError`]: it cannot be read, others can write it, or there is a slip in it.
pub fn policy_of(path: &Path) -> Result<Policy, AccessError> {
    policy_in(&powerband_host::trusted_text(path)?, path)
}

/// The policy in the text of a file.
pub(super) fn policy_in(text: &str, path: &Path) -> Result<Policy, AccessError> {
    let names = Names { user: &powerband_host::uid_of, group: &powerband_host::gid_of };
    Ok(Policy::parse(text, &path.display().to_string(), &names)?)
}

/// The number and the groups of a user, by name or number.
#[must_use]
pub fn user_of(user: &str) -> Option<(u32, Vec<u32>)> {
    let uid = user.parse().ok().or_else(|| powerband_host::uid_of(user))?;
    Some((uid, powerband_host::groups_of(uid)))
}

impl Policy {
    /// Reads the text of the file `place`.
    ///
    /// # Errors
    /// [`PolicyError`] for the first slip.
    pub fn parse(text: &str, place: &str, names: &Names<'_>) -> Result<Policy, PolicyError> {
        let wrong = |at: Option<Span<usize>>, why: String| {
            let before = text.get(..at.map_or(0, |at| at.start)).unwrap_or_default();
            let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
            PolicyError { place: place.to_owned(), line, why }
        };
        let slip = |error: toml::de::Error| {
            let mut why = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            if why.ends_with("expected a map") {
                why += "; write [allow.knobs] and below it e.g. \"cpufreq.governor\" = \"any\"";
            }
            wrong(error.span(), why)
        };
        let written: Written = toml::from_str(text).map_err(slip)?;
        let (mut policy, mut unknown) = (Policy::default(), Vec::new());
        for allow in written.allow {
            let at = allow.span();
            let rule = rule(allow.into_inner(), at, names, &mut unknown).map_err(|(at, why)| wrong(Some(at), why))?;
            policy.rules.push(rule);
        }
        policy.warnings = unknown.into_iter().map(|(at, why)| wrong(Some(at), why).to_string()).collect();
        Ok(policy)
    }

    /// What a user in these groups may set.
    #[must_use]
    pub fn granted(&self, uid: u32, groups: &[u32]) -> Granted {
        Granted(self.rules.iter().filter(|rule| rule.is_for(uid, groups)).cloned().collect())
    }

    /// Values of the policy that no knob of this machine takes, a sentence each. A knob that is not here says nothing.
    pub fn impossible(&self, machine: &mut dyn Look) -> Vec<String> {
        let mut found = Vec::new();
        for (Pattern(name), range) in self.rules.iter().flat_map(|rule| &rule.knobs) {
            let (Range::OneOf(values), Ok(named)) = (range, resolve(name)) else { continue };
            let sites = named.knob.sites(&named.name, machine, &Selection::everywhere());
            let sites = sites.map(|sites| sites.sites).unwrap_or_default();
            for value in values {
                let refused: Vec<String> = sites
                    .iter()
                    .filter_map(|site| named.knob.parse(&named.name, value, machine, site).err())
                    .map(|error| error.to_string())
                    .collect();
                if let Some(why) = refused.first().filter(|_| refused.len() == sites.len()) {
                    found.push(why.clone());
                }
            }
        }
        found
    }

    /// A line for each knob of each rule, after the users and groups it is for; `user` names a user.
    #[must_use]
    pub fn lines(&self, user: &dyn Fn(u32) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        for rule in &self.rules {
            let users = rule.users.iter().map(|&uid| user(uid));
            let groups = rule.groups.iter().map(|gid| format!("gid {gid}"));
            let whose = users.chain(groups).collect::<Vec<_>>().join(", ");
            lines.extend(Granted(vec![rule.clone()]).lines().into_iter().map(|line| format!("{whose}: {line}")));
        }
        lines
    }
}

/// Where something is wrong, and what.
type Slip = (Span<usize>, String);

fn rule(allow: Allow, at: Span<usize>, names: &Names<'_>, unknown: &mut Vec<Slip>) -> Result<Rule, Slip> {
    if allow.users.is_empty() && allow.groups.is_empty() {
        return Err((at, "this [[allow]] names no users and no groups".into()));
    }
    if allow.knobs.is_empty() {
        return Err((at, "this [[allow]] names no knobs".into()));
    }
    let cpus = match allow.cpus {
        None => Cpus::Job,
        Some(cpus) => match cpus.get_ref().as_str() {
            "job" => Cpus::Job,
            "all" => Cpus::All,
            other => return Err((cpus.span(), format!("cpus is \"job\" or \"all\", not \"{other}\""))),
        },
    };
    let users = numbers(allow.users, "user", names.user, unknown);
    let groups = numbers(allow.groups, "group", names.group, unknown);
    let knobs = allow.knobs.into_iter().map(|(name, values)| {
        let (at, name) = (name.span(), name.into_inner());
        let (pattern, unit) = pattern(&name).map_err(|why| (at, why))?;
        let (at, values) = (values.span(), values.into_inner());
        let range = range(values, unit).map_err(|why| (at, format!("{name}: {why}")))?;
        Ok((pattern, range))
    });
    Ok(Rule { users, groups, cpus, knobs: knobs.collect::<Result<_, _>>()? })
}

/// The numbers of users or groups; a name that this system lost concerns its owner alone.
fn numbers(
    all: Vec<Spanned<Who>>,
    what: &str,
    number: &dyn Fn(&str) -> Option<u32>,
    unknown: &mut Vec<Slip>,
) -> Vec<u32> {
    let one = |who: Spanned<Who>| match who.get_ref() {
        Who::Number(number) => Some(*number),
        Who::Name(name) => {
            let found = number(name);
            if found.is_none() {
                unknown.push((who.span(), format!("this system has no {what} '{name}'; a number is taken as it is")));
            }
            found
        }
    };
    all.into_iter().filter_map(one).collect()
}

/// A name of the policy, and the unit of the one knob it means.
fn pattern(name: &str) -> Result<(Pattern, Option<&'static str>), String> {
    let never = |name: &str| format!("{name} cannot be set on behalf of others");
    if let Some(family) = name.strip_suffix(".*") {
        let pattern = Pattern(name.to_owned());
        let mut covered = ALL.iter().map(|knob| knob.about().name).filter(|name| pattern.means(name)).peekable();
        if covered.peek().is_none() {
            let hint = match family {
                "sysctl" | "module" => "; name each of them in full, as sysctl.vm.swappiness",
                _ if family.starts_with("sysctl.") || family.starts_with("module.") => "; name each of them in full",
                _ => "; `powerband knobs` lists them all",
            };
            return Err(format!("'{name}' covers no knob{hint}"));
        }
        return match covered.all(|name| NEVER.contains(&name)) {
            true => Err(never(name)),
            false => Ok((pattern, None)),
        };
    }
    if name.contains('*') {
        return Err(format!("'{name}': a * is only understood at the end, after a dot, as in cpuidle.*"));
    }
    let named = resolve(name).map_err(|error| match error {
        KnobError::Unknown { nearest: Some(nearest), .. } => {
            format!("'{name}' is not a knob; did you mean '{nearest}'?")
        }
        error => error.to_string(),
    })?;
    if NEVER.contains(&named.name.as_str()) {
        return Err(never(&named.name));
    }
    if !is_catalogue(&named.name) {
        plain_place(&named.name)?;
    }
    Ok((Pattern(named.name.clone()), Some(named.knob.about().unit)))
}

/// That what is named after a file or a key is written in the one way that leads there.
fn plain_place(name: &str) -> Result<(), String> {
    if let Some(path) = name.strip_prefix("file:") {
        let plain = path.starts_with('/') && path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."));
        return if plain { Ok(()) } else { Err(format!("'{name}' is not a whole path without '..', '.' and '//'")) };
    }
    let plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-/".contains(c));
    let parts = name.split('.').skip(1);
    let is_plain = parts.clone().count() > 0 && parts.clone().all(plain) && !name.contains("//");
    if is_plain { Ok(()) } else { Err(format!("'{name}' is not the whole name of a setting")) }
}

fn range(values: Values, unit: Option<&str>) -> Result<Range, String> {
    let list = match values {
        Values::Number(number) => return Ok(Range::OneOf(vec![number.to_string()])),
        Values::Text(text) => return Range::parse(&text, unit),
        Values::List(list) => list,
    };
    let text = |listed: Listed| match listed {
        Listed::Number(number) => number.to_string(),
        Listed::Text(text) => text,
    };
    let list: Vec<String> = list.into_iter().map(text).collect();
    match list.iter().find(|value| value.contains("..") || *value == "any") {
        Some(value) => Err(format!("'{value}' is written alone, not in a list")),
        None if list.is_empty() => Err("the list of its values is empty".into()),
        None => Ok(Range::OneOf(list)),
    }
}

#[cfg(test)]
mod tests;
