//! `set`: turn knobs until `undo`, or until nobody has confirmed them in time.
use powerband_host::Confirmation;
use powerband_knob::{Applied, KnobError, Selection, StepLine, apply_steps, describe_steps, for_side, plan};
use powerband_machine::{EntryId, Hold, LedgerError, StopSignal, Wake, World};
use powerband_record::{Assignment, ReachedSite, Setting, Side, format_duration, parse_duration_ns, quoted};
use powerband_session::hear;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Set, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::held::{put_back, unguarded};
use crate::output::{self, Document};
use crate::rig::{self, Purpose, Rig};
use crate::typed::for_machines;

/// How often somebody who waits for a confirmation looks up, ns: stop signals and a lost guardian are noticed then.
const LOOK_UP_NS: u64 = 100_000_000;

/// What was turned, or would be.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Turned<'a> {
    /// Nothing was turned.
    dry_run: bool,
    /// Each knob at each of its sites, in the order of turning.
    steps: &'a [Row],
    /// At how many sites the value asked for is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<usize>,
    /// At how many sites it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    sites: Option<usize>,
    /// What the clocks do now.
    #[serde(skip_serializing_if = "Option::is_none")]
    witnesses: Option<&'a [Heard]>,
    /// Whether somebody confirmed it in time; without that it was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<bool>,
}

/// A knob at a site.
#[derive(Serialize, JsonSchema)]
struct Row {
    /// Of which machine.
    side: Side,
    /// What came of it.
    #[serde(flatten)]
    what: What,
}

/// How far it went.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum What {
    /// What would be done.
    Step(StepLine),
    /// What was done.
    Turned(ReachedSite),
}

/// What the clocks of one machine do now.
#[derive(Serialize, JsonSchema)]
struct Heard {
    /// Of which machine.
    side: Side,
    /// In words.
    words: String,
}

impl Document for Turned<'_> {
    const KIND: &'static str = "set";
}

/// What was turned, or would be, as it comes.
#[derive(Default)]
pub(super) struct SetOutput {
    pub(super) lines: Vec<String>,
    rows: Vec<Row>,
    pub(super) applied: Vec<(Side, Applied)>,
    witnesses: Vec<Heard>,
}

/// A setting of machines, as it was typed: those have no knobs of a load.
pub(super) fn typed(settings: &[String]) -> Result<Setting, Failure> {
    let assignments =
        settings.iter().map(|text| Assignment::parse(text)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
    match assignments.iter().find(|assignment| assignment.knob.of_load().is_some()) {
        Some(of_load) => Err(KnobError::OfLoad(of_load.knob.name.clone()).into()),
        None => Ok(Setting { name: None, assignments }),
    }
}

pub(crate) fn run(shared: &Shared, args: &Set) -> Answer {
    let setting = typed(&args.settings)?;
    let within_ns = args.confirm_within.as_deref().map(confirmation_time_ns).transpose()?;
    let purpose = if args.dry_run { Purpose::Rehearse } else { Purpose::Turn };
    let names = rig::names(shared);
    let mut rig = rig::open(shared, purpose)?;
    // Before anything is turned: a confirmation must find somebody who hears it.
    let confirmation = Confirmation::listen().map_err(|errno| Failure::new(Exit::CannotGoOn, errno))?;
    let narrow = Selection { accept_unrestorable: args.accept_unrestorable, ..rig::selection(shared)? };
    let mut told = turn(&mut rig, &setting, shared, &narrow, args.dry_run)?;
    let waits = within_ns.filter(|_| told.applied.iter().any(|(_, applied)| !applied.entries.is_empty()));
    if let (Some(within_ns), false) = (waits, args.dry_run) {
        if told.is_lent(rig.world()) {
            put_back(rig.world(), &told.applied, &names)?;
            return Err(Failure::new(Exit::Denied, format!("{}; every setting is restored", LedgerError::OnlyHeld)));
        }
        if let Some(why) = unguarded(rig.world(), &told.applied) {
            put_back(rig.world(), &told.applied, &names)?;
            let sentence = format!(
                "--confirm-within needs a guardian process, which restores the settings if powerband is killed, and none could \
                 be started: {why}; every setting is restored"
            );
            return Err(Failure::new(Exit::CannotGoOn, sentence));
        }
        return confirmed(&mut rig, shared, &told, &confirmation, within_ns);
    }
    if told.is_lent(rig.world()) {
        return hold(&mut rig, shared, &told);
    }
    if !args.dry_run {
        keep(&mut rig, &told, &names)?;
        told.hear_witnesses(rig.world());
    }
    if shared.json {
        return output::print_document(&told.shape(args.dry_run, None));
    }
    if args.dry_run && !told.rows.is_empty() {
        told.lines.push("note: nothing was set; a driver may still refuse or round a value".to_owned());
    }
    if !args.dry_run && told.can_be_undone(rig.world()) {
        told.lines.push(taken_back(shared));
    }
    output::print(&told.lines.join("\n"));
    Ok(Exit::Fine as u8)
}

fn confirmation_time_ns(text: &str) -> Result<u64, Failure> {
    match parse_duration_ns(text) {
        Ok(0) => Err(usage("--confirm-within: nobody can confirm in no time; write e.g. 60s")),
        Ok(within_ns) => Ok(within_ns),
        Err(error) => Err(usage(format!("--confirm-within: {error}"))),
    }
}

/// Makes what is turned stay, all of it: until then it is held, so that nothing of it outlives us by half.
pub(super) fn keep(rig: &mut Rig, told: &SetOutput, names: &rig::Names) -> Result<(), Failure> {
    for (side, applied) in &told.applied {
        let Some(machine) = rig.world().machine(*side) else { continue };
        if let Err(error) = machine.keep(&applied.entries) {
            put_back(rig.world(), &told.applied, names).inspect_err(|_| output::error(&error.to_string()))?;
            return Err(Failure::new(Exit::CannotGoOn, format!("{error}; everything was restored")));
        }
    }
    Ok(rig::check_lost(rig.world())?)
}

/// Turns each side's part of a setting, held until it is kept, or says how it would be.
pub(super) fn turn(
    rig: &mut Rig,
    setting: &Setting,
    shared: &Shared,
    narrow: &Selection,
    dry_run: bool,
) -> Result<SetOutput, Failure> {
    let names = rig::names(shared);
    let mut told = SetOutput::default();
    for side in rig::machines_of(setting, rig.world())? {
        let part = for_side(setting, side);
        let turned = rig.world().machine(side).map(|machine| {
            let on = |error: KnobError| error.on(side);
            let steps = plan(&part, machine, narrow).map_err(on)?;
            steps.may_stay()?;
            if dry_run {
                return Ok::<_, Failure>((steps, None));
            }
            let mut applied = apply_steps(machine, &steps, Hold::Held).map_err(on)?;
            applied.look_again(machine);
            Ok((steps, Some(applied)))
        });
        match turned {
            None => {}
            Some(Ok((steps, None))) => {
                told.lines.extend(describe_steps(&steps));
                told.rows.extend(steps.lines.into_iter().map(|line| Row { side, what: What::Step(line) }));
            }
            Some(Ok((_, Some(applied)))) => told.tell(side, applied),
            Some(Err(failure)) => {
                put_back(rig.world(), &told.applied, &names).inspect_err(|_| output::error(&failure.sentence))?;
                rig::check_lost(rig.world())?;
                return Err(failure);
            }
        }
    }
    Ok(told)
}

impl SetOutput {
    /// Whether an access service holds any of it, so that it goes when we do.
    fn is_lent(&self, world: &mut dyn World) -> bool {
        self.applied.iter().any(|(side, applied)| {
            let setter = world.machine(*side).and_then(|machine| machine.setter());
            setter.is_some_and(|setter| applied.entries.iter().any(|&entry| setter.holds(entry)))
        })
    }

    /// Whether any of it is in the ledger: what was so already is not, nor what nothing restores.
    fn can_be_undone(&self, world: &mut dyn World) -> bool {
        self.applied.iter().any(|(side, applied)| {
            let open = world.machine(*side).map(|machine| machine.open_entries()).unwrap_or_default();
            open.iter().any(|entry| applied.entries.contains(&entry.id))
        })
    }

    fn tell(&mut self, side: Side, applied: Applied) {
        let there = side.prefix();
        self.lines.extend(applied.sites.iter().map(|reached| format!("{there}{}", reached.words())));
        self.lines.extend(applied.reach.iter().map(|reach| format!("{there}{reach}")));
        self.lines.extend(applied.summary().map(|summary| format!("{there}{summary}")));
        let notes = applied.notes.iter().chain(&applied.unrestorable);
        self.lines.extend(notes.map(|note| format!("note: {note}")));
        self.rows.extend(applied.sites.iter().map(|reached| Row { side, what: What::Turned(reached.record()) }));
        self.applied.push((side, applied));
    }

    /// Adds what the clocks do now.
    fn hear_witnesses(&mut self, world: &mut dyn World) {
        for (side, words) in hear(world, &self.applied) {
            let there = side.prefix();
            self.lines.push(format!("{there}{words}"));
            self.witnesses.push(Heard { side, words });
        }
    }

    fn shape(&self, dry_run: bool, confirmed: Option<bool>) -> Turned<'_> {
        let exact = |(_, it): &(Side, Applied)| it.sites.len() - it.inexact().len();
        Turned {
            dry_run,
            steps: &self.rows,
            reached: (!dry_run).then(|| self.applied.iter().map(exact).sum()),
            sites: (!dry_run).then(|| self.applied.iter().map(|(_, it)| it.sites.len()).sum()),
            witnesses: (!dry_run).then_some(&self.witnesses),
            confirmed,
        }
    }
}

/// What an access service has set goes when we do, so we stay until we are stopped. No witnesses are heard: a signal that comes
/// meanwhile must not be missed.
fn hold(rig: &mut Rig, shared: &Shared, told: &SetOutput) -> Answer {
    if shared.json {
        output::print_document(&told.shape(false, None))?;
    } else {
        output::print(&told.lines.join("\n"));
    }
    output::note("the access service holds this until powerband ends; Ctrl-C restores it");
    let lost = loop {
        match rig.world().wait(None) {
            Wake::Stop(_) => break false,
            Wake::Lost(..) => break true,
            _ => {}
        }
    };
    if lost {
        rig::check_lost(rig.world())?;
    }
    put_back(rig.world(), &told.applied, &rig::names(shared))?;
    Ok(Exit::Stopped as u8)
}

/// Why the waiting ended.
enum Answered {
    Yes,
    Nobody,
    Stopped,
    /// A machine is gone, perhaps because of what was set; what is held there goes back by itself.
    Lost,
}

/// Waits for a confirmation; without one everything goes back.
fn confirmed(rig: &mut Rig, shared: &Shared, told: &SetOutput, confirmation: &Confirmation, within_ns: u64) -> Answer {
    let step = told.applied.iter().find_map(|(side, applied)| {
        let open = rig.world().machine(*side)?.open_entries();
        open.iter().find(|entry| applied.entries.contains(&entry.id)).map(|entry| entry.step)
    });
    rig.await_confirmation(step.unwrap_or(EntryId(0)), "waiting for `powerband confirm`");
    if !shared.json {
        output::print(&told.lines.join("\n"));
        let time = format_duration(within_ns);
        let confirm = for_machines(&rig::names(shared), "confirm");
        output::print(&format!("type `{confirm}` in another shell within {time} to keep it; else it goes back"));
    }
    let names = rig::names(shared);
    let heard = wait(rig, confirmation, within_ns);
    let kept = matches!(heard, Answered::Yes);
    if kept {
        keep(rig, told, &names)?;
    } else {
        put_back(rig.world(), &told.applied, &names)?;
    }
    if shared.json {
        output::print_document(&told.shape(false, Some(kept)))?;
    }
    match heard {
        Answered::Yes if !shared.json => output::print(&format!("confirmed; {}", taken_back(shared))),
        Answered::Yes => {}
        Answered::Nobody => {
            let time = format_duration(within_ns);
            return Err(Failure::new(Exit::Failed, format!("nobody confirmed within {time}: everything was restored")));
        }
        Answered::Stopped => return Err(Failure::new(Exit::Stopped, stopped(told))),
        Answered::Lost => {
            rig::check_lost(rig.world())?;
            return Err(Failure::new(Exit::CannotGoOn, "a machine was lost"));
        }
    }
    Ok(Exit::Fine as u8)
}

/// What is said where a signal ended the waiting: everything that was set is restored, which it names.
fn stopped(told: &SetOutput) -> String {
    let mut sites: Vec<String> = Vec::new();
    for reached in told.applied.iter().flat_map(|(_, applied)| &applied.sites) {
        let site = powerband_record::placed(&reached.named.name, &reached.site.name);
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    format!("stopped before anybody confirmed; everything was restored: {}", sites.join(", "))
}

/// In real time, whatever the machine's own clock does. A terminal that goes away is no answer: what is set may be the reason.
fn wait(rig: &mut Rig, confirmation: &Confirmation, within_ns: u64) -> Answered {
    let deadline = std::time::Instant::now() + std::time::Duration::from_nanos(within_ns);
    loop {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let left_ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
        if confirmation.came(left_ns.min(LOOK_UP_NS)) {
            return Answered::Yes;
        }
        if left_ns == 0 {
            return Answered::Nobody;
        }
        let world = rig.world();
        let now_ns = world.now_ns();
        match world.wait(Some(now_ns)) {
            Wake::Stop(StopSignal::Interrupt | StopSignal::Terminate) => return Answered::Stopped,
            Wake::Lost(..) => return Answered::Lost,
            _ => {}
        }
    }
}

/// What to type to take it back, on the same machines.
fn taken_back(shared: &Shared) -> String {
    let at = |option: &str, name: &Option<String>| {
        name.as_ref().map(|name| format!(" {option} {}", quoted(name))).unwrap_or_default()
    };
    if rig::is_list(shared) {
        return format!("undo with `{}`", for_machines(&rig::names(shared), "undo"));
    }
    let (near, far) = (at("--machine", &shared.machine), at("--far", &shared.far));
    format!("undo with `powerband{near}{far} undo`")
}
