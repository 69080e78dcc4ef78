//! `why`: who set a knob, in the order of time; `--watch` is below.
pub(crate) mod watch;

use powerband_persist::{Finding, Standing, Why, why};
use powerband_record::{KnobRef, Side};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Shared, WhyKnob};
use crate::exit::{Answer, Exit, usage};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};

/// The knob that is meant when none is named.
const USUAL: &str = "governor";

/// Who set knobs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Answers {
    /// Each knob on each machine that is meant.
    answers: Vec<Answered>,
}

/// Who set a knob of one machine.
#[derive(Serialize, JsonSchema)]
struct Answered {
    /// Of which machine.
    side: Side,
    /// What was found.
    why: Why,
}

impl Document for Answers {
    const KIND: &'static str = "why";
}

pub(crate) fn run(shared: &Shared, args: &WhyKnob) -> Answer {
    if args.watch {
        return watch::run(shared, args);
    }
    let mut rig = rig::open(shared, Purpose::Look)?;
    let names = if args.knobs.is_empty() { vec![USUAL.to_owned()] } else { args.knobs.clone() };
    let mut answers = Vec::new();
    for name in &names {
        let knob = KnobRef::parse(name).map_err(usage)?;
        for &side in knob.side.each() {
            let machine = rig.world().machine(side).ok_or_else(|| rig::no_far(name))?;
            let found = why(machine, &knob, &rig::selection(shared)?)?;
            answers.push(Answered { side, why: found });
        }
    }
    // What a lost machine does not answer is no finding.
    rig::check_lost(rig.world())?;
    if shared.json {
        return output::say_document(&Answers { answers });
    }
    let told = answers.iter().map(|Answered { side, why }| tell(if *side == Side::Far { "far/" } else { "" }, why));
    output::say(&told.collect::<Vec<_>>().join("\n"));
    Ok(Exit::Fine as u8)
}

/// The sentence, and the findings below it in the order of time.
fn tell(side: &str, why: &Why) -> String {
    let mut text = format!("{side}{}: {}\n", why.knob, why.sentence);
    let mut phase = None;
    for finding in &why.findings {
        if phase != Some(finding.phase) {
            text += &format!("{}\n", finding.phase.words());
            phase = Some(finding.phase);
        }
        let line = if finding.text.is_empty() { String::new() } else { format!(": {}", finding.text) };
        text += &format!("    {}{line}\n        {}\n", finding.place(), remarks(finding));
    }
    text
}

/// What came of a finding, in one line.
fn remarks(finding: &Finding) -> String {
    let value = match &finding.values[..] {
        [] => String::new(),
        [one] => format!(" ({one})"),
        several => format!(" (one of {})", several.join(", ")),
    };
    let how = finding.how.as_ref().filter(|how| !finding.text.contains(how.as_str()));
    let (who, how) = (&finding.who, how.map(|how| format!(", {how}")).unwrap_or_default());
    match &finding.standing {
        Standing::Acts if finding.values.is_empty() => format!("acts: {who}{how}; what it sets is not known"),
        Standing::Acts if finding.explains => format!("acts: {who}{value}{how}; what reads now comes from here"),
        Standing::Acts => format!("acts: {who}{value}{how}; it is not what reads now"),
        Standing::Overridden { by } => format!("overridden: {who}{value}{how}; {by} acts after it"),
        Standing::Off { why } => format!("off: {who}{value}; {why}"),
        Standing::Unsure { why } => format!("perhaps: {who}{value}; {why}"),
        Standing::Unreadable { why } => format!("not read: {why}"),
    }
}
