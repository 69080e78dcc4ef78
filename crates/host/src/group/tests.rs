//! Finding the hierarchy and quotas as text; real groups are in the integration tests.
use super::*;

const MIXED: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
32 31 0:29 / /sys/fs/cgroup/cpu\\040time rw,relatime shared:9 - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

#[test]
fn the_hierarchy_is_found_in_every_layout() {
    let two = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    let part = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
    let scope = "0::/user.slice/user-0.slice/session-3.scope\n";
    for (mounts, groups, expected) in [
        (MIXED, "2:cpuacct:/\n1:cpu:/a b\n0::/\n", "One /sys/fs/cgroup/cpu time/a b"),
        (MIXED, "2:cpuacct:/\n0::/x\n", "Two /sys/fs/cgroup/unified/x"),
        (two, scope, "Two /sys/fs/cgroup/user.slice/user-0.slice/session-3.scope"),
        (part, "0::/docker/abc/x\n", "Two /sys/fs/cgroup/x"),
        (part, "0::/elsewhere\n", "Two /sys/fs/cgroup"),
        (part, "0::/../..\n", "Two /sys/fs/cgroup"),
        ("", scope, ""),
    ] {
        let found = Hierarchy::parse(mounts, groups, "cpu");
        let found = found.map(|it| format!("{:?} {}", it.version, it.own.display()));
        assert_eq!(found.unwrap_or_default(), expected, "{groups}");
    }
}

#[test]
fn quotas_fit_what_the_kernel_takes() {
    for (millionths, expected) in [
        (500_000, Ok((5_000, 10_000))),
        (1_500_000, Ok((15_000, 10_000))),
        (100_000, Ok((1_000, 10_000))),
        (50_000, Ok((1_000, 20_000))),
        (30_000, Ok((1_000, 33_334))),
        (1_000, Ok((1_000, 1_000_000))),
        (999, Err(Errno::ERANGE)),
        (0, Err(Errno::ERANGE)),
        (u64::MAX, Err(Errno::ERANGE)),
    ] {
        let got = quota_and_period_us(CpuQuota { millionths }).map_err(|refusal| refusal.errno);
        assert_eq!(got, expected, "{millionths}");
    }
    let percents = [500_000, 125_500, 1_000_000].map(|millionths| percent(CpuQuota { millionths }));
    assert_eq!(percents, ["50%", "12.55%", "100%"]);
}

#[test]
fn the_least_quota_on_the_way_up_is_in_force() {
    let place = tempfile::tempdir().unwrap();
    let mount = place.path().to_path_buf();
    let leaf = mount.join("a/b");
    fs::create_dir_all(&leaf).unwrap();
    let (own, controller) = (mount.clone(), "cpu".to_owned());
    let two = Hierarchy { version: Version::Two, mount, own, controller };
    assert_eq!(two.effective(&leaf), None);
    let write = |files: &[(&str, &str)]| {
        files.iter().for_each(|(path, text)| fs::write(place.path().join(path), text).unwrap());
    };
    write(&[("a/b/cpu.max", "7000 10000\n"), ("a/cpu.max", "20000 100000\n"), ("cpu.max", "max 100000\n")]);
    assert_eq!(two.effective(&leaf), Some(CpuQuota { millionths: 200_000 }));
    let one = Hierarchy { version: Version::One, ..two };
    write(&[("a/b/cpu.cfs_quota_us", "5000\n"), ("a/b/cpu.cfs_period_us", "10000\n")]);
    write(&[("a/cpu.cfs_quota_us", "-1\n"), ("a/cpu.cfs_period_us", "100000\n")]);
    assert_eq!(one.effective(&leaf), Some(CpuQuota { millionths: 500_000 }));
}

#[test]
fn names_stay_names() {
    for name in ["", ".", "..", "a/b", "../a", ".hidden", "a\nb"] {
        let refused = Groups::default().remove(name).unwrap_err();
        assert_eq!(refused.errno, Errno::EINVAL, "{name:?}");
    }
}

/// A group of version 2 that this very process is moved into, and out of again however the test ends.
struct Own {
    mount: PathBuf,
    folder: PathBuf,
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::write(self.mount.join("cgroup.procs"), "0");
        let _ = remove_tree(&self.folder, crate::now_ns() + REMOVAL_NS);
    }
}

/// Version 2 with whatever controller this machine leaves it; the rules for handing down are the same for all.
#[test]
fn a_group_of_version_2_that_holds_processes_hands_down_only_when_they_step_aside() {
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let [mounts, groups] = ["/proc/self/mountinfo", "/proc/self/cgroup"].map(|path| read(Path::new(path)));
    let found = Hierarchy::parse(&mounts, &groups, "none of version 1");
    let controllers = found.as_ref().map(|found| read(&found.mount.join("cgroup.controllers")));
    let controller = controllers.iter().flat_map(|all| all.split_whitespace()).next().map(str::to_owned);
    let is_root = rustix::process::geteuid().is_root();
    let (Some(found), Some(controller), true) = (found, controller, is_root) else {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "needs root and version 2");
        return;
    };
    let folder = found.mount.join(format!("powerband-test-own-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let own = Own { mount: found.mount.clone(), folder: folder.clone() };
    let before = read(&own.mount.join(HANDS_DOWN));
    let hierarchy = Hierarchy { own: folder.clone(), controller: controller.clone(), ..found };
    let write = |folder: &Path, sign: char| fs::write(folder.join(HANDS_DOWN), format!("{sign}{controller}"));
    write(&own.mount, '+').unwrap();
    fs::write(folder.join("cgroup.procs"), "0").unwrap();
    // Where the top does not do it either, the sentence says what helps.
    let lonely = Hierarchy { mount: folder.join("no top"), ..hierarchy.clone() };
    let refused = lonely.parent_for_groups(None).unwrap_err();
    assert_eq!(refused.errno, Errno::EBUSY);
    assert!(refused.words.unwrap().contains("systemd-run"));
    // Somebody else in it: root goes to the top, and nobody is moved.
    let mut other = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    assert_eq!(hierarchy.folder_to_hand_down(), Err(Errno::EBUSY));
    assert_eq!(hierarchy.parent_for_groups(Some(Errno::EBUSY)).unwrap(), own.mount);
    assert!(!folder.join(LEAF).exists());
    // Alone: we step aside. `cgroup.kill` would be us too, so the other is ended by name.
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(hierarchy.folder_to_hand_down(), Ok(Some(folder.clone())));
    assert_eq!(read(&folder.join("cgroup.procs")), "");
    write(&folder, '+').unwrap();
    assert_eq!(hierarchy.parent_for_groups(None).unwrap(), folder);
    // Undone, we are where we were.
    write(&folder, '-').unwrap();
    step_back(&folder);
    let (pids, us) = (read(&folder.join("cgroup.procs")), std::process::id().to_string());
    assert!(pids.split_whitespace().any(|pid| pid == us) && !folder.join(LEAF).exists());
    assert_eq!(hierarchy.folder_to_hand_down(), Ok(Some(folder.clone())));
    write(&folder, '+').unwrap();

    let job = folder.join("job");
    fs::create_dir(&job).unwrap();
    let mut load = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    fs::write(job.join("cgroup.procs"), load.id().to_string()).unwrap();
    assert_eq!(search(&own.mount, "job", 12), Some(job.clone()));
    let reaper = std::thread::spawn(move || load.wait());
    remove_tree(&job, crate::now_ns() + REMOVAL_NS).unwrap();
    assert!(!reaper.join().unwrap().unwrap().success() && !job.exists());
    drop(own);
    assert!(!folder.exists());
    if !before.contains(&controller) {
        write(&hierarchy.mount, '-').unwrap();
    }
}
