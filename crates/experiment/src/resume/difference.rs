//! What tells two events apart, in words: the one that stands, and the one that came instead.
use powerband_record::{Event, Started};

/// One sentence: which trial, what it was, what it is now.
pub(super) fn difference(started: &Started, stands: &[Event], was: &Event, is: &Event) -> String {
    let place = trial(was).or_else(|| trial(is)).map_or_else(
        || "what follows from the trials".to_owned(),
        |number| format!("trial {number}{}", whereabouts(started, stands, number)),
    );
    let (then, now) = told_apart(was, is);
    format!("{place} differs from the journal: it was {then}, and is now {now}")
}

fn trial(event: &Event) -> Option<u32> {
    match event {
        Event::TrialStarted(planned) => Some(planned.trial),
        Event::Landed { trial, .. }
        | Event::Repeats { trial, .. }
        | Event::TrialDone { trial, .. }
        | Event::TrialVoid { trial, .. } => Some(*trial),
        _ => None,
    }
}

/// Block and setting of a trial.
fn whereabouts(started: &Started, stands: &[Event], number: u32) -> String {
    let planned = stands.iter().find_map(|event| match event {
        Event::TrialStarted(planned) if planned.trial == number => Some(planned),
        _ => None,
    });
    let Some(planned) = planned else { return String::new() };
    let label = started.settings.get(planned.setting as usize).map_or("?", |setting| setting.label.as_str());
    match planned.block {
        0 => format!(" (warm-up, {label})"),
        block => format!(" (block {block}, {label})"),
    }
}

/// Both as narrowly as they differ.
fn told_apart(was: &Event, is: &Event) -> (String, String) {
    if let (
        Event::TrialDone { outcome: then, at_ns: then_ns, .. },
        Event::TrialDone { outcome: now, at_ns: now_ns, .. },
    ) = (was, is)
    {
        let names = then.metrics.keys().chain(now.metrics.keys());
        let differs = names.into_iter().find(|name| then.metrics.get(*name) != now.metrics.get(*name));
        if let Some(name) = differs {
            let value = |value: Option<&f64>| value.map_or_else(|| "missing".into(), ToString::to_string);
            return (format!("{name} {}", value(then.metrics.get(name))), value(now.metrics.get(name)));
        }
        if then_ns != now_ns {
            return (format!("at its end after {then_ns} ns"), format!("after {now_ns} ns"));
        }
        return ("another output of the load".into(), "this one".into());
    }
    let (then, now) = (kind(was), kind(is));
    // Of one kind, only the whole of both shows it.
    if then == now { (whole(was), whole(is)) } else { (then, now) }
}

fn whole(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_else(|_| kind(event))
}

fn kind(event: &Event) -> String {
    match event {
        Event::Started(_) => "the beginning".into(),
        Event::TrialStarted(planned) => format!("the beginning of trial {}", planned.trial),
        Event::Repeats { runs, .. } => format!("{runs} runs a trial"),
        Event::Landed { site, .. } => format!("{} turned at {}", site.knob, site.site),
        Event::TrialDone { .. } => "valid".into(),
        Event::TrialVoid { why, .. } => format!("void ({why})"),
        Event::BlockDone(done) => format!("the end of block {}", done.block),
        Event::SettingLeft { setting, .. } => format!("setting {} leaving", setting + 1),
        Event::Restored { .. } | Event::Closed(_) => "the end of the experiment".into(),
        _ => "something else".into(),
    }
}
