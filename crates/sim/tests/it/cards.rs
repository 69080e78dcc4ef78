//! Network cards on a cable: what a ping feels of them, how often they interrupt, what the kernel shows of them.
use powerband_machine::{Action, Before, Coalescing, Errno, Hold, Turn, Wake, World};
use powerband_record::{Arrivals, Protocol, Side, Work};
use powerband_sim::{Driver, Profile, SimWorld, Stmmac};

use crate::rig::{SECOND, job, quiet, spawn, transfer};

fn pair(driver: Option<Driver>) -> SimWorld {
    let with = |name: &str| {
        let mut profile = quiet(name);
        profile.network.driver = driver;
        profile
    };
    SimWorld::new(with("pc"), Some(with("pc")), 1).unwrap()
}

fn coalesce(world: &mut SimWorld, side: Side, name: &str, value: u32) -> (Option<Errno>, Option<String>, String) {
    let action =
        |value| Action::Coalesce { device: "eth0".into(), values: Coalescing([(name.to_owned(), value)].into()) };
    let turn = Turn {
        action: action(value),
        undo: Some(action(3)),
        hold: Hold::Held,
        knob: format!("nic.{name}"),
        site: "eth0".into(),
        asked: value.to_string(),
        before: Before::Unknown,
        read_back: Some(format!("coalesce:eth0/{name}")),
        step: None,
        moves: std::collections::BTreeMap::new(),
    };
    let acted = world.machine(side).unwrap().act(&turn).unwrap();
    (acted.errno, acted.words, acted.reads_back.unwrap_or_default())
}

/// Round trips of a second of UDP pings from near to far, us: how often each came.
fn ping(world: &mut SimWorld, arrivals: Arrivals, rate_per_s: f64) -> Vec<(f64, u64)> {
    let echo = job(Work::Echo { protocol: Protocol::Udp, address: "far".into(), port: 0 });
    spawn(world, Side::Far, &echo);
    let Wake::Said(Side::Far, _, said) = world.wait(None) else { panic!("not ready") };
    let port = u16::try_from(said["ready"]["port"].as_u64().unwrap()).unwrap();
    pinged(world, Protocol::Udp, port, arrivals, rate_per_s)
}

/// The same of whatever answers there.
fn pinged(world: &mut SimWorld, protocol: Protocol, port: u16, arrivals: Arrivals, rate_per_s: f64) -> Vec<(f64, u64)> {
    let work = Work::Ping {
        protocol,
        address: "far".into(),
        port,
        for_ns: SECOND,
        rate_per_s,
        arrivals,
        seed: 1,
        size_bytes: 56,
    };
    let pinger = spawn(world, Side::Near, &job(work));
    let (mut finished, mut ends) = (None, if port == 0 { 1 } else { 0 });
    while ends < 2 {
        match world.wait(None) {
            Wake::Ended(side, id) => {
                ends += 1;
                let done = world.machine(side).unwrap().finished(id).unwrap();
                assert!(done.status.success(), "{done:?}");
                if id == pinger {
                    finished = Some(done);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    let report = finished.unwrap().report.unwrap();
    assert_eq!(report["sent"], report["received"]);
    let cells: Vec<(u64, u64)> = serde_json::from_value(report["histogram"].clone()).unwrap();
    assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), report["sent"].as_u64().unwrap());
    cells.into_iter().map(|(ns, count)| (ns as f64 / 1e3, count)).collect()
}

fn icmp(world: &mut SimWorld) -> Vec<(f64, u64)> {
    pinged(world, Protocol::Icmp, 0, Arrivals::Constant, 200.0)
}

fn mean_us(cells: &[(f64, u64)]) -> f64 {
    let count: u64 = cells.iter().map(|(_, count)| count).sum();
    cells.iter().map(|&(us, count)| us * count as f64).sum::<f64>() / count as f64
}

/// Interrupts of a card so far, as /proc/interrupts has them.
fn interrupts(world: &mut SimWorld, side: Side) -> u64 {
    let text = world.machine(side).unwrap().read("/proc/interrupts").unwrap();
    let line = text.lines().find(|line| line.ends_with("eth0")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn an_exchange_takes_no_less_than_the_near_cards_throttle() {
    let base = mean_us(&ping(&mut pair(None), Arrivals::Constant, 100.0));
    assert!((base - 60.0).abs() < 0.1, "{base}");
    for (side, usecs, least, most) in [
        (Side::Near, 0, base, base),
        (Side::Near, 10, base, base),
        (Side::Near, 100, 100.0, 100.0 + base),
        (Side::Near, 1_000, 1_000.0, 1_000.0 + base),
        // What arrives after a pause is heard of at once.
        (Side::Far, 1_000, base, base),
    ] {
        let mut world = pair(Some(Driver::E1000e));
        coalesce(&mut world, Side::Near, "rx-usecs", 0);
        assert_eq!(coalesce(&mut world, side, "rx-usecs", usecs), (None, None, usecs.to_string()));
        let mean = mean_us(&ping(&mut world, Arrivals::Constant, 100.0));
        assert!((least - 0.1..=most + 0.1).contains(&mean), "{side} {usecs}: {mean}");
    }
}

#[test]
fn the_servers_card_spaces_exchanges_as_it_is_told() {
    let of = |usecs: u32| {
        let mut world = SimWorld::new(quiet("server"), Some(quiet("server")), 1).unwrap();
        for side in [Side::Near, Side::Far] {
            let (errno, words, back) = coalesce(&mut world, side, "rx-usecs", usecs);
            assert_eq!((errno, words, back), (None, None, usecs.to_string()));
        }
        assert_eq!(world.machine(Side::Near).unwrap().read("/sys/class/net/eth0/speed").unwrap(), "25000\n");
        let alone_us = mean_us(&ping(&mut world, Arrivals::Constant, 100.0));
        let before = interrupts(&mut world, Side::Near);
        let dense_us = mean_us(&ping(&mut world, Arrivals::Constant, 10_000.0));
        (alone_us, dense_us, interrupts(&mut world, Side::Near) - before)
    };
    let (short, long) = (of(0), of(400));
    assert!((short.0 - long.0).abs() < 0.1, "what comes alone is heard of at once: {short:?} {long:?}");
    assert!(long.1 > short.1 + 100.0, "what comes every 100 us waits: {short:?} {long:?}");
    assert!(short.2 - long.2 > 6_000, "and is told of together: {short:?} {long:?}");
}

#[test]
fn a_watchdog_delays_at_both_ends() {
    let base = mean_us(&ping(&mut pair(None), Arrivals::Constant, 100.0));
    for (side, usecs) in [(Side::Near, 100_u32), (Side::Far, 100), (Side::Near, 400)] {
        let driver = Some(Driver::Stmmac(Stmmac::new(128)));
        let mut world = pair(driver);
        // 64 us on the other side.
        for each in [Side::Near, Side::Far] {
            let value = if each == side { usecs } else { 64 };
            assert_eq!(coalesce(&mut world, each, "rx-usecs", value).2, value.to_string());
        }
        let mean = mean_us(&ping(&mut world, Arrivals::Constant, 100.0));
        assert!((mean - base - f64::from(usecs + 64)).abs() < 0.1, "{usecs}: {mean}");
    }
}

#[test]
fn fewer_interrupts_come_where_they_wait_for_one_another() {
    let count = |usecs: u32| {
        let mut world = pair(Some(Driver::E1000e));
        coalesce(&mut world, Side::Near, "rx-usecs", usecs);
        let before = interrupts(&mut world, Side::Near);
        ping(&mut world, Arrivals::Exponential, 5_000.0);
        interrupts(&mut world, Side::Near) - before
    };
    let (free, throttled, slow) = (count(0), count(100), count(1_000));
    assert!(free > 9_000 && throttled < free, "{free} {throttled}");
    assert!((900..=1_100).contains(&slow), "no more than one a millisecond: {slow}");
}

#[test]
fn refusals_are_the_drivers_and_in_the_kernels_words() {
    let mut world = pair(Some(Driver::E1000e));
    for value in [2, 5, 999_999] {
        let (errno, words, reads) = coalesce(&mut world, Side::Near, "rx-usecs", value);
        assert_eq!((errno, words, reads.as_str()), (Some(Errno::EINVAL), None, "3"), "{value}");
    }
    let (errno, words, _) = coalesce(&mut world, Side::Near, "tx-usecs", 5);
    let said = "cannot modify an unsupported parameter: tx-usecs";
    assert_eq!((errno, words.as_deref()), (Some(Errno::EINVAL), Some(said)));
    let near = world.machine(Side::Near).unwrap();
    assert_eq!(near.coalescing("eth0").unwrap().to_string(), "rx-usecs 3\n");
    assert_eq!((near.coalescing("eth1"), near.coalescing("lo")), (Err(Errno::ENODEV), Err(Errno::ENODEV)));
}

#[test]
fn the_kernel_shows_the_card() {
    let mut world = pair(Some(Driver::E1000e));
    let done = transfer(&mut world, Side::Far, SECOND);
    let mut read = |name: &str| {
        let text = world.machine(Side::Near).unwrap().read(&format!("/sys/class/net/eth0/{name}")).unwrap();
        text.trim().to_owned()
    };
    assert_eq!((read("operstate").as_str(), read("carrier").as_str(), read("speed").as_str()), ("up", "1", "1000"));
    assert_eq!(read("address").len(), 17);
    let payload = done.receiver.report.unwrap()["bytes"].as_f64().unwrap();
    let (bytes, packets): (f64, f64) =
        (read("statistics/rx_bytes").parse().unwrap(), read("statistics/rx_packets").parse().unwrap());
    assert!((1.04..1.05).contains(&(bytes / payload)), "headers: {bytes} of {payload}");
    assert!((packets / (payload / 1448.0) - 1.0).abs() < 0.01, "{packets}");
    let devices = world.machine(Side::Near).unwrap().read("/proc/net/dev").unwrap();
    assert_eq!(devices.lines().count(), 3, "{devices}");
    assert!(devices.lines().last().unwrap().trim().starts_with(&format!("eth0: {bytes}")), "{devices}");
}

#[test]
fn machine_files_name_the_driver() {
    let text = Profile::builtin_text("pc").unwrap();
    let with = |line: &str| Profile::parse(&text.replace("driver = \"e1000e\"", line));
    assert_eq!(with("").unwrap().network.driver, None);
    let stmmac = with("driver = \"stmmac\"\nclock_mhz = 125").unwrap();
    assert_eq!(stmmac.network.driver, Some(Driver::Stmmac(Stmmac::new(125))));
}

#[test]
fn the_drivers_own_modes_follow_small_packets() {
    let base = mean_us(&ping(&mut pair(None), Arrivals::Constant, 100.0));
    let mean = |mode: u32, settles_ns: u64| {
        let mut world = pair(Some(Driver::E1000e));
        coalesce(&mut world, Side::Near, "rx-usecs", mode);
        while world.now_ns() < settles_ns {
            world.wait(Some(settles_ns));
        }
        mean_us(&ping(&mut world, Arrivals::Constant, 100.0))
    };
    // 20 000 interrupts a second at most; up to 70 000, once there; 8 000 after silence. Half an exchange passes before the
    // time begins and after it ends.
    for (mode, settles_ns, expected) in [(3, 0, 70.0), (1, 0, base), (4, 3 * SECOND, 145.0)] {
        let mean = mean(mode, settles_ns);
        assert!((mean - expected).abs() < 1.0, "mode {mode}: {mean} instead of {expected}");
    }
}

#[test]
fn the_drivers_own_modes_follow_a_stream() {
    let interrupts_of = |mode: u32| {
        let mut world = pair(Some(Driver::E1000e));
        coalesce(&mut world, Side::Near, "rx-usecs", mode);
        let before = interrupts(&mut world, Side::Near);
        let done = transfer(&mut world, Side::Far, SECOND);
        assert!(done.mbit_s() > 790.0, "mode {mode}: {}", done.mbit_s());
        interrupts(&mut world, Side::Near) - before
    };
    let (free, dynamic, conservative, simple) =
        (interrupts_of(0), interrupts_of(1), interrupts_of(3), interrupts_of(4));
    assert!(free > 8_000, "{free}");
    assert!((3_800..=4_200).contains(&dynamic) && (3_800..=4_200).contains(&conservative), "{dynamic} {conservative}");
    assert!((2_000..=8_200).contains(&simple), "{simple}");
}

#[test]
fn the_kernel_answers_an_echo_request_by_itself() {
    let (mut world, mut udp) = (pair(None), pair(None));
    let (asked, echoed) = (mean_us(&icmp(&mut world)), mean_us(&ping(&mut udp, Arrivals::Constant, 200.0)));
    // 60 us with an echo process of 60 000 cycles at 3 GHz, 24 000 for the kernel.
    assert!((asked - 48.0).abs() < 0.1 && (echoed - 60.0).abs() < 0.1, "{asked} {echoed}");
    let far = world.machine(Side::Far).unwrap().read("/proc/stat").unwrap();
    let all: Vec<u64> = far.lines().next().unwrap().split_whitespace().skip(1).map(|n| n.parse().unwrap()).collect();
    assert_eq!((all[0], all[2]), (0, 0), "no process of it ran");
    let alone = &mut SimWorld::new(quiet("pc"), None, 1).unwrap();
    let work = Work::Ping {
        protocol: Protocol::Icmp,
        address: "far".into(),
        port: 0,
        for_ns: SECOND,
        rate_per_s: 1.0,
        arrivals: Arrivals::Constant,
        seed: 1,
        size_bytes: 56,
    };
    let done = crate::rig::run(alone, &job(work));
    assert!(done.output.stderr.contains("cannot reach far: no route to host"), "{done:?}");
}

#[test]
fn an_ended_pinger_leaves_the_kernel_that_answers_alone() {
    let mut world = pair(None);
    let work = Work::Ping {
        protocol: Protocol::Icmp,
        address: "far".into(),
        port: 0,
        for_ns: SECOND,
        rate_per_s: 1_000.0,
        arrivals: Arrivals::Constant,
        seed: 1,
        size_bytes: 56,
    };
    let pinger = spawn(&mut world, Side::Near, &job(work));
    world.wait(Some(SECOND / 2));
    world.machine(Side::Near).unwrap().end(pinger, true);
    while world.now_ns() < SECOND {
        world.wait(Some(SECOND));
    }
    assert!((mean_us(&icmp(&mut world)) - 48.0).abs() < 0.1);
}

/// The value that a share of the round trips does not exceed, us.
fn percentile_us(cells: &[(f64, u64)], share: f64) -> f64 {
    let all: u64 = cells.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    let reaches = |(_, count): &&(f64, u64)| {
        seen += count;
        seen as f64 >= share * all as f64
    };
    cells.iter().find(reaches).unwrap().0
}

#[test]
fn round_trips_scatter_within_a_run_and_from_run_to_run() {
    let noisy =
        |seed| SimWorld::new(Profile::builtin("pc").unwrap(), Some(Profile::builtin("pc").unwrap()), seed).unwrap();
    let mut world = noisy(1);
    let (first, second) = (ping(&mut world, Arrivals::Constant, 500.0), ping(&mut world, Arrivals::Constant, 500.0));
    let (p50, p99) = (percentile_us(&first, 0.5), percentile_us(&first, 0.99));
    let max = first.last().unwrap().0;
    assert!(p50 + 5.0 < p99 && p99 + 10.0 < max, "{p50} {p99} {max}");
    assert!(first != second && percentile_us(&second, 0.5) != p50);
    assert_eq!(first, ping(&mut noisy(1), Arrivals::Constant, 500.0), "the same seed gives the same");
    assert_ne!(first, ping(&mut noisy(2), Arrivals::Constant, 500.0));
    // Without a throttle, behind which the scatter of the peer disappears.
    let unthrottled = || {
        let mut world = noisy(1);
        coalesce(&mut world, Side::Near, "rx-usecs", 0);
        world
    };
    let (kernel, first) = (icmp(&mut unthrottled()), ping(&mut unthrottled(), Arrivals::Constant, 200.0));
    let spread = |cells: &[(f64, u64)]| percentile_us(cells, 0.9) - percentile_us(cells, 0.1);
    assert!(spread(&kernel) < spread(&first), "nobody wakes at the far end: {} {}", spread(&kernel), spread(&first));
}
