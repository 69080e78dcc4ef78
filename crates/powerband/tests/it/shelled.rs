//! Machines behind a bare POSIX shell: busybox's and dash, in namespaces, on a console, over a cable that fails.
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::cabled::{Cable, FAR, crossing, nothing_crossed, sh};
use crate::desk::{Desk, Ran, Started, root, split, text, until};
use crate::elsewhere::Namespace;

const SHELLS: [&str; 2] = ["busybox sh", "dash"];

/// A desk, and the folder of a machine that has a shell and a file to turn.
struct Bare {
    near: Desk,
    far: Desk,
    shell: &'static str,
}

impl Bare {
    fn new(shell: &'static str) -> Bare {
        let bare = Bare { near: Desk::new(), far: Desk::new(), shell };
        fs::write(bare.far.beside("knob"), "there\n").unwrap();
        fs::create_dir(bare.far.beside("tmp")).unwrap();
        bare
    }

    fn way(&self) -> String {
        let temporary = self.far.beside("tmp");
        format!(
            "env 'POWERBAND_STATE_DIR={}' 'TMPDIR={}' {}",
            self.far.state().display(),
            temporary.display(),
            self.shell
        )
    }

    fn name(&self) -> String {
        format!("sh:{}", self.way())
    }

    fn reads(&self) -> String {
        text(&self.far.beside("knob"))
    }

    /// What holds the lock there.
    fn holder(&self) -> String {
        fs::read_to_string(self.far.state().join("sh/lock/who")).unwrap_or_default()
    }

    /// Whether it is as before us: nothing turned, nothing of ours but an empty ledger or one with everything closed, and no
    /// temporary folder.
    fn is_clean(&self) -> bool {
        let names = fs::read_dir(self.far.state().join("sh")).unwrap().map(|entry| entry.unwrap().file_name());
        let ledger = text(&self.far.state().join("sh/ledger"));
        let (begun, closed) =
            (ledger.matches("\"record\":\"intent\"").count(), ledger.matches("\"record\":\"closed\"").count());
        let temporary = fs::read_dir(self.far.beside("tmp")).unwrap().count();
        self.reads() == "there\n" && begun == closed && names.collect::<Vec<_>>() == ["ledger"] && temporary == 0
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.near.run(&[&["--machine", &self.name()], words].concat())
    }

    /// `with` its file turned, once that is so and the load runs; the load's process.
    fn holding(&self, value: &str) -> (Started, Pid) {
        let loads = self.far.beside("load");
        let _ = fs::remove_file(&loads);
        let set = format!("{}={value}", self.far.knob("knob"));
        let script = format!("echo $$ > {}.new; mv {0}.new {0}; exec sleep 1000", loads.display());
        let held = self.near.start(&["--machine", &self.name(), "with", &set, "--", "sh", "-c", &script]);
        until("the load runs", || loads.exists());
        assert_eq!(self.reads(), format!("{value}\n"));
        (held, Pid::from_raw(text(&loads).trim().parse().unwrap()).unwrap())
    }

    fn is_over(&self, load: Pid) {
        until("the far side is back", || self.is_clean());
        // One that ended and that nobody has reaped yet is over.
        let stat = format!("/proc/{}/stat", load.as_raw_nonzero());
        until("the load is over", || fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z")));
    }
}

#[test]
fn a_file_behind_a_shell_is_read_turned_and_put_back() {
    for shell in SHELLS {
        let bare = Bare::new(shell);
        let knob = bare.far.knob("knob");
        let shown = bare.run(&["get", &knob]).ended(0).out;
        assert!(shown.contains("= there"), "{shown}");
        assert!(!bare.far.state().exists(), "looking makes nothing");
        bare.run(&["set", &format!("{knob}=2")]).ended(0);
        assert_eq!(bare.reads(), "2\n");
        let listed = bare.run(&["undo", "--list"]).ended(0).out;
        assert!(listed.contains("was there"), "{listed}");
        bare.run(&["undo"]).ended(0);
        assert!(bare.is_clean(), "{shell}");
        let with = ["with", &format!("{knob}=5"), "--", "sh", "-c", "cat \"$0\"; echo oh >&2; exit 3", &knob[5..]];
        let with = bare.run(&with).ended(3);
        assert_eq!((with.out.as_str(), with.err.as_str()), ("5\n", "oh\n"));
        assert!(bare.is_clean(), "{shell}");
        let absent = bare.run(&["with", &format!("{knob}=5"), "--", "no-such-program"]).refused(7);
        assert!(absent.contains("no program 'no-such-program'"), "{absent}");
        let why = bare.run(&["get", "file:/no/such"]).refused(4);
        assert!(why.contains("/no/such"), "{why}");
        assert!(bare.is_clean(), "{shell}");
    }
}

#[test]
fn what_fails_to_be_restored_behind_a_shell_is_worded_by_that_shell() {
    let mut bare = Bare::new("dash");
    // A `cat` there that writes the file no more once it is told so.
    let (programs, broken) = (bare.far.beside("programs"), bare.far.beside("broken"));
    let (cat, file) = (programs.join("cat"), bare.far.beside("knob").display().to_string());
    fs::create_dir(&programs).unwrap();
    let script = format!(
        "#!/bin/sh\n[ -e '{}' ] && [ \"$(readlink /proc/$$/fd/1)\" = '{file}' ] && {{ echo 2; echo 'cat: the card fell out' >&2; exit 1; }}\n\
         exec /bin/cat \"$@\"\n",
        broken.display()
    );
    fs::write(&cat, script).unwrap();
    fs::set_permissions(&cat, fs::Permissions::from_mode(0o755)).unwrap();
    bare.shell = format!("env PATH={}:/usr/bin:/bin dash", programs.display()).leak();
    bare.run(&["set", &format!("{}=2", bare.far.knob("knob"))]).ended(0);
    fs::write(&broken, "").unwrap();
    let why = bare.run(&["undo"]).refused(6);
    assert!(why.contains(&format!("({file}: cat: the card fell out)")), "{why}");
    fs::remove_file(&broken).unwrap();
    bare.run(&["undo"]).ended(0);
}

#[test]
fn awkward_texts_and_names_arrive_as_they_are() {
    let values = [
        "it's",
        "\"a\" `b` $(reboot) ${HOME} $$",
        "back\\slash \\n \\",
        "-n",
        "-",
        "two\nlines",
        "%s %d",
        "ä→😀",
        "*",
        "~",
        "a  b\t!c",
    ];
    for shell in SHELLS {
        let bare = Bare::new(shell);
        let path = bare.far.beside("a 'b' \"c\" $d\\e ä\n-f");
        fs::write(&path, "there\n").unwrap();
        let name = path.display().to_string();
        for value in values {
            // The file is read while it is turned, by the near side and by the load.
            let ran = bare.run(&["with", &format!("file:{name}={value}"), "--", "cat", &name]).ended(0);
            assert_eq!(ran.out, format!("{value}\n"), "{shell}");
            assert_eq!(text(&path), "there\n", "{shell} {value:?}");
        }
        let long = "0123456789 'x' ".repeat(400);
        let ran = bare.run(&["with", &format!("file:{name}={}", long.trim()), "--", "wc", "-c", "--", &name]).ended(0);
        assert_eq!(ran.out.split_whitespace().next(), Some(long.len().to_string().as_str()));
        // Arguments of loads, too.
        let set = format!("{}=1", bare.far.knob("knob"));
        let said = bare.run(&["with", &set, "--", "printf", "%s|", "it's", "$(x)", "", "two\nlines", "ä"]);
        assert_eq!(said.ended(0).out, "it's|$(x)||two\nlines|ä|");
        assert!(bare.is_clean());
        fs::write(bare.far.beside("bytes"), b"\xff\xfe\0").unwrap();
        let shown = bare.run(&["get", &bare.far.knob("bytes")]).ended(4);
        assert!(shown.out.is_empty() && shown.err.contains("EILSEQ"), "{}\n{}", shown.out, shown.err);
    }
}

#[test]
fn the_settings_of_a_namespace_are_compared_through_its_shell() {
    if !root() {
        return;
    }
    const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";
    let here = text(Path::new(SOMAXCONN));
    for (number, shell) in SHELLS.into_iter().enumerate() {
        let bare = Bare::new(shell);
        let there = Namespace::new(&format!("shell{number}"));
        let name = format!("sh:ip netns exec {} {}", there.name(), bare.way());
        let run = |words: &[&str]| bare.near.run(&[&["--machine", &name], words].concat());
        let before = there.read(SOMAXCONN);
        run(&["set", "sysctl.net.core.somaxconn=1234"]).ended(0);
        assert_eq!(there.read(SOMAXCONN), "1234");
        // Another namespace's shell leaves it alone.
        let why = bare.run(&["undo"]).refused(1);
        assert!(why.contains("namespace"), "{why}");
        run(&["undo"]).ended(0);
        assert_eq!((there.read(SOMAXCONN), text(Path::new(SOMAXCONN))), (before.clone(), here.clone()));
        // What the kernel refuses has its name in any shell.
        let why = run(&["set", "sysctl.net.core.somaxconn=nonsense"]).refused(2);
        assert!(why.contains("EINVAL"), "{why}");

        let seen = bare.near.beside("seen");
        let script = format!("cat {SOMAXCONN} >> {}", seen.display());
        let words = split("try -s a: -s b:sysctl.net.core.somaxconn=77 --settle 0 --warmup 0 --blocks 2 --repeat 1");
        let report = run(&[&["--json"], &words[..], &["--", "sh", "-c", &script]].concat()).ended(0).report();
        assert_eq!(report.settings.len(), 2);
        assert!(crate::desk::typical(&report, "b", "real_s") > 0.0);
        let seen = text(&seen);
        assert_eq!((seen.lines().filter(|line| *line == "77").count(), seen.lines().count()), (2, 4), "{seen}");

        let plan = bare.near.beside("plan.toml");
        let settings =
            "settings = [\"a:\", \"b:sysctl.net.core.somaxconn=78\"]\nblocks = 2\nwarmup = 0\nsettle = \"0s\"\n";
        let load = "[load]\nkind = \"command\"\nargv = [\"true\"]\n";
        fs::write(&plan, format!("machine = \"{name}\"\n{settings}{load}")).unwrap();
        bare.near.run(&["run", &plan.display().to_string()]).ended(0);
        assert_eq!(there.read(SOMAXCONN), before);
    }
}

#[test]
fn what_a_shell_cannot_do_is_refused_in_a_sentence() {
    let bare = Bare::new("dash");
    let b = format!("b:{}=7", bare.far.knob("knob"));
    let why = bare.run(&split(&format!("try -s a: -s `{b}` --load counter --for 1s"))).refused(4);
    assert!(why.contains("there is only a shell") && why.contains("ssh:HOST"), "{why}");
    assert_eq!(bare.reads(), "there\n");
}

#[test]
fn what_nobody_confirms_goes_back_behind_a_shell() {
    let bare = Bare::new("dash");
    let ran = bare.run(&["set", &format!("{}=1", bare.far.knob("knob")), "--confirm-within", "1s"]).ended(1);
    assert!(ran.err.contains("nobody confirmed within 1 s: everything was restored"), "{}", ran.err);
    assert_eq!(bare.reads(), "there\n");
}

#[test]
fn a_killed_owner_and_a_killed_shell_leave_nothing() {
    for shell in SHELLS {
        let bare = Bare::new(shell);
        let (held, load) = bare.holding("7");
        held.signal(Signal::KILL);
        bare.is_over(load);
        held.end();

        let (held, load) = bare.holding("8");
        let holder = bare.holder();
        let main = holder.split(' ').next().unwrap().parse().unwrap();
        kill_process(Pid::from_raw(main).unwrap(), Signal::KILL).unwrap();
        let why = held.end().ended(8).err;
        assert!(why.contains("lost the near machine"), "{why}");
        bare.is_over(load);
        // The next one finds a ledger with everything closed.
        bare.run(&["set", &format!("{}=9", bare.far.knob("knob"))]).ended(0);
        let ran = bare.run(&["undo"]).ended(0);
        assert!(bare.is_clean(), "{}", ran.err);
    }
}

#[test]
fn a_load_that_kills_the_shell_that_waits_for_it_has_an_end() {
    for shell in SHELLS {
        let bare = Bare::new(shell);
        let knob = format!("file:{}=x", bare.far.beside("knob").display());
        for script in ["kill -9 $PPID", "kill -9 $PPID; sleep 1000"] {
            let ended = bare.run(&["with", &knob, "--", "sh", "-c", script]);
            assert_eq!((ended.code, bare.is_clean()), (Some(128 + 9), true), "{shell}: {}\n{}", ended.out, ended.err);
        }
    }
}

#[test]
fn a_shell_whose_owner_is_killed_before_anything_is_held_leaves_nothing() {
    for shell in SHELLS {
        let bare = Bare::new(shell);
        let words = ["--machine", &bare.name(), "try", "-s", "a:", "-s", "b:", "--warmup", "0", "--settle", "100s"];
        let settling = bare.near.start(&[&words[..], &["--", "true"]].concat());
        until("the shell is ours", || !bare.holder().is_empty());
        settling.signal(Signal::KILL);
        settling.end();
        let names = |folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let left =
            || names(bare.far.state().join("sh")).filter(|name| name != "ledger").chain(names(bare.far.beside("tmp")));
        until("nothing is left", || left().count() == 0);
    }
}

#[test]
fn what_a_killed_shell_and_its_killed_watchdog_leave_the_next_one_removes() {
    for shell in SHELLS {
        let bare = Bare::new(shell);
        let (held, load) = bare.holding("8");
        let main = bare.holder().split(' ').next().unwrap().to_owned();
        let watch = format!("{}/sh/held.{main}/watch", bare.far.state().display());
        let watchdog = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let watchdog = watchdog.filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == watch.as_bytes())
        });
        for pid in watchdog.collect::<Vec<_>>().iter().chain([&main]) {
            kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
        }
        held.end().ended(8);
        assert!(!bare.is_clean(), "nobody was there to restore");
        // Whatever takes the shell next restores first.
        bare.run(&["with", &format!("{}=9", bare.far.knob("knob")), "--", "true"]).ended(0);
        bare.is_over(load);
    }
}

#[test]
fn a_cut_connection_is_resumed_when_it_is_back() {
    let bare = Bare::new("busybox sh");
    let name = format!("sh:sh -c \"cat | {} | cat\"", bare.way());
    let b = format!("b:{}=7", bare.far.knob("knob"));
    let runs = bare.near.beside("runs");
    let script = format!("grep -q 7 {} && echo > {}; exec sleep 2", bare.far.beside("knob").display(), runs.display());
    let words = format!("--machine `{name}` try -s a: -s `{b}` --settle 0 --warmup 0 -- sh -c `{script}`");
    let words = split(&words);
    let running = bare.near.start(&words);
    until("b is measured", || runs.exists());
    let cats = crate::rigged::cats_of(running.pid());
    assert_eq!(cats.len(), 2);
    cats.iter().for_each(|&cat| kill_process(cat, Signal::KILL).unwrap());
    let why = running.end().ended(8).err;
    assert!(why.contains("lost the near machine") && why.contains("resume"), "{why}");
    until("the far side is back", || bare.is_clean());

    fs::remove_file(&runs).unwrap();
    let again = bare.near.start(&["resume"]);
    until("b is measured again", || runs.exists());
    again.signal(Signal::INT);
    again.end().ended(130);
    assert!(bare.is_clean());
}

#[test]
fn one_holder_at_a_time_and_the_other_is_told_who() {
    let bare = Bare::new("dash");
    let (held, load) = bare.holding("6");
    let why = bare.run(&["set", &format!("{}=1", bare.far.knob("knob"))]).refused(8);
    assert!(why.contains(&format!("powerband {} on ", held.pid())), "{why}");
    let shown = bare.run(&["info", "turned"]).ended(0).out;
    assert!(shown.contains("held there") && shown.contains(&held.pid().to_string()), "{shown}");
    assert_eq!(bare.reads(), "6\n");
    held.signal(Signal::TERM);
    held.end().ended(130);
    bare.is_over(load);
    // A lock whose holder is gone is nobody's; one of another boot, too.
    for who in ["1 1 another-boot\npowerband 1 on nowhere\n", "999999999 1 x\nnobody\n", ""] {
        let lock = bare.far.state().join("sh/lock");
        fs::create_dir(&lock).unwrap();
        fs::write(lock.join("who"), who).unwrap();
        bare.run(&["set", &format!("{}=1", bare.far.knob("knob"))]).ended(0);
        bare.run(&["undo"]).ended(0);
        assert!(bare.is_clean());
    }
}

#[test]
fn a_console_that_echoes_and_prompts_is_spoken_to_as_well() {
    for shell in ["busybox sh -i", "dash -i"] {
        let bare = Bare::new(shell);
        let name = format!("sh:script -qfc \"{}\" /dev/null", bare.way());
        let set = format!("{}=it's \\ \"5\"", bare.far.knob("knob"));
        let words = ["--machine", &name, "with", &set, "--", "cat", &bare.far.knob("knob")[5..]];
        let ran = bare.near.run(&words).ended(0);
        assert_eq!(ran.out, "it's \\ \"5\"\n", "{shell}");
        assert!(bare.is_clean(), "{shell}");
    }
}

#[test]
fn what_is_no_shell_costs_one_sentence() {
    let desk = Desk::new();
    // All at once: two of them take the time that a shell has to answer.
    let cases = [
        ("sh:/nowhere/at/all", 2, "check its spelling"),
        ("sh:false", 8, "ended before a shell answered"),
        ("sh:echo hello", 8, "it prints 'hello'"),
        ("sh:sh 'a", 2, "is not closed"),
        ("sh:cat", 8, "no shell answered"),
        ("sh:sleep 1000", 8, "no shell answered"),
        ("sh:sh -c 'read l; read l; read l; echo; echo [x R 1 0]; cat /dev/zero'", 8, "cannot reach"),
    ]
    .map(|(far, code, says)| {
        let words = format!("--peer-timeout 20s --far `{far}` get far/file:/etc/hostname");
        let words = split(&words);
        (desk.start(&words), code, says)
    });
    for (started, code, says) in cases {
        let sentence = started.end().refused(code);
        assert!(sentence.contains(says), "{sentence}");
    }
}

/// A shell in the far namespace behind a TCP port, which has no rights to ask for.
struct Served {
    bare: Bare,
    cable: Cable,
    child: Child,
}

impl Served {
    fn new() -> Option<Served> {
        let cable = Cable::new()?;
        let bare = Bare::new("busybox sh");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &cable.far, "busybox", "nc", "-ll", "-p", "2323", "-e", "busybox", "sh"]);
        command.env("POWERBAND_STATE_DIR", bare.far.state()).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().unwrap();
        let listens = format!("ip netns exec {} busybox netstat -ltn", cable.far);
        until("it listens", || sh(&listens).contains(":2323"));
        Some(Served { bare, cable, child })
    }

    fn command(&self, words: &[&str]) -> Command {
        let name = format!("sh:busybox nc {FAR} 2323");
        self.cable.command(&self.bare.near, &[&["--far", &name], words].concat())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn packets_that_no_longer_come_are_a_loss_for_the_shell_and_for_us() {
    let Some(served) = Served::new() else { return };
    let b = format!("b:far/{}=7", served.bare.far.knob("knob"));
    let words = format!("try -s a: -s `{b}` --settle 0 --warmup 0 --load counter --for 2s");
    let words = split(&words);
    let child = served.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("it is turned", || served.bare.reads() == "7\n");
    sh(&format!("ip -n {} link set cable down", served.cable.far));
    let ran = Ran::of(&child.wait_with_output().unwrap()).ended(8);
    assert!(ran.err.contains("lost the far machine"), "{}", ran.err);
    until("the far side is back", || served.bare.is_clean());
}

#[test]
fn while_a_trial_is_measured_nothing_goes_to_the_shell() {
    let Some(served) = Served::new() else { return };
    let seen = served.bare.near.beside("seen");
    let script = crossing(&seen);
    let b = format!("b:far/{}=7", served.bare.far.knob("knob"));
    let words = format!("try -s a: -s `{b}` --settle 0 --warmup 0 --blocks 1 -- sh -c `{script}`");
    let words = split(&words);
    Ran::of(&served.command(&words).output().unwrap()).ended(0);
    nothing_crossed(&seen);
    assert!(served.bare.is_clean());
}

/// Who may move a folder on the way could put another ledger in the place of root's.
#[test]
fn as_root_a_ledger_below_somebody_elses_folder_is_not_used() {
    if !root() {
        return;
    }
    for shell in SHELLS {
        let bare = Bare::new(shell);
        let set = ["set", &format!("{}=2", bare.far.knob("knob"))];
        let state = bare.far.state();
        for above in [state.clone(), state.parent().unwrap().to_owned()] {
            fs::create_dir_all(&state).unwrap();
            let (uid, mode) = {
                let found = fs::metadata(&above).unwrap();
                (std::os::unix::fs::MetadataExt::uid(&found), found.permissions())
            };
            let why = |bare: &Bare| bare.run(&set).refused(8);
            std::os::unix::fs::chown(&above, Some(65_534), None).unwrap();
            let theirs = why(&bare);
            assert!(theirs.contains("in which nobody else may write"), "{theirs}");
            std::os::unix::fs::chown(&above, Some(uid), None).unwrap();
            fs::set_permissions(&above, fs::Permissions::from_mode(0o777)).unwrap();
            assert_eq!(why(&bare), theirs, "{shell}");
            assert_eq!(bare.reads(), "there\n");
            // As /tmp is.
            fs::set_permissions(&above, fs::Permissions::from_mode(0o1777)).unwrap();
            bare.run(&set).ended(0);
            bare.run(&["undo"]).ended(0);
            fs::set_permissions(&above, mode).unwrap();
            assert!(bare.is_clean());
        }
    }
}
