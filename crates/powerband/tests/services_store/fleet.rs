//! The experiments of a fleet are found by its key, in either store.
use powerband_record::{Event, ExperimentHeader, FleetTask};
use powerband_store::{Purpose, State, Store};
use serde_json::json;

use crate::desk::Desk;
use crate::server::Server;

fn header(run: &str, task: Option<(&str, &str)>) -> ExperimentHeader {
    let header = json!({
        "journal_version": 1, "id": 0, "run": run, "started_unix_s": 1, "host": "n1", "powerband": "0", "command_line": [],
    });
    let fleet = task.map(|(fleet, node)| FleetTask {
        fleet: fleet.into(),
        node: node.into(),
        position: 0,
        nodes: 2,
        attempt: 0,
        facts: [("cpu".to_owned(), "quick".to_owned())].into(),
    });
    ExperimentHeader { fleet, ..serde_json::from_value(header).unwrap() }
}

fn found(store: &mut Store) -> Vec<(i64, String, State)> {
    let members = store.experiments_of_fleet("f").unwrap().into_iter();
    members.map(|member| (member.id, member.header.fleet.unwrap().node, member.state)).collect()
}

fn fill(open: &dyn Fn() -> Store) {
    for (run, task) in [("a", Some(("f", "n2"))), ("b", None), ("c", Some(("g", "n1"))), ("d", Some(("f", "n1")))] {
        let mut store = open();
        let id = store.begin(&header(run, task)).unwrap();
        store.append(id, &Event::Restored { entries: 0, failed: vec![], changed: vec![] }).unwrap();
        store.update_header(id, &header(run, task)).unwrap();
        assert!(store.take_notices().is_empty());
    }
}

#[test]
fn the_experiments_of_a_fleet_are_found() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let (file, journal, url) = (desk.beside("one.sqlite"), desk.beside("journal.sqlite"), server.url());
    fill(&|| Store::open(&file).unwrap());
    fill(&|| Store::open_shared(&url, &journal, Purpose::Write).unwrap().unwrap());
    let expected = vec![(1, "n2".to_owned(), State::Running), (4, "n1".to_owned(), State::Running)];
    assert_eq!(found(&mut Store::open(&file).unwrap()), expected);
    assert_eq!(found(&mut Store::open_shared(&url, &journal, Purpose::Look).unwrap().unwrap()), expected);
}
