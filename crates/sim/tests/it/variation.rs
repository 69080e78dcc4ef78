//! Pieces of silicon: fixed by the seed behind a machine's name, spread as asked, and one piece where nothing is asked.
use powerband_machine::World;
use powerband_record::{Side, Work};
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, job, quiet, read, spawn};

fn node() -> Profile {
    quiet("node")
}

/// Power of one busy CPU at a clock, µW.
fn busy_uw(profile: &Profile, khz: u32) -> f64 {
    let (running, leaking) = profile.power.at(khz);
    (running + leaking) as f64
}

fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

#[test]
fn pieces_are_spread_as_asked() {
    let spec = node().variation.unwrap();
    let pieces: Vec<Profile> = (0..2000).map(|seed| node().piece(seed)).collect();
    let lowest = 800_000;
    // At the lowest clock the slope does not matter.
    let leaking: Vec<f64> = pieces.iter().map(|piece| (piece.power.at(lowest).1 as f64).ln()).collect();
    let running: Vec<f64> = pieces.iter().map(|piece| (piece.power.at(lowest).0 as f64).ln()).collect();
    let asked = (spec.leakage.powi(2) + spec.temperature.powi(2) + spec.voltage.powi(2)).sqrt();
    assert!((mean_and_sd(&leaking).1 / asked - 1.0).abs() < 0.06, "{:?}", mean_and_sd(&leaking));
    assert!((mean_and_sd(&running).1 / (2.0 * spec.voltage) - 1.0).abs() < 0.06, "{:?}", mean_and_sd(&running));
    let base = (node().power.at(lowest).1 as f64).ln();
    assert!((mean_and_sd(&leaking).0 - base).abs() < 0.02);
}

#[test]
fn sixty_four_nodes_are_spread_over_a_fifth_of_their_power() {
    let busy: Vec<f64> = (1..=64).map(|seed| busy_uw(&node().piece(seed), 2_100_000)).collect();
    let (mean, sd) = mean_and_sd(&busy);
    assert!((0.03..0.055).contains(&(sd / mean)), "{}", sd / mean);
    let (least, most) = (busy.iter().copied().fold(f64::INFINITY, f64::min), busy.iter().copied().fold(0.0, f64::max));
    assert!((0.12..0.30).contains(&(most / least - 1.0)), "{least} {most}");
    // The effect of a clock differs a little as well.
    let effect: Vec<f64> = (1..=64)
        .map(|seed| {
            let piece = node().piece(seed);
            (busy_uw(&piece, 2_100_000) / busy_uw(&piece, 3_000_000)).ln()
        })
        .collect();
    assert!((0.002..0.02).contains(&mean_and_sd(&effect).1), "{:?}", mean_and_sd(&effect));
}

/// Energy of five busy seconds, µJ.
fn energy_uj(profile: Profile, seed: u64) -> u64 {
    let mut world = SimWorld::new(profile, None, seed).unwrap();
    spawn(&mut world, Side::Near, &job(Work::Counter { for_ns: 5 * SECOND, align_to_second: false }));
    let until = 5 * SECOND;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
    let text = read(&mut world, "/sys/class/powercap/intel-rapl:0/energy_uj");
    text.trim().parse().unwrap()
}

#[test]
fn the_same_seed_is_the_same_silicon_and_meters_see_it() {
    let (seven, eight) = (node().piece(7), node().piece(8));
    assert_eq!(seven.power, node().piece(7).power);
    assert_ne!(seven.power, eight.power);
    let of_seven = energy_uj(seven.clone(), 1);
    assert_eq!(of_seven, energy_uj(node().piece(7), 1));
    assert_ne!(of_seven, energy_uj(eight, 1));
}

#[test]
fn a_machine_that_asks_for_no_variation_has_one_piece() {
    for name in Profile::names() {
        let profile = Profile::builtin(name).unwrap();
        assert_eq!(profile.varies(), name == "node", "{name}");
        if !profile.varies() {
            assert_eq!(profile.clone().piece(7).power, profile.power, "{name}");
        }
    }
}
