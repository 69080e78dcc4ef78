//! The counter: what it counts follows the cycles retired, under fixed clocks, governors, quotas and company.
use crate::rig::{alone, count, counter, fix, governor, quiet, run, SECOND};

#[test]
fn the_count_is_proportional_to_the_clock() {
    for khz in [1_600_000, 1_867_000, 2_133_000, 2_400_000] {
        let mut world = alone(quiet("quadcore"));
        fix(&mut world, 0, khz);
        let counted = count(&run(&mut world, &counter(5 * SECOND)));
        let expected = 5.0 * f64::from(khz) * 1e3 / 469.8;
        assert!((counted / expected - 1.0).abs() < 0.002, "{khz}: {counted} against {expected}");
    }
}

#[test]
fn ondemand_counts_as_much_as_performance_and_powersave_does_not() {
    let counted = |name: &str| {
        let mut world = alone(quiet("quadcore"));
        governor(&mut world, 0, name);
        count(&run(&mut world, &counter(5 * SECOND)))
    };
    let (performance, ondemand, powersave) = (counted("performance"), counted("ondemand"), counted("powersave"));
    assert!(ondemand < performance && ondemand > performance * 0.995, "{ondemand} against {performance}");
    assert!((powersave / performance - 1600.0 / 2400.0).abs() < 0.002);
}
