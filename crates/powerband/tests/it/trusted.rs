//! Pages, plans and inputs of somebody else: what they execute is listed, no dry run executes it, and it has the rights of
//! the user who called sudo; files without an end are given up; nothing they hold reaches a terminal as a sequence.
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use rustix::process::Signal;

use crate::desk::{Desk, Ran, root, split, text, until};

/// The user nobody.
const NOBODY: &str = "65534";

/// A desk with a plan whose knob, meter and load each leave a file that says who they were.
struct Strange {
    desk: Desk,
    plan: String,
}

impl Strange {
    fn new(more: &str) -> Strange {
        let desk = Desk::new();
        let traces = desk.beside("traces");
        fs::create_dir(&traces).unwrap();
        for (folder, mode) in [(desk.beside(""), 0o755), (traces.clone(), 0o777)] {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
        }
        let level = desk.beside("level");
        fs::write(&level, "low\n").unwrap();
        fs::set_permissions(&level, fs::Permissions::from_mode(0o666)).unwrap();
        let (traces, level) = (traces.display(), level.display());
        let text = format!(
            "settings = [\"a:level=low\", \"b:level=high\"]\nreference = \"a\"\nblocks = 2\nwarmup = 0\nsettle = \"0\"\n\
             metrics = [\"real_s\"]\n\
             [load]\nkind = \"command\"\nargv = [\"sh\", \"-c\", \"id -u >> {traces}/load; sleep 0.05\"]\n\
             [knobs.level]\nget = \"id -u >> {traces}/knob; cat {level}\"\nset = \"echo {{value}} > {level}\"\n{more}\n\
             [meters.watts]\ncommand = \"id -u >> {traces}/meter; while :; do echo 3; sleep 0.01; done\"\nunit = \"W\"\n\
             boundary = \"wall\"\ninterval = \"10ms\"\n{more}\n"
        );
        let plan = desk.beside("plan.toml");
        fs::write(&plan, text).unwrap();
        let plan = plan.display().to_string();
        Strange { desk, plan }
    }

    /// Under sudo of nobody.
    fn called(&self, words: &[&str]) -> Command {
        let mut command = self.desk.command(words);
        command.env("SUDO_UID", NOBODY).env("SUDO_GID", NOBODY).env("SUDO_USER", "nobody");
        command
    }

    fn sudo(&self, words: &[&str]) -> Ran {
        Ran::of(&self.called(words).output().unwrap())
    }

    /// Who has left a trace: name of the file and numbers of the users, each once.
    fn traces(&self) -> Vec<(String, String)> {
        let mut traces: Vec<(String, String)> = fs::read_dir(self.desk.beside("traces"))
            .unwrap()
            .map(|file| {
                let path = file.unwrap().path();
                let text = text(&path);
                let mut users: Vec<&str> = text.lines().collect();
                users.sort_unstable();
                users.dedup();
                (path.file_name().unwrap().to_str().unwrap().to_owned(), users.join(" "))
            })
            .collect();
        traces.sort();
        traces
    }

    fn forget(&self) {
        for file in fs::read_dir(self.desk.beside("traces")).unwrap() {
            fs::remove_file(file.unwrap().path()).unwrap();
        }
    }
}

fn by(knob: &str, load: &str, meter: &str) -> Vec<(String, String)> {
    [("knob", knob), ("load", load), ("meter", meter)].map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec()
}

#[test]
fn a_dry_run_of_a_page_or_a_plan_lists_its_commands_and_executes_none() {
    if !root() {
        return;
    }
    let strange = Strange::new("");
    strange.sudo(&["run", &strange.plan, "-q"]).ended(0);
    assert_eq!(strange.traces(), by(NOBODY, NOBODY, NOBODY), "each ran, as the caller");
    let page = strange.desk.beside("a.html").display().to_string();
    strange.desk.run(&["report", "-o", &page]).ended(0);
    strange.forget();
    for words in [&["run", "--again", &page, "--dry-run"][..], &["run", &strange.plan, "--dry-run"]] {
        let told = strange.sudo(words).ended(0).out;
        for (what, command) in [("load", "sleep 0.05"), ("knob level: get", "id -u"), ("meter", "echo 3")] {
            let line = told.lines().find(|line| line.contains("nobody") && line.contains(what));
            assert!(line.is_some_and(|line| line.contains(command)), "{what}: {told}");
        }
        assert_eq!(strange.traces(), [], "{words:?}");
    }
    let listed = strange.desk.json(&["run", &strange.plan, "--dry-run"]);
    let users: Vec<_> = listed["commands"].as_array().unwrap().iter().map(|it| it["user"].as_str().unwrap()).collect();
    assert_eq!(users, ["root"; 4], "{listed:#}");
    let settings = ["set", "--knobs", &strange.plan, "level=high", "--dry-run"];
    assert!(strange.desk.run(&settings).ended(0).out.contains("high"));
    let tried = ["try", "level=high", "--knobs", &strange.plan, "--dry-run", "--", "true"];
    assert!(strange.desk.run(&tried).ended(0).out.contains("knob level: set"));
    let metered = split("try -s a: -s b: --dry-run --meter `x=wall,W,cmd:touch /tmp/x` -- true");
    assert!(strange.desk.run(&metered).ended(0).out.contains("touch /tmp/x"));
    assert_eq!((strange.traces(), text(&strange.desk.beside("level")).as_str()), (vec![], "low\n"));
    // Without a terminal nobody can answer, so nothing is run without being asked to.
    let why = strange.desk.run(&["run", "--again", &page]).refused(2);
    assert!(why.contains("4 commands") && why.contains("sets level") && why.contains("--trust"), "{why}");
    assert_eq!((strange.traces(), strange.desk.experiments()), (vec![], 1));
    strange.sudo(&["run", "--again", &page, "--trust", "-q"]).ended(0);
    assert_eq!(strange.traces(), by(NOBODY, NOBODY, NOBODY));
}

#[test]
fn what_ran_was_listed_before_whichever_way_it_is_part_of_a_plan() {
    let desk = Desk::new();
    let traces = desk.beside("traces");
    fs::create_dir(&traces).unwrap();
    let trace = |name: &str| format!("touch {}/{name}", traces.display());
    let text = format!(
        "try = [\"env.A=1\", \"background=none,cmd:{}; sleep 5\"]\nruns = 1\nwarmup = 0\nprepare = \"{}\"\nconclude = \"{}\"\n\
         setup = \"{}\"\ncleanup = \"{}\"\n[load]\nkind = \"command\"\nrepeat = 1\ncommands = [\"{}; sleep 0.2\", \"{}; sleep 0.2\"]\n",
        trace("background"),
        trace("prepare"),
        trace("conclude"),
        trace("setup"),
        trace("cleanup"),
        trace("one"),
        trace("two"),
    );
    let plan = desk.beside("plan.toml").display().to_string();
    fs::write(&plan, text).unwrap();
    let left = || {
        let names = fs::read_dir(&traces).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        names.collect::<std::collections::BTreeSet<String>>()
    };
    desk.run(&["run", &plan, "-q"]).ended(0);
    let ran = left();
    assert_eq!(ran.len(), 7, "{ran:?}");
    ran.iter().for_each(|name| fs::remove_file(traces.join(name)).unwrap());
    let page = desk.beside("a.html").display().to_string();
    desk.run(&["report", "-o", &page]).ended(0);
    for words in [&["run", &plan, "--dry-run"][..], &["run", "--again", &page, "--dry-run"]] {
        let listed = desk.run(words).ended(0).out;
        for name in &ran {
            assert!(listed.contains(&trace(name)), "{words:?} does not list {name}: {listed}");
        }
        assert!(listed.contains("A=1") && left().is_empty(), "{words:?}: {listed}");
    }
    let why = desk.run(&["run", "--again", &page]).refused(2);
    assert!(why.contains("--trust") && left().is_empty(), "{why}");
}

#[test]
fn commands_have_the_rights_of_the_caller_until_they_are_undone() {
    if !root() {
        return;
    }
    let strange = Strange::new("as_root = true");
    let told = strange.sudo(&["run", &strange.plan, "--dry-run"]).ended(0).out;
    let listed: Vec<&str> = told.lines().filter(|line| line.starts_with("    ") && line.contains("  ")).collect();
    assert!(listed[0].contains("root (as_root)") && listed[3].contains("nobody"), "those of root first: {told}");
    let ran = strange.sudo(&["run", &strange.plan, "-q"]).ended(0);
    assert_eq!(strange.traces(), by("0", NOBODY, "0"), "only what the plan says is root's");
    assert!(ran.err.contains("note: runs as root (as_root): knob level: get: id -u"), "{}", ran.err);
    // Root restores what the caller's command has set, and with the caller's rights.
    let strange = Strange::new("");
    strange.sudo(&["set", "--knobs", &strange.plan, "level=high"]).ended(0);
    assert_eq!(text(&strange.desk.beside("level")), "high\n");
    strange.forget();
    strange.desk.run(&["undo"]).ended(0);
    assert_eq!(text(&strange.desk.beside("level")), "low\n");
    assert_eq!(strange.traces(), [("knob".to_owned(), NOBODY.to_owned())]);
    // What only root may write needs as_root, and says so.
    fs::set_permissions(strange.desk.beside("level"), fs::Permissions::from_mode(0o600)).unwrap();
    let why = strange.sudo(&["set", "--knobs", &strange.plan, "level=high"]).refused(4);
    assert!(why.contains("as_root = true"), "{why}");
}

#[test]
fn a_dry_run_starts_no_command_that_leads_to_a_machine() {
    let desk = Desk::new();
    let (trace, plan) = (desk.beside("trace"), desk.beside("plan.toml"));
    let text = format!(
        "machine = \"cmd:touch {}\"\nsettings = [\"a:\", \"b:\"]\n[load]\nkind = \"command\"\nargv = [\"true\"]\n",
        trace.display()
    );
    fs::write(&plan, text).unwrap();
    let why = desk.run(&["run", &plan.display().to_string(), "--dry-run"]).refused(2);
    assert!(why.contains("touch") && why.contains("--trust") && !trace.exists(), "{why}");
    desk.run(&["run", &plan.display().to_string(), "--dry-run", "--trust"]).ended(8);
    assert!(trace.exists());
}

/// What has no end, or too much before it.
fn endless(desk: &Desk) -> Vec<String> {
    let huge = desk.beside("huge.csv");
    let file = fs::File::create(&huge).unwrap();
    file.set_len(65 << 20).unwrap();
    vec!["/dev/zero".to_owned(), huge.display().to_string()]
}

#[test]
fn an_input_without_an_end_is_refused() {
    let desk = Desk::new();
    let table = desk.beside("huge.toml");
    for file in endless(&desk) {
        let machine = format!("table:{file}");
        for words in [
            &["run", &file][..],
            &["run", "--again", &file],
            &["compare", "--from-csv", &file],
            &["compare", "--from-csv", "machines/tables/keeper.csv", "--from-csv", &file],
            &["--machine", &machine, "try", "-s", "a:", "-s", "b:"],
            &["--knobs", &file, "get", "x"],
            &["--knobs", &file, "try", "x=1", "--", "true"],
            &["doctor", "--kernel", &file],
        ] {
            fs::write(&table, "").unwrap();
            let why = desk.run(words).refused(2);
            assert!(why.contains(" MiB"), "{words:?}: {why}");
        }
    }
    let profile = desk.beside("huge.toml");
    fs::File::create(&profile).unwrap().set_len(65 << 20).unwrap();
    let why = desk.run(&["sim", "show", &profile.display().to_string()]).refused(2);
    assert!(why.contains("1 MiB"), "{why}");
}

#[test]
fn a_pipe_nobody_writes_to_is_given_up_at_ctrl_c() {
    let desk = Desk::new();
    let pipe = desk.beside("pipe").display().to_string();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for words in [
        &["run", &pipe][..],
        &["run", "--again", &pipe],
        &["compare", "--from-csv", &pipe],
        &["--knobs", &pipe, "set", "x=1"],
        &["--knobs", &pipe, "with", "x=1", "--", "true"],
        &["--knobs", &pipe, "try", "x=1", "--", "true"],
    ] {
        let running = desk.start(words);
        let stack = format!("/proc/{}/wchan", running.pid());
        let state = format!("/proc/{}/stat", running.pid());
        until("it waits", || {
            let asleep = text(state.as_ref()).rsplit(") ").next().unwrap_or_default().starts_with('S');
            asleep && text(stack.as_ref()).contains("poll")
        });
        running.signal(Signal::INT);
        let ran = running.end();
        assert!(ran.code.is_none() || ran.code == Some(130), "{words:?}: {:?} {}", ran.code, ran.err);
    }
    // What comes through a pipe is read to its end.
    let running = desk.start(&["run", &pipe, "--dry-run"]);
    let mut plan = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    plan.write_all(b"machine = \"sim:pc\"\nsettings = [\"a:\", \"b:\"]\n").unwrap();
    plan.write_all(b"[load]\nkind = \"counter\"\n").unwrap();
    drop(plan);
    running.end().ended(0);
}
