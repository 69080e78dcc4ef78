//! Signals: the constants, decay, speed, estimates.
use super::{INVERSE, Queue, SchedTask, Signal};

const WINDOW_NS: u64 = 1024 * 1024;
const MS: u64 = 1_000_000;

#[test]
fn inverse_powers_follow_their_formula() {
    for (k, &value) in INVERSE.iter().enumerate() {
        let exact = 4_294_967_295.0 * libm::exp2(-(k as f64) / 32.0);
        assert!(value as f64 <= exact && exact < value as f64 + 1.0, "{k}");
    }
}

#[test]
fn a_signal_halves_in_32_windows_and_keeps_the_rest_of_a_window() {
    let mut signal = Signal::zero(0);
    for window in 1..=400 {
        assert!(signal.update(window * WINDOW_NS, true));
    }
    assert_eq!(signal.util(), 1024);
    assert!(signal.update(432 * WINDOW_NS, false));
    assert_eq!(signal.util(), 512);
    assert!(!signal.update(432 * WINDOW_NS + 1000, true), "less than a unit");
    assert!(!signal.update(433 * WINDOW_NS - 1024, true));
    assert!(signal.update(433 * WINDOW_NS, true), "units add up to a window");
}

#[test]
fn a_slow_clock_takes_longer_to_the_same_utilisation() {
    let (mut fast, mut slow) = (Queue::new(0, 1024, 1024), Queue::new(0, 1024, 512));
    fast.set_running(true, 0);
    slow.set_running(true, 0);
    fast.update(32 * WINDOW_NS);
    slow.update(64 * WINDOW_NS);
    assert_eq!((fast.util(), slow.util()), (512, 512));
    slow.set_running(false, 64 * WINDOW_NS);
    slow.update(64 * WINDOW_NS);
    assert!(slow.util() < 270, "the clock catches up when idle: {}", slow.util());
}

#[test]
fn time_lost_while_saturated_is_dropped() {
    let mut queue = Queue::new(0, 1024, 512);
    queue.set_running(true, 0);
    queue.update(4000 * WINDOW_NS);
    let full = queue.util();
    queue.set_running(false, 4000 * WINDOW_NS);
    queue.update(4000 * WINDOW_NS + 1);
    assert_eq!(queue.util(), full);
    assert_eq!(queue.idle_entries, 1);
}

fn activation(task: &mut SchedTask, queue: &mut Queue, from: u64, to: u64) {
    queue.update(from);
    task.enqueue(queue);
    queue.set_running(true, from);
    queue.update(to);
    task.dequeue(queue, true, true, 1024);
    queue.set_running(false, to);
}

#[test]
fn an_estimate_rises_at_once_and_falls_by_a_quarter() {
    let (mut queue, mut task) = (Queue::new(0, 1024, 1024), SchedTask::default());
    task.move_to(0, &queue);
    activation(&mut task, &mut queue, 0, 50 * MS);
    let first = task.util();
    assert_eq!(task.estimate(), first);
    activation(&mut task, &mut queue, 400 * MS, 402 * MS);
    assert!(task.util() < 60);
    let expected = (4 * first - (first - task.util())) / 4;
    assert_eq!(task.estimate(), expected);
    assert_eq!(queue.estimate, 0);
}

#[test]
fn an_activation_teaches_only_if_a_window_ended_since_the_last_sleep_began() {
    let (mut queue, mut task) = (Queue::new(0, 1024, 1024), SchedTask::default());
    task.move_to(0, &queue);
    activation(&mut task, &mut queue, 0, 50 * MS);
    let before = task.estimate();
    activation(&mut task, &mut queue, 50 * MS + 2_000, 50 * MS + 4_000);
    assert_eq!(task.estimate(), before);
    // However short it is: the sleep before it has let the signal fall.
    activation(&mut task, &mut queue, 60 * MS, 60 * MS + 1_000);
    assert_eq!(task.estimate(), (4 * before - (before - task.util())) / 4);
}
