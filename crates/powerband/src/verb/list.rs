//! `list`: the experiments kept, newest last.
use powerband_record::BASELINE;
use powerband_report::list::{List, ListRow};
use powerband_session::is_gone;
use powerband_store::{State, Summary};

use crate::cli::Shared;
use crate::exit::{Answer, Exit};
use crate::stored::{find_store, store_named};
use crate::{output, rig};

pub(crate) fn run(shared: &Shared) -> Answer {
    rig::report_leftovers(shared);
    let store = find_store(shared)?;
    let summaries = store.map(|store| store.list()).transpose()?.unwrap_or_default();
    let list = List::new(summaries.into_iter().map(row).collect());
    if shared.json {
        return output::print_json(&list);
    }
    if list.experiments.is_empty() {
        output::print("no experiments yet; start one with e.g. `powerband run plans/router.toml`");
    } else {
        output::print(&list.render(output::width(), store_named(shared).as_deref()));
    }
    Ok(Exit::Fine as u8)
}

/// A row of the list from what the store says.
fn row(summary: Summary) -> ListRow {
    let state = match summary.state {
        State::Running if is_gone(&summary.host, summary.owner.as_ref()) => "interrupted",
        state => state.as_str(),
    };
    let pick = summary.search.as_ref().and_then(|search| match search.end.as_deref() {
        Some("confirmed") => search.answer.clone(),
        Some("found_is_best") => Some(BASELINE.into()),
        _ => None,
    });
    ListRow {
        id: summary.id,
        started_unix_s: summary.started_unix_s,
        host: summary.host,
        title: summary.title,
        machine: summary.machine,
        far: summary.far,
        load: summary.load,
        state: state.into(),
        reason: summary.reason,
        counts: summary.counts,
        knee: summary.knee,
        sought: summary.search.map(|search| search.sought),
        pick,
        elapsed_s: summary.ended_ns.map(|ns| ns as f64 / 1e9),
    }
}
