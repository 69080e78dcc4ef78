//! Processes: starting, ending and what is known of them afterwards.
use powerband_machine::{Errno, Finished, Job, ProcessId, SpawnError, Wake};
use powerband_record::{Demand, ExitStatus, Invocation, Output, Side, Usage, Work};
use serde_json::Value;

use crate::board::{Board, Event};
use crate::network::{Datagrams, KERNEL, Ping, Receive, Send};
use crate::noise::Factors;
use crate::pace::{self, Pace};
use crate::play::Play;
use crate::profile::Profile;
use crate::ranks::Ranks;
use crate::schedule::{State, Task};
use crate::serve::{Orders, Shop, ShopAsked};
use crate::sleeper::Sleeper;
use crate::watching::Watching;
use crate::work::{Command, Counter};

/// SIGKILL and SIGTERM.
const KILL: i32 = 9;
const TERMINATE: i32 = 15;

/// What a process is doing.
#[derive(Debug)]
pub(crate) enum Body {
    Idle,
    Counter(Counter),
    Command(Command),
    Receive(Box<Receive>),
    Send(Box<Send>),
    Ping(Box<Ping>),
    Datagrams(Box<Datagrams>),
    Play(Play),
    Ranks(Ranks),
    Sleeper(Box<Sleeper>),
    Orders(Box<Orders>),
    Shop(Box<Shop>),
    Pace(Pace),
    Gone,
}

impl Body {
    /// Tasks it has next to its process's first.
    fn take_tasks(&mut self) -> Vec<u32> {
        match self {
            Body::Ranks(ranks) => std::mem::take(&mut ranks.others),
            Body::Orders(orders) => std::mem::take(&mut orders.workers).into_iter().map(|worker| worker.task).collect(),
            Body::Shop(shop) => std::mem::take(&mut shop.requests).into_keys().collect(),
            _ => Vec::new(),
        }
    }
}

/// One process, from its start until somebody has asked how it ended.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: ProcessId,
    spawned_ns: u64,
    pub(crate) task: Option<u32>,
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) factors: Factors,
    /// Timers set before the last one carry another stamp.
    pub(crate) stamp: u32,
    pub(crate) body: Body,
    pub(crate) around: Vec<Watching>,
    finished: Option<Finished>,
}

/// What to do where a command has no model.
const STATE_DEMAND: &str = "state what it costs, e.g. in a plan: demand = { cycles = 2000000000, memory_share = 0.2, \
                            sleep_ns = 0, repeat = 1 }";
/// What to do where ranks have none.
const STATE_RANKS: &str = "take sim:mpi-server, or write a table [ranks] into its machine file";

/// What to do where serving has none.
const STATE_SERVE: &str = "take sim:x3650, or write a table [serve] into its machine file";

/// What to do where writes have no cost.
const STATE_WRITES: &str = "take sim:cyclone5, or write network.write_cycles into its machine file";

/// What to do about what no model takes.
const LEAVE_OUT: &str = "leave it out, or measure on a real machine";

/// What an invocation asks for that has no meaning for a model.
fn beyond_the_model(invocation: &Invocation) -> Option<String> {
    if let Some(name) = invocation.env.keys().next() {
        return Some(format!("a command with env.{name}"));
    }
    let file = invocation.input.as_ref().or(invocation.output.as_ref())?;
    Some(format!("a command with its input or output in {file}"))
}

/// Why there is no model for a piece of work.
fn not_modelled(machine: &str, work: String, hint: &str) -> SpawnError {
    SpawnError::NotModelled { machine: machine.into(), work, hint: hint.into() }
}

fn refused(what: String, errno: Errno) -> SpawnError {
    SpawnError::Refused { what, errno }
}

impl Profile {
    /// Whether the machine has a model for this work, so that a plan can be refused before anything is changed.
    ///
    /// # Errors
    /// [`SpawnError::NotModelled`], as starting it answers.
    pub fn models(&self, work: &Work) -> Result<(), SpawnError> {
        let name = format!("sim:{}", self.name);
        match work {
            Work::Command { argv, demand: None, .. } if pace::options(argv).is_some() => Ok(()),
            Work::Command { argv, demand: None, .. } if argv.first().is_some_and(|program| !program.is_empty()) => {
                Err(not_modelled(&name, format!("'{}'", pace::name_of(argv)), STATE_DEMAND))
            }
            Work::Command { invocation, .. } => match beyond_the_model(invocation) {
                Some(what) => Err(not_modelled(&name, what, LEAVE_OUT)),
                None => Ok(()),
            },
            Work::Primes { .. } if self.ranks.is_none() => {
                Err(not_modelled(&name, "ranks that count primes".into(), STATE_RANKS))
            }
            Work::StreamSend { write_bytes: Some(bytes), .. } if self.network.write_cycles.is_none() => {
                Err(not_modelled(&name, format!("a stream by writes of {bytes} bytes"), STATE_WRITES))
            }
            Work::Orders { .. } | Work::Shop { .. } if self.serve.is_none() => {
                Err(not_modelled(&name, format!("work of kind '{}'", work.kind()), STATE_SERVE))
            }
            _ => Ok(()),
        }
    }

    /// The built-in loads the machine has a model for.
    #[must_use]
    pub fn loads(&self) -> Vec<&'static str> {
        let always = ["counter", "stream", "ping", "wake", "idle"];
        let ranks = self.ranks.as_ref().map(|_| "primes");
        let serve = self.serve.as_ref().map(|_| ["orders", "ladder", "shop"]);
        always.into_iter().chain(ranks).chain(serve.into_iter().flatten()).collect()
    }
}

impl Board {
    /// Starts work.
    ///
    /// # Errors
    /// [`SpawnError`] when it has no model here or cannot be placed.
    pub(crate) fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        self.profile.models(&job.work)?;
        let group = self.placement(job)?;
        let body = match &job.work {
            Work::Idle { .. } => Body::Idle,
            Work::Counter { for_ns, align_to_second } => Body::Counter(Counter::new(*for_ns, *align_to_second)),
            Work::Command { argv, demand, invocation } => {
                let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
                    return Err(SpawnError::NotFound(String::new()));
                };
                if let (None, Some(options)) = (demand, pace::options(argv)) {
                    return self.spawn_pace(options);
                }
                let demand = demand
                    .as_ref()
                    .ok_or_else(|| not_modelled(&self.identity.name, format!("'{program}'"), STATE_DEMAND))?;
                if !(0.0..=1.0).contains(&demand.memory_share) {
                    return Err(refused(format!("'{program}' with a memory share beyond 0..1"), Errno::EINVAL));
                }
                let repeat = demand.repeat.saturating_mul(invocation.runs.max(1));
                Body::Command(Command::new(&Demand { repeat, ..demand.clone() }))
            }
            Work::StreamReceive { address, port } | Work::DatagramReceive { address, port } => {
                Body::Receive(Box::new(Receive::new(self.free_port(address, *port)?)))
            }
            Work::Primes { ranks, limit, among, .. } => {
                let none = || not_modelled(&self.identity.name, "ranks that count primes".into(), STATE_RANKS);
                let spec = self.profile.ranks.clone().ok_or_else(none)?;
                let primes = self.primes_below(*limit);
                Body::Ranks(Ranks::new(&spec, ranks.unwrap_or_else(|| self.online()), *among, *limit, primes))
            }
            Work::Orders { .. } | Work::Shop { .. } => self.serving(&job.work)?,
            Work::Wake { for_ns, interval_ns, .. } if *interval_ns > 0 => {
                Body::Sleeper(Box::new(Sleeper::new(*for_ns, *interval_ns)))
            }
            Work::Echo { address, port, .. } => Body::Receive(Box::new(Receive::echo(self.free_port(address, *port)?))),
            other => match (Ping::of(other), Datagrams::of(other), Send::of(other)) {
                (Some(ping), ..) => Body::Ping(Box::new(ping)),
                (_, Some(datagrams), _) => Body::Datagrams(Box::new(datagrams)),
                (_, _, Some(send)) => Body::Send(Box::new(send)),
                (None, None, None) => {
                    return Err(not_modelled(
                        &self.identity.name,
                        format!("work of kind '{}'", other.kind()),
                        STATE_DEMAND,
                    ));
                }
            },
        };
        if u32::try_from(self.processes.len()).is_err() {
            return Err(refused("more".into(), Errno::EAGAIN));
        }
        let (index, id) = self.enter(body);
        if let Some(process) = self.processes.get_mut(index as usize) {
            process.around = job.around.iter().map(Watching::new).collect();
        }
        self.sample_all(index);
        let mut task = Task::new(index);
        (task.allowed, task.group) = (job.cpus.clone(), group);
        self.start(index, task, &job.work);
        self.follow_cpufreq();
        Ok(id)
    }

    /// A daemon, which has no task of its own: it takes no CPU time.
    fn spawn_pace(&mut self, options: powerband_cpuspeed::DaemonOptions) -> Result<ProcessId, SpawnError> {
        let pace = self.begin_pace(options)?;
        self.follow_cpufreq();
        Ok(self.enter(Body::Pace(pace)).1)
    }

    /// An order system or a shop, where serving is modelled.
    fn serving(&self, work: &Work) -> Result<Body, SpawnError> {
        if self.profile.serve.is_none() {
            return Err(not_modelled(&self.identity.name, format!("work of kind '{}'", work.kind()), STATE_SERVE));
        }
        Ok(match work {
            Work::Orders { rate_per_s, workers, bound, batch, ramp_ns, for_ns, seed } => {
                Body::Orders(Box::new(Orders::new(*rate_per_s, (*workers, *bound), *batch, (*ramp_ns, *for_ns), *seed)))
            }
            Work::Shop { customers, think_ns, ramp_ns, for_ns, seed, .. } => {
                let (customers, think_ns, seed) = (*customers, *think_ns, *seed);
                let asked = ShopAsked { customers, think_ns, ramp_ns: *ramp_ns, for_ns: *for_ns, seed };
                Body::Shop(Box::new(Shop::new(asked)))
            }
            _ => Body::Idle,
        })
    }

    /// A place for a process; its number and its name to others.
    pub(crate) fn enter(&mut self, body: Body) -> (u32, ProcessId) {
        let index = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        let factors = self.noise.of_run(u64::from(index), self.now_ns);
        let id = ProcessId(u64::from(index) * 2 + 1 + u64::from(self.side == Side::Far));
        self.processes.push(Process {
            id,
            spawned_ns: self.now_ns,
            task: None,
            user_ns: 0,
            system_ns: 0,
            factors,
            stamp: 0,
            body,
            around: Vec::new(),
            finished: None,
        });
        (index, id)
    }

    /// Whether a job's CPUs and group exist; answers the group.
    fn placement(&self, job: &Job) -> Result<Option<u32>, SpawnError> {
        if let Some(cpus) = &job.cpus {
            let online = |&cpu: &u32| self.cpus.get(cpu as usize).is_some_and(|cpu| cpu.online);
            if !cpus.as_slice().iter().any(online) {
                return Err(refused(format!("work on CPU {cpus}, none of which is online"), Errno::EINVAL));
            }
        }
        match &job.group {
            Some(name) => match self.find_group(name) {
                Some(group) => Ok(Some(group)),
                None => Err(refused(format!("work in the group '{name}'"), Errno::ENOENT)),
            },
            None => Ok(None),
        }
    }

    fn start(&mut self, process: u32, task: Task, work: &Work) {
        match work {
            Work::Idle { for_ns } => self.set_timer(process, self.now_ns.saturating_add(*for_ns)),
            Work::Counter { .. } => self.start_counter(process, task),
            Work::Command { .. } => self.start_command(process, task),
            Work::Primes { .. } => self.start_ranks(process, task),
            Work::StreamReceive { .. } | Work::DatagramReceive { .. } | Work::Echo { .. } => {
                self.start_receive(process, task);
            }
            Work::DatagramSend { .. } => self.start_datagrams(process, task),
            Work::StreamSend { .. } => self.start_send(process, task),
            Work::Ping { .. } => self.start_ping(process, task),
            Work::Wake { .. } => self.start_wake(process, task),
            Work::Orders { .. } => self.start_orders(process, task),
            Work::Shop { .. } => self.start_shop(process, task),
            // Refused before it became a process.
            _ => {}
        }
    }

    pub(crate) fn process(&mut self, process: u32) -> &mut Process {
        &mut self.processes[process as usize]
    }

    /// Sets the process's timer, in place of any it had.
    pub(crate) fn set_timer(&mut self, process: u32, at_ns: u64) {
        let this = self.process(process);
        this.stamp = this.stamp.wrapping_add(1);
        let event = Event::Timer { process, stamp: this.stamp };
        self.drop_timer(process);
        if self.idle.is_some() {
            self.timers.push((process, at_ns));
        }
        self.plan(at_ns, event);
    }

    fn drop_timer(&mut self, process: u32) {
        if let Some(place) = self.timers.iter().position(|(of, _)| *of == process) {
            self.timers.swap_remove(place);
        }
    }

    pub(crate) fn timer(&mut self, process: u32, stamp: u32) {
        if self.process(process).stamp != stamp {
            return;
        }
        let cpu = self.timer_cpu(process);
        self.drop_timer(process);
        match &self.process(process).body {
            Body::Idle => self.exit(process, ExitStatus::Code(0), None, String::new()),
            Body::Counter(_) => self.counter_timer(process),
            Body::Command(_) => self.command_timer(process),
            Body::Ping(_) => self.ping_timer(process),
            Body::Datagrams(_) => self.pour_on(process),
            Body::Play(_) => self.play_timer(process),
            Body::Ranks(_) => self.ranks_timer(process),
            Body::Sleeper(_) => self.wake_timer(process),
            Body::Orders(_) => self.orders_timer(process),
            Body::Shop(_) => self.shop_timer(process),
            Body::Receive(_) | Body::Send(_) | Body::Pace(_) | Body::Gone => {}
        }
        self.timer_was_on(cpu);
    }

    /// The task of a process has done what it was given, and still holds its CPU.
    pub(crate) fn advance(&mut self, process: u32, task: u32) {
        if process == KERNEL {
            return self.kernel_answered();
        }
        match &self.process(process).body {
            Body::Command(_) => self.command_done(process),
            Body::Receive(_) => self.received(process),
            Body::Send(_) => self.sent(process),
            Body::Datagrams(_) => self.poured(process),
            Body::Ping(_) => self.pinged(process),
            Body::Ranks(_) => self.rank_done(process, task),
            Body::Sleeper(_) => self.looked(process),
            Body::Orders(_) => self.batch_done(process, task),
            Body::Shop(_) => self.request_done(process, task),
            Body::Idle | Body::Counter(_) | Body::Play(_) | Body::Pace(_) | Body::Gone => {}
        }
    }

    /// A process that slept runs at last, late as processes are.
    pub(crate) fn woken(&mut self, process: u32) {
        match &self.process(process).body {
            Body::Receive(_) => self.receiver_woken(process),
            Body::Ping(_) => self.pinger_woken(process),
            Body::Sleeper(_) => self.sleeper_woken(process),
            _ => {}
        }
    }

    /// Lets a task that has nothing to do wait.
    pub(crate) fn rest(&mut self, task: u32) {
        if self.task(task).state == State::Running {
            let cpu = self.task(task).cpu;
            self.block(cpu, State::Blocked, true);
        }
    }

    /// Ends a process.
    pub(crate) fn exit(&mut self, process: u32, status: ExitStatus, report: Option<Value>, stderr: String) {
        if matches!(self.process(process).body, Body::Pace(_))
            && let Body::Pace(pace) = std::mem::replace(&mut self.process(process).body, Body::Gone)
        {
            self.end_pace(&pace);
        }
        if let Some(task) = self.process(process).task.take() {
            self.retire(task);
        }
        for task in self.process(process).body.take_tasks() {
            self.retire(task);
        }
        self.listeners.retain(|_, owner| *owner != process);
        self.drop_timer(process);
        self.sample_all(process);
        let (side, now) = (self.side, self.now_ns);
        let this = self.process(process);
        this.stamp = this.stamp.wrapping_add(1);
        this.body = Body::Gone;
        let usage =
            Usage { real_ns: now - this.spawned_ns, user_ns: this.user_ns, sys_ns: this.system_ns, peak_rss_kib: 0 };
        let output = Output { stdout: String::new(), stderr, cut: false };
        let around = std::mem::take(&mut this.around).into_iter().map(Watching::into_samples).collect();
        this.finished = Some(Finished { status, usage, report, output, around });
        let id = this.id;
        self.wakes.push(Wake::Ended(side, id));
    }

    /// Ends a process with a complaint.
    pub(crate) fn fail(&mut self, process: u32, why: String) {
        self.exit(process, ExitStatus::Code(1), None, why + "\n");
    }

    fn index_of(&self, id: ProcessId) -> Option<u32> {
        let place = id.0.checked_sub(1)?;
        let mine = (place % 2 == 1) == (self.side == Side::Far);
        let index = u32::try_from(place / 2).ok().filter(|_| mine)?;
        (usize::try_from(index).ok()? < self.processes.len()).then_some(index)
    }

    /// Ends a process from outside.
    pub fn end(&mut self, id: ProcessId, force: bool) {
        let Some(process) = self.index_of(id) else { return };
        if matches!(self.process(process).body, Body::Gone) {
            return;
        }
        self.hang_up(process);
        let signal = if force { KILL } else { TERMINATE };
        self.exit(process, ExitStatus::Signal(signal), None, String::new());
        self.follow_cpufreq();
    }

    /// The processes that run.
    #[must_use]
    pub fn running(&self) -> Vec<ProcessId> {
        self.processes.iter().filter(|process| !matches!(process.body, Body::Gone)).map(|process| process.id).collect()
    }

    /// Ends every process, whose owner is gone and asks nothing any more.
    pub(crate) fn end_all(&mut self) {
        for id in self.running() {
            self.end(id, true);
        }
        for process in &mut self.processes {
            process.finished = None;
        }
        self.wakes.clear();
    }

    /// Ends every process of a group.
    pub(crate) fn end_group(&mut self, group: u32) {
        let of_group =
            |process: &&Process| process.task.is_some_and(|task| self.tasks[task as usize].group == Some(group));
        let members: Vec<ProcessId> = self.processes.iter().filter(of_group).map(|process| process.id).collect();
        for id in members {
            self.end(id, true);
        }
    }

    /// How a process ended; once.
    pub(crate) fn finished(&mut self, id: ProcessId) -> Option<Finished> {
        let process = self.index_of(id)?;
        self.process(process).finished.take()
    }
}
