//! Interrupts and packets of network cards, from trees as several kinds of card have them.
use powerband_machine::{Handle, Look, Sample};
use powerband_meter::state::AskedFigure;

use crate::fake::Fake;

const S: u64 = 1_000_000_000;
const NET: &str = "/sys/class/net";

/// A card with so many packets received and sent.
fn card(machine: &mut Fake, name: &str, packets: [u64; 2]) {
    machine.put(&format!("{NET}/{name}/device/uevent"), "DRIVER=it");
    for (file, packets) in ["rx_packets", "tx_packets"].iter().zip(packets) {
        machine.put(&format!("{NET}/{name}/statistics/{file}"), &packets.to_string());
    }
}

/// Lines of `/proc/interrupts`: label, counts of two CPUs, and what stands behind them.
fn table(machine: &mut Fake, lines: &[(&str, [u64; 2], &str)]) {
    let line = |(label, counts, words): &(&str, [u64; 2], &str)| {
        format!("{label:>4}: {:>10} {:>10}   {words}\n", counts[0], counts[1])
    };
    let lines: String = lines.iter().map(line).collect();
    machine.put("/proc/interrupts", &format!("            CPU0       CPU1       \n{lines} ERR:          0"));
}

fn sample(machine: &mut Fake, handles: &[Handle], at_ns: u64) -> Sample {
    let mut texts = Vec::new();
    machine.read_many(handles, &mut texts);
    Sample { at_ns, texts }
}

/// A figure over 2 s in which `change` happens, and what it is told from.
fn told(name: &str, machine: &mut Fake, change: impl Fn(&mut Fake)) -> (String, Result<f64, String>) {
    let cpu_0 = "0".parse().unwrap();
    let figure = AskedFigure::named(name).unwrap().open(machine, Some(&cpu_0)).unwrap();
    let first = sample(machine, figure.handles(), S);
    change(machine);
    let last = sample(machine, figure.handles(), 3 * S);
    let told = (figure.told_from().unwrap().to_owned(), figure.tell(&first, &last));
    figure.close(machine);
    told
}

#[test]
fn a_card_is_asked_for_its_own_interrupts_whatever_they_are_called() {
    let mut machine = Fake::default();
    card(&mut machine, "eth0", [100, 10]);
    machine.put(&format!("{NET}/lo/statistics/rx_packets"), "5");
    for number in [39, 40, 41] {
        machine.put(&format!("{NET}/eth0/device/msi_irqs/{number}"), "msix");
    }
    // 41 is kept for later by the driver, 42 and the local timer are others'.
    let lines = |machine: &mut Fake, times: u64| {
        table(
            machine,
            &[
                ("39", [10 * times, 30], "PCI-MSIX-0000:00:03.0 1-edge mlx5_comp0@pci:0000:00:03.0"),
                ("40", [0, 5 * times], "PCI-MSIX-0000:00:03.0 2-edge mlx5_async@pci:0000:00:03.0"),
                ("42", [99 * times, 99], "PCI-MSIX-0000:00:04.0 0-edge eth0-rx-0"),
                ("LOC", [1000 * times, 1000], "Local timer interrupts"),
            ],
        );
    };
    lines(&mut machine, 1);
    let change = |machine: &mut Fake| {
        lines(machine, 3);
        card(machine, "eth0", [220, 40]);
    };
    // All CPUs count, as a load's CPUs are seldom those that the card interrupts.
    assert_eq!(told("nic_interrupts_per_s@eth0", &mut machine, change), ("eth0 by msi_irqs".into(), Ok(15.0)));
    lines(&mut machine, 1);
    card(&mut machine, "eth0", [100, 10]);
    let packets = told("packets_per_interrupt@eth0", &mut machine, change);
    assert_eq!(packets, ("eth0 by msi_irqs".into(), Ok(5.0)), "150 packets, 30 interrupts");
    assert!(told("packets_per_interrupt", &mut machine, |_| {}).1.is_err(), "nothing came, nothing went");
    assert_eq!(machine.still_open(), 0);
}

#[test]
fn cards_without_such_a_list_are_told_by_number_or_name() {
    for (files, words, told_from) in [
        (
            vec!["/sys/bus/virtio/devices/virtio2/net/eth0/address"],
            "PCI-MSIX 1-edge virtio2-input.0",
            "eth0 by lines of virtio2",
        ),
        (vec!["/sys/bus/virtio/devices/virtio2/net/eth0/address"], "GICv3 78 Edge virtio2", "eth0 by lines of virtio2"),
        (vec!["/sys/class/net/eth0/device/irq=55"], "IO-APIC 17-fasteoi ehci_hcd:usb1, snd", "eth0 by irq"),
        (vec!["/sys/class/net/eth0/device/irq=0"], "INTC eth0", "eth0 by lines of eth0"),
        (vec![], "PCI-MSI eth0-TxRx-3", "eth0 by lines of eth0"),
        (vec![], "IO-APIC 16-fasteoi usb2, eth0", "eth0 by lines of eth0"),
    ] {
        let mut machine = Fake::default();
        card(&mut machine, "eth0", [0, 0]);
        for file in files {
            let (path, text) = file.split_once('=').unwrap_or((file, "x"));
            machine.put(path, text);
        }
        let lines = |machine: &mut Fake, count: u64| {
            table(
                machine,
                &[("0", [7, 7], "timer"), ("55", [count, 0], words), ("56", [count, 0], "eth01-rx virtio21")],
            );
        };
        lines(&mut machine, 10);
        let told = told("nic_interrupts_per_s", &mut machine, |machine| lines(machine, 30));
        assert_eq!(told, (told_from.to_owned(), Ok(10.0)), "{words}");
    }
}

#[test]
fn without_a_name_all_cards_count_and_ports_of_one_device_interrupt_once() {
    let mut machine = Fake::default();
    for name in ["eth0", "eth1", "usb0"] {
        card(&mut machine, name, [0, 0]);
    }
    for name in ["eth0", "eth1"] {
        machine.put(&format!("{NET}/{name}/device/msi_irqs/30"), "msix");
    }
    table(&mut machine, &[("30", [0, 0], "PCI-MSIX mlx4-1@pci")]);
    let change = |machine: &mut Fake| {
        table(machine, &[("30", [8, 2], "PCI-MSIX mlx4-1@pci")]);
        ["eth0", "eth1", "usb0"].iter().for_each(|name| card(machine, name, [40, 10]));
    };
    // Nobody knows the interrupts of the one behind USB, so its packets do not count either.
    let both = "eth0 by msi_irqs, eth1 by msi_irqs".to_owned();
    assert_eq!(told("packets_per_interrupt", &mut machine, change), (both, Ok(10.0)));
    let open = |name: &str, machine: &mut Fake| AskedFigure::named(name).unwrap().open(machine, None).unwrap_err();
    let why = open("packets_per_interrupt@usb0", &mut machine);
    assert_eq!(why, "nothing shows which interrupts belong to usb0");
    let why = open("packets_per_interrupt@eth9", &mut machine);
    assert_eq!(why, "'eth9' is not a NIC; there are: eth0, eth1, usb0");
    for odd in ["packets_per_interrupt@", "packets_per_interrupt@..", "packets_per_interrupt@a/b", "idle_share@eth0"] {
        assert!(AskedFigure::named(odd).is_none(), "{odd}");
    }
}
