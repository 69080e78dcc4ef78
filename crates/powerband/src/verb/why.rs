//! `why`: who set a knob, in the order of time; `--watch` is below.
mod watch;

use powerband_persist::{Finding, Standing, Why, why};
use powerband_record::{KnobRef, Side};

use crate::cli::{Shared, WhyKnob};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output;
use crate::rig::{self, Purpose};

/// The knob that is meant when none is named.
const USUAL: &str = "governor";

pub(crate) fn run(shared: &Shared, args: &WhyKnob) -> Answer {
    if args.watch {
        return watch::run(shared, args);
    }
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, Purpose::Look)?;
    let names = if args.knobs.is_empty() { vec![USUAL.to_owned()] } else { args.knobs.clone() };
    let mut answers = Vec::new();
    for name in &names {
        let knob = KnobRef::parse(name).map_err(usage)?;
        for &side in knob.side.each() {
            let machine = rig.world().machine(side).ok_or_else(|| no_far(name))?;
            let found = why(machine, &knob, &rig::narrow(shared)?).map_err(rig::knob_failure)?;
            answers.push((side, found));
        }
    }
    // What a lost machine does not answer is no finding.
    rig::lost(rig.world()).map_or(Ok(()), Err)?;
    if shared.json {
        let rows: Vec<_> = answers.iter().map(|(side, why)| serde_json::json!({ "side": side, "why": why })).collect();
        return output::say_json(&serde_json::json!({ "version": 1, "answers": rows }));
    }
    let told = answers.iter().map(|(side, why)| tell(if *side == Side::Far { "far/" } else { "" }, why));
    output::say(&told.collect::<Vec<_>>().join("\n"));
    Ok(Exit::Fine as u8)
}

fn no_far(name: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{name} is on the far machine, and there is none; name it with --far"))
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
        Standing::Acts if finding.values.is_empty() => format!("acts: {who}{how}; what it sets cannot be told"),
        Standing::Acts if finding.explains => format!("acts: {who}{value}{how}; what reads now comes from here"),
        Standing::Acts => format!("acts: {who}{value}{how}; it is not what reads now"),
        Standing::Overridden { by } => format!("overridden: {who}{value}{how}; {by} acts after it"),
        Standing::Off { why } => format!("off: {who}{value}; {why}"),
        Standing::Unsure { why } => format!("perhaps: {who}{value}; {why}"),
        Standing::Unreadable { why } => format!("not read: {why}"),
    }
}
