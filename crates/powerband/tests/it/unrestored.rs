//! What could not be restored decides the exit code of every verb that changes something, and its sentence names it.
use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::desk::{Desk, Ran, text, until};

/// How a restore goes wrong once the file `broken` is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// The command that restores fails.
    Refused,
    /// It ends well, and another value than before reads there.
    Differs,
}

/// A machine with a knob whose old value cannot be restored any more once `broken` is there.
struct Bench {
    desk: Desk,
    knobs: String,
}

impl Bench {
    fn new(wrong: Wrong) -> Bench {
        let desk = Desk::new();
        let (valve, broken) = (desk.beside("valve"), desk.beside("broken"));
        fs::write(&valve, "0\n").unwrap();
        let answer = match wrong {
            Wrong::Refused => "exit 3".to_owned(),
            Wrong::Differs => format!("echo 5 > {}; exit 0", valve.display()),
        };
        let script = desk.beside("turn");
        let lines =
            format!("if [ $1 = 0 ] && [ -e {} ]; then {answer}; fi\necho $1 > {}\n", broken.display(), valve.display());
        fs::write(&script, lines).unwrap();
        let knobs = desk.beside("knobs.toml");
        let declared = format!(
            "[knobs.valve]\nget = \"cat {}\"\nset = \"sh {} {{value}}\"\nvalues = [0, 1, 2]\n\
             [knobs.stuck]\nget = \"echo 0\"\nset = \"exit 4 # {{value}}\"\n",
            valve.display(),
            script.display()
        );
        fs::write(&knobs, declared).unwrap();
        Bench { knobs: knobs.display().to_string(), desk }
    }

    fn broken(&self) -> PathBuf {
        self.desk.beside("broken")
    }

    fn break_it(&self) {
        fs::write(self.broken(), "").unwrap();
    }

    /// A load that breaks it.
    fn load(&self) -> String {
        format!("touch {}", self.broken().display())
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.desk.run(&[&words[..1], &["--knobs", &self.knobs], &words[1..]].concat())
    }
}

/// A verb, and how it comes to change a knob that cannot be restored any more.
type Verb = (&'static str, fn(&Bench) -> Ran);

/// Verbs that restore at the end of a load, which breaks the knob.
fn measuring() -> Vec<Verb> {
    vec![
        ("with", |it| it.run(&["with", "valve=1", "--", "sh", "-c", &it.load()])),
        ("try", |it| {
            it.run(&["try", "valve=0,1", "--settle", "0", "--blocks", "1", "-q", "--", "sh", "-c", &it.load()])
        }),
        ("tune", |it| {
            it.run(&[
                "tune",
                "valve=0,1,2",
                "--minimize",
                "real_s",
                "--settle",
                "0",
                "-q",
                "--",
                "sh",
                "-c",
                &it.load(),
            ])
        }),
        ("run", |it| {
            let plan = it.desk.beside("plan.toml");
            let knobs = fs::read_to_string(&it.knobs).unwrap();
            let text = format!(
                "try = [\"valve=0,1\"]\nblocks = 1\nsettle = \"0\"\n[load]\nkind = \"command\"\nargv = [\"sh\", \"-c\", \"{}\"]\n{knobs}",
                it.load()
            );
            fs::write(&plan, text).unwrap();
            it.desk.run(&["run", &plan.display().to_string(), "-q"])
        }),
        ("resume", |it| {
            let (go, load) = (it.desk.beside("go"), it.load());
            let load = format!("if [ -e {} ]; then {load}; else sleep .2; fi", go.display());
            let words = [
                "try",
                "--knobs",
                &it.knobs,
                "valve=0,1",
                "--settle",
                "0",
                "--blocks",
                "9",
                "-q",
                "--",
                "sh",
                "-c",
                &load,
            ];
            let running = it.desk.start(&words);
            until("a trial is done", || it.desk.json(&["list"])["experiments"][0]["trials"].as_u64().unwrap_or(0) >= 1);
            running.signal(Signal::INT);
            running.end().ended(130);
            fs::write(&go, "").unwrap();
            it.desk.run(&["resume", "last", "-q"])
        }),
    ]
}

/// Verbs that restore what they, or another, had set.
fn setting() -> Vec<Verb> {
    vec![
        ("set that is rolled back", |it| {
            it.break_it();
            it.run(&["set", "valve=1", "stuck=1"])
        }),
        ("set that nobody confirms", |it| {
            it.break_it();
            it.run(&["set", "valve=1", "--confirm-within", "300ms"])
        }),
        ("undo", |it| {
            it.run(&["set", "valve=1"]).ended(0);
            it.break_it();
            it.desk.run(&["undo"])
        }),
        ("undo --left", |it| {
            let running = it.desk.start(&["with", "--knobs", &it.knobs, "valve=1", "--", "sleep", "600"]);
            until("it is changed", || text(&it.desk.beside("valve")) == "1\n");
            // A running owner may start another guardian.
            running.signal(Signal::STOP);
            for guardian in crate::guarded::guardians(&it.desk) {
                rustix::process::kill_process(guardian, Signal::KILL).unwrap();
            }
            running.signal(Signal::KILL);
            running.end();
            it.break_it();
            it.desk.run(&["undo", "--left"])
        }),
    ]
}

#[test]
fn what_is_not_restored_decides_the_exit_code_of_every_verb() {
    for wrong in [Wrong::Refused, Wrong::Differs] {
        for (verb, run) in measuring().into_iter().chain(setting()) {
            let bench = Bench::new(wrong);
            let ran = run(&bench);
            let said = format!("{wrong:?}, {verb}:\n{}\n{}", ran.out, ran.err);
            assert_eq!(ran.code, Some(6), "{said}");
            let line =
                ran.err.lines().find(|line| line.contains("RESTORE INCOMPLETE")).unwrap_or_else(|| panic!("{said}"));
            assert!(line.contains("valve"), "{said}");
            let typed =
                if wrong == Wrong::Differs && !line.contains("undo") { "`powerband set valve=0`" } else { "undo" };
            assert!(line.contains(typed), "{said}");
            // What the sentence says is true.
            let reads = text(&bench.desk.beside("valve"));
            assert_ne!(reads, "0\n", "{said}");
            if wrong == Wrong::Refused {
                fs::remove_file(bench.broken()).unwrap();
                bench.desk.run(&["undo", if verb == "undo" { "--all" } else { "--left" }]).ended(0);
                assert_eq!((text(&bench.desk.beside("valve")).as_str(), bench.desk.turned()), ("0\n", 0), "{said}");
            }
        }
    }
}

#[test]
fn grouped_values_of_a_driver_that_rounds_are_restored_exactly() {
    let desk = Desk::new();
    let on = |words: &[&str]| desk.run(&[&["--machine", "sim:cyclone5"], words].concat());
    let all = || on(&["get", "rx-usecs", "tx-usecs", "tx-frames"]).ended(0).out;
    let before = all();
    for setting in [
        &["rx-usecs=260", "tx-usecs=1000"][..],
        &["rx-usecs=260"],
        &["tx-usecs=77", "rx-usecs=99", "tx-frames=3"],
        &["rx-usecs=20", "tx-frames=9"],
    ] {
        on(&[&["set"], setting].concat()).ended(0);
        assert_ne!(all(), before, "{setting:?}");
        on(&["undo"]).ended(0);
        assert_eq!(all(), before, "{setting:?}");
    }
    let load = ["--settle", "0", "--blocks", "1", "--warmup", "0", "--load", "idle", "--for", "1s"];
    for setting in ["b:rx-usecs=100 tx-usecs=1000", "b:tx-usecs=77 rx-usecs=260 tx-frames=3"] {
        let ran = on(&[&["try", "-s", "a:", "-s", setting], &load[..]].concat()).ended(0);
        assert!(!ran.out.contains("INCOMPLETE") && !ran.out.contains("where it read"), "{}", ran.out);
    }
}

/// At the driver's lowest step it shows a value that it refuses.
#[test]
fn a_value_that_the_driver_shows_and_refuses_is_restored() {
    let desk = Desk::new();
    let on = |words: &[&str]| desk.run(&[&["--machine", "sim:cyclone5-stock"], words].concat());
    let reads = || on(&["get", "rx-usecs"]).ended(0).out;
    let first = reads();
    on(&["set", "rx-usecs=33"]).ended(0);
    let lowest = reads();
    assert!(lowest.contains("= 32"), "{lowest}");
    on(&["set", "rx-usecs=50"]).ended(0);
    on(&["undo"]).ended(0);
    assert_eq!(reads(), lowest);
    on(&["set", "rx-usecs=50"]).ended(0);
    on(&["undo", "--all"]).ended(0);
    assert_eq!((reads(), desk.turned()), (first, 0));
}
