//! What `guard` prints of each change, what it counts, and the text for node_exporter.
use std::collections::{BTreeMap, BTreeSet};

use powerband_machine::DEVICES_REPORTED;
use powerband_persist::{Configured, KnobChange};
use powerband_record::{Side, Writer};
use powerband_watch::{Family, LabelledValue, OPENMETRICS_END, family};
use schemars::JsonSchema;
use serde::Serialize;

use super::wanted::Check;
use crate::output::Document;
use crate::verb::why::watch::what_changed;

/// One change, on a line of its own.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Line {
    /// When, Unix ms.
    pub(super) at_unix_ms: u64,
    /// What was changed, and by whom.
    #[serde(flatten)]
    pub(super) change: KnobChange,
    /// The line of a configuration that the writer went by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) configured: Option<Configured>,
    /// What the powerband that wrote is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) powerband: Option<String>,
    /// What guard did.
    pub(super) outcome: Outcome,
    /// Why it did not set the knob again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

impl Document for Line {
    const KIND: &'static str = "guard";
}

/// What guard did about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// It reported it.
    Reported,
    /// It set the wanted value, which was not in force and was changed by nobody that could be seen.
    Set,
    /// It set the wanted value again.
    SetAgain,
    /// It left the knob to another powerband.
    Left,
    /// It could not set the wanted value.
    Failed,
    /// It holds the knob no longer.
    GivenUp,
}

/// What `--once` found.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// Each knob at each of its sites.
    pub(super) checks: Vec<Check>,
}

impl Document for Checked {
    const KIND: &'static str = "guard-once";
}

impl Line {
    /// `23:40:07.113 cpufreq.governor@policy0: performance → ondemand, by pid 4711 (tuned, tuned.service), configured by
    /// /etc/tuned/ours/tuned.conf:4; set again`.
    pub(super) fn words(&self) -> String {
        let what = what_changed(Side::Near, self.at_unix_ms, &self.change);
        let by: Vec<String> = self.change.by.iter().map(who).collect();
        let who = match (&self.powerband, by.is_empty()) {
            (Some(doing), _) => format!(", by {doing}"),
            (None, false) => format!(", by {}", by.join(" and ")),
            (None, true) if self.outcome == Outcome::Set => String::new(),
            (None, true) => ", and no program was seen writing it".to_owned(),
        };
        let configured = self.configured.as_ref().map_or_else(String::new, |line| match line.of_writer {
            true => format!(", configured by {}", line.place()),
            false => format!(", as {} ({}) would set it", line.place(), line.who),
        });
        let reason = self.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        let done = match self.outcome {
            Outcome::Reported => "",
            Outcome::Set => "; set by guard",
            Outcome::SetAgain => "; set again",
            Outcome::Left => "; left as it is",
            Outcome::Failed => "; NOT SET AGAIN",
            Outcome::GivenUp => "; NO LONGER HELD",
        };
        format!("{what}{who}{configured}{done}{reason}")
    }
}

/// A writer, or what the kernel reported.
fn who(by: &Writer) -> String {
    match by.inferred.as_deref().filter(|_| is_kernel(by)) {
        Some(report) => format!("no program: {report}"),
        None => by.to_string(),
    }
}

/// Whether nobody wrote, and the kernel reported a device.
pub(super) fn is_kernel(by: &Writer) -> bool {
    by.pid.is_none() && by.inferred.as_deref().is_some_and(|why| why.starts_with(DEVICES_REPORTED))
}

/// By what one writer is told from another: its unit, for its processes come and go; else its program.
pub(super) fn opponent(by: &Writer) -> String {
    let named = by.unit.clone().or_else(|| by.program.clone());
    named.unwrap_or_else(|| if by.pid.is_some() { "a program that had ended".into() } else { "somebody".into() })
}

/// What has happened since the beginning.
#[derive(Default)]
pub(super) struct Tally {
    /// Changes by knob and by who made them.
    changes: BTreeMap<(String, String), u64>,
    /// Who made the last one.
    last: Option<String>,
}

impl Tally {
    /// A change of a knob.
    pub(super) fn count(&mut self, knob: &str, by: &str) {
        *self.changes.entry((knob.to_owned(), by.to_owned())).or_default() += 1;
        self.last = Some(by.to_owned());
    }

    /// In a few words, for a service manager.
    pub(super) fn status(&self, checks: &[Check]) -> String {
        let wrong = checks.iter().filter(|it| !it.as_wanted).count();
        let state = if wrong == 0 { "all as wanted".to_owned() } else { format!("{wrong} not as wanted") };
        let total: u64 = self.changes.values().sum();
        let last = self.last.as_ref().map_or_else(String::new, |last| format!(", the last by {last}"));
        let places = if checks.len() == 1 { "place" } else { "places" };
        format!("{} {places}, {state}; {total} changes by others{last}", checks.len())
    }

    /// As text for node_exporter.
    pub(super) fn openmetrics(&self, checks: &[Check], given_up: &BTreeSet<String>) -> String {
        let mut text = String::new();
        let as_wanted: Vec<LabelledValue> = checks
            .iter()
            .map(|it| (vec![("knob", it.knob.clone()), ("site", it.site.clone())], f64::from(u8::from(it.as_wanted))))
            .collect();
        let changes: Vec<LabelledValue> = self
            .changes
            .iter()
            .map(|((knob, by), count)| (vec![("knob", knob.clone()), ("program", by.clone())], *count as f64))
            .collect();
        let given_up: Vec<LabelledValue> = given_up.iter().map(|knob| (vec![("knob", knob.clone())], 1.0)).collect();
        for (name, counts, help, points) in [
            ("powerband_guard_as_wanted", false, "Whether the knob reads as wanted.", as_wanted),
            ("powerband_guard_foreign_changes", true, "Changes of the knob by other programs.", changes),
            ("powerband_guard_given_up", false, "Knobs that guard holds no longer.", given_up),
        ] {
            family(&mut text, &Family { name, counts, unit: "", help }, &points);
        }
        text + OPENMETRICS_END
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(site: &str, as_wanted: bool) -> Check {
        let (knob, wanted) = ("cpufreq.governor".into(), "performance".into());
        Check { knob, site: site.into(), wanted, reads: None, as_wanted, shown: String::new(), asked: None }
    }

    #[test]
    fn a_text_for_node_exporter_has_states_and_counts() {
        let (mut tally, checks) = (Tally::default(), [check("policy0", true), check("policy1", false)]);
        tally.count("cpufreq.governor", "tuned.service");
        tally.count("cpufreq.governor", "tuned.service");
        assert_eq!(
            tally.openmetrics(&checks, &BTreeSet::new()),
            "# TYPE powerband_guard_as_wanted gauge\n\
             # HELP powerband_guard_as_wanted Whether the knob reads as wanted.\n\
             powerband_guard_as_wanted{knob=\"cpufreq.governor\",site=\"policy0\"} 1\n\
             powerband_guard_as_wanted{knob=\"cpufreq.governor\",site=\"policy1\"} 0\n\
             # TYPE powerband_guard_foreign_changes counter\n\
             # HELP powerband_guard_foreign_changes Changes of the knob by other programs.\n\
             powerband_guard_foreign_changes_total{knob=\"cpufreq.governor\",program=\"tuned.service\"} 2\n\
             # EOF\n"
        );
        assert_eq!(tally.status(&checks), "2 places, 1 not as wanted; 2 changes by others, the last by tuned.service");
    }
}
