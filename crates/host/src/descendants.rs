//! Processes that a load leaves running: they become our children, are counted, and are ended.
//!
//! While loads run this process is a child subreaper (prctl(2)): what an ended process of theirs leaves is our child then,
//! also when it made a session of its own or forked twice.
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use powerband_machine::LeftBehind;
use rustix::process::{Pid, Signal};
use signal_hook::SigId;
use signal_hook::consts::SIGCHLD;

use crate::process::{Stat, stat};

/// How long a process that is just ending is given before it counts as left behind, ns.
const ENDING_NS: u64 = 20_000_000;
/// How long one that is asked to end may take, ns.
const GRACE_NS: u64 = 500_000_000;
/// How long one that is killed may take, ns.
const KILLING_NS: u64 = 2_000_000_000;
/// So many are named at most.
const MAX_NAMED: usize = 3;

/// Numbers of the children this process started itself, and that are not reaped yet.
static STARTED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Held for reading from the start of a child until its number is known, and for writing while children are reaped that
/// nobody knows: one that ends at once must not be taken for an adopted one by another thread.
static STARTING: RwLock<()> = RwLock::new(());

/// Until it is dropped nobody reaps a child whose number is not known yet.
pub(crate) fn starting() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// A child was started by us.
pub(crate) fn started(pid: Pid) {
    started_children().insert(pid.as_raw_nonzero().get());
}

/// It is reaped, or is no longer our concern.
pub(crate) fn ended(pid: Pid) {
    started_children().remove(&pid.as_raw_nonzero().get());
}

fn started_children() -> std::sync::MutexGuard<'static, BTreeSet<i32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From its making until it is dropped this process adopts what its loads leave running.
#[derive(Debug)]
pub(crate) struct Adoption {
    /// Becomes readable when a child ends.
    end: OwnedFd,
    registered: SigId,
}

impl Adoption {
    /// Begins. `None` where the kernel refuses: then what is left cannot be found.
    pub(crate) fn begin() -> Option<Adoption> {
        let (end, signalled) = UnixStream::pair().ok()?;
        end.set_nonblocking(true).ok()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok()?;
        let registered = signal_hook::low_level::pipe::register(SIGCHLD, signalled).ok()?;
        Some(Adoption { end: end.into(), registered })
    }

    /// What to poll.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.end
    }

    /// Reaps adopted children that have ended, as init would: a load may leave any number of them.
    pub(crate) fn reap(&self) {
        while rustix::io::read(&self.end, &mut [0; 64]).is_ok_and(|got| got > 0) {}
        reap_adopted();
    }

    /// How many processes are left now.
    pub(crate) fn count(&self) -> usize {
        left().len()
    }

    /// Ends all of them: asks first, then kills.
    pub(crate) fn end_all(&self) -> LeftBehind {
        // Most loads leave nothing, and one look at our own children shows that.
        if adopted(&own_children()).next().is_none() {
            return LeftBehind::default();
        }
        let found = wait_until_none(None, ENDING_NS);
        let processes = u32::try_from(found.len()).unwrap_or(u32::MAX);
        if processes > 0 && !wait_until_none(Some(Signal::TERM), GRACE_NS).is_empty() {
            let alive = wait_until_none(Some(Signal::KILL), KILLING_NS);
            return LeftBehind { processes, alive: alive.into_iter().take(MAX_NAMED).map(named).collect() };
        }
        LeftBehind { processes, alive: Vec::new() }
    }
}

impl Drop for Adoption {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.registered);
        let _ = rustix::process::set_child_subreaper(None);
    }
}

/// Signals what is left again and again, because it may go on forking, until nothing is or the time is over; answers what
/// was left at the last look.
fn wait_until_none(signal: Option<Signal>, for_ns: u64) -> BTreeSet<i32> {
    let deadline_ns = crate::now_ns() + for_ns;
    let mut pause_ns = 500_000;
    loop {
        let left = left();
        if left.is_empty() || crate::now_ns() >= deadline_ns {
            // Those that ended while we looked are gone before the next trial starts.
            reap_adopted();
            return left;
        }
        for pid in left.iter().filter_map(|&pid| Pid::from_raw(pid)) {
            // What may not be signalled is still there at the end, and is named then.
            let _ = signal.map(|signal| rustix::process::kill_process(pid, signal));
        }
        crate::pause_until((crate::now_ns() + pause_ns).min(deadline_ns));
        pause_ns = (pause_ns * 2).min(20_000_000);
    }
}

/// Adopted children and all their descendants that live.
fn left() -> BTreeSet<i32> {
    reap_adopted();
    let all = every_process();
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (&pid, stat) in &all {
        children.entry(stat.parent).or_default().push(pid);
    }
    let own = own_pid();
    let mut queue: Vec<i32> = adopted(children.get(&own).map_or(&[], Vec::as_slice)).collect();
    let mut left = BTreeSet::new();
    while let Some(pid) = queue.pop() {
        queue.extend(children.get(&pid).into_iter().flatten());
        if all.get(&pid).is_some_and(|stat| !stat.ended) {
            left.insert(pid);
        }
    }
    left
}

/// Those of our children that we did not start: they are in another session, as every load is in its own.
fn adopted(children: &[i32]) -> impl Iterator<Item = i32> {
    let started = started_children().clone();
    // Below an init that made no session, as in a container or an initramfs, it has number 0, which getsid cannot return.
    let own = stat(own_pid()).map_or(0, |stat| stat.session);
    let is_adopted = move |pid: &i32| !started.contains(pid) && stat(*pid).is_some_and(|stat| stat.session != own);
    children.iter().copied().filter(is_adopted)
}

fn reap_adopted() {
    let _nobody_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    adopted(&own_children()).for_each(reap_if_ended);
}

fn reap_if_ended(pid: i32) {
    if let (true, Some(pid)) = (stat(pid).is_some_and(|stat| stat.ended), Pid::from_raw(pid)) {
        // Nobody else waits for it, and how it ended does not matter.
        let _ = crate::raw::reap(pid, false);
    }
}

/// Our children as the kernel lists them by thread; where it has no such list, by a look at every process.
fn own_children() -> Vec<i32> {
    let listed = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).ok();
    let texts: Option<Vec<String>> =
        std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(listed).collect();
    if let Some(texts) = texts.filter(|texts| !texts.is_empty()) {
        return texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect();
    }
    let own = own_pid();
    every_process().into_iter().filter(|(_, stat)| stat.parent == own).map(|(pid, _)| pid).collect()
}

fn every_process() -> BTreeMap<i32, Stat> {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// `1234 (sleep)`.
fn named(pid: i32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name: String = name.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{pid} ({name})")
}
