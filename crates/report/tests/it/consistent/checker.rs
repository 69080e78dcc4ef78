//! What in a journal's report contradicts its own table, by rules that hold for every experiment. Knows nothing of how a report
//! is made: it reads the model, the headline and the recommendation.
use powerband_record::{Better, CloseReason, Event, SettingVerdict, Standing, Verdict};
use powerband_report::comparison::ComparisonRow;
use powerband_report::json::Report;
use powerband_report::{Advice, ExperimentEnd, Model, advice, no_advice, sentence};

/// Every contradiction, a sentence each.
pub(crate) fn contradictions(events: &[Event]) -> Vec<String> {
    let mut wrong = unreadable(events);
    let model = match Model::from_events(events) {
        Ok(model) => model,
        Err(why) => return vec![why.to_string()],
    };
    if model.started.search.is_some() || model.started.calibration {
        return wrong;
    }
    wrong.extend(intervals(&model));
    wrong.extend(open_though_decided(&model));
    wrong.extend(knee(&model));
    wrong.extend(recommended(&model));
    wrong.extend(words(&model));
    wrong
}

/// What is written must come back as it was, the report as well: a number that is none would not.
fn unreadable(events: &[Event]) -> Vec<String> {
    let comes_back = |event: &Event| {
        let text = serde_json::to_string(event).unwrap_or_default();
        serde_json::from_str::<Event>(&text).is_ok_and(|back| back == *event)
    };
    let mut wrong: Vec<String> = Vec::new();
    for event in events.iter().filter(|event| !comes_back(event)) {
        let text = serde_json::to_string(event).unwrap_or_default();
        wrong.push(format!("an event does not come back from the journal: {text}"));
    }
    if let Ok(model) = Model::from_events(events) {
        let report = Report::new(&model);
        let text = serde_json::to_string(&report).unwrap_or_default();
        if !serde_json::from_str::<Report>(&text).is_ok_and(|back| back == report) {
            wrong.push("the report does not come back from JSON".into());
        }
    }
    wrong
}

fn verdicts(model: &Model) -> impl Iterator<Item = &SettingVerdict> {
    model.settings.iter().flat_map(|setting| &setting.verdicts).flatten()
}

fn verdict(model: &Model, setting: u32, metric: &str) -> Option<Verdict> {
    verdicts(model).find(|it| it.setting == setting && it.metric == metric).map(|it| it.verdict)
}

/// An interval says what its verdict says. Ranks have no interval of their own level.
fn intervals(model: &Model) -> Vec<String> {
    const ROUNDING: f64 = 1e-9;
    let margin = model.started.margin;
    let mut wrong = Vec::new();
    for it in verdicts(model).filter(|_| !model.started.robust) {
        let better = model.started.metrics.iter().find(|metric| metric.name == it.metric).map(|metric| metric.better);
        let (Some(low), Some(high), Some(better)) = (it.low, it.high, better) else { continue };
        let up = (it.verdict == Verdict::Better) == (better == Better::Higher);
        let holds = match it.verdict {
            Verdict::Better | Verdict::Worse => {
                if up {
                    low > -ROUNDING
                } else {
                    high < ROUNDING
                }
            }
            Verdict::Same if it.absolute => true,
            Verdict::Same => high <= margin + ROUNDING && low >= 1.0 / (1.0 + margin) - 1.0 - ROUNDING,
            Verdict::Undecided => true,
        };
        if !holds || it.change < low - ROUNDING || it.change > high + ROUNDING {
            let label = model.label(it.setting);
            wrong.push(format!("{label} is {:?} in {} by {} ({low} .. {high})", it.verdict, it.metric, it.change));
        }
    }
    wrong
}

/// Where everything was decided, everything is.
fn open_though_decided(model: &Model) -> Vec<String> {
    if model.end != ExperimentEnd::Closed(CloseReason::Decided) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (setting, report) in (0_u32..).zip(&model.settings).skip(1) {
        if report.left.as_ref().is_some_and(|left| left.why.starts_with("void")) {
            continue;
        }
        for (_, metric) in model.judged() {
            if verdict(model, setting, &metric.name).is_none_or(|it| it == Verdict::Undecided) {
                wrong.push(format!("everything was decided, but {} in {} is not", report.label, metric.name));
            }
        }
        let open = model.requirements.iter().any(|it| it.setting == setting && it.found.standing == Standing::Open);
        if open {
            wrong.push(format!("everything was decided, but a requirement of {} is not", report.label));
        }
    }
    let headline = sentence::headline(model);
    if wrong.is_empty()
        && headline.contains("undecided")
        && !model.settings.iter().any(|it| it.left.as_ref().is_some_and(|left| left.why.starts_with("void")))
    {
        wrong.push("everything was decided, but the headline says undecided".into());
    }
    wrong
}

/// A knee is named only where its own equivalence is decided, and "no knee" only where all others lose.
fn knee(model: &Model) -> Vec<String> {
    let mut wrong = Vec::new();
    let Some(found) = &model.knee else { return wrong };
    let fine = |setting: u32| {
        setting == 0 || matches!(verdict(model, setting, &found.metric), Some(Verdict::Same | Verdict::Better))
    };
    for named in found.knee.iter().chain(&found.alike) {
        if !fine(*named) {
            wrong.push(format!(
                "{} is named as the knee or as alike, and the table does not say so",
                model.label(*named)
            ));
        }
    }
    if found.alike.contains(&0) {
        let outside =
            found.alike.iter().filter(|it| **it != 0 && verdict(model, **it, &found.metric) != Some(Verdict::Same));
        wrong.extend(
            outside
                .map(|it| format!("{} is alike with the reference, but not the same in the table", model.label(*it))),
        );
    }
    if found.knee.is_some_and(|knee| found.inferior.contains(&knee)) {
        wrong.push("the knee is itself inferior".into());
    }
    let costliest = model.started.cost_order.last().copied();
    if found.none && costliest == Some(0) {
        let others = (1..).take(model.settings.len() - 1).filter(|setting| fine(*setting));
        wrong.extend(others.map(|it| format!("there is no knee, but {} does not lose", model.label(it))));
    }
    if found.knee.is_some() && found.knee == costliest {
        wrong.push("the costliest setting is called a knee".into());
    }
    wrong
}

/// What is recommended is better in something and worse, open or broken in nothing; what is so is recommended.
fn recommended(model: &Model) -> Vec<String> {
    let mut wrong = Vec::new();
    let ends =
        matches!(model.end, ExperimentEnd::Closed(CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget));
    let candidates: Vec<u32> =
        (1..).take(model.settings.len().saturating_sub(1)).filter(|it| fits(model, *it)).collect();
    let is_better = |at: u32| verdicts(model).any(|it| it.setting == at && it.verdict == Verdict::Better);
    let Some(found) = advice(model) else {
        if let Some(missed) = candidates.iter().find(|at| is_better(**at) && model.knee.is_none()) {
            wrong.push(format!("{} is better and fits, but nothing is recommended", model.label(*missed)));
        }
        if ends && verdicts(model).next().is_some() && no_advice(model).is_none() {
            wrong.push("nothing is recommended, and no reason is given".into());
        }
        return wrong;
    };
    let label = model.label(found.setting);
    if no_advice(model).is_some() {
        wrong.push(format!("{label} is recommended, and nothing is"));
    }
    if found.setting > 0 && !candidates.contains(&found.setting) {
        wrong.push(format!("{label} is recommended, but it loses, breaks or leaves open something"));
    }
    if model.knee.is_none() {
        if !is_better(found.setting) {
            wrong.push(format!("{label} is recommended, but is better in nothing"));
        }
        wrong.extend(beaten(model, &found, &candidates));
    }
    wrong
}

/// Whether nothing speaks against a setting.
fn fits(model: &Model, at: u32) -> bool {
    let mut judged = model.judged();
    let fine = |metric: &str| matches!(verdict(model, at, metric), Some(Verdict::Better | Verdict::Same));
    let holds = |index: u32| {
        model
            .requirements
            .iter()
            .any(|it| it.setting == at && it.requirement == index && it.found.standing == Standing::Holds)
    };
    judged.all(|(_, metric)| fine(&metric.name)) && (0..).take(model.started.requirements.len()).all(holds)
}

/// Another that fits is better in every decision metric by what was measured, and was not compared with it.
fn beaten(model: &Model, found: &Advice, candidates: &[u32]) -> Vec<String> {
    let change =
        |at: u32, metric: &str| verdicts(model).find(|it| it.setting == at && it.metric == metric).map(|it| it.change);
    let dominates = |other: u32| {
        model.judged().all(|(_, metric)| {
            let sign = if metric.better == Better::Higher { 1.0 } else { -1.0 };
            let of = |at: u32| change(at, &metric.name).map(|change| sign * change);
            of(other) > of(found.setting)
        })
    };
    let compared =
        |other: u32| found.why.contains("in the blocks they share") && found.why.contains(&model.label(other));
    let others = candidates.iter().filter(|at| **at != found.setting && dominates(**at) && !compared(**at));
    let told = |other: &u32| {
        format!("{} is recommended, but {} gains more in everything", model.label(found.setting), model.label(*other))
    };
    others.map(told).collect()
}

/// Single settings that the headline gives a verdict have that verdict in some metric.
fn words(model: &Model) -> Vec<String> {
    let headline = sentence::headline(model);
    let mut wrong = Vec::new();
    for (setting, report) in (1_u32..).zip(model.settings.iter().skip(1)) {
        for (word, verdict) in [("better", Verdict::Better), ("worse", Verdict::Worse)] {
            let said = headline.contains(&format!("{} is {word} than", report.label));
            if said && !verdicts(model).any(|it| it.setting == setting && it.verdict == verdict) {
                wrong.push(format!("the headline says that {} is {word}, the table does not", report.label));
            }
        }
    }
    wrong
}

/// Rows of a comparison whose interval does not say what their verdict says.
pub(crate) fn outside_margin(rows: &[ComparisonRow]) -> Vec<String> {
    const ROUNDING: f64 = 1e-9;
    // Ranks have neither a t nor an interval of their own level.
    let holds = |row: &&ComparisonRow| match (row.low.zip(row.high), row.verdict) {
        (Some((low, high)), Verdict::Same) if !row.absolute && row.t.is_some() => {
            high <= row.margin + ROUNDING && low >= 1.0 / (1.0 + row.margin) - 1.0 - ROUNDING
        }
        (Some((low, high)), Verdict::Better | Verdict::Worse) => low > -ROUNDING || high < ROUNDING,
        _ => true,
    };
    let told = |row: &ComparisonRow| {
        format!("{} is {:?} by {:?} .. {:?}, margin {}", row.setting, row.verdict, row.low, row.high, row.margin)
    };
    rows.iter().filter(|row| !holds(row)).map(told).collect()
}
