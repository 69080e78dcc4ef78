//! The rig of a command: its machines as the options name them, its notes printed, its lock saying what was typed.
use powerband_host::LinkOptions;
use powerband_knob::{Selection, check_machines, for_side};
use powerband_machine::World;
use powerband_record::{Assignment, Setting, Side};
pub(crate) use powerband_rig::{Names, Purpose, Rig, check_lost, is_lost};
use powerband_rig::{Opening, ledger_locations, leftovers};
use powerband_session::Options;

use crate::cli::Shared;
use crate::exit::{Exit, Failure};
use crate::{output, typed};

fn link(shared: &Shared) -> LinkOptions {
    LinkOptions { answer_ns: shared.peer_timeout, keep_agent: shared.keep_agent }
}

/// The machines of a verb without a plan.
pub(crate) fn names(shared: &Shared) -> Names {
    // An empty list is none, and what is wrong with any other was said before.
    let names = Names::list(&shared.machines);
    names.unwrap_or_else(|_| Names::new(shared.machine.clone(), shared.far.clone())).linked(link(shared))
}

/// Both ends of a link, there or not, or the machines of a list.
pub(crate) fn ends_or_list(world: &mut dyn World) -> Vec<Side> {
    let machines = world.sides();
    let is_list = machines.iter().any(|side| matches!(side, Side::Node(_)));
    if is_list { machines } else { vec![Side::Near, Side::Far] }
}

/// The machines on which a setting sets something.
///
/// # Errors
/// A machine that a knob is on and that is not there.
pub(crate) fn machines_of(setting: &Setting, world: &mut dyn World) -> Result<Vec<Side>, Failure> {
    check_machines(setting, world)?;
    let machines = world.sides();
    let sets = |side: Side| !for_side(setting, side).assignments.is_empty();
    let of_far = |it: &&Assignment| it.knob.of_load().is_none() && matches!(it.knob.side, Side::Far | Side::Both);
    if let (Some(of_far), false) = (setting.assignments.iter().find(of_far), machines.contains(&Side::Far)) {
        return Err(no_far(&of_far.knob.name));
    }
    Ok(machines.into_iter().filter(|side| sets(*side)).collect())
}

/// Whether the options name a list of machines.
pub(crate) fn is_list(shared: &Shared) -> bool {
    !shared.machines.is_empty()
}

/// What is said of an experiment outside its plan.
pub(crate) fn options(shared: &Shared) -> Options {
    Options {
        near: shared.machine.clone(),
        far: shared.far.clone(),
        machines: shared.machines.clone(),
        link: link(shared),
        cpus: shared.cpus.clone(),
        declared: shared.declared.clone(),
        seed: shared.seed,
        default_seed: shared.seed_of_environment,
        store: shared.store.clone(),
        dry_run: false,
        show_metrics: false,
        trusted: false,
        as_root: false,
        fleet: None,
        command_line: crate::typed::as_text().collect(),
    }
}

/// Opens the machines that the options name.
pub(crate) fn open(shared: &Shared, purpose: Purpose) -> Result<Rig, Failure> {
    let doing = typed::words().skip(1).collect::<Vec<_>>().join(" ");
    let from_boot = purpose == Purpose::Measure;
    let opening = Opening { seed: shared.seed, purpose, from_boot, doing: &doing, for_a_moment: false };
    Ok(powerband_rig::open(&names(shared), &opening, &mut output::note)?)
}

/// The CPUs and the declared knobs that the options pick.
pub(crate) fn selection(shared: &Shared) -> Result<Selection, Failure> {
    Ok(powerband_session::selection(shared.cpus.as_ref(), shared.declared.as_deref())?)
}

/// Reports what is still changed without an owner on the machines that the options name, where that is known here.
pub(crate) fn report_leftovers(shared: &Shared) {
    leftovers::report(&ledger_locations(&names(shared)), &mut output::note);
}

/// The failure of a knob of a far machine that is not there.
pub(crate) fn no_far(knob: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{knob} is on the far machine, and there is none; name it with --far"))
}
