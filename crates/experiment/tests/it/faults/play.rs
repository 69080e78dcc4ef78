//! Playing a story: each command with its own owner, whatever strikes, and then one that nothing strikes.
use std::collections::BTreeMap;

use powerband_experiment::{Journal, JournalError, Plan, WorldBench, resolve, run};
use powerband_knob::{Restored, Selection, apply, restore};
use powerband_load::{CounterLoad, Load};
use powerband_machine::{EntryId, Hold, Job, Machine, OpenEntry, Wake, World};
use powerband_record::{Event, Setting, Side, Work};
use powerband_sim::SimWorld;
use powerband_testkit::faults::{Ending, Fault, FaultPlan, Faults, Image, LoggedWrite};

use super::files::{Files, profile, snapshot, write};
use super::going_on::{Told, go_on};
use super::story::{Command, Deed, Story};

/// Time a load runs and a setting settles, ns.
const LOAD_NS: u64 = 4_000_000;
const SETTLE_NS: u64 = 3_000_000;

/// What a story left behind, for the checkers to judge.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) machine: &'static str,
    pub(super) before: Files,
    pub(super) after: Files,
    pub(super) written: Vec<LoggedWrite>,
    /// Attempts to undo an entry: in which step, and which.
    pub(super) undos: Vec<(u64, EntryId)>,
    /// What the ledger's disk holds at the end.
    pub(super) disk: Image,
    pub(super) done: Vec<Done>,
    /// What each owner found on the disk.
    pub(super) found: Vec<Found>,
    /// What the ledger of the last owner holds at the end.
    pub(super) open: Vec<OpenEntry>,
    /// The boot at the end.
    pub(super) boot_id: String,
    /// Control groups at the end.
    pub(super) groups: Vec<String>,
    /// Commands that ended by themselves and left a load running.
    pub(super) outlived: Vec<String>,
    pub(super) tally: BTreeMap<Fault, u32>,
    /// What became of the interrupted experiment.
    pub(super) told: Option<Told>,
}

/// What became of a command.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) deed: Deed,
    /// The step it began after, and the last it took.
    pub(super) steps: (u64, u64),
    pub(super) ended: Option<Ending>,
    /// Whether it ended by itself with nothing open in the ledger.
    pub(super) closed: bool,
}

/// What an owner found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) image: Image,
    /// Numbers of the open entries it read there; `None` when it could not.
    pub(super) open: Option<Vec<u64>>,
}

struct Player<'s> {
    story: &'s Story,
    world: SimWorld,
    faults: Faults,
    done: Vec<Done>,
    found: Vec<Found>,
    outlived: Vec<String>,
}

/// A journal that fails when the story says so.
struct Pages<'f>(&'f Faults);

impl Journal for Pages<'_> {
    fn record(&mut self, _: &Event) -> Result<(), JournalError> {
        self.0.journal().map_err(|errno| JournalError { why: errno.to_string() })
    }
}

/// Plays a story to its end.
pub(super) fn play(story: &Story) -> Record {
    let mut world = SimWorld::new(profile(story.machine), None, story.seed).unwrap();
    prepare(&mut world, &story.found);
    let before = snapshot(world.machine(Side::Near).unwrap());
    let plan = FaultPlan { seed: story.seed, one_in: story.one_in, blunder: story.blunder };
    let faults = Faults::inject(&mut world, plan).unwrap();
    let (done, found, outlived) = (Vec::new(), Vec::new(), Vec::new());
    let mut player = Player { story, world, faults, done, found, outlived };
    for command in &story.commands {
        player.command(command);
    }
    player.faults.heal(&mut player.world);
    player.command(&Command::whole(Deed::PutBack));
    player.command(&Command::whole(story.last.clone()));
    player.record(before)
}

/// Sets the machine up as somebody else would have.
fn prepare(world: &mut SimWorld, found: &str) {
    let machine = world.machine(Side::Near).unwrap();
    machine.act(&write("/etc/kept.conf", "as found\n")).unwrap();
    if !found.is_empty() {
        // A machine may have no such governor; then it is found as it boots.
        let _refused = apply(machine, &Setting::parse(found).unwrap(), Hold::Set, &Selection::everywhere());
    }
    // Limits take effect a moment after the write.
    world.wait(Some(40_000_000));
}

impl Player<'_> {
    fn machine(&mut self) -> &mut dyn Machine {
        self.world.machine(Side::Near).unwrap()
    }

    /// One command with an owner of its own, who first restores what another has left.
    fn command(&mut self, command: &Command) {
        let began = self.faults.steps();
        if let Some((after, ending)) = command.ends {
            self.faults.end_at(began + after, ending);
        }
        let image = self.faults.disk();
        let ready = self.faults.succeed(&mut self.world).is_ok();
        let open = ready.then(|| self.machine().open_entries().iter().map(|entry| entry.id.0).collect());
        self.found.push(Found { image, open });
        // Somebody types it, or the guardian wakes up; a limit may take effect meanwhile.
        let now_ns = self.world.now_ns();
        self.world.wait(Some(now_ns + command.after_ms * 1_000_000));
        if ready && self.put_back() {
            self.perform(&command.deed);
        }
        let ended = self.faults.ended();
        if ended.is_none() && !self.world.board(Side::Near).unwrap().running().is_empty() {
            self.outlived.push(format!("{:?}", command.deed));
        }
        let closed = ended.is_none() && self.machine().open_entries().is_empty();
        let steps = (began, self.faults.steps());
        self.done.push(Done { deed: command.deed.clone(), steps, ended, closed });
    }

    /// Puts back what is held; false when a command would not go on.
    fn put_back(&mut self) -> bool {
        let held: Vec<EntryId> = self.open(Hold::Held).iter().map(|entry| entry.id).collect();
        self.restore(&held, false).failed.is_empty()
    }

    fn open(&mut self, hold: Hold) -> Vec<OpenEntry> {
        self.machine().open_entries().into_iter().filter(|entry| entry.turn.hold == hold).collect()
    }

    fn restore(&mut self, entries: &[EntryId], force: bool) -> Restored {
        let mut entries = entries.to_vec();
        if self.story.backwards {
            entries.reverse();
        }
        restore(self.machine(), &entries, force)
    }

    fn perform(&mut self, deed: &Deed) {
        match deed {
            Deed::Try { settings, blocks } => self.try_them(settings, *blocks),
            Deed::With { setting } => self.with(setting),
            Deed::Set { setting } => {
                let setting = Setting::parse(setting).unwrap();
                let narrow = self.narrow();
                let _told = apply(self.machine(), &setting, Hold::Set, &narrow);
            }
            Deed::Undo { all, force } => {
                let open = self.open(Hold::Set);
                let last = open.iter().map(|entry| entry.step).max();
                let wanted = open.iter().filter(|entry| *all || Some(entry.step) == last);
                let entries: Vec<EntryId> = wanted.map(|entry| entry.id).collect();
                self.restore(&entries, *force);
            }
            Deed::PutBack => {}
        }
    }

    fn narrow(&self) -> Selection {
        self.story.cpus.map_or_else(Selection::everywhere, |cpus| Selection::cpus(cpus.parse().unwrap()))
    }

    fn try_them(&mut self, settings: &[String], blocks: u32) {
        let load = Load::Counter(CounterLoad { for_ns: LOAD_NS, ..CounterLoad::default() });
        let mut plan = Plan::of(load);
        plan.settings.push("found:".into());
        plan.settings.extend((0..).zip(settings).map(|(number, setting): (u32, _)| format!("s{number}:{setting}")));
        plan.settle = Some(format!("{}ms", SETTLE_NS / 1_000_000));
        plan.cpus = self.story.cpus.map(str::to_owned);
        plan.seed = Some(self.story.seed);
        (plan.blocks, plan.warmup) = (Some(blocks), Some(1));
        let Ok(resolved) = resolve(&plan, &mut self.world) else { return };
        let mut bench = WorldBench::new(&mut self.world, &resolved);
        let _finding = run(&resolved.started, &mut bench, &mut Pages(&self.faults));
    }

    fn with(&mut self, setting: &str) {
        let setting = Setting::parse(setting).unwrap();
        let narrow = self.narrow();
        let Ok(applied) = apply(self.machine(), &setting, Hold::Held, &narrow) else { return };
        let work = Work::Counter { for_ns: LOAD_NS, align_to_second: false };
        let job =
            Job { work, cpus: None, group: applied.group.clone(), output_limit: None, user: None, around: Vec::new() };
        if let Ok(process) = self.machine().spawn(&job) {
            loop {
                match self.world.wait(None) {
                    Wake::Ended(_, ended) if ended == process => break,
                    Wake::Lost(..) => break,
                    _ => {}
                }
            }
        }
        restore(self.machine(), &applied.entries, false);
    }

    fn record(mut self, before: Files) -> Record {
        let open = self.machine().open_entries();
        let boot_id = self.machine().identity().boot_id.clone();
        // What takes effect late does so now.
        let now_ns = self.world.now_ns();
        self.world.wait(Some(now_ns + 40_000_000));
        let after = snapshot(self.machine());
        Record {
            machine: self.story.machine,
            before,
            after,
            written: self.faults.written(),
            undos: self.faults.undos(),
            disk: self.faults.disk(),
            done: self.done,
            found: self.found,
            open,
            boot_id,
            groups: self.world.board(Side::Near).unwrap().groups(),
            outlived: self.outlived,
            tally: self.faults.tally(),
            told: self.story.course.as_ref().and_then(go_on),
        }
    }
}
