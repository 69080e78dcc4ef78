//! Pacing: the daemon cpuspeed as a governor in user space. It decides as the simulated one does, by the same functions.
mod stat;

use powerband_cpuspeed::{DaemonOptions, Decision, Group, Pin, Sums, Walker, Wish, discover_listed, within};
use powerband_knob::{Applied, KnobError, Policy, Selection, apply, policies, restore};
use powerband_machine::{
    Acted, Action, Change, EntryId, Handle, Hold, Look, Machine, StopSignal, UserSignal, Wake, World,
};
use powerband_record::{Assignment, CpuList, Setting, Side};
use schemars::JsonSchema;
use serde::Serialize;

use crate::SessionError;

const MS_NS: u64 = 1_000_000;

/// The file that sets a policy's frequency under the governor userspace.
const SPEED: &str = "scaling_setspeed";

/// What a policy's CPUs were seen to do, and the frequency it goes to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Decided {
    /// Seconds since pacing began.
    pub at_s: f64,
    /// The policy.
    pub policy: String,
    /// Its CPUs that are online.
    pub cpus: CpuList,
    /// Idle time of the CPU that was idle least since the last look, %; absent where none has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_percent: Option<u32>,
    /// What follows from it: at an end of its steps it stays.
    pub wish: Wished,
    /// The frequency it goes to, kHz.
    pub khz: u32,
    /// Why the kernel did not take its first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What follows from a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wished {
    /// The highest frequency.
    Fastest,
    /// A step up.
    Faster,
    /// The same frequency.
    Stay,
    /// A step down.
    Slower,
}

impl std::fmt::Display for Wished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Wished::Fastest => "highest",
            Wished::Faster => "one step up",
            Wished::Stay => "stay",
            Wished::Slower => "one step down",
        })
    }
}

impl From<Wish> for Wished {
    fn from(wish: Wish) -> Self {
        match wish {
            Wish::Fastest => Wished::Fastest,
            Wish::Faster => Wished::Faster,
            Wish::Stay => Wished::Stay,
            Wish::Slower => Wished::Slower,
        }
    }
}

/// Who follows what is decided.
pub trait PaceListener {
    /// A policy was looked at; answers whether anybody still wants to know.
    fn decided(&mut self, decided: &Decided) -> bool;

    /// SIGHUP came: whether that is because the terminal is gone, which ends pacing; else it lets go of a pin.
    fn terminal_is_gone(&mut self) -> bool;
}

/// Why pacing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceEnd {
    /// Its time is over.
    Time,
    /// A stop was asked for, or nobody listens any more.
    Stopped,
    /// The machine was lost.
    Lost,
}

/// A policy that is paced: one process of the daemon.
struct Process {
    policy: String,
    cpus: CpuList,
    /// The entry that restores its frequency, under which each step is written.
    entry: EntryId,
    walker: Walker,
    sums: Vec<Sums>,
    due_ns: u64,
    khz: u32,
}

/// The near machine's policies under the daemon's rule, held until restored.
pub struct Pacing {
    applied: Applied,
    processes: Vec<Process>,
    stat: Handle,
    began_ns: u64,
    looks: u64,
    changes: u64,
}

impl Pacing {
    /// Puts policies under the governor userspace at their highest frequency, held, and begins to look.
    ///
    /// # Errors
    /// [`SessionError`]: options that leave no frequency, a machine that has no such governor or refuses it. Then nothing is
    /// left changed, except as [`KnobError::CannotRestore`] says.
    pub fn begin(world: &mut dyn World, options: &DaemonOptions, narrow: &Selection) -> Result<Pacing, SessionError> {
        options.check().map_err(|error| SessionError::Usage(error.to_string()))?;
        let machine = world.machine(Side::Near).ok_or(powerband_rig::RigError::Gone)?;
        let mut notes = Vec::new();
        let chosen = policies(machine, "cpufreq.freq")?.select("cpufreq.freq", narrow, &mut notes)?;
        let mut steps = Vec::new();
        for policy in &chosen {
            steps.push(steps_khz(machine, policy, options)?);
        }
        let setting = userspace(&chosen, &steps)?;
        let stat = machine.open(stat::FILE).map_err(|errno| KnobError::Unreadable {
            knob: "cpufreq.freq".into(),
            path: stat::FILE.into(),
            errno,
        })?;
        let mut applied =
            apply(machine, &setting, Hold::Held, &Selection::default()).inspect_err(|_| machine.close(stat))?;
        applied.notes.extend(notes);
        let entries: Option<Vec<EntryId>> =
            chosen.iter().map(|policy| entry_of(machine, &applied, &policy.file(SPEED))).collect();
        let Some(entries) = entries else {
            let left = restore(machine, &applied.entries, true).not_restored();
            let left = if left.is_empty() { String::new() } else { format!("; not restored: {}", left.join(", ")) };
            return Err(SessionError::Failed(format!("the ledger has no entry for {SPEED}{left}")));
        };
        let now = stat::read(machine, stat);
        let mut processes = Vec::new();
        for ((policy, steps), entry) in chosen.into_iter().zip(steps).zip(entries) {
            let sums = stat::of(&now, &policy.online, &[]);
            let khz = steps.first().copied().unwrap_or(0);
            let walker = Walker::new(Group::new(*options, steps, sums.clone()));
            processes.push(Process { policy: policy.name, cpus: policy.online, entry, walker, sums, due_ns: 0, khz });
        }
        // What it took to begin is not what is paced.
        let began_ns = world.now_ns();
        processes.iter_mut().for_each(|process| process.due_ns = began_ns);
        Ok(Pacing { applied, processes, stat, began_ns, looks: 0, changes: 0 })
    }

    /// What is held: to be restored whatever happens.
    #[must_use]
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// How often policies were looked at, and how many of these looks changed a frequency.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.looks, self.changes)
    }

    /// Paces until a time is over or somebody ends it. SIGUSR1 pins the highest frequency and SIGUSR2 the lowest; SIGHUP lets
    /// it decide again.
    ///
    /// # Errors
    /// [`SessionError`]: the ledger is no longer in place, so that nothing more may be changed.
    pub fn run(
        &mut self,
        world: &mut dyn World,
        for_ns: Option<u64>,
        listener: &mut dyn PaceListener,
    ) -> Result<PaceEnd, SessionError> {
        let end_ns = for_ns.map(|for_ns| self.began_ns.saturating_add(for_ns));
        loop {
            let now_ns = world.now_ns();
            if end_ns.is_some_and(|end_ns| now_ns >= end_ns) {
                return Ok(PaceEnd::Time);
            }
            let Some(machine) = world.machine(Side::Near) else { return Ok(PaceEnd::Lost) };
            if !self.wake(machine, now_ns, listener)? {
                return Ok(PaceEnd::Stopped);
            }
            let due_ns = self.processes.iter().map(|process| process.due_ns).chain(end_ns).min();
            match world.wait(due_ns) {
                Wake::Stop(StopSignal::HangUp) if !listener.terminal_is_gone() => self.pin(world, None),
                Wake::Stop(_) => return Ok(PaceEnd::Stopped),
                Wake::User(UserSignal::One) => self.pin(world, Some(Pin::Fastest)),
                Wake::User(UserSignal::Two) => self.pin(world, Some(Pin::Slowest)),
                Wake::Lost(Side::Near, _) => return Ok(PaceEnd::Lost),
                _ => {}
            }
        }
    }

    /// Wakes every process that is due; answers whether anybody still listens.
    fn wake(
        &mut self,
        machine: &mut dyn Machine,
        now_ns: u64,
        listener: &mut dyn PaceListener,
    ) -> Result<bool, SessionError> {
        let looks = |process: &Process| process.due_ns <= now_ns && process.walker.looks_next();
        // One reading for all that look at this moment.
        let stat = if self.processes.iter().any(looks) { stat::read(machine, self.stat) } else { String::new() };
        let (at_s, mut heard) = (now_ns.saturating_sub(self.began_ns) as f64 / 1e9, true);
        for process in self.processes.iter_mut().filter(|process| process.due_ns <= now_ns) {
            if process.walker.looks_next() {
                process.sums = stat::of(&stat, &process.cpus, &process.sums);
            }
            let woken = process.walker.wake(&process.sums);
            let acted = woken.khz.map(|khz| machine.rewrite(process.entry, &khz.to_string())).transpose();
            let acted = acted.map_err(KnobError::from)?;
            // From when it was due, so that groups that began together stay together; not to catch up after a suspend.
            process.due_ns = process.due_ns.saturating_add(woken.sleep_ms * MS_NS).max(now_ns);
            if let Some(decision) = woken.decision {
                let decided = process.decided(at_s, &decision, acted.as_ref());
                self.looks += 1;
                self.changes += u64::from(!decision.walk.is_empty() && decided.refused.is_none());
                heard &= listener.decided(&decided);
            }
        }
        Ok(heard)
    }

    fn pin(&mut self, world: &mut dyn World, pin: Option<Pin>) {
        let now_ns = world.now_ns();
        let Some(machine) = world.machine(Side::Near) else { return };
        let stat = stat::read(machine, self.stat);
        for process in &mut self.processes {
            process.sums = stat::of(&stat, &process.cpus, &process.sums);
            process.walker.pin(pin, &process.sums);
            process.due_ns = now_ns;
        }
    }

    /// How many policies are paced.
    #[must_use]
    pub fn policies(&self) -> usize {
        self.processes.len()
    }

    /// What is held, for its end.
    #[must_use]
    pub fn into_applied(self) -> Applied {
        self.applied
    }
}

impl Process {
    fn decided(&mut self, at_s: f64, decision: &Decision, acted: Option<&Acted>) -> Decided {
        // At the end of its steps it stays, whatever it wishes for.
        let wish = if decision.walk.is_empty() { Wish::Stay } else { decision.wish };
        self.khz = decision.walk.last().copied().unwrap_or(self.khz);
        let refused = acted.and_then(|acted| {
            let errno = acted.errno?;
            Some(acted.words.clone().unwrap_or_else(|| errno.to_string()))
        });
        Decided {
            at_s,
            policy: self.policy.clone(),
            cpus: self.cpus.clone(),
            idle_percent: decision.idle_percent,
            wish: wish.into(),
            khz: self.khz,
            refused,
        }
    }
}

/// The frequencies a policy goes through, fastest first: those between its limits and between the two speeds of the options.
fn steps_khz(machine: &mut dyn Look, policy: &Policy, options: &DaemonOptions) -> Result<Vec<u32>, SessionError> {
    let mut limit = |file: &str| {
        let path = policy.file(file);
        let text = machine.read(&path).map_err(|errno| (path.clone(), errno));
        text.map_err(|(path, errno)| KnobError::Unreadable { knob: "cpufreq.freq".into(), path, errno })
            .map(|text| text.trim().parse::<u32>().unwrap_or(0))
    };
    let (lowest, highest) = (limit("scaling_min_freq")?, limit("scaling_max_freq")?);
    let found = discover_listed(&policy.steps_khz(machine), lowest, highest);
    let steps = within(&found, options.min_khz, options.max_khz);
    if steps.is_empty() {
        let name = &policy.name;
        return Err(SessionError::Usage(format!(
            "no frequency of {name} lies between the lowest and the highest speed asked for; it has {lowest} to {highest} kHz"
        )));
    }
    Ok(steps)
}

/// The governor userspace and the highest frequency of each policy.
fn userspace(chosen: &[Policy], steps: &[Vec<u32>]) -> Result<Setting, SessionError> {
    let mut assignments = Vec::new();
    for (policy, steps) in chosen.iter().zip(steps) {
        let top = steps.first().copied().unwrap_or(0);
        for text in
            [format!("cpufreq.governor@{}=userspace", policy.name), format!("cpufreq.freq@{}={top}", policy.name)]
        {
            assignments.push(Assignment::parse(&text).map_err(|error| SessionError::Failed(error.to_string()))?);
        }
    }
    Ok(Setting { name: None, assignments })
}

/// The entry that restores a file, of those that were just made.
fn entry_of(machine: &dyn Change, applied: &Applied, file: &str) -> Option<EntryId> {
    let writes = |action: &Action| matches!(action, Action::WriteFile { path, .. } if path == file);
    let open = machine.open_entries();
    open.iter().rev().find(|it| applied.entries.contains(&it.id) && writes(&it.turn.action)).map(|it| it.id)
}

#[cfg(test)]
mod tests;
