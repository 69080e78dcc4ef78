//! The drivers' rules, value by value, and the times of their interrupts.
use super::*;

fn set(nic: &mut Nic, name: &str, value: u32) -> Result<(), (Errno, Option<String>)> {
    nic.coalesce(&Coalescing([(name.to_owned(), value)].into()), 0)
}

fn reads(nic: &Nic, name: &str) -> u32 {
    nic.coalescing().unwrap().get(name).unwrap()
}

#[test]
fn e1000e_takes_its_modes_and_times_and_rounds_to_interrupts_a_second() {
    let mut nic = Nic::new(Some(Driver::E1000e), "pc", 1_000);
    assert_eq!(reads(&nic, "rx-usecs"), 3);
    for (usecs, back) in
        [(0, 0), (1, 1), (4, 4), (3, 3), (10, 10), (100, 100), (1000, 1000), (3000, 3012), (10_000, 10_000)]
    {
        set(&mut nic, "rx-usecs", usecs).unwrap();
        assert_eq!(reads(&nic, "rx-usecs"), back, "{usecs}");
    }
    for usecs in [2, 5, 9, 10_001, 999_999] {
        assert_eq!(set(&mut nic, "rx-usecs", usecs), Err((Errno::EINVAL, None)), "{usecs}");
    }
    assert_eq!(reads(&nic, "rx-usecs"), 10_000, "what is refused changes nothing");
    let words = "cannot modify an unsupported parameter: tx-usecs".to_owned();
    assert_eq!(set(&mut nic, "tx-usecs", 0), Err((Errno::EINVAL, Some(words))));
}

#[test]
fn i40e_takes_even_times_for_either_direction_and_spaces_its_interrupts() {
    let mut nic = Nic::new(Some(Driver::I40e), "server", 25_000);
    assert_eq!((reads(&nic, "rx-usecs"), reads(&nic, "tx-usecs")), (50, 50));
    for (usecs, back) in [(0, 0), (7, 8), (8_160, 8_160)] {
        set(&mut nic, "rx-usecs", usecs).unwrap();
        assert_eq!((reads(&nic, "rx-usecs"), reads(&nic, "tx-usecs")), (back, 50));
    }
    assert_eq!(set(&mut nic, "tx-usecs", 8_161), Err((Errno::EINVAL, None)));
    let words = "cannot modify an unsupported parameter: rx-frames".to_owned();
    assert_eq!(set(&mut nic, "rx-frames", 1), Err((Errno::EINVAL, Some(words))));
    set(&mut nic, "rx-usecs", 100).unwrap();
    let heard = [0, 10_000, 150_000].map(|at_ns| nic.receives(1, 60, at_ns));
    assert_eq!(heard, [0, 100_000, 200_000], "the first at once, the others 100 us apart");
    let before = nic.interrupts;
    [0, 20_000, 49_999, 50_000].iter().for_each(|&at_ns| nic.sends(1, 60, at_ns));
    assert_eq!(nic.interrupts - before, 2, "what is sent has a time of its own");
}

#[test]
fn stmmac_counts_in_units_of_its_clock() {
    // Default, smallest and largest time at each clock; what reads back is cut to whole microseconds twice.
    for (clock_mhz, default, least, most) in [(50, 819, 82, 1_310), (125, 327, 33, 524), (300, 136, 14, 218)] {
        let mut nic = Nic::new(Some(Driver::Stmmac(Stmmac::new(clock_mhz))), "board", 1_000);
        assert_eq!(reads(&nic, "rx-usecs"), default);
        assert_eq!(set(&mut nic, "rx-usecs", least - 1), Err((Errno::EINVAL, None)));
        set(&mut nic, "rx-usecs", least).unwrap();
        assert_eq!(reads(&nic, "rx-usecs"), 0x10 * 256 / clock_mhz);
        set(&mut nic, "rx-usecs", most).unwrap();
        assert_eq!(reads(&nic, "rx-usecs"), 0xff * 256 / clock_mhz);
        assert_eq!(set(&mut nic, "rx-usecs", most + 6), Err((Errno::EINVAL, None)));
        set(&mut nic, "rx-usecs", 0).unwrap();
        assert_eq!(reads(&nic, "rx-usecs"), 0xff * 256 / clock_mhz, "nothing leaves it as it is");
    }
    let mut nic = Nic::new(Some(Driver::Stmmac(Stmmac::new(125))), "board", 1_000);
    let both_off = Coalescing([("tx-usecs".to_owned(), 0), ("tx-frames".to_owned(), 0)].into());
    assert_eq!(nic.coalesce(&both_off, 0), Err((Errno::EINVAL, None)));
    set(&mut nic, "tx-usecs", 0).unwrap();
    assert_eq!(set(&mut nic, "tx-frames", 257), Err((Errno::EINVAL, None)));
    assert_eq!(set(&mut nic, "tx-usecs", 100_001), Err((Errno::EINVAL, None)));
}

#[test]
fn stmmac_has_applied_what_it_receives_by_before_it_refuses_what_it_sends_by() {
    let mut nic = Nic::new(Some(Driver::Stmmac(Stmmac::new(250))), "board", 1_000);
    let mut ask = |rx_usecs, tx_usecs| {
        let values = [("rx-usecs", rx_usecs), ("rx-frames", 7), ("tx-usecs", tx_usecs)];
        let refused = nic.coalesce(&Coalescing(values.map(|(name, value)| (name.to_owned(), value)).into()), 0);
        assert_eq!(refused, Err((Errno::EINVAL, None)));
        ["rx-usecs", "rx-frames", "tx-usecs"].map(|name| reads(&nic, name))
    };
    assert_eq!(ask(5, 500), [163, 0, 1_000], "what it receives by is looked at first, and nothing is applied");
    assert_eq!(ask(100, 100_001), [99, 7, 1_000]);
}

#[test]
fn a_card_without_a_driver_that_coalesces_answers_so() {
    let mut nic = Nic::new(None, "board", 1_000);
    assert_eq!(nic.coalescing(), Err(Errno::EOPNOTSUPP));
    assert_eq!(set(&mut nic, "rx-usecs", 10), Err((Errno::EOPNOTSUPP, None)));
    assert_eq!((nic.receives(1, 60, 7), nic.interrupts), (7, 1));
}

#[test]
fn a_throttle_keeps_interrupts_apart_and_a_watchdog_waits_for_more() {
    let mut throttled = Nic::new(Some(Driver::E1000e), "pc", 1_000);
    set(&mut throttled, "rx-usecs", 100).unwrap();
    throttled.sends(1, 60, 1_000_000);
    // The request took the interrupt; its answer waits, and so does what comes in between, for the same one.
    assert_eq!(throttled.receives(1, 60, 1_010_000), 1_100_000);
    assert_eq!(throttled.receives(1, 60, 1_020_000), 1_100_000);
    assert_eq!(throttled.interrupts, 2);
    assert_eq!(throttled.receives(1, 60, 9_000_000), 9_000_000, "a quiet card interrupts at once");
    let mut waits = Nic::new(Some(Driver::Stmmac(Stmmac::new(250))), "board", 1_000);
    set(&mut waits, "rx-usecs", 100).unwrap();
    assert_eq!(reads(&waits, "rx-usecs"), 99);
    assert_eq!(waits.receives(1, 60, 1_000_000), 1_099_328);
    assert_eq!(waits.receives(1, 60, 1_050_000), 1_099_328);
    waits.sends(60, 0, 1_060_000);
    assert_eq!(waits.interrupts, 3, "one for what came, two for fifty of sixty frames sent");
    set(&mut waits, "rx-frames", 1).unwrap();
    assert_eq!(waits.receives(1, 60, 2_000_000), 2_000_000);
}

#[test]
fn on_a_slower_link_the_dynamic_modes_are_one_fixed_rate() {
    for (speed_mbit_s, second) in [(1_000, 1_100_000), (100, 1_300_000)] {
        let mut nic = Nic::new(Some(Driver::E1000e), "pc", speed_mbit_s);
        nic.sends(1, 60, 1_000_000);
        // 20 000 a second until the driver has seen an interrupt, then what its mode says.
        assert_eq!(nic.receives(1, 60, 1_010_000), 1_050_000);
        assert_eq!(nic.receives(1, 60, 1_060_000), second, "{speed_mbit_s} Mbit/s");
    }
}

#[test]
fn the_simplified_mode_follows_how_even_the_traffic_is() {
    const LOOK_NS: u64 = 2_000_000_000;
    for (sent, received, rate) in [(0, 0, 8_000), (5_000_000, 5_000_000, 2_000), (0, 5_000_000, 8_000)] {
        let mut nic = Nic::new(Some(Driver::E1000e), "pc", 1_000);
        set(&mut nic, "rx-usecs", 4).unwrap();
        if sent + received > 0 {
            nic.sends(1, sent, 10);
            nic.receives(1, received, 10);
        }
        nic.sends(1, 60, LOOK_NS + 5);
        assert_eq!(nic.receives(1, 60, LOOK_NS + 6), LOOK_NS + 5 + 1_000_000_000 / rate, "{sent} {received}");
    }
}

#[test]
fn another_version_of_stmmac_starts_elsewhere_and_takes_other_values() {
    let old = Stmmac { least_units: 0x20, default_units: 0xff, tx_usecs: 40_000, tx_frames: 64, ..Stmmac::new(250) };
    let mut nic = Nic::new(Some(Driver::Stmmac(old)), "board", 1_000);
    assert_eq!(["rx-usecs", "tx-usecs", "tx-frames"].map(|name| reads(&nic, name)), [261, 40_000, 64]);
    assert_eq!(set(&mut nic, "rx-usecs", 32), Err((Errno::EINVAL, None)), "31 units");
    set(&mut nic, "rx-usecs", 33).unwrap();
    assert_eq!(reads(&nic, "rx-usecs"), 32);
    assert_eq!(old.fault(), None);
    for broken in [
        Stmmac { least_units: 0, ..old },
        Stmmac { default_units: 0x1f, ..old },
        Stmmac { tx_frames: 257, ..old },
        Stmmac { tx_usecs: 0, tx_frames: 0, ..old },
    ] {
        assert!(broken.fault().is_some(), "{broken:?}");
    }
}

#[test]
fn interrupts_tell_of_so_many_sent_frames_each() {
    let mut nic = Nic::new(Some(Driver::Stmmac(Stmmac::new(250))), "board", 1_000);
    assert_eq!((nic.completions(24), nic.completions(25), nic.completions(50)), (0, 1, 2));
    nic.sends(24, 24 * 1_514, 0);
    assert_eq!(nic.completions(1), 1, "the one that fills it up");
    set(&mut nic, "tx-frames", 1).unwrap();
    nic.sends(16, 16 * 1_514, 0);
    assert_eq!(nic.completions(16), 16);
}
