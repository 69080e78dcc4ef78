//! How an experiment was made, for its page: what was measured with what, the plan, the machine and what changed on it,
//! trials that do not count, what measuring cost, where it comes from.
use std::collections::BTreeMap;

use powerband_record::{Better, Event, Fact, FactChange, PlannedTrial, ReachedSite, Side, Void, format_duration};

use super::html::{Table, facts, list, paragraph, text, typed};
use crate::Model;
use crate::load;
use crate::sentence;
use crate::words;
use crate::words::{counted, percent};

/// What only the events tell and the model leaves out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// How knobs landed, by label of the setting, each kind once, with its trials.
    landed: Vec<(String, ReachedSite, u32)>,
    /// Why a metric that is shown was missing, and in how many trials.
    refused: BTreeMap<(String, String), u32>,
    /// Readings left out of a metric's meter, and in how many trials.
    left_out: BTreeMap<String, (u32, u32)>,
}

impl Account {
    /// Gathers it from a journal.
    #[must_use]
    pub fn from_events(events: &[Event]) -> Account {
        let mut account = Account::default();
        let mut labels: &[_] = &[];
        let mut planned: BTreeMap<u32, PlannedTrial> = BTreeMap::new();
        for event in events {
            match event {
                Event::Started(started) => labels = &started.settings,
                Event::TrialStarted(trial) => drop(planned.insert(trial.trial, *trial)),
                Event::Landed { trial, site } => {
                    let setting = planned.get(trial).and_then(|trial| labels.get(usize::try_from(trial.setting).ok()?));
                    let Some(setting) = setting else { continue };
                    account.land(&setting.label, site);
                }
                Event::TrialDone { outcome, .. } => {
                    for (metric, why) in &outcome.refused {
                        *account.refused.entry((metric.clone(), why.clone())).or_default() += 1;
                    }
                    for (metric, readings) in &outcome.left_out {
                        let (all, trials) = account.left_out.entry(metric.clone()).or_default();
                        (*all, *trials) = (*all + readings, *trials + 1);
                    }
                }
                _ => {}
            }
        }
        account
    }

    fn land(&mut self, label: &str, site: &ReachedSite) {
        match self.landed.iter_mut().find(|(of, there, _)| of == label && there == site) {
            Some((_, _, trials)) => *trials += 1,
            None => self.landed.push((label.to_owned(), site.clone(), 1)),
        }
    }
}

/// What was measured, and with what.
pub(super) fn measured(model: &Model) -> String {
    let plan = &model.started;
    let mut body = facts(&[
        ("Load", load::load_of(model)),
        ("User", plan.user.map(|user| format!("number {user}")).unwrap_or_default()),
        (
            "Meter command",
            plan.command_meter
                .as_ref()
                .map(|meter| format!("{}, by `{}`", meter.boundary, meter.command))
                .unwrap_or_default(),
        ),
    ]);
    let row = |metric: &powerband_record::Metric| {
        let wanted = match metric.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
        };
        let from = plan.picks.iter().find_map(|pick| pick.strip_prefix(&format!("{}=", metric.name)));
        vec![
            metric.name.clone(),
            powerband_record::unit_of(&metric.name).to_owned(),
            if metric.judged { wanted.to_owned() } else { "no".into() },
            metric.boundary.clone().unwrap_or_default(),
            from.unwrap_or_default().to_owned(),
        ]
    };
    let head = ["metric", "unit", "decision metric", "domain of the meter", "taken from"];
    body += &Table::of_words("Metrics", &head, plan.metrics.iter().map(row).collect()).render();
    body
}

/// What was asked for, as resolved.
pub(super) fn plan(model: &Model) -> String {
    let plan = &model.started;
    let order: Vec<String> = plan.cost_order.iter().map(|&setting| model.label(setting)).collect();
    let required: Vec<String> = plan.requirements.iter().map(ToString::to_string).collect();
    let mut told = vec![
        ("Settings", if plan.search.is_some() { String::new() } else { plan.settings.len().to_string() }),
        ("Order", if plan.search.is_some() { String::new() } else { "random within each block".into() }),
        (if plan.search.is_some() { "Run limit" } else { "Block limit" }, plan.max_blocks.to_string()),
        ("Time limit", plan.budget_ns.map(format_duration).unwrap_or_default()),
        ("Settling", format_duration(plan.settle_ns)),
        ("Warm-up", format!("at most {}", counted(plan.warmup, "trial"))),
        ("Error rate", percent(plan.alpha)),
        ("Margin", percent(plan.margin)),
        ("Required", required.join(", ")),
        ("Recorded", plan.record.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
        ("Knee by cost", order.join(" < ")),
    ];
    if let Some(search) = &plan.search {
        let wanted = if search.goal.better == Better::Higher { "most" } else { "least" };
        let factors: Vec<&str> = search.factors.iter().map(|factor| factor.name.as_str()).collect();
        told.push(("Sought", format!("the {wanted} {}", search.goal.name)));
        told.push(("Among", format!("{} settings of {}", search.points.len(), factors.join(", "))));
        told.push(("Within", search.requirements.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
    }
    let mut body = facts(&told);
    if let Some(header) = &model.header {
        body += &paragraph("Command line:");
        body += &typed(&powerband_record::quoted_line(&header.command_line));
    }
    body
}

/// The machine, where its knobs stood, and what changed while it was measured.
pub(super) fn machine(model: &Model, account: &Account) -> String {
    let plan = &model.started;
    let typed = |typed: &Option<String>, name: &str| typed.clone().unwrap_or_else(|| name.to_owned());
    let mut body = facts(&[
        ("Machine", typed(&plan.machine_typed, &plan.machine)),
        ("Machines", plan.machines.join(", ")),
        ("Peer machine", plan.far.as_ref().map(|far| typed(&plan.far_typed, far)).unwrap_or_default()),
        ("System", plan.system.clone()),
        ("Host", model.header.as_ref().map(|header| header.host.clone()).unwrap_or_default()),
        ("CPUs", plan.cpus.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("Restored", sentence::restoration(model)),
    ]);
    body += &list(&model.restored.iter().flat_map(|restored| restored.failed.clone()).collect::<Vec<_>>());
    let row = |(label, site, trials): &(String, ReachedSite, u32)| {
        let (knob, at) = (site.knob.clone(), if site.site == "-" { String::new() } else { site.site.clone() });
        let reads = site.reads_back.clone().unwrap_or_else(|| "cannot be read".into());
        vec![label.clone(), knob, at, site.asked.clone(), reads, site.landed.clone(), trials.to_string()]
    };
    let head = ["setting", "knob", "target", "requested", "effective", "result", "trials"];
    let landed = Table::of_words("Effective values", &head, account.landed.iter().map(row).collect()).render();
    if !landed.is_empty() {
        body += &format!("<details>\n<summary>Effective values by setting</summary>\n{landed}</details>\n");
    }
    let moved = model.voids.iter().filter(|void| matches!(void.why, Void::KnobMoved { .. }));
    let moved: Vec<String> = moved.map(|void| format!("trial {}: {}", void.trial, sentence::void(&void.why))).collect();
    body += &known(&plan.facts);
    body += "<h3>Changes during the experiment</h3>\n";
    body += &match moved.is_empty() {
        true => paragraph("No other process was seen to write to a knob of this experiment."),
        false => list(&moved),
    };
    let changed = model.restored.as_ref().map_or(&[][..], |restored| &restored.changed);
    body + &differences(changed)
}

/// Part and name of what is known of a machine.
fn told_of(side: Side, part: &str) -> String {
    match side {
        Side::Near => part.to_owned(),
        Side::Far => format!("peer, {part}"),
        other => format!("{other}, {part}"),
    }
}

/// The machines as they were found.
fn known(facts: &[Fact]) -> String {
    let row = |fact: &Fact| vec![told_of(fact.side, &fact.part), fact.what.clone(), fact.value.clone()];
    let caption = "State before the experiment";
    Table::of_words(caption, &["part", "what", "value"], facts.iter().map(row).collect()).render()
}

/// What was not as it was when it began, once everything had been restored.
fn differences(changed: &[FactChange]) -> String {
    let stood = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".into());
    let row = |change: &FactChange| {
        vec![told_of(change.side, &change.part), change.what.clone(), stood(&change.was), stood(&change.is)]
    };
    let caption = "Different after everything was restored";
    Table::of_words(caption, &["part", "what", "before", "after"], changed.iter().map(row).collect()).render()
}

/// Trials that do not count, settings that left, values that are missing.
pub(super) fn trials(model: &Model, account: &Account) -> String {
    let mut body = String::new();
    let row = |void: &crate::VoidTrial| {
        let block = if void.block == 0 { "warm-up".to_owned() } else { void.block.to_string() };
        vec![void.trial.to_string(), block, model.label(void.setting), sentence::void(&void.why)]
    };
    let voids = Table::of_words(
        "Void trials (kept, not counted)",
        &["trial", "block", "setting", "why"],
        model.voids.iter().map(row).collect(),
    );
    body += &match model.voids.is_empty() {
        true => paragraph("No trial was void."),
        false => voids.render(),
    };
    let left = model.settings.iter().filter_map(|setting| setting.left.as_ref().map(|left| (setting, left)));
    let left: Vec<Vec<String>> =
        left.map(|(of, left)| vec![of.label.clone(), left.block.to_string(), left.why.clone()]).collect();
    body += &Table::of_words("Settings that stopped early", &["setting", "after block", "why"], left).render();
    let refused = account.refused.iter();
    let refused =
        refused.map(|((metric, why), trials)| format!("{metric} is missing in {}: {why}", counted(*trials, "trial")));
    let left_out = account.left_out.iter().map(|(metric, (readings, trials))| {
        let (readings, trials) = (counted(*readings, "reading"), counted(*trials, "trial"));
        format!("{readings} of the meter of {metric} left out in {trials}: no machine draws what they showed")
    });
    body + &list(&refused.chain(left_out).collect::<Vec<_>>())
}

/// What measuring cost.
pub(super) fn cost(model: &Model) -> String {
    sentence::own_cost(model).map(|cost| paragraph(&format!("powerband itself used {cost}."))).unwrap_or_default()
}

/// Seed, versions, time, and how to do it again.
pub(super) fn origin(model: &Model) -> String {
    let mut told = vec![("Seed", model.started.seed.to_string())];
    if let Some(header) = &model.header {
        told.push(("Experiment", header.id.to_string()));
        told.push(("Started", format!("{} UTC", words::utc(header.started_unix_s))));
        told.push(("Version", format!("powerband {}, journal {}", header.powerband, header.journal_version)));
    }
    let whose = if model.is_simulated() { " of simulated time" } else { "" };
    told.push(("Duration", model.elapsed().map(|time| time + whose).unwrap_or_default()));
    told.push(("Resumed", sentence::resumptions(model).unwrap_or_default()));
    facts(&told)
        + &format!(
            "<p>This page contains the resolved plan. To repeat the experiment on the same machine with the same seed, save the \
             page and run:</p>\n{}",
            typed("powerband run --again FILE.html")
        )
        + &format!(
            "<p>{}</p>\n",
            text("A simulated machine gives the same numbers, a real one new numbers to compare with these.")
        )
}
