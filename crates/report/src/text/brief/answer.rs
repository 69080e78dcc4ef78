//! What an experiment answers, in a few sentences with its numbers: the end of every report on a terminal.
use std::collections::BTreeSet;

use powerband_record::{CloseReason, Level, Metric, SettingVerdict, Verdict};

use super::super::names::{baseline_values, is_baseline, reference};
use super::table::{others, ranked};
use super::words::{Kind, clause, interval, kind, noun, shown, size};
use crate::advice::obstacle;
use crate::change::margin_of;
use crate::labels::join_labels;
use crate::sentence;
use crate::words::{capital, counted, word};
use crate::{ExperimentEnd, Model, advice, calibration, commands, no_advice, requirements};

/// Settings named in one clause.
const NAMED: usize = 3;
/// Why a verdict is open, where nothing else is known.
const INCONCLUSIVE: &str = "inconclusive";
/// Metrics besides the decision metrics in one sentence.
const BESIDES: usize = 2;

/// A sentence of the answer.
pub(super) struct Sentence {
    pub(super) text: String,
    /// Whether it only says in words what the table shows.
    pub(super) in_table: bool,
}

/// The sentences, in the order they are read.
pub(super) fn sentences(model: &Model) -> Vec<Sentence> {
    let own = |text| Sentence { text, in_table: false };
    let mut said: Vec<Sentence> = ended(model).into_iter().map(own).collect();
    if model.started.search.is_some() {
        said.extend(super::search::sentences(model).into_iter().map(own));
    } else if model.started.calibration {
        said.extend(calibration::answer(model).into_iter().map(own));
    } else {
        said.extend(compared(model));
        said.extend(failed(model).into_iter().map(own));
        said.extend(requirements::clause(model).map(|clause| own(format!("Required: {clause}."))));
    }
    said
}

/// What a reader has to know before any finding: that the experiment did not come to its own end.
fn ended(model: &Model) -> Option<String> {
    let after = format!("after block {} of {}", model.blocks, model.started.max_blocks);
    match &model.end {
        ExperimentEnd::Closed(CloseReason::LoadFailed { why }) => Some(format!("The load failed: {why}.")),
        ExperimentEnd::Closed(CloseReason::Failed { why }) => Some(format!("Aborted {after}: {why}.")),
        ExperimentEnd::Closed(CloseReason::Stopped) => Some(format!("Stopped by the user {after}.")),
        ExperimentEnd::Interrupted => Some(format!("Interrupted {after}.")),
        ExperimentEnd::Open => Some(format!("No end is recorded, {after}: it is running, or its process died.")),
        ExperimentEnd::Closed(_) => None,
    }
}

fn compared(model: &Model) -> Vec<Sentence> {
    let own = |text| Sentence { text, in_table: false };
    let in_table = |text| Sentence { text, in_table: true };
    let times = times_as_fast(model);
    if !times.is_empty() {
        let open = model.judged().flat_map(|(place, _)| model.verdicts(place)).any(|it| !differs(it));
        let rest = if open { unadvised(model) } else { Vec::new() };
        return times.into_iter().map(own).chain(rest.into_iter().map(in_table)).collect();
    }
    let Some(advice) = advice(model) else {
        let knee = sentence::knee(model).map(|knee| own(format!("{}.", capital(&knee))));
        // Of two commands the verdict says it all.
        let says_all =
            model.settings.len() == 2 && model.judged().any(|(_, metric)| commands::are_compared(model, &metric.name));
        let none = no_advice(model).filter(|_| !says_all).map(|why| own(format!("{}.", capital(&why))));
        return knee.into_iter().chain(unadvised(model).into_iter().map(in_table)).chain(none).collect();
    };
    // Where there was a choice, what it was made by.
    let why = (better(model) > 1 && model.knee.is_none()).then(|| format!("Chosen because {}.", advice.why));
    let said = [own(of_setting(model, advice.setting))].into_iter().chain(why.map(in_table));
    let none = advice.no_command.map(|why| own(format!("There is no command for it: {why}.")));
    said.chain(none).collect()
}

/// Settings whose command failed, and how one whose failure is none is told.
fn failed(model: &Model) -> Vec<String> {
    let all = sentence::failures(model);
    let more = all.len().saturating_sub(NAMED);
    let codes: Vec<String> = (0_u32..)
        .zip(&model.settings)
        .filter_map(|(setting, _)| model.failed(setting))
        .flat_map(|trials| &trials.statuses)
        .map(|status| status.code())
        .collect::<BTreeSet<i32>>()
        .into_iter()
        .map(|code| code.to_string())
        .collect();
    let mut said: Vec<String> = all.into_iter().take(NAMED).map(|clause| format!("{clause}.")).collect();
    said.extend(
        (more > 0)
            .then(|| format!("{} failed too.", counted(u32::try_from(more).unwrap_or(u32::MAX), "other setting"))),
    );
    said.extend((!said.is_empty()).then(|| {
        let codes = codes.join(",");
        format!("What a failed command takes is not judged; if it worked, -i={codes} counts its status as success.")
    }));
    said
}

/// What the comparison of commands comes to: how many times as fast one is as another.
fn times_as_fast(model: &Model) -> Vec<String> {
    let times = model.judged().filter(|(_, metric)| commands::are_compared(model, &metric.name));
    let verdicts = times.flat_map(|(place, _)| model.verdicts(place)).filter(|verdict| differs(verdict));
    verdicts.filter_map(|verdict| Some(format!("{}.", commands::times_as_fast(model, verdict)?))).take(NAMED).collect()
}

fn differs(verdict: &SettingVerdict) -> bool {
    matches!(verdict.verdict, Verdict::Better | Verdict::Worse)
}

/// How many settings are better than the reference in something.
fn better(model: &Model) -> usize {
    let is_better = |it: &&crate::SettingReport| it.verdicts.iter().flatten().any(|it| it.verdict == Verdict::Better);
    model.settings.iter().filter(is_better).count()
}

/// `500MHz: same throughput within 5 %, 6.5 % less power, 0.09 ms more round-trip time (against 600MHz).`
fn of_setting(model: &Model, setting: u32) -> String {
    let knee = if model.knee.as_ref().is_some_and(|knee| knee.knee == Some(setting)) { " (the knee)" } else { "" };
    if setting == 0 {
        // What does the same work for less may be held back by a limit.
        let is_alike = |at: &&u32| model.knee.as_ref().is_some_and(|knee| knee.alike.contains(at));
        let mut cheaper = model.started.cost_order.iter().take_while(|&&at| at != 0).filter(is_alike);
        return match cheaper.find_map(|&at| Some((at, obstacle(model, at)?))) {
            Some((at, why)) => format!("{}{knee}: {} does the same work, but {why}.", model.label(0), model.label(at)),
            None => format!("{}{knee}: nothing cheaper does the same work.", model.label(0)),
        };
    }
    let gains = gains(model, setting).join(", ");
    format!("{}{knee}: {gains}, compared with {}.", model.label(setting), of_reference(model))
}

/// What a setting gains and costs against the reference, a clause each: the decision metrics, then what else differs.
pub(crate) fn gains(model: &Model, setting: u32) -> Vec<String> {
    let Some(report) = usize::try_from(setting).ok().and_then(|at| model.settings.get(at)) else {
        return Vec::new();
    };
    let decided: Vec<(&Metric, &SettingVerdict)> =
        model.judged().filter_map(|(place, metric)| Some((metric, report.verdicts.get(place)?.as_ref()?))).collect();
    let alone = decided.len() == 1;
    let clauses = decided.iter().map(|(metric, verdict)| {
        let differs = verdict.verdict != Verdict::Same;
        clause(model, metric, verdict, alone && differs)
    });
    clauses.chain(besides(model, setting)).collect()
}

/// The reference with the values of the baseline, where it is that.
fn of_reference(model: &Model) -> String {
    match baseline_values(model).filter(|_| is_baseline(model, 0)) {
        Some(values) => format!("the baseline ({values})"),
        None => reference(model),
    }
}

/// What else differs at a setting, one metric of each kind that nothing was decided of: power, then latencies.
fn besides(model: &Model, setting: u32) -> Vec<String> {
    let levels = |at: u32| usize::try_from(at).ok().and_then(|at| model.settings.get(at)).map(|it| &it.levels);
    let Some((then, now)) = levels(0).zip(levels(setting)) else { return Vec::new() };
    let mut kinds: Vec<Kind> = model.judged().map(|(_, metric)| kind(&metric.name)).chain([Kind::Other]).collect();
    let mut said = Vec::new();
    for place in others(model) {
        let Some(metric) = model.started.metrics.get(place).filter(|it| !kinds.contains(&kind(&it.name))) else {
            continue;
        };
        let level = |of: &[Option<Level>]| of.get(place).cloned().flatten();
        let Some(clause) = level(then).zip(level(now)).and_then(|(then, now)| shown(metric, &then, &now)) else {
            continue;
        };
        kinds.push(kind(&metric.name));
        said.push(clause);
    }
    said.truncate(BESIDES);
    said
}

/// Where nothing is recommended: what each decision metric says of each setting.
fn unadvised(model: &Model) -> Vec<String> {
    let others = model.settings.len().saturating_sub(1);
    if others == 0 {
        return sentence::only_level(model).map(|level| format!("{level}.")).into_iter().collect();
    }
    let any = model.judged().any(|(place, _)| model.verdicts(place).next().is_some());
    if !any {
        return vec![nothing(model)];
    }
    if others == 1 {
        return one(model);
    }
    let judged: Vec<(usize, &Metric)> =
        model.judged().filter(|(place, _)| model.verdicts(*place).next().is_some()).collect();
    match judged.as_slice() {
        [(place, metric)] => by_metric(model, *place, metric).into_iter().collect(),
        several => by_pattern(model, several),
    }
}

/// A verdict, and why it is withheld.
type Found<'m> = (Verdict, Option<&'m str>);

/// Settings with the same verdicts together: `ondemand and conservative: same requests/s, better power, worse mean latency`.
fn by_pattern(model: &Model, judged: &[(usize, &Metric)]) -> Vec<String> {
    let mut groups: Vec<(Vec<Option<Found>>, Vec<u32>)> = Vec::new();
    let all: Vec<u32> = (0_u32..).zip(&model.settings).skip(1).map(|(setting, _)| setting).collect();
    // As the table ranks them: it shows those that are named first.
    for setting in ranked(model, &all) {
        let report = model.settings.get(setting as usize);
        let found = |(place, _): &(usize, &Metric)| {
            let verdict = report?.verdicts.get(*place)?.as_ref()?;
            Some((verdict.verdict, verdict.withheld.as_deref()))
        };
        let pattern: Vec<Option<Found>> = judged.iter().map(found).collect();
        if pattern.iter().all(Option::is_none) {
            continue;
        }
        match groups.iter_mut().find(|(known, _)| *known == pattern) {
            Some((_, settings)) => settings.push(setting),
            None => groups.push((pattern, vec![setting])),
        }
    }
    let sentence = |(pattern, settings): &(Vec<Option<Found>>, Vec<u32>)| {
        if let [one] = settings.as_slice() {
            return of_setting(model, *one);
        }
        let names: Vec<String> = settings.iter().map(|setting| model.label(*setting)).collect();
        let clauses = pattern.iter().zip(judged).filter_map(|(found, (_, metric))| {
            Some(match (*found)? {
                (Verdict::Undecided, withheld) => {
                    format!("{} undecided ({})", noun(&metric.name), withheld.unwrap_or(INCONCLUSIVE))
                }
                (verdict, _) => format!("{} {}", word(verdict), noun(&metric.name)),
            })
        });
        let clauses = clauses.collect::<Vec<_>>().join(", ");
        format!("{}: {clauses}, compared with {}.", join_labels(&names, NAMED), of_reference(model))
    };
    groups.iter().map(sentence).collect()
}

fn nothing(model: &Model) -> String {
    match (&model.end, model.blocks) {
        (ExperimentEnd::Closed(CloseReason::Blocks | CloseReason::Budget), few)
            if few < sentence::first_look(model) =>
        {
            format!(
                "Nothing could be compared: it ended after {}, and the first look comes after {}; allow more with -r, --blocks \
                 or --budget.",
                counted(few, "block"),
                sentence::first_look(model)
            )
        }
        _ => "Nothing was compared.".to_owned(),
    }
}

/// The one setting against the reference.
fn one(model: &Model) -> Vec<String> {
    let verdicts = model.judged().filter_map(|(place, metric)| Some((metric, model.verdicts(place).next()?)));
    let mut said = Vec::new();
    let mut clauses = Vec::new();
    for (metric, verdict) in verdicts {
        if verdict.verdict == Verdict::Undecided {
            let size = interval(verdict).map(|between| {
                let way = if verdict.change < 0.0 { "less" } else { "more" };
                format!(" (estimate {} {way}, {between})", size(verdict))
            });
            let more = model.missing_of(std::iter::once(verdict));
            let more = more.map(|blocks| format!("; needs {}", about(blocks))).unwrap_or_default();
            said.push(format!(
                "{}: undecided ({}) after {}{}{more}.",
                heading(&metric.name),
                why_open(verdict),
                counted(verdict.blocks, "block"),
                size.unwrap_or_default()
            ));
        } else {
            clauses.push(clause(model, metric, verdict, verdict.verdict != Verdict::Same));
        }
    }
    if clauses.is_empty() {
        return said;
    }
    clauses.extend(besides(model, 1));
    said.insert(0, format!("{}: {}, compared with {}.", model.label(1), clauses.join(", "), of_reference(model)));
    said
}

/// `about 6-20 more blocks`.
fn about((low, high): (u32, u32)) -> String {
    if low == high {
        format!("about {}", counted(low, "more block"))
    } else {
        format!("about {low}-{high} more blocks")
    }
}

/// `Throughput: 125MHz and 250MHz worse than 600MHz; 500MHz same within 5 %.`
fn by_metric(model: &Model, place: usize, metric: &Metric) -> Option<String> {
    let all: Vec<&SettingVerdict> = model.verdicts(place).collect();
    let reference = of_reference(model);
    let mut clauses = Vec::new();
    for (verdict, word) in [(Verdict::Better, "better than"), (Verdict::Worse, "worse than")] {
        let of: Vec<&SettingVerdict> = all.iter().copied().filter(|it| it.verdict == verdict).collect();
        match of.as_slice() {
            [] => {}
            [one] => clauses.push(format!("{} {word} {reference} by {}", model.label(one.setting), size(one))),
            several => clauses.push(format!("{} {word} {reference}", listed(model, several))),
        }
    }
    let of = |verdict| all.iter().copied().filter(|it: &&SettingVerdict| it.verdict == verdict).collect::<Vec<_>>();
    let same = of(Verdict::Same);
    if !same.is_empty() {
        let margin = margin_of(model, &metric.name);
        clauses.push(format!("{} the same within {margin}", listed(model, &same)));
    }
    let (withheld, open): (Vec<_>, Vec<_>) =
        of(Verdict::Undecided).into_iter().partition(|verdict| verdict.withheld.is_some());
    for some in withheld.chunk_by(|a, b| a.withheld == b.withheld) {
        clauses.push(format!("{} undecided ({})", listed(model, some), why_open(some[0])));
    }
    if !open.is_empty() {
        let more = model.missing_of(open.iter().copied());
        // Of several it is the number that decides the last one.
        let needs = if open.len() > 1 { "all decided after" } else { "needs" };
        let more = more.map(|blocks| format!(", {needs} {}", about(blocks))).unwrap_or_default();
        clauses.push(format!("{} undecided ({INCONCLUSIVE}{more})", listed(model, &open)));
    }
    let noun = heading(&metric.name);
    (!clauses.is_empty()).then(|| format!("{noun}: {}.", clauses.join("; ")))
}

/// Why a verdict is open.
fn why_open(verdict: &SettingVerdict) -> &str {
    verdict.withheld.as_deref().unwrap_or(INCONCLUSIVE)
}

/// A metric at the beginning of a sentence; a name that stays a name is spelled as it is.
fn heading(metric: &str) -> String {
    let noun = noun(metric);
    if noun == metric || noun.contains('_') { noun } else { capital(&noun) }
}

fn listed(model: &Model, of: &[&SettingVerdict]) -> String {
    let names: Vec<String> = of.iter().map(|it| model.label(it.setting)).collect();
    join_labels(&names, NAMED)
}
