//! `run --again`: the experiment of a page, from the page alone: its plan as resolved, its seed, its machine.
use std::path::Path;

use powerband_experiment::{Resolved, check_rig, rebuild};
use powerband_record::Started;
use powerband_report::page::Data;

use crate::cli::{Measuring, Run, Shared};
use crate::exit::{Answer, Failure, usage};
use crate::measure::{conclude, conduct, header, open_store, store_failure};
use crate::rig::{self, Names, Purpose};
use crate::{caller, commands, dry, input, output, tabled};

/// Runs it, and keeps it as an experiment of its own.
pub(crate) fn run(shared: &Shared, page: &Path, args: &Run) -> Answer {
    let measuring = &args.measuring;
    let refused = |why: String| usage(format!("{} cannot be run again: {why}", page.display()));
    let bytes = input::bytes(page, "the page", input::MEASURED)?;
    let data = Data::read(&String::from_utf8_lossy(&bytes)).map_err(|error| refused(error.to_string()))?;
    let Some(started) = data.plan else {
        return Err(refused("it is no page of an experiment; `powerband report ID -o FILE.html` writes one".into()));
    };
    let names = Names::begun(&started).answering_within(shared);
    check_words(shared, &names).map_err(&refused)?;
    let then = data.report.and_then(|report| report.header).map(|header| header.host);
    let here = powerband_host::hostname();
    if let Some(then) = then.filter(|then| *then != here && !names.simulated() && names.table().is_none()) {
        output::remark(&format!("the page was made on {then}, this is {here}"));
    }
    if names.table().is_some() {
        return tabled::from_page(shared, &names, &started, measuring);
    }
    on_rig(shared, page, &names, started, args).map_err(|failure| Failure {
        sentence: format!("{} cannot be run again: {}", page.display(), failure.sentence),
        ..failure
    })?
}

/// The inner answer is that of an experiment that was begun.
fn on_rig(shared: &Shared, page: &Path, names: &Names, mut started: Started, args: &Run) -> Result<Answer, Failure> {
    let measuring: &Measuring = &args.measuring;
    let user = if names.here() { caller::user_of_loads(measuring.setup.as_root)? } else { None };
    started.user = (!names.simulated()).then(|| caller::number(user.as_ref()));
    let mut resolved = rebuild(&started).map_err(usage)?;
    let seed = names.seed()?.unwrap_or(started.seed);
    let dry_run = measuring.setup.dry_run;
    let listed = commands::of(&resolved, names, user.as_ref());
    if dry_run {
        commands::start_nothing(page, names, args.trust)?;
    } else if !names.simulated()
        // A page may come from anybody.
        && let Err(refused) = commands::trust(page, &resolved, &listed, args.trust)
    {
        return Ok(Err(refused));
    }
    // The store first: without a place for results nothing may be turned.
    let mut store = if dry_run { None } else { Some(open_store(shared)?) };
    let mut rig = rig::open(names, Some(seed), if dry_run { Purpose::Rehearse } else { Purpose::Measure })?;
    same_rig(&resolved, rig.world())?;
    // A page tells how the machine stood then.
    resolved.started.facts = powerband_experiment::facts(rig.world());
    let steps = dry::steps(&resolved, rig.world())?;
    resolved.started.baseline = dry::baseline(&steps);
    let Some(store) = &mut store else {
        return Ok(dry::print(shared, &resolved, &steps, &listed, rig.world(), false));
    };
    let id = store.begin(&header()).map_err(store_failure)?;
    let finding = conduct(store, id, &resolved, rig.world(), user, measuring.setup.quiet || shared.json);
    let in_place = rig.close();
    Ok(conclude(shared, store, id, finding, measuring).and_then(|code| in_place.map(|()| code)))
}

fn same_rig(resolved: &Resolved, world: &mut dyn powerband_machine::World) -> Result<(), Failure> {
    check_rig(&resolved.started, world).map_err(|error| {
        let told = error.to_string();
        let differs = told.split("; go on where").next().unwrap_or(&told);
        usage(format!("{differs}; run it on the machine it was measured on"))
    })
}

/// What it runs on and by which seed stands in the page.
fn check_words(shared: &Shared, names: &Names) -> Result<(), String> {
    let given = [
        ("--seed", shared.seed.is_some()),
        ("--far", shared.far.is_some()),
        ("--cpus", shared.cpus.is_some()),
        ("--knobs", shared.declared.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(format!("the page says that already; leave out {option}"));
    }
    match shared.machine.as_ref().filter(|&machine| !names.is_on(machine)) {
        Some(machine) => Err(format!(
            "it was measured on {}, not on {machine}; leave out --machine and POWERBAND_MACHINE",
            names.words()
        )),
        None => Ok(()),
    }
}
