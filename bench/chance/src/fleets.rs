//! Fleets of which the truth is known: the tables of docs/design/fleet-statistics.md.

use crate::row::{Limit, Row, Table, once, row};
use crate::spending;
use powerband_stats::distribution::{normal_upper, t_two_sided};
use powerband_stats::fleet::kinds::{ALPHA as KINDS_ALPHA, anova, blind};
use powerband_stats::fleet::odd::{
    ALPHA as ODD_ALPHA, Deviations, Odd, effects as odd_effects, find, noise_levels, residuals,
};
use powerband_stats::fleet::waves::{FIRST_LOOK, SettingStanding, ends, look};
use powerband_stats::fleet::{Effects, holds, mean, predict_node, spread};
use powerband_stats::{Claim, Rules};
use powerband_testkit::formula_fleet::{EffectShape, FormulaFleet, SimulatedNode, TrialNoise};

/// Fleets of a case.
const RUNS: u32 = 2000;
const PART: &str = "fleet-statistics";
const FROM: &str = "the nominal rate or one that is known, four standard errors of 2,000 fleets and two fleets more";
const NOISES: [(&str, TrialNoise); 3] =
    [("normal", TrialNoise::Gauss), ("t", TrialNoise::T3), ("autoregression", TrialNoise::Ar)];
const NOT_NORMAL: [(&str, EffectShape); 2] = [("t", EffectShape::T3), ("exponential", EffectShape::Exponential)];
const SPREADS: [f64; 4] = [0.0, 0.005, 0.01, 0.03];
/// Normal quantile of 90 %.
const NINE_TENTHS: f64 = 1.281_551_565_544_600_4;
/// Mean effect where there is one.
const EFFECT: f64 = 0.03;

type Nodes<'a> = &'a [SimulatedNode];

fn rate(percent: f64) -> Limit {
    Limit::of_rate(percent, RUNS)
}

/// Effects of the first setting on the nodes that measured it.
fn effects(nodes: Nodes<'_>) -> Effects {
    Effects::new(nodes.iter().filter_map(|node| node.effect(1)).collect())
}

/// A row of fleets, a column for each question.
fn fleet_row(
    name: (&str, &str),
    fleet: FormulaFleet,
    limits: &[Limit],
    play: impl Fn(Nodes<'_>) -> Vec<f64> + Send + Sync + 'static,
) -> Row {
    row(name, RUNS, limits, move |key| play(&fleet.draw(key)))
}

/// A fleet of so many nodes and blocks.
fn of(nodes: usize, blocks: u32) -> FormulaFleet {
    FormulaFleet { nodes, blocks: (blocks, blocks), ..FormulaFleet::default() }
}

/// Misses of the intervals of the mean and of the spread.
fn misses(nodes: Nodes<'_>, truth: &FormulaFleet) -> Vec<f64> {
    let effects = effects(nodes);
    let missed = mean(&effects).is_some_and(|mean| {
        let (low, high) = mean.interval(0.05);
        truth.effect < low || truth.effect > high
    });
    let limit = |p| spread(&effects, p).unwrap();
    vec![once(missed), once(truth.between_sd < limit(0.025) || truth.between_sd > limit(0.975))]
}

fn intervals() -> Table {
    let case = |label: &str, detail: &str, fleet: FormulaFleet, allowed: (f64, f64)| {
        let truth = fleet.clone();
        fleet_row((label, detail), fleet, &[rate(allowed.0), rate(allowed.1)], move |nodes| misses(nodes, &truth))
    };
    let mut rows = Vec::new();
    for nodes in [3, 8, 16, 64] {
        for (per_node, (name, noise)) in [2, 4, 8].iter().flat_map(|blocks| NOISES.map(|noise| (*blocks, noise))) {
            for between_sd in SPREADS {
                let fleet = FormulaFleet { effect: EFFECT, between_sd, noise, ..of(nodes, per_node) };
                rows.push(case(
                    &format!("{nodes} nodes"),
                    &format!("{per_node} blocks, {name}, spread {between_sd}"),
                    fleet,
                    (5.5, 6.0),
                ));
            }
        }
    }
    for between_sd in [0.005, 0.03] {
        rows.push(case("1000 nodes", "", FormulaFleet { effect: EFFECT, between_sd, ..of(1000, 4) }, (5.5, 6.0)));
    }
    let drawn = FormulaFleet { blocks: (2, 8), effect: EFFECT, ..FormulaFleet::default() };
    rows.push(case("2 to 8 blocks", "", drawn, (5.7, 6.0)));
    rows.push(case(
        "a quarter of 16 nodes lost",
        "",
        FormulaFleet { lost: 0.25, effect: EFFECT, ..of(16, 4) },
        (5.7, 6.0),
    ));
    for (name, shape) in NOT_NORMAL {
        for (nodes, between_sd) in [8, 16, 64].iter().flat_map(|nodes| [0.005, 0.03].map(|sd| (*nodes, sd))) {
            let fleet = FormulaFleet { shape, between_sd, effect: EFFECT, ..of(nodes, 4) };
            rows.push(case(
                &format!("{name} effects, spread {between_sd}"),
                &format!("{nodes} nodes"),
                fleet,
                (10.0, 50.0),
            ));
        }
    }
    Table { part: PART, title: "Mean and spread", from: FROM, columns: &["mean missed, %", "spread missed, %"], rows }
}

/// Blocks taken for independent observations, whatever node they come from.
fn blocks_as_units(nodes: Nodes<'_>) -> bool {
    let d: Vec<f64> = nodes.iter().flat_map(|node| node.differences(1)).collect();
    let n = d.len() as f64;
    let mean = d.iter().sum::<f64>() / n;
    let variance = d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    t_two_sided((mean - EFFECT) / (variance / n).sqrt(), n - 1.0) <= 0.05
}

/// Nodes weighted by their own variances alone.
fn own_weights(nodes: Nodes<'_>) -> bool {
    let (mut weight, mut sum) = (0.0, 0.0);
    for effect in nodes.iter().filter_map(|node| node.effect(1)) {
        let w = f64::from(effect.blocks) / effect.own_variance().unwrap();
        (weight, sum) = (weight + w, sum + w * effect.mean);
    }
    t_two_sided((sum / weight - EFFECT) * f64::sqrt(weight), 1e6) <= 0.05
}

fn failing() -> Table {
    let case = |label: &str, fleet: FormulaFleet, least: f64, wrong: fn(Nodes<'_>) -> bool| {
        fleet_row((label, ""), fleet, &[Limit::Least(least)], move |nodes| vec![once(wrong(nodes))])
    };
    let effect = FormulaFleet { effect: EFFECT, between_sd: 0.03, ..FormulaFleet::default() };
    let still = FormulaFleet { between_sd: 0.0, blocks: (2, 2), ..effect.clone() };
    let tied = |tied_to_time| FormulaFleet { between_sd: 0.01, tied_to_time, ..of(64, 4) };
    // The same looks, at whichever nodes finished first.
    let completion = |nodes: Nodes<'_>| {
        let mut finished = nodes.to_vec();
        finished.sort_by(|a, b| a.finished.total_cmp(&b.finished));
        standing(&finished).claim.is_difference()
    };
    let peeking = |nodes: Nodes<'_>| {
        let looks = ends(nodes.len() as u32).filter(|end| *end >= FIRST_LOOK);
        looks.map(|end| mean(&effects(&nodes[..end as usize])).unwrap().p()).any(|p| p < 0.05)
    };
    let rows = vec![
        case("blocks as units", effect, 20.0, blocks_as_units),
        case("own variances as weights", still, 20.0, own_weights),
        case("order of completion, correlation 0.5", tied(0.5), 25.0, completion),
        case("order of completion, correlation 1", tied(1.0), 95.0, completion),
        case("5 % at each look", of(64, 4), 15.0, peeking),
    ];
    Table {
        part: PART,
        title: "Fleets judged in ways that fail",
        from: "a multiple of 5 %",
        columns: &["wrong, %"],
        rows,
    }
}

fn claims_holds(nodes: Nodes<'_>) -> bool {
    let effects = effects(nodes);
    holds(&effects, &mean(&effects).unwrap(), 0.035).unwrap().above > 0.0
}

/// The next node's true effect outside its interval: its chance in percent, and the half width.
fn next_missed(nodes: Nodes<'_>, truth: &FormulaFleet) -> Vec<f64> {
    let effects = effects(nodes);
    let (low, high) = predict_node(&effects, &mean(&effects).unwrap(), 0.05).unwrap().effect;
    let at = |x: f64| (x - truth.effect) / truth.between_sd;
    let missed = if truth.between_sd > 0.0 {
        100.0 * (normal_upper(at(high)) + normal_upper(-at(low)))
    } else {
        once(truth.effect < low || truth.effect > high)
    };
    let shown = truth.blocks.0 == 4 && (truth.between_sd - 0.01).abs() < 1e-9;
    vec![missed, if shown { 50.0 * (high - low) } else { f64::NAN }]
}

fn next_nodes() -> Table {
    let mut rows = Vec::new();
    for nodes in [3, 8, 16, 64] {
        let label = format!("{nodes} nodes");
        for (blocks, between_sd) in [2, 4, 8].iter().flat_map(|blocks| SPREADS.map(|sd| (*blocks, sd))) {
            let detail = format!("{blocks} blocks, spread {between_sd}");
            let fleet = FormulaFleet { between_sd, ..of(nodes, blocks) };
            // 6 to 7 % are known with few nodes whose spread is a third of the noise.
            let limits = [rate(7.0), Limit::Any, Limit::Any, Limit::Any];
            let limits_of_holds = [Limit::Any, Limit::Any, rate(5.5), Limit::Any];
            let truth = fleet.clone();
            rows.push(fleet_row((&label, &detail), fleet.clone(), &limits, move |nodes| next_missed(nodes, &truth)));
            let exact = FormulaFleet { effect: NINE_TENTHS * between_sd, ..fleet };
            let wrong = |nodes: Nodes<'_>| vec![f64::NAN, f64::NAN, once(claims_holds(nodes)), f64::NAN];
            rows.push(fleet_row((&label, &detail), exact, &limits_of_holds, wrong));
        }
        for between_sd in SPREADS {
            let fleet = FormulaFleet { between_sd, effect: EFFECT, ..of(nodes, 4) };
            let found = |nodes: Nodes<'_>| vec![f64::NAN, f64::NAN, f64::NAN, once(claims_holds(nodes))];
            let label = format!("{nodes} nodes, spread {between_sd}, effect of 3 %");
            rows.push(fleet_row((&label, ""), fleet, &[Limit::Any; 4], found));
        }
    }
    // Why "holds" is worded as depending on normal effects. 90 % of an exponential with its tail downwards are above its mean less
    // ln 10 − 1 standard deviations; of t with 3 degrees of freedom, above less 1.638/√3.
    for ((name, shape), reach) in NOT_NORMAL.into_iter().zip([1.637_744 / 3.0_f64.sqrt(), 10.0_f64.ln() - 1.0]) {
        for (nodes, between_sd) in [8, 16, 64].iter().flat_map(|nodes| [0.005, 0.03].map(|sd| (*nodes, sd))) {
            let fleet = FormulaFleet { shape, between_sd, effect: reach * between_sd, ..of(nodes, 4) };
            let near = name == "t" || between_sd < 0.01;
            let limit = if near { Limit::Within(0.0, 12.0) } else { Limit::Within(12.0, 40.0) };
            let wrong = |nodes: Nodes<'_>| vec![f64::NAN, f64::NAN, once(claims_holds(nodes)), f64::NAN];
            let label = format!("{name} effects, spread {between_sd}");
            rows.push(fleet_row(
                (&label, &format!("{nodes} nodes")),
                fleet,
                &[Limit::Any, Limit::Any, limit, Limit::Any],
                wrong,
            ));
        }
    }
    let columns = &["next node missed, %", "mean half width, %", "false \"holds\" at 90 %, %", "\"holds\" found, %"];
    Table { part: PART, title: "Next node, and holds", from: FROM, columns, rows }
}

fn by_effect(nodes: Nodes<'_>) -> Odd {
    let effects = effects(nodes);
    odd_effects(&effects, &mean(&effects).unwrap(), ODD_ALPHA)
}

fn by_level(nodes: Nodes<'_>) -> Odd {
    let levels: Vec<f64> = nodes.iter().map(SimulatedNode::level).collect();
    find(&levels, &vec![0.0; levels.len()], Deviations::Both, ODD_ALPHA)
}

fn by_noise(nodes: Nodes<'_>) -> Odd {
    let residuals: Vec<Vec<f64>> = nodes.iter().map(|node| residuals(&node.rows)).collect();
    let noises = noise_levels(&residuals);
    find(&noises, &vec![0.0; noises.len()], Deviations::Upper, ODD_ALPHA)
}

fn good_nodes() -> Table {
    let mut rows = Vec::new();
    for (nodes, (name, noise)) in [8, 16, 64].iter().flat_map(|nodes| NOISES.map(|noise| (*nodes, noise))) {
        let label = format!("{nodes} nodes, {name}");
        for (blocks, between_sd) in [2, 4, 8].iter().flat_map(|blocks| [0.0, 0.005, 0.03].map(|sd| (*blocks, sd))) {
            // t with few blocks and no spread is known to reach 1.8 %.
            let limit = rate(if name == "t" && blocks == 2 { 2.0 } else { 0.7 });
            let fleet = FormulaFleet { between_sd, noise, ..of(nodes, blocks) };
            let wrong =
                |nodes: Nodes<'_>| vec![once(by_effect(nodes).odd > 0), once(by_level(nodes).odd > 0), f64::NAN];
            rows.push(fleet_row(
                (&label, &format!("{blocks} blocks, spread {between_sd}")),
                fleet,
                &[limit, limit, Limit::Any],
                wrong,
            ));
        }
        for (blocks, settings) in [(8, 1), (4, 3), (8, 3)] {
            let fleet = FormulaFleet { settings, noise, ..of(nodes, blocks) };
            let limit = rate(if name == "t" { 5.5 } else { 0.7 });
            let wrong = |nodes: Nodes<'_>| vec![f64::NAN, f64::NAN, once(by_noise(nodes).odd > 0)];
            rows.push(fleet_row(
                (&label, &format!("{blocks} blocks, {settings} settings")),
                fleet,
                &[Limit::Any, Limit::Any, limit],
                wrong,
            ));
        }
    }
    let columns = &["effect, %", "baseline, %", "noise, %"];
    Table { part: PART, title: "Good nodes named odd", from: FROM, columns, rows }
}

fn odd_nodes() -> Table {
    let mut rows = Vec::new();
    for (nodes, between_sd) in [8, 16, 64].iter().flat_map(|nodes| [0.005, 0.01, 0.03].map(|sd| (*nodes, sd))) {
        for blocks in [2, 4, 8] {
            let fleet = FormulaFleet { effect: EFFECT, between_sd, shifted: (1, -0.06), ..of(nodes, blocks) };
            let found = |nodes: Nodes<'_>| vec![once(by_effect(nodes).nodes().iter().any(|it| it.node == 0))];
            let held = (nodes, blocks) == (16, 4) && (between_sd - 0.005).abs() < 1e-9;
            let limit = if held { Limit::Least(70.0) } else { Limit::Any };
            rows.push(fleet_row(
                (&format!("reversed, {nodes} nodes, spread {between_sd}, {blocks} blocks"), ""),
                fleet,
                &[limit],
                found,
            ));
        }
    }
    for nodes in [8, 16, 64] {
        let limit = |least| if nodes == 16 { Limit::Least(least) } else { Limit::Any };
        let quiet = FormulaFleet { level_sd: 0.03, odd_level: 0.85_f64.ln(), ..of(nodes, 4) };
        let level = |nodes: Nodes<'_>| vec![once(by_level(nodes).odd > 0)];
        rows.push(fleet_row((&format!("baseline 15 % lower, {nodes} nodes"), ""), quiet, &[limit(50.0)], level));
        let wild = FormulaFleet { settings: 3, odd_noise: 3.0, ..of(nodes, 8) };
        let noise = |nodes: Nodes<'_>| vec![once(by_noise(nodes).odd > 0)];
        rows.push(fleet_row((&format!("noise 3 times as large, {nodes} nodes"), ""), wild, &[limit(60.0)], noise));
    }
    Table { part: PART, title: "Odd nodes named", from: "measured", columns: &["named, %"], rows }
}

fn kinds_found(nodes: Nodes<'_>, of_kind: usize) -> Vec<f64> {
    let values: Vec<f64> = effects(nodes).nodes().iter().map(|node| node.mean).collect();
    let parts: Vec<Option<usize>> = (0..nodes.len()).map(|node| Some(usize::from(node < of_kind))).collect();
    vec![
        once(blind(&values).is_some_and(|split| split.is_found())),
        once(anova(&values, &parts).unwrap().p <= KINDS_ALPHA),
    ]
}

fn kinds() -> Table {
    let mut rows = Vec::new();
    let shapes = [
        ("normal", EffectShape::Normal, 0.6, 0.6),
        ("t", EffectShape::T3, 0.6, 1.2),
        ("uniform", EffectShape::Uniform, 18.0, 1.2),
    ];
    for ((name, shape, unknown, by_fact), nodes) in
        shapes.iter().flat_map(|shape| [8, 16, 32, 64].map(|nodes| (*shape, nodes)))
    {
        let fleet = FormulaFleet { shape, between_sd: 0.03, ..of(nodes, 4) };
        let found = move |drawn: Nodes<'_>| kinds_found(drawn, nodes / 4);
        rows.push(fleet_row(
            (&format!("one kind, {name} effects"), &format!("{nodes} nodes")),
            fleet,
            &[rate(unknown), rate(by_fact)],
            found,
        ));
    }
    for (nodes, part, gap) in [8, 16, 64]
        .iter()
        .flat_map(|nodes| [2, 4].map(|part| (*nodes, part)))
        .flat_map(|(nodes, part)| [0.02, 0.04, 0.06].map(|gap| (nodes, part, gap)))
    {
        let held = nodes == 16 && part == 2 && gap > 0.05;
        let limits = if held { [Limit::Least(90.0), Limit::Least(99.0)] } else { [Limit::Any; 2] };
        let fleet = FormulaFleet { shifted: (nodes / part, -gap), effect: EFFECT, ..of(nodes, 4) };
        let found = move |drawn: Nodes<'_>| kinds_found(drawn, nodes / part);
        rows.push(fleet_row((&format!("two kinds, {nodes} nodes, 1/{part}, gap {gap}"), ""), fleet, &limits, found));
    }
    Table { part: PART, title: "Kinds", from: FROM, columns: &["found without a fact, %", "by a fact, %"], rows }
}

fn standing(nodes: Nodes<'_>) -> SettingStanding {
    let rules = Rules { margin: 0.0, ..Rules::default() };
    let measured = nodes.iter().map(|node| node.effect(1)).collect();
    look(&vec![true; nodes.len()], &[measured], &rules, &spending()).settings[0]
}

fn early() -> Table {
    let fleet = || of(64, 4);
    let mut rows = Vec::new();
    let none = |nodes: Nodes<'_>| vec![once(standing(nodes).claim.is_difference()), f64::NAN, f64::NAN];
    let limits = [rate(5.3), Limit::Any, Limit::Any];
    for (between_sd, (name, noise)) in SPREADS.iter().flat_map(|sd| NOISES.map(|noise| (*sd, noise))) {
        let fleet = FormulaFleet { between_sd, noise, ..fleet() };
        rows.push(fleet_row(("nothing there", &format!("{name}, spread {between_sd}")), fleet, &limits, none));
    }
    rows.push(fleet_row(
        ("nothing there, 2 to 8 blocks", ""),
        FormulaFleet { blocks: (2, 8), ..fleet() },
        &limits,
        none,
    ));
    rows.push(fleet_row(("nothing there, a fifth lost", ""), FormulaFleet { lost: 0.2, ..fleet() }, &limits, none));
    for tied_to_time in [0.5, 1.0] {
        let tied = FormulaFleet { between_sd: 0.01, tied_to_time, ..fleet() };
        rows.push(fleet_row((&format!("drawn order, correlation with time {tied_to_time}"), ""), tied, &limits, none));
    }
    for (effect, between_sd) in [0.01, 0.02, 0.03].iter().flat_map(|effect| SPREADS.map(|sd| (*effect, sd))) {
        let found = |nodes: Nodes<'_>| {
            let standing = standing(nodes);
            let used = standing.claimed_at.unwrap_or(64);
            vec![once(standing.claim == Claim::Higher), f64::from(used), f64::NAN]
        };
        let held = effect > 0.015 && between_sd < 0.011;
        let limits = if held { [Limit::Least(98.0), Limit::Most(8.0), Limit::Any] } else { [Limit::Any; 3] };
        let fleet = FormulaFleet { effect, between_sd, ..fleet() };
        rows.push(fleet_row((&format!("effect {effect}, spread {between_sd}"), ""), fleet, &limits, found));
    }
    for between_sd in [0.005, 0.01, 0.03] {
        let fleet = FormulaFleet { effect: NINE_TENTHS * between_sd, between_sd, ..fleet() };
        let wrong = |nodes: Nodes<'_>| vec![f64::NAN, f64::NAN, once(standing(nodes).most.is_some())];
        rows.push(fleet_row(
            ("exactly 90 %", &format!("spread {between_sd}")),
            fleet,
            &[Limit::Any, Limit::Any, rate(5.0)],
            wrong,
        ));
    }
    let columns = &["claimed, %", "after nodes", "false \"holds\", %"];
    Table { part: PART, title: "Early stop", from: FROM, columns, rows }
}

pub(crate) fn tables() -> Vec<Table> {
    vec![intervals(), failing(), next_nodes(), good_nodes(), odd_nodes(), kinds(), early()]
}
