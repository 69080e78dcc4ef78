//! What a reader may do about a finding: the setting that is recommended, what it gains at which price, and what to type to have it.
use powerband_record::{
    BASELINE, Better, CloseReason, InOrder, KneeFinding, Requirement, SearchEnd, Standing, Verdict, format_number,
};

use crate::change;
use crate::labels::join_labels;
use crate::typed;
use crate::words;
use crate::{ExperimentEnd, Model, SearchReport, SettingReport};

mod rivals;

/// How many settings, or metrics nothing was decided by, are named.
const NAMED: usize = 3;

/// What a reader may do about the finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Index of the setting.
    pub setting: u32,
    /// Why this one, in a sentence.
    pub why: String,
    /// How it differs from the reference: decision metrics first, then others that differ by the margin or more.
    pub changes: Vec<Changed>,
    /// What to type; absent where nothing is to be set, or no command sets it.
    pub typed: Option<String>,
    /// Why no command sets it, in a sentence without a full stop.
    pub no_command: Option<String>,
}

/// How a recommended setting differs from the reference in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The metric.
    pub metric: String,
    /// Its verdict; `None` where nothing was decided by it, and the change is that of typical values.
    pub verdict: Option<Verdict>,
    /// In words: `power_w 4.9 % lower (4.7 .. 5.1)`.
    pub words: String,
    /// Whether it changes for the worse.
    pub price: bool,
}

impl Advice {
    /// What it gains and at which price, in a sentence without a full stop; empty where nothing is known to change.
    #[must_use]
    pub fn gain_and_price(&self) -> String {
        let of = |price: bool| {
            let words: Vec<&str> =
                self.changes.iter().filter(|it| it.price == price).map(|it| it.words.as_str()).collect();
            words.join(", ")
        };
        match (of(false), of(true)) {
            (gain, price) if price.is_empty() => gain,
            (gain, price) if gain.is_empty() => format!("price: {price}"),
            (gain, price) => format!("{gain}; price: {price}"),
        }
    }
}

/// The setting the finding speaks for; absent when it speaks for none.
#[must_use]
pub fn advice(model: &Model) -> Option<Advice> {
    let (setting, why) = chosen(model)?;
    let (typed, no_command) = match typed::typed_for(model, setting) {
        Ok(typed) => (typed, None),
        Err(why) => (None, Some(why).filter(|_| setting != 0)),
    };
    Some(Advice { setting, why, changes: changes(model, setting), typed, no_command })
}

/// Why no setting is recommended, in a sentence without a full stop; absent where one is, and before the end.
#[must_use]
pub fn no_advice(model: &Model) -> Option<String> {
    let ended =
        matches!(model.end, ExperimentEnd::Closed(CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget));
    let is_judged = |setting: &SettingReport| setting.failed.is_some() || setting.verdicts.iter().any(Option::is_some);
    let compared = model.settings.iter().any(is_judged);
    if !ended || !compared || model.started.search.is_some() || advice(model).is_some() {
        return None;
    }
    let gains = |at: u32| verdict_in(model, at, None).any(|it| it == Verdict::Better);
    let gaining = || (1..).take(model.settings.len().saturating_sub(1)).filter(|at| gains(*at));
    // One that more blocks may bring is of more use than one that nothing can.
    let first = gaining().find(|at| ruled_out(model, *at).is_none()).or_else(|| gaining().next());
    let but =
        |at: u32| Some(format!("{} is better in a decision metric, but {}", model.label(at), obstacle(model, at)?));
    let nothing = || match model.settings.len() {
        _ if model.failed(0).is_some() => format!("{} {}", baseline(model), fails(model, 0).unwrap_or_default()),
        2 if model.failed(1).is_some() => format!("{} {}", model.label(1), fails(model, 1).unwrap_or_default()),
        2 => format!("{} is not shown to be better than {}", model.label(1), baseline(model)),
        _ => format!("no setting is shown to be better than {}", baseline(model)),
    };
    let why = match &model.knee {
        Some(found) => no_knee(model, found),
        None => first.and_then(but).unwrap_or_else(nothing),
    };
    Some(format!("no setting is recommended: {why}"))
}

/// Why the search for a knee recommends nothing.
fn no_knee(model: &Model, found: &KneeFinding) -> String {
    match found.knee {
        Some(knee) => format!("{} {}", model.label(knee), obstacle(model, knee).unwrap_or_default()),
        None if found.none => "every cheaper setting loses".into(),
        None => "the knee is not decided".into(),
    }
}

fn baseline(model: &Model) -> String {
    match model.label(0) {
        label if label == BASELINE => "the baseline".to_owned(),
        label => label,
    }
}

fn chosen(model: &Model) -> Option<(u32, String)> {
    if model.started.search.is_some() {
        let Some(SearchReport::Found(found)) = &model.search else { return None };
        let confirmed = found.setting.filter(|_| found.end == SearchEnd::Confirmed)?;
        return Some((confirmed, "the search confirmed it in trials of its own".into()));
    }
    if model.knee.is_some() {
        let fitting = fitting_knee(model)?;
        return Some((
            fitting,
            "it is the cheapest setting that loses in no decision metric and keeps every requirement".into(),
        ));
    }
    let others = (1..).take(model.settings.len().saturating_sub(1));
    let better: Vec<u32> = others.filter(|at| is_better(model, *at)).collect();
    let reference = baseline(model);
    match better.as_slice() {
        [] => None,
        [one] => Some((*one, format!("it is better than {reference} in a decision metric and worse in none"))),
        several => {
            let (best, compared) = rivals::best(model, several)?;
            Some((
                best,
                format!(
                    "{} settings are better than {reference} in a decision metric and worse in none; of them {} {compared}",
                    several.len(),
                    model.label(best),
                ),
            ))
        }
    }
}

/// The verdicts of a setting in the decision metrics; in all but one metric, where one is named.
fn verdict_in<'a>(model: &'a Model, at: u32, but: Option<usize>) -> impl Iterator<Item = Verdict> + 'a {
    let setting = usize::try_from(at).ok().and_then(|at| model.settings.get(at));
    let verdicts = setting.into_iter().flat_map(|setting| setting.verdicts.iter().enumerate());
    verdicts.filter(move |(place, _)| Some(*place) != but).filter_map(|(_, it)| Some(it.as_ref()?.verdict))
}

/// Better in something, and nothing against it.
fn is_better(model: &Model, at: u32) -> bool {
    verdict_in(model, at, None).any(|verdict| verdict == Verdict::Better) && obstacle(model, at).is_none()
}

/// Why a setting may not be recommended: what speaks against it for good, or else what is open. Absent where nothing is against it.
pub(crate) fn obstacle(model: &Model, at: u32) -> Option<String> {
    let open = || {
        let requirement = requirements_in(model, at, Standing::Open).next();
        let words = |requirement| format!("is not shown to keep {requirement}");
        requirement.map(words).or_else(|| {
            Some(format!(
                "is undecided in {}",
                metrics_in(model, at, |it| it.is_none_or(|it| it == Verdict::Undecided)).next()?
            ))
        })
    };
    ruled_out(model, at).or_else(open)
}

/// How its command failed, if it did.
fn fails(model: &Model, at: u32) -> Option<String> {
    model.failed(at).map(ToString::to_string)
}

/// What more blocks do not change: a command that fails, a requirement that it breaks, or a decision metric in which it is worse.
fn ruled_out(model: &Model, at: u32) -> Option<String> {
    let broken = requirements_in(model, at, Standing::Broken).next().map(|requirement| format!("breaks {requirement}"));
    let worse = || Some(format!("is worse in {}", metrics_in(model, at, |it| it == Some(Verdict::Worse)).next()?));
    fails(model, at).or(broken).or_else(worse)
}

/// The requirements of which a setting is known to have this standing.
fn requirements_in(model: &Model, at: u32, standing: Standing) -> impl Iterator<Item = &Requirement> {
    let all = (0_u32..).zip(&model.started.requirements).filter(move |(_, it)| at != 0 || !it.relative);
    let found = move |index: u32| model.requirements.iter().find(|it| it.setting == at && it.requirement == index);
    let is = move |index: u32| found(index).map_or(Standing::Open, |it| it.found.standing) == standing;
    all.filter(move |(index, _)| is(*index)).map(|(_, requirement)| requirement)
}

/// The decision metrics in which a setting, not the reference, has a verdict of this kind or has none.
fn metrics_in(model: &Model, at: u32, is: impl Fn(Option<Verdict>) -> bool) -> impl Iterator<Item = &str> {
    let setting = usize::try_from(at).ok().filter(|at| *at != 0).and_then(|at| model.settings.get(at));
    let judged =
        setting.into_iter().flat_map(|setting| model.judged().map(move |(place, metric)| (setting, place, metric)));
    let verdict = |setting: &SettingReport, place: usize| Some(setting.verdicts.get(place)?.as_ref()?.verdict);
    judged.filter(move |(setting, place, _)| is(verdict(setting, *place))).map(|(.., metric)| metric.name.as_str())
}

/// The knee, or where something is against it the cheapest of the settings that are the same as it.
pub(crate) fn fitting_knee(model: &Model) -> Option<u32> {
    let found = model.knee.as_ref()?;
    let knee = found.knee?;
    let from = model.started.cost_order.iter().position(|setting| *setting == knee)?;
    let alike = |setting: &&u32| **setting == knee || found.alike.contains(setting);
    model.started.cost_order[from..].iter().filter(alike).copied().find(|setting| obstacle(model, *setting).is_none())
}

/// How a setting differs from the reference.
fn changes(model: &Model, at: u32) -> Vec<Changed> {
    let Some(setting) = usize::try_from(at).ok().filter(|at| *at > 0).and_then(|at| model.settings.get(at)) else {
        return Vec::new();
    };
    let decided = model.judged().filter_map(|(place, metric)| {
        let found = setting.verdicts.get(place)?.as_ref()?;
        let price = loses(found.change, metric.better) && found.verdict != Verdict::Better;
        let same = if found.verdict == Verdict::Same {
            format!(", same within {}", change::margin_of(model, &metric.name))
        } else {
            String::new()
        };
        let words = format!("{} {}{same}", metric.name, change::size_and_way(found));
        Some(Changed { metric: metric.name.clone(), verdict: Some(found.verdict), words, price })
    });
    let mut changes: Vec<Changed> = decided.collect();
    let mut others = others(model, at);
    others.truncate(NAMED);
    changes.extend(others);
    changes
}

fn loses(change: f64, better: Better) -> bool {
    match better {
        Better::Higher => change < 0.0,
        Better::Lower => change > 0.0,
    }
}

/// Metrics nothing was decided by, the largest changes of typical values first; of less than the margin nothing is said.
fn others(model: &Model, at: u32) -> Vec<Changed> {
    let level = |setting: u32, place: usize| {
        let setting = model.settings.get(usize::try_from(setting).ok()?)?;
        setting.levels.get(place)?.as_ref().map(|level| level.typical)
    };
    let change = |(place, metric): (usize, &powerband_record::Metric)| {
        let (here, there) = (level(at, place)?, level(0, place).filter(|level| *level > 0.0)?);
        let change = here / there - 1.0;
        let way = if change < 0.0 { "lower" } else { "higher" };
        let words = format!(
            "{} {} {way} ({} instead of {}, estimated)",
            metric.name,
            words::percent((change.abs() * 1e3).round() / 1e3),
            format_number(here),
            format_number(there)
        );
        let changed =
            Changed { metric: metric.name.clone(), verdict: None, words, price: loses(change, metric.better) };
        (change.is_finite() && change.abs() >= model.started.margin).then_some((change.abs(), changed))
    };
    let shown = model.started.metrics.iter().enumerate().filter(|(_, metric)| !metric.judged);
    let mut all: Vec<(f64, Changed)> = shown.filter_map(change).collect();
    all.order_by(|one, other| other.0.total_cmp(&one.0));
    all.into_iter().map(|(_, changed)| changed).collect()
}

/// Labels of some settings, for a sentence.
fn labels(model: &Model, settings: &[u32]) -> String {
    join_labels(&settings.iter().map(|setting| model.label(*setting)).collect::<Vec<_>>(), NAMED)
}

/// Most blocks that are advised: above it another way is wanted, longer trials or a larger margin.
const MAX_ADVISED_BLOCKS: u32 = 1_000;

/// How many blocks more would decide what can change the recommendation, low and high. A knee is a matter of all settings.
pub(crate) fn missing(model: &Model) -> Option<(u32, u32)> {
    model.missing_of_settings(|setting| model.knee.is_some() || ruled_out(model, setting).is_none())
}

/// What extends an experiment by as many blocks as would decide what can change the recommendation, at its error rate; where it
/// ended for its most blocks only.
#[must_use]
pub fn deciding(model: &Model) -> Option<String> {
    let header = model.header.as_ref()?;
    let extendable = model.started.search.is_none() && !model.started.calibration;
    let ended = matches!(model.end, ExperimentEnd::Closed(CloseReason::Blocks));
    let (_, most) = missing(model)?;
    let blocks = model.blocks.saturating_add(most);
    if !(ended && extendable) || blocks > MAX_ADVISED_BLOCKS {
        return None;
    }
    Some(format!("powerband{} resume {} --blocks {blocks}", model.store, header.id))
}
