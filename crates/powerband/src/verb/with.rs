//! `with`: turn knobs for the length of one command, whose own exit code is ours.
use powerband_knob::{Applied, Selection, apply, for_side};
use powerband_machine::{Finished, Hold, Job, ProcessId, SpawnError, User, Wake, World};
use powerband_record::{ExitStatus, Side, Work};
use powerband_session::{Witnesses, user_of_loads};

use crate::cli::{Shared, With};
use crate::exit::{Answer, Exit, Failure};
use crate::held::{put_back, unguarded};
use crate::output;
use crate::rig::{self, Purpose};

/// Time a command has to end after it was asked to, ns.
const GRACE_NS: u64 = 5_000_000_000;

pub(crate) fn run(shared: &Shared, args: &With) -> Answer {
    let setting = super::set::typed(&args.settings)?;
    let names = rig::names(shared);
    let user = if names.here() { user_of_loads(args.as_root)? } else { None };
    let mut rig = rig::open(shared, Purpose::Measure)?;
    let narrow = Selection { accept_unrestorable: args.accept_unrestorable, ..rig::selection(shared)? };
    let world = rig.world();
    let mut in_force: Vec<(Side, Applied)> = Vec::new();
    for side in rig::machines_of(&setting, world)? {
        let part = for_side(&setting, side);
        match world.machine(side).map(|machine| apply(machine, &part, Hold::Held, &narrow)) {
            None => {}
            Some(Ok(applied)) => in_force.push((side, applied)),
            Some(Err(error)) => {
                let failure = Failure::from(error.on(side));
                put_back(world, &in_force, &names).inspect_err(|_| output::error(&failure.sentence))?;
                rig::check_lost(world)?;
                return Err(failure);
            }
        }
    }
    if let Some(why) = unguarded(world, &in_force) {
        output::note(format!(
            "no guardian process could be started ({why}): if powerband is killed, its settings stay until the next powerband command"
        ));
    }
    let first = world.covered(Side::Near).first().copied().unwrap_or_default();
    let near = in_force.iter().find(|(side, _)| *side == first);
    let group = near.and_then(|(_, applied)| applied.group.clone());
    let witnesses = Witnesses::begin(world, &in_force);
    let ran = execute(world, args, group, user, witnesses);
    put_back(world, &in_force, &names)?;
    in_force.iter().flat_map(|(_, applied)| &applied.unrestorable).for_each(output::note);
    remark_left_behind(world);
    rig::check_lost(world)?;
    rig.in_place()?;
    ran
}

/// What the command started and did not wait for is the caller's own: it runs on, and the caller learns of it.
fn remark_left_behind(world: &mut dyn World) {
    let left = world.machine(Side::Near).map_or(0, |machine| machine.left_behind(false).processes);
    match left {
        0 => {}
        1 => output::note("the command left a process running; it runs on with the restored settings"),
        left => {
            output::note(format!("the command left {left} processes running; they run on with the restored settings"))
        }
    }
}

fn execute(
    world: &mut dyn World,
    args: &With,
    group: Option<String>,
    user: Option<User>,
    witnesses: Witnesses,
) -> Answer {
    let work = Work::command(args.command.clone());
    let job = Job { work, cpus: None, group, user, output_limit: None, around: Vec::new() };
    let machine = world.machine(Side::Near).ok_or_else(|| Failure::new(Exit::CannotGoOn, "the machine is gone"))?;
    let refused = |error: SpawnError| match error {
        // As `try` says it.
        SpawnError::NotModelled { .. } => Failure::new(Exit::Unsupported, error),
        _ => Failure::new(Exit::LoadFailed, error),
    };
    let process = machine.spawn(&job).map_err(refused)?;
    let (finished, stopped) = wait(world, process, witnesses);
    if stopped {
        return Ok(Exit::Stopped as u8);
    }
    let Some(finished) = finished else { return Err(Failure::new(Exit::CannotGoOn, "the command's end was missed")) };
    // A machine at a peer has no terminal of ours, and sends what was printed.
    output::pass_on(&finished.output.stdout, &finished.output.stderr);
    if finished.output.cut {
        output::note("the command printed more than was sent from there: the rest is missing here");
    }
    Ok(match finished.status {
        ExitStatus::Code(code) => u8::try_from(code & 0xff).unwrap_or(1),
        // As shells do.
        ExitStatus::Signal(signal) => u8::try_from((128 + signal) & 0xff).unwrap_or(1),
    })
}

/// Waits for the command, and hears the witnesses once it has worked for a moment; the first signal asks it to end, a
/// second one or the end of the grace makes it.
fn wait(world: &mut dyn World, process: ProcessId, witnesses: Witnesses) -> (Option<Finished>, bool) {
    let mut witnesses = Some(witnesses).filter(|witnesses| !witnesses.is_empty());
    let near = world.covered(Side::Near).first().copied().unwrap_or_default();
    let (mut until_ns, mut stopped) = (witnesses.as_ref().map(Witnesses::until_ns), false);
    loop {
        match world.wait(until_ns) {
            Wake::Ended(side, ended) if (side, ended) == (near, process) => {
                return (world.machine(Side::Near).and_then(|machine| machine.finished(process)), stopped);
            }
            Wake::Deadline if witnesses.is_some() => {
                let told = witnesses.take().map(|witnesses| witnesses.tell(world)).unwrap_or_default();
                told.iter().for_each(|(_, words)| output::note(words));
                until_ns = None;
            }
            Wake::Stop(_) | Wake::Deadline => {
                witnesses = None;
                if let Some(machine) = world.machine(Side::Near) {
                    machine.end(process, stopped);
                }
                stopped = true;
                until_ns = Some(world.now_ns() + GRACE_NS);
            }
            Wake::Lost(side, _) if side == near => return (None, stopped),
            Wake::Lost(..) => {
                witnesses = None;
                // What it was started for no longer holds at the other end.
                if let Some(machine) = world.machine(Side::Near) {
                    machine.end(process, false);
                }
                until_ns = Some(world.now_ns() + GRACE_NS);
            }
            _ => {}
        }
    }
}
