//! Files that are empty, huge, binary or not for us: told, never fatal, and nothing is made of them.
use crate::tree::{Tree, cpus, every_knob};

/// Every file a source reads.
const PATHS: &str = "/boot/config-6.1.0 /proc/cmdline /etc/modprobe.d/x.conf /etc/systemd/network/x.link \
    /etc/udev/rules.d/x.rules /etc/sysctl.d/x.conf /etc/sysctl.conf /etc/tmpfiles.d/x.conf \
    /etc/sysfs.conf /etc/sysfs.d/x.conf /etc/network/interfaces \
    /etc/sysconfig/network-scripts/ifcfg-eth0 /etc/NetworkManager/system-connections/x \
    /etc/init.d/x /etc/init.d/cpuspeed /etc/inittab /etc/sysconfig/cpuspeed \
    /etc/default/cpufrequtils /etc/init.d/cpufrequtils /etc/systemd/system/x.service \
    /etc/default/cpupower /etc/laptop-mode/conf.d/cpufreq.conf \
    /var/lib/power-profiles-daemon/state.ini /etc/tlp.conf /etc/tlp.d/x.conf \
    /etc/tuned/active_profile /etc/tuned/tuned-main.conf /etc/tuned/x/tuned.conf \
    /etc/tune-profiles/active-profile /etc/auto-cpufreq.conf /etc/rc.local /etc/crontab \
    /etc/cron.d/x /var/spool/cron/root";

/// A machine on which every service is on.
fn machine() -> Tree {
    let mut tree = cpus("acpi-cpufreq", "ondemand performance", "ondemand");
    tree.start_systemd("+cpupower +tlp +tuned +power-profiles-daemon +auto-cpufreq +ondemand +thermald");
    ["S10x", "S11cpuspeed", "Scpufrequtils"].iter().for_each(|link| tree.put(&format!("/etc/rc2.d/{link}"), ""));
    tree.put("/proc/net/dev", "a\nb\n eth0: 1\n");
    tree.put("coalesce:eth0", "rx-usecs 3\nadaptive-rx on\n");
    tree.put("/proc/sys/vm/swappiness", "60\n");
    tree.put("/sys/devices/system/cpu/cpufreq/ondemand/up_threshold", "80\n");
    tree
}

#[test]
fn whatever_the_files_hold_there_is_an_answer() {
    let texts = [
        String::new(),
        "\n\n\0\u{1}\u{fffd}=\"".repeat(50),
        "x".repeat(1 << 18),
        "[".repeat(5000),
        "=\n".repeat(5000),
        "\"'`$({${".repeat(500),
        "{a,b}*[".repeat(300),
        "include=x\n[main]\ninclude=x x x\n".repeat(20),
        "echo \"$(cat /x\n\\".into(),
        "for i in `seq 1 9`; do echo ${x:-é} > /sys/é{1..999999999}/scaling_governor; done | tee".into(),
        "ATTR{a}==\"é, ACTION=e\"\\\", RUN+=\"%é$é".into(),
        "w - - - - -\nw / - - - - x\niface\nup\n@reboot\n@reboot é\nethtool -C\nethtool -C x rx-usecs\n-é=-é\ncpupower frequency-set -é -g".into(),
        format!("x=aa\n{}echo $x > /sys/$x/scaling_governor\n", "x=$x$x$x$x\n".repeat(100)),
        format!("[variables]\n{}[cpu]\ngovernor=${{a}}\n", "a=${a}${a}\n".repeat(100)),
        "ExecStart=\nExecStart=-\nExecStart=/bin/sh -c\nsh -c 'sh -c \"sh -c x\"'\nRxCoalesceSec=99999999999999999999s\n[Match]\nDriver=\n".into(),
    ];
    let mut knobs = every_knob();
    knobs.extend(["sysctl.vm.swappiness", "file:/proc/cmdline", "nic.rx-usecs@eth0"]);
    let mut answered = 0;
    for text in &texts {
        let mut tree = machine();
        PATHS.split_whitespace().for_each(|path| tree.put(path, text.as_str()));
        for knob in &knobs {
            let knob = powerband_record::KnobRef::parse(knob).unwrap();
            if let Ok(why) = powerband_persist::why(&mut tree, &[], &knob, &powerband_knob::Selection::everywhere()) {
                assert!(!why.sentence.is_empty());
                answered += 1;
            }
        }
    }
    assert!(answered >= texts.len() * 8, "only {answered} answers");
}
