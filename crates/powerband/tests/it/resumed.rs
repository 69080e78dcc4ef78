//! `resume`: killed, stopped or out of space, an experiment goes on where it was, loses nothing and repeats nothing; what
//! is not the same experiment on the same rig any more is refused.
use std::fs;

use powerband_record::{CloseReason, Event};
use rusqlite::Connection;
use rustix::process::Signal;

use crate::desk::{Desk, Ran, Started, text, until};

/// A long experiment on a simulated machine: a margin nothing fits into.
const LONG: [&str; 9] = ["run", "plans/router.toml", "--seed", "7", "--margin", "0.5%", "--blocks", "60", "--quiet"];

/// The store of a desk, for what no command does.
fn store(desk: &Desk) -> Connection {
    Connection::open(desk.state().join("powerband.sqlite")).unwrap()
}

/// Finished trials of the latest experiment; none before there is a store.
fn finished(desk: &Desk) -> usize {
    let Ok(store) =
        Connection::open_with_flags(desk.state().join("powerband.sqlite"), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
    else {
        return 0;
    };
    let sql = "SELECT count(*) FROM trial WHERE state <> 'running' AND experiment = (SELECT max(id) FROM experiment)";
    let count = store.query_row(sql, [], |row| row.get::<_, i64>(0));
    count.map_or(0, |count| usize::try_from(count).unwrap())
}

/// Starts it and sends a signal once `trials` are finished; false when it was faster.
fn interrupt(desk: &Desk, words: &[&str], trials: usize, signal: Signal) -> bool {
    stop(desk, desk.start(words), trials, signal)
}

/// As [`interrupt`], of what is running.
fn stop(desk: &Desk, running: Started, trials: usize, signal: Signal) -> bool {
    let mut ended = false;
    until("enough trials are finished", || {
        ended = !fs::exists(format!("/proc/{}/exe", running.pid())).unwrap() || state(desk).as_deref() == Some("ended");
        ended || finished(desk) >= trials
    });
    if !ended {
        running.signal(signal);
    }
    running.end();
    // It may have been faster than the signal.
    state(desk).as_deref() != Some("ended")
}

fn state(desk: &Desk) -> Option<String> {
    let store = Connection::open(desk.state().join("powerband.sqlite")).ok()?;
    store.query_row("SELECT state FROM experiment ORDER BY id DESC LIMIT 1", [], |row| row.get(0)).ok()
}

/// What `list` says of the latest experiment.
fn listed(desk: &Desk) -> String {
    let list = desk.json(&["list"]);
    list["experiments"].as_array().unwrap().last().unwrap()["state"].as_str().unwrap().to_owned()
}

fn events(desk: &Desk) -> Vec<Event> {
    desk.journal().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn killed_at_every_tenth_trial_a_simulated_experiment_gives_the_same_bytes() {
    let whole = {
        let desk = Desk::new();
        desk.run(&LONG).ended(0);
        desk.journal()
    };
    let desk = Desk::new();
    let mut kills = 0;
    let mut words: &[&str] = &LONG;
    let mut before = 0;
    while interrupt(&desk, words, before + 10, Signal::KILL) {
        kills += 1;
        assert_eq!(listed(&desk), "interrupted");
        let stands = finished(&desk);
        assert!(stands >= before, "finished trials were lost");
        before = stands;
        words = &["resume", "--quiet"];
    }
    assert!(kills >= 3, "{kills} kills");
    assert_eq!(desk.journal(), whole);
    let report = desk.report(&["show"]);
    assert_eq!(report.header.map(|header| header.resumed.len()), Some(kills));
    assert_eq!(desk.experiments(), 1);
}

#[test]
fn stopped_by_ctrl_c_it_says_how_to_go_on_and_gives_the_same_bytes() {
    let (whole, desk) = (Desk::new(), Desk::new());
    whole.run(&LONG).ended(0);
    let running = desk.start(&LONG);
    until("a few trials are finished", || finished(&desk) >= 7);
    running.signal(Signal::INT);
    let told = running.end().ended(130).out;
    assert!(told.ends_with("\nresume it:\npowerband resume 1\n"), "{told}");
    assert_eq!(listed(&desk), "stopped");
    desk.run(&["resume", "1"]).ended(0);
    assert_eq!(desk.journal(), whole.journal());
}

#[test]
fn a_seed_behind_the_name_and_narrowed_cpus_are_gone_on_with() {
    let words =
        ["--machine", "sim:quadcore#5", "-c", "1", "run", "plans/counter.toml", "--blocks", "40", "--margin", "0.1%"];
    let (whole, desk) = (Desk::new(), Desk::new());
    whole.run(&words).ended(0);
    assert!(interrupt(&desk, &words, 5, Signal::KILL));
    desk.run(&["resume"]).ended(0);
    assert_eq!(desk.journal(), whole.journal());
}

#[test]
fn a_machine_file_is_found_from_wherever_it_is_gone_on_with() {
    let desk = Desk::new();
    let file = desk.beside("mine.toml");
    fs::copy(crate::desk::workspace().join("machines/sim/quadcore.toml"), &file).unwrap();
    let words = ["--machine", "sim:mine.toml", "try", "governor=powersave,performance", "--load", "counter"];
    let words = [&words[..], &["--blocks", "60", "--margin", "0.1%", "--quiet"]].concat();
    let folder = file.parent().unwrap();
    let mut command = desk.command(&words);
    let mut child = command.current_dir(folder).spawn().unwrap();
    until("a few trials are finished", || finished(&desk) >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    desk.run(&["resume"]).ended(0);
    let lines = desk.journal();
    let whole = Desk::new();
    Ran::of(&whole.command(&words).current_dir(folder).output().unwrap()).ended(0);
    assert_eq!(lines, whole.journal());
}

/// An experiment on this machine that hangs in its `hang`th trial: a file is turned, and the load writes down what it
/// finds there.
fn hanging(desk: &Desk, hang: usize) -> crate::desk::Started {
    fs::write(desk.beside("knob"), "0").unwrap();
    let script = format!(
        "cat {0}/knob >> {0}/log; if [ ! -e {0}/quick ] && [ $(wc -l < {0}/log) -eq {hang} ]; then : > {0}/hung; sleep 300; fi",
        desk.beside("").display().to_string().trim_end_matches('/')
    );
    let setting = format!("b:{}=1", desk.knob("knob"));
    let words =
        ["try", "-s", "a:", "-s", &setting, "--settle", "0", "--blocks", "5", "--warmup", "2", "--margin", "0.0001%"];
    // Nothing is to be decided by chance before the last block.
    let words = [&words[..], &["--alpha", "0.001%"]].concat();
    fs::write(desk.beside("knob"), "0\n").unwrap();
    // Each trial is told by its one run.
    let load = ["--quiet", "--repeat", "1", "--", "sh", "-c", &script];
    let running = desk.start(&[&words[..], &load].concat());
    until("the load hangs", || fs::exists(desk.beside("hung")).unwrap());
    running
}

/// What the load should have found in each trial, by the journal.
fn found(events: &[Event]) -> Vec<u32> {
    events.iter().filter_map(|event| if let Event::TrialStarted(t) = event { Some(t.setting) } else { None }).collect()
}

#[test]
fn on_this_machine_each_finished_trial_runs_once_and_the_interrupted_one_again() {
    for (hang, signal, left) in
        [(1, Signal::KILL, "interrupted"), (6, Signal::KILL, "interrupted"), (4, Signal::INT, "stopped")]
    {
        let desk = Desk::new();
        let running = hanging(&desk, hang);
        let refused = desk.run(&["resume"]).refused(8);
        assert!(refused.contains(&format!("powerband {} still runs it", running.pid())), "{refused}");
        assert_eq!(listed(&desk), "running");
        running.signal(signal);
        running.end();
        assert_eq!(listed(&desk), left);
        let shown = desk.run(&["show"]).ended(0).out;
        assert!(shown.to_lowercase().contains(&format!("\n{left} ")), "{shown}");
        assert!(shown.ends_with("\nresume it:\npowerband resume 1\n"), "{shown}");
        assert_eq!(desk.run(&["list"]).ended(0).out.contains("`powerband resume 1`"), left == "interrupted");
        let cut = desk.journal();
        fs::write(desk.beside("quick"), "").unwrap();
        let report = desk.report(&["resume"]);
        assert_eq!((report.reason, report.blocks, report.voids.len()), (Some(CloseReason::Blocks), 5, 0));
        assert_eq!(text(&desk.beside("knob")), "0\n");
        assert_eq!(desk.turned(), 0);
        let lines = desk.journal();
        let stands = cut.iter().rposition(|line| line.contains("\"trial_started\"")).unwrap();
        assert_eq!(lines[..stands], cut[..stands], "nothing finished was touched");
        let events = events(&desk);
        let mut expected = found(&events);
        assert_eq!(expected.len(), usize::try_from(report.trials + report.warmups).unwrap());
        expected.insert(hang, expected[hang - 1]);
        let log = text(&desk.beside("log"));
        let ran: Vec<u32> = log.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(ran, expected, "each trial once, the interrupted one twice");
        let refused = desk.run(&["resume"]).refused(2);
        assert!(refused.contains("it has ended: the most blocks were run"), "{refused}");
    }
}

/// A killed experiment on this machine, with its load no longer hanging.
fn killed() -> Desk {
    let desk = Desk::new();
    let running = hanging(&desk, 4);
    running.signal(Signal::KILL);
    running.end();
    fs::write(desk.beside("quick"), "").unwrap();
    desk
}

/// Changes a value in a header or in the first event behind the store's back.
fn change(desk: &Desk, column: &str, path: &str, to: &str) {
    let store = store(desk);
    let sql = match column {
        "header" => "UPDATE experiment SET header = json_set(header, ?1, json(?2))",
        _ => "DROP TRIGGER event_is_never_changed; UPDATE event SET json = json_set(json, ?1, json(?2)) WHERE seq = 0",
    };
    for sql in sql.split("; ") {
        let parameters: &[&dyn rusqlite::ToSql] = if sql.contains('?') { &[&path, &to] } else { &[] };
        store.execute(sql, parameters).unwrap();
    }
}

#[test]
fn what_was_begun_otherwise_or_elsewhere_is_refused() {
    for (column, path, to, told) in [
        ("header", "$.powerband", "\"9.9.9\"", "it was begun with powerband 9.9.9, this is "),
        ("header", "$.journal_version", "7", "its journal has version 7"),
        ("header", "$.host", "\"elsewhere\"", "it was begun on elsewhere, this is "),
        ("header", "$.folder", "\"/no/such/folder\"", "/no/such/folder, cannot be entered"),
        ("event", "$.user", "4711", "its load ran as the user 4711 and would now run as the user "),
        ("event", "$.system", "\"9.9.9\"", "what runs on the machine was 9.9.9 when it was begun and is "),
    ] {
        let desk = killed();
        change(&desk, column, path, to);
        let before = desk.journal();
        // By another user the same words go on.
        let refused = desk.run(&["resume"]).refused(if path == "$.user" { 2 } else { 8 });
        assert!(refused.starts_with("experiment 1 cannot go on: ") && refused.contains(told), "{refused}");
        assert_eq!(desk.journal(), before, "nothing was touched");
    }
}

#[test]
fn options_that_would_change_it_are_refused() {
    let desk = killed();
    for option in [["--seed", "3"], ["--far", "sim:pc"], ["--cpus", "0"], ["--machine", "sim:pc"]] {
        let refused = desk.run(&[&option[..], &["resume"]].concat()).refused(2);
        assert!(refused.contains(option[0]), "{refused}");
    }
    desk.run(&["--machine", "local", "resume"]).ended(0);
}

#[test]
fn a_drawn_seed_is_kept_by_what_goes_on() {
    let desk = Desk::new();
    let mut begin = desk.command(&["run", "plans/router.toml", "--margin", "0.5%", "--blocks", "60", "--quiet"]);
    begin.env_remove("POWERBAND_SEED");
    assert!(stop(&desk, Started::of(&mut begin), 4, Signal::KILL));
    // The environment's seed, 1, is not the experiment's.
    desk.run(&["resume", "--quiet"]).ended(0);
}

#[test]
fn an_undecided_experiment_is_extended_and_goes_on_as_one_planned_that_long() {
    let blocks = |blocks: &'static str| [&LONG[..7], &[blocks, "--quiet"]].concat();
    let desk = Desk::new();
    desk.run(&blocks("6")).ended(0);
    let begun = desk.journal();
    let refused = desk.run(&["resume"]).refused(2);
    assert!(refused.contains("the most blocks were run; add e.g. --blocks 12 to extend it"), "{refused}");
    let refused = desk.run(&["resume", "--blocks", "5"]).refused(2);
    assert!(refused.contains("its limit is 6 blocks already"), "{refused}");
    assert_eq!(desk.journal(), begun);
    // Interrupted, it goes on to where it was extended to; it may be faster than the signal.
    let enough = finished(&desk) + 4;
    let running = desk.start(&["resume", "--blocks", "60", "--quiet"]);
    until("four more trials", || finished(&desk) >= enough);
    running.signal(Signal::KILL);
    running.end();
    let verb = if listed(&desk) == "interrupted" { "resume" } else { "show" };
    let report = desk.report(&[verb]);
    assert_eq!((report.blocks, report.max_blocks), (60, 60));
    let whole = Desk::new();
    whole.run(&blocks("60")).ended(0);
    let (extended, whole) = (desk.journal(), whole.journal());
    assert_eq!(extended[0], begun[0], "how it was begun stays");
    assert_eq!(extended[1..], whole[1..]);
    let refused = desk.run(&["resume", "last", "--blocks", "40"]).refused(2);
    assert!(refused.contains("its limit is 60 blocks already; give more, e.g. --blocks 120"), "{refused}");
}

#[test]
fn after_a_reboot_the_process_that_has_the_old_number_is_somebody_else() {
    let desk = killed();
    let owner = serde_json::to_string(&powerband_host::this_process()).unwrap();
    change(&desk, "header", "$.owner", &owner);
    let refused = desk.run(&["resume"]).refused(8);
    assert!(refused.contains(&format!("powerband {} still runs it", std::process::id())), "{refused}");
    change(&desk, "header", "$.owner.boot_id", "\"the boot before\"");
    assert_eq!(listed(&desk), "interrupted");
    desk.run(&["resume"]).ended(0);
    assert_eq!(text(&desk.beside("knob")), "0\n");
}

#[test]
fn a_plan_that_says_something_else_by_now_is_refused_unless_it_goes_on_as_begun() {
    let desk = Desk::new();
    let plan = desk.beside("plan.toml");
    let path = plan.display().to_string();
    let router = text(&crate::desk::workspace().join("plans/router.toml"));
    fs::write(&plan, &router).unwrap();
    let words = ["run", &path, "--seed", "7", "--margin", "0.5%", "--blocks", "60", "--quiet"];
    assert!(interrupt(&desk, &words, 4, Signal::KILL));
    for (from, to, told) in [
        ("500MHz: governor=userspace freq=500MHz", "400MHz: governor=userspace freq=500MHz", "setting 4 was '500MHz: "),
        ("for = \"10s\"", "for = \"11s\"", "the load was "),
        ("far = \"sim:pc\"", "far = \"sim:quadcore\"", "with peer sim:pc and is "),
        ("reference = ", "refrence = ", "unknown key"),
    ] {
        fs::write(&plan, router.replace(from, to)).unwrap();
        let refused = desk.run(&["resume"]).refused(2);
        assert!(refused.contains(told) && refused.contains("`powerband resume 1 --as-begun`"), "{refused}");
    }
    assert_eq!(listed(&desk), "interrupted");
    // A margin in the file is without effect, as the words it was begun with have another.
    fs::write(&plan, router.replace("margin = \"5%\"", "margin = \"7%\"")).unwrap();
    assert!(interrupt(&desk, &["resume", "--quiet"], finished(&desk) + 4, Signal::KILL));
    fs::write(&plan, "garbage").unwrap();
    desk.run(&["resume", "--as-begun"]).ended(0);
    let whole = Desk::new();
    fs::write(&plan, &router).unwrap();
    whole.run(&words).ended(0);
    assert_eq!(desk.journal(), whole.journal());
}

#[test]
fn a_trial_that_was_changed_does_not_come_out_again() {
    let desk = Desk::new();
    assert!(interrupt(&desk, &LONG, 8, Signal::KILL));
    let store = store(&desk);
    store.execute("DROP TRIGGER event_is_never_changed", []).unwrap();
    let sql = "UPDATE event SET json = json_set(json, '$.outcome.metrics.rate_mbit_s', 77.5)
               WHERE json_extract(json, '$.event') = 'trial_done' AND json_extract(json, '$.trial') = 5";
    assert_eq!(store.execute(sql, []).unwrap(), 1);
    let refused = desk.run(&["resume"]).refused(8);
    assert!(refused.contains("trial 5 (block 1, ") && refused.contains("it was rate_mbit_s 77.5, "), "{refused}");
    let stands = desk.journal();
    desk.run(&["resume"]).refused(8);
    assert_eq!(desk.journal(), stands, "nothing is ever added");
}

#[test]
fn a_disk_that_was_full_is_gone_on_from() {
    let (whole, desk) = (Desk::new(), Desk::new());
    whole.run(&LONG).ended(0);
    // No file may grow beyond 300 KB: the store cannot take everything.
    let binary = env!("CARGO_BIN_EXE_powerband");
    let mut command = std::process::Command::new("sh");
    desk.furnish(&mut command);
    command.args(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$@\"", "sh", binary]).args(LONG);
    let refused = Ran::of(&command.output().unwrap()).refused(8);
    assert!(refused.ends_with("; `powerband resume 1` goes on"), "{refused}");
    let kept = finished(&desk);
    assert!(kept > 3, "{kept} trials were kept");
    desk.run(&["resume"]).ended(0);
    assert_eq!(desk.journal(), whole.journal());
}

#[test]
fn of_two_that_go_on_at_once_one_is_refused() {
    let desk = Desk::new();
    assert!(interrupt(&desk, &LONG, 4, Signal::KILL));
    let both = [desk.start(&["resume", "--quiet"]), desk.start(&["resume", "--quiet"])];
    let mut codes: Vec<_> = both.map(|running| running.end().code).into();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(8)]);
    let whole = Desk::new();
    whole.run(&LONG).ended(0);
    assert_eq!(desk.journal(), whole.journal());
}
