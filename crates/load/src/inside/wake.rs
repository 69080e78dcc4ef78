//! A thread that sleeps until times fixed beforehand, and how late it ran each time.
use std::io;
use std::num::NonZeroU64;

use hdrhistogram::Histogram;
use rustix::thread::ClockId as Clock;
use rustix::time::{ClockId, Timespec};
use serde_json::{Value, json};

use super::{Failure, now_ns};

/// Latenesses from 1 ns to a minute, to three digits.
const LONGEST_NS: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// Wakes at each multiple of the interval until the time is up. A waking that is missed, as the one before came so late, counts
/// from when it was due.
pub(super) fn wake(for_ns: u64, interval_ns: u64, priority: u32) -> Result<Value, Failure> {
    // An ordinary thread's timers may be 50 us late by themselves (prctl(2), PR_SET_TIMERSLACK), which is not the machine.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
        .map_err(|errno| cannot("set the timer's slack", errno))?;
    if priority > 0 {
        go_before_others(priority).map_err(Failure::of(format!("cannot take real-time priority {priority}")))?;
    }
    let mut late: Histogram<u64> = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS)
        .map_err(|error| Failure::Work(format!("no such histogram: {error}")))?;
    let (mut sum_ns, mut max_ns) = (0_u128, 0);
    let began_ns = now_ns(ClockId::Monotonic);
    let mut due_ns = began_ns + interval_ns;
    while due_ns <= began_ns + for_ns {
        sleep_until(due_ns)?;
        let late_ns = now_ns(ClockId::Monotonic).saturating_sub(due_ns);
        late.saturating_record(late_ns);
        sum_ns += u128::from(late_ns);
        max_ns = late_ns.max(max_ns);
        due_ns += interval_ns;
    }
    let cells: Vec<(u64, u64)> = late.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value())).collect();
    let mean_ns = sum_ns as f64 / late.len().max(1) as f64;
    Ok(json!({ "wakes": late.len(), "mean_ns": mean_ns, "max_ns": max_ns, "histogram": cells }))
}

fn cannot(what: &str, errno: rustix::io::Errno) -> Failure {
    Failure::of(format!("cannot {what}"))(errno.into())
}

fn sleep_until(due_ns: u64) -> Result<(), Failure> {
    let due = Timespec {
        tv_sec: i64::try_from(due_ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(due_ns % 1_000_000_000).unwrap_or(0),
    };
    loop {
        match rustix::thread::clock_nanosleep_absolute(Clock::Monotonic, &due) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(cannot("sleep", errno)),
        }
    }
}

/// SCHED_FIFO for this process, which has one thread.
#[expect(unsafe_code, reason = "rustix has no sched_setscheduler")]
fn go_before_others(priority: u32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: i32::try_from(priority).unwrap_or(i32::MAX) };
    // SAFETY: the pointer is to a live struct of the right type, which the kernel only reads.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
