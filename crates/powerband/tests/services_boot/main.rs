//! Kept settings and the access service over real boots: systemd in containers over a Debian tree that is fetched once into the target folder, with the daemons
//! people run, and a simulated machine in place of the CPUs. A sweep (`POWERBAND_SWEEP=1`) tries all pairs of ten that may set a governor.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
mod access;
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;

use std::path::{Path, PathBuf};
use std::process::Command;

use desk::{Ran, root};

const PACKAGES: &str = "systemd,systemd-sysv,dbus,udev,linux-cpupower,cpufrequtils,procps,ethtool,iproute2,tuned,thermald,irqbalance,network-manager";

/// What may set a governor, as the script calls them.
const ALL: [&str; 10] = [
    "tuned",
    "tlp",
    "power_profiles",
    "cpufrequtils",
    "cpupower",
    "thermald",
    "irqbalance",
    "NetworkManager",
    "networkd",
    "cpuspeed",
];

/// The tree with a package that the other one conflicts with, fetched when it is not there.
fn tree(package: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("boot-trees");
    let (tree, draft) = (target.join(package), target.join(format!("{package}.new")));
    if tree.exists() {
        return tree;
    }
    std::fs::create_dir_all(&target).unwrap();
    let _ = std::fs::remove_dir_all(&draft);
    let told = Command::new("mmdebstrap")
        .args(["--quiet", "--mode=root", "--variant=apt", "--aptopt=APT::Install-Recommends \"false\""])
        .arg(format!("--include={PACKAGES},{package}"))
        .arg("bookworm")
        .arg(&draft)
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    std::fs::rename(&draft, &tree).unwrap();
    tree
}

struct Boots<'a> {
    init: &'a str,
    sim: &'a str,
    package: &'a str,
    setup: &'a str,
    first: &'a str,
    second: &'a str,
    third: &'a str,
}

/// What is printed in each boot.
fn boots(boots: &Boots<'_>) -> Option<[String; 3]> {
    if !root() {
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services_boot/boots.sh");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", script]);
    command
        .env("P", env!("CARGO_BIN_EXE_powerband"))
        .env("TREE", tree(boots.package))
        .env("SIM", boots.sim)
        .env("INIT", boots.init);
    command.env("SETUP", boots.setup).env("FIRST", boots.first).env("SECOND", boots.second).env("THIRD", boots.third);
    let ran = Ran::of(&command.output().unwrap()).ended(0);
    let mut told = ran.out.split("== ").skip(1).map(|part| part.split_once('\n').unwrap().1.to_owned());
    Some([told.next().unwrap(), told.next().unwrap(), told.next().unwrap_or_default()])
}

/// Waits for daemons that act after they say that they are started, and until what is kept has been set again.
const CHECK: &str = "sleep 13; powerband check; echo code $?";

/// With both of a pair set to one governor, another is kept: in the next boot it is in force, or `check` names the file and line of who set the
/// other one. `true` where it is in force.
fn pair(a: &str, b: &str) -> Option<bool> {
    let profiles = [a, b].contains(&"power_profiles");
    let (sim, package, theirs, ours) = match profiles {
        true => ("laptop", "power-profiles-daemon", "powersave", "performance"),
        false => ("pc", "tlp", "ondemand", "powersave"),
    };
    let setup = format!("governor_of_{a} {theirs}; governor_of_{b} {theirs}");
    let first = format!("powerband keep governor={ours}; echo code $?");
    let [first, second, _] =
        boots(&Boots { init: "systemd", sim, package, setup: &setup, first: &first, second: CHECK, third: "" })?;
    assert!(first.ends_with("code 0\n"), "{a} and {b}: {first}");
    let kept = second.ends_with("kept settings are in force\ncode 0\n");
    let named = |line: &str| line.contains("set by ") && line.contains("(/") && line.contains(".conf:");
    let lost: Vec<&str> = second.lines().filter(|line| line.starts_with("cpufreq.governor at ")).collect();
    assert!(kept || (!lost.is_empty() && lost.iter().all(|line| named(line))), "{a} and {b}: {first}{second}");
    Some(kept)
}

#[test]
fn a_kept_governor_is_in_force_after_the_next_boot() {
    for (a, b) in [("tuned", "tlp"), ("cpufrequtils", "cpuspeed"), ("tuned", "cpupower")] {
        let Some(kept) = pair(a, b) else { return };
        assert!(kept, "{a} and {b}");
    }
}

#[test]
fn sweep_all_pairs() {
    if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") {
        let pairs = ALL.iter().enumerate().flat_map(|(at, a)| ALL[at + 1..].iter().map(move |b| (*a, *b)));
        // The two cannot be installed together.
        let pairs = pairs.filter(|pair| *pair != ("tlp", "power_profiles"));
        let kept: Vec<bool> = pairs.filter_map(|(a, b)| pair(a, b)).collect();
        println!(
            "{} of {} pairs kept it, the others were named",
            kept.iter().filter(|kept| **kept).count(),
            kept.len()
        );
    }
}

#[test]
fn who_sets_it_later_is_named_with_file_and_line() {
    let late = "printf '#!/bin/sh\\nsleep 12\\necho ondemand >/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor\\n' >/usr/local/sbin/late; \
                chmod +x /usr/local/sbin/late; \
                printf '[Service]\\nType=simple\\nExecStart=/usr/local/sbin/late\\n[Install]\\nWantedBy=multi-user.target\\n' \
                >/etc/systemd/system/late.service; systemctl -q enable late";
    let (first, later) =
        (format!("powerband keep governor=powersave; {late}"), "sleep 16; powerband check; echo code $?");
    let told = boots(&Boots {
        init: "systemd",
        sim: "pc",
        package: "tlp",
        setup: ":",
        first: &first,
        second: later,
        third: "",
    });
    let Some([_, second, _]) = told else { return };
    assert!(second.contains("cpufreq.governor at policy1: kept powersave, reads ondemand; "), "{second}");
    assert!(second.contains("set by late.service (/usr/local/sbin/late:3: echo ondemand"), "{second}");
    assert!(second.ends_with("3 of 4 kept settings are in force\ncode 1\n"), "{second}");
}

#[test]
fn what_nobody_confirms_is_gone_in_the_second_boot() {
    let (first, check) =
        ("powerband keep governor=powersave --until-confirmed", "powerband check; powerband get governor@policy0");
    let confirmed = format!("{check}; powerband confirm");
    for (second, third) in [(check, "nothing is kept"), (confirmed.as_str(), "4 of 4 kept settings are in force\n")] {
        let boots =
            boots(&Boots { init: "systemd", sim: "pc", package: "tlp", setup: ":", first, second, third: check });
        let Some([_, second, last]) = boots else { return };
        assert!(second.starts_with("4 of 4 kept settings are in force\n"), "{second}");
        assert!(last.starts_with(third), "{last}");
        let governor = if third.starts_with("nothing") { "performance" } else { "powersave" };
        assert!(last.contains(&format!("= {governor}\n")), "{last}");
    }
}

/// As CentOS 6 starts it, with powerband in the place of its daemon: the script either has `pace` set the frequency, or sets the governor of its
/// configuration, which is where `keep` puts one on a machine without systemd. Both come at the same point of the boot.
#[test]
fn pace_takes_the_place_of_cpuspeed_in_the_boot_of_centos_6() {
    let setup = r#"
rm -f "$R"/etc/rc3.d/*; echo id:3:initdefault: >"$R/etc/inittab"; mkdir -p "$R/etc/sysconfig"
printf 'DRIVER=\nGOVERNOR=\nMAX_SPEED=\nMIN_SPEED=\nUP_THRESHOLD=\nDOWN_THRESHOLD=\nIGNORE_NICE=0\n' >"$R/etc/sysconfig/cpuspeed"
printf '#!/bin/sh\n' >"$R/etc/init.d/early"; cp "$R/etc/init.d/early" "$R/etc/init.d/late"
cat >"$R/etc/init.d/cpuspeed" <<'X'
#!/bin/sh
. /etc/sysconfig/cpuspeed
governors=/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
case "$1:$GOVERNOR" in
  start:)
    powerband pace cpuspeed --config /etc/sysconfig/cpuspeed -i 2 -v >/var/log/pace 2>&1 & echo $! >/run/cpuspeed.pid
    n=0; until grep -qs down /var/log/pace; do n=$((n+1)); [ $n -lt 300 ] || exit 1; sleep 0.1; done ;;
  start:*) for f in $governors; do echo "$GOVERNOR" >$f; done ;;
  stop:*) kill $(cat /run/cpuspeed.pid); n=0; while kill -0 $(cat /run/cpuspeed.pid) 2>/dev/null && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.1; done ;;
esac
X
chmod +x "$R/etc/init.d/early" "$R/etc/init.d/late" "$R/etc/init.d/cpuspeed"
for s in S01early S06cpuspeed S99late; do ln -s "../init.d/${s#S??}" "$R/etc/rc3.d/$s"; done
"#;
    let first = "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq; /etc/init.d/cpuspeed stop
        powerband get governor | head -1; powerband keep governor=ondemand; cat /etc/sysconfig/cpuspeed";
    let second = "powerband check; powerband why; powerband unkeep; cat /etc/sysconfig/cpuspeed";
    let told = boots(&Boots { init: "sysv", sim: "x3650", package: "tlp", setup, first, second, third: "" });
    let Some([first, second, _]) = told else { return };
    let kernels = first.lines().next().unwrap().strip_prefix("kernel: ").unwrap();
    for line in [
        format!("S01early: {kernels}\nS06cpuspeed: userspace\nS99late: userspace\n"),
        format!("= {kernels}\n"),
        "set at boot by cpuspeed\n".to_owned(),
        "GOVERNOR=ondemand\n".to_owned(),
    ] {
        assert!(first.contains(&line), "{line} is not in {first}");
    }
    assert!(second.contains(&format!("S01early: {kernels}\nS06cpuspeed: ondemand\nS99late: ondemand\n")), "{second}");
    assert!(
        second.contains("kept settings are in force\n")
            && second.contains("/etc/sysconfig/cpuspeed:2: GOVERNOR=ondemand"),
        "{second}"
    );
    assert!(second.contains("GOVERNOR=\nMAX_SPEED"), "{second}");
}
