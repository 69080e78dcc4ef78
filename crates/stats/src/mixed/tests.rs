//! The worked example and what must not change an answer.
use super::columns::Columns;
use super::shared::Shared;
use super::solve::Gram;
use super::variants::{df, least_squares};
use super::*;
use crate::order::{open_order, slots};
use crate::random::{Draws, Purpose};
use crate::rules::Spend;
use crate::spending::Spending;

const EXAMPLE: [(usize, f64); 8] =
    [(0, 100.0), (1, 103.0), (1, 104.0), (0, 102.0), (0, 99.0), (1, 103.0), (1, 105.5), (0, 101.0)];
const THREE_MORE: [(usize, f64); 6] = [(0, 102.0), (1, 103.5), (0, 100.5), (1, 140.0), (1, 104.2), (0, 100.9)];
const OPTIONS: MixedOptions = MixedOptions { winsorise: true, ordered: true, blocks: false, step: 0.0 };

/// Trials of blocks of two, in the order run.
fn example(rows: &[(usize, f64)]) -> Vec<MixedTrial> {
    let trial = |(at, (setting, reading)): (usize, &(usize, f64))| MixedTrial {
        value: libm::log(*reading),
        setting: *setting,
        before: at.checked_sub(1).map(|before| rows[before].0),
        block: at / 2,
        time: at as u32,
    };
    rows.iter().enumerate().map(trial).collect()
}

fn close(have: f64, want: f64) {
    assert!((have - want).abs() < 5.1e-7, "{have} is not {want}");
}

/// Of a variant with equal noise: ln det V, that of M with the priors, rss, logarithm of the weight without its prior.
fn evidence(shared: Shared, disturbance: usize) -> [f64; 4] {
    let trials = example(&EXAMPLE);
    let columns = Columns::new(&trials, 2, OPTIONS);
    let gram = Gram::new(&trials, &columns, columns.needed(|_| true), shared, &[1.0; 2]);
    let df = df(&trials, &columns);
    let solved = gram.solve(&columns, &columns.disturbances[disturbance], df, least_squares(&trials, df)).unwrap();
    let whole = -2.0 * solved.ln_evidence - df * libm::log(solved.squares);
    [gram.ln_det, whole - gram.ln_det, solved.squares, solved.ln_evidence]
}

#[test]
fn the_evidence_of_single_variants() {
    // Walk, disturbance: none, a shallow drift, an after-effect, a period of two.
    let rows = [
        (0.0, 0, [2.079442, std::f64::consts::LN_2, 0.000880624, 19.718346]),
        (1.0, 0, [6.894670, 0.287682, 0.000555377, 18.896413]),
        (0.0, 1, [2.079442, 2.257588, 0.000800186, 19.223486]),
        (0.0, 3, [2.079442, 3.477387, 0.000228009, 22.379959]),
        (0.0, 6, [2.079442, 4.983607, 0.000875946, 17.589093]),
    ];
    for (walk, disturbance, wanted) in rows {
        evidence(Shared::Walk(walk), disturbance).into_iter().zip(wanted).for_each(|(have, want)| close(have, want));
    }
}

#[test]
fn a_level_of_each_block() {
    // None is no walk; a large one leaves differences inside blocks, whatever the blocks' levels.
    evidence(Shared::Block(1e-12), 3).into_iter().zip(evidence(Shared::Walk(0.0), 3)).for_each(|(a, b)| close(a, b));
    let levels = [0.0, 0.4, -0.3, 0.9, 0.1, -0.8];
    let readings = [0.010, 0.031, 0.029, 0.012, 0.009, 0.030, 0.031, 0.010, 0.011, 0.028, 0.032, 0.008];
    let trial = |(at, reading): (usize, &f64)| MixedTrial {
        value: reading + levels[at / 2],
        setting: usize::from(*reading > 0.02),
        before: None,
        block: at / 2,
        time: at as u32,
    };
    let trials: Vec<MixedTrial> = readings.iter().enumerate().map(trial).collect();
    let of = |blocks: bool| {
        let model = MixedModel::new(&trials, 2, MixedOptions { blocks, ..OPTIONS }).unwrap();
        model.contrast(1, 0).unwrap().interval(0.05)
    };
    let (low, high) = of(true);
    assert!(0.015 < low && low < 0.02 && 0.02 < high && high < 0.025, "{low} {high}");
    assert!(of(false).0 < -0.1);
}

#[test]
fn an_outlier_beside_levels_of_blocks_widens_the_interval_little() {
    let right = (0..50).filter(|run| {
        let mut draws = Draws::new(6, Purpose::Trial, *run, 2);
        let slots = slots(1, &[1]);
        let mut trials: Vec<MixedTrial> = Vec::new();
        for block in 0..8 {
            let level = 0.2 * draws.normal();
            for slot in open_order(*run, block, &slots, &slots) {
                let outlier = if block == 4 && slot.setting == 1 { 0.02 } else { 0.0 };
                let (value, time) = (level + 0.001 * draws.normal() + outlier, trials.len() as u32);
                trials.push(MixedTrial { value, setting: slot.setting, before: None, block: block as usize, time });
            }
        }
        let model = MixedModel::new(&trials, 2, MixedOptions { blocks: true, ..OPTIONS }).unwrap();
        let (low, high) = model.contrast(1, 0).unwrap().interval(0.05);
        high - low < 0.01
    });
    let right = right.count();
    assert!(right >= 40, "{right} of 50");
}

/// A variant of the model with equal noise and no walk.
fn of<'a>(model: &'a MixedModel, contrast: &'a Contrast, disturbance: usize) -> (f64, &'a VariantDifference) {
    let is = |it: &&Variant| it.shared == Shared::Walk(0.0) && it.is_even() && it.disturbance == disturbance;
    let (place, variant) = model.variants.iter().enumerate().find(|(_, it)| is(it)).unwrap();
    let without_guard = (variant.variance * model.relative_variance(variant, 1, 0)).sqrt();
    (without_guard, &contrast.variants[place])
}

#[test]
fn the_worked_example() {
    let model = MixedModel::new(&example(&EXAMPLE), 2, OPTIONS).unwrap();
    let contrast = model.contrast(1, 0).unwrap();
    let rows =
        [(0, 0.033044, 0.008567, 0.047224), (3, 0.035425, 0.004397, 0.338107), (4, 0.035355, 0.004301, 0.036394)];
    for (disturbance, effect, error, weight) in rows {
        let (without_guard, said) = of(&model, &contrast, disturbance);
        let pairs = [(said.effect, effect), (without_guard, error), (said.weight, weight)];
        pairs.into_iter().for_each(|(have, want)| close(have, want));
    }
    let (_, none) = of(&model, &contrast, 0);
    close(none.error, 0.008567);
    assert_eq!(none.df, 6.0);
    let (_, after) = of(&model, &contrast, 3);
    close(after.error, 0.004889);
    assert!((after.df - 4.4581).abs() < 5e-5);
    assert_eq!(model.variants.len(), 65);
    close(
        model
            .variants
            .iter()
            .find(|it| it.shared == Shared::Walk(1.0) && it.is_even() && it.disturbance == 0)
            .unwrap()
            .weight,
        0.006920,
    );
    close(model.drift_weight(), 0.107390);
    close(model.after_weight(), 0.857948);
    close(model.period_weight(), 0.006906);
    close(contrast.effect, 0.035040);
    close(contrast.p_difference(), 0.005178);
    close(contrast.p_beyond(libm::log(1.01)), 0.992720);
    let level = Spending::new().nominal(Spend::OpenEnded, 0.045, 3, 4);
    close(level, 0.014204);
    let (low, high) = contrast.interval(level);
    close(low, 0.009749);
    close(high, 0.058916);
}

#[test]
fn the_worked_example_with_an_outlier() {
    let model = MixedModel::new(&example(&[&EXAMPLE[..], &THREE_MORE].concat()), 2, OPTIONS).unwrap();
    let contrast = model.contrast(1, 0).unwrap();
    close(model.kept_share(), 0.928571);
    close(model.after_weight(), 0.099774);
    close(contrast.effect, 0.035448);
    close(contrast.p_difference(), 0.000986);
    let level = Spending::new().nominal(Spend::OpenEnded, 0.045, 3, 7);
    close(level, 0.007962);
    let (low, high) = contrast.interval(level);
    close(low, 0.009949);
    close(high, 0.060967);
    assert_eq!(contrast.blocks, 7);
}

/// Trials of normal noise with a few outliers.
fn drawn(run: u64, settings: usize) -> Vec<MixedTrial> {
    let mut draws = Draws::new(5, Purpose::Trial, run, settings as u64);
    let slots = slots(1, &(1..settings).collect::<Vec<_>>());
    let mut trials: Vec<MixedTrial> = Vec::new();
    for block in 0..3 + (run % 8) as u32 {
        for slot in open_order(run, block, &slots, &slots) {
            let value = draws.normal() + if draws.uniform() < 0.05 { 9.0 } else { 0.0 };
            let (before, time) = (trials.last().map(|it| it.setting), trials.len() as u32);
            trials.push(MixedTrial { value, setting: slot.setting, before, block: block as usize, time });
        }
    }
    trials
}

/// p of no difference, p of beyond a margin, and effect of settings 1 and 0.
fn answer(trials: &[MixedTrial], settings: usize, margin: f64) -> [f64; 3] {
    let contrast = MixedModel::new(trials, settings, OPTIONS).unwrap().contrast(1, 0).unwrap();
    [contrast.p_difference(), contrast.p_beyond(margin), contrast.effect]
}

#[test]
fn shift_scale_sign_and_names_change_nothing() {
    for (run, settings) in (0..40).flat_map(|run| [2, 4].map(|settings| (run, settings))) {
        let trials = drawn(run, settings);
        let base = answer(&trials, settings, 1.0);
        let check = |change: &dyn Fn(&MixedTrial) -> MixedTrial, scale: f64, sign: f64, allowed: f64| {
            let changed: Vec<MixedTrial> = trials.iter().map(change).collect();
            let [p, p_same, effect] = answer(&changed, settings, scale);
            let off = (p - base[0]).abs().max((p_same - base[1]).abs()).max((effect * sign / scale - base[2]).abs());
            assert!(off <= allowed, "run {run} of {settings}: {off}");
        };
        check(&|it| MixedTrial { value: it.value + 100.0, ..*it }, 1.0, 1.0, 1e-11);
        check(&|it| MixedTrial { value: it.value * 64.0, ..*it }, 64.0, 1.0, 1e-12);
        check(&|it| MixedTrial { value: -it.value, ..*it }, 1.0, -1.0, 1e-12);
        // Renamed, a variant at the least weight may come or go.
        let swap = |it: usize| [1, 0].get(it).copied().unwrap_or(it);
        let renamed = |it: &MixedTrial| MixedTrial { setting: swap(it.setting), before: it.before.map(swap), ..*it };
        check(&renamed, 1.0, -1.0, 2e-3);
    }
}

#[test]
fn an_outlier_counts_alike_however_far_it_is() {
    let far = |times: f64| {
        let mut trials = drawn(7, 4);
        trials.iter_mut().for_each(|it| it.value = it.value.clamp(-3.0, 3.0));
        trials[9].value = 30.0 * times;
        answer(&trials, 4, 1.0)
    };
    far(10.0).into_iter().zip(far(1000.0)).for_each(|(one, other)| assert!((one - other).abs() < 1e-9));
}

#[test]
fn void_trials_and_settings_that_left_are_missing() {
    let mut trials = drawn(7, 4);
    trials.retain(|it| it.time != 6 && it.time != 11 && !(it.setting == 3 && it.block > 4));
    let model = MixedModel::new(&trials, 4, OPTIONS).unwrap();
    assert!(model.contrast(1, 0).unwrap().blocks >= 8 && model.contrast(3, 0).unwrap().blocks <= 5);
    let (there, back) = (model.contrast(1, 2).unwrap(), model.contrast(2, 1).unwrap());
    assert!((there.effect + back.effect).abs() < 1e-12 && (there.p_difference() - back.p_difference()).abs() < 1e-12);
    trials.retain(|it| it.setting != 2);
    let model = MixedModel::new(&trials, 4, OPTIONS).unwrap();
    assert!(model.contrast(2, 0).is_none() && model.contrast(1, 0).is_some() && model.contrast(1, 1).is_none());
    trials.truncate(2);
    assert!(matches!(MixedModel::new(&trials, 4, OPTIONS), Err(Error::TooFewTrials { have: 2 })));
}

#[test]
fn values_without_noise_are_as_sure_as_their_rounding() {
    let trials = |level: [f64; 2], noise: f64| -> Vec<MixedTrial> {
        let shaken = |it: MixedTrial| MixedTrial { value: level[it.setting] + noise * it.value, ..it };
        drawn(3, 2).into_iter().map(shaken).collect()
    };
    let different = answer(&trials([5.0, 5.1], 0.0), 2, 0.01);
    assert!(different[0] < 1e-12 && different[1] > 1.0 - 1e-12, "{different:?}");
    let alike = answer(&trials([5.0, 5.0], 0.0), 2, 0.01);
    assert!(alike[0] > 0.9 && alike[1] < 1e-12, "{alike:?}");
}

#[test]
fn steps_of_the_readings_widen_an_interval() {
    let of = |step: f64| {
        let stepped = |it: MixedTrial| MixedTrial { value: (0.2 * it.value).round(), ..it };
        let trials: Vec<MixedTrial> = drawn(7, 2).into_iter().map(stepped).collect();
        MixedModel::new(&trials, 2, MixedOptions { step, ..OPTIONS }).unwrap().contrast(1, 0).unwrap()
    };
    let (fine, coarse) = (of(0.0), of(1.0));
    assert_eq!(fine.resolution, 0.0);
    assert!(coarse.resolution > 0.0 && coarse.p_beyond(1.5) > fine.p_beyond(1.5));
    let ((low, high), (fine_low, fine_high)) = (coarse.interval(0.05), fine.interval(0.05));
    assert!(low < fine_low && high > fine_high);
}
