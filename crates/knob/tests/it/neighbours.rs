//! Writes that move other files along, and files that take another text than they show: all comes back, or nothing is changed.
use powerband_knob::{ErrorKind, Selection, apply, restore};
use powerband_machine::{Change, Errno, Hold};
use powerband_record::Setting;

use crate::fake::{Fake, ROOT, Rules, cpufreq};

const CPU: &str = "/sys/devices/system/cpu";
const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const HUGE: &str = "/sys/kernel/mm/transparent_hugepage/hugepages-2048kB";
const VM: &str = "/proc/sys/vm";

/// Files and what they hold; what stands before the first blank is the path.
const FILES: &str = include_str!("neighbours/files.txt");

fn machine() -> Fake {
    let mut fake = cpufreq(2, 1, Rules::default());
    for (path, text) in FILES.lines().filter_map(|line| line.split_once(' ')) {
        fake.files.insert(path.to_owned(), format!("{text}\n"));
    }
    fake.files.insert(format!("{ROOT}/policy0/scaling_max_freq"), "2000000\n".to_owned());
    fake
}

/// A write to a file of bracketed choices.
fn choose(fake: &mut Fake, path: &str, text: &str) -> Result<(), Errno> {
    let (folder, file) = path.rsplit_once('/').unwrap_or_default();

    let choices = fake.files[path].replace(['[', ']'], "");
    if !choices.split_whitespace().any(|choice| choice == text) {
        return Err(Errno::EINVAL);
    }
    let chosen = |choice: &str| if choice == text { format!("[{choice}]") } else { choice.to_owned() };
    let shown: Vec<String> = choices.split_whitespace().map(chosen).collect();
    fake.files.insert(path.to_owned(), format!("{}\n", shown.join(" ")));
    if file == "enabled" {
        let recommended = if text == "never" { "1000" } else { "90000" };
        fake.files.insert(format!("{VM}/min_free_kbytes"), format!("{recommended}\n"));
    }
    if file == "scheduler" {
        fake.files.insert(format!("{folder}/nr_requests"), "256\n".to_owned());
        fake.files.insert(format!("{folder}/wbt_lat_usec"), "0\n".to_owned());
    }
    Ok(())
}

const CONF6: &str = "/proc/sys/net/ipv6/conf";

/// A write to a switch of IPv6: of all devices, or of one, which begins with its link's MTU.
fn conf6(put: &mut dyn FnMut(&str, &str), folder: &str, file: &str, text: &str) {
    if folder.ends_with("/all") {
        for name in ["eth0", "lo"] {
            conf6(put, &format!("{CONF6}/{name}"), file, text);
        }
        return;
    }
    put(&format!("{folder}/{file}"), text);
    if file == "disable_ipv6" {
        put(&format!("{folder}/mtu"), if folder.ends_with("/lo") { "65536" } else { "1500" });
    }
}

/// The switch of forwarding under all its names.
fn forward(put: &mut dyn FnMut(&str, &str), text: &str) {
    for name in ["all", "eth0", "lo"] {
        put(&format!("/proc/sys/net/ipv4/conf/{name}/forwarding"), text);
    }
    put("/proc/sys/net/ipv4/conf/all/accept_redirects", if text == "0" { "1" } else { "0" });
    put("/proc/sys/net/ipv4/ip_forward", text);
}

/// The number of huge pages under all its names.
fn reserve(put: &mut dyn FnMut(&str, &str), text: &str) {
    for folder in [VM, "/sys/kernel/mm/hugepages/hugepages-2048kB"] {
        ["nr_hugepages", "nr_hugepages_mempolicy"].iter().for_each(|name| put(&format!("{folder}/{name}"), text));
    }
}

/// Why a file takes no such text now.
fn refusal(fake: &Fake, (folder, file): (&str, &str), text: &str) -> Option<Errno> {
    let reads = |path: &str| fake.files.get(path).map(|text| text.trim_end());
    match (folder, file) {
        (VM, "dirty_bytes" | "drop_caches") if text == "0" => Some(Errno::EINVAL),
        (KSM, "pages_to_scan") if reads(&format!("{KSM}/advisor_mode")) != Some("none") => Some(Errno::EINVAL),
        (VM, "spent_b") => Some(Errno::ENODEV),
        // One that found out how fast memory is may find it again.
        (_, "auto") if text == "true" && reads(&format!("{folder}/auto")) == Some("true") => Some(Errno::ENODEV),
        _ => None,
    }
}

/// What a file shows that shows another text than it takes.
fn shown<'t>(file: &str, text: &'t str) -> Option<&'t str> {
    match (file, text.trim()) {
        ("driver_override", "") => Some("(null)"),
        ("driver_override", name) => Some(name),
        ("counting", "0") => Some("0"),
        ("counting", _) => Some("1"),
        _ => None,
    }
}

const KSM: &str = "/sys/kernel/mm/ksm";

/// What a write to a setting of memory moves along.
fn memory(put: &mut dyn FnMut(&str, &str), path: &str, (folder, file): (&str, &str), text: &str) {
    match (folder, file) {
        (VM, "dirty_bytes") => put(&format!("{VM}/dirty_ratio"), "0"),
        (VM, "dirty_ratio") => put(&format!("{VM}/dirty_bytes"), "0"),
        (VM, "overcommit_kbytes") => put(&format!("{VM}/overcommit_ratio"), "0"),
        (VM, "overcommit_ratio") => put(&format!("{VM}/overcommit_kbytes"), "0"),
        (_, "nr_hugepages" | "nr_hugepages_mempolicy") => reserve(put, text),
        // A setting that nobody knows to move another one, which takes nothing meanwhile.
        (KSM, "advisor_mode") => put(&format!("{KSM}/pages_to_scan"), if text == "none" { "100" } else { "500" }),
        (_, "max_ratio" | "min_ratio") => put(&format!("{path}_fine"), &format!("{text}0000")),
        (_, "max_ratio_fine" | "min_ratio_fine") => {
            put(&path.replace("_fine", ""), &(text.parse::<u32>().unwrap_or(0) / 10_000).to_string());
        }
        (_, "auto") if text == "true" => put(&format!("{folder}/node0"), "9"),
        (VM, "spent_c") if text != "1" => put(&format!("{VM}/spent_b"), "0"),
        (VM, "spent_a") => put(&format!("{VM}/spent_b"), "0"),
        (VM, "twin_a") => put(&format!("{VM}/twin_b"), "0"),
        _ => {}
    }
}

/// What a write to a setting of the network moves along.
fn network(put: &mut dyn FnMut(&str, &str), path: &str, (folder, file): (&str, &str), text: &str) {
    match (folder, file) {
        ("/sys/class/net/eth0", "mtu") => put(&format!("{CONF6}/eth0/mtu"), text),
        (_, "ignore_routes_with_linkdown" | "force_forwarding" | "addr_gen_mode") => conf6(put, folder, file, text),
        (_, "tcp_congestion_control") => {
            put(&format!("{folder}/tcp_allowed_congestion_control"), &format!("reno {text}"));
        }
        ("/proc/sys/net/ipv4", "ip_forward") | ("/proc/sys/net/ipv4/conf/all", "forwarding") => forward(put, text),
        (folder, "disable_ipv6" | "forwarding") if folder.starts_with(CONF6) => conf6(put, folder, file, text),
        (_, "unres_qlen") => put(&format!("{path}_bytes"), &format!("{text}0000")),
        (_, "retrans_time" | "base_reachable_time" | "gc_min_interval") => {
            put(&format!("{path}_ms"), &format!("{text}000"));
        }
        _ => {}
    }
}

/// What the kernel makes of a write to one of these files; nothing for the others.
pub(crate) fn kernel(fake: &mut Fake, path: &str, text: &str) -> Option<Result<(), Errno>> {
    let is_known = |path: &str| {
        FILES.lines().any(|line| line.split(' ').next() == Some(path))
            || LOSABLE.lines().any(|line| line.split('=').next() == Some(path))
            || path.starts_with("/proc/sys/vm/spent_")
    };
    if path.starts_with(ROOT) || !is_known(path) {
        return None;
    }
    let (folder, file) = path.rsplit_once('/').unwrap_or_default();
    // Switches of forwarding do nothing where nothing changes.
    let is_switch = ["forwarding", "ip_forward", "disable_ipv6", "advisor_mode"].contains(&file);
    if is_switch && fake.files[path].trim_end() == text {
        return Some(Ok(()));
    }
    if let Some(errno) = refusal(fake, (folder, file), text) {
        return Some(Err(errno));
    }
    if let Some(shown) = shown(file, text) {
        fake.files.insert(path.to_owned(), format!("{shown}\n"));
        return Some(Ok(()));
    }
    let mut put = |path: &str, text: &str| {
        if let Some(file) = fake.files.get_mut(path) {
            *file = format!("{text}\n");
        }
    };
    memory(&mut put, path, (folder, file), text);
    network(&mut put, path, (folder, file), text);
    match (folder, file) {
        (THP | HUGE, _) | ("/sys/block/vda/queue", "scheduler") => return Some(choose(fake, path, text)),
        ("/sys/block/vda/queue", "nr_requests") => put("/sys/block/vda/queue/iosched/async_depth", text),
        (_, "no_turbo") => {
            put(path, text);
            fake.files.insert(format!("{ROOT}/policy0/scaling_max_freq"), "2400000\n".to_owned());
            return Some(Ok(()));
        }
        ("/proc/sys/kernel", "watchdog") => {
            ["nmi_watchdog", "soft_watchdog"].into_iter().for_each(|name| put(&format!("{folder}/{name}"), text));
        }
        (_, "control") if text == "on" => {
            (1..4).for_each(|cpu| put(&format!("{CPU}/cpu{cpu}/online"), "1"));
        }
        (_, "control") => {
            (1..4).for_each(|cpu| put(&format!("{CPU}/cpu{cpu}/online"), "0"));
            [1, 3].into_iter().for_each(|cpu| put(&format!("{CPU}/cpu{cpu}/cpuidle/state1/disable"), "0"));
        }
        ("/proc/sys/net/ipv4/conf/default", "rp_filter") => {
            let lo = "/proc/sys/net/ipv4/conf/lo/rp_filter";
            if fake.files[lo] == fake.files[path] {
                fake.files.insert(lo.to_owned(), format!("{text}\n"));
            }
            fake.files.insert(path.to_owned(), format!("{text}\n"));
            return Some(Ok(()));
        }
        (_, "online" | "target") if path.contains("/cpu1/") => {
            put(&format!("{CPU}/cpu1/cpuidle/state1/disable"), "0");
            put("/proc/irq/7/smp_affinity_list", "0-3");
        }
        (_, "status") => {
            for (name, text) in [("no_turbo", "0"), ("max_perf_pct", "100"), ("min_perf_pct", "0")] {
                put(&format!("{folder}/{name}"), text);
            }
            // Policies are made again by the machine itself.
            return None;
        }
        _ => {}
    }
    put(path, text);
    Some(Ok(()))
}

#[test]
fn what_a_write_moves_along_is_restored() {
    for case in include_str!("neighbours/moved.txt").lines() {
        for (hold, in_bytes) in [(Hold::Held, false), (Hold::Set, false), (Hold::Held, true)] {
            let mut machine = machine();
            if in_bytes {
                machine.meddle("/proc/sys/vm/dirty_bytes", "400000000");
                machine.meddle("/proc/sys/vm/overcommit_kbytes", "5000");
            }
            let before = machine.files.clone();
            let applied = apply(&mut machine, &Setting::parse(case).unwrap(), hold, &Selection::everywhere()).unwrap();
            assert!(applied.inexact().is_empty(), "{case}: {:?}", applied.inexact());
            assert_ne!(machine.files, before, "{case}");
            let restored = restore(&mut machine, &applied.entries, false);
            assert!(restored.complete(), "{case}: {restored:?}");
            let differs = machine.files.iter().filter(|(path, text)| before.get(*path) != Some(text));
            assert_eq!(differs.collect::<Vec<_>>(), [], "{case}");
            assert!(machine.open_entries().is_empty(), "{case}");
        }
    }
}

#[test]
fn what_one_command_moves_and_another_one_sets_is_restored_with_both() {
    for (first, second) in [
        ("sysctl.net.ipv4.conf.default.rp_filter=2", "sysctl.net.ipv4.conf.lo.rp_filter=1"),
        ("sysctl.net.ipv4.ip_forward=1", "sysctl.net.ipv4.conf.lo.forwarding=0"),
        ("sysctl.vm.nr_hugepages=1", "file:/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages=2"),
        ("file:/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages_mempolicy=1", "sysctl.vm.nr_hugepages=2"),
        ("sysctl.vm.dirty_ratio=10", "sysctl.vm.dirty_bytes=500000000"),
    ] {
        for at_once in [false, true] {
            let mut machine = machine();
            let before = machine.files.clone();
            let mut set = |text: &str| {
                let setting = Setting::parse(text).unwrap();
                apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap().entries
            };
            let (one, other) = (set(first), set(second));
            assert_ne!(machine.files, before);
            let steps = if at_once { vec![[one, other].concat()] } else { vec![other, one] };
            for entries in steps {
                let restored = restore(&mut machine, &entries, false);
                assert!(restored.complete(), "{first}, {second}: {restored:?}");
            }
            let differs = machine.files.iter().filter(|(path, text)| before.get(*path) != Some(text));
            assert_eq!(differs.collect::<Vec<_>>(), [], "{first}, {second}");
            assert!(machine.open_entries().is_empty(), "{first}, {second}");
        }
    }
}

#[test]
fn a_member_of_a_pair_is_left_alone_where_somebody_has_set_the_other_one() {
    let mut machine = machine();
    let setting = Setting::parse("sysctl.vm.dirty_bytes=500000000").unwrap();
    let applied = apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap();
    machine.meddle("/proc/sys/vm/dirty_ratio", "10");
    let restored = restore(&mut machine, &applied.entries, false);
    assert_eq!(
        (restored.foreign.len(), restored.inexact.len(), machine.open_entries().len()),
        (1, 0, 1),
        "{restored:?}"
    );
    assert!(restore(&mut machine, &applied.entries, true).complete());
    assert_eq!((machine.show("/proc/sys/vm/dirty_ratio"), machine.show("/proc/sys/vm/dirty_bytes")), ("20", "0"));
}

/// What some writes would lose for good: paths, an equals sign, what they show.
const LOSABLE: &str = include_str!("neighbours/losable.txt");

#[test]
fn what_could_be_restored_after_all_is_changed() {
    for case in [
        "file:/sys/class/net/eth7/mtu=1280",
        "file:/sys/class/net/eth8/mtu=1279",
        "file:/sys/fs/cgroup/a/io.max=\"8:0 rbps=7\"",
        "file:/sys/devices/pci0000:00/0000:00:01.0/driver_override=x",
        "file:/sys/fs/cgroup/a/cpu.weight.nice=-5",
        "file:/sys/kernel/mm/damon/admin/kdamonds/0/contexts/nr_contexts=2",
    ] {
        let mut machine = machine();
        for (path, text) in LOSABLE.lines().filter_map(|line| line.split_once("=")) {
            machine.files.insert(path.to_owned(), format!("{text}\n"));
        }
        let before = machine.files.clone();
        let setting = Setting::parse(case).unwrap();
        let applied = apply(&mut machine, &setting, Hold::Held, &Selection::everywhere()).unwrap();
        assert_ne!(machine.files, before, "{case}");
        assert!(restore(&mut machine, &applied.entries, false).complete(), "{case}");
        assert_eq!(machine.files, before, "{case}");
    }
}

#[test]
fn a_trial_that_cannot_be_taken_back_is_reported() {
    for (case, left) in [
        ("sysctl.vm.spent_a=5", "/proc/sys/vm/spent_b reads 0 where it read 1 before"),
        ("sysctl.vm.spent_c=5", "/proc/sys/vm/spent_b reads 0 where it read 1 before"),
        ("sysctl.vm.counting=5", "sysctl.vm.counting reads 1 where it read 2 before"),
    ] {
        let mut machine = machine();
        for (name, text) in [("spent_a", "1\n"), ("spent_b", "1\n"), ("spent_c", "1\n"), ("counting", "2\n")] {
            machine.files.insert(format!("{VM}/{name}"), text.to_owned());
        }
        let setting = Setting::parse(case).unwrap();
        let error = apply(&mut machine, &setting, Hold::Held, &Selection::everywhere()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CannotRestore);
        assert_eq!(error.to_string().matches("RESTORE INCOMPLETE").count(), 1, "{error}");
        assert!(error.to_string().contains(left), "{error}");
        assert!(machine.open_entries().iter().all(|entry| entry.turn.hold == Hold::Set), "{case}");
    }
}

#[test]
fn an_earlier_command_is_not_undone_below_a_later_one() {
    for (first, second) in [
        ("sysctl.vm.dirty_ratio=10", "sysctl.vm.dirty_ratio=30"),
        ("pstate.no_turbo=0", "pstate.no_turbo=1 min_perf_pct=30"),
    ] {
        let mut machine = machine();
        let before = machine.files.clone();
        let mut set = |text: &str| {
            let setting = Setting::parse(text).unwrap();
            apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap().entries
        };
        let (one, other) = (set(first), set(second));
        let both = machine.files.clone();
        let early = restore(&mut machine, &one, true);
        assert!(!early.complete() && !early.failed.is_empty(), "{early:?}");
        assert_eq!(machine.files, both, "{first}");
        for entries in [other, one] {
            assert!(restore(&mut machine, &entries, false).complete(), "{first}");
        }
        assert_eq!(machine.files, before, "{first}");
        assert!(machine.open_entries().is_empty(), "{first}");
    }
}

#[test]
fn a_file_that_could_not_be_restored_is_not_changed() {
    let cases = [
        ("sysctl.vm.drop_caches=3", "refuses the value that is there, '0'"),
        ("sysctl.kernel.unprivileged_bpf_disabled=1", "takes no other value after 1"),
        ("sysctl.kernel.unprivileged_bpf_disabled=0x1", "takes no other value after 1"),
        ("sysctl.kernel.tainted=0", "removes none"),
        ("sysctl.net.ipv6.conf.eth1.disable_ipv6=1", "eth1 would lose its addresses"),
        ("sysctl.net.ipv6.conf.all.disable_ipv6=1", "eth1 would lose its addresses"),
        ("sysctl.net.ipv6.conf.eth2.disable_ipv6=1", "eth2 would lose its addresses or routes"),
        ("sysctl.net.ipv6.conf.eth4.disable_ipv6=1", "eth4 would lose its addresses"),
        ("file:/sys/class/net/eth1/mtu=1000", "eth1 would lose its addresses or routes"),
        ("file:/sys/class/net/eth1/mtu=0x3e8", "eth1 would lose its addresses or routes"),
        ("file:/sys/class/net/eth5/mtu=67", "eth5 would lose its addresses or routes"),
        ("file:/sys/class/net/eth5/mtu=68", "eth5 would lose its settings of IPv6"),
        ("file:/sys/class/net/eth9/mtu=68", "eth9 would lose its settings of IPv6"),
        ("sysctl.net.ipv6.conf.eth6.disable_ipv6=1", "eth6 would lose its permanent neighbours"),
        ("file:/sys/class/net/eth7/mtu=1279", "eth7 would lose its permanent neighbours"),
        ("file:/sys/class/net/eth3/flags=0x1002", "eth3 would lose its addresses or routes"),
        ("file:/sys/fs/cgroup/a/cgroup.procs=8", "added to what it shows"),
        ("file:/sys/fs/cgroup/a/cgroup.subtree_control=+cpu", "added to what it shows"),
        ("file:/sys/class/net/bond0/bonding/slaves=-eth1", "removed from that"),
        ("file:/sys/fs/cgroup/a/io.max=\"8:16 rbps=1\"", "a line for each device"),
        ("file:/sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds=2", "removes the folders"),
        ("file:/sys/module/x/parameters/name=x", "it has no value now"),
        ("file:/sys/power/state=mem", "would sleep"),
        ("file:/sys/devices/pci0000:00/0000:00:01.0/enable=0", "counts the writes"),
        ("file:/sys/devices/virtual/bdi/7:0/max_bytes=5", "follows the memory"),
        ("sysctl.kernel.ns_last_pid=5", "each new process changes it"),
        ("file:/proc/acpi/wakeup=LID0", "switches a device"),
        ("file:/sys/kernel/mm/mempolicy/weighted_interleave/node0=3", "refuses the value that is there, 'true'"),
        ("file:/sys/devices/system/cpu/cpu0/hotplug/target=1", "it shows 0, but 200 is in force"),
        ("sysctl.vm.twin_a=5", "changes /proc/sys/vm/twin_b"),
        ("file:/sys/kernel/mm/absent=1", "does not exist"),
    ];
    for (case, why) in cases {
        let mut machine = machine();
        let addresses = "fe800000000000000000000000000001 02 40 20 80 eth0\nfd000000000000000000000000000001 03 40 00 80 eth1\n\
             fe80000000000000005056fffeab0102 05 40 20 80 eth4\nfe800000000000000000000000000002 05 40 20 80 eth4\n";
        machine.files.insert("/proc/net/if_inet6".to_owned(), addresses.to_owned());
        let zeros = "0".repeat(32);
        let route = format!("fd99{:028} 40 {zeros} 00 {zeros} 00000400 00000001 00000000 00000001 eth2\n", 0);
        machine.files.insert("/proc/net/ipv6_route".to_owned(), route);
        for (file, text) in [
            ("/proc/sys/net/ipv6/conf/eth1/disable_ipv6", "0\n"),
            ("/proc/sys/net/ipv6/conf/eth2/disable_ipv6", "0\n"),
            ("/proc/sys/net/ipv6/conf/eth4/disable_ipv6", "0\n"),
            ("/sys/class/net/eth4/address", "00:50:56:ab:01:02\n"),
            ("/sys/class/net/eth1/mtu", "1500\n"),
            ("/sys/class/net/eth3/flags", "0x1003\n"),
        ] {
            machine.files.insert(file.to_owned(), text.to_owned());
        }
        for (path, text) in LOSABLE.lines().filter_map(|line| line.split_once("=")) {
            machine.files.insert(path.to_owned(), format!("{text}\n"));
        }
        let before = machine.files.clone();
        let setting = Setting::parse(case).unwrap();
        let error = apply(&mut machine, &setting, Hold::Held, &Selection::everywhere()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.kind() != ErrorKind::CannotRestore, "{error}");
        assert_eq!(machine.files, before, "{case}");
        assert!(machine.open_entries().is_empty(), "{case}");
    }
}

#[test]
fn a_file_that_another_one_moves_is_set_after_it() {
    for case in [
        "sysctl.net.ipv4.conf.lo.forwarding=0 sysctl.net.ipv4.ip_forward=1",
        "sysctl.net.ipv4.conf.all.accept_redirects=1 sysctl.net.ipv4.ip_forward=1",
        "sysctl.net.ipv4.tcp_allowed_congestion_control=reno sysctl.net.ipv4.tcp_congestion_control=cubic",
    ] {
        let mut machine = machine();
        let before = machine.files.clone();
        let setting = Setting::parse(case).unwrap();
        let applied = apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap();
        assert!(applied.inexact().is_empty(), "{case}: {:?}", applied.inexact());
        let restored = restore(&mut machine, &applied.entries, false);
        assert!(restored.complete(), "{case}: {restored:?}");
        assert_eq!(machine.files, before, "{case}");
    }
}

#[test]
fn what_is_known_to_move_is_saved_before_the_first_write() {
    for (case, moved) in [
        ("sysctl.net.ipv6.conf.lo.disable_ipv6=1", "/proc/sys/net/ipv6/conf/lo/mtu"),
        ("sysctl.net.ipv4.tcp_congestion_control=cubic", "/proc/sys/net/ipv4/tcp_allowed_congestion_control"),
    ] {
        let mut machine = machine();
        apply(&mut machine, &Setting::parse(case).unwrap(), Hold::Held, &Selection::everywhere()).unwrap();
        let open = machine.open_entries();
        assert_eq!((open[0].turn.read_back.as_deref(), open[0].step), (Some(moved), open[0].id), "{case}");
    }
}
