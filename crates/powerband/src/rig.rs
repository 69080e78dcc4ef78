//! The rig of a command: its machines as the options name them, its notes printed, its lock saying what was typed.
use powerband_host::LinkOptions;
use powerband_knob::Selection;
use powerband_record::Side;
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
    Names::new(shared.machine.clone(), shared.far.clone()).linked(link(shared))
}

/// What is said of an experiment outside its plan.
pub(crate) fn options(shared: &Shared) -> Options {
    Options {
        near: shared.machine.clone(),
        far: shared.far.clone(),
        link: link(shared),
        cpus: shared.cpus.clone(),
        declared: shared.declared.clone(),
        seed: shared.seed,
        default_seed: shared.seed_of_environment,
        store: shared.store.clone(),
        dry_run: false,
        as_root: false,
        fleet: None,
        command_line: std::env::args().collect(),
    }
}

/// Opens the machines that the options name.
pub(crate) fn open(shared: &Shared, purpose: Purpose) -> Result<Rig, Failure> {
    let doing = typed::words().skip(1).collect::<Vec<_>>().join(" ");
    let opening = Opening { seed: shared.seed, purpose, doing: &doing, for_a_moment: false };
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

/// `far/` for what is on the far machine.
pub(crate) fn there(side: Side) -> &'static str {
    if side == Side::Far { "far/" } else { "" }
}
