//! Results of every rule on recorded experiments: seed and data in, verdict, interval and p out. A change of any rule shows in a
//! snapshot; whether it is a better rule is for the error rates (bench/chance).

use crate::tables::{linear, spending};
use powerband_stats::apart::{sessions, through_reference, welch};
use powerband_stats::calibrate::{CalibrationQuestion, CalibrationTrial, calibrate, detectable, time_needed};
use powerband_stats::fleet::odd::{Deviations, effects as odd_effects, find, noise_levels, residuals};
use powerband_stats::fleet::{Effects, heterogeneity, holds, kinds, mean, predict_node, spread, waves};
use powerband_stats::limit::{Limit, level};
use powerband_stats::modes::modes;
use powerband_stats::noise::{Noise, NoiseStream};
use powerband_stats::{
    Knee, KneeGoal, KneeSearch, MetricJudge, Rules, Scale, Spend, Table, TableLook, carry_over, change_point, drift,
    quantile_interval, slots,
};
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};
use powerband_testkit::formula_fleet::{EffectShape, FormulaFleet, SimulatedNode, TrialNoise};
use powerband_testkit::machines::all;
use std::fmt::{Debug, Write as _};

/// A line of a recording: what it is of, and the result to nine digits behind the point.
fn line(text: &mut String, of: &str, result: &dyn Debug) {
    writeln!(text, "{of}: {result:.9?}").unwrap();
}

/// The last look at a whole experiment that ended when it liked.
fn looked(formula: &Formula, rules: &Rules, seed: u64) -> TableLook {
    let ended = race_to_verdict(formula, rules, &spending(), Limits { blocks: 20, warm_up: 1, seed }).unwrap();
    let mut judge = MetricJudge::new(formula.settings(), rules.clone(), spending()).unwrap();
    let looks = (1..=ended.table.blocks()).filter_map(|blocks| judge.look(&ended.table.prefix(blocks)).ok());
    looks.last().unwrap()
}

fn rules() -> Vec<(&'static str, Rules)> {
    let base = linear(0.5);
    let spend = |spend| Rules { spend, ..linear(0.5) };
    vec![
        ("default", base.clone()),
        ("log", Rules { margin: 0.5, ..Rules::default() }),
        ("quick", Rules { scale: Scale::Linear, margin: 0.5, ..Rules::quick() }),
        ("ranks", Rules { scale: Scale::Linear, margin: 0.5, ..Rules::robust() }),
        ("mean", Rules { margin: 0.5, ..Rules::mean() }),
        ("same as a family", Rules { strict_same: true, margin: 1.5, ..base.clone() }),
        ("each its own error rate", Rules { share_between_settings: false, ..base.clone() }),
        ("half first", spend(Spend::HalfFirst)),
        ("uniform", spend(Spend::Uniform { blocks: 20 })),
        ("once", Rules { first_look: Some(8), ..spend(Spend::Once) }),
        ("first look at 2", Rules { first_look: Some(2), ..base.clone() }),
        ("one copy", Rules { reference_copies: Some(1), ..base.clone() }),
        ("nothing pulled in", Rules { winsorise: false, drop_first_block: false, hold_unstable: false, ..base }),
    ]
}

#[test]
fn verdicts_of_all_rules() {
    let mut text = "claim, its look, effect, df, p, level, p of same, level of same, interval\n".to_owned();
    for (name, rules) in rules() {
        let noises = [Noise::Gauss, Noise::Ar, Noise::T3, Noise::Contam, Noise::Bimodal, Noise::All];
        for (seed, noise) in (40..).zip(noises) {
            let mut formula = Formula::new(vec![0.0, 0.0, 1.2, -3.0, 0.3], 1.0, noise);
            formula.noise_sd[4] = if noise == Noise::Gauss { 6.0 } else { 1.0 };
            for it in looked(&formula, &rules, seed).settings {
                let of = format!("{name}, {}, {}", noise.name(), it.setting);
                let (is, asked) = ((it.contrast.effect, it.contrast.df), (it.p, it.level));
                let same = (it.p_same, it.same_level);
                line(&mut text, &of, &(it.claim, it.claimed_at, is, asked, same, it.interval));
            }
        }
    }
    insta::assert_snapshot!("verdicts", text);
}

/// All that a look reports, of machines that are disturbed in different ways.
#[test]
fn looks_at_disturbed_machines() {
    let mut text = String::new();
    for machine in all() {
        let ended = machine.experiment(&linear(0.5), &spending(), 12, 0.7, 50).unwrap();
        line(&mut text, machine.name, &ended.look);
    }
    insta::assert_snapshot!("looks", text);
}

#[test]
fn boundaries_of_all_ways_to_spend() {
    let mut text = String::new();
    for spend in [Spend::OpenEnded, Spend::HalfFirst, Spend::Uniform { blocks: 30 }, Spend::Once] {
        for (alpha, first) in [(0.045, 3), (0.009, 2), (0.18, 8)] {
            let at = |block| format!("{:.6e}", spending().nominal(spend, alpha, first, block));
            let nominal: Vec<String> = [2, 3, 4, 6, 8, 12, 20, 30, 60, 250, 400].map(at).to_vec();
            line(&mut text, &format!("{spend:?} {alpha} from {first}"), &nominal.join(" "));
        }
    }
    insta::assert_snapshot!("boundaries", text);
}

#[test]
fn knees_and_pairs() {
    let mut text = String::new();
    let curves: [&[f64]; 3] = [&[-8.0, -4.0, -0.4, 0.0, 0.2], &[0.0, 0.0, 1.2], &[0.0; 4]];
    for (levels, noise) in curves.iter().flat_map(|levels| [Noise::Gauss, Noise::Contam].map(|noise| (levels, noise))) {
        for goal in [KneeGoal::Knee, KneeGoal::Best] {
            let k = levels.len();
            let formula = Formula::new(levels.to_vec(), 1.0, noise);
            let mut bench = formula.start(60, 100);
            let mut table = Table::new(k - 1);
            let quest = KneeSearch { cost_order: (0..k).collect(), larger_is_better: k > 3, goal, seed: 60 };
            let mut knee = Knee::new(quest, linear(1.0), spending()).unwrap();
            for _ in 0..10 {
                bench.block(&mut table, 60, &slots(1, &(1..k).collect::<Vec<_>>()), Scale::Linear).unwrap();
                let _ = knee.advance(&table);
            }
            line(&mut text, &format!("{} of {k}, {goal:?}", noise.name()), &knee.look(&table));
        }
    }
    insta::assert_snapshot!("knees", text);
}

#[test]
fn carry_over_trends_and_modes() {
    let mut text = String::new();
    for share in [0.0, 0.1, 0.4] {
        let mut formula = Formula::new(vec![0.0, 4.0, 8.0, -6.0], 1.0, Noise::Gauss);
        formula.carry_over = share;
        let mut bench = formula.start(70, 200);
        let mut table = Table::new(3);
        for _ in 0..8 {
            bench.block(&mut table, 70, &slots(1, &[1, 2, 3]), Scale::Linear).unwrap();
        }
        line(&mut text, &format!("carry-over {share}"), &carry_over(&table, &linear(0.5)));
    }
    for noise in Noise::ALL {
        let mut stream = NoiseStream::new(noise, 71, 0, 24);
        let values: Vec<f64> = (0..24).map(|trial| stream.at(trial)).collect();
        line(&mut text, &format!("{}, trends", noise.name()), &(drift(&values), change_point(&values)));
        line(&mut text, &format!("{}, modes", noise.name()), &modes(&values));
        let up: Vec<f64> = values.iter().map(|value| 50.0 + value).collect();
        line(&mut text, &format!("{}, quantile", noise.name()), &quantile_interval(50.0, &up, 0.05));
        for first_look in [5, 9] {
            let limit = Limit { at: 0.6, upper: true, first_look };
            let contrast = level(&values[..12], (first_look == 9).then_some(0.2)).unwrap();
            line(
                &mut text,
                &format!("{}, limit", noise.name()),
                &limit.held(&contrast, &Rules::default(), &spending()),
            );
        }
    }
    insta::assert_snapshot!("trends", text);
}

#[test]
fn calibrations() {
    let (mut text, rules) = (String::new(), Rules::default());
    for noise in [Noise::Gauss, Noise::Linear, Noise::Bimodal, Noise::Spike] {
        let mut stream = NoiseStream::new(noise, 80, 0, 24);
        let value = |place: usize, off: f64| CalibrationTrial { block: place as u32 / 2, value: 100.0 + 2.0 * off };
        let trials: Vec<CalibrationTrial> = (0..24).map(|place| value(place, stream.at(place))).collect();
        let question = CalibrationQuestion { trials: &trials, trial_s: 5.0, rules: &rules, relabels: 40, seed: 3 };
        line(&mut text, noise.name(), &calibrate(&question, &spending()));
    }
    for sd in [0.002, 0.02, 0.2] {
        line(&mut text, &format!("reach at {sd}"), &detectable(sd, 5.0, 10.0, &rules, &spending()));
        line(&mut text, &format!("time at {sd}"), &time_needed(sd, 5.0, 0.03, &rules, &spending()));
    }
    insta::assert_snapshot!("calibrations", text);
}

#[test]
fn measured_apart() {
    let mut text = String::new();
    let rules = linear(0.5);
    for (noise, off) in [(Noise::Gauss, 0.0), (Noise::Gauss, 3.0), (Noise::Contam, 1.0)] {
        let day = |seed, effect| looked(&Formula::new(vec![0.0, effect], 0.5, noise), &rules, seed).settings.remove(0);
        let between = through_reference(&day(91, 2.0 + off), &day(90, 2.0));
        line(&mut text, &format!("{} {off}, through a reference", noise.name()), &between);
        line(&mut text, "judged", &between.judge_looked_at(7, &rules, 2, &spending()));
        let mut stream = NoiseStream::new(noise, 92, 0, 24);
        let values: Vec<f64> = (0..8).map(|day| stream.at(day) + if day < 4 { off } else { 0.0 }).collect();
        line(&mut text, "welch", &welch(&values[..3], &values[4..]).map(|it| (it, it.p(), it.interval(0.05))));
        line(&mut text, "sessions", &sessions(&values[..4], &values[4..]).map(|it| it.judge_sessions(4, &rules, 2)));
    }
    insta::assert_snapshot!("apart", text);
}

/// The answers to all questions about a fleet.
#[test]
fn fleets() {
    let base = FormulaFleet { nodes: 16, effect: 0.03, between_sd: 0.01, ..FormulaFleet::default() };
    let all = [
        ("good", base.clone()),
        ("lost, uneven", FormulaFleet { lost: 0.3, blocks: (2, 6), noise: TrialNoise::Ar, ..base.clone() }),
        ("reversed", FormulaFleet { shifted: (1, -0.08), between_sd: 0.003, ..base.clone() }),
        ("two kinds", FormulaFleet { shifted: (6, -0.07), between_sd: 0.003, ..base.clone() }),
        ("odd", FormulaFleet { odd_level: -1.0, odd_noise: 5.0, settings: 3, blocks: (8, 8), ..base.clone() }),
        ("nothing", FormulaFleet { effect: 0.0, between_sd: 0.0, noise: TrialNoise::T3, ..base.clone() }),
        ("three, skewed", FormulaFleet { nodes: 3, shape: EffectShape::Exponential, ..base }),
    ];
    let mut text = String::new();
    for (name, fleet) in all {
        let nodes = fleet.draw(95);
        let effects = Effects::new(nodes.iter().filter_map(|node| node.effect(1)).collect());
        let values: Vec<f64> = effects.nodes().iter().map(|node| node.mean).collect();
        let levels: Vec<f64> = nodes.iter().map(SimulatedNode::level).collect();
        let noises = noise_levels(&nodes.iter().map(|node| residuals(&node.rows)).collect::<Vec<_>>());
        let mean = mean(&effects).unwrap();
        writeln!(text, "# {name}").unwrap();
        line(&mut text, "mean", &(mean, mean.p(), mean.p_same(0.01), mean.interval(0.05)));
        line(&mut text, "spread", &[0.025, 0.5, 0.975].map(|p| spread(&effects, p)));
        line(&mut text, "disagree", &heterogeneity(&effects));
        line(&mut text, "next node", &predict_node(&effects, &mean, 0.05));
        line(&mut text, "holds", &holds(&effects, &mean, 0.035));
        line(&mut text, "odd by effect", &odd_effects(&effects, &mean, 0.01));
        line(&mut text, "odd by level", &find(&levels, &vec![0.0; levels.len()], Deviations::Both, 0.01));
        line(&mut text, "odd by noise", &find(&noises, &vec![0.0; noises.len()], Deviations::Upper, 0.01));
        line(&mut text, "kinds", &kinds::blind(&values));
        let parts: Vec<Option<usize>> = (0..values.len()).map(|node| Some(usize::from(node < 6))).collect();
        line(&mut text, "kinds by a fact", &kinds::anova(&values, &parts));
        let measured = nodes.iter().map(|node| node.effect(1)).collect();
        let look = waves::look(&vec![true; nodes.len()], &[measured], &Rules::default(), &spending());
        line(&mut text, "while it runs", &look);
    }
    insta::assert_snapshot!("fleets", text);
}
