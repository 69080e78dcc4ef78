//! The router of the published experiment: throughput, shares of the CPU, round trips, ondemand; the published values.
use powerband_machine::{Action, Coalescing, Hold, Turn, Wake, World};
use powerband_record::{ExitStatus, Side, Work};
use powerband_sim::SimWorld;

use crate::rig::{
    SECOND, Transfer, alone, counter, cpufreq, fix, governor, job, quiet, read, router, run, spawn, transfer,
    transfer_in, turn, until_ended, until_told,
};

/// (MHz, published Mbit/s, its tolerance)
const PUBLISHED: [(u32, f64, f64); 5] =
    [(600, 51.6336, 0.06), (550, 54.2619, 0.06), (500, 56.5343, 0.05), (250, 30.8194, 0.05), (125, 16.0967, 0.05)];

/// A stream as fast as it goes.
fn stream(address: &str, port: u16, for_ns: u64, rtt_exchanges: u32) -> Work {
    let address = address.into();
    let (window_bytes, segment_bytes, write_bytes) = (None, None, None);
    Work::StreamSend { address, port, for_ns, rtt_exchanges, window_bytes, segment_bytes, write_bytes }
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{what}: {found} against {expected}");
}

#[test]
fn throughput_is_the_smaller_of_cpu_and_link() {
    for (mhz, ..) in PUBLISHED {
        let mut world = router(1, false);
        fix(&mut world, 0, mhz * 1000);
        let done = transfer(&mut world, Side::Far, 10 * SECOND);
        let expected = f64::min(16.0967 / 125.0 * f64::from(mhz), 54.143);
        close("Mbit/s", done.mbit_s(), expected, 0.005);
        close("receive share", Transfer::share(&done.receiver), 0.46 * done.mbit_s(), 0.02);
        close("transmit share", Transfer::share(&done.sender), 0.125 * done.mbit_s(), 0.02);
        close("round trip", Transfer::of(&done.sender, "rtt_ms"), 1.15 + 245.0 / f64::from(mhz), 0.01);
        let seconds = Transfer::of(&done.receiver, "seconds");
        let busy_s = done.mbit_s() * seconds / (16.0967 / 125.0 * f64::from(mhz));
        assert!(Transfer::of(&done.receiver, "cpu_seconds") <= busy_s);
        assert_eq!(Transfer::of(&done.sender, "bytes"), Transfer::of(&done.receiver, "bytes"));
    }
}

#[test]
fn twenty_seeds_meet_the_published_means() {
    let mut round_trips = Vec::new();
    for (mhz, published, tolerance) in PUBLISHED {
        let (mut rate, mut round_trip) = (0.0, 0.0);
        for seed in 1..=20 {
            let mut world = router(seed, true);
            fix(&mut world, 0, mhz * 1000);
            let done = transfer(&mut world, Side::Far, 10 * SECOND);
            rate += done.mbit_s() / 20.0;
            round_trip += Transfer::of(&done.sender, "rtt_ms") / 20.0;
        }
        eprintln!("{mhz} MHz: {rate:.3} Mbit/s, published {published}, {round_trip:.3} ms");
        close(&format!("{mhz} MHz"), rate, published, tolerance);
        round_trips.push(round_trip);
    }
    assert!(round_trips.is_sorted(), "{round_trips:?}");
}

#[test]
fn ondemand_idles_low_and_rises_under_load() {
    let mut world = router(1, false);
    governor(&mut world, 0, "ondemand");
    assert_eq!(world.wait(Some(20 * SECOND)), Wake::Deadline);
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")).trim(), "125000");
    let done = transfer(&mut world, Side::Far, 10 * SECOND);
    assert!(done.mbit_s() > 51.0, "{}", done.mbit_s());
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")).trim(), "500000");
    let idle = world.now_ns() + 20 * SECOND;
    assert_eq!(world.wait(Some(idle)), Wake::Deadline);
    let work = spawn(&mut world, Side::Near, &counter(SECOND));
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")).trim(), "125000");
    until_ended(&mut world, Side::Near, work);
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")).trim(), "600000");
}

#[test]
fn a_stream_shares_the_cpu_with_a_counter() {
    let both = |khz| {
        let mut world = router(1, false);
        fix(&mut world, 0, khz);
        let counting = spawn(&mut world, Side::Near, &counter(10 * SECOND));
        let rate = transfer_beside(&mut world);
        let finished = until_ended(&mut world, Side::Near, counting);
        (rate, finished.usage.user_ns as f64 / 10.0 / SECOND as f64)
    };
    let (fast, counter_share) = both(600_000);
    assert!(fast > 50.0 && (0.2..0.4).contains(&counter_share), "{fast} {counter_share}");
    let (slow, counter_share) = both(125_000);
    assert!((6.0..12.0).contains(&slow) && (0.3..0.6).contains(&counter_share), "{slow} {counter_share}");
}

/// A transfer while other processes run; its rate in Mbit/s.
fn transfer_beside(world: &mut powerband_sim::SimWorld) -> f64 {
    let listen = job(Work::StreamReceive { address: "near".into(), port: 5001 });
    let receiver = spawn(world, Side::Near, &listen);
    let send = job(stream("near", 5001, 9 * SECOND, 0));
    spawn(world, Side::Far, &send);
    let done = until_ended(world, Side::Near, receiver);
    Transfer::of(&done, "bytes") * 8e-6 / Transfer::of(&done, "seconds")
}

#[test]
fn small_segments_cost_as_many_frames_and_shrink_what_may_be_on_its_way() {
    let boards = |delay_us: &str| {
        let mut world = SimWorld::new(quiet("cyclone5"), Some(quiet("cyclone5")), 1).unwrap();
        for side in [Side::Near, Side::Far] {
            let values = Coalescing([("rx-usecs".to_owned(), delay_us.parse().unwrap())].into());
            let action = Action::Coalesce { device: "eth0".into(), values };
            let acted = world.machine(side).unwrap().act(&Turn { action, ..turn("", "", Hold::Held) }).unwrap();
            assert_eq!(acted.errno, None);
        }
        world
    };
    let rate = |delay_us: &str, segment| transfer_in(&mut boards(delay_us), Side::Far, SECOND, segment).mbit_s();
    let full = rate("40", None);
    assert!((rate("40", Some(1_448)) - full).abs() < full * 0.01, "a full frame's payload is the default");
    // Half the payload a frame: half the rate, where the CPU is what binds.
    let (half, eighth) = (rate("40", Some(512)), rate("40", Some(128)));
    assert!((3.8..4.2).contains(&(half / eighth)) && half < 0.45 * full, "{half} {eighth} {full}");
    // A window of 256 KiB for full frames holds 23 KiB of such segments: with 261 us at each end no more than the CPU takes.
    let slow = rate("261", Some(128));
    assert!(slow > 0.9 * eighth, "{slow} {eighth}");
}

/// What so many clients get together, Mbit/s, each sending to a process of its own on the router.
fn clients(mhz: u32, count: u16, channel_mbit_s: f64) -> f64 {
    let mut machine = quiet("omap3530");
    machine.network.link_kbit_s = (channel_mbit_s * 1e3) as u64;
    let mut world = SimWorld::new(machine, Some(quiet("pc")), 1).unwrap();
    fix(&mut world, 0, mhz * 1000);
    let ports = 5001..5001 + count;
    let listen = |port| job(Work::StreamReceive { address: "near".into(), port });
    let receivers: Vec<_> = ports.clone().map(|port| spawn(&mut world, Side::Near, &listen(port))).collect();
    for port in ports {
        let send = stream("near", port, 5 * SECOND, 0);
        spawn(&mut world, Side::Far, &job(send));
    }
    let rates = receivers.into_iter().map(|receiver| {
        let done = until_told(&mut world, receiver);
        Transfer::of(&done, "bytes") * 8e-6 / Transfer::of(&done, "seconds")
    });
    let rates: Vec<f64> = rates.collect();
    let (least, most) = rates.iter().fold((f64::MAX, 0.0_f64), |(low, high), &it| (low.min(it), high.max(it)));
    assert!(most < 1.1 * least, "none is left out: {rates:?}");
    rates.iter().sum()
}

#[test]
fn several_clients_need_the_highest_clock_where_one_leaves_air_to_others() {
    let of_cpu = |mhz: u32| 16.0967 / 125.0 * f64::from(mhz);
    for mhz in [250, 500, 550, 600] {
        close("one client", clients(mhz, 1, 108.286), f64::min(of_cpu(mhz), 54.143), 0.01);
        // Half the air each: two clients have all of it, and the CPU is what binds at any clock.
        for count in [2, 4, 8] {
            close("several clients", clients(mhz, count, 108.286), of_cpu(mhz), 0.02);
        }
        // One client fills the channel: more of them share it, and 500 MHz is as good as 600.
        close("a full channel", clients(mhz, 4, 54.143), f64::min(of_cpu(mhz), 54.143), 0.02);
    }
    // A channel that others leave free for a third more.
    close("a third more", clients(600, 4, 72.0), 72.0, 0.02);
}

#[test]
fn small_writes_cost_time_and_make_no_smaller_packets() {
    let rate = |write_bytes| {
        let mut world = SimWorld::new(quiet("cyclone5"), Some(quiet("cyclone5")), 1).unwrap();
        let receiver = spawn(&mut world, Side::Near, &job(Work::StreamReceive { address: "near".into(), port: 7 }));
        let send = Work::StreamSend {
            address: "near".into(),
            port: 7,
            for_ns: SECOND,
            rtt_exchanges: 0,
            window_bytes: None,
            segment_bytes: None,
            write_bytes,
        };
        spawn(&mut world, Side::Far, &job(send));
        let done = until_told(&mut world, receiver);
        let frames = read(&mut world, "/sys/class/net/eth0/statistics/rx_packets").trim().parse::<f64>().unwrap();
        assert!((1_400.0..1_449.0).contains(&(Transfer::of(&done, "bytes") / frames)), "full frames");
        Transfer::of(&done, "bytes") * 8e-6 / Transfer::of(&done, "seconds")
    };
    let (plain, large, small) = (rate(None), rate(Some(128 << 10)), rate(Some(128)));
    assert!((large / plain - 1.0).abs() < 0.02, "{large} {plain}");
    // 11.3 writes of 2 us a frame next to the 11 us that a frame costs.
    close("small writes", small, 1_448.0 * 8.0 / (11.0 + 2.0 * 1_448.0 / 128.0), 0.05);
}

#[test]
fn a_stream_within_one_machine_is_bound_by_its_cpu() {
    let mut world = alone(quiet("omap3530"));
    fix(&mut world, 0, 600_000);
    let done = transfer(&mut world, Side::Near, 2 * SECOND);
    // Both ends cost 7.7656 cycles a bit on the one core.
    close("Mbit/s", done.mbit_s(), 600.0 / (2.0 * 7.7656), 0.01);
}

#[test]
fn a_connection_nobody_takes_fails_in_words() {
    let mut world = router(1, false);
    for (address, words) in [("far", "connection refused"), ("elsewhere", "no route to host")] {
        let send = stream(address, 9, SECOND, 1);
        let done = run(&mut world, &job(send));
        assert_eq!(done.status, ExitStatus::Code(1));
        assert!(done.output.stderr.contains(words), "{}", done.output.stderr);
        assert!(done.report.is_none());
    }
}

#[test]
fn the_end_of_one_end_ends_the_other() {
    for kill_sender in [true, false] {
        let mut world = router(1, false);
        let receiver = spawn(&mut world, Side::Near, &job(Work::StreamReceive { address: "near".into(), port: 7 }));
        let send = stream("near", 7, SECOND, 1);
        let sender = spawn(&mut world, Side::Far, &job(send));
        while world.now_ns() < SECOND / 2 {
            world.wait(Some(SECOND / 2));
        }
        let (side, victim, other_side, other) = if kill_sender {
            (Side::Far, sender, Side::Near, receiver)
        } else {
            (Side::Near, receiver, Side::Far, sender)
        };
        world.machine(side).unwrap().end(victim, true);
        assert_eq!(until_ended(&mut world, side, victim).status, ExitStatus::Signal(9));
        assert_eq!(until_ended(&mut world, other_side, other).status, ExitStatus::Code(1));
    }
}

#[test]
fn a_caller_that_is_ended_while_it_calls_leaves_no_receiver_behind() {
    let mut world = router(1, false);
    // The port is free again each time.
    for _ in 0..2 {
        let receiver = spawn(&mut world, Side::Near, &job(Work::StreamReceive { address: "near".into(), port: 7 }));
        let send = stream("near", 7, SECOND, 1);
        let sender = spawn(&mut world, Side::Far, &job(send));
        world.machine(Side::Far).unwrap().end(sender, true);
        assert_eq!(until_ended(&mut world, Side::Near, receiver).status, ExitStatus::Code(1));
    }
}
