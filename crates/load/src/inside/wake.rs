//! A thread that sleeps until times fixed beforehand, and how late it ran each time.
use std::io;
use std::num::NonZeroU64;

use rustix::time::ClockId;
use serde_json::{Map, Value, json};

use super::latencies::Latencies;
use super::{Failure, now_ns, sleep_until};

/// Wakes at each multiple of the interval until the time is up. A waking that is missed, as the one before came so late, counts
/// from when it was due.
pub(super) fn wake(for_ns: u64, interval_ns: u64, priority: u32) -> Result<Value, Failure> {
    // An ordinary thread's timers may be 50 us late by themselves (prctl(2), PR_SET_TIMERSLACK), which is not the machine.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))
        .map_err(|errno| cannot("set the timer's slack", errno))?;
    if priority > 0 {
        go_before_others(priority).map_err(Failure::of(format!("cannot take real-time priority {priority}")))?;
    }
    let mut late = Latencies::new()?;
    let began_ns = now_ns(ClockId::Monotonic);
    let mut due_ns = began_ns + interval_ns;
    while due_ns <= began_ns + for_ns {
        sleep_until(due_ns)?;
        let late_ns = now_ns(ClockId::Monotonic).saturating_sub(due_ns);
        late.record(late_ns);
        due_ns += interval_ns;
    }
    let wakes = Map::from_iter([("wakes".to_owned(), json!(late.len()))]);
    Ok(late.complete(wakes))
}

fn cannot(what: &str, errno: rustix::io::Errno) -> Failure {
    Failure::of(format!("cannot {what}"))(errno.into())
}

/// SCHED_FIFO for this process, which has one thread.
#[expect(unsafe_code, reason = "rustix has no sched_setscheduler")]
fn go_before_others(priority: u32) -> io::Result<()> {
    // The kernel's own struct sched_param; those of some C libraries have more, and their call does not go there.
    let parameters: libc::c_int = i32::try_from(priority).unwrap_or(i32::MAX);
    // SAFETY: the pointer is to a live variable of the right type, which the kernel only reads.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
