//! The router of the published experiment: throughput, shares of the CPU, round trips, watts, ondemand.
use powerband_machine::{Wake, World};
use powerband_record::Side;

use crate::rig::{SECOND, Transfer, cpufreq, fix, governor, read, router, transfer};

/// (MHz, published Mbit/s, its tolerance)
const PUBLISHED: [(u32, f64, f64); 5] =
    [(600, 51.6336, 0.06), (550, 54.2619, 0.06), (500, 56.5343, 0.05), (250, 30.8194, 0.05), (125, 16.0967, 0.05)];

#[test]
fn throughput_is_the_smaller_of_cpu_and_link() {
    for (mhz, ..) in PUBLISHED {
        let mut world = router(1, false);
        fix(&mut world, 0, mhz * 1000);
        let before: f64 = read(&mut world, "/sys/kernel/powerband/energy_uj").trim().parse().unwrap();
        let began = world.now_ns();
        let done = transfer(&mut world, Side::Far, 10 * SECOND);
        let expected = f64::min(16.0967 / 125.0 * f64::from(mhz), 54.143);
        let energy = read(&mut world, "/sys/kernel/powerband/energy_uj").trim().parse::<f64>().unwrap() - before;
        eprintln!(
            "{mhz} MHz: {:.3} Mbit/s (model {expected:.3}), TX {:.1} %, RX {:.1} %, rtt {:.3} ms, {:.3} W, {} events",
            done.mbit_s(),
            Transfer::share(&done.sender),
            Transfer::share(&done.receiver),
            Transfer::of(&done.sender, "rtt_ms"),
            energy * 1e3 / (world.now_ns() - began) as f64,
            world.events(),
        );
        assert!((done.mbit_s() / expected - 1.0).abs() < 0.005, "{mhz}: {} against {expected}", done.mbit_s());
    }
}
