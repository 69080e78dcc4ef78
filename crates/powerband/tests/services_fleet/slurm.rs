//! A Slurm for all cases: munged, slurmctld and four slurmd of one host, each in the foreground as a child of this process.
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::desk::{root, until};
use crate::shared::{alone, at_end};

const PROGRAMS: [&str; 4] = ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/sbatch", "/usr/sbin/munged"];

/// Whether Slurm is here, and root.
pub(crate) fn ready() -> bool {
    let here = PROGRAMS.iter().all(|program| Path::new(program).exists());
    assert!(here || std::env::var("CI").as_deref() != Ok("true"), "this test needs Slurm and munge, and CI=true");
    if !here {
        eprintln!("skipped: needs Slurm and munge");
    }
    here && root()
}

/// Hosts have state folders of their own, and these nodes are one host: a case that needs some of its own says where they are.
const PROLOG: &str = "#!/bin/sh
[ -n \"$NODES_AT\" ] || exit 0
echo export POWERBAND_STATE_DIR=$NODES_AT/state-$SLURMD_NODENAME
echo export VALUE=$NODES_AT/value-$SLURMD_NODENAME
";

pub(crate) struct Slurm {
    folder: PathBuf,
    nodes: u32,
    children: BTreeMap<String, Child>,
    _end: Child,
}

/// A case's hold of it.
pub(crate) struct Lent(MutexGuard<'static, Option<Slurm>>);

impl Deref for Lent {
    type Target = Slurm;

    fn deref(&self) -> &Slurm {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Slurm {
        self.0.as_mut().unwrap()
    }
}

impl Slurm {
    /// Nodes n1, n2, …, all of them idle.
    pub(crate) fn of(nodes: u32) -> Lent {
        static SHARED: Mutex<Option<Slurm>> = Mutex::new(None);
        let mut held = alone(&SHARED, || Slurm::start(nodes));
        if held.as_ref().is_some_and(|slurm| slurm.nodes != nodes) {
            *held = None;
            *held = Some(Slurm::start(nodes));
        }
        let mut slurm = Lent(held);
        // What a case before this one left.
        slurm.ask("scancel", &["--user=root"]);
        // A few at a time, as each takes its time on a busy machine.
        for first in (1..=nodes).step_by(16) {
            let last = nodes.min(first + 15);
            for node in (first..=last).map(|node| format!("n{node}")) {
                if !slurm.children.contains_key(&node) {
                    slurm.start_node(&node);
                }
            }
            until("the nodes are idle", || {
                let states = slurm.ask("sinfo", &["-h", "-N", "-o", "%T"]);
                states.lines().filter(|state| *state == "idle").count() >= last as usize
            });
        }
        slurm
    }

    fn start(nodes: u32) -> Slurm {
        let path = TempDir::new().unwrap().keep();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["run", "state"] {
            fs::create_dir(path.join(name)).unwrap();
        }
        let mut key = vec![0; 1024];
        fs::File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
        fs::write(path.join("munge.key"), key).unwrap();
        fs::set_permissions(path.join("munge.key"), fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(path.join("prolog.sh"), PROLOG).unwrap();
        fs::set_permissions(path.join("prolog.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let ours = "grep -lzs \"^SLURM_CONF=$0/slurm.conf$\" /proc/[0-9]*/environ | cut -d / -f 3";
        let _end = at_end(&path, &format!("for p in $({ours}); do kill -s KILL $p; done; sleep 1"));
        let mut slurm = Slurm { folder: path.clone(), nodes, children: BTreeMap::new(), _end };
        fs::write(slurm.conf(), configuration(&path, nodes)).unwrap();
        let option = |(name, file)| format!("--{name}={}", path.join(file).display());
        let files = [("key-file", "munge.key"), ("seed-file", "munge.seed"), ("log-file", "munge.log")];
        let run = [("socket", "run/munge.socket"), ("pid-file", "run/munge.pid")];
        let mut munged = Command::new("/usr/sbin/munged");
        munged.args(["--force", "--foreground"]).args(files.map(option)).args(run.map(option));
        slurm.child("munged", &mut munged);
        until("munged listens", || path.join("run/munge.socket").exists());
        slurm.child("slurmctld", Command::new("/usr/sbin/slurmctld").args(["-D", "-i"]));
        slurm
    }

    pub(crate) fn conf(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    /// Where its daemons write what they say, in files that end with `.out` and `.log`.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn child(&mut self, name: &str, command: &mut Command) {
        let log = fs::File::create(self.folder.join(format!("{name}.out"))).unwrap();
        command.env("SLURM_CONF", self.conf()).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.children.insert(name.to_owned(), command.spawn().unwrap());
    }

    pub(crate) fn start_node(&mut self, node: &str) {
        self.child(node, Command::new("/usr/sbin/slurmd").args(["-D", "-N", node]));
    }

    /// Kills the slurmd of a node.
    pub(crate) fn kill_node(&mut self, node: &str) {
        let mut child = self.children.remove(node).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Runs a program of Slurm; what it printed, nothing where it failed.
    pub(crate) fn ask(&self, program: &str, words: &[&str]) -> String {
        let ended = Command::new(program).args(words).env("SLURM_CONF", self.conf()).output().unwrap();
        if ended.status.success() { String::from_utf8(ended.stdout).unwrap() } else { String::new() }
    }

    /// The living job of a node.
    pub(crate) fn job(&self, node: &str) -> Option<String> {
        let jobs = self.ask("squeue", &["-h", "-o", "%i %N"]);
        let mut jobs = jobs.lines().filter_map(|line| line.split_once(' '));
        jobs.find(|(_, nodes)| *nodes == node).map(|(id, _)| id.to_owned())
    }

    /// Kills the slurmstepd that watches over a job, and waits until it is gone: what it watched runs on. It must not be stopped at that
    /// moment: a stopped process group whose parent ends gets SIGHUP from the kernel.
    pub(crate) fn kill_step(&self, job: &str) {
        assert!(self.kill_steps(job) > 0, "job {job} has no slurmstepd");
        until("its slurmstepd is gone", || self.kill_steps(job) == 0);
    }

    /// Kills every slurmstepd of a job; how many there were.
    pub(crate) fn kill_steps(&self, job: &str) -> usize {
        let named = format!("[{job}.");
        let steps: Vec<i32> = self.processes(|words| words.starts_with("slurmstepd") && words.contains(&named));
        steps.iter().for_each(|pid| signal(*pid, Signal::KILL));
        steps.len()
    }

    /// Processes of this Slurm whose words are of a kind.
    pub(crate) fn processes(&self, is: impl Fn(&str) -> bool) -> Vec<i32> {
        let conf = format!("SLURM_CONF={}", self.conf().display());
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = |pid: &i32| {
            let has = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let words = String::from_utf8_lossy(&has("cmdline")).replace('\0', " ");
            is(&words) && String::from_utf8_lossy(&has("environ")).split('\0').any(|one| one == conf)
        };
        pids.filter(ours).collect()
    }
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    // It may have ended meanwhile.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Tasks and slurmstepds, too, have this Slurm's configuration in their environment.
        for pid in self.processes(|_| true) {
            signal(pid, Signal::KILL);
        }
        for child in self.children.values_mut() {
            let _ = child.wait();
        }
    }
}

/// So many ports that nobody listens on now, no two of them the same.
fn free_ports(count: u32) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|one| one.local_addr().unwrap().port()).collect()
}

fn configuration(folder: &Path, nodes: u32) -> String {
    let (host, folder) = (rustix::system::uname(), folder.display());
    let host = host.nodename().to_str().unwrap();
    let ports = free_ports(nodes + 1);
    let mut text = format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nAuthType=auth/munge\n\
         AuthInfo=socket={folder}/run/munge.socket,cred_expire=60\nCredType=cred/munge\nSlurmUser=root\nSlurmdUser=root\n\
         SlurmdParameters=config_overrides\nStateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool-%n\n\
         SlurmdPidFile={folder}/run/slurmd-%n.pid\nSlurmctldPidFile={folder}/run/slurmctld.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
         TaskProlog={folder}/prolog.sh\nReturnToService=2\nMpiDefault=none\nSlurmdTimeout=10\nKillWait=10\n\
         SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1\n\
         PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO\n",
        ports[0]
    );
    for (number, port) in (1..).zip(&ports[1..]) {
        text += &format!(
            "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=500 State=UNKNOWN\n"
        );
    }
    text
}
