//! An ethtool that a test provides, behind a shell of this machine, and what any ethtool prints.
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use powerband_machine::wire::Purpose;
use powerband_machine::{Acted, Action, Before, Change as _, Hold, Look as _, Turn};

use super::*;
use crate::ShellMachine;

/// An ethtool that knows one device, of which it keeps two values in files; 101 us are refused.
const ETHTOOL: &str = r#"#!/bin/sh
cd "${0%/*}" || exit 1
case $1 in
-c) [ "$2" = eth0 ] || { echo 'netlink error: no device matches name (offset 24)' >&2; echo 'netlink error: No such device' >&2; exit 75; }
  printf 'Coalesce parameters for eth0:\nAdaptive RX: %s  TX: n/a\nrx-usecs: %s\nrx-frames: n/a\ntx-frame-low: 7\n' \
    "$(cat adaptive-rx)" "$(cat rx-usecs)" ;;
-Q) [ -f queues ] || { echo 'Cannot get device per queue parameters: Operation not supported' >&2; exit 1; }; cat queues ;;
-C) shift 2
  case "$*" in *101*) echo 'netlink error: Invalid argument' >&2; exit 75 ;; esac
  while [ $# -gt 0 ]; do echo "$2" >"$1"; shift 2; done ;;
esac
"#;

/// A shell machine whose programs are those of this machine but for ethtool, which is in a folder.
fn machine(folder: &Path) -> ShellMachine {
    let path = format!("PATH={}:/usr/bin:/bin", folder.join("bin").display());
    let state = format!("POWERBAND_STATE_DIR={}", folder.join("state").display());
    let words = ["env", &path, &state, "sh"].map(str::to_owned);
    ShellMachine::connect("sh:here", &words, (Purpose::Turn, "a test"), 10_000_000_000).unwrap()
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join("bin").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn coalesce(values: &[(&str, u32)]) -> Action {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value));
    Action::Coalesce { device: "eth0".into(), values: Coalescing(values.collect()) }
}

/// Sets both values, which were `off 20`.
fn set(machine: &mut ShellMachine, usecs: u32) -> Acted {
    let turn = Turn {
        action: coalesce(&[("adaptive-rx", 1), ("rx-usecs", usecs)]),
        undo: Some(coalesce(&[("adaptive-rx", 0), ("rx-usecs", 20)])),
        hold: Hold::Set,
        knob: "nic.rx-usecs".into(),
        site: "eth0".into(),
        asked: usecs.to_string(),
        before: Before::Reads("off 20".into()),
        read_back: Some("coalesce:eth0/adaptive-rx,rx-usecs".into()),
        step: None,
        moves: std::collections::BTreeMap::new(),
    };
    machine.act(&turn).unwrap()
}

#[test]
fn a_device_is_read_set_and_restored_by_the_ethtool_there() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("ethtool", ETHTOOL), ("adaptive-rx", "off\n"), ("rx-usecs", "20\n")] {
        put(folder.path(), name, text);
    }
    let mut machine = machine(folder.path());
    assert_eq!(machine.coalescing("eth0").unwrap().to_string(), "rx-usecs 20\nadaptive-rx off\ntx-frames-low 7\n");
    assert_eq!(machine.read("coalesce:eth0/rx-frames"), Err(Errno::EOPNOTSUPP));
    assert_eq!(machine.coalescing("eth1"), Err(Errno::ENODEV));
    let refused = set(&mut machine, 101);
    assert_eq!(
        (refused.errno, refused.words.as_deref()),
        (Some(Errno::EINVAL), Some("netlink error: Invalid argument"))
    );
    let done = set(&mut machine, 50);
    assert_eq!((done.errno, done.reads_back.as_deref()), (None, Some("on 50")));
    let open = machine.open_entries();
    assert_eq!(open.len(), 1);
    machine.undo(open[0].id, false).unwrap();
    assert_eq!(machine.read("coalesce:eth0/adaptive-rx,rx-usecs").unwrap(), "off 20\n");
    put(folder.path(), "queues", "Queue: 0\nAdaptive RX: off  TX: n/a\nrx-usecs: 20\n\nQueue: 1\nrx-usecs: 30\n");
    let apart = set(&mut machine, 50);
    assert!(apart.words.unwrap().starts_with("queue 1 of eth0 has other values than queue 0"), "{:?}", apart.errno);
    assert_eq!(machine.read("coalesce:eth0/rx-usecs").unwrap(), "20\n");
}

#[test]
fn without_ethtool_a_device_cannot_be_asked_and_what_is_packed_is_unpacked_here() {
    let folder = tempfile::tempdir().unwrap();
    for program in
        ["sh", "od", "head", "cat", "uname", "id", "mkdir", "ls", "rm", "mv", "sync", "sleep", "env", "printf"]
    {
        put(folder.path(), program, &format!("#!/bin/sh\nexec /usr/bin/{program} \"$@\"\n"));
    }
    let words = ["env", &format!("PATH={}", folder.path().join("bin").display()), "/bin/sh"].map(str::to_owned);
    let mut machine = ShellMachine::connect("sh:here", &words, (Purpose::Look, "a test"), 10_000_000_000).unwrap();
    assert_eq!(machine.coalescing("eth0"), Err(Errno::ENOSYS));
    let packed = folder.path().join("config.gz");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packer, b"CONFIG_SMP=y\n").unwrap();
    std::fs::write(&packed, packer.finish().unwrap()).unwrap();
    assert_eq!(machine.read(packed.to_str().unwrap()).as_deref(), Ok("CONFIG_SMP=y\n"));
    std::fs::write(&packed, [0, 159, 146]).unwrap();
    assert_eq!(machine.read(packed.to_str().unwrap()), Err(Errno::EILSEQ));
}

#[test]
fn what_any_ethtool_prints_is_read() {
    let printed = "Coalesce parameters for eth0:\nAdaptive RX: on  TX: off\nstats-block-usecs: 0\nsample-interval: n/a\n\
                   rx-usecs: 3\nrx-frame-high: 12\nrx-usecs-irq:\t0\n\nCQE mode RX: n/a  TX: on\ntx-aggr-max-bytes:\t64\n";
    let names = "rx-usecs 3\nrx-usecs-irq 0\nstats-block-usecs 0\nadaptive-rx on\nadaptive-tx off\nrx-frames-high 12\n\
                 cqe-mode-tx on\ntx-aggr-max-bytes 64\n";
    assert_eq!(parameters(printed).to_string(), names);
    assert_eq!(words("eth0", &parameters("Adaptive RX: on  TX: n/a\nrx-usecs: 3\n")).unwrap().join(" "), {
        "ethtool -C eth0 adaptive-rx on rx-usecs 3"
    });
    assert_eq!(words("-A", &Coalescing::default()), Err(Errno::EINVAL));
}
