//! What `--show-metrics` prints: every metric of an experiment after one run of each command, and where its value came from.
use powerband_experiment::{ShownMetric, ShownMetrics, ShownRun};
use powerband_record::{Better, DirectionSource, Matches, format_number};
use powerband_session::Experiment;

use crate::cli::Shared;
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output::{self, Document};

impl Document for ShownMetrics {
    const KIND: &'static str = "metrics";
}

/// Runs each command once and prints what was read; a metric that decides and was not read is a failed load.
pub(crate) fn run(shared: &Shared, experiment: Experiment) -> Answer {
    let Experiment::OnRig(on_rig) = experiment else {
        return Err(usage("a table has its metrics in its columns and runs nothing; leave --show-metrics out"));
    };
    let shown = on_rig.show_metrics()?;
    if shared.json {
        output::print_document(&shown)?;
    } else {
        output::print(&shown.runs.iter().map(text).collect::<Vec<_>>().join("\n"));
    }
    if shown.stopped {
        return Ok(Exit::Stopped as u8);
    }
    match shown.runs.iter().find_map(ShownRun::void) {
        Some(why) => Err(Failure::new(Exit::LoadFailed, why)),
        None => Ok(Exit::Fine as u8),
    }
}

/// Settings that are named.
const NAMED: usize = 4;

fn text(run: &ShownRun) -> String {
    let more = run.settings.len().saturating_sub(NAMED);
    let mut named: Vec<String> = run.settings.iter().take(NAMED).cloned().collect();
    named.extend((more > 0).then(|| format!("{more} more")));
    let mut text = line(&format!("{} ({})", run.load, named.join(", ")));
    if let Some(why) = &run.failed {
        text += &line(&format!("    {why}"));
    }
    if let Some(status) = run.status {
        text += &line(&format!("    ended with {status}"));
    }
    for metric in &run.metrics {
        text += &line(&format!("  {}", value(metric)));
        text.extend(metric.line.as_ref().map(|from| line(&format!("      from: {from}"))));
        text.extend(metric.matches.as_ref().filter(|it| it.count > 1).map(|it| line(&format!("      {}", taken(it)))));
    }
    text
}

/// One line, whatever a command printed.
fn line(text: &str) -> String {
    format!("{}\n", output::one_line(text))
}

/// `ops_per_s = 6000.9 1/s: higher is better (by its name), decides`.
fn value(metric: &ShownMetric) -> String {
    let name = &metric.name;
    let Some(value) = metric.value else {
        return format!("{name}: not read: {}", metric.why.as_deref().unwrap_or_default());
    };
    let better = match metric.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    };
    let known = match metric.direction {
        DirectionSource::Stated => "as stated".to_owned(),
        DirectionSource::Measured => "known".to_owned(),
        DirectionSource::Name => "by a word of its name".to_owned(),
        DirectionSource::Guessed => format!("guessed; if higher is, use {name}=…:higher"),
    };
    let role = if metric.judged { "decides" } else { "is only shown" };
    let value = format!("{} {}", format_number(value), metric.unit);
    format!("{name} = {}: {better} is better ({known}), {role}", value.trim_end())
}

/// `the last of 4 matches, from '1000' to '6000.90'`.
fn taken(matches: &Matches) -> String {
    let Matches { count, first, last, taken } = matches;
    let taken = taken.word();
    format!("the {taken} of {count} matches, the first '{first}' and the last '{last}'")
}
