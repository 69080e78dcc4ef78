//! What is told: lists, knobs, machines, help, completions, the manual. Sane, versioned, and content with a closed pipe.
use serde_json::Value;

use crate::desk::{Desk, text, workspace};

const VERBS: &str = "info get why knobs doctor capture watch set confirm undo guard check unkeep keep with pace try tune calibrate run \
    resume list show compare report export replicate sim service agent completions man";

#[test]
fn completions_and_the_manual_know_every_verb() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let text = desk.run(&["completions", shell]).ended(0).out;
        for verb in VERBS.split(' ') {
            assert!(text.contains(verb), "{shell}: {verb}");
        }
    }
    let manual = desk.run(&["man"]).ended(0).out;
    assert!(manual.contains(".TH powerband 1") && manual.contains(".SH EXIT STATUS"), "{manual}");
    let folder = desk.beside("man1");
    desk.run(&["man", "--dir", folder.to_str().unwrap()]).ended(0);
    for verb in VERBS.split(' ') {
        assert!(manual.contains(&format!("powerband\\-{verb}")), "{verb} is not in the overview");
        let page = desk.run(&["man", verb]).ended(0).out;
        assert!(page.contains(&format!(".TH powerband-{verb} 1")) && page.is_ascii(), "{page}");
        for part in [".SH SYNOPSIS", ".SH EXAMPLES", ".SH MACHINE", "\\-\\-json"] {
            assert!(page.contains(part), "{verb}: {part}\n{page}");
        }
        assert_eq!(text(&folder.join(format!("powerband-{verb}.1"))), page);
    }
    assert_eq!(text(&folder.join("powerband.1")), manual);
    assert!(folder.join("powerband-sim-mount.1").exists());
    assert!(desk.run(&["man", "tyr"]).refused(2).contains("try"));
}

#[test]
fn every_example_on_a_simulated_machine_runs() {
    let desk = Desk::new();
    let mut ran = 0;
    for verb in VERBS.split(' ') {
        let help = desk.run(&[verb, "--help"]).ended(0).out;
        let examples = help.split("Examples:").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
        // What is typed is indented by four; a long line goes on in the next.
        let mut typed: Vec<String> = Vec::new();
        for line in examples.lines() {
            match line.strip_prefix("    ") {
                Some(line) if line.starts_with("powerband ") => typed.push(line.to_owned()),
                Some(more) => typed.last_mut().unwrap().extend([" ", more]),
                None => {}
            }
        }
        let simulated = typed.iter().filter(|typed| typed.contains("--machine sim:"));
        for words in simulated.map(|typed| typed.split(' ').skip(1).collect::<Vec<&str>>()) {
            desk.run(&words).ended(0);
            ran += 1;
        }
    }
    assert!(ran >= 3, "{ran}");
}

/// Words of our own that say no more than the usual ones (docs/glossary.md).
const PRIVATE: [&str; 7] = ["told", "whoever", "beside", "stands", "the machine as found", "far end", "put back"];

/// Where a text holds a private word, as a word.
fn private_words(text: &str) -> Vec<String> {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let holds = |line: &str, word: &str| {
        line.match_indices(word)
            .any(|(at, _)| !letter(line[..at].chars().next_back()) && !letter(line[at + word.len()..].chars().next()))
    };
    let lines = text.lines().map(str::to_lowercase);
    lines.filter(|line| PRIVATE.iter().any(|word| holds(line, word))).collect()
}

/// A document without what commands print in it: that is held to be what is printed.
fn prose(document: &str) -> String {
    let mut output = None;
    let keeps = |line: &&str| {
        if line.starts_with("```") {
            output = if output.is_some() { None } else { Some(false) };
        } else if output.is_some() && line.starts_with("$ ") {
            output = Some(true);
        }
        output != Some(true) || line.starts_with("$ ")
    };
    document.lines().filter(keeps).map(|line| format!("{line}\n")).collect()
}

#[test]
fn help_and_documents_are_plain_english() {
    let desk = Desk::new();
    let mut found = private_words(&desk.run(&["--help"]).ended(0).out);
    for verb in VERBS.split(' ') {
        found.extend(private_words(&desk.run(&[verb, "--help"]).ended(0).out));
    }
    let mut folders = vec![workspace().join("docs")];
    let mut files = vec![workspace().join("README.md")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.extension().is_some_and(|extension| extension == "md") {
                true => files.push(path),
                false if path.is_dir() => folders.push(path),
                false => {}
            }
        }
    }
    assert!(files.len() > 30);
    // The glossary names them in order to replace them.
    for file in files.iter().filter(|file| !file.ends_with("glossary.md")) {
        found.extend(private_words(&prose(&text(file))).into_iter().map(|line| format!("{}: {line}", file.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn knobs_are_listed_and_explained() {
    let desk = Desk::new();
    let list = desk.json(&["knobs"]);
    assert_eq!(list["version"], 1);
    let knobs = list["knobs"].as_array().unwrap();
    assert!(knobs.len() > 10);
    let text = desk.run(&["knobs"]).ended(0).out;
    for knob in knobs {
        let name = knob["name"].as_str().unwrap();
        assert!(text.contains(name) || text.contains(knob["short"].as_str().unwrap()), "{name} is not listed");
        // The families are explained by one of their members.
        let member = match name {
            "file:" => "file:/tmp/x",
            "sysctl." => "sysctl.vm.swappiness",
            "module." => "module.msr",
            name => name,
        };
        let one = desk.run(&["knobs", member]).ended(0).out;
        assert!(one.contains(knob["summary"].as_str().unwrap().split_whitespace().next().unwrap()), "{one}");
        let about = desk.json(&["knobs", member]);
        assert_eq!(about["knob"]["name"], knob["name"]);
    }
}

#[test]
fn simulated_machines_are_listed_and_shown() {
    let desk = Desk::new();
    let list = desk.json(&["sim", "list"]);
    assert_eq!(list["version"], 1);
    let names: Vec<&str> =
        list["machines"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    for name in ["board", "laptop", "omap3530", "pc", "quadcore", "server", "smt"] {
        assert!(names.contains(&name), "{names:?}");
        assert!(desk.run(&["sim", "list"]).ended(0).out.contains(&format!("sim:{name}")));
        let shown = desk.run(&["sim", "show", name]).ended(0).out;
        let prefixed = format!("sim:{name}");
        assert_eq!(desk.run(&["sim", "show", &prefixed]).ended(0).out, shown);
        let described = desk.json(&["sim", "show", name]);
        assert_eq!(described["machine"]["name"], name);
        assert!(!described["machine"]["cannot"].as_array().unwrap().is_empty());
    }
}

#[test]
fn every_json_answer_has_a_version() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    let answers: [&[&str]; 12] = [
        &["info"],
        &["info", "turned"],
        &["info", "meters"],
        &["--machine", "sim:quadcore", "get", "governor"],
        &["knobs"],
        &["knobs", "governor"],
        &["--machine", "sim:quadcore", "set", "--dry-run", "governor=powersave"],
        &["undo", "--list"],
        &["list"],
        &["show"],
        &["sim", "list"],
        &["sim", "show", "pc"],
    ];
    for words in answers {
        assert_eq!(desk.json(words)["version"], 1, "{words:?}");
    }
}

#[test]
fn info_tells_the_machine() {
    let desk = Desk::new();
    let here = desk.json(&["info"]);
    assert_eq!((&here["version"], &here["machine"]), (&1.into(), &"local".into()));
    assert!(here["cpu"]["online"].as_str().is_some_and(|cpus| !cpus.is_empty()));
    assert!(here["meters"].is_object());
    assert_eq!(here["turned"], Value::Array(Vec::new()));
    let quad = desk.json(&["--machine", "sim:quadcore", "info"]);
    assert_eq!(quad["cpu"]["policies"].as_array().unwrap().len(), 4);
    assert_eq!(quad["meters"]["meters"][0]["boundary"], "modelled");
    for part in ["idle", "power", "net", "meters", "turned"] {
        desk.run(&["info", part]).ended(0);
    }
    assert_eq!(quad["cpu"]["policies"][0]["hardware_khz"], quad["cpu"]["policies"][0]["current_khz"]);
    assert_eq!(quad["net"]["devices"][0]["coalescing"]["rx-usecs"], 3);
    let text = desk.run(&["--machine", "sim:quadcore", "info"]).ended(0).out;
    assert!(
        text.contains("policy0-3 (cpus 0-3, 4 policies): acpi-cpufreq, governor ondemand") && text.contains("2400 MHz"),
        "{text}"
    );
}

#[test]
fn the_list_holds_every_experiment_in_order() {
    let desk = Desk::new();
    assert!(desk.run(&["list"]).ended(0).out.contains("no experiments yet"));
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    desk.run(&["run", "plans/counter.toml", "--blocks", "2"]).ended(0);
    let list = desk.json(&["list"]);
    let rows = list["experiments"].as_array().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!((&rows[0]["machine"], &rows[1]["machine"]), (&"sim:omap3530".into(), &"sim:quadcore".into()));
    assert!(rows.iter().all(|row| row["state"] == "ended" && row["blocks"] == 2));
    let text = desk.run(&["show", "1"]).ended(0).out;
    assert!(text.contains("TCP throughput"), "{text}");
    assert_eq!(desk.json(&["show"])["title"], rows[1]["title"]);
}

#[test]
fn the_report_is_as_wide_as_the_terminal() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    for columns in [40_usize, 80, 120] {
        let text = desk.run_with("COLUMNS", &columns.to_string(), "show").ended(0).out;
        assert_eq!(text.lines().find(|line| line.chars().count() > columns), None, "{columns} columns");
        assert!(!text.contains('\u{1b}'), "colour into a pipe");
    }
}

#[test]
fn a_machine_may_be_named_by_the_environment() {
    let desk = Desk::new();
    let told = desk.run_with("POWERBAND_MACHINE", "sim:quadcore", "info --json").ended(0).value();
    assert_eq!(told["machine"], "sim:quadcore");
}

#[test]
fn a_store_of_ones_own_choice_is_used() {
    let desk = Desk::new();
    let store = desk.beside("mine/results.sqlite").display().to_string();
    desk.run(&["run", "plans/router.toml", "--blocks", "2", "--store", &store]).ended(0);
    assert_eq!(desk.experiments(), 0);
    assert_eq!(desk.json(&["--store", &store, "list"])["experiments"].as_array().unwrap().len(), 1);
    // What is typed next is for the store that is read, wherever the experiment was begun.
    let copy = desk.beside("copy.sqlite").display().to_string();
    std::fs::copy(&store, &copy).unwrap();
    let shown = desk.run(&["--store", &copy, "show", "1"]).ended(0).out;
    assert!(shown.contains(&format!("--store {copy} report 1")) && !shown.contains(&store), "{shown}");
    desk.run(&["store", "migrate", &copy, &desk.state().join("powerband.sqlite").display().to_string()]).ended(0);
    let shown = desk.run(&["show", "1"]).ended(0).out;
    assert!(shown.contains("powerband show 1") && !shown.contains("--store"), "{shown}");
    // A slip in the scheme of a database is no file with a password in its name.
    let why = desk.run(&["--store", "mysql://me:s3cr3t@host/db", "run", "plans/router.toml"]).refused(2);
    assert!(why.contains("write e.g. postgresql://") && !why.contains("s3cr3t"), "{why}");
}
