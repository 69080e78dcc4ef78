//! Out of the load's control group, which is killed as a whole: into that of anyone who started the load.
use std::fs;
use std::path::PathBuf;

/// Moves a process of ours wherever the load's group is not that of its parent. Where it may not, it stays.
pub(super) fn leave(pid: u32) {
    let parent = rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (ours, theirs) = (read("/proc/self/cgroup"), read(&format!("/proc/{parent}/cgroup")));
    for folder in differing(&ours, &theirs, &read("/proc/self/mountinfo")) {
        // An ordinary user may only move inside what was delegated.
        let _ = fs::write(folder.join("cgroup.procs"), pid.to_string());
    }
}

/// Their folder in each hierarchy where it is not ours, from what /proc says: cgroups(7), proc(5).
fn differing(ours: &str, theirs: &str, mountinfo: &str) -> Vec<PathBuf> {
    let elsewhere = theirs.lines().filter(|line| !ours.lines().any(|own| own == *line));
    let folders = elsewhere.filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        mountinfo.lines().find_map(|mount| below(mount, controllers, path))
    });
    folders.collect()
}

/// A group's folder below a mount, when that is of its hierarchy.
fn below(mount: &str, controllers: &str, path: &str) -> Option<PathBuf> {
    let (place, kind) = mount.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (kind, options) = (kind.next()?, kind.nth(1)?);
    let wanted = controllers.split(',').next()?;
    let right = match kind {
        "cgroup2" => controllers.is_empty(),
        "cgroup" => !wanted.is_empty() && options.split(',').any(|option| option == wanted),
        _ => false,
    };
    let inside = path.strip_prefix(root.trim_end_matches('/'))?;
    right.then(|| PathBuf::from(format!("{point}{inside}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 0:5 / /proc rw - proc proc rw\n\
        30 1 0:26 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 none rw,nsdelegate\n\
        31 1 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup none rw,cpu,cpuacct\n\
        32 1 0:28 /docker/7 /sys/fs/cgroup/pids rw - cgroup none rw,pids\n";

    #[test]
    fn only_groups_that_differ_are_left_and_each_in_its_hierarchy() {
        let ours = "5:pids:/docker/7/a\n3:cpu,cpuacct:/user/load\n0::/user\n";
        let theirs = "5:pids:/docker/7/b\n3:cpu,cpuacct:/user\n0::/user\n";
        let folders = ["/sys/fs/cgroup/pids/b", "/sys/fs/cgroup/cpu,cpuacct/user"].map(PathBuf::from);
        assert_eq!(differing(ours, theirs, MOUNTS), folders);
        assert_eq!(differing("0::/user/load\n", "0::/\n", MOUNTS), [PathBuf::from("/sys/fs/cgroup/unified/")]);
        assert!(differing(ours, ours, MOUNTS).is_empty() && differing("", "0:x\n9:none:/a\n", MOUNTS).is_empty());
    }
}
