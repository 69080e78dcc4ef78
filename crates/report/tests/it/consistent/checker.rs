//! What in a journal's report contradicts its own table, by rules that hold for every experiment. Knows nothing of how a report
//! is made: it reads the model, the headline and the recommendation.
use powerband_record::{Better, CloseReason, Event, SettingVerdict, Standing, Verdict};
use powerband_report::comparison::ComparisonRow;
use powerband_report::json::Report;
use powerband_report::{Advice, ExperimentEnd, Model, advice, no_advice, sentence};

const ROUNDING: f64 = 1e-9;

/// Rules that were broken, a sentence each.
#[derive(Default)]
struct Broken(Vec<String>);

impl Broken {
    fn unless(&mut self, holds: bool, rule: impl Into<String>) {
        self.0.extend((!holds).then(|| rule.into()));
    }
}

/// Every contradiction, a sentence each.
pub(crate) fn contradictions(events: &[Event]) -> Vec<String> {
    let model = match Model::from_events(events) {
        Ok(model) => model,
        Err(why) => return vec![why.to_string()],
    };
    let mut wrong = Broken::default();
    comes_back(events, &model, &mut wrong);
    if model.started.search.is_none() && !model.started.calibration {
        intervals(&model, &mut wrong);
        open_though_decided(&model, &mut wrong);
        knee(&model, &mut wrong);
        recommended(&model, &mut wrong);
        words(&model, &mut wrong);
    }
    wrong.0
}

/// What is written must come back as it was, the report as well: a number that is none would not.
fn comes_back(events: &[Event], model: &Model, wrong: &mut Broken) {
    for event in events {
        let text = serde_json::to_string(event).unwrap_or_default();
        let same = serde_json::from_str::<Event>(&text).is_ok_and(|back| back == *event);
        wrong.unless(same, format!("from the journal comes back {text}"));
    }
    let report = Report::new(model);
    let text = serde_json::to_string(&report).unwrap_or_default();
    let same = serde_json::from_str::<Report>(&text).is_ok_and(|back| back == report);
    wrong.unless(same, "the report does not come back from JSON");
}

fn verdicts(model: &Model) -> impl Iterator<Item = &SettingVerdict> {
    model.settings.iter().flat_map(|setting| &setting.verdicts).flatten()
}

fn found<'a>(model: &'a Model, setting: u32, metric: &str) -> Option<&'a SettingVerdict> {
    verdicts(model).find(|it| it.setting == setting && it.metric == metric)
}

fn verdict(model: &Model, setting: u32, metric: &str) -> Option<Verdict> {
    found(model, setting, metric).map(|it| it.verdict)
}

/// An interval that is the same within a margin.
fn is_within(low: f64, high: f64, margin: f64) -> bool {
    high <= margin + ROUNDING && low >= 1.0 / (1.0 + margin) - 1.0 - ROUNDING
}

/// An interval says what its verdict says. Ranks have no interval of their own level.
fn intervals(model: &Model, wrong: &mut Broken) {
    for it in verdicts(model).filter(|_| !model.started.robust) {
        let metric = model.started.metrics.iter().find(|metric| metric.name == it.metric);
        let (Some(low), Some(high), Some(metric)) = (it.low, it.high, metric) else { continue };
        let up = (it.verdict == Verdict::Better) == (metric.better == Better::Higher);
        let holds = match it.verdict {
            Verdict::Better | Verdict::Worse if up => low > -ROUNDING,
            Verdict::Better | Verdict::Worse => high < ROUNDING,
            Verdict::Same => it.absolute || is_within(low, high, model.started.margin),
            Verdict::Undecided => true,
        };
        let inside = (low - ROUNDING..=high + ROUNDING).contains(&it.change);
        wrong.unless(holds && inside, format!("{it:?}"));
    }
}

/// Where everything was decided, everything is.
fn open_though_decided(model: &Model, wrong: &mut Broken) {
    if model.end != ExperimentEnd::Closed(CloseReason::Decided) {
        return;
    }
    let mut void = false;
    for (setting, report) in (0..).zip(&model.settings).skip(1) {
        if report.left.as_ref().is_some_and(|left| left.why.starts_with("void")) {
            void = true;
            continue;
        }
        for (_, metric) in model.judged() {
            let of = verdict(model, setting, &metric.name);
            let decided = of.is_some_and(|it| it != Verdict::Undecided);
            wrong.unless(decided, format!("decided, but {} in {} is not", report.label, metric.name));
        }
        let mut limits = model.requirements.iter().filter(|it| it.setting == setting);
        let closed = limits.all(|it| it.found.standing != Standing::Open);
        wrong.unless(closed, format!("decided, but a requirement of {} is not", report.label));
    }
    let open = sentence::headline(model).contains("undecided");
    wrong.unless(void || !open, "decided, but the headline is undecided");
}

/// A knee is named only where its own equivalence is decided, and "no knee" only where all others lose.
fn knee(model: &Model, wrong: &mut Broken) {
    let Some(found) = &model.knee else { return };
    let of = |setting: u32| verdict(model, setting, &found.metric);
    let fine = |setting| setting == 0 || matches!(of(setting), Some(Verdict::Same | Verdict::Better));
    for &named in found.knee.iter().chain(&found.alike) {
        wrong.unless(fine(named), format!("{} is the knee or alike, but loses", model.label(named)));
    }
    for &named in found.alike.iter().filter(|it| **it != 0 && found.alike.contains(&0)) {
        let same = of(named) == Some(Verdict::Same);
        wrong.unless(same, format!("{} is alike with the reference", model.label(named)));
    }
    let inferior = found.knee.is_some_and(|knee| found.inferior.contains(&knee));
    wrong.unless(!inferior, "the knee is itself inferior");
    let costliest = model.started.cost_order.last().copied();
    if found.none && costliest == Some(0) {
        for setting in (1..).take(model.settings.len() - 1) {
            wrong.unless(!fine(setting), format!("no knee, but {} does not lose", model.label(setting)));
        }
    }
    let named = found.knee.is_some() && found.knee == costliest;
    wrong.unless(!named, "the costliest setting is the knee");
}

/// What is recommended is better in something and worse, open or broken in nothing; what is so is recommended.
fn recommended(model: &Model, wrong: &mut Broken) {
    let all = (1..).take(model.settings.len().saturating_sub(1));
    let candidates: Vec<u32> = all.filter(|it| fits(model, *it)).collect();
    let is_better = |at: u32| verdicts(model).any(|it| it.setting == at && it.verdict == Verdict::Better);
    let Some(found) = advice(model) else {
        let missed = candidates.iter().any(|at| is_better(*at));
        wrong.unless(!missed || model.knee.is_some(), "nothing is recommended, but one is better and fits");
        let ended = matches!(&model.end, ExperimentEnd::Closed(reason) if reason.is_complete());
        let silent = ended && verdicts(model).next().is_some() && no_advice(model).is_none();
        wrong.unless(!silent, "nothing is recommended without a reason");
        return;
    };
    let label = model.label(found.setting);
    wrong.unless(no_advice(model).is_none(), format!("{label} is recommended, and nothing is"));
    let fits = found.setting == 0 || candidates.contains(&found.setting);
    wrong.unless(fits, format!("{label} is recommended, but loses, breaks or leaves open something"));
    if model.knee.is_none() {
        wrong.unless(is_better(found.setting), format!("{label} is recommended, but better in nothing"));
        for other in candidates.into_iter().filter(|at| *at != found.setting) {
            let beaten = dominates(model, other, &found);
            wrong.unless(!beaten, format!("{label} is recommended, but {} gains more", model.label(other)));
        }
    }
}

/// Whether nothing speaks against a setting.
fn fits(model: &Model, at: u32) -> bool {
    let fine = |metric: &str| matches!(verdict(model, at, metric), Some(Verdict::Better | Verdict::Same));
    let limits = model.requirements.iter().filter(|it| it.setting == at);
    let kept: Vec<u32> = limits.filter(|it| it.found.standing == Standing::Holds).map(|it| it.requirement).collect();
    let mut wanted = (0..).take(model.started.requirements.len());
    model.judged().all(|(_, metric)| fine(&metric.name)) && wanted.all(|index| kept.contains(&index))
}

/// Whether another is better in every decision metric by what was measured, and was not compared with it.
fn dominates(model: &Model, other: u32, advice: &Advice) -> bool {
    let gains = model.judged().all(|(_, metric)| {
        let sign = if metric.better == Better::Higher { 1.0 } else { -1.0 };
        let of = |at: u32| found(model, at, &metric.name).map(|it| sign * it.change);
        of(other) > of(advice.setting)
    });
    let shared = advice.why.contains("in the blocks they share");
    gains && !(shared && advice.why.contains(&model.label(other)))
}

/// Single settings that the headline gives a verdict have that verdict in some metric.
fn words(model: &Model, wrong: &mut Broken) {
    let headline = sentence::headline(model);
    for (setting, report) in (1..).zip(model.settings.iter().skip(1)) {
        for (word, verdict) in [("better", Verdict::Better), ("worse", Verdict::Worse)] {
            let said = headline.contains(&format!("{} is {word} than", report.label));
            let is = verdicts(model).any(|it| it.setting == setting && it.verdict == verdict);
            wrong.unless(is || !said, format!("the headline calls {} {word}", report.label));
        }
    }
}

/// Rows of a comparison whose interval does not say what their verdict says.
pub(crate) fn outside_margin(rows: &[ComparisonRow]) -> Vec<String> {
    let mut wrong = Broken::default();
    for row in rows {
        // Ranks have neither a t nor an interval of their own level.
        let holds = match (row.low.zip(row.high), row.verdict) {
            (Some((low, high)), Verdict::Same) if !row.absolute && row.t.is_some() => is_within(low, high, row.margin),
            (Some((low, high)), Verdict::Better | Verdict::Worse) => low > -ROUNDING || high < ROUNDING,
            _ => true,
        };
        wrong.unless(holds, format!("{row:?}"));
    }
    wrong.0
}
