//! This box: the crate that touches the machine's operating system.
//!
//! [`HostWorld`] waits in one poll(2) for everything its machines may report; [`LocalMachine`] reads, turns and starts
//! things here. What is turned is written to a [`FileLedger`] first, and one [`Lock`] a folder keeps two owners apart.
//!
//! A load is started in two steps, so that what it costs is its own: we execute ourselves as a small shim
//! ([`shim_main`], the hidden verb [`SHIM_VERB`]), which makes the load a sibling of itself, that is our child, in its
//! own session, control group and set of CPUs. Built-in work is ourselves again, under the verb [`INSIDE_VERB`].
//! What is held is watched over by a guardian ([`stand_guard`], the hidden verb [`GUARDIAN_VERB`]): a process of its own
//! that outlives its owner and restores what it held.
//! A machine at a peer is a [`RemoteMachine`]: an [`Agent`] there, spoken to through the pipes of a child process, which
//! [`Ssh`] may start.
//! One with nothing but a shell is a [`ShellMachine`].
//! A [`RecordedMachine`] is a folder that a [`CapturedMachine`] of some machine was written to: it answers what that one read.
//! A `HostWorld` stays on the thread that made it: the kernel ends its loads with that thread (PR_SET_PDEATHSIG).
mod access;
mod account;
mod actions;
mod agent;
mod caller;
mod capture;
mod carried;
mod child;
mod claim;
mod coalescing;
mod confirmation;
mod descendants;
mod facts;
mod files;
mod folders;
mod followed;
mod group;
mod guardian;
mod in_place;
mod input;
mod interrupts;
mod leading;
mod ledger_file;
mod lent;
mod local;
mod lock;
mod member;
mod namespaces;
mod netlink;
mod owner;
mod perf;
mod process;
mod program;
mod raw;
mod readable;
mod recorded;
mod refusal;
mod remote;
mod remote_ledgers;
mod replace;
mod shell;
mod shim;
mod signals;
mod ssh;
mod surroundings;
mod talk;
mod unpack;
mod watching;
mod way;
mod world;
mod writers;
mod written;

pub use access::{
    AccessMachine, Listener, ListenerError, Peer, PeerRefused, SERVICE_SOCKET, TrustError, allowed, service_socket,
    trusted_place, trusted_text,
};
pub use account::{CallerError, gid_of, groups_of, uid_of};
pub use agent::{Agent, AgentError, Answers, Opened, Parting};
pub use caller::{Caller, command_uid, end_with_sudo, own_uid, with_rights_for};
pub use carried::Carried;
pub use confirmation::{ConfirmError, Confirmation, confirm};
pub use facts::{
    ObserverUsage, address_towards, boot_id, hostname, machine_name, named_state_folder, observer_usage, own_place,
    random_key, random_seed, relative_state_folder, state_folder, store_folder, unix_time_ms, unix_time_s,
};
pub use files::{read_file, user_name};
pub use guardian::{Takeover, stand_guard};
pub use input::{InputError, read_input};
pub use interrupts::interrupts;
pub use ledger_file::FileLedger;
pub use lent::lent_environment;
pub use local::LocalMachine;
pub use lock::{Holder, Lock, LockError, held_since, holder, shortened, wait_or_stop};
pub use namespaces::{agent_folder, folder_there, remove_unused_folder};
pub use owner::{is_alive, this_process};
pub use process::GUARDIAN_VERB;
pub use recorded::{CaptureError, CapturedMachine, CarriedRecording, RecordedError, RecordedMachine};
pub use remote::{RemoteError, RemoteMachine};
pub use remote_ledgers::{
    RemoteNote, forget_remote_note, interrupted_remote_notes, remote_note_folder, write_remote_note,
};
pub use shell::{Copied, ShellAgent, ShellMachine};
pub use shim::{CONTROL_FD_VARIABLE, INSIDE_VERB, SHIM_VERB, shim_main};
pub use signals::heed_children;
pub use ssh::{LinkOptions, Ssh};
pub use surroundings::{Surroundings, program_path, text_variable, variable};
pub use unpack::text_of;
pub use world::{HostMachine, HostWorld};
pub use written::write_file;

use powerband_machine::Errno;

/// The kernel's number, in the words of `machine`.
fn errno(error: rustix::io::Errno) -> Errno {
    Errno(error.raw_os_error())
}

/// The same from the standard library, which finds some mistakes (a NUL in a path) before the kernel; else `EIO` when
/// no number came with it.
fn io_errno(error: &std::io::Error) -> Errno {
    match (error.raw_os_error(), error.kind()) {
        (Some(number), _) => Errno(number),
        (None, std::io::ErrorKind::InvalidInput) => Errno::EINVAL,
        (None, _) => Errno::EIO,
    }
}

/// CLOCK_MONOTONIC, ns.
fn now_ns() -> u64 {
    read_ns(rustix::time::ClockId::Monotonic)
}

fn read_ns(clock: rustix::time::ClockId) -> u64 {
    let now = rustix::time::clock_gettime(clock);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// How long this machine was suspended since it booted, ns: CLOCK_BOOTTIME goes on meanwhile. The time between the two readings
/// makes it less, so the highest of a few is nearest.
fn suspended_ns() -> u64 {
    let apart = || read_ns(rustix::time::ClockId::Boottime).saturating_sub(now_ns());
    (0..5).map(|_| apart()).max().unwrap_or(0)
}

/// The clock of every deadline here, ns.
#[must_use]
pub fn monotonic_ns() -> u64 {
    now_ns()
}

/// Waits for nothing in particular, for a client that asks too often.
pub fn pause_ns(for_ns: u64) {
    pause_until(now_ns() + for_ns);
}

/// How long from now until `at_ns`, for poll(2).
fn time_until(at_ns: u64) -> rustix::time::Timespec {
    let left = at_ns.saturating_sub(now_ns());
    rustix::time::Timespec {
        tv_sec: i64::try_from(left / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(left % 1_000_000_000).unwrap_or(0),
    }
}

/// Waits until `at_ns` for nothing in particular: for the few bounded retries the kernel forces on us.
fn pause_until(at_ns: u64) {
    // A signal ends it early; every caller looks again and has its own bound.
    let _ = rustix::event::poll(&mut [], Some(&time_until(at_ns)));
}
