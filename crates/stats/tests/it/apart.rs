//! Things measured apart: how often a difference is claimed where there is none.

use crate::runs::{limit, runs, seed};
use crate::tables::{linear, spending};
use powerband_stats::apart::{sessions, through_reference, welch};
use powerband_stats::noise::{Noise, NoiseStream};
use powerband_stats::{Claim, MetricJudge, Rules, Scale, SettingLook};
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};
use std::sync::Arc;

/// One setting against its reference, stopped when it likes; how it looks at its end.
fn ended(noise: Noise, effect: f64, key: u64) -> Option<SettingLook> {
    let rules = linear(0.5);
    let formula = Formula::new(vec![0.0, effect], 1.0, noise);
    let limits = Limits { blocks: 20, warm_up: 0, seed: key };
    let ended = race_to_verdict(&formula, &rules, &spending(), limits).unwrap();
    let mut judge = MetricJudge::new(1, rules, Arc::clone(&spending())).unwrap();
    judge.look(&ended.table).unwrap().settings.into_iter().next()
}

#[test]
fn two_experiments_with_one_reference() {
    let (count, allowed) = (runs(400, 2000), limit(36, 125));
    for noise in [Noise::Gauss, Noise::Ar, Noise::T3, Noise::Contam, Noise::Linear] {
        let mut alarms = 0;
        for run in 0..count {
            // Both settings truly differ from the reference by as much, on days that have nothing in common.
            let key = |day: u64| seed(720 + day * 100 + noise as u64, run);
            let (Some(first), Some(second)) = (ended(noise, 2.0, key(0)), ended(noise, 2.0, key(1))) else { continue };
            let blocks = first.contrast.blocks.max(second.contrast.blocks);
            let look = through_reference(&second, &first).judge_looked_at(blocks, &linear(0.5), 1, &spending());
            alarms += u32::from(look.claim.is_difference());
        }
        println!("{}: {alarms} of {count}", noise.name());
        assert!(alarms <= allowed, "{}: {alarms} of {count}, at most {allowed}", noise.name());
    }
}

#[test]
fn sessions_are_the_observations() {
    let rules = linear(0.5);
    let count = runs(400, 2000);
    let (mut by_session, mut by_trial) = (0, 0);
    for run in 0..count {
        // Sessions differ by twice what trials do; nothing else differs.
        let mut noise = NoiseStream::new(Noise::Gauss, seed(730, run), 0, 1000);
        let mut session = |day: usize| -> Vec<f64> {
            let level = 2.0 * noise.at(900 + day);
            (0..10).map(|trial| level + noise.at(10 * day + trial)).collect()
        };
        let days: Vec<Vec<f64>> = (0..6).map(&mut session).collect();
        let means: Vec<f64> = days.iter().map(|day| day.iter().sum::<f64>() / 10.0).collect();
        let apart = sessions(&means[..3], &means[3..]).unwrap();
        by_session += u32::from(apart.judge_sessions(3, &rules, 1).claim.is_difference());
        by_trial += u32::from(welch(&days[..3].concat(), &days[3..].concat()).unwrap().p() < 0.05);
    }
    assert!(by_session <= limit(36, 125), "{by_session} of {count}");
    assert!(by_trial * 5 > count, "trials as observations should fail this test: {by_trial} of {count}");
    assert!(sessions(&[1.0, 2.0], &[1.0, 2.0, 3.0]).is_none());
}

#[test]
fn what_is_far_apart_or_alike_is_found() {
    let rules = Rules { scale: Scale::Linear, margin: 1.0, ..Rules::default() };
    let far = sessions(&[10.0, 10.1, 9.9], &[5.0, 5.1, 4.9]).unwrap().judge_sessions(3, &rules, 1);
    assert_eq!(far.claim, Claim::Higher);
    let alike = sessions(&[5.02, 5.1, 4.9], &[5.0, 5.1, 4.9]).unwrap().judge_sessions(3, &rules, 1);
    assert_eq!(alike.claim, Claim::Same);
    let open = sessions(&[5.0, 7.0, 3.0], &[5.5, 8.0, 4.5]).unwrap().judge_sessions(3, &rules, 1);
    assert!(open.claim.is_open() && open.predicted.unwrap().blocks > 3);
}
