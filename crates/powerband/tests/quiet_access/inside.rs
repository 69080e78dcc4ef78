//! What every test here begins with: itself among the files of a simulated machine, and a service that runs there.
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::desk::{Ran, split};

/// Set for a test that runs among the files of the simulated machine.
const INSIDE: &str = "POWERBAND_TEST_INSIDE";
/// The machine: four CPUs, each with a policy of its own.
const MACHINE: &str = "pc";
/// How long anything may take that is waited for here; far beyond what it takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// A user that nobody is.
pub(crate) const ALICE: u32 = 64_101;
/// Another.
pub(crate) const BOB: u32 = 64_102;
/// Where cpufreq is.
pub(crate) const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// A service by this policy and the state before it, if the test goes on: as root, among the simulated machine's files. Elsewhere it runs itself
/// there first.
pub(crate) fn served(policy: &str) -> Option<(Service, BTreeMap<String, String>)> {
    inside().then(|| (Service::with(policy), state()))
}

pub(crate) fn inside() -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    // A test's thread is called after it.
    let thread = std::thread::current();
    let test = thread.name().unwrap();
    let must = std::env::var("CI").is_ok_and(|value| value == "true");
    if !rustix::process::geteuid().is_root() {
        assert!(!must, "this test needs root, and CI=true lets nothing be skipped");
        eprintln!("skipped: needs root");
        return false;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_powerband"));
    command.args(["sim", "enter", MACHINE, "--"]).arg(std::env::current_exe().unwrap());
    command
        .args(split(&format!("--exact `{test}` --nocapture --test-threads 1")))
        .env(INSIDE, "1")
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.contains("1 passed"), "{test} is the name of no test: {out}");
    false
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A service that runs.
pub(crate) struct Service {
    folder: TempDir,
    pub(crate) child: Child,
}

impl Service {
    /// Begins one by this policy.
    pub(crate) fn with(policy: &str) -> Service {
        // A switch from ondemand takes its tunables along.
        for policy in
            fs::read_dir(CPUFREQ).unwrap().flatten().filter(|it| it.file_name().to_string_lossy().starts_with("policy"))
        {
            fs::write(policy.path().join("scaling_governor"), "ondemand").unwrap();
        }
        fs::write(format!("{CPUFREQ}/ondemand/up_threshold"), "71").unwrap();
        let folder = TempDir::new().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(folder.path().join("access.toml"), policy).unwrap();
        fs::set_permissions(folder.path().join("access.toml"), fs::Permissions::from_mode(0o644)).unwrap();
        let child = Service::start(folder.path());
        let mut service = Service { folder, child };
        service.wait();
        service
    }

    fn start(folder: &Path) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_powerband"));
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        command
            .args(["service", "--policy"])
            .arg(folder.join("access.toml"))
            .arg("--socket")
            .arg(folder.join("socket"));
        command.env("POWERBAND_STATE_DIR", folder.join("state")).stdin(Stdio::null()).stderr(log);
        command.spawn().unwrap()
    }

    fn wait(&mut self) {
        for _ in 0..20_000 {
            if self.log().contains("serving at") && self.socket().exists() {
                return;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "no service: {}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("the service does not listen: {}", self.log());
    }

    /// After it was killed.
    pub(crate) fn start_again(&mut self) {
        let _ = fs::remove_file(self.folder.path().join("log"));
        self.child = Service::start(self.folder.path());
        self.wait();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// The command as a user, who is said of this service.
    pub(crate) fn user(&self, uid: u32, words: &[&str]) -> Command {
        let home = self.path(&format!("home-{uid}"));
        if !home.exists() {
            fs::create_dir(&home).unwrap();
            std::os::unix::fs::chown(&home, Some(uid), Some(uid)).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_powerband"));
        command.args(words).current_dir(&home).stdin(Stdio::null()).uid(uid).gid(uid);
        command
            .env("HOME", &home)
            .env("POWERBAND_STATE_DIR", home.join("state"))
            .env("POWERBAND_SERVICE", self.socket());
        for name in ["POWERBAND_MACHINE", "POWERBAND_STORE", "POWERBAND_SEED"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, uid: u32, words: &[&str]) -> Ran {
        Ran::of(&self.user(uid, words).output().unwrap())
    }

    /// The command as root, with the service's own state folder.
    pub(crate) fn root(&self, words: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_powerband"));
        command.args(words).env("POWERBAND_STATE_DIR", self.path("state")).stdin(Stdio::null());
        Ran::of(&command.output().unwrap())
    }

    pub(crate) fn kill(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
        self.child.wait().unwrap();
    }

    /// Processes that serve clients.
    pub(crate) fn sessions(&self) -> Vec<Pid> {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let pids = fs::read_to_string(children).unwrap_or_default();
        let lives = |pid: &&str| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
        };
        pids.split_whitespace().filter(lives).filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    }

    /// Talks to it as root does, whom a policy may name by number.
    pub(crate) fn talk(&self) -> Talk {
        let stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Talk { stream, last: 0 }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// A client of our own making.
pub(crate) struct Talk {
    pub(crate) stream: UnixStream,
    last: u64,
}

impl Talk {
    /// Says hello, and is welcome.
    pub(crate) fn welcome(mut self) -> Talk {
        let hello = json!({"hello": {"wire": powerband_machine::wire::WIRE_VERSION, "powerband": "0", "purpose": "measure", "doing": "a\nb"}});
        self.send(hello.to_string().as_bytes());
        let answer = self.hear().unwrap();
        assert!(answer.get("welcome").is_some(), "{answer}");
        self
    }

    /// One frame, whatever is in it.
    pub(crate) fn send(&mut self, json: &[u8]) {
        let length = u32::try_from(json.len()).unwrap().to_le_bytes();
        // The service may have gone already.
        let _ = self.stream.write_all(&[&length, json].concat());
    }

    /// The next message; none when it hangs up.
    pub(crate) fn hear(&mut self) -> Option<Value> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).ok()?;
        let mut json = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap()];
        self.stream.read_exact(&mut json).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// A call, and its answer.
    pub(crate) fn call(&mut self, call: &Value) -> Option<Value> {
        self.last += 1;
        self.call_numbered(self.last, call)
    }

    pub(crate) fn call_numbered(&mut self, number: u64, call: &Value) -> Option<Value> {
        self.last = number;
        self.send(json!({"call": [number, call]}).to_string().as_bytes());
        Some(self.hear()?["answer"][1].clone())
    }

    /// Asks for knobs, each with its site if one is written behind `@`; what was set, or why not.
    pub(crate) fn set(&mut self, knobs: &[&str]) -> Option<Result<Value, String>> {
        let knobs: Vec<Value> = knobs
            .iter()
            .map(|knob| {
                let (knob, value) = knob.rsplit_once('=').unwrap();
                match knob.split_once('@') {
                    Some((knob, site)) => json!({"knob": knob, "site": site, "value": value}),
                    None => json!({"knob": knob, "value": value}),
                }
            })
            .collect();
        let answer = self.call(&json!({"set": {"knobs": knobs}}))?;
        Some(match answer.get("Ok") {
            Some(set) => Ok(set.clone()),
            None => Err(answer["Err"]["why"].as_str().unwrap().to_owned()),
        })
    }

    /// Whether the service has hung up.
    pub(crate) fn is_over(&mut self) -> bool {
        self.hear().is_none()
    }
}

/// Every file of cpufreq and cpuidle that holds a setting.
pub(crate) fn state() -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    let mut folders = vec![PathBuf::from("/sys/devices/system/cpu")];
    while let Some(folder) = folders.pop() {
        // A governor's folder may go while we look.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && entry.metadata().is_ok_and(|found| found.permissions().mode() & 0o222 != 0) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                state.insert(path.display().to_string(), text);
            }
        }
    }
    assert!(state.len() > 10, "{state:?}");
    state
}

/// A file of the first policy.
#[track_caller]
pub(crate) fn reads(file: &str) -> String {
    fs::read_to_string(format!("{CPUFREQ}/policy0/{file}")).unwrap().trim().to_owned()
}
