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

/// A recording.
#[derive(Default)]
struct Text(String);

impl Text {
    /// A line: what it is of, and the result to nine digits behind the point.
    fn add(&mut self, of: &str, result: impl Debug) {
        writeln!(self.0, "{of}: {result:.9?}").unwrap();
    }
}

/// The last look at a whole experiment that ended when it liked.
fn looked(formula: &Formula, rules: &Rules, seed: u64) -> TableLook {
    let ended = race_to_verdict(formula, rules, &spending(), Limits { blocks: 20, warm_up: 1, seed }).unwrap();
    let mut judge = MetricJudge::new(formula.settings(), rules.clone(), spending()).unwrap();
    let looks = (1..=ended.table.blocks()).filter_map(|blocks| judge.look(&ended.table.prefix(blocks)).ok());
    looks.last().unwrap()
}

/// What is changed in a case.
type Change<T> = fn(&mut T);

fn rules() -> Vec<(&'static str, Rules)> {
    let (scale, margin) = (Scale::Linear, 0.5);
    let changes: [(&str, Change<Rules>); 8] = [
        ("default", |_| ()),
        ("same as a family", |it| (it.strict_same, it.margin) = (true, 1.5)),
        ("each its own error rate", |it| it.share_between_settings = false),
        ("half first", |it| it.spend = Spend::HalfFirst),
        ("uniform", |it| it.spend = Spend::Uniform { blocks: 20 }),
        ("once", |it| (it.first_look, it.spend) = (Some(8), Spend::Once)),
        ("first look at 2", |it| it.first_look = Some(2)),
        ("nothing left out", |it| (it.winsorise, it.drop_first_block) = (false, false)),
    ];
    let kinds =
        [("log", Rules::default()), ("quick", Rules::quick()), ("ranks", Rules::robust()), ("mean", Rules::mean())];
    let kinds = kinds
        .map(|(name, rules)| (name, Rules { margin, scale: if name == "log" { rules.scale } else { scale }, ..rules }));
    let changed = changes.map(|(name, change)| {
        let mut rules = linear(margin);
        change(&mut rules);
        (name, rules)
    });
    changed.into_iter().chain(kinds).collect()
}

#[test]
fn verdicts_of_all_rules() {
    let mut text = Text("claim, its look, effect, df, p, level, p of same, level of same, interval\n".to_owned());
    for (name, rules) in rules() {
        for (seed, noise) in (40..).zip(Noise::ALL).filter(|(seed, _)| seed % 2 == 0) {
            let mut formula = Formula::new(vec![0.0, 0.0, 1.2, -3.0, 0.3], 1.0, noise);
            formula.noise_sd[4] = if noise == Noise::Gauss { 6.0 } else { 1.0 };
            for it in looked(&formula, &rules, seed).settings {
                let of = format!("{name}, {}, {}", noise.name(), it.setting);
                let (is, asked) = ((it.contrast.effect, it.contrast.df()), (it.p, it.level));
                let same = (it.p_same, it.same_level);
                let claim = (it.claim, it.claimed_at);
                text.add(&of, (claim, is, asked, same, it.interval));
            }
        }
    }
    insta::assert_snapshot!("verdicts", text.0);
}

/// All that a look reports, of machines that are disturbed in different ways.
#[test]
fn looks_at_disturbed_machines() {
    let mut text = Text::default();
    for machine in all() {
        let ended = machine.experiment(&linear(0.5), &spending(), 12, 0.7, 50).unwrap();
        text.add(machine.name, ended.look);
    }
    insta::assert_snapshot!("looks", text.0);
}

#[test]
fn boundaries_of_all_ways_to_spend() {
    let mut text = Text::default();
    for spend in [Spend::OpenEnded, Spend::HalfFirst, Spend::Uniform { blocks: 30 }, Spend::Once] {
        for (alpha, first) in [(0.045, 3), (0.009, 2), (0.18, 8)] {
            let at = |block| format!("{:.6e}", spending().nominal(spend, alpha, first, block));
            let nominal: Vec<String> = [2, 3, 4, 6, 8, 12, 20, 30, 60, 250, 400].map(at).to_vec();
            text.add(&format!("{spend:?} {alpha} from {first}"), nominal.join(" "));
        }
    }
    insta::assert_snapshot!("boundaries", text.0);
}

#[test]
fn knees_and_pairs() {
    let mut text = Text::default();
    let curves: [&[f64]; 3] = [&[-8.0, -4.0, -0.4, 0.0, 0.2], &[0.0, 0.0, 1.2], &[0.0; 4]];
    for (levels, noise) in curves.iter().flat_map(|levels| [Noise::Gauss, Noise::Contam].map(|noise| (levels, noise))) {
        for goal in [KneeGoal::Knee, KneeGoal::Best] {
            let k = levels.len();
            let formula = Formula::new(levels.to_vec(), 1.0, noise);
            let mut bench = formula.start(60, 100);
            let mut table = Table::new(k - 1);
            let quest = KneeSearch { cost_order: (0..k).collect(), larger_is_better: k > 3, goal, seed: 60 };
            let mut knee = Knee::new(quest, linear(1.0), spending()).unwrap();
            let slots = slots(1, &(1..k).collect::<Vec<_>>());
            for _ in 0..10 {
                bench.block(&mut table, 60, &slots, Scale::Linear).unwrap();
                let _ = knee.advance(&table);
            }
            text.add(&format!("{} of {k}, {goal:?}", noise.name()), knee.look(&table));
        }
    }
    insta::assert_snapshot!("knees", text.0);
}

#[test]
fn carry_over_trends_and_modes() {
    let mut text = Text::default();
    for share in [0.0, 0.1, 0.4] {
        let mut formula = Formula::new(vec![0.0, 4.0, 8.0, -6.0], 1.0, Noise::Gauss);
        formula.carry_over = share;
        let mut bench = formula.start(70, 200);
        let mut table = Table::new(3);
        let slots = slots(1, &[1, 2, 3]);
        for _ in 0..8 {
            bench.block(&mut table, 70, &slots, Scale::Linear).unwrap();
        }
        text.add("carry-over", (share, carry_over(&table, &linear(0.5))));
    }
    let rules = Rules::default();
    for noise in Noise::ALL {
        let mut stream = NoiseStream::new(noise, 71, 0, 24);
        let values: Vec<f64> = (0..24).map(|trial| stream.at(trial)).collect();
        text.add(noise.name(), (drift(&values), change_point(&values)));
        text.add("modes", modes(&values));
        let up: Vec<f64> = values.iter().map(|value| 50.0 + value).collect();
        text.add("quantile", quantile_interval(50.0, &up, 0.05));
        // Limits from far above to far below: holds, open, broken.
        for (first_look, merged) in [(5, None), (9, Some(0.2))] {
            let contrast = level(&values[..12], merged).unwrap();
            let held =
                |at| Limit { at, upper: true, first_look }.held(&contrast, rules.same_level_of_t(1), &spending());
            let all = (0..120).map(|step| held(3.0 - 0.05 * f64::from(step)));
            let letters = all.map(|it| {
                if it.holds {
                    'h'
                } else if it.broken {
                    'b'
                } else {
                    '.'
                }
            });
            text.add("limits", letters.collect::<String>());
            text.add("limit", held(0.6));
        }
    }
    insta::assert_snapshot!("trends", text.0);
}

#[test]
fn calibrations() {
    let (mut text, rules) = (Text::default(), Rules::default());
    for noise in [Noise::Gauss, Noise::Linear, Noise::Bimodal, Noise::Spike] {
        let mut stream = NoiseStream::new(noise, 80, 0, 24);
        let value = |place: usize, off: f64| CalibrationTrial { block: place as u32 / 2, value: 100.0 + 2.0 * off };
        let trials: Vec<CalibrationTrial> = (0..24).map(|place| value(place, stream.at(place))).collect();
        let question = CalibrationQuestion { trials: &trials, trial_s: 5.0, rules: &rules, relabels: 40, seed: 3 };
        text.add(noise.name(), calibrate(&question, &spending()));
    }
    for sd in [0.002, 0.02, 0.2] {
        text.add("reach", detectable(sd, 5.0, 10.0, &rules, &spending()));
        text.add("time", time_needed(sd, 5.0, 0.03, &rules, &spending()));
    }
    insta::assert_snapshot!("calibrations", text.0);
}

#[test]
fn measured_apart() {
    let mut text = Text::default();
    let rules = linear(0.5);
    for (noise, off) in [(Noise::Gauss, 0.0), (Noise::Gauss, 3.0), (Noise::Contam, 1.0)] {
        let day = |seed, effect| looked(&Formula::new(vec![0.0, effect], 0.5, noise), &rules, seed).settings.remove(0);
        let between = through_reference(&day(91, 2.0 + off), &day(90, 2.0));
        text.add("through a reference", (between.effect, between.standard_error(), between.df()));
        let judged = between.judge_looked_at(&rules, 2, &spending());
        text.add("judged", judged);
        let mut stream = NoiseStream::new(noise, 92, 0, 24);
        let values: Vec<f64> = (0..8).map(|day| stream.at(day) + if day < 4 { off } else { 0.0 }).collect();
        let welch = welch(&values[..3], &values[4..]).unwrap();
        text.add("welch", (&welch, welch.p_difference(), welch.interval(0.05)));
        let sessions = sessions(&values[..4], &values[4..]).unwrap();
        text.add("sessions", sessions.judge_sessions(&rules, 2));
    }
    insta::assert_snapshot!("apart", text.0);
}

/// The answers to all questions about a fleet.
#[test]
fn fleets() {
    let base = FormulaFleet { nodes: 16, effect: 0.03, between_sd: 0.01, ..FormulaFleet::default() };
    let changes: [(&str, Change<FormulaFleet>); 7] = [
        ("good", |_| ()),
        ("lost, uneven", |it| (it.lost, it.blocks, it.noise) = (0.3, (2, 6), TrialNoise::Ar)),
        ("reversed", |it| (it.shifted, it.between_sd) = ((1, -0.08), 0.003)),
        ("two kinds", |it| (it.shifted, it.between_sd) = ((6, -0.07), 0.003)),
        ("odd", |it| (it.odd_level, it.odd_noise, it.settings, it.blocks) = (-1.0, 5.0, 3, (8, 8))),
        ("nothing", |it| (it.effect, it.between_sd, it.noise) = (0.0, 0.0, TrialNoise::T3)),
        ("three, skewed", |it| (it.nodes, it.shape) = (3, EffectShape::Exponential)),
    ];
    let mut text = Text::default();
    for (name, change) in changes {
        let mut fleet = base.clone();
        change(&mut fleet);
        let nodes = fleet.draw(95);
        let effects = Effects::new(nodes.iter().filter_map(|node| node.effect(1)).collect());
        let values: Vec<f64> = effects.nodes().iter().map(|node| node.mean).collect();
        let levels: Vec<f64> = nodes.iter().map(SimulatedNode::level).collect();
        let noises = noise_levels(&nodes.iter().map(|node| residuals(&node.rows)).collect::<Vec<_>>());
        let mean = mean(&effects).unwrap();
        text.add(name, "");
        text.add("mean", (mean, mean.p(), mean.p_same(0.01), mean.interval(0.05)));
        text.add("spread", [0.025, 0.5, 0.975].map(|p| spread(&effects, p)));
        text.add("disagree", heterogeneity(&effects));
        text.add("next node", predict_node(&effects, &mean, 0.05));
        text.add("holds", holds(&effects, &mean, 0.035));
        text.add("odd by effect", odd_effects(&effects, &mean, 0.01));
        let none = vec![0.0; nodes.len()];
        text.add("odd by level", find(&levels, &none, Deviations::Both, 0.01));
        let by_noise = find(&noises, &none, Deviations::Upper, 0.01);
        text.add("odd by noise", by_noise);
        text.add("kinds", kinds::blind(&values));
        let parts: Vec<Option<usize>> = (0..values.len()).map(|node| Some(usize::from(node < 6))).collect();
        text.add("kinds by a fact", kinds::anova(&values, &parts));
        let measured = nodes.iter().map(|node| node.effect(1)).collect();
        let look = waves::look(&vec![true; nodes.len()], &[measured], &Rules::default(), &spending());
        text.add("while it runs", look);
    }
    insta::assert_snapshot!("fleets", text.0);
}
