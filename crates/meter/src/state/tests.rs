//! Snapshots of texts as kernels print them, and what lies between two.
use powerband_machine::{Look, World};
use powerband_record::{CpuList, Side};
use powerband_sim::{Profile, SimWorld};

use super::*;
use crate::find_all;

fn quadcore() -> SimWorld {
    SimWorld::new(Profile::builtin("quadcore").unwrap(), None, 1).unwrap()
}

fn machine(world: &mut SimWorld) -> &mut dyn Look {
    world.machine(Side::Near).unwrap()
}

#[test]
fn busy_time_is_what_is_neither_idle_nor_waiting() {
    let mut world = quadcore();
    let stat = Utilisation::open(machine(&mut world)).unwrap();
    let at = |text: &str| stat.snapshot(&[Ok(text.to_owned())]);
    let earlier = at("cpu  9 9 9 9\ncpu0 10 0 10 70 10 0 0 0 5 5\ncpu2 1 0 0 9\nintr 5 1\n");
    let later = at("cpu  9 9 9 9\ncpu0 30 0 20 120 20 0 10 0 5 5\ncpu2 1 0 0 9\n");
    assert_eq!(earlier.keys().copied().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(later[&0].busy_since(&earlier[&0]), Some(0.4));
    assert_eq!(later[&2].busy_since(&earlier[&2]), None, "no tick has passed");
    assert_eq!(earlier[&0].busy_since(&later[&0]), None, "nor did one before");
}

#[test]
fn interrupts_are_summed_by_cpu() {
    let mut world = quadcore();
    let source = Interrupts::open(machine(&mut world)).unwrap();
    let text = "           CPU0       CPU2\n  1:  10  20  IO-APIC  5-edge  it\nLOC:  1  2  Local timer\nERR:  7\n";
    let sums = source.snapshot(&[Ok(text.to_owned())]);
    assert_eq!(sums.into_iter().collect::<Vec<_>>(), [(0, 11), (2, 22)]);
    assert_eq!(Interrupts::rate_per_s(100, 150, 500_000_000), Some(100.0));
    assert_eq!(Interrupts::rate_per_s(150, 100, 500_000_000), None);
}

#[test]
fn a_sleep_never_takes_more_than_the_time_there_was() {
    let before = SleepTime { time_us: Some(1_000), entered: Some(3) };
    let after = SleepTime { time_us: Some(501_000), entered: Some(5) };
    assert_eq!(after.share_since(&before, 1_000_000_000), Some(0.5));
    assert_eq!(after.share_since(&before, 100_000_000), Some(1.0));
    assert_eq!(after.entries_per_s(&before, 1_000_000_000), Some(2.0));
    assert_eq!(before.share_since(&after, 1_000_000_000), None, "a counter that went back tells nothing");
}

#[test]
fn a_machine_at_rest_sleeps_and_draws() {
    let mut world = quadcore();
    let near = machine(&mut world);
    let cpus = CpuList::new(vec![0, 1]);
    let (clocks, idle) = (Clocks::open(near, &cpus, false), IdleTimes::open(near, &cpus));
    let found = find_all(near).meters;
    let (stat, power) = (Utilisation::open(near).unwrap(), Powers::open(near, &found));
    let read = |world: &mut SimWorld, handles: &[powerband_machine::Handle]| {
        let mut texts = Vec::new();
        machine(world).read_many(handles, &mut texts);
        texts
    };
    let mut snapshots = Vec::new();
    for at_ns in [1_000_000_000, 3_000_000_000] {
        world.wait(Some(at_ns));
        let sleeps = idle.snapshot(&read(&mut world, &idle.handles()));
        let drawn = power.snapshot(at_ns, &read(&mut world, &power.handles()));
        snapshots.push((stat.snapshot(&read(&mut world, &stat.handles())), sleeps, drawn));
    }
    let [(busy_0, sleeps_0, drawn_0), (busy_1, sleeps_1, drawn_1)] = &snapshots[..] else { panic!() };
    assert!(busy_1[&0].busy_since(&busy_0[&0]).unwrap() < 0.1);
    let slept = sleeps_1[0].iter().zip(&sleeps_0[0]).map(|(now, then)| now.share_since(then, 2_000_000_000).unwrap());
    let slept: f64 = slept.sum();
    assert!((0.8..1.01).contains(&slept), "{slept}");
    assert_eq!(power.watts(None, drawn_1), [None], "a counter needs an earlier reading");
    assert!(power.watts(Some(drawn_0), drawn_1)[0].unwrap() > 0.1);
    let now = clocks.snapshot(&read(&mut world, &clocks.handles()));
    assert!(clocks.unread.is_none());
    for (policy, now) in clocks.policies().iter().zip(now) {
        let khz = now.khz.unwrap();
        assert!((policy.lowest_khz.unwrap()..=policy.highest_khz.unwrap()).contains(&khz));
        assert!(now.governor.is_some() && now.min_khz <= now.max_khz);
    }
}
