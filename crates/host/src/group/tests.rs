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
    let found = |mounts, groups| {
        Hierarchy::parse(mounts, groups, "cpu").map(|found| (found.version, found.own.display().to_string()))
    };
    let scope = "0::/user.slice/user-0.slice/session-3.scope\n";
    for (mounts, groups, expected) in [
        (MIXED, "2:cpuacct:/\n1:cpu:/a b\n0::/\n", Some((Version::One, "/sys/fs/cgroup/cpu time/a b"))),
        (MIXED, "2:cpuacct:/\n0::/x\n", Some((Version::Two, "/sys/fs/cgroup/unified/x"))),
        (two, scope, Some((Version::Two, "/sys/fs/cgroup/user.slice/user-0.slice/session-3.scope"))),
        (part, "0::/docker/abc/x\n", Some((Version::Two, "/sys/fs/cgroup/x"))),
        (part, "0::/elsewhere\n", Some((Version::Two, "/sys/fs/cgroup"))),
        (part, "0::/../..\n", Some((Version::Two, "/sys/fs/cgroup"))),
        ("", scope, None),
    ] {
        let expected = expected.map(|(version, own): (_, &str)| (version, own.to_owned()));
        assert_eq!(found(mounts, groups), expected, "{groups}");
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
    assert_eq!(percent(CpuQuota { millionths: 500_000 }), "50%");
    assert_eq!(percent(CpuQuota { millionths: 125_500 }), "12.55%");
    assert_eq!(percent(CpuQuota { millionths: 1_000_000 }), "100%");
}

#[test]
fn the_least_quota_on_the_way_up_is_in_force() {
    let place = tempfile::tempdir().unwrap();
    let mount = place.path().to_path_buf();
    let leaf = mount.join("a/b");
    fs::create_dir_all(&leaf).unwrap();
    let two = Hierarchy { version: Version::Two, mount: mount.clone(), own: mount.clone(), controller: "cpu".into() };
    assert_eq!(two.effective(&leaf), None);
    for (folder, text) in [(&leaf, "7000 10000\n"), (&mount.join("a"), "20000 100000\n"), (&mount, "max 100000\n")] {
        fs::write(folder.join("cpu.max"), text).unwrap();
    }
    assert_eq!(two.effective(&leaf), Some(CpuQuota { millionths: 200_000 }));
    let one = Hierarchy { version: Version::One, ..two };
    fs::write(leaf.join("cpu.cfs_quota_us"), "5000\n").unwrap();
    fs::write(leaf.join("cpu.cfs_period_us"), "10000\n").unwrap();
    fs::write(mount.join("a/cpu.cfs_quota_us"), "-1\n").unwrap();
    fs::write(mount.join("a/cpu.cfs_period_us"), "100000\n").unwrap();
    assert_eq!(one.effective(&leaf), Some(CpuQuota { millionths: 500_000 }));
}

#[test]
fn names_stay_names() {
    for name in ["", ".", "..", "a/b", "../a", ".hidden", "a\nb"] {
        assert_eq!(Groups::default().remove(name).map_err(|refusal| refusal.errno), Err(Errno::EINVAL), "{name:?}");
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
    let (mounts, groups) =
        ["mountinfo", "cgroup"].map(|name| fs::read_to_string(format!("/proc/self/{name}")).unwrap()).into();
    let found = Hierarchy::parse(&mounts, &groups, "none of version 1");
    let controllers = found.as_ref().map(|found| fs::read_to_string(found.mount.join("cgroup.controllers")).unwrap());
    let controller = controllers.iter().flat_map(|all| all.split_whitespace()).next().map(str::to_owned);
    let (Some(found), Some(controller), true) = (found, controller, rustix::process::geteuid().is_root()) else {
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "needs root and a version 2 hierarchy with a controller"
        );
        return;
    };
    let folder = found.mount.join(format!("powerband-test-own-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let own = Own { mount: found.mount.clone(), folder: folder.clone() };
    let before = fs::read_to_string(own.mount.join("cgroup.subtree_control")).unwrap();
    let hierarchy = Hierarchy { own: folder.clone(), controller: controller.clone(), ..found };
    let write = |folder: &Path, sign: char| fs::write(folder.join(HANDS_DOWN), format!("{sign}{controller}"));
    write(&own.mount, '+').unwrap();
    fs::write(folder.join("cgroup.procs"), "0").unwrap();
    // Where the top does not do it either, the sentence says what helps.
    let lonely = Hierarchy { mount: folder.join("no top"), ..hierarchy.clone() };
    let refused = lonely.parent_for_groups(None).unwrap_err();
    assert_eq!(refused.errno, Errno::EBUSY);
    assert!(refused.words.unwrap().contains("systemd-run --user --scope -p Delegate=yes"));
    // Somebody else in it: root goes to the top, and nobody is moved.
    let mut other = std::process::Command::new("sleep").arg("100").spawn().unwrap();
    assert_eq!(hierarchy.folder_to_hand_down(), Err(Errno::EBUSY));
    assert_eq!(hierarchy.parent_for_groups(Some(Errno::EBUSY)).unwrap(), own.mount);
    assert!(!folder.join(LEAF).exists());
    // Alone: we step aside. `cgroup.kill` would be us too, so the other is ended by name.
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(hierarchy.folder_to_hand_down(), Ok(Some(folder.clone())));
    assert_eq!(fs::read_to_string(folder.join("cgroup.procs")).unwrap(), "");
    write(&folder, '+').unwrap();
    assert_eq!(hierarchy.parent_for_groups(None).unwrap(), folder);
    // Undone, we are where we were.
    write(&folder, '-').unwrap();
    step_back(&folder);
    let pids = fs::read_to_string(folder.join("cgroup.procs")).unwrap();
    assert!(pids.split_whitespace().any(|pid| pid == std::process::id().to_string()) && !folder.join(LEAF).exists());
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
        fs::write(hierarchy.mount.join("cgroup.subtree_control"), format!("-{controller}")).unwrap();
    }
}
