//! The power goes while a setting is kept or removed, on a disk: each file is old or new, and the next powerband finds its way back.
use powerband_bench_virtual::Guest;

use crate::desk::{Desk, on_desk, sweeps};

/// /etc on the guest's disk, as it was before anything was kept.
const ETC: &str = "mkdir -p /var/lib/etc
[ -e /var/lib/etc/begun ] || { cp -a /etc/. /var/lib/etc/; mkdir -p /var/lib/etc/sysctl.d; echo 'a = 1' >/var/lib/etc/sysctl.d/10-theirs.conf; touch /var/lib/etc/begun; sync; }
mount --bind /var/lib/etc /etc";

/// What is there of what `keep` writes.
const STATE: &str = "cd /etc; for file in sysctl.d/99-zz-powerband.conf powerband/kept.toml; do
    if [ ! -e $file ]; then echo absent; elif grep -q 'swappiness' $file && [ -n \"$(tail -c 1 $file | tr -d '\\n' | wc -c)\" ]; then echo whole; else echo half; fi
done; ls -A sysctl.d | grep -c powerband~ || true";

/// The command is begun, and the power cut so many million instructions later; what is there then.
fn cut(desk: &mut Guest, command: &str, millions: u64) -> String {
    desk.start(&format!("setsid powerband {command}"));
    desk.run_on(millions);
    desk.replace().unwrap();
    desk.sh(ETC);
    desk.sh(STATE)
}

#[test]
fn a_power_cut_leaves_each_file_old_or_new() {
    on_desk(|desk| {
        desk.sh(ETC);
        let (mut old, mut new) = (0, 0);
        for round in 0..if sweeps() { 20 } else { 3 } {
            let found = cut(desk, "keep sysctl.vm.swappiness=61", round * 97 % 150);
            assert!(!found.contains("half"), "{found}");
            desk.powerband(0, "undo --left");
            match desk.sh(STATE).as_str() {
                "absent\nabsent\n0\n" => old += 1,
                "whole\nwhole\n0\n" => {
                    new += 1;
                    cut(desk, "unkeep", round * 33 % 70);
                    desk.powerband(0, "unkeep");
                    assert_eq!(desk.sh(STATE), "absent\nabsent\n0\n");
                }
                found => panic!("after cut {round}: {found}"),
            }
        }
        eprintln!("{old} times the old files, {new} times the new ones");
    });
}
