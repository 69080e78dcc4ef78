//! Running a load's parts on the machines of a World: start in order, hear who is ready, wait for the ends, stop on request.
//! A machine that is to be metered and has no part of the load idles next to it, metered.
use std::collections::{BTreeMap, BTreeSet};

use powerband_load::{Finishes, Load, LoadPart, RigEnds, Server, failed, joined};
use powerband_machine::{Job, ProcessId, Sampling, SpawnError, User, Wake, World};
use powerband_record::{CpuList, Output, Side, Void, Work, format_duration};

use crate::Halt;
use crate::listening::{Listening, listening};
use crate::metering::Around;

/// Grace between asking a load to end and making it.
const GRACE_NS: u64 = 3_000_000_000;

/// Built-in loads that take this much longer than their length, plus [`SLACK_NS`], hang.
const SLACK_FACTOR: u64 = 3;
const SLACK_NS: u64 = 30_000_000_000;

/// At most this much of each output stream is kept with a trial, bytes.
const OUTPUT_LIMIT: usize = 64 * 1024;

/// Of what a driver reads, this much: a peer keeps no more either. With the trial stays as much as of others.
const READ_LIMIT: usize = 1024 * 1024;

/// A peer listens within this time, ns …
const LISTENS_NS: u64 = 10_000_000_000;
/// … and so often that is looked for.
const LISTENS_LOOK_NS: u64 = 20_000_000;

/// After this time it counts as ready where nobody can see whether it listens, ns.
const UNSEEN_NS: u64 = 1_000_000_000;

/// The part that is added where a machine is metered and has none.
const BESIDE: &str = "idle";

/// How a load's run ended.
pub(crate) struct Ran {
    /// The parts that ended, by name.
    pub(crate) finishes: Finishes,
    /// What was read around them.
    pub(crate) around: Around,
    /// How many processes they left running, which were ended then.
    pub(crate) left_behind: u32,
}

/// What the near parts of a load run in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The control group.
    pub(crate) group: Option<String>,
    /// The user; ourselves when `None`.
    pub(crate) user: Option<User>,
    /// What runs next to the load, from before it begins until it has ended.
    pub(crate) background: Vec<Background>,
}

/// One process next to the load.
#[derive(Clone, Debug)]
pub(crate) struct Background {
    /// Where it runs.
    pub(crate) side: Side,
    /// What it does.
    pub(crate) work: Work,
    /// CPUs it is pinned to.
    pub(crate) cpus: Option<CpuList>,
    /// What it is, for people.
    pub(crate) name: String,
}

/// The parts of a load, and one that idles where a machine is to be metered and none of them is.
fn with_idle(load: &Load, rig: &RigEnds, machines: &[Side], watches: &BTreeMap<Side, Vec<Sampling>>) -> Vec<LoadPart> {
    let mut parts = load.parts_on(rig, machines);
    for (&side, _) in watches.iter().filter(|(_, watches)| !watches.is_empty()) {
        if !parts.iter().any(|part| part.metered && part.side == side) {
            let work = Work::Idle { for_ns: load.length_ns().unwrap_or(u64::MAX) };
            parts.insert(0, LoadPart { name: BESIDE, side, work, cpus: None, after: None, metered: true });
        }
    }
    parts
}

/// What is kept of an output with its trial.
pub(crate) fn kept(output: &Output) -> Output {
    let short = |text: &String| text.get(..text.floor_char_boundary(OUTPUT_LIMIT)).unwrap_or_default().to_owned();
    let cut = output.cut || output.stdout.len() > OUTPUT_LIMIT || output.stderr.len() > OUTPUT_LIMIT;
    Output { stdout: short(&output.stdout), stderr: short(&output.stderr), cut }
}

/// One load on its way.
pub(crate) struct Execution<'w> {
    world: &'w mut dyn World,
    /// Parts that run: process by part name and machine.
    running: BTreeMap<(&'static str, Side), ProcessId>,
    /// What parts said they listen on.
    ports: BTreeMap<&'static str, u16>,
    finishes: Finishes,
    /// Which machine makes the load, where the rig is more than one.
    near: Side,
    /// Where parts were started.
    sides: BTreeSet<Side>,
    /// What runs next to the load, by side and process, with what it is.
    background: Vec<(Side, ProcessId, String)>,
    /// How one of those ended before the load did.
    ended_early: Option<String>,
    place: Place,
    /// What is to be read, and what was.
    watches: BTreeMap<Side, Vec<Sampling>>,
    around: Around,
    /// What ends from now on was asked to.
    ending: bool,
    /// At most this much of each output stream is taken, bytes; `None` lets it through to our own.
    output_limit: Option<usize>,
    /// The part that serves the others.
    server: Option<Server>,
}

impl<'w> Execution<'w> {
    /// Runs `load` to its end; the near parts in `place`, `watches` read around the metered part of each side.
    ///
    /// # Errors
    /// [`Halt::Fatal`] when a machine is lost, [`Halt::Void`] for a load that fails, hangs or is stopped.
    pub(crate) fn run(
        world: &'w mut dyn World,
        load: &Load,
        rig: &RigEnds,
        place: Place,
        watches: BTreeMap<Side, Vec<Sampling>>,
    ) -> Result<Ran, Halt> {
        let near = world.covered(Side::Near).first().copied().unwrap_or_default();
        let mut execution = Execution {
            near,
            world,
            running: BTreeMap::new(),
            ports: BTreeMap::new(),
            finishes: Finishes::new(),
            sides: BTreeSet::new(),
            background: Vec::new(),
            ended_early: None,
            place,
            watches,
            around: Around::new(),
            ending: false,
            output_limit: match load.is_read() {
                _ if load.shows_output() => None,
                true => Some(READ_LIMIT),
                false => Some(OUTPUT_LIMIT),
            },
            server: load.server(),
        };
        let from_ns = execution.world.now_ns();
        let until_ns = load.length_ns().map(|length| from_ns + SLACK_FACTOR * length + SLACK_NS);
        let result = execution.start_background().and_then(|()| execution.drive(load, rig, until_ns));
        if result.is_err() || !execution.background.is_empty() {
            execution.end_all();
        }
        let left_behind = execution.end_left_behind();
        result?;
        let Execution { finishes, around, ended_early, .. } = execution;
        if let Some(why) = ended_early {
            return Err(Void::LoadFailed { why }.into());
        }
        Ok(Ran { finishes, around, left_behind: left_behind? })
    }

    /// Ends what the parts left running, so that the next trial does not run next to it; returns how many there were.
    fn end_left_behind(&mut self) -> Result<u32, Void> {
        let (lost, mut processes, mut alive) = (self.world.lost().map(|(lost, _)| lost), 0_u32, Vec::new());
        for &side in self.sides.iter().filter(|side| Some(**side) != lost) {
            let Some(machine) = self.world.machine(side) else { continue };
            let left = machine.left_behind(true);
            processes = processes.saturating_add(left.processes);
            alive.extend(left.alive);
        }
        if alive.is_empty() {
            return Ok(processes);
        }
        let why = format!(
            "the load left processes behind that could not be ended: {}; the next trial would run next to them, so end \
             them first, and let the load wait for what it starts",
            alive.join(", ")
        );
        Err(Void::LoadFailed { why })
    }

    /// Starts what runs next to the load.
    fn start_background(&mut self) -> Result<(), Halt> {
        let all = std::mem::take(&mut self.place.background);
        let each = |world: &mut dyn World, one: &Background| {
            let on = world.covered(one.side).into_iter().map(|side| Background { side, ..one.clone() });
            on.collect::<Vec<_>>()
        };
        let all: Vec<Background> = all.iter().flat_map(|one| each(self.world, one)).collect();
        for Background { side, work, cpus, name } in all {
            let user = self.place.user.clone().filter(|_| side == self.near);
            let job = Job { work, cpus, group: None, user, output_limit: Some(OUTPUT_LIMIT), around: Vec::new() };
            let refused = |why: String| Void::LoadFailed { why: format!("the background load {name}: {why}") };
            let machine = self.world.machine(side).ok_or_else(|| refused(format!("there is no {side} machine")))?;
            let process = machine.spawn(&job).map_err(|error| refused(error.to_string()))?;
            self.sides.insert(side);
            self.background.push((side, process, name));
        }
        Ok(())
    }

    fn drive(&mut self, load: &Load, rig: &RigEnds, until_ns: Option<u64>) -> Result<(), Halt> {
        let machines = self.world.sides();
        for part in with_idle(load, rig, &machines, &self.watches) {
            if let Some(server) = self.server.filter(|server| server.part == part.name) {
                self.serve(&server, &part, load)?;
                continue;
            }
            if let Some(before) = part.after
                && self.server.is_none_or(|server| server.part != before)
            {
                self.wait_until(until_ns, load, |execution| execution.ports.contains_key(before))?;
            }
            self.start(&part)?;
        }
        if load.length_ns().is_none() {
            // Nobody knew for how long the others are to idle.
            let others = |execution: &Self| execution.running.keys().all(|(name, _)| execution.is_beside(name));
            self.wait_until(until_ns, load, others)?;
            self.end_all();
        }
        self.wait_until(until_ns, load, |execution| execution.running.is_empty())
    }

    /// Starts what serves the others, and waits until it listens.
    fn serve(&mut self, server: &Server, part: &LoadPart, load: &Load) -> Result<(), Halt> {
        let failed = |why: String| Err(Void::LoadFailed { why }.into());
        let before = self.listening(part.side);
        let is_taken = |port: &u16| before.iter().flatten().any(|(_, taken)| taken == port);
        if let Some(port) = server.port.filter(is_taken) {
            return failed(format!(
                "port {port} of the {} machine is taken already; end what listens there",
                part.side
            ));
        }
        self.start(part)?;
        let from_ns = self.world.now_ns();
        let until_ns = from_ns + LISTENS_NS;
        loop {
            let now_ns = self.world.now_ns();
            let is_ready = match (&before, self.listening(part.side)) {
                (Some(before), Some(now)) => {
                    now.difference(before).any(|(_, port)| server.port.is_none_or(|wanted| wanted == *port))
                }
                _ => now_ns >= from_ns + UNSEEN_NS,
            };
            if is_ready {
                return Ok(());
            }
            if now_ns >= until_ns {
                let within = format_duration(LISTENS_NS);
                return failed(format!(
                    "nothing of the load '{}' listened on the {} machine within {within}",
                    load.describe(),
                    part.side
                ));
            }
            if let Wake::Ended(side, process) = Halt::check(self.world.wait(Some(now_ns + LISTENS_LOOK_NS)))? {
                self.take(side, process);
            }
            if !self.running.contains_key(&(server.part, part.side)) {
                let well = self.finishes.get(server.part).is_none_or(|finished| finished.status.success());
                let early = || format!("the far command of the load '{}' ended before it listened", load.describe());
                return if well { failed(early()) } else { Ok(load.conclude(&self.finishes).map(drop)?) };
            }
        }
    }

    fn listening(&mut self, side: Side) -> Option<Listening> {
        self.world.machine(side).map_or_else(|| Some(Listening::new()), |machine| listening(machine))
    }

    /// Whether a part does not end by itself: it idles next to the load, or serves it.
    fn is_beside(&self, name: &str) -> bool {
        name == BESIDE || self.server.is_some_and(|server| server.part == name)
    }

    fn start(&mut self, part: &LoadPart) -> Result<(), Void> {
        let mut work = part.work.clone();
        let calls = &mut work;
        if let (
            Work::StreamSend { port, .. } | Work::DatagramSend { port, .. } | Work::Ping { port, .. },
            Some(before),
        ) = (calls, part.after)
        {
            *port = self.ports.get(before).copied().unwrap_or(0);
        }
        let Place { group, user, .. } = if part.side == self.near { self.place.clone() } else { Place::default() };
        let around = self.watches.get(&part.side).filter(|_| part.metered).cloned().unwrap_or_default();
        let output_limit = self.output_limit;
        let job = Job { work, cpus: part.cpus.clone(), group, user, output_limit, around };
        let refused = |error: SpawnError| Void::LoadFailed { why: error.to_string() };
        let Some(machine) = self.world.machine(part.side) else {
            let what = format!("{} on the {} machine", part.name, part.side);
            return Err(refused(SpawnError::Refused { what, errno: powerband_machine::Errno::ENODEV }));
        };
        let process = machine.spawn(&job).map_err(refused)?;
        self.sides.insert(part.side);
        self.running.insert((part.name, part.side), process);
        Ok(())
    }

    /// Waits until `enough` holds, a part fails, time is up, or we are stopped.
    fn wait_until(&mut self, until_ns: Option<u64>, load: &Load, enough: impl Fn(&Self) -> bool) -> Result<(), Halt> {
        while !enough(self) {
            if self.running.is_empty() {
                let why = format!("the load '{}' ended before it was ready", load.describe());
                return Err(Void::LoadFailed { why }.into());
            }
            match Halt::check(self.world.wait(until_ns))? {
                Wake::Ended(side, process) => {
                    self.take(side, process);
                    if self.finishes.values().any(|finished| !finished.status.success()) && !self.running.is_empty() {
                        // One end failed: the other would wait for it for ever.
                        self.end_all();
                        return Ok(load.conclude(&self.finishes).map(drop)?);
                    }
                }
                Wake::Said(side, process, value) => self.hear(side, process, &value),
                Wake::Deadline => {
                    let limit =
                        load.length_ns().map(|ns| format_duration(SLACK_FACTOR * ns + SLACK_NS)).unwrap_or_default();
                    let why = format!("the load '{}' did not end within {limit}", load.describe());
                    return Err(Void::LoadFailed { why }.into());
                }
                // Whatever else a World may report does not concern a load.
                _ => {}
            }
        }
        Ok(())
    }

    fn part_of(&self, side: Side, process: ProcessId) -> Option<&'static str> {
        self.running.iter().find(|&(&(_, at), &running)| (at, running) == (side, process)).map(|(&(name, _), _)| name)
    }

    fn take(&mut self, side: Side, process: ProcessId) {
        if let Some(at) = self.background.iter().position(|(at, it, _)| (*at, *it) == (side, process)) {
            let (_, _, name) = self.background.remove(at);
            let finished = self.world.machine(side).and_then(|machine| machine.finished(process));
            if let Some(finished) = finished.filter(|_| !self.ending) {
                let why = failed(&format!("the background load {name}"), &finished);
                self.ended_early = Some(format!("{why}, before the trial was over"));
            }
            return;
        }
        let Some(name) = self.part_of(side, process) else { return };
        self.running.remove(&(name, side));
        let Some(mut finished) = self.world.machine(side).and_then(|machine| machine.finished(process)) else { return };
        let around = std::mem::take(&mut finished.around);
        let aside = match name {
            BESIDE => finished.status.success() || self.ending,
            // That it was ended is not how it failed.
            _ => self.ending && self.is_beside(name),
        };
        if name != BESIDE || aside {
            self.around.entry(side).or_default().extend(around);
        }
        if !aside {
            let finished = match self.finishes.remove(name) {
                Some(elsewhere) => joined(elsewhere, finished),
                None => finished,
            };
            self.finishes.insert(name, finished);
        }
    }

    fn hear(&mut self, side: Side, process: ProcessId, value: &serde_json::Value) {
        let port =
            value.pointer("/ready/port").and_then(serde_json::Value::as_u64).and_then(|port| u16::try_from(port).ok());
        if let (Some(name), Some(port)) = (self.part_of(side, process), port) {
            self.ports.insert(name, port);
        }
    }

    /// What runs on a lost machine is its own to end.
    fn give_up_lost(&mut self) {
        if let Some((lost, _)) = self.world.lost() {
            self.running.retain(|(_, side), _| *side != lost);
            self.background.retain(|(side, ..)| *side != lost);
        }
    }

    fn all_ended(&self) -> bool {
        self.running.is_empty() && self.background.is_empty()
    }

    /// Ends what runs: asks, and after a grace or a second signal makes it.
    fn end_all(&mut self) {
        let mut force = false;
        self.ending = true;
        self.give_up_lost();
        while !self.all_ended() {
            let processes = self.running.iter().map(|((_, side), process)| (*side, *process));
            let background = self.background.iter().map(|(side, process, _)| (*side, *process));
            for (side, process) in processes.chain(background) {
                if let Some(machine) = self.world.machine(side) {
                    machine.end(process, force);
                }
            }
            let until_ns = self.world.now_ns() + GRACE_NS;
            loop {
                match self.world.wait(Some(until_ns)) {
                    Wake::Ended(side, process) => self.take(side, process),
                    Wake::Stop(_) if !force => break,
                    Wake::Deadline | Wake::Lost(..) => break,
                    _ => {}
                }
                self.give_up_lost();
                if self.all_ended() {
                    return;
                }
            }
            if force {
                // Killed and still not gone: in the kernel's hands (a dead disk, a lost machine).
                self.running.clear();
                self.background.clear();
            }
            force = true;
        }
    }
}
