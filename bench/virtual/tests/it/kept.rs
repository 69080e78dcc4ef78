//! The power goes while a setting is kept or removed, on a disk: each file is old or new, and the next powerband finds its way back.
use std::time::Duration;

use crate::desk::{Desk, on_desk};

/// /etc on the guest's disk, as it was before anything was kept.
const ETC: &str = "mkdir -p /var/lib/etc
[ -e /var/lib/etc/begun ] || { cp -a /etc/. /var/lib/etc/; mkdir -p /var/lib/etc/sysctl.d; echo 'a = 1' >/var/lib/etc/sysctl.d/10-theirs.conf; touch /var/lib/etc/begun; sync; }
mount --bind /var/lib/etc /etc";

/// What is there of what `keep` writes.
const STATE: &str = "cd /etc; for file in sysctl.d/99-zz-powerband.conf powerband/kept.toml; do
    if [ ! -e $file ]; then echo absent; elif grep -q 'swappiness' $file && [ -n \"$(tail -c 1 $file | tr -d '\\n' | wc -c)\" ]; then echo whole; else echo half; fi
done; ls -A sysctl.d | grep -c powerband~ || true";

fn state(desk: &mut Desk) -> Vec<String> {
    desk.sh(STATE).lines().map(str::to_owned).collect()
}

#[test]
fn a_power_cut_leaves_each_file_old_or_new() {
    on_desk(is_cut);
}

fn is_cut(mut desk: Desk) {
    let cuts = if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") { 20 } else { 3 };
    let (mut old, mut new) = (0, 0);
    for cut in 0..cuts {
        desk.sh(ETC);
        desk.start("setsid powerband keep sysctl.vm.swappiness=61");
        std::thread::sleep(Duration::from_millis(cut * 997 % 1500));
        desk.reset().unwrap();
        desk.sh(ETC);
        let found = state(&mut desk);
        assert!(found.iter().all(|file| file != "half"), "{found:?}");
        desk.powerband(0, &["undo", "--left"]);
        let found = state(&mut desk);
        match found.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["absent", "absent", "0"] => old += 1,
            ["whole", "whole", "0"] => {
                new += 1;
                desk.start("setsid powerband unkeep");
                std::thread::sleep(Duration::from_millis(cut * 331 % 700));
                desk.reset().unwrap();
                desk.sh(ETC);
                desk.powerband(0, &["unkeep"]);
                assert_eq!(state(&mut desk), ["absent", "absent", "0"]);
            }
            _ => panic!("after cut {cut}: {found:?}"),
        }
    }
    desk.sh("umount /etc; rm -r /var/lib/etc; sync");
    eprintln!("{old} times the old files, {new} times the new ones");
}
