//! `guard`: who changes settings from now on; with `--hold`, setting them again.
//!
//! It waits for events and for nothing else: writes to the knobs, coalescing that was changed, devices and CPUs that come and go,
//! links, and, with `--hold`, the end of another powerband, which empties its lock's file. Without one it does not wake up. After
//! one it reads everything once.
mod hold;
mod notify;
mod powerbands;
mod told;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use powerband_host::Holder;
use powerband_knob::{Applied, Reached};
use powerband_machine::{DEVICES, Look, Machine, StopSignal, Wake, World};
use powerband_persist::{Configured, KeepError, KnobChange, KnobSetter, KnobWatch, Manifest, why};
use powerband_record::{IntoOrdered as _, KnobRef, Side, Writer};

use self::hold::{Again, Held};
use self::notify::Manager;
use self::powerbands::{AttributedChange, recognise};
pub(crate) use self::told::{Checked, Line};
use self::told::{Outcome, Tally, is_kernel, opponent};
use self::wanted::{Check, Place, Wanted, settings_to_guard};
use crate::cli::{Guard, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output;
use crate::rig::{self, Purpose};

/// How long after the first event of several everything is read: a program that sets one policy sets the next right
/// after it, and some empty a file before they write it, ns.
const GATHER_NS: u64 = 20_000_000;

/// How long after a knob could not be set that is tried again, ns.
const RETRY_NS: u64 = 10_000_000_000;

pub(crate) fn run(shared: &Shared, args: &Guard) -> Answer {
    let names = rig::names(shared);
    names.changed_by_others()?;
    if !names.here() || names.far().is_some() {
        return Err(usage("guard works on the machine it runs on: start it there, without --machine and --far"));
    }
    if args.settings.is_empty() && shared.cpus.is_some() {
        return Err(usage("what is kept names its places; leave out --cpus, or name knobs and their values"));
    }
    let mut rig = rig::open(shared, Purpose::Look)?;
    let machine = rig.machine(Side::Near)?;
    let setting = settings_to_guard(args, machine)?;
    let wanted = Wanted::of(setting, rig::selection(shared)?, machine)?;
    if args.once {
        return once(shared, args, &wanted, machine);
    }
    let folder = powerband_rig::lock_folder(&names)?;
    let mut kept = Manifest::read(machine).map_err(KeepError::from)?;
    let mut guarding = Guarding::begin(shared, args, wanted, folder.clone(), machine, None)?;
    let mut stop = None;
    loop {
        let now_ns = rig.world().now_ns();
        let read = guarding.look(rig.machine(Side::Near)?, now_ns)?;
        let machine = rig.machine(Side::Near)?;
        // A damaged list is one that somebody is at work on: what was read before counts.
        let now_kept = Manifest::read(machine).ok().filter(|now| args.settings.is_empty() && *now != kept);
        if let Some(now_kept) = now_kept {
            kept = now_kept;
            if kept.is_empty() {
                output::note("nothing is kept any more, so there is nothing to guard");
                stop = stop.or(Some(StopSignal::Terminate));
            } else {
                let wanted = Wanted::of(settings_to_guard(args, machine)?, rig::selection(shared)?, machine)?;
                guarding = Guarding::begin(shared, args, wanted, folder.clone(), machine, Some(guarding))?;
            }
        }
        if stop.is_some() || !read {
            guarding.manager.tell("STOPPING=1");
            let lost = guarding.held.failed || !guarding.held.given_up.is_empty();
            return Ok(match stop {
                _ if lost => Exit::Failed,
                Some(StopSignal::Interrupt | StopSignal::HangUp) => Exit::Stopped,
                Some(StopSignal::Terminate) | None => Exit::Fine,
            } as u8);
        }
        if guarding.meanwhile.is_empty() {
            stop = guarding.gather(rig.world());
        }
    }
}

/// `--once`.
fn once(shared: &Shared, args: &Guard, wanted: &Wanted, machine: &mut dyn Look) -> Answer {
    let checks = wanted.check(machine);
    write_metrics(args.textfile.as_deref(), &Tally::default(), &checks, &BTreeSet::new())?;
    let wrong: Vec<&Check> = checks.iter().filter(|it| !it.as_wanted).collect();
    let exit = if wrong.is_empty() { Exit::Fine } else { Exit::Failed };
    if shared.json {
        output::print_document(&Checked { checks })?;
        return Ok(exit as u8);
    }
    match wrong.len() {
        0 => output::print(&format!("as wanted at {} of {}", checks.len(), places(checks.len()))),
        _ => output::print(&wrong.iter().map(|it| not_as_wanted(it)).collect::<Vec<_>>().join("\n")),
    }
    Ok(exit as u8)
}

fn not_as_wanted(check: &Check) -> String {
    let wanted = powerband_knob::shown(&check.knob, &check.wanted);
    format!("{}@{}: {}, wanted {wanted}", check.knob, check.site, check.shown)
}

fn places(count: usize) -> String {
    format!("{count} place{}", if count == 1 { "" } else { "s" })
}

fn write_metrics(
    path: Option<&Path>,
    tally: &Tally,
    checks: &[Check],
    given_up: &BTreeSet<String>,
) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    Ok(powerband_watch::write_metrics(path, &tally.openmetrics(checks, given_up))?)
}

/// A guard at work.
struct Guarding<'a> {
    shared: &'a Shared,
    args: &'a Guard,
    wanted: Wanted,
    watch: KnobWatch,
    held: Held,
    /// Where the lock of the powerband that changes this machine is.
    folder: PathBuf,
    /// Who had it at the last event.
    holder: Option<Holder>,
    checks: Vec<Check>,
    /// What others changed while guard set something, or took up what is kept now.
    meanwhile: Vec<KnobChange>,
    tally: Tally,
    manager: Manager,
}

impl<'a> Guarding<'a> {
    /// `before` is the guard of what was kept until now.
    fn begin(
        shared: &'a Shared,
        args: &'a Guard,
        wanted: Wanted,
        folder: PathBuf,
        machine: &mut dyn Machine,
        before: Option<Guarding<'a>>,
    ) -> Result<Guarding<'a>, Failure> {
        // It is written when another powerband begins or ends; what is kept changes no other way.
        let lock = (args.hold || args.settings.is_empty()).then(|| folder.join("lock").display().to_string());
        let also: Vec<String> = std::iter::once(DEVICES.to_owned()).chain(lock).collect();
        let watch = KnobWatch::of(machine, &wanted.knobs(), &wanted.narrow, &also);
        if let Some(why) = &watch.unseen {
            let exit = if machine.identity().privileged { Exit::Unsupported } else { Exit::Denied };
            return Err(Failure::new(exit, format!("guard cannot see who writes: {why}")));
        }
        let (held, checks) = (Held::begin(machine.open_entries()), wanted.check(machine));
        let manager = Manager::of_environment();
        let (tally, holder, meanwhile) = before.map_or_else(Default::default, |mut before| {
            // Read only now: what is written from here on, the new watch sees.
            before.meanwhile.extend(before.watch.look(machine));
            (before.tally, before.holder, before.meanwhile)
        });
        let mut guarding =
            Guarding { shared, args, wanted, watch, held, folder, holder, checks, meanwhile, tally, manager };
        guarding.held.see(&guarding.checks);
        if args.hold && guarding.meanwhile.is_empty() {
            guarding.set_first(machine)?;
        }
        for check in guarding.checks.iter().filter(|it| !it.as_wanted) {
            output::note(not_as_wanted(check));
        }
        let knobs = guarding.wanted.knobs().len();
        output::note(format!(
            "{} {knobs} setting{} at {}; times are UTC, Ctrl-C ends it",
            if args.hold { "holding" } else { "guarding" },
            if knobs == 1 { "" } else { "s" },
            places(guarding.checks.len())
        ));
        guarding.report_state(true)?;
        Ok(guarding)
    }

    /// Sets what is not as wanted at the beginning.
    fn set_first(&mut self, machine: &mut dyn Machine) -> Result<(), Failure> {
        let wrong: BTreeSet<String> = self.held.wrong(&self.checks).into_iter().map(|(knob, _)| knob).into_set();
        if wrong.is_empty() {
            return Ok(());
        }
        match self.held.set_again(self.shared, &self.wanted, &self.checks, &wrong)? {
            Again::Busy(holder) => output::note(format!("{holder}; guard sets its knobs when that has ended")),
            Again::Done(applied, _) => {
                self.take_over(machine, &applied);
                self.print_set(&applied)?;
            }
        }
        Ok(())
    }

    /// Waits for an event, however long that takes, and then for what comes with it; answers whether to stop.
    fn gather(&mut self, world: &mut dyn World) -> Option<StopSignal> {
        // What could not be set is tried again: a powerband with another state folder, say, tells nobody when it ends.
        let mut until_ns = self.held.failed.then(|| world.now_ns().saturating_add(RETRY_NS));
        let mut heard = false;
        loop {
            match world.wait(until_ns) {
                Wake::Wrote(_) if !heard => {
                    heard = true;
                    // Now: a powerband that sets one knob has let go of the lock soon after.
                    self.holder = powerband_host::holder(&self.folder);
                    until_ns = Some(world.now_ns().saturating_add(GATHER_NS));
                }
                Wake::Deadline => return None,
                Wake::Stop(signal) => return Some(signal),
                _ => {}
            }
        }
    }

    /// Reads everything, reports what is new and sets it again, and so for what others write meanwhile; answers whether anybody
    /// reads that.
    fn look(&mut self, machine: &mut dyn Machine, now_ns: u64) -> Result<bool, Failure> {
        let mut changes = std::mem::take(&mut self.meanwhile);
        changes.extend(self.watch.look(machine));
        loop {
            if !self.answer(machine, changes, now_ns)? {
                return Ok(false);
            }
            changes = std::mem::take(&mut self.meanwhile);
            if changes.is_empty() {
                return self.report_state(false).map(|()| true);
            }
        }
    }

    /// One round of it.
    fn answer(
        &mut self,
        machine: &mut dyn Machine,
        mut changes: Vec<KnobChange>,
        now_ns: u64,
    ) -> Result<bool, Failure> {
        self.checks = self.wanted.check(machine);
        self.held.see(&self.checks);
        let is_new = |(knob, site): Place| !changes.iter().any(|it| it.knob == knob && it.site == site);
        if self.held.wrong(&self.checks).into_iter().any(is_new) {
            // Written since the changes were read: who wrote is known before it is set again.
            changes.extend(self.watch.look(machine));
        }
        let news: Vec<AttributedChange> =
            changes.into_iter().map(|change| recognise(change, self.holder.as_ref(), self.shared, machine)).collect();
        self.leave_to_powerband(&news);
        let mut done = BTreeMap::new();
        let mut set = Applied::default();
        if self.args.hold {
            self.give_up(&news, now_ns, &mut done);
            set = self.set_again(machine, &news, now_ns, &mut done);
        }
        let mut explained = BTreeMap::new();
        for AttributedChange { change, powerband } in &news {
            let outcome = done.get(&change.knob);
            let idle = outcome.is_none_or(|(outcome, _)| *outcome == Outcome::Left);
            if change.is_same() && idle {
                continue;
            }
            let by = change.by.iter().find(|by| !is_kernel(by)).filter(|_| powerband.is_none());
            if let Some(by) = by {
                self.tally.count(&change.knob, &opponent(by));
            }
            let configured = by.and_then(|by| self.configured(&mut explained, machine, change, by));
            let line = line(change, powerband.as_deref(), configured, outcome);
            if !self.print(&line)? {
                return Ok(false);
            }
        }
        set.sites.retain(|it| !news.iter().any(|news| news.change.knob == it.named.name));
        self.print_set(&set)?;
        Ok(true)
    }

    /// A knob that a powerband has changed stays until it is as wanted or another program changes it.
    fn leave_to_powerband(&mut self, news: &[AttributedChange]) {
        let wrong: BTreeSet<&String> = self.checks.iter().filter(|it| !it.as_wanted).map(|it| &it.knob).into_set();
        for AttributedChange { change, powerband } in news.iter().filter(|news| wrong.contains(&news.change.knob)) {
            if powerband.is_some() {
                self.held.left.insert(change.knob.clone());
            } else if !change.by.is_empty() {
                self.held.left.remove(&change.knob);
            }
        }
    }

    /// Leaves the knobs to their opponents that have changed them too often.
    fn give_up(&mut self, news: &[AttributedChange], now_ns: u64, done: &mut Done) {
        for place in self.held.wrong(&self.checks) {
            let Some(opponent) = opponent_of(&place, news) else { continue };
            if self.held.is_lost(place.clone(), &opponent, now_ns) {
                let reason = format!(
                    "{opponent} has changed it again after guard set it {} times within a minute",
                    hold::MAX_FIGHTS
                );
                self.held.given_up.insert(place.0.clone());
                done.insert(place.0, (Outcome::GivenUp, Some(reason)));
            }
        }
        for knob in &self.held.left {
            done.insert(knob.clone(), (Outcome::Left, None));
        }
    }

    /// Sets again what is wrong; answers what was set.
    fn set_again(
        &mut self,
        machine: &mut dyn Machine,
        news: &[AttributedChange],
        now_ns: u64,
        done: &mut Done,
    ) -> Applied {
        let places = self.held.wrong(&self.checks);
        let wrong: BTreeSet<String> = places.iter().map(|(knob, _)| knob.clone()).into_set();
        if wrong.is_empty() {
            return Applied::default();
        }
        let result = self.held.set_again(self.shared, &self.wanted, &self.checks, &wrong);
        let left = |knob: &String| matches!(&result, Ok(Again::Done(_, otherwise)) if otherwise.contains(knob));
        for place in places.into_iter().filter(|(knob, _)| !left(knob) && !matches!(result, Ok(Again::Busy(_)))) {
            // Also where it failed: the opponent may have written before it was read back.
            if let Some(opponent) = opponent_of(&place, news) {
                self.held.fought(place, &opponent, now_ns);
            }
        }
        let (applied, otherwise) = match result {
            Ok(Again::Done(applied, otherwise)) => (applied, otherwise),
            Ok(Again::Busy(holder)) => {
                done.extend(wrong.into_iter().map(|knob| (knob, (Outcome::Left, Some(holder.to_string())))));
                return Applied::default();
            }
            Err(failure) => {
                self.take_over(machine, &Applied::default());
                for knob in wrong {
                    // Somebody has written before it was read back; the next round is about that.
                    let again = self.meanwhile.iter().any(|change| change.knob == knob);
                    self.held.failed |= !again;
                    let failed = (Outcome::Failed, Some(failure.sentence.clone()));
                    done.insert(knob, if again { (Outcome::SetAgain, None) } else { failed });
                }
                return Applied::default();
            }
        };
        self.take_over(machine, &applied);
        for knob in wrong {
            if otherwise.contains(&knob) {
                let reason = "powerband itself has set another value; `powerband undo` restores the one before";
                done.insert(knob, (Outcome::Left, Some(reason.to_owned())));
                continue;
            }
            let again = self.meanwhile.iter().any(|change| change.knob == knob);
            let outcome = match self.checks.iter().find(|it| it.knob == knob && !it.as_wanted && !again) {
                Some(check) => (Outcome::Failed, Some(format!("it reads {} after it", check.shown))),
                None => (Outcome::SetAgain, None),
            };
            done.insert(knob, outcome);
        }
        applied
    }

    /// Reads what is there after a change of our own; what another program has written meanwhile is kept.
    fn take_over(&mut self, machine: &mut dyn Machine, applied: &Applied) {
        self.wanted.accept(applied);
        let changes = self.watch.look(machine);
        self.meanwhile.extend(changes.into_iter().filter(|change| change.by.iter().any(|by| by.pid.is_some())));
        self.checks = self.wanted.check(machine);
        self.held.see(&self.checks);
    }

    /// The line of a configuration behind a change; what acts on each knob is looked for once.
    fn configured(
        &self,
        explained: &mut BTreeMap<String, Option<KnobSetter>>,
        machine: &mut dyn Look,
        change: &KnobChange,
        by: &Writer,
    ) -> Option<Configured> {
        let found = explained.entry(change.knob.clone()).or_insert_with(|| {
            let knob = KnobRef { side: Side::Near, name: change.knob.clone(), site: None };
            why(machine, &[], &knob, &self.wanted.narrow).ok()
        });
        found.as_ref()?.configured(by, change.new.as_deref())
    }

    /// Prints a change; answers whether anybody reads it.
    fn print(&self, line: &Line) -> Result<bool, Failure> {
        let text = if self.shared.json { output::document_line(line)? } else { line.words() };
        Ok(output::print_line(&text))
    }

    /// Prints what guard has set without a change that it heard of.
    fn print_set(&self, applied: &Applied) -> Result<(), Failure> {
        for change in applied.sites.iter().map(change_of).filter(|change| !change.is_same()) {
            self.print(&line(&change, None, None, Some(&(Outcome::Set, None))))?;
        }
        Ok(())
    }

    /// Tells the service manager and node_exporter.
    fn report_state(&self, ready: bool) -> Result<(), Failure> {
        write_metrics(self.args.textfile.as_deref(), &self.tally, &self.checks, &self.held.given_up)?;
        let ready = if ready { "READY=1\n" } else { "" };
        self.manager.tell(&format!("{ready}STATUS={}", self.tally.status(&self.checks)));
        Ok(())
    }
}

/// What was done about each knob, and why no more.
type Done = BTreeMap<String, (Outcome, Option<String>)>;

/// Who has changed a knob at a site, if that was a program and no powerband.
fn opponent_of((knob, site): &Place, news: &[AttributedChange]) -> Option<String> {
    // What is absent has no site, and went with a site of another name.
    let is_it = |change: &KnobChange| change.knob == *knob && (change.site == *site || change.new.is_none());
    let others = news.iter().filter(|news| is_it(&news.change) && news.powerband.is_none());
    others.flat_map(|news| &news.change.by).find(|by| !is_kernel(by)).map(opponent)
}

fn line(
    change: &KnobChange,
    powerband: Option<&str>,
    configured: Option<Configured>,
    done: Option<&(Outcome, Option<String>)>,
) -> Line {
    let at_unix_ms = powerband_host::unix_time_ms().saturating_sub(change.ago_ns / 1_000_000);
    let (outcome, reason) = done.cloned().unwrap_or((Outcome::Reported, None));
    Line { at_unix_ms, change: change.clone(), configured, powerband: powerband.map(str::to_owned), outcome, reason }
}

/// What guard itself has changed.
fn change_of(reached: &Reached) -> KnobChange {
    let shown = |reads: &Option<String>| {
        reads.as_ref().map_or_else(|| "absent".to_owned(), |reads| reached.named.knob.shown(reads))
    };
    KnobChange {
        knob: reached.named.name.clone(),
        site: reached.site.name.clone(),
        old: reached.before.as_ref().map(|text| text.trim().to_owned()),
        new: reached.reads_back.clone(),
        by: Vec::new(),
        ago_ns: 0,
        shown: (shown(&reached.before), shown(&reached.reads_back)),
    }
}
