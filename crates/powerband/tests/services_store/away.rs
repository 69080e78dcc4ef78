//! A database that cannot be reached, is restarted, crashes or is cut off: nothing is lost, nothing doubled.
use std::collections::BTreeSet;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::desk::{Desk, Started, split, until};
use crate::server::{SECRET, Server};

/// An experiment of many short trials on this machine, which nothing decides.
fn begin(desk: &Desk, url: &str, password: &str, blocks: u32) -> Started {
    let words = format!("--store {url} try -s a: -s b: --settle 0 --warmup 0 --margin 0.0001% --blocks {blocks}");
    let mut command = desk.command(&split(&format!("{words} -- sleep 0.2")));
    Started::of(command.env("PGPASSWORD", password))
}

/// The host's own file.
fn journal(desk: &Desk) -> PathBuf {
    let paths = std::fs::read_dir(desk.state()).unwrap().map(|entry| entry.unwrap().path());
    let is_journal = |path: &PathBuf| {
        path.to_string_lossy().contains("journal-") && path.extension().is_some_and(|it| it == "sqlite")
    };
    let found: Vec<PathBuf> = paths.filter(is_journal).collect();
    let [journal] = found.as_slice() else { panic!("{found:?}") };
    journal.clone()
}

/// Trials that the host's own file has.
fn measured(desk: &Desk) -> i64 {
    let db = rusqlite::Connection::open(journal(desk)).unwrap();
    let count = "SELECT count(*) FROM event WHERE json LIKE '%\"trial_done\"%'";
    db.query_row(count, [], |row| row.get(0)).unwrap()
}

/// Waits until so many more trials are in the host's own file.
fn until_measured(desk: &Desk, more: i64) {
    let before = measured(desk);
    until("it goes on measuring", || measured(desk) >= before + more);
}

/// The database has what the host's own file has.
fn complete(desk: &Desk, url: &str, experiment: &str) {
    let events = |store: &str, id: &str| {
        let text = desk.run(&["--store", store, "export", id, "--journal"]).ended(0).out;
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let ours = events(journal(desk).to_str().unwrap(), "1");
    assert_eq!(events(url, experiment), ours);
    let done: Vec<&String> = ours.iter().filter(|line| line.contains("\"trial_done\"")).collect();
    assert_eq!(done.iter().collect::<BTreeSet<_>>().len(), done.len(), "each trial once");
    assert!(done.len() > 4 && ours.last().is_some_and(|line| line.contains("\"closed\"")), "{} trials", done.len());
}

/// Two experiments at once: one goes through everything; the other is killed while the database is away.
#[test]
fn restarted_crashed_and_cut_off_in_mid_run_it_has_everything_in_the_end() {
    let Some(mut server) = Server::new() else { return };
    let (desk, killed, url) = (Desk::new(), Desk::new(), server.url());
    let running = begin(&desk, &url, SECRET, 100_000);
    until("some is delivered", || server.delivered() > 10);
    let other = begin(&killed, &url, SECRET, 30);
    let of_second = || server.sql("SELECT count(*) FROM powerband.event WHERE experiment = 2");
    until("some of both is delivered", || of_second().is_some_and(|count| count.len() > 1));
    server.stop();
    // Trials that only the local file has.
    until_measured(&killed, 8);
    other.signal(Signal::KILL);
    drop(other);
    server.start();
    server.until_delivered();
    server.crash();
    until_measured(&desk, 1);
    server.start();
    server.until_delivered();
    server.freeze();
    until("two deliveries are given up", || server.given_up() > 1);
    until_measured(&desk, 1);
    server.thaw();
    server.until_delivered();
    running.signal(Signal::INT);
    let ran = running.end().ended(130);
    assert!(!ran.err.contains("note:"), "all is delivered, which needs no word: {}", ran.err);
    complete(&desk, &url, "1");

    let events = "SELECT count(*) FROM powerband.event WHERE experiment = 2";
    let before: usize = server.asked(events).parse().unwrap();
    let on = |words: &str| killed.run(&split(&format!("--store {url} {words}"))).ended(0);
    on("store push");
    assert!(server.asked(events).parse::<usize>().unwrap() > before, "{before} events before");
    let list = on("--json list").value();
    let interrupted = |it: &serde_json::Value| it["id"] == 2 && it["state"] == "interrupted";
    assert!(list["experiments"].as_array().unwrap().iter().any(interrupted), "{list}");
    on("resume 2");
    complete(&killed, &url, "2");
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), "2");
}

#[test]
fn without_a_database_the_experiment_goes_on_and_is_delivered_later() {
    let Some(mut server) = Server::new() else { return };
    let desk = Desk::new();
    server.stop();
    let url = server.url();
    let on = |words: &str| desk.run(&split(&format!("--store {url} {words}")));
    let sentence = on("list").refused(8);
    assert!(sentence.contains(&server.shown()) && !sentence.contains(SECRET), "{sentence}");
    let ran = on("--machine sim:quadcore try governor=performance,powersave --load counter --for 10s").ended(0);
    let notes = ran.err.lines().filter(|line| line.contains(&server.shown())).count();
    assert_eq!(notes, 2, "one note at the start, one at the end: {}", ran.err);
    assert!(!ran.err.contains(SECRET), "{}", ran.err);
    assert!(!on("store push").refused(8).contains(SECRET));
    server.start();
    let push = || on("--json store push").ended(0).value();
    let first = push();
    assert_eq!((&first["experiments"], &first["already"]), (&1.into(), &0.into()), "{first}");
    let again = push();
    assert_eq!((&again["events"], &again["already"]), (&0.into(), &first["events"]), "{again}");
    assert_eq!(first["events"], server.delivered());
    assert_eq!(on("--json show").ended(0).report().state, "ended");
}

#[test]
fn what_measured_nothing_is_not_kept() {
    let Some(server) = Server::new() else { return };
    Desk::new().run(&["--store", &server.url(), "try", "exit 3", "exit 4", "--settle", "0"]).ended(7);
    for table in ["experiment", "event"] {
        assert_eq!(server.asked(&format!("SELECT count(*) FROM powerband.{table}")), "0");
    }
}

#[test]
fn no_process_shows_the_password() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let running = begin(&desk, &server.shown(), SECRET, 1000);
    until("some is delivered", || server.delivered() > 10);
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&words).into_owned();
        assert!(!text.contains(SECRET) || text.contains("psql"), "{text}");
    }
    running.signal(Signal::INT);
    running.end().ended(130);
    assert_eq!(server.asked("SELECT state FROM powerband.experiment"), "stopped");
}
