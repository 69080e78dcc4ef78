//! Keeping a setting over reboots on a mounted machine, with /etc and systemd's mark in the mount namespace's own: what is written, what
//! is compared with it, and what is left of either when powerband is killed.
use crate::desk::{Desk, Ran};
use crate::mounted::{holds, script};

/// An /etc that changes nothing outside, a copy of it to compare with, what systemd's presence is told by, and powerband where root
/// alone can change it.
const ETC: &str = r#"
mkdir "$D.etc"; mount -t tmpfs none "$D.etc"; mkdir "$D.etc/u" "$D.etc/w" "$D.etc/copy" "$D.etc/run"
mount -t overlay none -o lowerdir=/etc,upperdir="$D.etc/u",workdir="$D.etc/w" /etc
mount -t tmpfs none /usr/local/sbin; cp "$P" /usr/local/sbin/powerband; chown 0:0 /usr/local/sbin/powerband; P=/usr/local/sbin/powerband
mkdir -p /run/systemd/system 2>/dev/null; mount -t tmpfs none /run/systemd; mkdir /run/systemd/system
rm -f /etc/rc?.d/* /etc/systemd/system/*.wants/*
mkdir -p /etc/default /etc/init.d /etc/rc2.d; printf '# mine\nGOVERNOR="ondemand"\n' >/etc/default/cpufrequtils
printf '#!/bin/sh\nGOVERNOR="ondemand"\n' >/etc/init.d/cpufrequtils; chmod +x /etc/init.d/cpufrequtils; ln -sf ../init.d/cpufrequtils /etc/rc2.d/S01cpufrequtils
cp -a /etc "$D.etc/copy"
same() { diff -r --no-dereference /etc "$D.etc/copy/etc" && echo same; }
"#;

/// In a network namespace of its own, so that no other test's powerband is waited for: one changes a kernel's settings at a time.
pub(crate) fn with_etc(body: &str) -> Option<Ran> {
    let inside = format!("set -e\n{ETC}\n{body}\numount /run/systemd /etc \"$D.etc\" /usr/local/sbin\n");
    script("pc", "", &format!("unshare --net sh <<'INSIDE'\n{inside}INSIDE\n"))
}

#[test]
fn what_is_kept_is_written_compared_and_removed_again() {
    let body = r#"
"$P" keep governor=powersave --dry-run; same
"$P" keep governor=powersave; cat /etc/default/cpufrequtils
"$P" keep max_freq=1200MHz; cat /etc/default/cpufrequtils
"$P" keep --list
"$P" check
echo performance >/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
"$P" check || echo code $?
"$P" undo --list
echo x >>/etc/default/cpufrequtils
"$P" check | tail -2 || true
sed -i s/1200000/1100000/ /etc/default/cpufrequtils
"$P" unkeep || echo code $?
"$P" keep --list | head -1
sed -i s/1100000/1200000/ /etc/default/cpufrequtils
"$P" unkeep; cat /etc/default/cpufrequtils; sed -i /^x/d /etc/default/cpufrequtils; same
"$P" check
"$P" keep governor=powersave --until-confirmed | tail -2
"$P" keep max_freq=1200MHz | tail -2
grep -c ^until_confirmed /etc/powerband/kept.toml
"$P" confirm; grep -c ^until_confirmed /etc/powerband/kept.toml || true
"$P" unkeep; same
"$P" undo --all
"$P" keep governor@policy1=powersave | tail -2
echo '# mine' >>/etc/powerband/kept.toml
"$P" unkeep || echo left $?
"$P" unkeep --force; same
"$P" undo --all
"#;
    let Some(ran) = with_etc(body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "--- /etc/default/cpufrequtils\n+++ /etc/default/cpufrequtils\n@@ -1,2 +1,3 @@\n # mine\n-GOVERNOR=\"ondemand\"\n+GOVERNOR=\"powersave\"\n+ENABLE=\"true\"\n",
            "\nwould be kept over reboots: cpufreq.governor=powersave, set at boot by cpufrequtils\n",
            "nothing was changed\nsame\n",
            "kept over reboots: cpufreq.governor=powersave, set at boot by cpufrequtils\n",
            "to have it from the start of the kernel, add to its command line: cpufreq.default_governor=powersave\n",
            "# mine\nGOVERNOR=\"powersave\"\nENABLE=\"true\"\nMAX_SPEED=\"1200000\"\n",
            "8 of 8 kept settings are in force\n",
            "cpufreq.governor at policy0: kept powersave, reads performance; ",
            "7 of 8 kept settings are in force\ncode 1\n",
            "/etc/default/cpufrequtils was changed since it was written\n",
            // What somebody changed in our lines is refused, and in others stays.
            "code 1\nkept over reboots: cpufreq.governor=powersave, ",
            "\nremoved or restored: ",
            "\n# mine\nGOVERNOR=\"ondemand\"\nx\nsame\nnothing is kept; ",
            "unless you type `powerband confirm` before\ncompare with `powerband check`; remove with `powerband unkeep`\n1\nconfirmed: ",
            "`powerband unkeep`\n0\nremoved or restored: ",
            // Another policy has another governor: no option of the kernel's would do.
            "\nkept over reboots: cpufreq.governor@policy1=powersave, set at boot by powerband-keep.service\ncompare with",
            "left 1\nremoved or restored: ",
            "; what is set now stays so until the next boot\nsame\n",
        ],
    );
    holds(
        &ran.err,
        &[
            "powerband: /etc/default/cpufrequtils was edited where powerband wrote it, so nothing was written; ",
            "powerband: /etc/powerband/kept.toml was edited where powerband wrote it, so nothing was written; ",
        ],
    );
}

#[test]
fn the_setting_of_an_experiment_is_kept() {
    let body = r#"
"$P" keep || echo code $?
"$P" try governor=performance,powersave --reference governor=performance -q --blocks 8 --metric real_s -- sh -c 'sleep $((1 - $(grep -c powersave /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor))).2'
"$P" keep last
head -5 /etc/powerband/kept.toml; grep -h ^# /etc/systemd/system/powerband-check.service
"$P" unkeep; same
"$P" undo --all
"$P" -c 1 try governor=performance,powersave --reference governor=performance -q --blocks 8 --metric real_s -- sh -c 'sleep $((1 - $(grep -c powersave /sys/devices/system/cpu/cpu1/cpufreq/scaling_governor))).1'
"$P" keep last; grep ^site /etc/powerband/kept.toml
"$P" unkeep; same
"#;
    let Some(ran) = with_etc(body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "code 2\n",
            "kept over reboots: cpufreq.governor=powersave (experiment 1), set at boot by cpufrequtils\n",
            "to have it from the start of the kernel, add to its command line: cpufreq.default_governor=powersave\n",
            "experiment = 1\nverdict = \"",
            "# Experiment 1: governor=powersave: ",
            "same\n",
            // On the CPUs that it was measured on, and no others.
            "kept over reboots: cpufreq.governor@policy1=powersave (experiment 2), set at boot by powerband-keep.service\n",
            "\nsite = \"policy1\"\nremoved or restored: ",
        ],
    );
}

/// Killed at moments spread over all that it does, and the next powerband restores what was half done.
#[test]
fn a_killed_keep_leaves_the_old_files_or_the_new_ones() {
    let kills = if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") { 100 } else { 12 };
    let body = format!(
        r#"
old=0; new=0; removed=0
for n in $(seq {kills}); do
  "$P" keep governor=powersave >/dev/null 2>&1 & K=$!
  sleep 0.$(printf %03d $(( n * 173 % 160 ))); kill -KILL $K 2>/dev/null || true; wait $K 2>/dev/null || true
  n=0; until "$P" undo --left >/dev/null 2>&1; do n=$((n+1)); [ $n -lt 1800 ] || exit 9; sleep 0.1; done
  if diff -r --no-dereference /etc "$D.etc/copy/etc" >/dev/null; then old=$((old+1)); else
    new=$((new+1)); "$P" check >/dev/null
    "$P" unkeep >/dev/null 2>&1 & K=$!
    sleep 0.0$(( n * 7 % 10 )); kill -KILL $K 2>/dev/null || true; wait $K 2>/dev/null || true
    n=0; until "$P" unkeep >/dev/null 2>&1; do n=$((n+1)); [ $n -lt 1800 ] || exit 9; sleep 0.1; done
    same >/dev/null && removed=$((removed+1))
  fi
  "$P" undo --all >/dev/null 2>&1 || true
done
same
echo old $old new $new removed $removed
"#
    );
    let Some(ran) = with_etc(&body) else { return };
    let ran = ran.ended(0);
    let counts: Vec<u32> = ran.out.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(ran.out.starts_with("same\n") && counts[1] == counts[2], "{}", ran.out);
    assert_eq!(counts[0] + counts[1], kills, "{}", ran.out);
}

#[test]
fn what_cannot_be_kept_says_why_and_nothing_is_written() {
    let body = r#"
"$P" keep pmqos.cpu_dma_latency=10 || echo code $?
"$P" keep governor=nonsense || echo code $?
"$P" keep 7 || echo code $?
"$P" keep max_freq=1600MHz || echo code $?
"$P" undo --list
rm -r /run/systemd/system; echo powersave >/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
"$P" keep sysctl.vm.swappiness=61 && "$P" unkeep
"$P" keep governor@policy1=powersave || echo code $?
"$P" get governor@policy1
mkdir -p /run/systemd/system
same
"#;
    let Some(ran) = with_etc(body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "code 2\ncode 2\ncode 2\ncode 4\nnothing is changed\n",
            "code 4\ncpufreq.governor@policy1 (cpus 1) = performance\nsame\n",
        ],
    );
    holds(
        &ran.err,
        &[
            "cpufreq.governor cannot be kept",
            "nothing is kept and everything was restored: cpufreq.max_freq at policy0",
        ],
    );
}

#[test]
fn a_setting_is_kept_on_the_machines_of_a_list() {
    let body = r#"
"$P" keep all/governor=powersave --machines here=local; cat /etc/default/cpufrequtils
"$P" keep --list --machines here=local; "$P" check --machines here=local
echo performance >/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
"$P" check --machines here=local || echo code $?
"$P" keep n7/governor=powersave --machines here=local || echo code $?
"$P" keep far/governor=powersave || echo code $?
"$P" unkeep --machines here=local; same
"#;
    let Some(ran) = with_etc(body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "here/kept over reboots: cpufreq.governor=powersave, set at boot by cpufrequtils\n",
            "GOVERNOR=\"powersave\"",
            "here/kept over reboots: cpufreq.governor=powersave",
            "kept settings are in force\n",
            "code 1\ncode 2\ncode 2\n",
            "same\n",
        ],
    );
    holds(&ran.err, &["n7/governor is on no machine here", "is on the far machine, and there is none"]);
}

#[test]
fn a_program_that_its_user_can_replace_is_run_by_no_unit() {
    let body = r#"
install -d -o 1234 "$D.bin"; cp "$P" "$D.bin/powerband"
"$D.bin/powerband" keep governor=powersave || echo code $?
same; rm -r "$D.bin"
"#;
    let Some(ran) = with_etc(body) else { return };
    let ran = ran.ended(0);
    holds(&ran.out, &["code 3\nsame\n"]);
    holds(&ran.err, &["belongs to the user 1234", "`sudo install -m 755 ", "`sudo /usr/local/sbin/powerband keep`"]);
}

#[test]
fn one_knob_is_kept_no_longer_and_the_others_are() {
    let body = r#"
"$P" keep governor=powersave max_freq=1200MHz >/dev/null
"$P" unkeep max_freq; cat /etc/default/cpufrequtils
"$P" unkeep max_freq || echo code $?
rm /etc/powerband/../default/cpufrequtils; ln -s nowhere /etc/default/cpufrequtils
"$P" keep governor=performance || echo code $?
rm /etc/default/cpufrequtils; printf '# mine\nGOVERNOR="powersave"\nENABLE="true"\n' >/etc/default/cpufrequtils
"$P" unkeep; same
"#;
    let Some(ran) = with_etc(body) else { return };
    let ran = ran.ended(0);
    holds(
        &ran.out,
        &[
            "\nstill kept over reboots: cpufreq.governor=powersave, set at boot by cpufrequtils\n",
            "# mine\nGOVERNOR=\"powersave\"\nENABLE=\"true\"\ncode 2\ncode 1\nremoved or restored: ",
            "\nsame\n",
        ],
    );
    holds(&ran.err, &["max_freq is not kept; ", "/etc/default/cpufrequtils is there and cannot be read"]);
}

#[test]
fn nothing_is_kept_at_first() {
    let desk = Desk::new();
    assert!(desk.run(&["--machine", "sim:pc", "check"]).ended(0).out.starts_with("nothing is kept"));
    assert!(desk.run(&["--machine", "sim:pc", "keep", "--list"]).ended(0).out.starts_with("nothing is kept"));
    assert!(desk.run(&["--machine", "sim:pc", "unkeep"]).ended(0).out.starts_with("nothing is kept"));
}
