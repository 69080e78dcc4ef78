//! Coalescing of network cards: link files, connections, stanzas, scripts.
use powerband_persist::{BootPhase, BootStanding};

use crate::tree::{Tree, at, empty};

/// Two cards that have the parameters of most.
fn cards(rx_usecs: u32) -> Tree {
    let tree = empty().file("/proc/net/dev", "a|b\nc|d\n eth0: 0\n eth1: 0\n").file("/proc/cmdline", "quiet\n");
    let both = format!("rx-usecs {rx_usecs}\nadaptive-rx on\nrx-frames-irq 3\nsample-interval 2\n");
    ["eth0", "eth1"].iter().fold(tree, |tree, card| {
        tree.file(&format!("coalesce:{card}"), &both)
            .file(&format!("coalesce:{card}/rx-usecs"), &format!("{rx_usecs}\n"))
            .file(&format!("coalesce:{card}/adaptive-rx"), "on\n")
            .file(&format!("coalesce:{card}/rx-frames-irq"), "3\n")
            .file(&format!("coalesce:{card}/sample-interval"), "2\n")
            .file(&format!("/sys/class/net/{card}/address"), &format!("02:00:00:00:00:0{}\n", &card[3..]))
            .file(&format!("/sys/class/net/{card}/device/uevent"), "DRIVER=e1000e\nPCI_ID=x\n")
    })
}

#[test]
fn a_link_file_sets_microseconds_on_the_card_it_fits() {
    let path = "/etc/systemd/network/10-card.link";
    let link = "[Match]\nMACAddress=02:00:00:00:00:00\n[Link]\nRxCoalesceSec=20us\nUseAdaptiveRxCoalesce=yes\n\
                RxMaxIrqCoalescedFrames=3\nCoalescePacketRateSampleIntervalSec=2\n";
    let mut tree = cards(20)
        .file(path, link)
        .file("/usr/lib/systemd/network/99-default.link", "[Match]\nOriginalName=*\n[Link]\nRxCoalesceSec=1ms\n");
    let why = tree.why("rx-usecs@eth0");
    assert_eq!(why.sentence, "udev (when the device appears) sets 20; it reads 20 now");
    assert_eq!((at(&why, path).line, at(&why, path).phase), (Some(4), BootPhase::Devices));
    let other = tree.why("rx-usecs@eth1");
    assert!(other.sentence.contains("sets 1000; but it reads 20 now"), "the first that fits: {}", other.sentence);
    for (knob, value) in [("adaptive-rx@eth0", "on"), ("rx-frames-irq@eth0", "3"), ("sample-interval@eth0", "2")] {
        assert_eq!(at(&tree.why(knob), path).values, [value], "{knob}");
    }
}

#[test]
fn a_link_file_that_asks_for_more_than_can_be_seen_is_a_guess() {
    let path = "/etc/systemd/network/10-card.link";
    let matched =
        |keys: &str| cards(5).file(path, &format!("[Match]\n{keys}\n[Link]\nRxCoalesceSec=5us\n")).why("rx-usecs@eth0");
    assert!(at(&matched("Driver=e1000*"), path).explains);
    assert_eq!(matched("Driver=igb").findings, []);
    assert_eq!(matched("MACAddress=!02:00:00:00:00:00").findings, []);
    let guess = matched("Path=pci-0000:*");
    assert!(matches!(at(&guess, path).standing, BootStanding::Unsure { .. }));
    assert!(guess.sentence.contains("perhaps udev (/etc/systemd/network/10-card.link:4)"), "{}", guess.sentence);
}

#[test]
fn the_network_sets_it_when_it_comes_up() {
    for (path, text) in [
        ("/etc/network/interfaces", "auto eth0\niface eth0 inet dhcp\n    hardware-irq-coalesce-rx-usecs 50\n"),
        (
            "/etc/network/interfaces.d/x",
            "iface eth0 inet dhcp\n\n    post-up /sbin/ethtool -C $IFACE rx-usecs 50 || true\n",
        ),
        (
            "/etc/sysconfig/network-scripts/ifcfg-eth0",
            "\nDEVICE=eth0\nETHTOOL_OPTS=\"-G eth0 rx 512; -C eth0 rx-usecs 50\"\n",
        ),
        ("/etc/network/if-up.d/coalesce", "#!/bin/sh\n\nethtool --coalesce eth0 adaptive-rx off rx-usecs 50\n"),
        (
            "/etc/NetworkManager/system-connections/eth0.nmconnection",
            "[connection]\ninterface-name=eth0\n[ethtool]\ncoalesce-rx-usecs=50\n",
        ),
    ] {
        let mut tree = cards(50).file(path, text).systemd(&["+NetworkManager"]);
        let why = tree.why("rx-usecs@eth0");
        assert!(
            at(&why, path).explains && why.sentence.ends_with("sets 50; it reads 50 now"),
            "{path}: {}",
            why.sentence
        );
        assert_eq!(at(&why, path).line, Some(if path.contains("Manager") { 4 } else { 3 }), "{path}");
        assert_eq!(tree.why("rx-usecs@eth1").findings, [], "{path} is for the other card");
    }
}
