//! Coalescing that is kept over a boot with real udev and a real driver: the card keeps its name, and the value survives the link
//! going down and the driver being loaded again.
use std::path::{Path, PathBuf};
use std::process::Command;

use powerband_bench_virtual::{GuestKernel, powerband};

const PACKAGES: &str = "--include=systemd,systemd-sysv,udev,ethtool,kmod,iproute2";

/// A Debian tree, fetched when it is not there.
fn tree() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("boot-trees");
    let (tree, draft) = (target.join("udev"), target.join("udev.new"));
    if tree.exists() {
        return tree;
    }
    std::fs::create_dir_all(&target).unwrap();
    let _ = std::fs::remove_dir_all(&draft);
    let told = Command::new("mmdebstrap")
        .args(["--quiet", "--mode=root", "--variant=minbase", "--aptopt=APT::Install-Recommends \"false\"", PACKAGES])
        .args(["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"])
        .args(["--dpkgopt=path-exclude=/usr/share/locale/*", "bookworm"])
        .arg(&draft)
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    std::fs::rename(&draft, &tree).unwrap();
    tree
}

const FIRST: &str =
    "udevadm settle; I=$(ls /sys/class/net | grep -v lo | head -1); powerband keep rx-usecs@$I=77; echo code $?";

const SECOND: &str = "udevadm settle; ls /sys/class/net | tr '\\n' ' '; I=$(ls /sys/class/net | grep -v lo | head -1)
for i in $(ls /sys/class/net | grep -v lo); do ethtool -c $i | grep ^rx-usecs:; done
powerband check; echo code $?
ip link set $I down; ip link set $I up; sleep 1; powerband check; echo code $?
modprobe -r e1000e; [ ! -e /sys/class/net/$I ] && modprobe e1000e; sleep 2; udevadm settle; ls /sys/class/net | tr '\\n' ' '
powerband check; echo code $?";

/// What each boot prints.
fn boots(cards: u32) -> Option<(String, String)> {
    let kernel = GuestKernel::get().unwrap();
    let Some(modules) = kernel.modules_folder() else {
        eprintln!("left out: this kernel has no modules");
        return None;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/guest/card.sh");
    let mut command = Command::new("sh");
    command.arg(script).env("P", powerband().unwrap()).env("TREE", tree()).env("CARDS", cards.to_string());
    command.env("KERNEL", kernel.image()).env("MODULES", modules).env("FIRST", FIRST).env("SECOND", SECOND);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let (first, second) = told.strip_prefix("== first\n").unwrap().split_once("== second\n").unwrap();
    Some((first.to_owned(), second.to_owned()))
}

#[test]
fn kept_coalescing_survives_a_boot_a_link_and_a_driver() {
    for (cards, by, names, values) in [
        (1, "udev (a .link file)", "ens2 lo ", "rx-usecs: 77\n"),
        (2, "udev", "ens2 ens3 lo ", "rx-usecs: 77\nrx-usecs: 3\n"),
    ] {
        let Some((first, second)) = boots(cards) else { return };
        let kept = format!("nic.rx-usecs@ens2=77, set at boot by {by}\n");
        assert!(first.contains(&kept) && first.ends_with("code 0\n"), "{first}");
        let in_force = "1 of 1 kept settings are in force\ncode 0\n";
        assert_eq!(second, format!("{names}{values}{in_force}{in_force}{names}{in_force}"), "{first}");
    }
}
