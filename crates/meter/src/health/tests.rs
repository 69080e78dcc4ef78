//! What is a measurement and what is not.
use super::*;

const S: u64 = 1_000_000_000;
/// 1000 J at 100 W at most: comes round in 10 s at the soonest.
const WRAP: Wrap = Wrap { at_uj: 999_999_999, at_most_w: 100 };

fn watts(all: &[u64]) -> Vec<GaugeSample> {
    (0..).zip(all).map(|(second, watts)| (second * S, Ok(watts * 1_000_000))).collect()
}

#[test]
fn what_no_machine_draws_is_rejected_and_counted() {
    let mut samples = watts(&[50, 60, 3_690_000_000_000, 55, 51, 52, 53]);
    assert_eq!(reject_spikes(&mut samples, None), 1);
    assert_eq!(samples[2].1, Err("it showed 3690000000000 W, which is no measurement".into()));
    let mut samples = watts(&[50, 60, 45_000, 55, 51, 52, 53]);
    assert_eq!(reject_spikes(&mut samples, None), 1, "a lone one, far from all others");
    let mut samples = watts(&[50, 60, 1_100, 1_090, 51, 52, 53]);
    assert_eq!(reject_spikes(&mut samples, None), 0, "two may be a burst");
    assert_eq!(reject_spikes(&mut samples, Some(500)), 2, "and are not where the most is known");
    let mut samples = watts(&[50, 60, 51_000, 49, 51, 52, 53, 48_000, 47_000, 53, 50, 55]);
    assert_eq!(reject_spikes(&mut samples, None), 3, "far from what is usual, and it does not last");
    let mut samples = watts(&[1, 1, 1, 1, 1, 1, 200, 200, 200, 200]);
    assert_eq!(reject_spikes(&mut samples, None), 0, "what lasts is drawn");
    let mut samples = watts(&[0, 0, 40, 0, 0, 0, 0]);
    assert_eq!(reject_spikes(&mut samples, None), 0, "beside zeros nothing stands out");
    let mut samples = watts(&[1, 40]);
    assert_eq!(reject_spikes(&mut samples, None), 0, "two readings have no company");
}

#[test]
fn a_reading_the_counter_cannot_have_shown_is_left_out() {
    let joules = |all: &[u64]| -> Vec<(u64, u64)> { (0..).zip(all).map(|(s, j)| (s * S, j * 1_000_000)).collect() };
    let (kept, rejected) = without_leaps(&joules(&[10, 60, 900, 160, 200]), WRAP);
    assert_eq!(
        (kept, rejected),
        ([(0, 10), (1, 60), (3, 160), (4, 200)].map(|(s, j)| (s * S, j * 1_000_000)).to_vec(), 1)
    );
    let (kept, rejected) = without_leaps(&joules(&[10, 60, 3_000, 160]), WRAP);
    assert_eq!((kept.len(), rejected), (3, 1), "beyond its range");
    let (kept, rejected) = without_leaps(&joules(&[900, 950, 10, 60]), WRAP);
    assert_eq!((kept.len(), rejected), (4, 0), "a wrap is none");
    let (kept, rejected) = without_leaps(&joules(&[10, 60, 400, 450]), WRAP);
    assert_eq!((kept.len(), rejected), (4, 0), "one that does not come back stays, and is refused");
    assert_eq!(step(kept[1], kept[2], WRAP), Err(CounterError::Leapt { joules: 340, ms: 1000, at_most_w: 100 }));
}

#[test]
fn meters_that_die_in_the_midst_are_told_from_idle_ones() {
    assert_eq!(stood_still_ns(&[(0, 1), (S, 2), (3 * S, 2)]), Some(2 * S));
    assert_eq!(stood_still_ns(&[(0, 1), (S, 2), (S + S / 2, 2)]), None, "too short to tell");
    assert_eq!(stood_still_ns(&[(0, 2), (S, 2), (3 * S, 2)]), None, "it never moved, which is another thing");
    assert_eq!(died_for(&watts(&[5, 6, 0, 0, 0])), Some(3));
    assert_eq!(died_for(&watts(&[5, 0, 6, 0])), None);
    assert_eq!(died_for(&watts(&[0, 0, 0])), None);
    let live: Vec<u64> = (0..15).map(|i| 40 + i % 4).chain([41; 12]).collect();
    assert_eq!(stuck_for(&watts(&live)), Some(12));
    assert_eq!(stuck_for(&watts(&[40; 30])), None, "it never moved");
    assert_eq!(stuck_for(&watts(&live[..20])), None);
}
