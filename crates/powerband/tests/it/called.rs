//! Called through sudo: the load is the caller's, so is what is left in the caller's folders, and nobody keeps the
//! machine turned for a sudo that is gone.
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Desk, Ran, machine_alone, root, text, until};

/// The user nobody, who calls.
const NOBODY: u32 = 65534;

/// The quickest experiment on `knob`.
fn quick<'a>(setting: &'a str, load: &[&'a str]) -> Vec<&'a str> {
    let words = ["try", "-s", "a:", "-s", setting, "--settle", "0", "--warmup", "0", "--blocks", "2"];
    [&words[..], load].concat()
}

/// A desk next to a home of nobody's, with a knob in it.
struct Called {
    desk: Desk,
    home: PathBuf,
}

impl Called {
    fn new() -> Called {
        let desk = Desk::new();
        fs::set_permissions(desk.beside(""), fs::Permissions::from_mode(0o755)).unwrap();
        let home = desk.beside("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("knob"), "0\n").unwrap();
        for path in [&home, &home.join("knob")] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Called { desk, home }
    }

    fn knob(&self) -> String {
        format!("file:{}=1", self.home.join("knob").display())
    }

    fn at(&self, name: &str) -> String {
        self.home.join(name).display().to_string()
    }

    /// `program` as sudo would start it for nobody.
    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.desk.furnish(&mut command);
        for (name, value) in [("SUDO_UID", "65534"), ("SUDO_GID", "65534"), ("SUDO_USER", "nobody")] {
            command.env(name, value);
        }
        command.env("SUDO_COMMAND", program).env("HOME", "/root").env("XDG_CONFIG_HOME", "/root/.config");
        command.current_dir(&self.home).args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.command(env!("CARGO_BIN_EXE_powerband"), words).output().unwrap())
    }

    /// Everything in nobody's home that is not nobody's.
    fn not_his(&self) -> Vec<PathBuf> {
        fn search(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let about = entry.metadata().unwrap();
                if (about.uid(), about.gid()) != (NOBODY, NOBODY) {
                    found.push(entry.path());
                }
                if about.is_dir() {
                    search(&entry.path(), found);
                }
            }
        }
        let mut found = Vec::new();
        search(&self.home, &mut found);
        found
    }
}

#[test]
fn the_load_runs_as_who_called() {
    if !root() {
        return;
    }
    let called = Called::new();
    let script = "id -u; id -ru; id -g; id -G; pwd; echo \"$USER $LOGNAME $SUDO_UID$SUDO_USER$SUDO_COMMAND$MAIL$XDG_CONFIG_HOME.\"; \
                  echo \"$HOME\"; grep CapPrm /proc/self/status; cat knob; exit 7";
    let ran = called.run(&["with", &called.knob(), "--", "sh", "-c", script]).ended(7);
    let home = Command::new("sh").args(["-c", "echo ~nobody"]).output().unwrap();
    let home = String::from_utf8(home.stdout).unwrap();
    let groups = Command::new("id").args(["-G", "nobody"]).output().unwrap();
    let groups = String::from_utf8(groups.stdout).unwrap();
    let here = called.home.display();
    assert_eq!(
        ran.out,
        format!("65534\n65534\n65534\n{groups}{here}\nnobody nobody .\n{home}CapPrm:\t0000000000000000\n1\n")
    );
    assert_eq!(text(&called.home.join("knob")), "0\n");
    let ran = called.run(&["with", "--as-root", &called.knob(), "--", "sh", "-c", "id -u; echo $HOME"]).ended(0);
    assert_eq!(ran.out, "0\n/root\n");
}

#[test]
fn the_load_has_all_groups_of_who_called() {
    if !root() {
        return;
    }
    let called = Called::new();
    let group = called.desk.beside("group");
    fs::write(&group, "root:x:0:\nnogroup:x:65534:\naudio:x:29:eve,nobody\nadm:x:4:eve\nlab:x:4711:nobody\n").unwrap();
    let script = "mount --bind \"$0\" /etc/group && exec \"$@\"";
    let apart = ["--mount", "sh", "-c", script, group.to_str().unwrap(), env!("CARGO_BIN_EXE_powerband")];
    let words = ["with", &called.knob(), "--", "id", "-G"];
    let ran = Ran::of(&called.command("unshare", &[&apart[..], &words].concat()).output().unwrap()).ended(0);
    let mut groups: Vec<u32> = ran.out.split_whitespace().map(|number| number.parse().unwrap()).collect();
    groups.sort_unstable();
    assert_eq!(groups, [29, 4711, NOBODY]);
}

#[test]
fn experiments_run_their_loads_as_who_called() {
    if !root() {
        return;
    }
    let called = Called::new();
    // As mpirun and initdb do; and /dev/stdout is opened, not only written to.
    let picky = "test $(id -u) != 0 || exit 9; echo as $(id -un) > /dev/stdout";
    let setting = format!("b:{}", called.knob());
    called.run(&quick(&setting, &["--", "sh", "-c", picky])).ended(0);
    let journal = called.run(&["export", "--journal"]).ended(0).out;
    assert!(journal.contains("as nobody"), "{journal}");
    called.run(&quick(&setting, &["--as-root", "--", "sh", "-c", picky])).ended(7);
    called.run(&quick(&setting, &["--load", "counter", "--for", "20ms"])).ended(0);
    called.run(&quick(&setting, &["--load", "stream", "--for", "20ms"])).ended(0);
    assert_eq!(called.not_his(), Vec::<PathBuf>::new());
}

#[test]
fn built_in_loads_need_no_way_to_the_binary() {
    if !root() {
        return;
    }
    let called = Called::new();
    let hidden = called.desk.beside("hidden");
    fs::create_dir(&hidden).unwrap();
    // Copied by another process: what another test forks meanwhile would keep our copy open for writing, and busy.
    let copy = hidden.join("powerband");
    let mut install = Command::new("install");
    install.args(["-m", "755", env!("CARGO_BIN_EXE_powerband")]).arg(&copy);
    assert!(install.status().unwrap().success());
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o700)).unwrap();
    let setting = format!("b:{}", called.knob());
    let words = quick(&setting, &["--load", "counter", "--for", "20ms"]);
    // Nor a working folder that may be entered.
    let mut command = called.command(copy.to_str().unwrap(), &words);
    Ran::of(&command.current_dir(&hidden).output().unwrap()).ended(0);
}

#[test]
fn what_the_caller_may_not_execute_is_said_with_the_name() {
    if !root() {
        return;
    }
    let called = Called::new();
    let program = called.at("only-root");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let why = called.run(&["with", &called.knob(), "--", &program]).refused(7);
    assert!(why.contains("by nobody") && why.contains("--as-root"), "{why}");
    assert_eq!(text(&called.home.join("knob")), "0\n");
    called.run(&["with", "--as-root", &called.knob(), "--", &program]).ended(0);
}

#[test]
fn a_caller_who_is_gone_is_said_before_anything_is_turned() {
    if !root() {
        return;
    }
    let called = Called::new();
    let words = ["with", &called.knob(), "--", "touch", &called.at("ran")];
    let mut command = called.command(env!("CARGO_BIN_EXE_powerband"), &words);
    let why = Ran::of(&command.env("SUDO_UID", "3999999999").output().unwrap()).refused(2);
    assert!(why.contains("3999999999") && why.contains("--as-root"), "{why}");
    assert!(!called.desk.state().exists() && !called.home.join("ran").exists());
}

#[test]
fn what_is_made_in_the_callers_folders_is_the_callers() {
    if !root() {
        return;
    }
    let called = Called::new();
    let (setting, store) = (format!("b:{}", called.knob()), called.at("new/deep/x.sqlite"));
    // The database is open, with its log and index next to it, while the load runs.
    let look = format!("find {} -type f -printf '%u %f;'", called.home.display());
    let load = ["--store", &store, "--", "sh", "-c", &look];
    called.run(&quick(&setting, &load)).ended(0);
    let journal = called.run(&["--store", &store, "export", "--journal", "-o", &called.at("out")]).ended(0);
    assert_eq!(journal.out, "");
    let journal = text(&called.home.join("out"));
    assert!(journal.contains("nobody x.sqlite-wal") && journal.contains("nobody x.sqlite-shm"), "{journal}");
    called.run(&["set", &called.knob(), &format!("file:{}=2", called.at("fresh"))]).ended(0);
    assert_eq!(called.not_his(), Vec::<PathBuf>::new());
    called.run(&["undo", "--all"]).ended(0);
    assert!(!called.home.join("fresh").exists());
    assert_eq!(called.not_his(), Vec::<PathBuf>::new());
    // In the folder next to, which is root's, everything is root's as ever.
    assert_eq!(called.desk.state().join("ledger").metadata().unwrap().uid(), 0);
}

#[test]
fn a_link_of_the_callers_leads_only_where_the_caller_may_write() {
    if !root() {
        return;
    }
    let called = Called::new();
    called.run(&quick(&format!("b:{}", called.knob()), &["--", "true"])).ended(0);
    let secret = called.desk.beside("secret");
    fs::write(&secret, "root's").unwrap();
    let link = called.at("out");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    called.run(&["export", "--force", "-o", &link]).refused(3);
    called.run(&["--store", &link, "list"]).ended(8);
    assert_eq!(text(&secret), "root's");
}

#[test]
fn a_state_folder_of_the_callers_keeps_results_and_no_ledger() {
    if !root() {
        return;
    }
    let called = Called::new();
    let state = called.at("state");
    let setting = format!("b:{}", called.knob());
    let words = quick(&setting, &["--", "true"]);
    // Root's own folder is an empty one of this command's alone.
    let script =
        "mount -t tmpfs none /var/lib && \"$@\"; code=$?; find /var/lib -type f -printf '%u %p\\n'; exit $code";
    let apart = ["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_powerband")];
    let mut command = called.command("unshare", &[&apart[..], &words].concat());
    let ran = Ran::of(&command.env("POWERBAND_STATE_DIR", &state).output().unwrap()).ended(0);
    for kept in ["root /var/lib/powerband/ledger\n", "root /var/lib/powerband/lock\n"] {
        assert!(ran.out.contains(kept), "{}", ran.out);
    }
    assert!(!ran.out.contains("sqlite"), "{}", ran.out);
    assert_eq!(
        fs::read_dir(&state).unwrap().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>(),
        ["powerband.sqlite"]
    );
    assert_eq!(called.not_his(), Vec::<PathBuf>::new());
}

#[test]
fn root_does_nothing_that_somebody_else_wrote_down() {
    if !root() {
        return;
    }
    let called = Called::new();
    let desk = &called.desk;
    let knob = called.knob();
    desk.run(&["set", &knob]).ended(0);
    for (path, mode) in [(desk.state(), 0o700), (desk.state().join("ledger"), 0o600)] {
        let place = path.display().to_string();
        chown(&path, Some(NOBODY), None).unwrap();
        for words in [&["undo"][..], &["set", &knob], &["with", &knob, "--", "true"]] {
            let why = desk.run(words).refused(3);
            assert!(why.contains(&place) && why.contains("65534"), "{why}");
        }
        chown(&path, Some(0), None).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        let why = desk.run(&["undo"]).refused(3);
        assert!(why.contains(&place) && why.contains("others"), "{why}");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(text(&called.home.join("knob")), "1\n");
    desk.run(&["undo"]).ended(0);
    assert_eq!(text(&called.home.join("knob")), "0\n");
}

/// Whether a process lives; one nobody has reaped yet does not.
fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Starts `with` around a load that says who it is, kills what `victim` picks of the process started (by number) and
/// that load's parent, and looks whether everything is as before.
fn everything_is_back_after(program: &str, before: &[&str], victim: impl Fn(i32, i32) -> i32) {
    let _alone = machine_alone();
    let called = Called::new();
    let pid = called.home.join("pid");
    let script = "echo $$ $PPID $(id -u) > pid; exec sleep 300";
    let words = ["with", &called.knob(), "cgroup.cpu_quota=50%", "--", "sh", "-c", script];
    let mut command = called.command(program, &[before, &words].concat());
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the load runs", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    let said = text(&pid);
    let [load, owner, user] = said.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert_eq!((user, text(&called.home.join("knob")).as_str()), ("65534", "1\n"));
    assert!(text(Path::new(&format!("/proc/{load}/cgroup"))).contains(&format!("powerband-load-{owner}-")));
    let dies = victim(i32::try_from(child.id()).unwrap(), owner.parse().unwrap());
    kill_process(Pid::from_raw(dies).unwrap(), Signal::KILL).unwrap();
    let _ = child.wait().unwrap();
    until("the file is back", || text(&called.home.join("knob")) == "0\n");
    until("nobody is left", || !lives(load) && !lives(owner));
    until("the ledger is empty", || fs::read(called.desk.state().join("ledger")).is_ok_and(|bytes| bytes.is_empty()));
}

#[test]
fn a_killed_owner_leaves_no_load_of_the_callers() {
    if root() {
        everything_is_back_after(env!("CARGO_BIN_EXE_powerband"), &[], |_, owner| owner);
    }
}

#[test]
fn a_killed_sudo_leaves_nothing() {
    if !root() {
        return;
    }
    // Root calls sudo here, so that it names root as its caller; `env` puts nobody in its place and becomes us.
    let before = ["-n", "-E", "env", "SUDO_UID=65534", "SUDO_GID=65534", env!("CARGO_BIN_EXE_powerband")];
    everything_is_back_after("sudo", &before, |sudo, owner| {
        assert_ne!(sudo, owner);
        sudo
    });
}

#[test]
fn no_link_of_the_callers_leads_root_where_only_root_may_write() {
    if !root() {
        return;
    }
    let called = Called::new();
    let (secret, shared) = (called.desk.beside("secret"), called.desk.beside("shared"));
    // One that only root may write, and one that root's group may.
    for (path, mode) in [(&secret, 0o600), (&shared, 0o660)] {
        fs::write(path, "root's\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        std::os::unix::fs::symlink(path, called.home.join(name)).unwrap();
        let set = format!("file:{}=1", called.at(name));
        let why = called.run(&["set", &set]).refused(3);
        assert!(why.contains("permission denied"), "{why}");
        assert_eq!(text(path), "root's\n", "{mode:o}");
    }
    // A folder of the caller's that is a link of theirs by the time it is written to.
    let folder = called.desk.beside("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("file"), "root's\n").unwrap();
    std::os::unix::fs::symlink(&folder, called.home.join("folder")).unwrap();
    called.run(&["set", &format!("file:{}=1", called.at("folder/file"))]).refused(3);
    called.run(&["set", &format!("file:{}=1", called.at("folder/fresh"))]).refused(3);
    assert!(text(&folder.join("file")) == "root's\n" && !folder.join("fresh").exists());
    // What is the caller's own, and root's own file in the caller's folder, are written as before.
    called.run(&["with", &called.knob(), "--", "true"]).ended(0);
    let roots = called.home.join("roots");
    fs::write(&roots, "0\n").unwrap();
    fs::set_permissions(&roots, fs::Permissions::from_mode(0o600)).unwrap();
    let ran =
        called.run(&["with", "--as-root", &format!("file:{}=1", roots.display()), "--", "cat", &called.at("roots")]);
    assert_eq!(ran.ended(0).out, "1\n");
    assert_eq!(text(&roots), "0\n");
}
