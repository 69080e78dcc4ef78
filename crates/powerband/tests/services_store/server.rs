//! A PostgreSQL server of a test's own, run by an ordinary user, as it refuses to run for root.
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::desk::{Ran, until};

/// Its only user's password.
pub(crate) const SECRET: &str = "s3cr3t-word";

/// Its user, which Debian's package makes.
const OWNER: &str = "postgres";

pub(crate) struct Server {
    folder: TempDir,
    programs: PathBuf,
    pub(crate) port: u16,
    child: Option<Child>,
}

/// Where the server's programs are: the newest version, or none.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin")).collect();
    found.retain(|folder| folder.join("initdb").exists());
    found.sort();
    found.pop()
}

/// Number of the user and of its group.
fn owner() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(OWNER))?;
    let mut numbers = line.split(':').skip(2).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

impl Server {
    /// A server that runs; none where it cannot, which in CI is a failure.
    pub(crate) fn new() -> Option<Server> {
        let here = programs().zip(owner()).filter(|_| rustix::process::geteuid().is_root());
        assert!(
            here.is_some() || std::env::var("CI").as_deref() != Ok("true"),
            "this test needs PostgreSQL and root, and CI=true"
        );
        let Some((programs, (user, group))) = here else {
            eprintln!("skipped: needs PostgreSQL and root");
            return None;
        };
        let folder = TempDir::new().unwrap();
        chown(folder.path(), Some(user), Some(group)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let password = folder.path().join("password");
        fs::write(&password, SECRET).unwrap();
        chown(&password, Some(user), Some(group)).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { folder, programs, port, child: None };
        let words = ["-A", "scram-sha-256", "-U", "bench", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"];
        let mut made = server.program("initdb");
        made.args(words).arg("-D").arg(server.data()).arg("--pwfile").arg(password);
        Ran::of(&made.output().unwrap()).ended(0);
        server.start();
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A file of the server.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.data().join(name)
    }

    /// A program of it, run by its user.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", OWNER, "--regid", OWNER, "--clear-groups"]).arg(self.programs.join(name));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn start(&mut self) {
        let log = fs::File::options().append(true).create(true).open(self.folder.path().join("log")).unwrap();
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(self.folder.path()).args(["-p", &self.port.to_string()]);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
        until("the server answers", || self.sql("SELECT 1").is_some_and(|answer| answer == "1"));
    }

    /// What a statement answers; none where the server does not.
    pub(crate) fn sql(&self, statement: &str) -> Option<String> {
        let output = Command::new(self.programs.join("psql"))
            .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, &self.url("postgres")])
            .env("PGCONNECT_TIMEOUT", "5")
            .output()
            .unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    /// What a statement answers, which it must.
    #[track_caller]
    pub(crate) fn asked(&self, statement: &str) -> String {
        self.sql(statement).unwrap_or_else(|| panic!("{statement}: {}", self.log()))
    }

    /// The URL of a database, with the password.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgresql://bench:{SECRET}@127.0.0.1:{}/{database}", self.port)
    }

    /// The URL through the Unix socket.
    pub(crate) fn socket(&self) -> String {
        format!("postgresql://bench:{SECRET}@/postgres?port={}&host={}", self.port, self.folder.path().display())
    }

    /// The URL as it is shown.
    pub(crate) fn shown(&self) -> String {
        format!("postgresql://bench@127.0.0.1:{}/postgres", self.port)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Ends it as a restart of the service does: every connection is cut.
    pub(crate) fn stop(&mut self) {
        self.end(Signal::INT);
    }

    /// Ends it as a crash does.
    pub(crate) fn crash(&mut self) {
        self.end(Signal::QUIT);
    }

    fn end(&mut self, how: Signal) {
        let Some(mut child) = self.child.take() else { return };
        kill_process(Pid::from_child(&child), how).unwrap();
        child.wait().unwrap();
    }

    /// Nothing of it answers any more, and no connection is closed: as behind a network that is cut.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    fn signal(&self, signal: Signal) {
        for pid in self.all() {
            // One that has ended meanwhile answers nothing either.
            kill_process(pid, signal).ok();
        }
    }

    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// The server's first process and its children, which are groups of their own.
    fn all(&self) -> Vec<Pid> {
        let first = Pid::from_child(self.child.as_ref().unwrap());
        let parent = format!("PPid:\t{}\n", first.as_raw_nonzero());
        let is_child = |path: &Path| fs::read_to_string(path.join("status")).is_ok_and(|text| text.contains(&parent));
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
        let children =
            entries.filter(|path| is_child(path)).filter_map(|path| path.file_name()?.to_str()?.parse().ok());
        [first].into_iter().chain(children.filter_map(Pid::from_raw)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.thaw();
        }
        self.crash();
    }
}
