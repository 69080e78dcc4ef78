//! Which place keeps a setting on which machine, and who is named when it is lost.
use powerband_persist::{KeepError, MANIFEST, set_by};

use crate::tree::{Tree, cpus, empty};

const ALL: &str = "conservative ondemand userspace powersave performance schedutil";
const UNIT: &str = "/etc/systemd/system/powerband-keep.service";

/// A machine with systemd and these services, reading the governor that is to be kept.
fn machine(services: &[&str]) -> Tree {
    cpus("acpi-cpufreq", ALL, "performance").default_governor("schedutil").systemd(services)
}

#[track_caller]
fn by(tree: &mut Tree, setting: &str) -> String {
    tree.keeping(setting).unwrap().manifest.settings[0].by.clone()
}

#[test]
fn the_one_that_sets_it_anyway_keeps_it() {
    let tuned = |tree: Tree| {
        tree.file("/etc/tuned/active_profile", "balanced\n")
            .file("/usr/lib/tuned/balanced/tuned.conf", "[cpu]\ngovernor=schedutil\n")
    };
    assert_eq!(by(&mut machine(&[]), "governor=performance"), "powerband-keep.service");
    assert_eq!(by(&mut machine(&["+cpufrequtils"]), "governor=performance"), "cpufrequtils");
    let mut cpupower = machine(&["+cpupower"]).file("/etc/default/cpupower", "#governor='ondemand'\n");
    assert_eq!(by(&mut cpupower, "governor=performance"), "cpupower.service");
    assert_eq!(by(&mut machine(&["+tlp"]), "governor=performance"), "TLP");
    assert_eq!(by(&mut tuned(machine(&["+tuned"])), "governor=performance"), "TuneD");
    // One that is there and is not started keeps nothing.
    assert_eq!(by(&mut tuned(machine(&["tuned"])), "governor=performance"), "powerband-keep.service");
}

#[test]
fn where_two_set_it_both_are_told_or_it_is_set_after_them() {
    let mut tree = machine(&["+tuned", "+tlp"])
        .file("/etc/tuned/active_profile", "balanced\n")
        .file("/usr/lib/tuned/balanced/tuned.conf", "[cpu]\ngovernor=schedutil\n")
        .file("/etc/tlp.d/10-mine.conf", "CPU_SCALING_GOVERNOR_ON_AC=powersave\n");
    assert_eq!(by(&mut tree, "governor=performance"), "TuneD and TLP");
    // TLP reads this file last, whatever a drop-in says.
    let mut tree = tree.file("/etc/tlp.conf", "CPU_SCALING_GOVERNOR_ON_AC=powersave\n");
    assert_eq!(by(&mut tree, "governor=performance"), "TuneD, TLP and powerband-keep.service");
    // What TuneD cannot be told is set after both.
    let mut tree = tree;
    assert_eq!(by(&mut tree, "governor@policy0=performance"), "powerband-keep.service");
    tree.kept("governor@policy0=performance");
    assert!(tree.text(UNIT).contains("echo performance > /sys/devices/system/cpu/cpufreq/policy0/scaling_governor"));
    assert!(tree.text(UNIT).contains(" tuned.service ") && tree.text(UNIT).contains(" tlp.service "));
    let mut both = machine(&["+cpufrequtils", "+cpupower"])
        .file("/etc/default/cpufrequtils", "GOVERNOR=\"powersave\"\n")
        .file("/etc/default/cpupower", "governor='ondemand'\n");
    assert_eq!(by(&mut both, "governor=performance"), "cpupower.service and cpufrequtils");
    let script =
        "[Service]\nExecStart=/bin/sh -c 'echo powersave > /sys/devices/system/cpu/cpufreq/policy0/scaling_governor'\n";
    let mut theirs = machine(&["+cpufrequtils", "+mine"]).file("/etc/systemd/system/mine.service", script);
    assert_eq!(by(&mut theirs, "governor=performance"), "cpufrequtils and powerband-keep.service");
}

#[test]
fn what_acts_later_than_everything_is_named() {
    let mut tree = machine(&["+ondemand"]);
    let error = tree.keeping("governor=performance").unwrap_err().to_string();
    assert!(error.starts_with("cpufreq.governor cannot be kept: ondemand would set"), "{error}");
    assert!(error.contains("ondemand.service"), "{error}");
}

#[test]
fn without_systemd_the_configuration_of_the_service_is_used_or_the_command_told() {
    let centos = |driver: &str| {
        cpus(driver, "ondemand userspace performance", "performance")
            .file("/etc/inittab", "id:3:initdefault:\n")
            .executable("/etc/init.d/cpuspeed", "#!/bin/sh\n")
            .file("/etc/sysconfig/cpuspeed", "DRIVER=\nGOVERNOR=\nMAX_SPEED=\n")
            .file("/etc/rc3.d/S06cpuspeed", "")
    };
    let mut tree = centos("acpi-cpufreq");
    tree.kept("governor=performance max_freq=2000000");
    assert_eq!(tree.text("/etc/sysconfig/cpuspeed"), "DRIVER=\nGOVERNOR=performance\nMAX_SPEED=2000000\n");
    // On this driver the script takes no governor of its configuration.
    let error = centos("p4-clockmod").keeping("governor=performance").unwrap_err();
    assert!(
        matches!(&error, KeepError::Overridden { by, value, .. } if by == "cpuspeed" && value == "userspace"),
        "{error}"
    );
    let error = cpus("x", "performance", "performance").keeping("governor=performance").unwrap_err().to_string();
    let each =
        |policy: u32| format!("echo performance > /sys/devices/system/cpu/cpufreq/policy{policy}/scaling_governor");
    assert!(error.ends_with(&format!("of your own: {}; {}", each(0), each(2))), "{error}");
    // What would need quoting is written into no unit, and that is said, not that there is no systemd.
    let error = machine(&[]).file("/srv/x", "1\n").keeping("file:/srv/x=$(id)").unwrap_err().to_string();
    assert!(error.contains("such characters") && error.ends_with("powerband set 'file:/srv/x=$(id)'"), "{error}");
}

#[test]
fn a_profile_of_ours_includes_the_active_one() {
    let mut tree = machine(&["+tuned"])
        .file("/etc/tuned/active_profile", "balanced mine\n")
        .file("/etc/tuned/profile_mode", "auto\n")
        .file("/usr/lib/tuned/profiles/balanced/tuned.conf", "[cpu]\ngovernor=schedutil\n")
        .file("/etc/tuned/profiles/mine/tuned.conf", "[sysctl]\nvm.swappiness=5\n")
        .file("/proc/sys/vm/swappiness", "5\n");
    let keeping = tree.kept("governor=performance sysctl.vm.swappiness=7");
    let profile = tree.text("/etc/tuned/profiles/powerband/tuned.conf");
    assert!(
        profile.contains("include=balanced,mine\n\n[cpu]\ngovernor=performance\n\n[sysctl]\nvm.swappiness=7\n"),
        "{profile}"
    );
    assert_eq!(
        (tree.text("/etc/tuned/active_profile"), tree.text("/etc/tuned/profile_mode")),
        ("powerband\n", "manual\n")
    );
    assert_eq!(keeping.folders, ["/etc/powerband", "/etc/tuned/profiles/powerband"]);
}

#[test]
fn a_second_setting_joins_the_first_and_nothing_is_left_of_what_it_replaces() {
    let mut tree = machine(&["+cpufrequtils"]).file("/etc/default/cpufrequtils", "# mine\nGOVERNOR=\"powersave\"\n");
    tree.kept("governor=performance");
    assert_eq!(tree.text("/etc/default/cpufrequtils"), "# mine\nGOVERNOR=\"performance\"\nENABLE=\"true\"\n");
    tree.kept("max_freq=2000000");
    let both = "# mine\nGOVERNOR=\"performance\"\nENABLE=\"true\"\nMAX_SPEED=\"2000000\"\n";
    assert_eq!(tree.text("/etc/default/cpufrequtils"), both);
    // One policy alone is more than cpufrequtils can say, so all of the knob moves to the unit, and its file is as it was but for the limit.
    let keeping = tree.kept("governor@policy2=powersave");
    let moved: Vec<(&str, &str)> =
        keeping.manifest.settings.iter().map(|it| (it.site.as_str(), it.by.as_str())).collect();
    assert!(
        moved.contains(&("policy2", "powerband-keep.service"))
            && moved.contains(&("policy0", "powerband-keep.service"))
    );
    assert!(tree.text("/etc/default/cpufrequtils").starts_with("# mine\nGOVERNOR=\"powersave\"\n"));
    let writes = |site: &str| tree.text(UNIT).matches(&format!("/{site}/scaling_governor")).count();
    assert_eq!(
        (writes("policy0"), writes("policy2"), keeping.manifest.settings.len()),
        (1, 1, 4),
        "{}",
        tree.text(UNIT)
    );
}

#[test]
fn a_card_keeps_its_name() {
    let link = "/usr/lib/systemd/network/99-default.link";
    let card = |tree: Tree, name: &str| {
        tree.file(&format!("coalesce:{name}"), "rx-usecs 30\n")
            .file(&format!("coalesce:{name}/rx-usecs"), "30\n")
            .file(&format!("/sys/class/net/{name}/address"), "02:00:00:00:00:01\n")
            .file(&format!("/sys/class/net/{name}/device/uevent"), "DRIVER=e1000e\n")
    };
    let one = empty()
        .file("/proc/cmdline", "quiet\n")
        .file("/proc/net/dev", "a|b\nc|d\n eth0: 0\n")
        .file(link, "[Match]\nOriginalName=*\n[Link]\nNamePolicy=keep kernel\n");
    let mut one = card(one, "eth0").systemd(&[]);
    one.kept("rx-usecs=30");
    let path = "/etc/systemd/network/99-default.link.d/50-powerband.conf";
    assert!(one.text(path).ends_with("[Link]\nRxCoalesceSec=30us\n"), "{}", one.text(path));
    assert_eq!(one.why("rx-usecs").sentence, "udev (when the device appears) sets 30; it reads 30 now");
    // A drop-in would set it on the other card too.
    let two = empty()
        .file("/proc/cmdline", "quiet\n")
        .file("/proc/net/dev", "a|b\nc|d\n eth0: 0\n eth1: 0\n")
        .file(link, "[Match]\nOriginalName=*\n");
    let mut two = card(card(two, "eth0"), "eth1")
        .file("/sys/class/net/eth1/address", "02:00:00:00:00:02\n")
        .file("/usr/lib/udev/rules.d/x.rules", "")
        .file("/usr/sbin/ethtool", "")
        .systemd(&[]);
    two.kept("rx-usecs@eth1=30");
    let rule = "ACTION==\"add\", SUBSYSTEM==\"net\", DRIVERS==\"?*\", ATTR{address}==\"02:00:00:00:00:02\", \
                RUN+=\"/usr/sbin/ethtool -C $name rx-usecs 30\"\n";
    assert!(two.text("/etc/udev/rules.d/99-zz-powerband.rules").ends_with(rule));
    assert_eq!(two.why("rx-usecs@eth1").sentence, "udev (when a device of net says add) sets 30; it reads 30 now");
    assert!(two.why("rx-usecs@eth0").sentence.starts_with("nothing found here sets 30"));
    // udev knows better than its files which one it has applied: a file that cannot be judged is none that is applied.
    let usb = "[Match]\nPath=*-usb-*\n[Link]\nNamePolicy=mac\n";
    let unsure = |tree: Tree| tree.file("/usr/lib/systemd/network/73-usb.link", usb);
    let link = |tree: Tree| {
        unsure(card(tree, "eth0").systemd(&[]))
            .file("/proc/cmdline", "quiet\n")
            .file("/proc/net/dev", "a|b\nc|d\n eth0: 0\n")
            .file(link, "[Match]\nOriginalName=*\n")
            .file("/sys/class/net/eth0/ifindex", "2\n")
    };
    assert!(matches!(link(empty()).keeping("rx-usecs=30"), Err(KeepError::NoPlace { .. })));
    let database = format!("I:1\nE:ID_NET_LINK_FILE={}\n", "/usr/lib/systemd/network/99-default.link");
    assert_eq!(by(&mut link(empty()).file("/run/udev/data/n2", &database), "rx-usecs=30"), "udev (a .link file)");
}

#[test]
fn lists_and_rules_are_used_where_they_act() {
    let mut tree = machine(&[]).file("/etc/sysctl.d/x.conf", "").file("/proc/sys/vm/swappiness", "60\n");
    tree.kept("sysctl.vm.swappiness=60");
    assert!(tree.text("/etc/sysctl.d/99-zz-powerband.conf").ends_with("\nvm.swappiness = 60\n"));
    let scheduler = "/sys/block/sda/queue/scheduler";
    let mut tree = machine(&[]).file("/usr/lib/udev/rules.d/x.rules", "").file(scheduler, "none\n");
    tree.kept(&format!("file:{scheduler}=none"));
    let rule = "ACTION==\"add\", SUBSYSTEM==\"block\", KERNEL==\"sda\", ATTR{queue/scheduler}=\"none\"\n";
    assert!(tree.text("/etc/udev/rules.d/99-zz-powerband.rules").ends_with(rule));
}

#[test]
fn who_changed_it_is_named_with_file_and_line() {
    let mut tree = machine(&[]);
    tree.kept("governor=performance");
    let (checked, changed) = tree.checked();
    assert!(
        checked.iter().all(|it| it.in_force) && checked.len() == 2 && changed.is_empty(),
        "{checked:?} {changed:?}"
    );
    let profile = "/etc/tuned/mine/tuned.conf";
    let mut later = cpus("acpi-cpufreq", ALL, "powersave").default_governor("schedutil").systemd(&["+tuned"]);
    for path in [UNIT, "/etc/systemd/system/multi-user.target.d/powerband-keep.conf", MANIFEST] {
        later = later.file(path, tree.text(path));
    }
    let mut later = later.file("/etc/tuned/active_profile", "mine\n").file(profile, "[cpu]\ngovernor=powersave\n");
    let (checked, _) = later.checked();
    assert!(checked.iter().all(|it| !it.in_force && it.reads.as_deref() == Some("powersave")));
    assert_eq!(checked[0].culprit.as_deref(), Some("set by TuneD (/etc/tuned/mine/tuned.conf:2: governor=powersave)"));
    assert_eq!(
        set_by(&mut later, &[], "cpufreq.governor", "policy0").as_deref(),
        Some("TuneD (/etc/tuned/mine/tuned.conf:2: governor=powersave)")
    );
    assert_eq!(set_by(&mut machine(&[]), &[], "cpufreq.governor", "policy0"), None, "only the kernel does");
    let mut edited = tree.file(UNIT, "[Unit]\n");
    assert_eq!(edited.checked().1, [format!("{UNIT} was changed since it was written")]);
}

#[test]
fn a_connection_of_network_manager_keeps_the_card_it_names() {
    let path = "/etc/NetworkManager/system-connections/a.nmconnection";
    let tree = |services: &[&str]| {
        empty()
            .file("/proc/cmdline", "quiet\n")
            .file("/proc/net/dev", "a|b\nc|d\n eth0: 0\n")
            .file("/usr/lib/systemd/network/99-default.link", "[Match]\nOriginalName=*\n")
            .file("coalesce:eth0", "rx-usecs 30\n")
            .file("coalesce:eth0/rx-usecs", "30\n")
            .file("/sys/class/net/eth0/address", "02:00:00:00:00:01\n")
            .file("/sys/class/net/eth0/device/uevent", "DRIVER=e1000e\n")
            .file(path, "[connection]\ninterface-name=eth0\n[ethtool]\ncoalesce-rx-usecs=5\n[ipv4]\nmethod=auto\n")
            .systemd(services)
    };
    let mut on = tree(&["+NetworkManager"]);
    assert_eq!(by(&mut on, "rx-usecs=30"), "NetworkManager");
    on.kept("rx-usecs=30");
    assert!(on.text(path).contains("\n[ethtool]\ncoalesce-rx-usecs=30\n[ipv4]\n"), "{}", on.text(path));
    // A connection that nothing brings up keeps nothing.
    assert_eq!(by(&mut tree(&[]), "rx-usecs=30"), "udev (a .link file)");
}

#[test]
fn the_kernels_command_line_is_named_where_it_would_do() {
    let mut tree = machine(&[]);
    let manifest = tree.keeping("governor=performance").unwrap().manifest;
    assert_eq!(manifest.settings[0].boot_option().unwrap(), "cpufreq.default_governor=performance");
    let mut tree = machine(&[]).file("/proc/sys/vm/swappiness", "60\n").file("/etc/sysctl.d/x.conf", "");
    assert_eq!(tree.keeping("sysctl.vm.swappiness=60").unwrap().manifest.settings[0].boot_option(), None);
}

#[test]
fn what_differs_between_policies_or_is_kept_on_some_is_not_kept_everywhere() {
    for (setting, everywhere) in [
        ("governor=performance", true),
        ("governor@policy0=performance", false),
        ("governor@policy0=performance governor@policy2=powersave", false),
    ] {
        let manifest = machine(&[]).keeping(setting).unwrap().manifest;
        assert!(manifest.settings.iter().all(|it| it.everywhere == everywhere), "{setting}: {manifest:?}");
    }
}

#[test]
fn a_cpu_that_was_away_when_a_governor_was_kept_is_missed_once_it_is_back() {
    for (setting, missed) in [("governor=performance", true), ("governor@policy0=performance", false)] {
        // The second policy is not there.
        let away = |tree: Tree| tree.without("/sys/devices/system/cpu/cpufreq/policy2/");
        let mut tree = away(machine(&[]));
        tree.kept(setting);
        let mut back = cpus("acpi-cpufreq", ALL, "schedutil").default_governor("schedutil").systemd(&[]);
        back = back.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
        for path in [UNIT, "/etc/systemd/system/multi-user.target.d/powerband-keep.conf", MANIFEST] {
            back = back.file(path, tree.text(path));
        }
        let (checked, _) = back.checked();
        let lost: Vec<&str> = checked.iter().filter(|it| !it.in_force).map(|it| it.setting.site.as_str()).collect();
        assert_eq!(lost, if missed { vec!["policy2"] } else { Vec::new() }, "{checked:?}");
        assert!(away(back).checked().0.iter().all(|it| it.in_force));
    }
}
