//! Control groups with a CPU quota, version 1 and 2: finding the hierarchy, making, reading, emptying and removing a group.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use powerband_machine::{CpuQuota, Errno};
use rustix::process::{Pid, Signal};

use crate::io_errno;
use crate::process::is_guardian_of;
use crate::refusal::Refusal;

/// Quotas are refilled this often, us: short commands meet them too.
const PERIOD_US: u64 = 10_000;
/// The kernel refuses a smaller quota, us (min_cfs_quota_period, kernel/sched/core.c) …
const MIN_QUOTA_US: u64 = 1_000;
/// … and a longer period, us (max_cfs_quota_period).
const MAX_PERIOD_US: u64 = 1_000_000;
/// How long emptying and removing a group may take, ns.
const REMOVAL_NS: u64 = 2_000_000_000;
/// What helps an ordinary user on a machine with systemd.
const DELEGATE: &str = "start it in a scope of its own: systemd-run --user --scope -p Delegate=yes powerband …";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where the CPU controller is and where we are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    version: Version,
    /// Where it is mounted.
    mount: PathBuf,
    /// The folder of our own group.
    own: PathBuf,
    /// `cpu`; the tests use another where version 2 offers no `cpu`.
    controller: String,
}

/// The groups of one machine.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    hierarchy: Option<Hierarchy>,
    made: BTreeMap<String, PathBuf>,
    /// Why the folder groups are made in could not be had hand the controller down.
    refused: Option<Errno>,
}

/// The file of version 2 by which a group hands controllers down to those below it.
const HANDS_DOWN: &str = "cgroup.subtree_control";

impl Groups {
    /// Makes a group below our own and answers the quota in force there (the least of it and those above).
    pub(crate) fn make(&mut self, name: &str, quota: CpuQuota) -> Result<String, Refusal> {
        check_name(name)?;
        let limit = quota_and_period_us(quota)?;
        let hierarchy = self.hierarchy()?.clone();
        let parent = hierarchy.parent_for_groups(self.refused)?;
        let folder = parent.join(name);
        fs::create_dir(&folder).map_err(|error| hierarchy.refusal(&folder, io_errno(&error)))?;
        if let Err(why) = hierarchy.limit(&folder, limit) {
            // It is empty and ours; nothing else can hold it.
            let _ = fs::remove_dir(&folder);
            return Err(why);
        }
        let in_force = hierarchy.effective(&folder);
        self.made.insert(name.to_owned(), folder);
        Ok(in_force.map_or_else(|| "max".to_owned(), percent))
    }

    /// Version 2: the file that has to be written before a group can have a quota, with what is written and what takes that
    /// back; `None` where groups have one already, or never will. Moves us into a group of our own where that is needed.
    pub(crate) fn ask_to_hand_down(&mut self) -> Option<(String, String, String)> {
        let hierarchy = self.hierarchy().ok()?;
        let found = hierarchy.folder_to_hand_down();
        let (on, off) = (format!("+{}", hierarchy.controller), format!("-{}", hierarchy.controller));
        self.refused = found.as_ref().err().copied();
        Some((found.ok()??.join(HANDS_DOWN).display().to_string(), on, off))
    }

    /// What [`Groups::ask_to_hand_down`] answered was written, or refused.
    pub(crate) fn handed_down(&mut self, errno: Option<Errno>) {
        self.refused = errno;
    }

    /// Ends what runs in a group and removes it; `ENOENT` when there is none of that name.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Refusal> {
        check_name(name)?;
        let folder = self.find(name)?;
        remove_tree(&folder, crate::now_ns() + REMOVAL_NS).map_err(|errno| Refusal {
            errno,
            words: Some(format!("something in {} does not end", folder.display())),
        })?;
        self.made.remove(name);
        Ok(())
    }

    /// The folder of a group: of one we made, or one an owner before us left anywhere in the hierarchy.
    pub(crate) fn find(&mut self, name: &str) -> Result<PathBuf, Refusal> {
        check_name(name)?;
        if let Some(folder) = self.made.get(name).filter(|folder| folder.is_dir()) {
            return Ok(folder.clone());
        }
        let hierarchy = self.hierarchy()?;
        search(&hierarchy.own, name, 1)
            .or_else(|| search(&hierarchy.mount, name, 12))
            .ok_or(Refusal { errno: Errno::ENOENT, words: Some(format!("there is no control group '{name}'")) })
    }

    fn hierarchy(&mut self) -> Result<&Hierarchy, Refusal> {
        if self.hierarchy.is_none() {
            let mut buffer = Vec::new();
            let mounts = crate::files::read("/proc/self/mountinfo", &mut buffer)?;
            let groups = crate::files::read("/proc/self/cgroup", &mut buffer)?;
            self.hierarchy = Hierarchy::parse(&mounts, &groups, "cpu");
        }
        self.hierarchy.as_ref().ok_or_else(|| Refusal {
            errno: Errno::EOPNOTSUPP,
            words: Some("no control group hierarchy with the cpu controller is mounted here".into()),
        })
    }
}

impl Hierarchy {
    /// From /proc/self/mountinfo and /proc/self/cgroup (proc(5), cgroups(7)); version 1 wins where it holds `cpu`.
    fn parse(mountinfo: &str, cgroup: &str, controller: &str) -> Option<Hierarchy> {
        let ours = |wanted: &dyn Fn(&str, &str) -> bool| {
            cgroup.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':');
                let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
                wanted(number, controllers).then_some(path)
            })
        };
        let mounted = |kind: &str, option: Option<&str>| {
            mountinfo.lines().find_map(|line| {
                let (left, right) = line.split_once(" - ")?;
                let (left, right): (Vec<_>, Vec<_>) = (left.split(' ').collect(), right.split(' ').collect());
                let has = |wanted| right.get(2).is_some_and(|all| all.split(',').any(|one| one == wanted));
                (right.first() == Some(&kind) && option.is_none_or(has))
                    .then(|| Some((unescape(left.get(3)?), unescape(left.get(4)?))))?
            })
        };
        let version_1 = || {
            let path = ours(&|_, controllers| controllers.split(',').any(|one| one == controller))?;
            Some((Version::One, path, mounted("cgroup", Some(controller))?))
        };
        let version_2 = || Some((Version::Two, ours(&|number, _| number == "0")?, mounted("cgroup2", None)?));
        let (version, path, (root, mount)) = version_1().or_else(version_2)?;
        let mount = PathBuf::from(mount);
        // A mount may show only a part of the hierarchy (containers); outside of it we are as good as at its top.
        let own = match Path::new(path).strip_prefix(&root) {
            Ok(below) if !path.contains("/..") => mount.join(below),
            _ => mount.clone(),
        };
        Some(Hierarchy { version, mount, own, controller: controller.into() })
    }

    /// The group below which groups may have a quota: our own, or, for root, the top when ours holds processes. `refused` is
    /// why our own does not hand the controller down.
    fn parent_for_groups(&self, refused: Option<Errno>) -> Result<PathBuf, Refusal> {
        let (own, mount) = (&self.own, &self.mount);
        if self.version == Version::One || self.has(own, HANDS_DOWN) {
            return Ok(own.clone());
        }
        if !self.has(own, "cgroup.controllers") {
            return Err(Refusal {
                errno: Errno::EOPNOTSUPP,
                words: Some(format!("{} has no {} controller; {DELEGATE}", own.display(), self.controller)),
            });
        }
        if holds_processes(own) && self.has(mount, HANDS_DOWN) && writable(mount).is_ok() {
            return Ok(mount.clone());
        }
        Err(self.refusal(own, refused.unwrap_or(Errno::EBUSY)))
    }

    /// Whether a file of a group names the controller.
    fn has(&self, folder: &Path, file: &str) -> bool {
        fs::read_to_string(folder.join(file)).is_ok_and(|all| all.split_whitespace().any(|one| one == self.controller))
    }

    /// Version 2: the group that is to hand the controller down so that groups can be made, `None` where there is nothing to
    /// do. A group with processes hands nothing down, except at the top.
    ///
    /// # Errors
    /// Why our own cannot, where the top does it already or may not be asked.
    fn folder_to_hand_down(&self) -> Result<Option<PathBuf>, Errno> {
        let (own, mount) = (&self.own, &self.mount);
        if self.version == Version::One || self.has(own, HANDS_DOWN) || !self.has(own, "cgroup.controllers") {
            return Ok(None);
        }
        writable(own)?;
        if own == mount || !holds_processes(own) || self.step_aside().is_ok() {
            return Ok(Some(own.clone()));
        }
        let asks_top = !self.has(mount, HANDS_DOWN) && writable(mount).is_ok();
        if asks_top { Ok(Some(mount.clone())) } else { Err(Errno::EBUSY) }
    }

    /// Version 2: when we and our guardian are alone in our group, moves us into one below it, so that it may hand down.
    fn step_aside(&self) -> Result<(), Errno> {
        let procs = fs::read_to_string(self.own.join("cgroup.procs")).map_err(|error| io_errno(&error))?;
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let pids: Vec<i32> = procs.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        // A guardian that may not leave this group goes with us.
        let is_ours = |pid: i32| pid == own || is_guardian_of(pid, own);
        if !pids.iter().all(|&pid| is_ours(pid)) {
            return Err(Errno::EBUSY);
        }
        let leaf = self.own.join(LEAF);
        match fs::create_dir(&leaf) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(io_errno(&error)),
            _ => pids
                .iter()
                .try_for_each(|pid| fs::write(leaf.join("cgroup.procs"), pid.to_string()))
                .map_err(|error| io_errno(&error)),
        }
    }

    fn limit(&self, folder: &Path, (quota_us, period_us): (u64, u64)) -> Result<(), Refusal> {
        let write = |file: &str, text: String| {
            let file = folder.join(file);
            match fs::OpenOptions::new().write(true).open(&file).and_then(|mut open| {
                use std::io::Write;
                open.write_all(text.as_bytes())
            }) {
                Ok(()) => Ok(()),
                Err(error) => Err(self.refusal(&file, io_errno(&error))),
            }
        };
        match self.version {
            Version::One => {
                write("cpu.cfs_period_us", period_us.to_string())?;
                write("cpu.cfs_quota_us", quota_us.to_string())
            }
            Version::Two => write("cpu.max", format!("{quota_us} {period_us}")),
        }
    }

    /// The least quota of `folder` and everything above it; `None` when none has one.
    fn effective(&self, folder: &Path) -> Option<CpuQuota> {
        folder
            .ancestors()
            .take_while(|above| above.starts_with(&self.mount))
            .filter_map(|above| self.quota_of(above))
            .min()
    }

    fn quota_of(&self, folder: &Path) -> Option<CpuQuota> {
        let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
        let text = match self.version {
            Version::One => format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()),
            Version::Two => read("cpu.max")?,
        };
        let (quota, period) = text.trim().split_once(' ')?;
        // "max" and -1 are no quota.
        let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
        Some(CpuQuota { millionths: quota.checked_mul(1_000_000)?.checked_div(period)? })
    }

    fn refusal(&self, at: &Path, errno: Errno) -> Refusal {
        let at = at.display();
        let words = match (errno, self.version) {
            (Errno::EBUSY, Version::Two) => {
                format!("{at} holds processes and so may not share out CPU time among groups below it; {DELEGATE}")
            }
            (Errno::EACCES | Errno::EPERM, Version::Two) => {
                format!("{at} may not be written by this user; {DELEGATE}, or run it as root")
            }
            (Errno::EACCES | Errno::EPERM, Version::One) => {
                format!("{at} may be written by root only; write `sudo powerband …`")
            }
            (Errno::EEXIST, _) => format!("a control group {at} is there already"),
            (Errno::ENOENT, _) => format!("there is no {at}: this kernel has no CPU quota (CONFIG_CFS_BANDWIDTH)"),
            (Errno::EINVAL, Version::One) => format!("{at}: the group above it has a smaller quota"),
            (Errno::EROFS, _) => format!("{at} is read-only here, as in most containers"),
            _ => format!("{at}: {errno}"),
        };
        Refusal { errno, words: Some(words) }
    }
}

/// The group we move into when ours has to be without processes.
const LEAF: &str = "powerband-owner";

/// Whether we may have a group hand controllers down.
fn writable(folder: &Path) -> Result<(), Errno> {
    rustix::fs::access(folder.join(HANDS_DOWN), rustix::fs::Access::WRITE_OK).map_err(crate::errno)
}

fn holds_processes(folder: &Path) -> bool {
    fs::read_to_string(folder.join("cgroup.procs")).is_ok_and(|pids| !pids.trim().is_empty())
}

/// The group whose file by which it hands controllers down a path is, if it is one.
pub(crate) fn hands_down(path: &str) -> Option<&Path> {
    let path = Path::new(path);
    path.parent().filter(|_| path.file_name().is_some_and(|name| name == HANDS_DOWN))
}

/// Whether somebody else limits a group below this one by the controller we had handed down: taking it back would lift that.
pub(crate) fn is_relied_on(folder: &Path) -> bool {
    subfolders(folder).iter().any(|child| {
        let read = |file: &str| fs::read_to_string(child.join(file)).unwrap_or_default();
        let (limit, weight) = (read("cpu.max"), read("cpu.weight"));
        let limited = !limit.is_empty() && !limit.starts_with("max ");
        let weighed = !weight.is_empty() && weight.trim() != "100";
        limited || weighed || read(HANDS_DOWN).split_whitespace().any(|one| one == "cpu")
    })
}

/// Once a group hands nothing of ours down any more: who was moved into a group of our own goes back, and that is removed.
pub(crate) fn step_back(folder: &Path) {
    let leaf = folder.join(LEAF);
    let pids = fs::read_to_string(leaf.join("cgroup.procs")).unwrap_or_default();
    for pid in pids.split_whitespace() {
        // One that ends meanwhile leaves by itself; where others hand something down, we stay, as we may.
        let _ = fs::write(folder.join("cgroup.procs"), pid);
    }
    let _ = fs::remove_dir(leaf);
}

/// Moves this process out of the groups that are ended as a whole (version 2: cgroup.kill, memory.oom.group, systemd's
/// scopes; version 1: systemd's own and the freezer), to the nearest group above that takes it. Limits that are only
/// limits are kept. A refusal is no error: then it shares its owner's fate.
pub(crate) fn leave_own() {
    let mut buffer = Vec::new();
    let mut read = |path| crate::files::read(path, &mut buffer).unwrap_or_default();
    let (mounts, groups) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    // No version 1 hierarchy has the empty name, so the last is version 2.
    for controller in ["freezer", "name=systemd", ""] {
        let Some(hierarchy) = Hierarchy::parse(&mounts, &groups, controller) else { continue };
        let mut above = hierarchy.own.ancestors().skip(1).take_while(|above| above.starts_with(&hierarchy.mount));
        above.any(|above| fs::write(above.join("cgroup.procs"), "0").is_ok());
    }
}

/// Signals every member of a group and of those below it, except ourselves.
pub(crate) fn signal_members(folder: &Path, signal: Signal) {
    if signal == Signal::KILL && fs::write(folder.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    for child in subfolders(folder) {
        signal_members(&child, signal);
    }
    let procs = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let own = rustix::process::getpid();
    for pid in procs.split_whitespace().filter_map(|pid| pid.parse().ok()).filter_map(Pid::from_raw) {
        if pid != own {
            // One that has ended meanwhile is as wanted.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Kills and removes until it is gone; a group stays busy for a moment after its last process died.
fn remove_tree(folder: &Path, deadline_ns: u64) -> Result<(), Errno> {
    let mut pause_ns = 200_000;
    loop {
        signal_members(folder, Signal::KILL);
        for child in subfolders(folder) {
            remove_tree(&child, deadline_ns)?;
        }
        match fs::remove_dir(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) if crate::now_ns() >= deadline_ns || io_errno(&error) != Errno::EBUSY => {
                return Err(io_errno(&error));
            }
            Err(_) => crate::pause_until(crate::now_ns() + pause_ns),
        }
        pause_ns = (pause_ns * 2).min(20_000_000);
    }
}

fn search(folder: &Path, name: &str, depth: u32) -> Option<PathBuf> {
    let found = folder.join(name);
    if found.is_dir() {
        return Some(found);
    }
    let below = depth.checked_sub(1).filter(|&below| below > 0)?;
    subfolders(folder).iter().find_map(|child| search(child, name, below))
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\n']) {
        let words = format!("'{name}' cannot be the name of a control group");
        return Err(Refusal { errno: Errno::EINVAL, words: Some(words) });
    }
    Ok(())
}

/// A quota as the kernel takes it: quota and period, us. Small shares get a longer period.
pub(crate) fn quota_and_period_us(quota: CpuQuota) -> Result<(u64, u64), Refusal> {
    let out_of_range = |words: &str| Refusal { errno: Errno::ERANGE, words: Some(words.into()) };
    let too_small = || out_of_range("the kernel's smallest CPU quota is 0.1%");
    let at = |period: u64| quota.millionths.checked_mul(period).map(|product| product / 1_000_000);
    let usual = at(PERIOD_US).ok_or_else(|| out_of_range("a CPU quota of more than any machine has"))?;
    if usual >= MIN_QUOTA_US {
        return Ok((usual, PERIOD_US));
    }
    let period = (MIN_QUOTA_US * 1_000_000).div_ceil(quota.millionths.max(1));
    if period > MAX_PERIOD_US {
        return Err(too_small());
    }
    Ok((at(period).ok_or_else(too_small)?, period))
}

/// `50%`, `12.5%`.
pub(crate) fn percent(quota: CpuQuota) -> String {
    let text = format!("{}.{:04}", quota.millionths / 10_000, quota.millionths % 10_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Blanks and backslashes in mountinfo are octal (`\040`).
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.get(..3).and_then(|octal| u8::from_str_radix(octal, 8).ok()) {
            Some(byte) => {
                text.push(char::from(byte));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests;
