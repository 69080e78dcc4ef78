//! How fast the guest's CPUs run: a control group with a quota around each of the emulator's CPU threads.
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{BenchError, Result};
use crate::places::write;

/// Quotas are refilled this often, µs.
const PERIOD_US: u64 = 10_000;
/// The kernel takes no smaller quota, µs (min_cfs_quota_period, kernel/sched/core.c).
const LEAST_QUOTA_US: u64 = 1_000;

/// Which of the two interfaces control groups have here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The place of a guest's control groups, made when its threads are known.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    version: Version,
    parent: PathBuf,
    top: PathBuf,
}

impl Pace {
    /// Finds where groups with a quota can be made. Nothing is made yet.
    ///
    /// # Errors
    /// When no hierarchy with the cpu controller is mounted.
    pub(crate) fn find() -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let text = |path: &str| fs::read_to_string(path).map_err(BenchError::file("read", Path::new(path)));
        let found = hierarchy(&text("/proc/self/mountinfo")?, &text("/proc/self/cgroup")?);
        let (version, parent) = found.ok_or_else(|| {
            BenchError::Missing(
                "no control groups with the cpu controller are mounted, which give the guest its clock".into(),
            )
        })?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let top = parent.join(format!("powerband-bench-{}-{number}", std::process::id()));
        Ok(Pace { version, parent, top })
    }

    /// The folder that holds all of it, for whoever removes it.
    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// Makes a group for each thread, without a limit yet.
    ///
    /// # Errors
    /// When groups may not be made here, or not with the cpu controller.
    pub(crate) fn take(&self, process: u32, threads: &[u64]) -> Result<()> {
        if self.version == Version::Two {
            // Fails where it is on already and may not be touched; then the files below are there all the same.
            let _ = fs::write(self.parent.join("cgroup.subtree_control"), "+cpu");
        }
        make(&self.top)?;
        match self.version {
            // What the guest's clock allows it shall get, also beside others at work.
            Version::One => write(&self.top.join("cpu.shares"), b"16384")?,
            Version::Two => {
                write(&self.top.join("cpu.weight"), b"2000")?;
                write(&self.top.join("cgroup.procs"), process.to_string().as_bytes())?;
            }
        }
        for (cpu, thread) in threads.iter().enumerate() {
            let group = self.group(cpu);
            make(&group)?;
            let thread = thread.to_string();
            match self.version {
                Version::One => write(&group.join("tasks"), thread.as_bytes())?,
                Version::Two => {
                    write(&group.join("cgroup.type"), b"threaded")?;
                    if cpu == 0 {
                        write(&self.top.join("cgroup.subtree_control"), b"+cpu")?;
                    }
                    write(&group.join("cgroup.threads"), thread.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Lets a CPU's thread run this share of the time, millionths of one CPU of this machine.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn set_share(&self, cpu: usize, millionths: u64) -> Result<()> {
        let (quota_us, period_us) = quota_us(millionths);
        let group = self.group(cpu);
        match self.version {
            Version::One => {
                write(&group.join("cpu.cfs_period_us"), period_us.to_string().as_bytes())?;
                write(&group.join("cpu.cfs_quota_us"), quota_us.to_string().as_bytes())
            }
            Version::Two => write(&group.join("cpu.max"), format!("{quota_us} {period_us}").as_bytes()),
        }
    }

    fn group(&self, cpu: usize) -> PathBuf {
        self.top.join(format!("cpu{cpu}"))
    }
}

/// Quota and period of a share, µs.
fn quota_us(millionths: u64) -> (u64, u64) {
    ((PERIOD_US * millionths / 1_000_000).max(LEAST_QUOTA_US), PERIOD_US)
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir(folder).map_err(BenchError::file("make", folder))
}

/// Where groups with a quota are made, from /proc/self/mountinfo and /proc/self/cgroup (proc(5), cgroups(7)).
fn hierarchy(mountinfo: &str, cgroup: &str) -> Option<(Version, PathBuf)> {
    let mount = |kind: &str, option: &str| {
        mountinfo.lines().find_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let (left, right): (Vec<_>, Vec<_>) = (left.split(' ').collect(), right.split(' ').collect());
            let holds = option.is_empty() || right.get(2)?.split(',').any(|one| one == option);
            let root = left.get(3)?.to_string();
            (right.first() == Some(&kind) && holds).then(|| Some((root, PathBuf::from(left.get(4)?))))?
        })
    };
    let own = |wanted: &dyn Fn(&str) -> bool| {
        cgroup.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            wanted(controllers).then(|| path.to_owned())
        })
    };
    let (version, (root, mount), own) = match mount("cgroup", "cpu") {
        Some(found) => (Version::One, found, own(&|names| names.split(',').any(|name| name == "cpu"))?),
        None => (Version::Two, mount("cgroup2", "")?, own(&str::is_empty)?),
    };
    // In a container the mount shows only a part of the tree.
    let below = own.strip_prefix(root.as_str()).unwrap_or_default();
    let folder = mount.join(below.trim_start_matches('/'));
    // A version 2 group with processes in it may not share out controllers: ours go beside it, unless it is the root.
    let parent = match (version, folder.parent()) {
        (Version::Two, Some(parent)) if folder != mount => parent.to_path_buf(),
        _ => folder,
    };
    Some((version, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_in_both_versions() {
        let one = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n41 31 0:38 / /sys/fs/u rw - cgroup2 c rw\n";
        let two = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
        let part = "30 23 0:26 /docker/a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        for (mounts, groups, expected) in [
            (one, "3:cpu,cpuacct:/x\n0::/\n", Some((Version::One, "/sys/fs/cgroup/cpu/x"))),
            (two, "0::/user/a.scope\n", Some((Version::Two, "/sys/fs/cgroup/user"))),
            (two, "0::/\n", Some((Version::Two, "/sys/fs/cgroup/"))),
            (part, "0::/docker/a\n", Some((Version::Two, "/sys/fs/cgroup/"))),
            ("", "0::/\n", None),
        ] {
            assert_eq!(hierarchy(mounts, groups), expected.map(|(version, path)| (version, path.into())), "{groups}");
        }
    }

    #[test]
    fn shares_become_quotas_the_kernel_takes() {
        assert_eq!(quota_us(750_000), (7_500, 10_000));
        assert_eq!(quota_us(10_000), (1_000, 10_000));
    }
}
