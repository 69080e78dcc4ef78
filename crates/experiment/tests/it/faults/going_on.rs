//! Playing an experiment that is interrupted and gone on with until it ends by itself, next to one that is left alone.
use std::cell::Cell;
use std::rc::Rc;

use powerband_experiment::{
    Bench, Fatal, FormulaBench, Halt, Journal, JournalError, Past, Resolved, ResumeError, WorldBench, check_rig,
    rebuild, resume, run, standing,
};
use powerband_knob::restore;
use powerband_machine::{EntryId, Hold, StopSignal, World};
use powerband_record::{Event, Outcome, PlannedTrial, Side, Started, Void};
use powerband_sim::SimWorld;
use powerband_testkit::faults::{Ending, Fault, FaultPlan, Faults};

use super::careless::careless;
use super::course::{Break, Course, Ground, PARTS, Slip, TRIAL_NS};
use super::draw::Draw;
use super::files::{Files, snapshot};

/// Appends a full disk is tried with.
const FULL_FOR: u64 = 64;

/// What a full journal says.
const FULL: &str = "the journal's disk is full";

/// What became of an interrupted experiment.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) ground: Ground,
    pub(super) whole: Whole,
    pub(super) legs: Vec<Leg>,
    /// The journal at the end.
    pub(super) journal: Vec<Event>,
    /// What the machine's files read at the end, where it survives.
    pub(super) files: Files,
}

/// The same experiment, never interrupted.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) journal: Vec<Event>,
    pub(super) files: Files,
    steps: u64,
    waits: u64,
    trials: u64,
}

/// What one owner did.
#[derive(Debug)]
pub(super) struct Leg {
    /// The journal it found and the one it left.
    pub(super) found: Vec<Event>,
    pub(super) left: Vec<Event>,
    /// Trials that were run, not answered from the journal.
    pub(super) ran: Vec<u32>,
    /// Whether a fault met it, ending it or not.
    pub(super) struck: bool,
    /// Why it did not go on to a last event, when nothing struck that would explain it.
    pub(super) failed: Option<String>,
}

/// Plays a course; `None` when the machine cannot do what it asks for.
pub(super) fn go_on(course: &Course) -> Option<Told> {
    course.begin().map(|begun| Player::new(course, begun).play())
}

/// A journal that can be set back. A disk that goes dark keeps a beginning of what was done to it.
#[derive(Default)]
struct Book {
    done: Vec<Entry>,
    /// How many of them were synced.
    synced: usize,
}

enum Entry {
    Append(Box<Event>),
    Rewind(usize),
}

impl Book {
    fn append(&mut self, event: &Event) {
        self.done.push(Entry::Append(Box::new(event.clone())));
        if matches!(event, Event::Closed(_)) {
            self.synced = self.done.len();
        }
    }

    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for entry in &self.done {
            match entry {
                Entry::Append(event) => events.push(event.as_ref().clone()),
                Entry::Rewind(keep) => events.truncate(*keep),
            }
        }
        events
    }

    fn go_dark(&mut self, draw: &mut Draw) {
        let unsynced = (self.done.len() - self.synced) as u64;
        let lost = if unsynced > 0 { draw.below(unsynced + 1) } else { 0 };
        self.done.truncate(self.done.len() - usize::try_from(lost).unwrap());
    }
}

/// One owner's hand on the journal.
struct Pages<'a> {
    book: &'a mut Book,
    faults: &'a Faults,
    /// Events it has room for.
    room: u64,
    draw: &'a mut Draw,
}

impl Journal for Pages<'_> {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        let refused = |why: &str| Err(JournalError { why: why.into() });
        let lived = self.faults.ended().is_none();
        if self.faults.journal().is_err() {
            // Who is killed in a commit does not learn whether it came to be.
            if lived && self.draw.chance(1, 2) {
                self.book.append(event);
            }
            return refused("killed");
        }
        let Some(room) = self.room.checked_sub(1) else { return refused(FULL) };
        self.room = room;
        self.book.append(event);
        Ok(())
    }
}

/// A bench that keeps count of the trials it runs.
struct Counted<'b> {
    bench: Box<dyn Bench + 'b>,
    /// Answers by number instead of what the bench measured: the metric's name, and the seed.
    keyed: Option<(String, u64)>,
    /// Trials until it is asked to stop.
    stop: Option<u64>,
    ran: Vec<u32>,
}

impl Bench for Counted<'_> {
    fn now_ns(&self) -> u64 {
        self.bench.now_ns()
    }

    fn trial(&mut self, trial: &PlannedTrial, journal: &mut dyn Journal) -> Result<Outcome, Halt> {
        if self.stop == Some(self.ran.len() as u64) {
            return Err(Void::Stopped.into());
        }
        self.ran.push(trial.trial);
        let outcome = self.bench.trial(trial, journal)?;
        match &self.keyed {
            Some((name, seed)) => Ok(by_number(name, *seed, trial)?),
            None => Ok(outcome),
        }
    }

    fn rehearse(&mut self) -> Result<Vec<(u32, String)>, Fatal> {
        self.bench.rehearse()
    }

    fn restored(&self) -> u32 {
        self.bench.restored()
    }

    fn left(&mut self) -> Vec<String> {
        self.bench.left()
    }
}

/// What a trial comes to, no matter who runs it.
fn by_number(name: &str, seed: u64, trial: &PlannedTrial) -> Result<Outcome, Void> {
    let mut draw = Draw::new(seed, 3 + u64::from(trial.trial));
    if trial.trial > 3 && draw.chance(1, 9) {
        return Err(Void::NoMetric { metric: name.into(), why: "hiccup".into() });
    }
    let factor = [1.0, 1.1, 0.7, 1.0, 1.01][trial.setting as usize % 5];
    let noise = (0..4).map(|_| f64::from(u32::try_from(draw.below(1_000)).unwrap()) / 1_000.0 - 0.5).sum::<f64>();
    let value = 100.0 * factor * (1.0 + 0.03 * noise);
    Ok(Outcome { metrics: [(name.to_owned(), value)].into(), ..Outcome::default() })
}

struct Player<'c> {
    course: &'c Course,
    begun: Resolved,
    world: SimWorld,
    faults: Faults,
    whole: Whole,
    book: Book,
    draw: Draw,
    legs: Vec<Leg>,
}

impl<'c> Player<'c> {
    fn new(course: &'c Course, begun: Resolved) -> Self {
        let (world, faults) = boot(course);
        let draw = Draw::new(course.seed, u64::MAX);
        let whole = whole(course, &begun);
        Player { course, begun, world, faults, whole, book: Book::default(), draw, legs: Vec::new() }
    }

    fn play(mut self) -> Told {
        for broken in self.course.breaks.iter().copied().map(Some).chain([None]) {
            if matches!(standing(&self.book.events()), Err(ResumeError::Ended { .. } | ResumeError::AtLimit { .. })) {
                break;
            }
            self.leg(broken);
        }
        self.succeed();
        let (ground, journal) = (self.course.ground, self.book.events());
        Told { ground, whole: self.whole, journal, files: files(ground, &mut self.world), legs: self.legs }
    }

    /// One owner, from finding the journal to its end.
    fn leg(&mut self, broken: Option<Break>) {
        let found = self.book.events();
        self.succeed();
        self.arm(broken);
        let struck = self.faults.tally();
        let (ran, ended) = self.own(&found, broken);
        let left = self.book.events();
        let struck = self.faults.tally() != struck;
        let failed = ended.err().filter(|why| !struck && why != FULL && *why != Fatal::StoppedComputing.to_string());
        self.legs.push(Leg { found, left, ran, struck, failed });
        if self.faults.ended() == Some(Ending::PowerCut) && self.course.loses {
            self.book.go_dark(&mut self.draw);
        }
    }

    /// The next owner finds everything with room again, and restores what is held, as every command does.
    fn succeed(&mut self) {
        if self.course.ground == Ground::Boot {
            (self.world, self.faults) = boot(self.course);
        }
        self.faults.heal(&mut self.world);
        self.faults.succeed(&mut self.world).unwrap();
        if self.course.slip == Some(Slip::LeavesWhatIsHeld) {
            return;
        }
        let near = self.world.machine(Side::Near).unwrap();
        let entries = near.open_entries().into_iter().filter(|entry| entry.turn.hold == Hold::Held);
        let held: Vec<EntryId> = entries.map(|entry| entry.id).collect();
        restore(near, &held, false);
    }

    /// Prepares what will strike.
    fn arm(&mut self, broken: Option<Break>) {
        let step = |part: u64| self.faults.steps() + 1 + part * self.whole.steps / PARTS;
        match broken {
            Some(Break::Ends(part, ending)) => self.faults.end_at(step(part), ending),
            Some(Break::LedgerFull(part)) => {
                (0..FULL_FOR).for_each(|more| self.faults.strike_at(step(part) + more, Fault::DiskFull));
            }
            _ => {}
        }
        let mut looks = if let Some(Break::Stop(part)) = broken { Some(part * self.whole.waits / PARTS) } else { None };
        self.world.interrupt_source(Box::new(move || {
            looks = looks?.checked_sub(1);
            looks.is_none().then_some(StopSignal::Interrupt)
        }));
    }

    /// Begins it or goes on with it; answers the trials that were run, and why it did not end by itself.
    fn own(&mut self, found: &[Event], broken: Option<Break>) -> (Vec<u32>, Result<(), String>) {
        let stands = self.stands(found);
        let again = match stands.first() {
            Some(Event::Started(started)) if self.course.ground != Ground::Formula => match self.rebuilt(started) {
                Ok(again) => again,
                Err(why) => return (Vec::new(), Err(why)),
            },
            _ => self.begun.clone(),
        };
        self.book.done.push(Entry::Rewind(stands.len()));
        if self.course.slip == Some(Slip::AppendsWhatStands) {
            stands.iter().for_each(|event| self.book.append(event));
        }
        let events = self.whole.journal.len() as u64;
        let room = if let Some(Break::JournalFull(part)) = broken { part * events / PARTS } else { u64::MAX };
        let stop = if let Some(Break::Stop(part)) = broken { Some(part * self.whole.trials / PARTS) } else { None };
        let mut bench =
            bench(self.course.ground, &again, &mut self.world, stop.filter(|_| self.course.ground == Ground::Formula));
        let mut pages = Pages { book: &mut self.book, faults: &self.faults, room, draw: &mut self.draw };
        let started = &again.started;
        let past = if self.course.ground == Ground::Boot { Past::Computed } else { Past::Recalled };
        let slip = self.course.slip.filter(|slip| slip.is_in_the_bench() && past == Past::Recalled);
        let ended = match (stands.is_empty(), slip) {
            (true, _) => run(started, &mut bench, &mut pages),
            (false, Some(slip)) => careless(started, &stands, slip, &mut bench, &mut pages),
            (false, None) => resume(started, &stands, past, &mut bench, &mut pages),
        };
        (bench.ran, ended.map(|_| ()).map_err(|fatal| fatal.to_string()))
    }

    fn rebuilt(&mut self, started: &Started) -> Result<Resolved, String> {
        check_rig(started, &mut self.world).map_err(|error| error.to_string())?;
        rebuild(started).map_err(|error| error.to_string())
    }

    /// What stands of a journal, by the rules or by a slip.
    fn stands(&self, found: &[Event]) -> Vec<Event> {
        let keep = standing(found).unwrap_or(0);
        let keep = match self.course.slip {
            Some(Slip::KeepsAnEventTooMany) => found.len().min(keep + 1),
            Some(Slip::LosesAFinishedTrial) => {
                let last = found[..keep].iter().rposition(|event| finished(event).is_some());
                last.map_or(keep, |last| standing(&found[..last]).unwrap())
            }
            _ => keep,
        };
        found[..keep].to_vec()
    }
}

fn whole(course: &Course, begun: &Resolved) -> Whole {
    let (mut world, faults) = boot(course);
    let waits = Rc::new(Cell::new(0));
    let counted = Rc::clone(&waits);
    world.interrupt_source(Box::new(move || {
        counted.set(counted.get() + 1);
        None
    }));
    let mut book = Book::default();
    let mut pages = Pages { book: &mut book, faults: &faults, room: u64::MAX, draw: &mut Draw::new(course.seed, 0) };
    let mut bench = bench(course.ground, begun, &mut world, None);
    run(&begun.started, &mut bench, &mut pages).unwrap();
    let (steps, waits, trials) = (faults.steps(), waits.get(), bench.ran.len() as u64);
    drop(bench);
    Whole { journal: book.events(), files: files(course.ground, &mut world), steps, waits, trials }
}

/// What a surviving machine's files read once limits have had a moment to take effect.
fn files(ground: Ground, world: &mut SimWorld) -> Files {
    if ground != Ground::Survivor {
        return Files::new();
    }
    let now_ns = world.now_ns();
    world.wait(Some(now_ns + 40_000_000));
    snapshot(world.machine(Side::Near).unwrap())
}

fn boot(course: &Course) -> (SimWorld, Faults) {
    let mut world = course.world();
    let faults = Faults::inject(&mut world, FaultPlan { seed: course.seed, one_in: 0, blunder: None }).unwrap();
    (world, faults)
}

fn bench<'w>(ground: Ground, begun: &Resolved, world: &'w mut SimWorld, stop: Option<u64>) -> Counted<'w> {
    let (name, seed) = (begun.started.metrics[0].name.clone(), begun.started.seed);
    let (bench, keyed): (Box<dyn Bench + 'w>, _) = match ground {
        Ground::Boot => (Box::new(WorldBench::new(world, begun)), None),
        Ground::Survivor => (Box::new(WorldBench::new(world, begun)), Some((name, seed))),
        Ground::Formula => {
            let answer = move |trial: &PlannedTrial| by_number(&name, seed, trial);
            (Box::new(FormulaBench::new(TRIAL_NS, answer)), None)
        }
    };
    Counted { bench, keyed, stop, ran: Vec::new() }
}

/// The number of the trial that is finished with this event: valid, or void by its own fault.
pub(super) fn finished(event: &Event) -> Option<u32> {
    match event {
        Event::TrialDone { trial, .. } => Some(*trial),
        Event::TrialVoid { trial, why, .. } if *why != Void::Stopped => Some(*trial),
        _ => None,
    }
}
