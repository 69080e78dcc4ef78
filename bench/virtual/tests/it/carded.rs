//! Coalescing that is kept over a boot with real udev and a real driver: the card keeps its name, and the value survives the link
//! going down and the driver being loaded again.
use std::path::{Path, PathBuf};
use std::process::Command;

use powerband_bench_virtual::{GuestKernel, powerband};

use crate::desk::had;

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

const KEEP: &str = "udevadm settle; powerband keep rx-usecs@ens2=77; echo code $?";

/// What is in force after a boot, after the link was down, and after the driver was loaded again.
const CHECKS: &str = "udevadm settle; echo $(ls /sys/class/net)
for i in $(ls /sys/class/net | grep -v lo); do ethtool -c $i | grep ^rx-usecs:; done
powerband check; echo code $?
ip link set ens2 down; ip link set ens2 up; sleep 1; powerband check; echo code $?
modprobe -r e1000e; [ ! -e /sys/class/net/ens2 ] && modprobe e1000e; sleep 2; udevadm settle; echo $(ls /sys/class/net)
powerband check; echo code $?";

/// The second card is there from now on.
const SECOND: &str = "powerband unkeep; rm /hidden; echo 1 >/sys/bus/pci/rescan";

#[test]
fn kept_coalescing_survives_a_boot_a_link_and_a_driver() {
    let Some(kernel) = had(GuestKernel::get()) else { return };
    let Some(modules) = kernel.modules_folder() else { return eprintln!("left out: this kernel has no modules") };
    let mut command = Command::new("sh");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/guest/card.sh"));
    command.args([KEEP, &format!("{CHECKS}\n{SECOND}\n{KEEP}"), CHECKS]);
    command.env("P", powerband().unwrap()).env("TREE", tree());
    let output = command.env("KERNEL", kernel.unpacked()).env("MODULES", modules).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let kept = |by: &str| format!("nic.rx-usecs@ens2=77, set at boot by {by}\ncompare with");
    let checked = |names: &str, values: &str| {
        let in_force = "1 of 1 kept settings are in force\ncode 0\n";
        format!("{names}\n{values}{in_force}{in_force}{names}\n{in_force}")
    };
    let boots: Vec<&str> = told.split("== boot\n").skip(1).collect();
    assert_eq!(boots.len(), 3, "{told}");
    assert!(boots[0].contains(&kept("udev (a .link file)")) && boots[0].ends_with("code 0\n"), "{told}");
    assert!(boots[1].starts_with(&checked("ens2 lo", "rx-usecs: 77\n")), "{told}");
    assert!(boots[1].contains(&kept("udev")) && boots[1].ends_with("code 0\n"), "{told}");
    assert_eq!(boots[2], checked("ens2 ens3 lo", "rx-usecs: 77\nrx-usecs: 3\n"), "{told}");
}
