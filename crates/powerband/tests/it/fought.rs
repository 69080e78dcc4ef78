//! `guard`: who changes a setting, setting it again, whom it is left to, and that it sleeps meanwhile.
use std::fs::{self, File};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::desk::{Desk, Ran, end, machine_alone, root, split, text, until, writer};
use crate::driven::has;
use crate::elsewhere::Namespace;
use crate::kept::with_etc;
use crate::mounted::{holds, script};

/// A guard with what it prints in files.
struct Guarding {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Guarding {
    /// Begins, and waits until it watches.
    fn begin(desk: &Desk, words: &[&str]) -> Guarding {
        Guarding::of(desk, desk.command(&[&["guard", "--json"], words].concat()))
    }

    fn of(desk: &Desk, mut command: Command) -> Guarding {
        let (out, err) = (desk.beside("guard.out"), desk.beside("guard.err"));
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let guarding = Guarding { child: command.spawn().unwrap(), out, err };
        until("it watches", || text(&guarding.err).contains("Ctrl-C ends it"));
        guarding
    }

    fn lines(&self) -> Vec<Value> {
        text(&self.out).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until it has printed as many lines.
    fn told(&self, count: usize) -> Vec<Value> {
        until("it tells", || text(&self.out).lines().count() >= count);
        self.lines()
    }

    /// The code it ends with.
    fn stop(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Guarding {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file that reads `text`, and its knob.
fn knob(desk: &Desk, name: &str, text: &str) -> (PathBuf, String) {
    let path = desk.beside(name);
    fs::write(&path, format!("{text}\n")).unwrap();
    (path, desk.knob(name))
}

fn reads(path: &Path, value: &str) -> bool {
    text(path).trim() == value
}

fn outcomes(lines: &[Value], knob: &str) -> Vec<String> {
    let of_knob = lines.iter().filter(|line| line["knob"] == knob);
    of_knob.map(|line| line["outcome"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_change_is_told_with_who_made_it_and_stays() {
    let Some(desk) = Desk::as_root() else { return };
    let (path, knob) = knob(&desk, "knob", "a");
    let (guarding, wanted) = (Guarding::begin(&desk, &[&format!("{knob}=a")]), format!("{knob}=a"));
    let other = writer(&format!("echo b > {}", path.display()));
    let lines = guarding.told(1);
    assert_eq!(
        (&lines[0]["old"], &lines[0]["new"], &lines[0]["outcome"]),
        (&"a".into(), &"b".into(), &"reported".into())
    );
    assert_eq!((&lines[0]["by"][0]["pid"], &lines[0]["by"][0]["program"]), (&other.id().into(), &"sh".into()));
    end(other);
    // By another file in its place: by whom, the kernel tells nobody.
    fs::write(desk.beside("new"), "c\n").unwrap();
    fs::rename(desk.beside("new"), &path).unwrap();
    let lines = guarding.told(2);
    assert_eq!((&lines[1]["new"], lines[1]["by"][0]["pid"].is_null()), (&"c".into(), true), "{lines:?}");
    assert!(reads(&path, "c"), "it changes nothing");
    let once = desk.run(&["guard", "--once", &wanted]).ended(1);
    assert_eq!(once.out, format!("{knob}@-: c, wanted a\n"));
    let other = writer(&format!("echo a > {}", path.display()));
    guarding.told(3);
    end(other);
    assert_eq!(desk.run(&["guard", "--once", &wanted]).ended(0).out, "as wanted at 1 of 1 place\n");
    let json = desk.json(&["guard", "--once", &wanted]);
    assert_eq!((&json["checks"][0]["as_wanted"], &json["checks"][0]["reads"]), (&true.into(), &"a".into()));
    assert_eq!(guarding.stop(Signal::INT), Some(130));
    assert_eq!(desk.turned(), 0);
}

#[test]
fn what_was_set_before_is_set_again_and_undone_as_before() {
    let Some(desk) = Desk::as_root() else { return };
    let (path, knob) = knob(&desk, "knob", "before");
    let wanted = format!("{knob}=a");
    desk.run(&["set", &wanted]).ended(0);
    let guarding = Guarding::begin(&desk, &["--hold", &wanted]);
    let other = writer(&format!("echo b > {}", path.display()));
    let lines = guarding.told(1);
    assert_eq!((&lines[0]["new"], &lines[0]["outcome"]), (&"b".into(), &"set_again".into()), "{lines:?}");
    assert_eq!(lines[0]["by"][0]["pid"], other.id());
    assert!(reads(&path, "a"));
    end(other);
    assert_eq!((guarding.stop(Signal::TERM), desk.turned()), (Some(0), 1), "no step of its own");
    desk.run(&["undo"]).ended(0);
    assert!(reads(&path, "before"));
}

#[test]
fn what_is_not_as_wanted_at_the_beginning_is_set_as_a_step_of_undo() {
    let Some(desk) = Desk::as_root() else { return };
    let (path, knob) = knob(&desk, "knob", "before");
    let guarding = Guarding::begin(&desk, &["--hold", &format!("{knob}=a")]);
    assert!(reads(&path, "a"));
    let lines = guarding.told(1);
    assert_eq!((&lines[0]["old"], &lines[0]["outcome"]), (&"before".into(), &"set".into()), "{lines:?}");
    end(writer(&format!("echo b > {}", path.display())));
    guarding.told(2);
    until("it is set again", || reads(&path, "a"));
    assert_eq!((guarding.stop(Signal::TERM), desk.turned()), (Some(0), 1));
    desk.run(&["undo"]).ended(0);
    assert!(reads(&path, "before"));
}

#[test]
fn after_three_fights_a_knob_is_left_to_its_opponent_and_the_others_are_held() {
    let Some(desk) = Desk::as_root() else { return };
    let ((path, lost), (other_path, other)) = (knob(&desk, "lost", "a"), knob(&desk, "other", "a"));
    let guarding = Guarding::begin(&desk, &["--hold", &format!("{lost}=a"), &format!("{other}=a")]);
    let file = path.display();
    let stubborn = writer(&format!(
        "for i in 1 2 3; do echo b > {file}; until grep -qs a {file}; do sleep 0.01; done; done; echo b > {file}"
    ));
    until("it gives up", || outcomes(&guarding.lines(), &lost).last().is_some_and(|last| last == "given_up"));
    let lines = guarding.lines();
    let fought = outcomes(&lines, &lost);
    assert_eq!((fought.len(), fought[3].as_str()), (4, "given_up"), "{lines:?}");
    // The opponent may have emptied the file again when it is read back.
    assert!(fought[..3].iter().all(|outcome| outcome == "set_again" || outcome == "failed"), "{lines:?}");
    let last = lines.last().unwrap();
    assert!(
        last["reason"].as_str().unwrap().starts_with("sh has changed it again after guard set it 3 times"),
        "{last}"
    );
    assert!(lines.iter().all(|line| line["by"][0]["pid"] == stubborn.id()), "{lines:?}");
    assert!(reads(&path, "b"));
    end(stubborn);
    // It goes on: the lost one is reported, the other one held.
    end(writer(&format!("echo c > {file}; echo c > {}", other_path.display())));
    until("the other is set again", || outcomes(&guarding.lines(), &other) == ["set_again"] && reads(&other_path, "a"));
    until("the lost one is told", || outcomes(&guarding.lines(), &lost).last().is_some_and(|last| last == "reported"));
    assert!(reads(&path, "c"));
    assert_eq!((guarding.stop(Signal::TERM), desk.turned()), (Some(1), 0));
}

#[test]
fn an_experiment_of_ours_is_no_opponent() {
    let Some(desk) = Desk::as_root() else { return };
    let (path, knob) = knob(&desk, "knob", "a");
    let guarding = Guarding::begin(&desk, &["--hold", &format!("{knob}=a")]);
    let setting = format!("{knob}=b");
    let words = format!("try `{setting}` --repeat 1 --settle 0 --blocks 5 --warmup 0 --json --quiet");
    let words = split(&words);
    let report = desk.run(&[&words[..], &["--", "sleep", "0.1"]].concat()).ended(0).report();
    assert!(report.voids.is_empty(), "nobody has disturbed it: {:?}", report.voids);
    let lines = guarding.told(2);
    assert!(
        lines
            .iter()
            .all(|line| line["powerband"].as_str().is_some_and(|it| it.contains("(try "))
                && line["outcome"] != "set_again"),
        "{lines:?}"
    );
    assert!(reads(&path, "a"));
    // What is set by hand stays, also when another program has changed it; `undo` gives it back to guard.
    desk.run(&["set", &format!("{knob}=c")]).ended(0);
    until("it is told", || guarding.lines().iter().any(|line| line["new"] == "c" && line["outcome"] == "left"));
    end(writer(&format!("echo d > {}", path.display())));
    until("it is told", || guarding.lines().iter().any(|line| line["new"] == "d" && line["outcome"] == "left"));
    assert!(reads(&path, "d"));
    desk.run(&["undo", "--force"]).ended(0);
    until("undo is told", || guarding.lines().last().is_some_and(|line| line["new"] == "a"));
    end(writer(&format!("echo e > {}", path.display())));
    until("it is held again", || reads(&path, "a"));
    assert_eq!((guarding.stop(Signal::TERM), desk.turned()), (Some(0), 0));
}

#[test]
fn what_is_changed_while_an_experiment_runs_is_set_again_after_it() {
    let Some(desk) = Desk::as_root() else { return };
    let ((path, held), (other, _)) = (knob(&desk, "held", "a"), knob(&desk, "other", "1"));
    let guarding = Guarding::begin(&desk, &["--hold", &format!("{held}=a")]);
    let with = desk.start(&["with", &format!("{}=2", desk.knob("other")), "--", "sleep", "2"]);
    until("it holds the other", || reads(&other, "2"));
    end(writer(&format!("echo b > {}", path.display())));
    let lines = guarding.told(1);
    assert_eq!(lines[0]["outcome"], "left", "{lines:?}");
    assert!(lines[0]["reason"].as_str().unwrap().contains(" (with "), "{lines:?}");
    with.end().ended(0);
    until("it is set again", || reads(&path, "a"));
    assert_eq!(guarding.told(2)[1]["outcome"], "set");
    assert_eq!((guarding.stop(Signal::TERM), desk.turned()), (Some(0), 0));
}

/// How often a process has slept, and its CPU time in clock ticks.
fn awake(pid: u32) -> (String, String) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let switches = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap().to_owned();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (switches, format!("{} {}", fields[11], fields[12]))
}

#[test]
fn an_idle_guard_does_not_wake_up() {
    let Some(desk) = Desk::as_root() else { return };
    let (path, knob) = knob(&desk, "knob", "a");
    let guarding = Guarding::begin(&desk, &["--hold", &format!("{knob}=a")]);
    let pid = guarding.child.id();
    // Devices of other tests come and go; between them it sleeps.
    until("it sleeps through two seconds", || {
        let before = awake(pid);
        std::thread::sleep(Duration::from_secs(2));
        awake(pid) == before
    });
    end(writer(&format!("echo b > {}", path.display())));
    until("it is set again", || reads(&path, "a"));
    assert_eq!(guarding.stop(Signal::TERM), Some(0));
}

#[test]
fn a_service_manager_and_node_exporter_are_told() {
    let Some(desk) = Desk::as_root() else { return };
    let (path, knob) = knob(&desk, "knob", "a");
    let (socket, metrics) = (desk.beside("notify"), desk.beside("guard.prom"));
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let heard = |what: &str| {
        let mut bytes = [0; 512];
        loop {
            let got = manager.recv(&mut bytes).unwrap_or_else(|error| panic!("waited in vain for {what}: {error}"));
            let told = String::from_utf8_lossy(&bytes[..got]).into_owned();
            if told.contains(what) {
                return told;
            }
        }
    };
    let file = metrics.display().to_string();
    let mut command = desk.command(&["guard", &format!("{knob}=a"), "--textfile", &file]);
    command.env("NOTIFY_SOCKET", &socket);
    let guarding = Guarding::of(&desk, command);
    assert_eq!(heard("READY=1"), "READY=1\nSTATUS=1 place, all as wanted; 0 changes by others");
    assert!(text(&metrics).contains(&format!("powerband_guard_as_wanted{{knob=\"{knob}\",site=\"-\"}} 1\n")));
    let other = writer(&format!("echo b > {}", path.display()));
    heard("STATUS=1 place, 1 not as wanted; 1 changes by others, the last by ");
    until("it is counted", || text(&metrics).contains("as_wanted{") && text(&metrics).contains("\"} 0\n"));
    let counted = text(&metrics);
    assert!(
        counted.contains("powerband_guard_foreign_changes_total{knob=") && counted.ends_with("# EOF\n"),
        "{counted}"
    );
    end(other);
    assert!(text(&guarding.out).contains(": a → b, by pid "), "{}", text(&guarding.out));
    assert_eq!(guarding.stop(Signal::TERM), Some(0));
    heard("STOPPING=1");
}

#[test]
fn coalescing_is_held_against_ethtool() {
    if !root() || !has("ethtool") {
        return;
    }
    let (desk, there) = (Desk::new(), Namespace::new("held"));
    there.run("ip", &["tuntap", "add", "dev", "t0", "mode", "tap"]);
    let guarding = Guarding::of(&desk, there.command(&desk, &["guard", "--json", "--hold", "rx-frames@t0=7"]));
    let frames = |value: &str| there.powerband(&desk, &["get", "rx-frames@t0"]).ended(0).out.contains(value);
    assert!(frames("= 7\n"), "set at the beginning");
    there.run("ethtool", &["-C", "t0", "rx-frames", "9"]);
    until("it is set again", || guarding.lines().iter().any(|line| line["outcome"] == "set_again") && frames("= 7\n"));
    assert_eq!(guarding.stop(Signal::TERM), Some(0));
    there.powerband(&desk, &["undo"]).ended(0);
    assert!(frames("= 0\n"));
}

#[test]
fn what_cannot_be_guarded_is_one_sentence() {
    let desk = Desk::new();
    if !Path::new(powerband_persist::MANIFEST).exists() {
        assert!(desk.run(&["guard"]).refused(2).contains("`powerband guard governor=performance`"));
    }
    assert!(desk.run(&split("guard governor=performance --machine sim:pc")).refused(4).contains("sim mount pc"));
    assert!(desk.run(&split("guard governor=performance --machine sh:true")).refused(2).contains("start it there"));
    let (_, knob) = knob(&desk, "knob", "a");
    desk.run(&["guard", "--once", "--hold", &format!("{knob}=a")]).ended(2);
    assert!(desk.run(&["guard", &format!("{knob}=a"), &format!("{knob}=b")]).refused(2).contains("twice"));
}

#[test]
fn a_governor_is_held_on_every_policy_against_cpupower() {
    if !root() || !has("cpupower") {
        return;
    }
    let _alone = machine_alone();
    let body = r#"
wait_for() { n=0; until eval "$1"; do n=$((n+1)); [ $n -lt 1800 ] || { cat "$D.says" "$D.guard"; exit 9; }; sleep 0.1; done; }
"$P" set governor=performance >/dev/null
"$P" guard --hold governor=performance --json >"$D.guard" 2>"$D.says" & W=$!
wait_for 'grep -q "Ctrl-C ends it" "$D.says"'
cpupower -c all frequency-set -g powersave & C=$!; wait $C; echo "cpupower was $C"
wait_for 'grep -q set_again "$D.guard"'
wait_for '"$P" guard --once governor=performance'
kill -TERM $W; wait $W; echo "guard ended $?"
cat "$D.guard"
"$P" undo --all >/dev/null; "$P" get governor
"#;
    let Some(ran) = script("quadcore", "", body) else { return };
    let ran = ran.ended(0);
    holds(&ran.out, &["guard ended 0\n", "as wanted at 4 of 4 places\n", "policy0 (cpus 0) = ondemand\n"]);
    let pid: u32 = ran.out.lines().find_map(|line| line.strip_prefix("cpupower was ")?.parse().ok()).unwrap();
    let lines: Vec<Value> = ran
        .out
        .lines()
        .filter(|line| line.starts_with("{\"v"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let sites: std::collections::BTreeSet<&str> = lines.iter().map(|line| line["site"].as_str().unwrap()).collect();
    assert_eq!(Vec::from_iter(sites), ["policy0", "policy1", "policy2", "policy3"], "{}", ran.out);
    assert!(lines.iter().all(|line| line["by"][0]["pid"] == pid), "{}", ran.out);
}

/// TuneD with a profile of its own, among the files of a simulated machine; systemd is there as far as `why` asks.
const TUNED: &str = r#"
set -e
mkdir -p /var/log/tuned
mount -t tmpfs none /run; mkdir -p /run/systemd/system /run/tuned
mount --bind "$T" /etc/tuned; mount -t tmpfs none /var/log/tuned
wait_for() { n=0; until eval "$1"; do n=$((n+1)); [ $n -lt 1800 ] || { cat /run/tuned/log "$T.err" "$T.out" >&2; exit 9; }; sleep 0.1; done; }
"$P" guard --hold governor=performance --json >"$T.out" 2>"$T.err" & G=$!
wait_for 'grep -q "Ctrl-C ends it" "$T.err"'
tuned --no-dbus --no-socket --profile ours --pid /run/tuned/pid --log /run/tuned/log >&2 & D=$!
wait_for 'grep -q set_again "$T.out"'
wait_for '"$P" guard --once governor=performance >&2'
kill -TERM $D; wait $D
kill -TERM $G; wait $G
cat "$T.out"
"#;

#[test]
fn a_daemon_is_named_with_the_line_of_its_configuration() {
    if !root() || !has("tuned") {
        return;
    }
    let (_alone, desk) = (machine_alone(), Desk::new());
    let etc = desk.beside("tuned");
    fs::create_dir_all(etc.join("ours")).unwrap();
    for (name, text) in [
        ("tuned-main.conf", "daemon = 1\ndynamic_tuning = 0\n"),
        ("active_profile", "ours\n"),
        ("profile_mode", "manual\n"),
        ("ours/tuned.conf", "[main]\nsummary=ours\n[cpu]\ngovernor=ondemand\n"),
    ] {
        fs::write(etc.join(name), text).unwrap();
    }
    let mut command = desk.command(&["sim", "enter", "pc", "--", "sh", "-c", TUNED]);
    command.env("T", &etc).env("P", env!("CARGO_BIN_EXE_powerband"));
    let ran = Ran::of(&command.output().unwrap()).ended(0);
    let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    assert_eq!((&first["by"][0]["program"], &first["outcome"]), (&"tuned".into(), &"set_again".into()), "{first}");
    let line = &first["configured"];
    assert_eq!(
        (&line["path"], &line["line"], &line["of_writer"]),
        (&"/etc/tuned/ours/tuned.conf".into(), &4.into(), &true.into()),
        "{first}"
    );
}

#[test]
fn what_is_kept_is_held_without_naming_it() {
    let body = r#"
"$P" keep governor=powersave >/dev/null
"$P" guard --hold >"$D.guard" 2>"$D.says" & W=$!
wait_for() { n=0; until eval "$1"; do n=$((n+1)); [ $n -lt 1800 ] || { cat "$D.says" "$D.guard"; exit 9; }; sleep 0.1; done; }
wait_for 'grep -q "Ctrl-C ends it" "$D.says"'; cat "$D.says"
sh -c 'echo performance >/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor; exec sleep 1'
wait_for 'grep -q "set again" "$D.guard"'
"$P" check
"$P" keep governor=ondemand >/dev/null
# While it takes up what is kept now.
sh -c 'echo performance >/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor; exec sleep 1'
wait_for 'grep -q "policy1: .* performance, by pid " "$D.guard"' && echo "policy1 named"
wait_for '"$P" check'
wait_for '[ "$(grep -c "Ctrl-C ends it" "$D.says")" -ge 2 ]'
"$P" unkeep >/dev/null
wait $W; echo "guard ended $?"
cat "$D.guard" "$D.says"
"#;
    let _alone = root().then(machine_alone);
    let Some(ran) = with_etc(body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "holding 4 settings at 4 places",
            "4 of 4 kept settings are in force\n",
            "guard ended 0\n",
            "cpufreq.governor@policy2: powersave → performance, by pid ",
            "policy1 named\n",
            "nothing is kept any more",
        ],
    );
}
