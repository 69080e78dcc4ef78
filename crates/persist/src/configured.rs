//! Which line of a configuration a program went by when it wrote to a knob.
use powerband_knob::{Value, resolve};
use powerband_record::Writer;
use serde::Serialize;

use crate::{BootFinding, BootPhase, BootStanding, KnobSetter};

/// Programs that only carry out what others wrote down: their names say nothing.
const CARRIERS: [&str; 14] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "busybox",
    "env",
    "python",
    "python3",
    "perl",
    "cat",
    "tee",
    "sudo",
    "powerband",
];

/// A line of a configuration that explains a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Configured {
    /// Who goes by it: `TuneD`.
    pub who: String,
    /// The file.
    pub path: String,
    /// The line in it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// That line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Whether it is the writer's own; else it only sets the value that was written.
    pub of_writer: bool,
}

impl Configured {
    /// Its place, for people: `/etc/tuned/ours/tuned.conf:4`.
    #[must_use]
    pub fn place(&self) -> String {
        self.line.map_or_else(|| self.path.clone(), |line| format!("{}:{line}", self.path))
    }
}

impl KnobSetter {
    /// The line that a writer went by when it wrote what reads now: the writer's own, of those the one with this value, or
    /// else one that sets this value after the boot.
    #[must_use]
    pub fn configured(&self, by: &Writer, reads: Option<&str>) -> Option<Configured> {
        let same = |finding: &BootFinding| {
            let named = resolve(&self.knob).ok();
            let is = |value: &String| {
                let value = Value::Text(value.clone());
                named.as_ref().zip(reads).is_some_and(|(named, reads)| named.knob.same(&value, reads))
            };
            finding.values.iter().any(is)
        };
        let names = names(by);
        let ranked = self.findings.iter().filter(|finding| is_candidate(finding)).filter_map(|finding| {
            let own = names.iter().any(|name| concerns(finding, name));
            let acts = matches!(finding.standing, BootStanding::Acts | BootStanding::Overridden { .. });
            let rank = (own, same(finding), acts, finding.line.is_some());
            // A value alone explains nothing where what would set it does not act.
            (own || (rank.1 && acts)).then_some((rank, finding))
        });
        // The last of equals: it acts last.
        let (rank, finding) = ranked.max_by_key(|(rank, _)| *rank)?;
        let BootFinding { who, path, line, text, .. } = finding.clone();
        Some(Configured { who, path, line, text, of_writer: rank.0 })
    }
}

/// What the kernel did before any program, and what powerband set, is nobody's configuration.
fn is_candidate(finding: &BootFinding) -> bool {
    finding.phase > BootPhase::Driver && finding.phase != BootPhase::Running
}

/// Names that a writer's configuration may go by: its unit's, its program's, without what systemd puts around them.
fn names(by: &Writer) -> Vec<String> {
    let unit = by.unit.as_deref().map(|unit| unit.rsplit_once('.').map_or(unit, |(name, _)| name));
    let all = unit.into_iter().chain(by.program.as_deref());
    let mut names: Vec<String> = Vec::new();
    for name in all.filter(|name| !CARRIERS.contains(name) && !name.starts_with("session-")) {
        let plain = plain(name);
        let bare = plain.strip_prefix("systemd-").unwrap_or(&plain).to_owned();
        names.extend(bare.strip_suffix('d').filter(|name| name.len() > 2).map(str::to_owned));
        names.push(bare);
        names.push(plain);
    }
    names
}

/// Whether a finding's subject or file has this name, as a whole word.
fn concerns(finding: &BootFinding, name: &str) -> bool {
    let has = |text: &str| format!("-{}-", plain(text)).contains(&format!("-{name}-"));
    has(&finding.who) || has(&finding.path)
}

/// In small letters, with one dash for all that is neither a letter nor a digit.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(phase: BootPhase, who: &str, path: &str, value: &str) -> BootFinding {
        let mut finding =
            BootFinding::new(who, path).line(4, "governor=…").sets(vec![value.into()], vec!["policy0".into()]);
        finding.phase = phase;
        finding
    }

    fn by(program: Option<&str>, unit: Option<&str>) -> Writer {
        Writer { pid: Some(4711), program: program.map(Into::into), unit: unit.map(Into::into), inferred: None }
    }

    #[test]
    fn a_writer_went_by_its_own_line_or_by_one_with_the_value() {
        let findings = vec![
            finding(BootPhase::Kernel, "the kernel", "/boot/config", "ondemand"),
            finding(BootPhase::Devices, "udev", "/etc/udev/rules.d/50-cpu.rules", "powersave"),
            finding(BootPhase::Services, "cpufrequtils", "/etc/default/cpufrequtils", "performance"),
            finding(BootPhase::Services, "ours.service", "/etc/systemd/system/ours.service", "conservative"),
            finding(BootPhase::Daemons, "TuneD", "/etc/tuned/ours/tuned.conf", "ondemand"),
            finding(BootPhase::Daemons, "TuneD", "/etc/tuned/ours/tuned.conf", "performance")
                .line(5, "governor=performance"),
        ];
        let why =
            KnobSetter { knob: "cpufreq.governor".into(), sentence: String::new(), readings: Vec::new(), findings };
        for (program, unit, reads, told) in [
            (Some("tuned"), Some("tuned.service"), "ondemand", Some(("/etc/tuned/ours/tuned.conf", true))),
            (
                Some("(udev-worker)"),
                Some("systemd-udevd.service"),
                "powersave",
                Some(("/etc/udev/rules.d/50-cpu.rules", true)),
            ),
            (Some("sh"), Some("ours.service"), "conservative", Some(("/etc/systemd/system/ours.service", true))),
            // By hand: what sets the same value is named, and that it is not known to be it.
            (Some("sh"), Some("session-3.scope"), "powersave", Some(("/etc/udev/rules.d/50-cpu.rules", false))),
            // What the kernel begins with is written by nobody.
            (Some("sh"), None, "userspace", None),
            // A shell's name is in many paths, and means none of them.
            (Some("sh"), None, "schedutil", None),
        ] {
            let found = why.configured(&by(program, unit), Some(reads));
            let found = found.as_ref().map(|found| (found.path.as_str(), found.of_writer));
            assert_eq!(found, told, "{program:?} {unit:?} {reads}");
        }
        let line = |reads| why.configured(&by(Some("tuned"), None), Some(reads)).and_then(|found| found.line);
        assert_eq!((line("ondemand"), line("performance")), (Some(4), Some(5)), "the writer's line with this value");
    }

    #[test]
    fn what_is_off_explains_no_value() {
        let off = finding(BootPhase::Services, "cpufrequtils", "/etc/default/cpufrequtils", "performance")
            .standing(BootStanding::Off { why: "nothing starts it".into() });
        let why = KnobSetter {
            knob: "cpufreq.governor".into(),
            sentence: String::new(),
            readings: Vec::new(),
            findings: vec![off],
        };
        assert_eq!(why.configured(&by(Some("sh"), None), Some("performance")), None);
        assert!(why.configured(&by(Some("cpufrequtils"), None), Some("performance")).is_some(), "started by hand");
    }
}
