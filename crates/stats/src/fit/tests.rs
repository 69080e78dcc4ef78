//! The two-way fit against what it must be where that is known.

use super::Fit;
use crate::order::Slot;
use crate::random::{Draws, Purpose};
use crate::rules::Scale;
use crate::table::Table;
use crate::winsor::Winsor;

fn noisy(settings: usize, copies: usize, blocks: usize, seed: u64) -> Table {
    let mut draws = Draws::new(seed, Purpose::Trial, 0, 0);
    let mut table = Table::new(settings);
    for _ in 0..blocks {
        let block = table.push_block();
        for slot in crate::order::slots(copies, &(1..=settings).collect::<Vec<_>>()) {
            table.set(block, slot, 10.0 + slot.setting as f64 + draws.normal()).unwrap();
        }
    }
    table
}

#[test]
fn complete_blocks_give_mean_differences() {
    for seed in 0..50 {
        let table = noisy(4, 2, 6, seed);
        let mut fit = Fit::default();
        fit.load(&table, Scale::Linear, |_, _| true).unwrap();
        assert_eq!(fit.df, 36.0 - 5.0 - 6.0 + 1.0);
        for setting in 1..=4 {
            let d: f64 = (0..6)
                .map(|block| {
                    let at = |setting, copy| table.get(block, Slot { setting, copy }).unwrap();
                    at(setting, 0) - 0.5 * (at(0, 0) + at(0, 1))
                })
                .sum::<f64>()
                / 6.0;
            assert!((fit.levels[setting] - fit.levels[0] - d).abs() < 1e-12);
        }
    }
}

/// The normal equations of incomplete blocks: residuals sum to zero over every setting and every block.
#[test]
fn incomplete_blocks_leave_orthogonal_residuals() {
    for seed in 0..50 {
        let mut table = noisy(5, 2, 9, seed);
        let mut draws = Draws::new(seed, Purpose::Trial, 1, 0);
        for _ in 0..15 {
            let slot = Slot::first(1 + draws.below(5) as usize);
            table.clear(draws.below(9) as usize, slot).unwrap();
        }
        let mut fit = Fit::default();
        fit.load(&table, Scale::Linear, |_, _| true).unwrap();
        let mut settings = [0.0; 6];
        let mut rows = [0.0; 9];
        for (seen, e) in fit.observations.iter().zip(&fit.residuals) {
            settings[seen.setting] += e;
            rows[seen.row] += e;
        }
        assert!(settings.iter().chain(&rows).all(|sum| sum.abs() < 1e-11), "{settings:?} {rows:?}");
    }
}

#[test]
fn settings_no_block_links_lose_a_degree_of_freedom() {
    let mut table = Table::new(3);
    for settings in [[0, 1], [0, 1], [2, 3], [2, 3], [2, 3]] {
        let block = table.push_block();
        for (place, setting) in settings.into_iter().enumerate() {
            table.set(block, Slot::first(setting), 1.0 + 0.3 * place as f64 + 0.01 * (block * block) as f64).unwrap();
        }
    }
    let mut fit = Fit::default();
    fit.load(&table, Scale::Linear, |_, _| true).unwrap();
    // Ten trials, five blocks, and one difference inside each of the two islands.
    assert_eq!(fit.df, 10.0 - 5.0 - 2.0);
    assert!(fit.residual_variance() < 1e-20);
}

#[test]
fn values_within_the_limits_are_left_alone() {
    let mut winsor = Winsor::default();
    let mut fit = Fit::default();
    let mut untouched = 0;
    for seed in 0..400 {
        fit.load(&noisy(2, 1, 6, seed), Scale::Linear, |_, _| true).unwrap();
        winsor.apply(&mut fit, true);
        assert!(winsor.on);
        if winsor.clipped.iter().all(|c| !c) {
            untouched += 1;
            assert_eq!(fit.used, fit.raw);
            assert_eq!(winsor.kept_share(), 1.0);
        } else {
            assert_ne!(fit.used, fit.raw);
        }
    }
    assert!(untouched > 20, "{untouched} of 400 tables have nothing to pull in");
}

#[test]
fn too_little_data_is_left_alone() {
    let mut winsor = Winsor::default();
    let mut fit = Fit::default();
    for (settings, copies, blocks) in [(1, 1, 8), (5, 2, 3)] {
        let mut table = noisy(settings, copies, blocks, 7);
        table.set(0, Slot::first(1), 1e6).unwrap();
        fit.load(&table, Scale::Linear, |_, _| true).unwrap();
        winsor.apply(&mut fit, true);
        assert!(!winsor.on);
        assert_eq!(fit.used, fit.raw);
    }
}
