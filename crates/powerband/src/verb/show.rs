//! `show`: an experiment again, as it was printed when it ended.
use powerband_report::json::Report;
use powerband_store::Store;

use crate::cli::{Shared, Show};
use crate::exit::{Answer, Exit, usage};
use crate::failure::not_found;
use crate::stored::{model, need_store, readings};
use crate::{output, rig};

pub(crate) fn run(shared: &Shared, args: &Show) -> Answer {
    rig::report_leftovers(shared);
    let store = need_store(shared)?;
    let id = store.resolve(&args.id).map_err(not_found)?;
    match args.timelines {
        Some(only) => timelines(shared, &store, id, only),
        None => print(shared, &store, id),
    }
}

/// Prints what meters showed during all trials, or reading by reading during one.
fn timelines(shared: &Shared, store: &Store, id: i64, only: Option<u32>) -> Answer {
    let timelines = readings(store, id, only)?;
    if let Some(trial) = only.filter(|_| timelines.timelines.is_empty()) {
        let why = format!(
            "trial {trial} of experiment {id} has no timeline; `powerband show {id} --timelines` lists those there are"
        );
        return Err(usage(why));
    }
    match only {
        _ if shared.json => return output::print_json(&timelines),
        Some(_) => output::print_raw(timelines.csv().as_bytes()),
        None => output::print(&timelines.render(output::width())),
    }
    Ok(Exit::Fine as u8)
}

/// Prints one experiment as text or JSON.
pub(crate) fn print(shared: &Shared, store: &Store, id: i64) -> Answer {
    let model = model(shared, store, id)?;
    if shared.json {
        return output::print_json(&Report::new(&model));
    }
    let render = if shared.verbose { powerband_report::text::render } else { powerband_report::text::brief };
    output::print(&render(&model, output::width(), output::colour()));
    Ok(Exit::Fine as u8)
}
