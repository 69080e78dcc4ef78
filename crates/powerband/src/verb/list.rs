//! `list`: the experiments kept, newest last.
use crate::cli::Shared;
use crate::exit::{Answer, Exit};
use crate::measure::{open_store, store_failure};
use crate::output;

pub(crate) fn run(shared: &Shared) -> Answer {
    let store = open_store(shared)?;
    let summaries = store.list().map_err(store_failure)?;
    let rows: Vec<_> = summaries.iter().map(row).collect();
    if shared.json {
        return output::say_json(&powerband_report::json::list(&rows));
    }
    if rows.is_empty() {
        output::say("no experiments yet; begin with e.g. `powerband run plans/router.toml`");
    } else {
        output::say(&powerband_report::text::list(&rows, output::width()));
    }
    Ok(Exit::Fine as u8)
}
