//! What the command prints with `--json`, against the schemas in `docs/schema`, by a validator of JSON Schema (draft 2020-12).
use std::path::PathBuf;
use std::process::Command;

use crate::browser::{modules, ready};
use crate::desk::{Desk, KEEPER, Ran, split, until, workspace};

/// The machine of most of what is printed here.
const PC: [&str; 2] = ["--machine", "sim:pc"];

/// A load that says something in little time.
const COUNTER: &str = "--machine sim:quadcore --seed 1 --load counter --for 10s";

/// What was printed, a document a file.
struct Printed {
    desk: Desk,
    folder: PathBuf,
    count: usize,
}

impl Printed {
    fn new() -> Printed {
        let desk = Desk::new();
        let folder = desk.beside("printed");
        std::fs::create_dir(&folder).unwrap();
        Printed { desk, folder, count: 0 }
    }

    /// Runs a command that ends with one of `codes`.
    #[track_caller]
    fn keep_ending(&mut self, words: &[&str], codes: &[i32]) {
        let ran = self.desk.run(&[&["--json"], words].concat());
        assert!(ran.code.is_some_and(|code| codes.contains(&code)), "{words:?}: {}", ran.err);
        self.add(&ran.out);
    }

    #[track_caller]
    fn keep(&mut self, words: &[&str]) {
        self.keep_ending(words, &[0]);
    }

    #[track_caller]
    fn on_counter(&mut self, words: &[&str]) {
        self.keep(&[words, &split(COUNTER)].concat());
    }

    fn add(&mut self, text: &str) {
        std::fs::write(self.folder.join(format!("{:02}.json", self.count)), text).unwrap();
        self.count += 1;
    }

    /// What is printed as it comes, a document a line.
    fn add_lines(&mut self, text: &str) {
        assert!(!text.is_empty());
        text.lines().for_each(|line| self.add(line));
    }
}

#[test]
fn what_the_command_prints_is_valid_against_its_schemas() {
    if !ready() {
        return;
    }
    let mut printed = Printed::new();
    experiments(&mut printed);
    looked_at(&mut printed);
    turned(&mut printed);
    confirmed(&mut printed);
    as_it_comes(&mut printed);
    let check = workspace().join("crates/powerband/tests/page/schema.mjs");
    let mut command = Command::new("node");
    command.arg(check).arg(modules()).arg(workspace().join("docs/schema")).arg(&printed.folder);
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(0), "what is wrong:\n{}{}", ran.out, ran.err);
}

fn experiments(printed: &mut Printed) {
    printed.keep(&["--seed", "1", "run", "plans/router.toml"]);
    printed.on_counter(&["try", "governor=performance,powersave"]);
    printed.on_counter(&split("try governor=performance,powersave --blocks 1 --require count>=1"));
    let recording = split("try governor=all --blocks 3 --robust --record clock,utilisation@1:1s");
    printed.on_counter(&recording);
    printed.keep(&["show", "--timelines"]);
    printed.on_counter(&[&recording[..], &["--dry-run"]].concat());
    printed.on_counter(&["calibrate", "--trials", "12"]);
    printed.on_counter(&["try", "governor=performance,powersave", "--show-metrics"]);
    let tune = split("tune max_freq=all --minimize energy_j --require count>=1000");
    printed.on_counter(&tune);
    printed.on_counter(&[&tune[..], &["--dry-run"]].concat());
    printed.keep(&[&KEEPER[..], &["--dry-run"]].concat());
    let ping = split("--far sim:quadcore try rx-usecs=10,100 --load ping --for 2s");
    printed.keep(&[&PC[..], &ping].concat());
    printed.keep(&[&PC[..], &ping, &["--metric", "both/watts", "--dry-run"]].concat());
    printed.keep(&["list"]);
    printed.keep(&["compare", "2:powersave", "3:powersave"]);
    printed.keep(&split("fleet run plans/fleet-frequency.toml -N 5 --launcher local --quiet"));
    printed.keep(&["fleet", "status"]);
    printed.keep(&["fleet", "table", "last"]);
    copied(printed);
    // Few blocks may leave a claim open.
    printed.keep_ending(&["replicate", "router", "--blocks", "2"], &[0, 1]);
}

/// What was measured, in another store.
fn copied(printed: &mut Printed) {
    let path = |path: PathBuf| path.to_str().unwrap().to_owned();
    let (ours, copy) = (path(printed.desk.state().join("powerband.sqlite")), path(printed.desk.beside("copy.sqlite")));
    printed.keep(&["store", "migrate", &ours, &copy]);
    printed.keep(&["--store", &copy, "store", "push", "--from", &ours]);
}

/// Machines of all kinds, and what lacks on them.
fn looked_at(printed: &mut Printed) {
    for machine in ["sim:omap3530", "recorded:machines/recorded/laptop", "recorded:machines/recorded/server"] {
        printed.keep(&["--machine", machine, "info"]);
        printed.keep(&split(&format!("--machine `{machine}` get governor max_freq")));
        printed.keep(&["--machine", machine, "why", "governor"]);
        printed.keep_ending(&["--machine", machine, "doctor"], &[0, 1]);
    }
    // Without cpufreq.
    printed.keep(&["--machine", "recorded:machines/recorded/microvm", "info"]);
    printed.keep(&[&PC[..], &["info", "net", "--probe"]].concat());
    printed.keep(&[&PC[..], &["info", "meters", "--measure", "--lag"]].concat());
    let config = printed.desk.beside("config");
    std::fs::write(&config, "# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_X86=y\nCONFIG_CPU_FREQ=y\n").unwrap();
    printed.keep_ending(&["doctor", "--kernel", &config.display().to_string()], &[1]);
    let folder = printed.desk.beside("captured").display().to_string();
    printed.keep(&[&PC[..], &["capture", &folder]].concat());
    printed.keep(&["knobs"]);
    printed.keep(&["knobs", "governor"]);
    printed.keep(&["sim", "list"]);
    printed.keep(&["sim", "show", "pc"]);
}

/// Knobs that are turned and taken back.
fn turned(printed: &mut Printed) {
    let mut pair = |words: &[&str]| printed.keep(&[&PC[..], &["--far", "sim:quadcore"], words].concat());
    pair(&["undo"]);
    pair(&split("set --dry-run governor=powersave far/governor=performance"));
    pair(&["set", "governor=powersave", "far/governor=performance"]);
    pair(&["get", "both/governor"]);
    pair(&["undo", "--list"]);
    pair(&["info", "turned"]);
    pair(&["undo", "--all"]);
    pair(&["undo", "--left"]);
    // What another program has turned since is told, and stays.
    let (path, knob) = (printed.desk.beside("shared"), printed.desk.knob("shared"));
    std::fs::write(&path, "0").unwrap();
    printed.keep(&["set", &format!("{knob}=1")]);
    std::fs::write(&path, "2").unwrap();
    printed.keep(&["get", &knob]);
    printed.keep_ending(&["undo"], &[1]);
}

fn confirmed(printed: &mut Printed) {
    let knob = printed.desk.knob("confirmed");
    let waiting = printed.desk.start(&["--json", "set", &format!("{knob}=1"), "--confirm-within", "60s"]);
    let lock = printed.desk.state().join("lock");
    until("it waits", || std::fs::read_to_string(&lock).is_ok_and(|lock| lock.contains("to_confirm")));
    printed.keep(&["confirm"]);
    printed.keep(&["keep", "--list"]);
    printed.keep(&["check"]);
    let policy = printed.folder.join("access.toml");
    std::fs::write(&policy, "[[allow]]\nusers = [1]\nknobs = { governor = \"any\" }\n").unwrap();
    printed.keep(&["service", "--check", "--policy", &policy.display().to_string()]);
    printed.add(&waiting.end().ended(0).out);
}

fn as_it_comes(printed: &mut Printed) {
    let watch = split("--json --machine sim:quadcore watch --load counter --count 2");
    let rows = printed.desk.run(&watch).ended(0).out;
    printed.add_lines(&rows);
    let pace = split("--json --machine sim:x3650 pace cpuspeed --for 10s --load counter");
    printed.add_lines(&printed.desk.run(&pace).ended(0).out.clone());
    let rows = printed.desk.run(&split("--json watch --count 2 --interval 100ms --cost")).ended(0).out;
    printed.add_lines(&rows);
    let (path, knob) = (printed.desk.beside("watched"), printed.desk.knob("watched"));
    std::fs::write(&path, "0").unwrap();
    let watching = printed.desk.start(&split(&format!("--json why `{knob}` --watch --for 2500ms")));
    // Again and again: nobody says when it has begun to look.
    for value in 1..=20 {
        std::fs::write(&path, value.to_string()).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    printed.add_lines(&watching.end().ended(0).out);
    guarded(printed);
}

fn guarded(printed: &mut Printed) {
    let (path, knob) = (printed.desk.beside("guarded"), printed.desk.knob("guarded"));
    std::fs::write(&path, "a").unwrap();
    let wanted = format!("{knob}=a");
    printed.keep(&["guard", "--once", &wanted]);
    let metrics = printed.desk.beside("guard.prom");
    let guarding =
        printed.desk.start(&["--json", "guard", "--hold", &wanted, "--textfile", &metrics.display().to_string()]);
    until("it guards", || metrics.exists());
    for value in ["b", "c"] {
        let mut sh = Command::new("sh");
        assert!(sh.args(["-c", &format!("echo {value} > {}", path.display())]).status().unwrap().success());
        until("it is set again", || std::fs::read_to_string(&path).is_ok_and(|text| text.trim() == "a"));
    }
    guarding.signal(rustix::process::Signal::TERM);
    printed.add_lines(&guarding.end().ended(0).out);
}
