//! From a model to the shapes of JSON: numbers that are not finite fall out here.
use powerband_record::{CloseReason, RequirementFinding, SearchChange, SettingVerdict, unit_of};

use super::{
    DistributionRow, Header, KneeRow, LeftRow, LevelRow, MetricRow, PercentileRow, RecommendedRow, Report,
    RequirementRow, Restored, SearchRow, SettingRow, TrialRow, VERSION, VerdictRow, VoidRow,
};
use crate::calibration;
use crate::sentence;
use crate::typed;
use crate::words::finite;
use crate::{
    Advice, Distribution, ExperimentEnd, Model, Percentile, SearchReport, SettingReport, TrialValues, advice, no_advice,
};

pub(super) fn report(model: &Model) -> Report {
    let plan = &model.started;
    let (state, reason) = match &model.end {
        ExperimentEnd::Open => ("running", None),
        ExperimentEnd::Interrupted => ("interrupted", None),
        ExperimentEnd::Closed(CloseReason::Stopped) => ("stopped", Some(CloseReason::Stopped)),
        ExperimentEnd::Closed(reason) => ("ended", Some(reason.clone())),
    };
    Report {
        version: VERSION,
        kind: "report".into(),
        finding: sentence::headline(model),
        state: state.into(),
        reason,
        header: model.header.as_ref().map(header),
        title: plan.title.clone(),
        machine: plan.machine.clone(),
        far: plan.far.clone(),
        system: plan.system.clone(),
        load: plan.load.clone(),
        seed: plan.seed,
        alpha: finite(plan.alpha).unwrap_or_default(),
        same_family: plan.same_family,
        judge_mean: plan.judge_mean,
        margin: finite(plan.margin).unwrap_or_default(),
        margin_source: plan.margin_source.clone(),
        robust: plan.robust,
        blocks: model.blocks,
        max_blocks: plan.max_blocks,
        trials: model.trials,
        warmups: model.warmups,
        elapsed_s: model.elapsed_ns as f64 / 1e9,
        metrics: plan.metrics.iter().map(|it| metric(model, it)).collect(),
        settings: shown(model),
        knee: knee(model),
        search: search(model),
        calibration: calibration::rows(model),
        recommended: recommended(model),
        not_recommended: no_advice(model),
        blocks_missing: model.blocks_missing(),
        voids: voids(model),
        notes: model.notes.clone(),
        restored: model.restored.as_ref().map(|r| Restored { entries: r.entries, failed: r.failed.clone() }),
    }
}

fn header(header: &powerband_record::ExperimentHeader) -> Header {
    Header {
        id: header.id,
        started_unix_s: header.started_unix_s,
        host: header.host.clone(),
        powerband: header.powerband.clone(),
        command_line: header.command_line.clone(),
        resumed: header.resumed.clone(),
        observer_cpu_s: finite(header.observer_cpu_s),
        observer_wakeups: header.observer_wakeups,
    }
}

fn recommended(model: &Model) -> Option<RecommendedRow> {
    let Advice { setting, why, typed, no_command, .. } = advice(model)?;
    let turns = usize::try_from(setting).ok().and_then(|at| model.settings.get(at)).map(|it| it.turns.clone());
    let undo = typed.as_deref().and_then(|typed| typed::taken_back(model, typed));
    let keep = undo.as_ref().and_then(|_| typed::kept(model));
    let setting = model.label(setting);
    Some(RecommendedRow { setting, turns: turns.unwrap_or_default(), why, apply: typed, no_command, undo, keep })
}

fn metric(model: &Model, metric: &powerband_record::Metric) -> MetricRow {
    MetricRow {
        name: metric.name.clone(),
        unit: unit_of(&metric.name).into(),
        better: metric.better,
        judged: metric.judged,
        matches: model.matches.get(&metric.name).cloned(),
        boundary: metric.boundary.clone(),
    }
}

fn setting(model: &Model, index: u32, setting: &SettingReport) -> SettingRow {
    let names = || model.started.metrics.iter().map(|metric| metric.name.clone());
    let level = |level: &powerband_record::Level| LevelRow {
        trials: level.trials,
        typical: finite(level.typical),
        low: finite(level.low),
        high: finite(level.high),
    };
    SettingRow {
        index,
        label: setting.label.clone(),
        turns: setting.turns.clone(),
        reference: index == 0,
        levels: names().zip(&setting.levels).filter_map(|(name, l)| Some((name, level(l.as_ref()?)))).collect(),
        verdicts: names().zip(&setting.verdicts).filter_map(|(name, v)| Some((name, verdict(v.as_ref()?)))).collect(),
        failed: setting.failed.clone(),
        requirements: requirements(model, index),
        distributions: setting.distributions.iter().map(|(name, it)| (name.clone(), distribution(name, it))).collect(),
        left: setting.left.as_ref().map(|left| LeftRow { block: left.block, why: left.why.clone() }),
        landings: setting.landings.clone(),
        measured: model.values.iter().filter(|it| it.setting == index).map(|it| trial(model, it)).collect(),
    }
}

fn trial(model: &Model, trial: &TrialValues) -> TrialRow {
    let named = model.started.metrics.iter().zip(&trial.values);
    TrialRow {
        trial: trial.trial,
        block: trial.block,
        values: named.filter_map(|(metric, value)| Some((metric.name.clone(), (*value)?))).collect(),
        runs_s: trial.runs.iter().copied().filter(|value| value.is_finite()).collect(),
        ended: trial.ended,
    }
}

fn requirements(model: &Model, setting: u32) -> Vec<RequirementRow> {
    let row = |it: &powerband_record::RequirementStanding| {
        Some(RequirementRow {
            requirement: model.started.requirements.get(it.requirement as usize)?.to_string(),
            found: RequirementFinding {
                probability: finite(it.found.probability).unwrap_or_default(),
                estimate: finite(it.found.estimate),
                low: finite(it.found.low),
                high: finite(it.found.high),
                ..it.found.clone()
            },
        })
    };
    model.requirements.iter().filter(|it| it.setting == setting).filter_map(row).collect()
}

fn distribution(name: &str, of: &Distribution) -> DistributionRow {
    let percentile = |it: Percentile| {
        let (low, high) = it.interval.unzip();
        let row = PercentileRow { value: it.value, low: finite(low), high: finite(high) };
        (it.name.to_owned(), row)
    };
    let (bounds, counts) = of.bins().into_iter().unzip();
    DistributionRow {
        unit: unit_of(name).into(),
        trials: of.trials(),
        count: of.count(),
        min: of.min(),
        max: of.max(),
        percentiles: of.percentiles().into_iter().map(percentile).collect(),
        bounds,
        counts,
    }
}

fn verdict(verdict: &SettingVerdict) -> VerdictRow {
    VerdictRow {
        verdict: verdict.verdict,
        change: finite(verdict.change),
        low: finite(verdict.low),
        high: finite(verdict.high),
        blocks: verdict.blocks,
        decided_at: verdict.decided_at,
        predicted_blocks: verdict.predicted_blocks,
        absolute: verdict.absolute,
        unstable: verdict.unstable,
        withheld: verdict.withheld.clone(),
        notes: verdict.notes.clone(),
    }
}

fn knee(model: &Model) -> Option<KneeRow> {
    let finding = model.knee.as_ref()?;
    let labels = |settings: &[u32]| settings.iter().map(|&setting| model.label(setting)).collect();
    Some(KneeRow {
        metric: finding.metric.clone(),
        knee: finding.knee.map(|setting| model.label(setting)),
        provisional: finding.provisional.map(|setting| model.label(setting)),
        probability: finite(finding.probability),
        inferior: labels(&finding.inferior),
        alike: labels(&finding.alike),
        none: finding.none,
    })
}

/// The settings that are told: of a search those with trials, and those that were left out.
fn shown(model: &Model) -> Vec<SettingRow> {
    let tried = model.shown();
    let told = |index: &u32| {
        let at = usize::try_from(*index).unwrap_or(usize::MAX);
        tried.binary_search(&at).is_ok() || model.settings.get(at).is_some_and(|setting| setting.left.is_some())
    };
    let all = (0..).zip(&model.settings).filter(|(index, _)| told(index));
    all.map(|(index, s)| setting(model, index, s)).collect()
}

fn search(model: &Model) -> Option<SearchRow> {
    let plan = model.started.search.as_ref()?;
    let mut row = SearchRow {
        goal: plan.goal.name.clone(),
        better: plan.goal.better,
        requirements: plan.requirements.iter().map(ToString::to_string).collect(),
        settings: u32::try_from(plan.points.len()).unwrap_or(u32::MAX),
        factors: plan.factors.iter().map(|factor| factor.name.clone()).collect(),
        tried: 0,
        end: None,
        why: None,
        setting: None,
        label: None,
        turns: None,
        typed: typed::typed(model),
        change: None,
        kept: Vec::new(),
        confirmed_in: 0,
        expected_loss: None,
        better_chance: None,
        unproved: Vec::new(),
        trials_needed: None,
        course: model.course.clone(),
    };
    match model.search.clone() {
        None => {}
        Some(SearchReport::Stands(it)) => {
            row.change = finite(it.change).map(|change| SearchChange { change, low: None, high: None });
            (row.tried, row.setting) = (it.tried, it.setting);
            (row.expected_loss, row.better_chance) = (finite(it.expected_loss), finite(it.better_chance));
        }
        Some(SearchReport::Found(it)) => {
            row.change = it.change.filter(|change| change.change.is_finite());
            (row.tried, row.setting, row.end, row.why) = (it.tried, it.setting, Some(it.end), it.why);
            (row.kept, row.confirmed_in) = (it.kept, it.confirmed_in);
            (row.unproved, row.trials_needed) = (it.unproved, it.trials_needed);
            (row.expected_loss, row.better_chance) = (finite(it.expected_loss), finite(it.better_chance));
        }
    }
    let answer = row.setting.and_then(|at| model.settings.get(usize::try_from(at).ok()?));
    row.label = answer.map(|setting| setting.label.clone());
    row.turns = answer.map(|setting| setting.turns.clone());
    Some(row)
}

fn voids(model: &Model) -> Vec<VoidRow> {
    let row = |void: &crate::VoidTrial| VoidRow {
        trial: void.trial,
        block: void.block,
        setting: model.label(void.setting),
        why: sentence::void(&void.why),
    };
    model.voids.iter().map(row).collect()
}
