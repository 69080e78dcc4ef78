//! What set a knob, in words.
use crate::{BootFinding, BootStanding, KnobSetter};

impl KnobSetter {
    /// The sentence, and the findings below it in the order of time.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.knob, self.sentence);
        let mut phase = None;
        for finding in &self.findings {
            if phase != Some(finding.phase) {
                text += &format!("{}\n", finding.phase.words());
                phase = Some(finding.phase);
            }
            let line = if finding.text.is_empty() { String::new() } else { format!(": {}", finding.text) };
            text += &format!("    {}{line}\n        {}\n", finding.place(), remarks(finding));
        }
        text
    }
}

/// What came of a finding, in one line.
fn remarks(finding: &BootFinding) -> String {
    let value = match &finding.values[..] {
        [] => String::new(),
        [one] => format!(" ({one})"),
        several => format!(" (one of {})", several.join(", ")),
    };
    let how = finding.how.as_ref().filter(|how| !finding.text.contains(how.as_str()));
    let (who, how) = (&finding.who, how.map(|how| format!(", {how}")).unwrap_or_default());
    match &finding.standing {
        BootStanding::Acts if finding.values.is_empty() => format!("acts: {who}{how}; what it sets is not known"),
        BootStanding::Acts if finding.explains => format!("acts: {who}{value}{how}; what reads now comes from here"),
        BootStanding::Acts => format!("acts: {who}{value}{how}; it is not what reads now"),
        BootStanding::Overridden { by } => format!("overridden: {who}{value}{how}; {by} acts after it"),
        BootStanding::Off { why } => format!("off: {who}{value}; {why}"),
        BootStanding::Unsure { why } => format!("perhaps: {who}{value}; {why}"),
        BootStanding::Unreadable { why } => format!("not read: {why}"),
    }
}
