//! What a setting does over some of the nodes: the whole fleet, or one kind.
use powerband_record::{Better, LOSS_MARGIN_PERCENT, Metric, Verdict, is_loss};
use powerband_stats::distribution::t_upper_quantile;
use powerband_stats::fleet::waves::{self, Most, SettingStanding};
use powerband_stats::fleet::{
    Effects, NodeEffect as Effect, counted as shown_by_counting, heterogeneity, largest_unseen_kind, predict_node,
    spread,
};
use powerband_stats::{Rules, Scale, Spending};

use super::division::cheaper;
use super::gather::{Gathered, Node};
use super::{GroupAnswer, Holds, Kinds, MetricAnswer, NodeEffectRow, SettingAnswer, Spread, words};
use crate::comparison::verdict;

/// Level of intervals that are no verdicts.
const NOMINAL: f64 = 0.05;

/// One metric over some nodes.
pub(super) struct Judged {
    /// Place of the metric among the decision metrics.
    pub(super) metric: usize,
    pub(super) rules: Rules,
    /// Positions of the nodes, in the drawn order.
    pub(super) positions: Vec<usize>,
    /// How many of them were looked at.
    pub(super) looked_at: u32,
    /// By setting, the reference left out.
    pub(super) settings: Vec<JudgedSetting>,
}

/// One setting in it.
pub(super) struct JudgedSetting {
    pub(super) standing: SettingStanding,
    /// Effects of the nodes looked at that measured it, with their positions.
    pub(super) nodes: Vec<usize>,
    pub(super) effects: Effects,
    /// Whether all of the nodes have ended, so that they may be counted.
    pub(super) all: bool,
}

/// The scale on which a metric is compared, and its margin there.
pub(super) fn rules(gathered: &Gathered, place: usize, share: f64) -> Rules {
    let started = &gathered.started;
    let metric = &gathered.metrics[place];
    let alpha = started.alpha * share / gathered.metrics.len().max(1) as f64;
    let base = Rules { alpha, margin: started.margin, strict_same: started.same_family, ..Rules::default() };
    let of_reference = || gathered.nodes.iter().flat_map(|node| values(node, 0, place));
    if is_loss(&metric.name) {
        return Rules { scale: Scale::Linear, margin: LOSS_MARGIN_PERCENT, ..base };
    }
    let settings = 0..gathered.settings.len();
    let positive =
        |setting: usize| gathered.nodes.iter().flat_map(|node| values(node, setting, place)).all(|v| v > 0.0);
    if !started.judge_mean && settings.into_iter().all(positive) {
        return base;
    }
    let (sum, count) = of_reference().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    let level = if count > 0.0 { f64::abs(sum / count) } else { 0.0 };
    Rules { scale: Scale::Linear, margin: base.margin * level, ..base }
}

/// Values of a node under a setting.
fn values(node: &Node, setting: usize, metric: usize) -> impl Iterator<Item = f64> + '_ {
    let rows = node.measured.iter().flat_map(|measured| &measured.rows);
    rows.filter_map(move |row| row.get(&setting)?.get(metric)).flatten().copied()
}

/// Value of a setting in a block, on the scale of the differences; copies of the reference are averaged.
pub(super) fn cell(
    row: &std::collections::BTreeMap<usize, Vec<Vec<f64>>>,
    setting: usize,
    metric: usize,
    scale: Scale,
) -> Option<f64> {
    let values = row.get(&setting)?.get(metric).filter(|values| !values.is_empty())?;
    let on_scale = |value: &f64| if scale == Scale::Log { value.ln() } else { *value };
    Some(values.iter().map(on_scale).sum::<f64>() / values.len() as f64)
}

/// Effect of a setting on a node.
fn effect(node: &Node, setting: usize, metric: usize, scale: Scale) -> Option<Effect> {
    let rows = &node.measured.as_ref()?.rows;
    let difference = |row: &_| Some(cell(row, setting, metric, scale)? - cell(row, 0, metric, scale)?);
    Effect::of(&rows.iter().filter_map(difference).collect::<Vec<f64>>())
}

/// Judges every metric over the nodes at these positions, which have this share of the error rate.
pub(super) fn judge(gathered: &Gathered, positions: &[usize], share: f64) -> Vec<Judged> {
    (0..gathered.metrics.len()).map(|metric| judge_metric(gathered, positions, share, metric)).collect()
}

fn judge_metric(gathered: &Gathered, positions: &[usize], share: f64, metric: usize) -> Judged {
    let rules = rules(gathered, metric, share);
    let nodes: Vec<&Node> = positions.iter().filter_map(|&position| gathered.nodes.get(position)).collect();
    let ended: Vec<bool> = nodes.iter().map(|node| node.ended()).collect();
    let of_setting = |setting: usize| -> Vec<Option<Effect>> {
        nodes.iter().map(|node| effect(node, setting, metric, rules.scale)).collect()
    };
    let measured: Vec<Vec<Option<Effect>>> = (1..gathered.settings.len()).map(of_setting).collect();
    let look = waves::look(&ended, &measured, &rules, &Spending::shared());
    let all = ended.iter().all(|ended| *ended);
    // Until there is a look, what is complete is shown; from then on no more than what was looked at.
    let complete = ended.iter().take_while(|ended| **ended).count();
    let shown_nodes = if look.positions < waves::FIRST_LOOK { complete } else { look.positions as usize };
    let settings = look
        .settings
        .iter()
        .zip(&measured)
        .map(|(standing, measured)| {
            let shown = measured.iter().zip(positions).take(shown_nodes);
            let with: Vec<(usize, Effect)> = shown.filter_map(|(it, position)| Some((*position, (*it)?))).collect();
            let effects = Effects::new(with.iter().map(|(_, effect)| *effect).collect());
            JudgedSetting {
                standing: *standing,
                nodes: with.into_iter().map(|(position, _)| position).collect(),
                effects,
                all,
            }
        })
        .collect();
    Judged { metric, rules, positions: positions.to_vec(), looked_at: look.positions, settings }
}

/// What is found of a setting; `withheld` where "same" and "holds" may not be claimed.
pub(super) fn group_answer(of: &JudgedSetting, metric: &Metric, rules: &Rules, withheld: bool) -> GroupAnswer {
    let standing = &of.standing;
    let shown = |value: f64| rules.shown(value);
    let mut found = verdict(standing.claim, metric.better);
    if withheld && found == Verdict::Same {
        found = Verdict::Undecided;
    }
    let mean = powerband_stats::fleet::mean(&of.effects);
    let level = if standing.level > 0.0 { standing.level } else { NOMINAL };
    // "Same" is two one-sided tests: the interval that lies inside the margin is the one at their level.
    let level = if found == Verdict::Same { 2.0 * standing.same_level } else { level };
    let interval = mean.map(|mean| mean.interval(level));
    let nodes = u32::try_from(of.effects.len()).unwrap_or(u32::MAX);
    GroupAnswer {
        verdict: found,
        nodes,
        decided_at: standing.claimed_at.filter(|_| found != Verdict::Undecided),
        change: mean.map(|mean| shown(mean.effect)),
        low: interval.map(|it| shown(it.0)),
        high: interval.map(|it| shown(it.1)),
        p: mean.map(|mean| mean.p()).filter(|p| p.is_finite()),
        p_asked: (standing.level > 0.0).then_some(standing.level),
        spread: spread_of(of, rules),
        next_node: mean.and_then(|mean| predict_node(&of.effects, &mean, NOMINAL)).map(|next| {
            let (low, high) = next.effect;
            (shown(low), shown(high))
        }),
        holds: holds(of, metric, rules).filter(|_| !withheld),
        more_nodes: standing.predicted.filter(|_| found == Verdict::Undecided).map(|predicted| {
            let more = |total: u32| total.saturating_sub(nodes).max(1);
            (more(predicted.low), more(predicted.high).max(more(predicted.low)))
        }),
        new_fleet: None,
    }
}

fn spread_of(of: &JudgedSetting, rules: &Rules) -> Option<Spread> {
    let test = heterogeneity(&of.effects)?;
    let sd = powerband_stats::fleet::mean(&of.effects)?.between_sd?;
    let limit = |p: f64| spread(&of.effects, p).map(|sd| rules.shown(sd));
    Some(Spread {
        sd: rules.shown(sd),
        low: limit(0.5 * NOMINAL)?,
        high: limit(1.0 - 0.5 * NOMINAL)?,
        disagree: test.p <= NOMINAL,
        p: test.p,
    })
}

fn holds(of: &JudgedSetting, metric: &Metric, rules: &Rules) -> Option<Holds> {
    let bounds = of.standing.bounds?;
    let nodes = u32::try_from(of.effects.len()).unwrap_or(u32::MAX);
    let higher = metric.better == Better::Higher;
    let reached = if higher { bounds.above } else { bounds.below };
    let gains = |effect: &Effect| if higher { effect.mean > 0.0 } else { effect.mean < 0.0 };
    let gaining = u32::try_from(of.effects.nodes().iter().filter(|it| gains(it)).count()).unwrap_or(u32::MAX);
    // Counting is one look, at the end.
    let count = |on: u32| of.all && shown_by_counting(nodes, nodes - on, rules.alpha);
    // What an early look claimed and the latest does not bear out, as nodes differ more than it seemed, is not repeated.
    let margin = rules.margin_on_scale();
    let within = match higher {
        true => of.standing.most_within.0 && bounds.above > -margin,
        false => of.standing.most_within.1 && bounds.below < margin,
    };
    let claimed = match of.standing.most {
        Some((Most::Higher, _)) if bounds.above > 0.0 => Some(if higher { Verdict::Better } else { Verdict::Worse }),
        Some((Most::Lower, _)) if bounds.below < 0.0 => Some(if higher { Verdict::Worse } else { Verdict::Better }),
        _ => within.then_some(Verdict::Same),
    };
    let by_count = if count(gaining) {
        Some(Verdict::Better)
    } else if count(nodes - gaining) {
        Some(Verdict::Worse)
    } else {
        None
    };
    let mut holds = Holds {
        on_most: by_count.or(claimed),
        if_bell_shaped: by_count.is_none() && claimed.is_some(),
        reached: rules.shown(reached),
        unseen_share: largest_unseen_kind(nodes),
        words: String::new(),
    };
    holds.words = words::holds(&holds, nodes, &metric.name, rules);
    Some(holds)
}

/// The answer in one metric over the whole fleet.
pub(super) fn metric_answer(
    gathered: &Gathered,
    judged: &Judged,
    lost_under: &[usize],
    kinds: Option<&Kinds>,
) -> MetricAnswer {
    let metric = &gathered.metrics[judged.metric];
    let rules = &judged.rules;
    let settings = judged.settings.iter().zip(gathered.settings.iter().skip(1)).enumerate();
    let settings = settings.map(|(place, (of, (label, turns)))| {
        let withheld = lost_under.contains(&(place + 1));
        let mut fleet = group_answer(of, metric, rules, withheld);
        if contradicted(fleet.verdict, kinds, judged.metric, place) {
            (fleet.verdict, fleet.decided_at) = (Verdict::Undecided, None);
        }
        if let (Some(_), Some(total)) = (fleet.more_nodes, of.standing.predicted) {
            fleet.new_fleet = gathered.times.as_ref().and_then(|times| cheaper(&of.effects, total.blocks, times));
        }
        if let Some(holds) = &mut fleet.holds {
            words::only_in_each_kind(holds, kinds, judged.metric, place);
        }
        SettingAnswer {
            setting: label.clone(),
            turns: turns.clone(),
            fleet,
            effects: node_effects(of, rules),
            lost_under: withheld,
        }
    });
    MetricAnswer {
        metric: metric.name.clone(),
        better: metric.better,
        absolute: rules.scale == Scale::Linear,
        margin: rules.margin,
        settings: settings.collect(),
    }
}

/// Whether a kind of nodes shows the opposite of what is found over all of them: the mean then says which kind has more nodes.
fn contradicted(found: Verdict, kinds: Option<&Kinds>, metric: usize, setting: usize) -> bool {
    let of_kinds = kinds.iter().flat_map(|kinds| &kinds.parts);
    let mut verdicts = of_kinds.filter_map(|kind| Some(kind.metrics.get(metric)?.get(setting)?.verdict));
    verdicts.any(|verdict| match found {
        Verdict::Better => verdict == Verdict::Worse,
        Verdict::Worse => verdict == Verdict::Better,
        Verdict::Same => matches!(verdict, Verdict::Better | Verdict::Worse),
        Verdict::Undecided => false,
    })
}

fn node_effects(of: &JudgedSetting, rules: &Rules) -> Vec<NodeEffectRow> {
    let df = of.effects.df();
    let quantile = if df > 0.0 { t_upper_quantile(0.5 * NOMINAL, df) } else { 0.0 };
    of.nodes
        .iter()
        .zip(of.effects.nodes())
        .map(|(position, effect)| {
            let half = quantile * (of.effects.variance() / f64::from(effect.blocks)).sqrt();
            NodeEffectRow {
                position: u32::try_from(*position).unwrap_or(u32::MAX),
                change: rules.shown(effect.mean),
                low: rules.shown(effect.mean - half),
                high: rules.shown(effect.mean + half),
                blocks: effect.blocks,
            }
        })
        .collect()
}

/// Mean of the reference on the scale of the differences, by node.
pub(super) fn levels(gathered: &Gathered, judged: &Judged, positions: &[usize]) -> Vec<(usize, f64)> {
    let level = |&position: &usize| {
        let rows = &gathered.nodes.get(position)?.measured.as_ref()?.rows;
        let values: Vec<f64> = rows.iter().filter_map(|row| cell(row, 0, judged.metric, judged.rules.scale)).collect();
        (!values.is_empty()).then(|| (position, values.iter().sum::<f64>() / values.len() as f64))
    };
    positions.iter().filter_map(level).collect()
}
