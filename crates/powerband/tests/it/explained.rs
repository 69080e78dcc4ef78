//! `why`: who set a knob, told by the command on this machine, on a simulated one, and in a prepared root.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::desk::{Desk, Ran, root};

/// A root of nothing but these files and the binary.
fn prepare(root: &Path, files: &[(&str, &str)]) {
    fs::create_dir(root).unwrap();
    for (path, text) in files {
        let path = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    // Copied by another process: what another test forks meanwhile would keep our copy open for writing, and busy.
    let mut install = Command::new("install");
    install.args(["-m", "755", env!("CARGO_BIN_EXE_powerband")]).arg(root.join("powerband"));
    assert!(install.status().unwrap().success());
}

/// The binary in a prepared root.
fn inside(desk: &Desk, root: &Path, words: &[&str]) -> Ran {
    let mut command = Command::new("chroot");
    desk.furnish(&mut command);
    command.env("POWERBAND_STATE_DIR", "/state").arg(root).arg("/powerband").args(words);
    Ran::of(&command.output().unwrap())
}

/// CentOS 6 with one policy, which reads ondemand.
const CENTOS: [(&str, &str); 10] = [
    ("/sys/devices/system/cpu/cpu0/cpufreq/affected_cpus", "0 1\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/related_cpus", "0 1\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "acpi-cpufreq\n"),
    ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand\n"),
    ("/proc/sys/kernel/osrelease", "2.6.32-754.el6.x86_64\n"),
    ("/boot/config-2.6.32-754.el6.x86_64", "CONFIG_CPU_FREQ=y\nCONFIG_CPU_FREQ_DEFAULT_GOV_USERSPACE=y\n"),
    ("/etc/inittab", "id:3:initdefault:\n"),
    ("/etc/rc.d/init.d/cpuspeed", "#!/bin/sh\n"),
    ("/etc/rc.d/rc3.d/S06cpuspeed", "#!/bin/sh\n"),
    ("/etc/sysconfig/cpuspeed", "GOVERNOR=\n"),
];

#[test]
fn the_chain_of_a_prepared_root_is_told() {
    if !root() {
        return;
    }
    let desk = Desk::new();
    let tree = desk.beside("root");
    prepare(&tree, &CENTOS);
    let told = inside(&desk, &tree, &["why"]).ended(0).out;
    assert_eq!(
        told,
        "cpufreq.governor: the kernel starts with userspace (CONFIG_CPU_FREQ_DEFAULT_GOV_USERSPACE), then cpuspeed (on in \
         runlevel 3) sets ondemand, because the driver is acpi-cpufreq; it reads ondemand now\n\
         kernel\n    /boot/config-2.6.32-754.el6.x86_64:2: CONFIG_CPU_FREQ_DEFAULT_GOV_USERSPACE=y\n        overridden: the \
         kernel (userspace); cpuspeed acts after it\n\
         services\n    /etc/rc.d/init.d/cpuspeed\n        acts: cpuspeed (ondemand), on in runlevel 3; what reads now comes \
         from here\n"
    );
    let value = inside(&desk, &tree, &["why", "governor", "--json"]).ended(0).value();
    let why = &value["answers"][0]["why"];
    assert_eq!((&value["version"], &value["answers"][0]["side"]), (&1.into(), &"near".into()));
    assert_eq!(why["findings"][0]["standing"], serde_json::json!({ "is": "overridden", "by": "cpuspeed" }));
    assert_eq!((&why["findings"][1]["phase"], &why["findings"][1]["explains"]), (&"services".into(), &true.into()));
    assert!(!tree.join("state").exists(), "looking leaves nothing");

    let empty = desk.beside("empty");
    prepare(&empty, &[]);
    let sentence = inside(&desk, &empty, &["why"]).refused(4);
    assert!(sentence.contains("cpufreq.governor is not here: this machine has no cpufreq"), "{sentence}");
}

#[test]
fn what_was_set_here_is_the_answer_until_it_is_undone() {
    let desk = Desk::new();
    let machine = ["--machine", "sim:quadcore"];
    let told = || desk.run(&[&machine[..], &["why", "governor"]].concat()).ended(0).out;
    let found = told();
    desk.run(&[&machine[..], &["set", "governor=performance"]].concat()).ended(0);
    let undo = "`powerband --machine sim:quadcore undo` restores it";
    let sentence = format!("powerband ({undo}) sets performance; it reads performance now\n");
    assert!(
        told().starts_with(&format!("cpufreq.governor: {sentence}since then\n    its ledger: entry ")),
        "{}",
        told()
    );
    for words in [["why", "governor", "--json"], ["info", "turned", "--verbose"]] {
        let said = desk.run(&[&machine[..], &words].concat()).ended(0).out;
        assert!(said.contains(undo), "{words:?}: {said}");
    }
    desk.run(&[&machine[..], &["undo"]].concat()).ended(0);
    assert_eq!(told(), found);
}
