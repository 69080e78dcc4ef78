//! A PostgreSQL server of the benchmark's own, in a folder of its own, run by the user of Debian's package.
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

const OWNER: &str = "postgres";

pub(crate) struct Server {
    folder: PathBuf,
    programs: PathBuf,
    child: Child,
}

impl Server {
    /// Starts one with the settings it comes with.
    pub(crate) fn start(folder: &Path) -> Result<Server> {
        let programs = programs().context("PostgreSQL is not here: apt-get install postgresql")?;
        let (user, group) = owner().context("there is no user postgres")?;
        fs::create_dir(folder)?;
        chown(folder, Some(user), Some(group)).context("this needs root")?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        let mut made = program(&programs, folder, "initdb");
        made.args(["-A", "trust", "-U", "bench", "-E", "UTF8", "--locale", "C.UTF-8", "-D", "data"]);
        let output = made.output().context("cannot start setpriv")?;
        ensure!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
        let mut command = program(&programs, folder, "postgres");
        command.args(["-D", "data", "-c", "listen_addresses=", "-k"]).arg(folder);
        let log = fs::File::create(folder.join("log"))?;
        let child = command.stdout(log.try_clone()?).stderr(log).spawn()?;
        let server = Server { folder: folder.to_owned(), programs, child };
        let began = Instant::now();
        while server.sql("SELECT 1").is_err() {
            ensure!(began.elapsed() < Duration::from_secs(60), "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgresql:///postgres?user=bench&host={}", self.folder.display())
    }

    /// psql, ready to be given words.
    pub(crate) fn psql(&self) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", "bench", "-d", "postgres", "-h"]);
        command.arg(&self.folder).stdin(Stdio::null());
        command
    }

    /// What a statement answers.
    pub(crate) fn sql(&self, statement: &str) -> Result<String> {
        let output = self.psql().args(["-c", statement]).output().context("cannot start psql")?;
        ensure!(output.status.success(), "{statement}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server ends its children at this signal, and not when it is killed.
        let ended = Command::new("kill").args(["-QUIT", &self.child.id().to_string()]).status();
        if ended.is_ok() {
            self.child.wait().ok();
        }
    }
}

fn program(programs: &Path, folder: &Path, name: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", OWNER, "--regid", OWNER, "--clear-groups"]).arg(programs.join(name));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(Result::ok);
    let found = versions.map(|entry| entry.path().join("bin")).filter(|folder| folder.join("initdb").exists());
    found.max()
}

fn owner() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(OWNER))?;
    let mut numbers = line.split(':').skip(2).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
