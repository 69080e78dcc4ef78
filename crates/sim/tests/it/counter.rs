//! The counter: what it counts follows the cycles retired, under fixed clocks, governors, quotas and company.
use powerband_machine::{Action, Errno, Hold, Machine, SpawnError, Turn, World};
use powerband_record::{CpuList, Side, Work};

use crate::rig::{SECOND, alone, count, counter, fix, governor, job, quiet, quota, run, spawn, turn, until_told};

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
fn the_published_rows_are_met() {
    let rows =
        [(1_600_000, 16_935_898.0), (1_867_000, 19_825_429.0), (2_133_000, 22_618_731.0), (2_400_000, 25_680_123.0)];
    for (khz, published) in rows {
        let mut world = alone(quiet("quadcore"));
        fix(&mut world, 0, khz);
        let counted = count(&run(&mut world, &counter(5 * SECOND)));
        assert!((counted / published - 1.0).abs() < 0.03, "{khz}: {counted} against {published}");
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

#[test]
fn it_waits_for_a_new_second_if_asked() {
    let mut world = alone(quiet("quadcore"));
    fix(&mut world, 0, 2_400_000);
    let began = world.now_ns();
    let aligned = job(Work::Counter { for_ns: SECOND, align_to_second: true });
    let done = run(&mut world, &aligned);
    assert_eq!(world.now_ns(), 2 * SECOND);
    assert_eq!(done.usage.real_ns, 2 * SECOND - began);
    assert_eq!(done.usage.user_ns, done.usage.real_ns);
    assert!((count(&done) / (2.4e9 / 469.8) - 1.0).abs() < 1e-6);
}

fn make_group(world: &mut powerband_sim::SimWorld, group: &str, millionths: u64) -> Option<Errno> {
    let action = Action::MakeGroup { group: group.into(), quota: quota(millionths) };
    let undo = Some(Action::RemoveGroup { group: group.into() });
    let turn = Turn { action, undo, read_back: None, ..turn("/", "", Hold::Held) };
    world.machine(Side::Near).unwrap().act(&turn).unwrap().errno
}

#[test]
fn half_a_cpu_counts_half() {
    let mut world = alone(quiet("quadcore"));
    governor(&mut world, 0, "performance");
    let whole = count(&run(&mut world, &counter(5 * SECOND)));
    assert_eq!(make_group(&mut world, "half", 500_000), None);
    assert_eq!(make_group(&mut world, "half", 500_000), Some(Errno::EEXIST));
    let mut grouped = counter(5 * SECOND);
    grouped.group = Some("half".into());
    let done = run(&mut world, &grouped);
    assert!((count(&done) / whole - 0.5).abs() < 0.005, "{} of {whole}", count(&done));
    assert!(done.usage.real_ns - 5 * SECOND <= SECOND / 100);
    grouped.group = Some("none".into());
    let refused = world.machine(Side::Near).unwrap().spawn(&grouped);
    assert!(matches!(refused, Err(SpawnError::Refused { errno: Errno::ENOENT, .. })));
}

#[test]
fn a_group_shares_its_quota_between_cpus() {
    let mut world = alone(quiet("quadcore"));
    for cpu in 0..4 {
        governor(&mut world, cpu, "performance");
    }
    let whole = count(&run(&mut world, &counter(2 * SECOND)));
    make_group(&mut world, "one", 1_000_000);
    let mut members = Vec::new();
    for cpu in 0..4 {
        let mut member = counter(2 * SECOND);
        (member.cpus, member.group) = (Some(CpuList::new(vec![cpu])), Some("one".into()));
        members.push(spawn(&mut world, Side::Near, &member));
    }
    let counts = members.into_iter().map(|id| count(&until_told(&mut world, id)));
    let all: f64 = counts.sum();
    assert!((all / whole - 1.0).abs() < 0.01, "{all} against {whole}");
}

#[test]
fn removing_a_group_ends_what_runs_in_it() {
    let mut world = alone(quiet("quadcore"));
    make_group(&mut world, "brief", 200_000);
    let mut member = counter(5 * SECOND);
    member.group = Some("brief".into());
    let id = spawn(&mut world, Side::Near, &member);
    world.wait(Some(SECOND));
    let machine: &mut dyn Machine = world.machine(Side::Near).unwrap();
    let entry = machine.open_entries()[0].id;
    machine.undo(entry, false).unwrap();
    assert!(machine.open_entries().is_empty());
    assert!(!machine.finished(id).unwrap().status.success());
}

#[test]
fn hours_of_counting_stay_exact() {
    let mut profile = quiet("pc");
    profile.cpufreq.hz = 50;
    let counted = count(&run(&mut alone(profile), &counter(7_200 * SECOND)));
    assert!((counted / (7_200.0 * 3e9 / 120.0) - 1.0).abs() < 1e-9, "{counted}");
}
