//! A database that cannot be reached, is restarted, crashes or is cut off: nothing is lost, nothing doubled.
use std::collections::BTreeSet;
use std::time::Duration;

use crate::desk::{Desk, Started, until};
use crate::server::{SECRET, Server};

/// An experiment of many short trials on this machine, which nothing decides.
fn begin(desk: &Desk, server: &Server, blocks: &str) -> Started {
    let url = server.url("postgres");
    let store = ["--store", &url];
    desk.start(&[&store[..], &LONG, &["--blocks", blocks, "--", "sleep", "0.2"]].concat())
}

const LONG: [&str; 11] = ["try", "-s", "a:", "-s", "b:", "--settle", "0", "--warmup", "0", "--margin", "0.0001%"];

fn delivered(server: &Server) -> usize {
    server.sql("SELECT count(*) FROM powerband.event").and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The database has what the host's own file has.
fn complete(desk: &Desk, server: &Server) {
    let journal = std::fs::read_dir(desk.state()).unwrap().map(|entry| entry.unwrap().path());
    let journal = journal.filter(|path| path.to_string_lossy().contains("journal-"));
    let journal = journal.filter(|path| path.extension().is_some_and(|it| it == "sqlite")).collect::<Vec<_>>();
    let [journal] = journal.as_slice() else { panic!("{journal:?}") };
    let events = |store: &str| {
        let text = desk.run(&["--store", store, "export", "1", "--journal"]).ended(0).out;
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let ours = events(journal.to_str().unwrap());
    assert_eq!(events(&server.url("postgres")), ours);
    let done: Vec<&String> = ours.iter().filter(|line| line.contains("\"trial_done\"")).collect();
    assert_eq!(done.iter().collect::<BTreeSet<_>>().len(), done.len(), "each trial once");
    assert!(done.len() > 4 && ours.last().is_some_and(|line| line.contains("\"closed\"")), "{} trials", done.len());
    assert_eq!(server.asked("SELECT count(*) FROM powerband.experiment"), "1");
}

#[test]
fn restarted_and_crashed_in_mid_run_it_has_everything_in_the_end() {
    let Some(mut server) = Server::new() else { return };
    let desk = Desk::new();
    let running = begin(&desk, &server, "1000");
    until("some is delivered", || delivered(&server) > 10);
    server.stop();
    std::thread::sleep(Duration::from_secs(2));
    server.start();
    let before = delivered(&server);
    until("it is delivered again", || delivered(&server) > before);
    server.crash();
    std::thread::sleep(Duration::from_secs(1));
    server.start();
    let before = delivered(&server);
    until("it is delivered again", || delivered(&server) > before);
    running.signal(rustix::process::Signal::INT);
    let ran = running.end().ended(130);
    assert!(!ran.err.contains("note:"), "all is delivered, which needs no word: {}", ran.err);
    complete(&desk, &server);
}

#[test]
fn cut_off_for_seconds_in_mid_run_it_has_everything_in_the_end() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let running = begin(&desk, &server, "1000");
    until("some is delivered", || delivered(&server) > 10);
    server.freeze();
    // Longer than anything waits for an answer.
    std::thread::sleep(Duration::from_secs(20));
    server.thaw();
    let before = delivered(&server);
    until("it is delivered again", || delivered(&server) > before);
    running.signal(rustix::process::Signal::INT);
    running.end().ended(130);
    complete(&desk, &server);
}

#[test]
fn without_a_database_the_experiment_goes_on_and_is_delivered_later() {
    let Some(mut server) = Server::new() else { return };
    let desk = Desk::new();
    server.stop();
    let url = server.url("postgres");
    let sentence = desk.run(&["--store", &url, "list"]).refused(8);
    assert!(sentence.contains(&server.shown()) && sentence.contains("cannot be reached"), "{sentence}");
    assert!(!sentence.contains(SECRET), "{sentence}");
    let words =
        ["--machine", "sim:quadcore", "try", "governor=performance,powersave", "--load", "counter", "--for", "10s"];
    let ran = desk.run(&[&["--store", url.as_str()], &words[..]].concat()).ended(0);
    let notes: Vec<&str> = ran.err.lines().filter(|line| line.contains(&server.shown())).collect();
    let [first, last] = notes.as_slice() else { panic!("one note at the start, one at the end: {}", ran.err) };
    assert!(first.contains("is written to") && last.contains("`powerband store push`"), "{}", ran.err);
    assert!(!ran.err.contains(SECRET), "{}", ran.err);
    assert!(!desk.run(&["--store", &url, "store", "push"]).refused(8).contains(SECRET));
    server.start();
    let push = || desk.run(&["--json", "--store", &url, "store", "push"]).ended(0).value();
    let first = push();
    assert_eq!((&first["experiments"], &first["already"]), (&1.into(), &0.into()), "{first}");
    let again = push();
    assert_eq!((&again["events"], &again["already"]), (&0.into(), &first["events"]), "{again}");
    assert_eq!(delivered(&server), usize::try_from(first["events"].as_u64().unwrap()).unwrap());
    assert_eq!(desk.run(&["--store", &url, "--json", "show"]).ended(0).report().state, "ended");
}

#[test]
fn a_killed_experiment_is_delivered_as_far_as_it_came_and_goes_on() {
    let Some(mut server) = Server::new() else { return };
    let desk = Desk::new();
    let running = begin(&desk, &server, "30");
    until("some is delivered", || delivered(&server) > 10);
    server.stop();
    // Trials that only the local file has.
    std::thread::sleep(Duration::from_secs(3));
    running.signal(rustix::process::Signal::KILL);
    drop(running);
    server.start();
    let before = delivered(&server);
    let url = server.url("postgres");
    desk.run(&["--store", &url, "store", "push"]).ended(0);
    assert!(delivered(&server) > before, "{before} events before");
    let list = desk.run(&["--store", &url, "--json", "list"]).ended(0).value();
    assert_eq!(list["experiments"][0]["state"], "interrupted");
    desk.run(&["--store", &url, "resume", "1"]).ended(0);
    complete(&desk, &server);
}

#[test]
fn what_measured_nothing_is_not_kept() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    desk.run(&["--store", &server.url("postgres"), "try", "exit 3", "exit 4", "--settle", "0"]).ended(7);
    for table in ["experiment", "event"] {
        assert_eq!(server.asked(&format!("SELECT count(*) FROM powerband.{table}")), "0");
    }
}

#[test]
fn no_process_shows_the_password() {
    let Some(server) = Server::new() else { return };
    let desk = Desk::new();
    let mut command = desk.command(&[&["--store", &server.shown()], &LONG[..], &["--", "sleep", "0.2"]].concat());
    let running = Started::of(command.env("PGPASSWORD", SECRET));
    until("some is delivered", || delivered(&server) > 10);
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&words).into_owned();
        assert!(!text.contains(SECRET) || text.contains("psql"), "{text}");
    }
    running.signal(rustix::process::Signal::INT);
    running.end().ended(130);
    assert_eq!(server.asked("SELECT state FROM powerband.experiment"), "stopped");
}
