//! Who writes what is turned: during experiments, whose trials are then void, and from `why --watch`.
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use powerband_report::json::Report;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::desk::{Desk, Ran, Started, end, machine_alone, root, split, text, until, writer};
use crate::elsewhere::Namespace;

/// A sysctl that costs nothing, for these tests alone.
const SYSCTL: &str = "/proc/sys/vm/stat_interval";

/// A load that says that it runs, until it or (by a file `all`) all of them may end.
fn load(desk: &Desk) -> String {
    let [runs, go, all] = ["runs", "go", "all"].map(|name| desk.beside(name).display().to_string());
    format!("touch {runs}; until [ -e {go} ] || [ -e {all} ]; do sleep 0.02; done; rm -f {runs} {go}")
}

/// Waits for a trial of a setting, by what is read in it, at the beginning of its load, and lets those of others end.
fn trial_of(desk: &Desk, mut reads: impl FnMut() -> bool) {
    let (runs, go) = (desk.beside("runs"), desk.beside("go"));
    until("a load of this setting runs", || {
        let running = runs.exists();
        let is_it = running && reads();
        if running && !is_it {
            fs::write(&go, "").unwrap();
            until("it ends", || !go.exists());
        }
        is_it
    });
}

const TRY: &str = "try --repeat 1 --settle 0 --blocks 2 --warmup 0 --json --quiet";

fn words<'w>(knobs: &[&'w str], load: &'w str) -> Vec<&'w str> {
    [&split(TRY)[..], knobs, &["--", "sh", "-c", load]].concat()
}

fn ended(started: Started) -> Report {
    started.end().ended(0).report()
}

#[test]
fn a_file_written_by_another_program_makes_its_trial_void() {
    let Some(desk) = Desk::as_root() else { return };
    let path = desk.beside("knob");
    fs::write(&path, "0\n").unwrap();
    let (knob, load) = (format!("{}=1", desk.knob("knob")), load(&desk));
    let started = desk.start(&words(&[&knob], &load));
    // The value that is there already: reading back could not tell.
    trial_of(&desk, || text(&path).trim() == "1");
    let all = desk.beside("all");
    let other = writer(&format!("echo 1 >> {0}; printf 1 > {0}; touch {1}", path.display(), all.display()));
    let report = ended(started);
    assert_eq!(report.voids.len(), 1, "{:?}", report.voids);
    let why = &report.voids[0].why;
    let told = format!("was written by pid {} (sh", other.id());
    assert!(why.contains(&told) && why.ends_with("during the trial; it reads 1, as before"), "{why}");
    let journal = desk.journal();
    let by = format!("\"by\":[{{\"pid\":{},\"program\":\"sh\"", other.id());
    assert!(journal.iter().any(|line| line.contains("trial_void") && line.contains(&by)), "{journal:?}");
    // Two blocks of two settings count, and the one that was disturbed does not.
    let done = journal.iter().filter(|line| line.contains("trial_done")).count();
    assert_eq!((done, report.notes.iter().any(|note| note.contains("could not be watched"))), (4, false));
    end(other);
    assert_eq!((text(&path).trim(), desk.turned()), ("0", 0));
}

#[test]
fn a_sysctl_written_during_a_trial_of_the_reference_disturbs_it_too() {
    if !root() {
        return;
    }
    // Each of its experiments holds the machine for seconds.
    let (_alone, desk) = (machine_alone(), Desk::new());
    let before = text(SYSCTL.as_ref()).trim().to_owned();
    let load = load(&desk);
    let knob = format!("sysctl.vm.stat_interval={}", before.parse::<u32>().unwrap() + 1);
    let reads = || text(SYSCTL.as_ref()).trim() == before;
    let started = desk.start(&words(&[&knob], &load));
    trial_of(&desk, reads);
    let all = desk.beside("all").display().to_string();
    let other = writer(&format!("echo {before} > {SYSCTL}; touch {all}"));
    let of_reference = ended(started);
    fs::remove_file(&all).unwrap();
    let started = desk.start(&words(&[&knob], &load));
    trial_of(&desk, || !reads());
    let status = Command::new("sh").args(["-c", &format!("echo {before} > {SYSCTL}; touch {all}")]).status();
    let of_setting = ended(started);
    assert!(status.unwrap().success());
    let why = &of_reference.voids[0].why;
    assert!(
        why.contains(&format!("was written by pid {} (sh", other.id()))
            && why.ends_with(&format!("; it reads {before}, as before")),
        "{why}"
    );
    assert_eq!((of_reference.voids.len(), of_setting.voids.len()), (1, 1));
    end(other);
    let why = &of_setting.voids[0].why;
    assert!(why.contains(" was written by pid ") && why.ends_with(&format!("found at {before}")), "{why}");
    assert!(reads());
}

#[test]
fn a_card_turned_by_ethtool_makes_its_trial_void() {
    if !root() || !has_ethtool() {
        return;
    }
    let (desk, there) = (Desk::new(), Namespace::new("watched"));
    there.run("ip", &["tuntap", "add", "dev", "t0", "mode", "tap"]);
    let load = load(&desk);
    let mut command = there.command(&desk, &words(&["rx-frames@t0=7"], &load));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let frames = || there.powerband(&desk, &["get", "rx-frames@t0"]).ended(0).out.contains("= 7\n");
    trial_of(&desk, frames);
    let mut ethtool = Command::new("ip");
    let ethtool = ethtool.args(["netns", "exec", there.name(), "ethtool", "-C", "t0", "rx-frames", "9"]);
    let mut ethtool = ethtool.spawn().unwrap();
    // `ip` has become ethtool.
    let pid = ethtool.id();
    assert!(ethtool.wait().unwrap().success());
    fs::write(desk.beside("all"), "").unwrap();
    let report = Ran::of(&child.wait_with_output().unwrap()).ended(0).report();
    assert_eq!(report.voids.len(), 1, "{:?}", report.voids);
    let why = &report.voids[0].why;
    assert!(why.contains("nic.rx-frames at t0 was written by ") && why.ends_with("set to 7, found at 9"), "{why}");
    // Found, and then it is the right one; or gone before it could be looked for.
    let found = why.contains(&format!(" by pid {pid} (ethtool; probably: the kernel does not say"));
    assert!(found || why.contains("somebody (the kernel does not say"), "{why}");
}

/// Whether ethtool is here. In CI it must be.
fn has_ethtool() -> bool {
    let has = Command::new("ethtool").arg("--version").stdout(Stdio::null()).status().is_ok();
    assert!(has || !std::env::var("CI").is_ok_and(|value| value == "true"), "this test needs ethtool, and CI=true");
    if !has {
        eprintln!("skipped: needs ethtool");
    }
    has
}

/// A `why --watch` with what it prints in files.
struct Watching {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Watching {
    /// Begins, and waits until it watches.
    fn begin(desk: &Desk, mut command: Command) -> Watching {
        let (out, err) = (desk.beside("out"), desk.beside("err"));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let watching = Watching { child: command.spawn().unwrap(), out, err };
        until("it watches", || text(&watching.err).contains("note: watching "));
        watching
    }

    /// Waits until it has printed as many lines, as JSON.
    fn lines(&self, count: usize) -> Vec<Value> {
        until("it tells", || text(&self.out).lines().count() >= count);
        text(&self.out).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Ctrl-C; the code it ends with.
    fn stop(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn told(line: &Value) -> (&str, &str, &str) {
    (line["knob"].as_str().unwrap(), line["old"].as_str().unwrap_or("-"), line["new"].as_str().unwrap_or("-"))
}

#[test]
fn why_watch_tells_each_change_and_who_made_it() {
    let Some(desk) = Desk::as_root() else { return };
    let path = desk.beside("knob");
    fs::write(&path, "a\n").unwrap();
    let knob = desk.knob("knob");
    let watching = Watching::begin(&desk, desk.command(&["why", "--watch", &knob, "--json"]));
    let long = writer(&format!("echo b > {}", path.display()));
    let lines = watching.lines(1);
    assert_eq!(told(&lines[0]), (knob.as_str(), "a", "b"));
    assert_eq!(lines[0]["by"][0]["pid"], long.id());
    assert_eq!(lines[0]["by"][0]["program"], "sh");
    end(long);
    // The same again, by one that is gone at once.
    let mut short = Command::new("sh").args(["-c", &format!("echo b > {}", path.display())]).spawn().unwrap();
    let (pid, lines) = (short.id(), watching.lines(2));
    short.wait().unwrap();
    assert_eq!((told(&lines[1]), &lines[1]["by"][0]["pid"]), ((knob.as_str(), "b", "b"), &Value::from(pid)));
    // Replaced: the kernel tells nobody who, and it is seen a second later at most.
    fs::write(desk.beside("new"), "c\n").unwrap();
    fs::rename(desk.beside("new"), &path).unwrap();
    let lines = watching.lines(3);
    assert_eq!((told(&lines[2]), lines[2]["by"][0]["pid"].is_null()), ((knob.as_str(), "b", "c"), true));
    let long = writer(&format!("echo d > {}", path.display()));
    assert_eq!(watching.lines(4)[3]["by"][0]["pid"], long.id());
    end(long);
    assert_eq!(watching.stop(), Some(130));
    let ran = desk.run(&["why", "--watch", &knob, "--for", "100ms"]).ended(0);
    assert_eq!(ran.out, "", "reading is no change");
}

#[test]
fn without_rights_changes_are_told_without_names() {
    let Some(desk) = Desk::as_root() else { return };
    let path = desk.beside("knob");
    fs::write(&path, "a\n").unwrap();
    let copy = desk.beside("powerband");
    assert!(
        Command::new("install")
            .args(["-m", "755", env!("CARGO_BIN_EXE_powerband")])
            .arg(&copy)
            .status()
            .unwrap()
            .success()
    );
    open_to_all(&desk.beside(""));
    let mut command = Command::new(&copy);
    desk.furnish(&mut command);
    command.current_dir("/").uid(65534).gid(65534).args(["why", "--watch", &desk.knob("knob"), "--json"]);
    let watching = Watching::begin(&desk, command);
    until("it says why", || text(&watching.err).contains("only root"));
    fs::write(&path, "b\n").unwrap();
    let lines = watching.lines(1);
    assert_eq!((told(&lines[0]).2, &lines[0]["by"]), ("b", &serde_json::json!([])));
    assert_eq!(watching.stop(), Some(130));
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_nobody_else_can_turn_is_not_watched() {
    let desk = Desk::new();
    let why = desk.run(&["why", "--watch", "--machine", "sim:pc"]).refused(4);
    assert!(why.contains("`powerband sim mount pc DIR`"), "{why}");
    assert!(desk.run(&["why", "--watch", "governer"]).refused(2).contains("did you mean 'governor'?"));
    assert!(desk.run(&["why", "--watch", "--for", "soon"]).refused(2).contains("--for: "));
    desk.run(&["why", "--for", "1s"]).refused(2);
}
