//! Every verb that takes a store takes one on PostgreSQL.
use std::fs;

use crate::desk::{Desk, split};
use crate::server::{SECRET, Server};

/// An experiment of a second.
const TRY: &str =
    "--machine sim:quadcore --seed 1 try governor=performance,powersave --load counter --for 10s --blocks 3";
const CALIBRATE: &str = "--machine sim:quadcore calibrate --load counter --for 10s";

#[test]
fn every_verb_says_the_same_as_with_a_file() {
    let Some(server) = Server::new() else { return };
    let (shared, file) = (Desk::new(), Desk::new());
    let url = server.url();
    assert!(shared.run(&["--store", &url, "list"]).ended(0).out.contains("no experiments yet"));
    let made = server.asked("SELECT count(*) FROM pg_namespace WHERE nspname = 'powerband'");
    assert_eq!(made, "0", "looking makes nothing");
    let on = |words: &str| shared.run(&split(&format!("--store {url} {words}"))).ended(0);
    let of_file = |words: &str| file.run(&split(words)).ended(0);
    on(TRY);
    of_file(TRY);
    let same = |words: &str| assert_eq!(on(words).out, of_file(words).out, "{words:?}");
    same("show last -v --timelines");
    same("export last --format csv");
    same("--json compare 1:performance 1:powersave");
    let events = |text: String| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let journal = "export last --journal";
    assert_eq!(events(on(journal).out), events(of_file(journal).out));
    let header = on(journal).out.lines().next().unwrap().to_owned();
    assert!(!header.contains(SECRET) && header.contains(&server.shown()), "{header}");
    let page = shared.beside("page.html");
    on(&format!("report last -o {}", page.display()));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("performance") && !page.contains(SECRET));
    // A second one has the next number, and `list` both.
    on(CALIBRATE);
    let list = on("--json list").value();
    let listed = |field: &str| {
        list["experiments"].as_array().unwrap().iter().map(|it| it[field].to_string()).collect::<Vec<_>>()
    };
    assert_eq!((listed("id"), listed("state")), (vec!["1".into(), "2".into()], vec!["\"ended\"".into(); 2]));
    let by_socket = shared.json(&["--store", &server.socket(), "list"]);
    assert_eq!(by_socket, list);
    // The calibration is found by who measures next, on any host's file.
    let other = on(TRY);
    assert!(other.err.contains("from calibration 2"), "{}", other.err);
}

#[test]
fn a_resumed_experiment_is_one_and_what_it_superseded_is_kept() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let url = server.url();
    let on = |words: &str| desk.run(&split(&format!("--store {url} {words}"))).ended(0);
    on(TRY);
    let before: usize = server.asked("SELECT count(*) FROM powerband.event").parse().unwrap();
    on("resume last --blocks 6");
    let count =
        |table: &str| server.asked(&format!("SELECT count(*) FROM powerband.{table}")).parse::<usize>().unwrap();
    assert_eq!(count("experiment"), 1);
    assert!(count("event") > before, "{} events before, {} after", before, count("event"));
    assert!(count("superseded") > 0, "its first end");
    // The local file and the database agree, and nothing is delivered again.
    let pushed = on("--json store push").value();
    assert_eq!((&pushed["events"], &pushed["complete"]), (&0.into(), &1.into()), "{pushed}");
    // A state folder that has nothing of it gets it from the database.
    let other = Desk::new();
    other.run(&split(&format!("--store {url} resume 1 --blocks 8"))).ended(0);
    assert_eq!(on("--json show 1").report().blocks, 8);
    // And the first one, whose file is behind now, goes on from there.
    on("resume 1 --blocks 9");
    assert_eq!(on("--json show 1").report().blocks, 9);
    assert_eq!(count("experiment"), 1);
}

#[test]
fn stores_are_copied_without_loss_both_ways() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let path = |name: &str| desk.beside(name).to_str().unwrap().to_owned();
    let (first, back, url) = (path("first.sqlite"), path("back.sqlite"), server.url());
    for words in [TRY, TRY, TRY, CALIBRATE, "resume 2 --blocks 6"] {
        desk.run(&split(&format!("--store {first} {words}"))).ended(0);
    }
    let migrate = |from: &str, to: &str| desk.run(&["--json", "store", "migrate", from, to]).ended(0).value();
    let there = migrate(&first, &url);
    assert_eq!(there["experiments"], 4, "{there}");
    assert!(!there.to_string().contains(SECRET), "{there}");
    assert_eq!(migrate(&url, &back)["events"], there["events"]);
    // Both again: nothing is doubled.
    for (from, to) in [(&first, &url), (&url, &back)] {
        let again = migrate(from, to);
        assert_eq!((&again["events"], &again["experiments"]), (&0.into(), &0.into()), "{again}");
        assert_eq!((&again["already"], &again["complete"]), (&there["events"], &4.into()), "{again}");
    }
    for id in ["1", "2", "3", "4"] {
        let exported = |store: &str| desk.run(&["--store", store, "export", id, "--journal"]).ended(0).out;
        assert_eq!(exported(&first), exported(&url), "experiment {id}");
        assert_eq!(exported(&first), exported(&back), "experiment {id}");
    }
    assert_eq!(dump(&first), dump(&back));
    let list = |store: &str| desk.run(&["--store", store, "--json", "list"]).ended(0).out;
    assert_eq!((list(&first), list(&first)), (list(&url), list(&back)));
}

/// Every row of every table of a file.
fn dump(path: &str) -> Vec<String> {
    let db = rusqlite::Connection::open(path).unwrap();
    let mut rows = Vec::new();
    for table in split("experiment event superseded calibration verdict level trial metric_value setting") {
        let mut query = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = query.column_count();
        let row = |row: &rusqlite::Row| {
            Ok((0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap())).collect::<Vec<_>>().join(" "))
        };
        let mut found: Vec<String> = query.query_map([], row).unwrap().map(Result::unwrap).collect();
        found.sort();
        assert!(!found.is_empty(), "{table}");
        rows.extend(found);
    }
    rows
}
