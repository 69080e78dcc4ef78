//! Kept settings and the access service over real boots: systemd in containers over a Debian tree that is fetched once into the target folder, with the daemons
//! people run, and a simulated machine in place of the CPUs. A sweep (`POWERBAND_SWEEP=1`) tries all pairs of ten that may set a governor.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on has failed, and says why")]
#[expect(dead_code, reason = "it belongs to `it`, and little of it is needed here")]
#[path = "../it/desk.rs"]
mod desk;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use desk::{Ran, root};

const PACKAGES: &str = "systemd,systemd-sysv,dbus,udev,linux-cpupower,cpufrequtils,procps,ethtool,iproute2,tuned,thermald,irqbalance,network-manager";

/// What may set a governor, as the script calls them.
const ALL: &str = "tuned tlp power_profiles cpufrequtils cpupower thermald irqbalance NetworkManager networkd cpuspeed";

/// The tree with a package that the other one conflicts with, fetched when it is not there.
fn tree(package: &str) -> PathBuf {
    static FETCHING: Mutex<()> = Mutex::new(());
    let _alone = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("boot-trees");
    let (tree, draft) = (target.join(package), target.join(format!("{package}.new")));
    if tree.exists() {
        return tree;
    }
    std::fs::create_dir_all(&target).unwrap();
    let _ = std::fs::remove_dir_all(&draft);
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--mode=root", "--variant=apt", "--aptopt=APT::Install-Recommends \"false\""]);
    command.arg(format!("--include={PACKAGES},{package}")).arg("bookworm").arg(&draft);
    Ran::of(&command.output().unwrap()).ended(0);
    std::fs::rename(&draft, &tree).unwrap();
    tree
}

/// What is printed in each boot of a system with this init, on this machine, set up like this.
fn boots(init: &str, sim: &str, package: &str, setup: &str, scripts: &[&str]) -> Option<Vec<String>> {
    if !root() {
        return None;
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services_boot");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", &format!("{folder}/boots.sh")]).args(scripts);
    command.env("P", env!("CARGO_BIN_EXE_powerband")).env("TREE", tree(package)).env("SIM", sim).env("INIT", init);
    command.env("SETUP", setup).env("DAEMONS", format!("{folder}/daemons.sh"));
    let ran = Ran::of(&command.output().unwrap()).ended(0);
    let told: Vec<String> = ran.out.split("== \n").skip(1).map(str::to_owned).collect();
    assert_eq!(told.len(), scripts.len(), "{}", ran.out);
    Some(told)
}

/// The tree gets the access service's unit, a policy for Alice, and two users.
const WITH_ACCESS: &str = r#"
install -m 644 "$UNIT" "$U/powerband.service"
install -d -m 755 "$R/etc/powerband"
printf '[[allow]]\nusers = ["alice"]\ncpus = "all"\n[allow.knobs]\n"cpufreq.governor" = ["performance", "powersave"]\n' >"$R/etc/powerband/access.toml"
for u in alice:64101 bob:64102; do
  n=${u#*:}; echo "${u%:*}:x:$n:$n::/home/$n:/bin/sh" >>"$R/etc/passwd"; echo "${u%:*}:x:$n:" >>"$R/etc/group"
  install -d -o "$n" -g "$n" "$R/home/$n"
done
enable powerband
"#;

const CHECK: &str = "powerband check; powerband get governor@policy0";

/// What sets the governor of a CPU after everything else has.
const LATE: &str = r"; . /daemons.sh; cat >/usr/local/sbin/late <<'X'
#!/bin/sh
. /daemons.sh; kept_again
echo ondemand >/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor
touch /run/late
X
chmod +x /usr/local/sbin/late
printf '[Service]\nType=simple\nExecStart=/usr/local/sbin/late\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/late.service
enable late";

/// One system through the boots of all cases that need no daemon of others, each leaving to the next what it found: the access service; what
/// nobody confirms, over two boots; what is confirmed, and who sets it later.
fn through() -> Option<&'static [String]> {
    static TOLD: OnceLock<Option<Vec<String>>> = OnceLock::new();
    let boot = || {
        let keep = "powerband keep governor=powersave --until-confirmed";
        let access = format!("{}\nsystemctl -q disable --now powerband; {keep}", include_str!("access.sh"));
        let unit = concat!("UNIT=", env!("CARGO_MANIFEST_DIR"), "/../../etc/powerband.service");
        let (again, confirmed) = (format!("{CHECK}; {keep}"), format!("{CHECK}; powerband confirm"));
        let late = format!("{CHECK}{LATE}");
        let later = "until [ -e /run/late ]; do sleep 0.1; done; powerband check; echo code $?";
        let scripts = [&access, CHECK, &again, &confirmed, &late, later];
        boots("systemd", "pc", "tlp", &format!("{unit}\n{WITH_ACCESS}"), &scripts)
    };
    TOLD.get_or_init(boot).as_deref()
}

#[test]
fn the_access_service_under_systemd_serves_and_restores_after_a_kill() {
    let Some([told, ..]) = through() else { return };
    // Everybody may ask; who is asking, the kernel says. The connection of the killed service is gone, and with it what it held.
    let expected = "unit: active enabled
folder: drwxr-xr-x root root
socket: srw-rw-rw- root root
state: drwx------ root root
try: 0 1
after try: as before
with: powersave 64101\u{20}
bob: 3
after bob: as before
set:  4 powersave\u{20}
the user's powerband: 8
restarts: 1
after the kill: as before
left: nothing is changed
again: powersave
in the end: as before
";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn what_nobody_confirms_is_gone_in_the_second_boot() {
    let Some([_, first, second, again, confirmed, _]) = through() else { return };
    for kept in [first, again, confirmed] {
        assert!(kept.starts_with("4 of 4 ") && kept.contains("= powersave\n"), "{kept}");
    }
    assert!(second.starts_with("nothing is kept") && second.contains("= performance\n"), "{second}");
}

#[test]
fn who_sets_it_later_is_named_with_file_and_line() {
    let Some([.., later]) = through() else { return };
    assert!(later.contains("cpufreq.governor at policy1: kept powersave, reads ondemand; "), "{later}");
    assert!(later.contains("set by late.service (/usr/local/sbin/late:3: echo ondemand"), "{later}");
    assert!(later.contains("\n3 of 4 ") && later.ends_with("code 1\n"), "{later}");
}

/// With both of each pair set to one governor, another is kept: in the next boot it is in force, or `check` names the file and line of who set the
/// other one. For each `true` where it is in force.
fn pairs(pairs: &[(&str, &str)]) -> Option<Vec<bool>> {
    let profiles = pairs.iter().any(|(a, b)| [a, b].contains(&&"power_profiles"));
    let (sim, package, theirs, ours) = match profiles {
        true => ("laptop", "power-profiles-daemon", "powersave", "performance"),
        false => ("pc", "tlp", "ondemand", "powersave"),
    };
    let keep = format!("powerband keep governor={ours}; echo code $?");
    let check = "kept_again; powerband check; echo code $?; echo ++";
    let after = |(a, b): &(&str, &str)| format!("{check}; instead {a} {b} {theirs}; {keep}");
    let scripts: Vec<String> =
        [keep.clone()].into_iter().chain(pairs[1..].iter().map(after)).chain([check.to_owned()]).collect();
    let (a, b) = pairs[0];
    let setup = format!("governor_of_{a} {theirs}; governor_of_{b} {theirs}");
    let told = boots("systemd", sim, package, &setup, &scripts.iter().map(String::as_str).collect::<Vec<_>>())?;
    let judge = |(pair, boots): (&(&str, &str), &[String])| {
        let (before, after) = (&boots[0], boots[1].split("++\n").next().unwrap());
        assert!(before.ends_with("code 0\n"), "{pair:?}: {before}");
        let kept = after.ends_with("kept settings are in force\ncode 0\n");
        let named = |line: &str| line.contains("set by ") && line.contains("(/") && line.contains(".conf:");
        let lost: Vec<&str> = after.lines().filter(|line| line.starts_with("cpufreq.governor at ")).collect();
        assert!(kept || (!lost.is_empty() && lost.iter().all(|line| named(line))), "{pair:?}: {before}{after}");
        kept
    };
    Some(pairs.iter().zip(told.windows(2)).map(judge).collect())
}

#[test]
fn a_kept_governor_is_in_force_after_the_next_boot() {
    let Some(kept) = pairs(&[("tuned", "tlp"), ("cpufrequtils", "cpuspeed"), ("tuned", "cpupower")]) else { return };
    assert_eq!(kept, [true; 3]);
}

#[test]
fn sweep_all_pairs() {
    if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") {
        let all: Vec<&str> = ALL.split(' ').collect();
        let each = all.iter().enumerate().flat_map(|(at, a)| all[at + 1..].iter().map(move |b| (*a, *b)));
        // The two cannot be installed together.
        let each = each.filter(|pair| *pair != ("tlp", "power_profiles"));
        let kept: Vec<bool> = each.filter_map(|pair| pairs(&[pair])).flatten().collect();
        let count = kept.iter().filter(|kept| **kept).count();
        println!("{count} of {} pairs kept it, the others were named", kept.len());
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
    until grep -qs down /var/log/pace; do kill -0 $! || exit 1; sleep 0.1; done ;;
  start:*) for f in $governors; do echo "$GOVERNOR" >$f; done ;;
  stop:*) kill $(cat /run/cpuspeed.pid); while kill -0 $(cat /run/cpuspeed.pid) 2>/dev/null; do sleep 0.1; done ;;
esac
X
chmod +x "$R/etc/init.d/early" "$R/etc/init.d/late" "$R/etc/init.d/cpuspeed"
for s in S01early S06cpuspeed S99late; do ln -s "../init.d/${s#S??}" "$R/etc/rc3.d/$s"; done
"#;
    let first = "cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq; /etc/init.d/cpuspeed stop
        powerband get governor | head -1; powerband keep governor=ondemand; cat /etc/sysconfig/cpuspeed";
    let second = "powerband check; powerband why; powerband unkeep; cat /etc/sysconfig/cpuspeed";
    let Some(told) = boots("sysv", "x3650", "tlp", setup, &[first, second]) else { return };
    let kernels = told[0].lines().next().unwrap().strip_prefix("kernel: ").unwrap();
    let paced = format!("S01early: {kernels}\nS06cpuspeed: userspace\nS99late: userspace\n");
    let set = format!("S01early: {kernels}\nS06cpuspeed: ondemand\nS99late: ondemand\n");
    let [ours, line] = ["kept settings are in force\n", "/etc/sysconfig/cpuspeed:2: GOVERNOR=ondemand"];
    let first = [&paced, &format!("= {kernels}\n"), "set at boot by cpuspeed\n", "GOVERNOR=ondemand\n"];
    for (told, lines) in told.iter().zip([first, [&set, ours, line, "GOVERNOR=\nMAX_SPEED"]]) {
        for line in lines {
            assert!(told.contains(line), "{line} is not in {told}");
        }
    }
}
