//! The order of a block: every order equally likely, and the same on every host.

use powerband_stats::{Draws, Purpose, Slot, block_order, slots};
use std::collections::BTreeMap;

#[test]
fn every_order_is_as_likely() {
    let slots = slots(1, &[1, 2, 3]);
    let mut counts: BTreeMap<Vec<Slot>, u32> = BTreeMap::new();
    // The first three are drawn together.
    for block in 3..24_003 {
        *counts.entry(block_order(23, block, &slots)).or_default() += 1;
    }
    assert_eq!(counts.len(), 24);
    let chi: f64 = counts.values().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
    // Upper 1e-4 point of chi-squared on 23 degrees of freedom.
    assert!(chi < 57.4, "{chi}");
    // Far too even would be no shuffle either: lower 1e-4 point.
    assert!(chi > 5.7, "{chi}");
}

#[test]
fn in_the_first_three_blocks_every_setting_runs_before_and_after_its_reference_not_in_turns() {
    for (settings, seed) in (1..=8).flat_map(|settings| (0..50).map(move |seed| (settings, seed))) {
        let slots = slots(1, &(1..=settings).collect::<Vec<_>>());
        let orders: Vec<Vec<Slot>> = (0..3).map(|block| block_order(seed, block, &slots)).collect();
        for setting in 1..=settings {
            // Twice its place less those of the copies of the reference: 0 is between them.
            let side = |order: &Vec<Slot>| {
                let places =
                    |wanted| order.iter().enumerate().filter(move |(_, s)| s.setting == wanted).map(|(at, _)| at);
                let (sum, copies) = places(0).fold((0, 0), |(sum, copies), at| (sum + at, copies + 1));
                (places(setting).next().unwrap() * copies).cmp(&sum)
            };
            let sides: Vec<_> = orders.iter().map(side).collect();
            assert!(
                sides.iter().any(|side| side.is_le()) && sides.iter().any(|side| side.is_ge()),
                "{settings}: {orders:?}"
            );
            // With many settings a draw that leaves none in turns is not found.
            assert!(settings > 2 || sides[0] == sides[1] || sides[1] == sides[2], "{settings}: {orders:?}");
        }
    }
}

#[test]
fn the_order_is_keyed_and_portable() {
    let slots = slots(2, &[1, 2, 3]);
    assert_eq!(slots.len(), 5);
    let order = |seed, block| block_order(seed, block, &slots).iter().map(|s| (s.setting, s.copy)).collect::<Vec<_>>();
    // Written down once: these must never change, or stored experiments could not be resumed.
    assert_eq!(order(1, 0), PINNED);
    assert_eq!(order(1, 0), order(1, 0));
    assert_ne!((0..8).map(|b| order(1, b)).collect::<Vec<_>>(), (0..8).map(|b| order(2, b)).collect::<Vec<_>>());
}

const PINNED: [(usize, usize); 5] = [(2, 0), (3, 0), (0, 1), (1, 0), (0, 0)];

#[test]
fn draws_have_their_distributions() {
    let mut draws = Draws::new(5, Purpose::Trial, 0, 0);
    let n = 200_000;
    let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
    assert!((mean(&mut || draws.uniform()) - 0.5).abs() < 0.003);
    assert!(mean(&mut || draws.normal()).abs() < 0.01);
    assert!((mean(&mut || draws.normal().powi(2)) - 1.0).abs() < 0.015);
    assert!((mean(&mut || draws.normal().powi(4)) - 3.0).abs() < 0.15);
    for df in [0.7, 3.0, 11.5] {
        assert!((mean(&mut || draws.chi_squared(df)) / df - 1.0).abs() < 0.02, "{df}");
        assert!((mean(&mut || (draws.chi_squared(df) - df).powi(2)) / (2.0 * df) - 1.0).abs() < 0.06, "{df}");
    }
    for n in [1, 2, 3, 7, 1 << 40] {
        assert!((0..1000).all(|_| draws.below(n) < n));
    }
    assert_eq!(draws.below(0), 0);
}
