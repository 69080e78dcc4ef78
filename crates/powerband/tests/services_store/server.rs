//! A PostgreSQL server, run by an ordinary user, as it refuses to run for root; each case has a database of its own on it.
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::desk::{Ran, split, until};
use crate::shared::{alone, at_end};

/// Its only user's password.
pub(crate) const SECRET: &str = "s3cr3t-word";

/// Its user, which Debian's package makes.
const OWNER: &str = "postgres";

/// A case's hold of the server, and its database.
pub(crate) struct Server {
    running: MutexGuard<'static, Option<Running>>,
    name: String,
}

struct Running {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    child: Option<Child>,
    _end: Child,
}

/// Where the server's programs are: the newest version, or none.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let found = versions.map(|entry| entry.path().join("bin"));
    found.filter(|folder| folder.join("initdb").exists()).max()
}

/// Number of the user and of its group.
fn owner() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(OWNER))?;
    let mut numbers = line.split(':').skip(2).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl Server {
    /// An empty database on a server that runs; none where it cannot, which in CI is a failure.
    pub(crate) fn new() -> Option<Server> {
        static SHARED: Mutex<Option<Running>> = Mutex::new(None);
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let here = programs().zip(owner()).filter(|_| rustix::process::geteuid().is_root());
        let must = std::env::var("CI").as_deref() == Ok("true");
        assert!(here.is_some() || !must, "this test needs PostgreSQL and root, and CI=true");
        let Some((programs, owner)) = here else {
            eprintln!("skipped: needs PostgreSQL and root");
            return None;
        };
        let running = alone(&SHARED, || Running::new(programs, owner));
        let name = format!("case{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let server = Server { running, name };
        server.running().ask("postgres", &format!("CREATE DATABASE {}", server.name)).unwrap();
        Some(server)
    }

    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// A file of the server, which its user owns and nobody else reads.
    pub(crate) fn write(&self, name: &str, from: &Path) {
        let to = self.running().folder.join("data").join(name);
        fs::copy(from, &to).unwrap();
        let (user, group) = owner().unwrap();
        chown(&to, Some(user), Some(group)).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// What a statement answers; none where the server does not.
    pub(crate) fn sql(&self, statement: &str) -> Option<String> {
        self.running().ask(&self.name, statement).ok()
    }

    /// What a statement answers, which it must.
    #[track_caller]
    pub(crate) fn asked(&self, statement: &str) -> String {
        self.running().ask(&self.name, statement).unwrap_or_else(|why| panic!("{statement}: {why}"))
    }

    /// Events that it has.
    pub(crate) fn delivered(&self) -> usize {
        self.sql("SELECT count(*) FROM powerband.event").and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// Waits until more is delivered.
    #[track_caller]
    pub(crate) fn until_delivered(&self) {
        let before = self.delivered();
        until("more is delivered", || self.delivered() > before);
    }

    /// The URL of its database, with the password.
    pub(crate) fn url(&self) -> String {
        self.url_of(&self.name)
    }

    /// The URL of another database.
    pub(crate) fn url_of(&self, database: &str) -> String {
        self.running().url(database)
    }

    /// The URL through the Unix socket.
    pub(crate) fn socket(&self) -> String {
        let Running { folder, port, .. } = self.running();
        format!("postgresql://bench:{SECRET}@/{}?port={port}&host={}", self.name, folder.display())
    }

    /// The URL as it is shown.
    pub(crate) fn shown(&self) -> String {
        self.url().replace(&format!(":{SECRET}"), "")
    }

    pub(crate) fn start(&mut self) {
        self.running.as_mut().unwrap().start();
    }

    /// Ends it as a restart of the service does: every connection is cut.
    pub(crate) fn stop(&mut self) {
        self.running.as_mut().unwrap().end(Signal::INT);
    }

    /// Ends it as a crash does.
    pub(crate) fn crash(&mut self) {
        self.running.as_mut().unwrap().end(Signal::QUIT);
    }

    /// Nothing of it answers any more, and no connection is closed: as behind a network that is cut.
    pub(crate) fn freeze(&self) {
        self.running().signal(Signal::STOP);
    }

    pub(crate) fn thaw(&self) {
        self.running().signal(Signal::CONT);
    }

    /// Connections that the other side has closed, and a frozen server has not.
    pub(crate) fn given_up(&self) -> usize {
        let (port, sockets) = (format!(":{:04X}", self.running().port), fs::read_to_string("/proc/net/tcp").unwrap());
        let rows = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        // 08 is CLOSE_WAIT.
        rows.filter(|row| row[1].ends_with(&port) && row[3] == "08").count()
    }
}

impl Running {
    fn new(programs: PathBuf, (user, group): (u32, u32)) -> Running {
        let folder = TempDir::new().unwrap().keep();
        chown(&folder, Some(user), Some(group)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let password = folder.join("password");
        fs::write(&password, SECRET).unwrap();
        chown(&password, Some(user), Some(group)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let end = "for s in CONT QUIT; do kill -s $s $(head -n 1 data/postmaster.pid); done; sleep 1";
        let _end = at_end(&folder, end);
        let mut running = Running { folder, programs, port, child: None, _end };
        let mut made = running.program("initdb");
        made.args(split("-A scram-sha-256 -U bench -E UTF8 --locale C.UTF-8 --no-sync -D data --pwfile")).arg(password);
        Ran::of(&made.output().unwrap()).ended(0);
        running.start();
        running
    }

    fn url(&self, database: &str) -> String {
        format!("postgresql://bench:{SECRET}@127.0.0.1:{}/{database}", self.port)
    }

    /// A program of it, run by its user in its folder.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", OWNER, "--regid", OWNER, "--clear-groups"]).arg(self.programs.join(name));
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    fn start(&mut self) {
        let log = fs::File::options().append(true).create(true).open(self.folder.join("log")).unwrap();
        let mut command = self.program("postgres");
        command.args(["-F", "-D", "data", "-p", &self.port.to_string(), "-k"]).arg(&self.folder);
        self.child = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        until("the server answers", || self.ask("postgres", "SELECT 1").is_ok());
    }

    /// What a statement answers in a database, or what it and the server complain of.
    fn ask(&self, database: &str, statement: &str) -> Result<String, String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, &self.url(database)]);
        let ran = Ran::of(&psql.env("PGCONNECT_TIMEOUT", "60").output().unwrap());
        let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        if ran.code == Some(0) { Ok(ran.out.trim().to_owned()) } else { Err(format!("{}{}", ran.err, log())) }
    }

    fn end(&mut self, how: Signal) {
        let Some(mut child) = self.child.take() else { return };
        kill_process(Pid::from_child(&child), how).unwrap();
        child.wait().unwrap();
    }

    /// To the server's first process and its children, which are groups of their own.
    fn signal(&self, signal: Signal) {
        let Some(child) = &self.child else { return };
        let first = Pid::from_child(child);
        let parent = format!("PPid:\t{}\n", first.as_raw_nonzero());
        let is_child = |path: &Path| fs::read_to_string(path.join("status")).is_ok_and(|text| text.contains(&parent));
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
        let children =
            entries.filter(|path| is_child(path)).filter_map(|path| path.file_name()?.to_str()?.parse().ok());
        for pid in [first].into_iter().chain(children.filter_map(Pid::from_raw)) {
            // One that has ended meanwhile answers nothing either.
            kill_process(pid, signal).ok();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        self.end(Signal::QUIT);
    }
}
