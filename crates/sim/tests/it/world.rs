//! Waiting: deadlines, stops, idle hours, what is watched, handles.
use std::cell::Cell;
use std::rc::Rc;

use powerband_machine::{Errno, Handle, Job, Sampling, StopSignal, Wake, World};
use powerband_record::{Side, Work};

use crate::rig::{SECOND, alone, counter, cpufreq, fix, job, quiet, run, spawn};

#[test]
fn idle_hours_pass_at_once() {
    for name in ["omap3530", "quadcore", "pc"] {
        let mut world = alone(quiet(name));
        assert_eq!(world.wait(Some(24 * 3600 * SECOND)), Wake::Deadline);
        assert_eq!(world.now_ns(), 24 * 3600 * SECOND);
        assert!(world.events() < 500, "{name}: {}", world.events());
        assert_eq!(world.wait(None), Wake::Deadline);
        let idle = job(Work::Idle { for_ns: 3600 * SECOND });
        assert_eq!(run(&mut world, &idle).usage.real_ns, 3600 * SECOND);
    }
}

#[test]
fn a_stop_is_seen_while_waiting() {
    let mut world = alone(quiet("quadcore"));
    let asked = Rc::new(Cell::new(0));
    let counter_of_looks = Rc::clone(&asked);
    world.interrupt_source(Box::new(move || {
        counter_of_looks.set(counter_of_looks.get() + 1);
        (counter_of_looks.get() == 3).then_some(StopSignal::Interrupt)
    }));
    spawn(&mut world, Side::Near, &counter(1000 * SECOND));
    assert_eq!(world.wait(None), Wake::Stop(StopSignal::Interrupt));
    assert!(world.now_ns() > 0 && world.now_ns() < 1000 * SECOND);
    assert_eq!(asked.get(), 3);
}

#[test]
fn what_is_watched_is_read_around_a_process_and_at_its_period() {
    let mut world = alone(quiet("quadcore"));
    let machine = world.machine(Side::Near).unwrap();
    let handles = [
        machine.open(&cpufreq(0, "scaling_cur_freq")).unwrap(),
        machine.open("/sys/kernel/powerband/energy_uj").unwrap(),
    ];
    let watch = |period_ns| Sampling { handles: handles.to_vec(), period_ns };
    let around = vec![watch(Some(SECOND / 10)), watch(None)];
    let finished = run(&mut world, &Job { around, ..counter(SECOND) });
    let samples = &finished.around[0];
    let times: Vec<u64> = samples.iter().map(|sample| sample.at_ns).collect();
    assert_eq!(times[..10], (0..=9).map(|i| i * SECOND / 10).collect::<Vec<_>>());
    assert_eq!(times[times.len() - 1], finished.usage.real_ns, "the last at its very end");
    assert!(times.len() <= 12 && finished.usage.real_ns >= SECOND);
    assert_eq!(finished.around[1], [samples[0].clone(), samples[samples.len() - 1].clone()]);
    assert_eq!(samples[0].texts[0], Ok("1600000\n".into()));
    assert_eq!(samples[9].texts[0], Ok("2400000\n".into()));
    let energies: Vec<u64> = samples.iter().map(|s| s.texts[1].as_ref().unwrap().trim().parse().unwrap()).collect();
    assert!(energies.is_sorted() && energies[9] > energies[0]);
    assert_eq!(world.wait(Some(3 * SECOND)), Wake::Deadline);
}

#[test]
fn handles_are_given_up() {
    let mut world = alone(quiet("quadcore"));
    fix(&mut world, 1, 1_867_000);
    let machine = world.machine(Side::Near).unwrap();
    assert_eq!(machine.open("/sys/nothing"), Err(Errno::ENOENT));
    let handle = machine.open(&cpufreq(1, "scaling_cur_freq")).unwrap();
    let mut texts = vec![Err(Errno::EIO)];
    machine.read_many(&[handle, Handle(99)], &mut texts);
    assert_eq!(texts, [Ok("1867000\n".into()), Err(Errno::EBADF)]);
    machine.close(handle);
    machine.read_many(&[handle], &mut texts);
    assert_eq!(texts, [Err(Errno::EBADF)]);
}

#[test]
fn what_has_ended_is_told_once() {
    let mut world = alone(quiet("quadcore"));
    let id = spawn(&mut world, Side::Near, &counter(SECOND));
    assert_eq!(world.wait(Some(SECOND / 2)), Wake::Deadline);
    assert_eq!(world.now_ns(), SECOND / 2);
    assert_eq!(world.wait(None), Wake::Ended(Side::Near, id));
    let machine = world.machine(Side::Near).unwrap();
    assert!(machine.finished(id).is_some() && machine.finished(id).is_none());
}
