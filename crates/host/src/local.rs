//! This machine: a [`LocalDevice`] with its ledger's file. Waiting is the World's.
mod device;

use std::ops::{Deref, DerefMut};
use std::path::Path;

use powerband_machine::{
    Change as _, Finished, Hold, Identity, Ledger, LedgerError, Ledgered, Machine, ProcessId, Run as _,
};
use rustix::event::{PollFd, PollFlags};

use self::device::{LocalDevice, Running};
use crate::descendants::Adoption;
use crate::guardian::Guard;
use crate::ledger_file::FileLedger;
use crate::member::{Member, MemberEvent};
use crate::watching::Watching;
use crate::writers::Writers;

/// The machine this process runs on. Loads that still run when it is dropped are killed and reaped; what is turned
/// stays turned until it is undone, what is held by the guardian if there is one.
pub struct LocalMachine(Ledgered<LocalDevice>);

impl LocalMachine {
    /// With the ledger of a folder. Nothing is written before the first turn.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger is there and cannot be read.
    pub fn new(ledger: FileLedger) -> Result<Self, LedgerError> {
        let identity = Identity {
            name: "local".into(),
            system: rustix::system::uname().release().to_string_lossy().into_owned(),
            // Without one, volatile entries are undone by comparison.
            boot_id: crate::boot_id(),
            address: "127.0.0.1".into(),
            privileged: rustix::process::geteuid().is_root(),
            owner: std::process::id(),
        };
        let entries = Ledger::load(Box::new(ledger.clone()), &identity.boot_id)?
            .in_network(crate::files::net_ns())
            .on_machine(crate::machine_name());
        Ok(LocalMachine(Ledgered::new(LocalDevice::new(identity, ledger), entries)))
    }

    /// Another program that serves the hidden verbs, instead of the one that runs.
    #[must_use]
    pub fn with_program(mut self, program: &Path) -> Self {
        self.device_mut().program = program.into();
        self
    }

    /// Where the other machine of a rig reaches this one.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        self.device_mut().identity.address = address.into();
        self
    }

    /// With a guardian from the first held turn on, for a program that serves [`crate::GUARDIAN_VERB`] and holds the
    /// ledger folder's lock.
    #[must_use]
    pub fn guarded(mut self) -> Self {
        let device = self.device_mut();
        device.guard = Some(Guard::new(&device.store.folder()));
        self
    }

    /// For a dry run: what would execute a command of a plan is `ECANCELED` instead.
    #[must_use]
    pub fn rehearsing(mut self) -> Self {
        self.device_mut().rehearses = true;
        self
    }
}

impl Deref for LocalMachine {
    type Target = Ledgered<LocalDevice>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for LocalMachine {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Member for LocalMachine {
    fn machine(&mut self) -> &mut dyn Machine {
        &mut self.0
    }

    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        let device = self.device();
        let writers = device.writers.iter().flat_map(Writers::fds);
        fds.extend(writers.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(device.files.fds().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let all = device.running.values().flat_map(|running| running.child.fds());
        fds.extend(all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let others = [device.adoption.as_ref().map(Adoption::fd), device.guard.as_ref().and_then(Guard::fd)];
        fds.extend(others.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)));
    }

    fn collect(&mut self, now_ns: u64, ready: &[PollFlags], news: &mut Vec<MemberEvent>) {
        let device = self.device_mut();
        let mut ready = ready.iter();
        // Also when nothing was there yet as poll looked: a load that has ended is known as one only until it is taken away.
        let ours = device.ours();
        let watched = device.writers.as_mut().map_or(0, |writers| {
            if writers.listen(&ours) {
                news.push(MemberEvent::Wrote);
            }
            writers.fds().count()
        });
        ready.by_ref().take(watched).for_each(drop);
        let followed = device.files.fds().count();
        if ready.by_ref().take(followed).filter(|flags| !flags.is_empty()).count() > 0 {
            device.files.visit();
        }
        let numbers: Vec<u64> = device.running.keys().copied().collect();
        for number in numbers {
            let LocalDevice { running, files, .. } = device;
            let Some(Running { child, around }) = running.get_mut(&number) else { continue };
            let flags: Vec<bool> = ready.by_ref().take(child.fds().count()).map(|flags| !flags.is_empty()).collect();
            if !flags.contains(&true) {
                continue;
            }
            let said = child.visit();
            if child.begins() {
                around.iter_mut().for_each(|watching| watching.begin_again(files));
            }
            // The first of its descriptors is its pidfd.
            let ended = flags.first() == Some(&true);
            if ended {
                around.iter_mut().for_each(|watching| watching.read(files));
            }
            news.extend(said.into_iter().map(|said| MemberEvent::Said(ProcessId(number), said)));
            if ended && let Some(Running { child, around }) = device.running.remove(&number) {
                if let Some(guard) = &mut device.guard {
                    guard.ended(child.pid());
                }
                let around = around.into_iter().map(Watching::into_samples).collect();
                device.ended.insert(number, Finished { around, ..child.finish(now_ns) });
                news.push(MemberEvent::Ended(ProcessId(number)));
            }
        }
        if let Some(adoption) = &device.adoption
            && ready.next().is_some_and(|flags| !flags.is_empty())
        {
            adoption.reap();
        }
        // The last is the guardian's end.
        if ready.next().is_some_and(|flags| !flags.is_empty()) {
            device.ensure_guardian();
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        self.device().running.values().flat_map(|running| &running.around).filter_map(Watching::due_ns).min()
    }

    fn tend(&mut self) {
        let device = self.device_mut();
        let LocalDevice { running, files, .. } = device;
        let watching = running.values_mut().flat_map(|running| &mut running.around);
        for due in watching.filter(|watching| watching.due_ns().is_some_and(|due| due <= crate::now_ns())) {
            due.read(files);
        }
    }

    fn end_loads(&mut self) {
        let device = self.device_mut();
        if device.running.is_empty() {
            return;
        }
        for (_, Running { child, .. }) in std::mem::take(&mut device.running) {
            let pid = child.pid();
            child.abandon();
            if let Some(guard) = &mut device.guard {
                guard.ended(pid);
            }
        }
        device.left_behind(true);
    }
}

impl Drop for LocalMachine {
    fn drop(&mut self) {
        self.end_loads();
        let open = self.open_entries();
        let device = self.device_mut();
        if !open.is_empty() {
            device.store.save();
        }
        if let Some(guard) = device.guard.take() {
            guard.dismiss(open.iter().any(|entry| entry.turn.hold == Hold::Held));
        }
    }
}
