//! Rules: which knobs, with which values, on which CPUs; and what a user's rules say of a setting.
use powerband_knob::{Named, Site, Target};
use powerband_machine::Look;
use powerband_record::{CpuList, placed};

use super::range::Range;

/// Whose knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cpus {
    /// Those of CPUs that the client may run on, which is what its job has; nothing that concerns the whole machine.
    Job,
    /// Those of the whole machine as well.
    All,
}

/// A name of the policy: one knob's, or with `.*` at its end those of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(pub(super) String);

impl Pattern {
    /// Whether a knob is meant. What is named after a file or a key is only ever meant by its whole name.
    pub(super) fn means(&self, name: &str) -> bool {
        match self.0.strip_suffix(".*") {
            Some(family) => name.strip_prefix(family).is_some_and(|rest| rest.starts_with('.')) && is_catalogue(name),
            None => self.0 == name,
        }
    }
}

impl Pattern {
    /// Whether what it means belongs to the whole machine, wherever its sites are.
    fn is_of_no_cpu(&self) -> bool {
        ["sysctl.", "module.", "nic."].iter().any(|family| self.0.starts_with(family))
    }
}

/// Whether a name is one of the catalogue's own, and not one after a file or a key of somebody's choice.
pub(super) fn is_catalogue(name: &str) -> bool {
    !name.ends_with(['.', ':']) && powerband_knob::catalogue::ALL.iter().any(|knob| knob.about().name == name)
}

/// What some users may set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// Numbers of users.
    pub(super) users: Vec<u32>,
    /// Numbers of groups.
    pub(super) groups: Vec<u32>,
    /// On which CPUs.
    pub(super) cpus: Cpus,
    /// The knobs with their values.
    pub(super) knobs: Vec<(Pattern, Range)>,
}

impl Rule {
    /// Whether it is for this user.
    #[must_use]
    pub(super) fn is_for(&self, uid: u32, groups: &[u32]) -> bool {
        self.users.contains(&uid) || self.groups.iter().any(|group| groups.contains(group))
    }
}

/// What one user may set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted(pub(super) Vec<Rule>);

impl Granted {
    /// Whether that is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line for each knob.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |rule: &Rule, (pattern, range): &(Pattern, Range)| {
            let on = match rule.cpus {
                Cpus::Job if pattern.is_of_no_cpu() => {
                    "but not by a job, as it is the whole machine's: that takes cpus = \"all\""
                }
                Cpus::Job => "on the CPUs of your job",
                Cpus::All => "on all CPUs",
            };
            format!("{}: {range}, {on}", pattern.0)
        };
        self.0.iter().flat_map(|rule| rule.knobs.iter().map(move |knob| line(rule, knob))).collect()
    }

    /// Whether it can be set at all, before anything is looked at on the machine: nobody learns of a file by asking.
    ///
    /// # Errors
    /// A sentence.
    pub fn check_name(&self, named: &Named) -> Result<(), String> {
        let meant = self.0.iter().flat_map(|rule| &rule.knobs).any(|(pattern, _)| pattern.means(&named.name));
        if meant { Ok(()) } else { Err(format!("the access policy does not let you set {}", named.name)) }
    }

    /// Whether a knob may be set to this value at each of its sites; `job` has the CPUs of the client.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self, target: &Target<'_>, machine: &mut dyn Look, job: &CpuList) -> Result<(), String> {
        self.check_name(target.named)?;
        let later = [Site { name: "-".into(), path: None, policy: None }];
        for site in target.sites.unwrap_or(&later) {
            self.check_site(target, machine, site, job)?;
        }
        Ok(())
    }

    fn check_site(
        &self,
        target: &Target<'_>,
        machine: &mut dyn Look,
        site: &Site,
        job: &CpuList,
    ) -> Result<(), String> {
        let (name, mut ranges, mut elsewhere) = (&target.named.name, Vec::new(), false);
        for rule in &self.0 {
            for (_, range) in rule.knobs.iter().filter(|(pattern, _)| pattern.means(name)) {
                let has = range.has(target, machine, site);
                match (has, rule.cpus == Cpus::All || is_of(site, job)) {
                    (true, true) => return Ok(()),
                    (true, false) => elsewhere = true,
                    (false, _) => ranges.push(range.to_string()),
                }
            }
        }
        let what = placed(&format!("{name}={}", target.value), &site.name);
        let cpus = if job.is_empty() { "none".to_owned() } else { job.to_string() };
        Err(match elsewhere {
            true => format!(
                "the access policy does not let you set {what}: it lets you set what belongs to your CPUs alone ({cpus})"
            ),
            false => {
                format!("the access policy does not let you set {what}: it lets you choose {}", ranges.join("; or "))
            }
        })
    }
}

/// Whether one of [`Granted::lines`] is about a knob.
pub(super) fn line_means(line: &str, knob: &str) -> bool {
    line.split_once(": ").is_some_and(|(pattern, _)| Pattern(pattern.to_owned()).means(knob))
}

/// Whether a site belongs to these CPUs and to no other.
fn is_of(site: &Site, job: &CpuList) -> bool {
    let cpus = match (&site.policy, &site.path) {
        (Some(policy), _) => policy.cpus.as_slice().to_vec(),
        (None, Some(path)) => powerband_sysfs::topology::cpu_of(path).into_iter().collect(),
        (None, None) => Vec::new(),
    };
    !cpus.is_empty() && cpus.iter().all(|&cpu| job.contains(cpu))
}
