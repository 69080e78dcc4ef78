//! What a switch loses and the kernel does not bring back: the outgoing governor's tunables and set speed, which a limit
//! may clamp as well; the preference that a governor replaces; what a driver's change of mode forgets; upper limits that
//! boost lifts.
//!
//! Each is kept as a ledger entry that precedes the switch: writing the value that is there already, with writing it
//! again as the undo. Undone in reverse, that happens after the governor is back, when its tunables exist again at
//! their defaults. An entry without a "before" is always written back: that it reads as a default is no sign of
//! somebody else's hand.
use powerband_machine::{Action, EntryId, Errno, Turn};

use super::moves::{ToSave, moved_by};
use super::{Reached, Run};
use crate::error::advice;
use crate::kernel_file::undo_of;
use crate::plan::{Move, Part};
use crate::policy::{Policy, policies};
use crate::{KnobError, Landed, catalogue::tunable_folder};
use powerband_record::InOrder;
use powerband_sysfs::cpufreq::CPUFREQ;

/// The entries kept for one folder of tunables.
pub(super) struct SavedState {
    folder: String,
    entries: Vec<EntryId>,
}

/// What the conservative governor starts with (Linux 2.6.18 to 6.12).
const DEFAULT_UP_THRESHOLD: u64 = 80;

impl Run<'_> {
    /// Keeps what the switches in `moves` would lose.
    pub(super) fn keep(&mut self, moves: &[Move]) -> Result<Vec<SavedState>, KnobError> {
        let mut kept: Vec<SavedState> = Vec::new();
        for step in moves {
            let (Some(policy), Some(from)) = (&step.site.policy, &step.from) else { continue };
            if step.named.knob.same(&step.value, from) {
                continue;
            }
            if step.value.typed() == "performance" {
                self.keep_hint(policy)?;
            }
            self.keep_tunables(policy, &from.to_lowercase(), &mut kept)?;
        }
        Ok(kept)
    }

    /// Keeps what a governor that leaves a policy takes along: its tunables, unless they are kept, and the speed that is set.
    fn keep_tunables(&mut self, policy: &Policy, governor: &str, kept: &mut Vec<SavedState>) -> Result<(), KnobError> {
        if governor == "userspace" {
            self.keep_file("cpufreq.freq", &policy.name, &policy.file("scaling_setspeed"))?;
        }
        let Some((folder, shared)) = tunable_folder(self.machine, policy, governor)? else { return Ok(()) };
        if kept.iter().any(|kept| kept.folder == folder) {
            return Ok(());
        }
        let site = if shared { "-" } else { &policy.name };
        let mut entries = Vec::new();
        for file in self.files_in_order(&folder)? {
            let path = format!("{folder}/{file}");
            entries.extend(self.keep_file(&format!("{governor}.{file}"), site, &path)?);
        }
        kept.push(SavedState { folder, entries });
        Ok(())
    }

    /// Keeps the preference that amd-pstate in active mode gives up for the governor performance, and does not give back with
    /// another governor, as intel_pstate does (Linux 6.12 drivers/cpufreq/amd-pstate.c, `amd_pstate_epp_update_limit`).
    fn keep_hint(&mut self, policy: &Policy) -> Result<(), KnobError> {
        let driver = self.machine.read(&policy.file("scaling_driver"));
        if driver.is_ok_and(|driver| driver.trim_end() == "amd-pstate-epp") {
            self.keep_file("cpufreq.epp", &policy.name, &policy.file("energy_performance_preference"))?;
        }
        Ok(())
    }

    /// Keeps the tunables of all governors, which a driver's change of mode loses; the rest of it is in the table of `moves`.
    pub(super) fn keep_all_tunables(&mut self) -> Result<(), KnobError> {
        let Ok(all) = policies(self.machine, "pstate.status") else { return Ok(()) };
        let mut kept = Vec::new();
        for policy in &all.active {
            let governor = policy.read(self.machine, "scaling_governor").unwrap_or_default();
            self.keep_tunables(policy, &governor.trim().to_lowercase(), &mut kept)?;
        }
        Ok(())
    }

    /// Keeps what a write moves along.
    pub(super) fn keep_moved(&mut self, action: &Action) -> Result<(), KnobError> {
        let Action::WriteFile { path, .. } = action else { return Ok(()) };
        for ToSave { path, knob, site } in moved_by(self.machine, path) {
            self.keep_file(&knob, &site, &path)?;
        }
        Ok(())
    }

    /// Keeps the upper limits that a switch for boost would move: a driver with a table of frequencies sets them to the
    /// table's new end (`cpufreq_boost_set_sw` of Linux 3.11 and later).
    pub(super) fn keep_upper_limits(&mut self, moves: &[Move]) -> Result<Vec<Policy>, KnobError> {
        let Ok(all) = policies(self.machine, "cpufreq.boost") else { return Ok(Vec::new()) };
        let mut kept = Vec::new();
        for policy in all.active {
            let is_of = |step: &Move| step.site.policy.as_ref().is_none_or(|site| site.name == policy.name);
            if moves.iter().any(is_of) && self.keep_limit(&policy, "max")? {
                kept.push(policy);
            }
        }
        Ok(kept)
    }

    /// Keeps the lower limits that upper ones in `moves` would drag along for good, as Linux 2.6.18 has it, which is told by
    /// its having no folder for all policies (cpufreq.c, `__cpufreq_set_policy`; later kernels refuse, or remember).
    pub(super) fn keep_dragged(&mut self, moves: &[Move]) -> Result<(), KnobError> {
        if self.machine.list(CPUFREQ).is_ok() {
            return Ok(());
        }
        for step in moves.iter().filter(|step| step.named.name == "cpufreq.max_freq") {
            let Some(policy) = &step.site.policy else { continue };
            let asked = step.value.number();
            let low = policy.khz(self.machine, "scaling_min_freq").map(u64::from);
            if asked.zip(low).is_some_and(|(asked, low)| asked < low) {
                self.keep_limit(policy, "min")?;
            }
        }
        Ok(())
    }

    /// Says which of the upper limits kept were moved, unless the setting turns limits itself.
    pub(super) fn note_moved(&mut self, kept: &[Policy], parts: &[Part]) {
        let is_limit = |part: &Part| part.named.name == "cpufreq.max_freq";
        if parts.iter().any(is_limit) {
            return;
        }
        for policy in kept {
            let (Some(now), Some(end)) =
                (policy.khz(self.machine, "scaling_max_freq"), policy.khz(self.machine, "cpuinfo_max_freq"))
            else {
                continue;
            };
            if now == end {
                self.applied.notes.push(format!(
                    "the kernel has set the upper limit of {} to {now} kHz with boost; undo restores the former one, and max_freq=… together with boost chooses one meanwhile",
                    policy.name
                ));
            }
        }
    }

    /// Keeps a policy's limit, `max` or `min`, unless it is the hardware's own; whether it was kept.
    fn keep_limit(&mut self, policy: &Policy, end: &str) -> Result<bool, KnobError> {
        let file = format!("scaling_{end}_freq");
        if policy.khz(self.machine, &file) == policy.khz(self.machine, &format!("cpuinfo_{end}_freq")) {
            return Ok(false);
        }
        Ok(self.keep_file(&format!("cpufreq.{end}_freq"), &policy.name, &policy.file(&file))?.is_some())
    }

    /// Keeps the set speeds that limits in `moves` are about to clamp, where the setting turns the speed as well: read
    /// after the limit, what was there before would be lost. A governor this call has switched has had its own kept.
    pub(super) fn keep_speeds(&mut self, moves: &[Move]) -> Result<(), KnobError> {
        let mut seen: Vec<&str> = Vec::new();
        for policy in moves.iter().filter_map(|step| step.site.policy.as_ref()) {
            let is_switch = |it: &Reached| it.named.name == "cpufreq.governor" && it.landed != Landed::Already;
            let switched = self.applied.sites.iter().any(|it| is_switch(it) && it.site.name == policy.name);
            if switched || seen.contains(&policy.name.as_str()) {
                continue;
            }
            seen.push(&policy.name);
            self.keep_file("cpufreq.freq", &policy.name, &policy.file("scaling_setspeed"))?;
        }
        Ok(())
    }

    /// Writable files of a folder, so that writing them back in reverse never has conservative's thresholds crossed:
    /// the lower one first, unless it would pass the default of the upper one.
    fn files_in_order(&mut self, folder: &str) -> Result<Vec<String>, KnobError> {
        let unreadable =
            |errno| KnobError::Unreadable { knob: "cpufreq.governor".into(), path: folder.to_owned(), errno };
        let mut files: Vec<String> = self
            .machine
            .list(folder)
            .map_err(unreadable)?
            .into_iter()
            .filter(|entry| !entry.folder && entry.mode & 0o222 != 0)
            .map(|entry| entry.name)
            .collect();
        let low = self.machine.read(&format!("{folder}/down_threshold")).ok();
        let low: Option<u64> = low.and_then(|text| text.trim().parse().ok());
        if low.is_some_and(|low| low < DEFAULT_UP_THRESHOLD) {
            files.order_by_key(|file| file == "down_threshold");
        }
        Ok(files)
    }

    /// Keeps one file. One that shows nothing holds nothing that could be kept; one that takes no value it shows is said.
    /// One that fails to be read may hold what would be lost.
    fn keep_file(&mut self, knob: &str, site: &str, path: &str) -> Result<Option<EntryId>, KnobError> {
        let text = match self.machine.read(path) {
            // A set speed under another governor than userspace.
            Ok(text) if text.trim_end() == "<unsupported>" => return Ok(None),
            Ok(text) => text,
            Err(errno @ (Errno::EIO | Errno::ENODEV | Errno::EBUSY | Errno::EAGAIN | Errno::EINTR)) => {
                let (knob, path) = (knob.to_owned(), path.to_owned());
                return Err(KnobError::Unreadable { knob, path, errno });
            }
            Err(_) => return Ok(None),
        };
        let asked = text.trim_end().to_owned();
        let rewrite = undo_of(self.machine, path, &text);
        let acted = self.act(&Turn {
            action: rewrite.clone(),
            undo: Some(rewrite),
            hold: self.hold,
            knob: knob.to_owned(),
            site: site.to_owned(),
            asked: asked.clone(),
            before: None,
            read_back: Some(path.to_owned()),
            step: self.step,
        })?;
        match acted.errno {
            None => Ok(Some(acted.entry)),
            Some(Errno::EINVAL) => {
                let note = format!("{knob} refuses the value it shows: undo will leave it at its default");
                self.applied.notes.push(note);
                Ok(None)
            }
            Some(errno) => Err(KnobError::Refused {
                knob: knob.to_owned(),
                site: site.to_owned(),
                asked,
                errno,
                advice: advice(acted.words.as_deref(), None, errno, Some(path)),
                changed_to: None,
            }),
        }
    }

    /// Lets go of what was kept for folders that are still there, because other policies run that governor.
    pub(super) fn drop_needless(&mut self, kept: &[SavedState]) -> Result<(), KnobError> {
        for kept in kept {
            if self.machine.list(&kept.folder).is_err() {
                continue;
            }
            for &entry in &kept.entries {
                self.machine.undo(entry, true)?;
                self.applied.entries.retain(|&id| id != entry);
            }
        }
        Ok(())
    }
}
