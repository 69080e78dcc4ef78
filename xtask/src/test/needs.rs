//! The programs the tests call, and fetching their packages on Debian while other things compile.
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use crate::cargo::top;
use crate::metadata::target_folder;

/// Program, and the Debian package that brings it.
const PACKAGES: [(&str, &str); 61] = [
    ("cc", "build-essential"),
    ("make", "build-essential"),
    ("ip", "iproute2"),
    ("unshare", "util-linux"),
    ("ps", "procps"),
    ("mke2fs", "e2fsprogs"),
    ("script", "bsdutils"),
    ("sudo", "sudo"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("iasl", "acpica-tools"),
    ("busybox", "busybox-static"),
    ("dash", "dash"),
    ("strip", "binutils"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("sshd", "openssh-server"),
    ("cpupower", "linux-cpupower"),
    ("cpufreq-set", "cpufrequtils"),
    ("ethtool", "ethtool"),
    ("mpirun", "openmpi-bin"),
    ("iperf3", "iperf3"),
    ("nuttcp", "nuttcp"),
    ("sockperf", "sockperf"),
    ("ping", "iputils-ping"),
    ("wrk", "wrk"),
    ("cyclictest", "rt-tests"),
    ("perf", "linux-perf"),
    ("lstopo-no-graphics", "hwloc-nox"),
    ("tuned", "tuned"),
    // A module of Python.
    ("psutil.py", "python3-psutil"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    // A header of C: only Debian itself says whether it is there, and a kernel's source is fetched nowhere else.
    ("libelf.h", "libelf-dev"),
    ("xz", "xz-utils"),
    ("apache2", "apache2"),
    ("mariadbd", "mariadb-server"),
    // Modules, which are found in no path: Debian says whether they are there.
    ("libphp.so", "libapache2-mod-php"),
    ("mysqli.so", "php-mysql"),
    ("postgres", "postgresql"),
    ("openssl", "openssl"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("sbatch", "slurm-client"),
    ("munged", "munge"),
    ("mmdebstrap", "mmdebstrap"),
    ("systemd-nspawn", "systemd-container"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
    ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
    // Libraries of C, which Debian's compilers only recommend.
    ("aarch64-linux-gnu/libc.a", "libc6-dev-arm64-cross"),
    ("arm-linux-gnueabihf/libc.a", "libc6-dev-armhf-cross"),
    ("x86_64-linux-gnu/libc.a", "libc6-dev-amd64-cross"),
    ("qemu-system-arm", "qemu-system-arm"),
    ("dtc", "device-tree-compiler"),
    ("qemu-arm-static", "qemu-user-static"),
    ("lintian", "lintian"),
    ("arch-test", "arch-test"),
];

/// Packages that are on their way.
pub(crate) struct Fetch {
    thread: Option<JoinHandle<Result<(), String>>>,
    trouble: Option<String>,
}

impl Fetch {
    /// Begins to fetch what is missing. What the compiler itself needs is waited for, the rest comes meanwhile.
    pub(crate) fn begin(programs: &[&str]) -> Self {
        let mut packages = missing_packages(programs, is_installed);
        let mut fetch = Fetch { thread: None, trouble: None };
        if packages.is_empty() {
            return fetch;
        }
        eprintln!("fetching {}", packages.join(" "));
        let at_once = packages.contains(&"build-essential");
        if at_once {
            fetch.trouble = install(&packages).err();
            packages.clear();
        } else {
            fetch.thread = Some(std::thread::spawn(move || install(&packages)));
        }
        fetch
    }

    /// Waits for what is on its way, then looks whether `programs` are here.
    ///
    /// # Errors
    /// A sentence that says what is missing and why.
    pub(crate) fn ready(&mut self, programs: &[&str]) -> Result<(), String> {
        if let Some(thread) = self.thread.take() {
            self.trouble = thread.join().unwrap_or_else(|_| Err("fetching packages panicked".into())).err();
        }
        let packages = missing_packages(programs, is_installed);
        if packages.is_empty() {
            return if programs.contains(&"npm") { modules() } else { Ok(()) };
        }
        let packages = packages.join(" ");
        let trouble = self.trouble.as_deref().unwrap_or("the packages do not bring the programs expected");
        Err(format!("{trouble}; as root: apt-get install {packages}"))
    }
}

/// Where the browser test of pages says which modules it needs.
const MODULES: &str = "crates/powerband/tests/page";

/// Fetches the modules of the browser test into the target folder, where the test looks for them, unless those its lock
/// file names are there.
fn modules() -> Result<(), String> {
    let folder = target_folder().map_err(|error| error.to_string())?.join("page-modules");
    let said = |error: std::io::Error| format!("the modules of the browser test: {error}");
    let lock = std::fs::read(top().join(MODULES).join("package-lock.json")).map_err(said)?;
    let there = std::fs::read(folder.join("package-lock.json")).is_ok_and(|there| there == lock);
    if there && folder.join("node_modules/.package-lock.json").exists() {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(said)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(top().join(MODULES).join(file), folder.join(file)).map_err(said)?;
    }
    let words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let output = Command::new("npm").args(words).current_dir(&folder).stdin(Stdio::null()).output().map_err(said)?;
    if output.status.success() { Ok(()) } else { Err(format!("npm ci failed: {}", last_line(&output))) }
}

/// Packages of the programs that are not here, each once.
fn missing_packages(programs: &[&str], is_here: impl Fn(&str, &str) -> bool) -> Vec<&'static str> {
    let mut packages = Vec::new();
    for (program, package) in PACKAGES {
        if programs.contains(&program) && !packages.contains(&package) && !is_here(program, package) {
            packages.push(package);
        }
    }
    packages
}

/// Debian says so, or (elsewhere, or built by hand) the program is there.
fn is_installed(program: &str, package: &str) -> bool {
    let answer = Command::new("dpkg-query")
        .args(["-W", "-f", "${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output()
        .is_ok_and(|output| output.stdout == b"installed");
    answer || find_program(program, &std::env::var_os("PATH").unwrap_or_default()).is_some()
}

/// A program on the path, or where an ordinary user's path does not look.
fn find_program(program: &str, path: &std::ffi::OsStr) -> Option<PathBuf> {
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(path).chain(system).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Installs packages with apt-get.
fn install(packages: &[&str]) -> Result<(), String> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err("this is not a Debian system".into());
    }
    if !is_root() {
        return Err("only root can install packages".into());
    }
    apt_get(&["update", "-qq"])?;
    let options = ["install", "-y", "-qq", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"];
    apt_get(&[&options[..], packages].concat())
}

fn apt_get(words: &[&str]) -> Result<(), String> {
    let shown = format!("apt-get {}", words.join(" "));
    let output = Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        // No service is started with its package: that of cpufrequtils would set this machine's governor.
        .env("RUNLEVEL", "1")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{shown} failed: {}", last_line(&output))) }
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}

/// Who we are, by the owner of our own entry in /proc.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_and_missing_is_fetched_and_once() {
        let nothing = |_: &str, _: &str| false;
        assert_eq!(missing_packages(&["cc", "make", "ip"], nothing), ["build-essential", "iproute2"]);
        assert_eq!(missing_packages(&["cc", "ip"], |program, _| program == "cc"), ["iproute2"]);
        assert_eq!(missing_packages(&["cc", "ip"], |_, _| true), [""; 0]);
    }

    #[test]
    fn every_program_a_tier_needs_has_its_package() {
        for program in super::super::Tier::needs(&super::super::Tier::ALL) {
            assert_eq!(missing_packages(&[program], |_, _| false).len(), 1, "{program}");
        }
    }

    #[test]
    fn a_program_is_found_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mke3fs"), "").unwrap();
        assert_eq!(find_program("mke3fs", folder.path().as_os_str()), Some(folder.path().join("mke3fs")));
        assert_eq!(find_program("mke4fs", folder.path().as_os_str()), None);
    }

    #[test]
    fn what_is_missing_is_named_with_its_cure() {
        let mut fetch = Fetch { thread: None, trouble: Some("only root can install packages".into()) };
        assert_eq!(fetch.ready(&[]), Ok(()));
        let thread = std::thread::spawn(|| Err("no network".to_owned()));
        fetch.thread = Some(thread);
        assert_eq!(fetch.ready(&[]), Ok(()));
        assert_eq!(fetch.trouble.as_deref(), Some("no network"));
    }
}
