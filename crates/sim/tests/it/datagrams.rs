//! Datagrams between simulated machines: at a rate, as fast as the link takes them, and faster than a receiver can.
use powerband_machine::Finished;
use powerband_record::{Side, Work};
use powerband_sim::SimWorld;

use crate::rig::{SECOND, Transfer, fix, job, router, spawn, until_ended};

/// Datagrams from the peer to the router; how sender and receiver ended.
fn poured(world: &mut SimWorld, size_bytes: u32, rate_kbit_s: Option<u64>) -> [Finished; 2] {
    let receive = job(Work::DatagramReceive { address: "near".into(), port: 9 });
    let receiver = spawn(world, Side::Near, &receive);
    let (address, port, for_ns) = ("near".into(), 9, 2 * SECOND);
    let send = Work::DatagramSend { address, port, for_ns, size_bytes, rate_kbit_s, rtt_exchanges: 3 };
    let sender = spawn(world, Side::Far, &job(send));
    let received = until_ended(world, Side::Near, receiver);
    [until_ended(world, Side::Far, sender), received]
}

fn mbit_s(end: &Finished) -> f64 {
    Transfer::of(end, "bytes") * 8e-6 / Transfer::of(end, "seconds")
}

fn lost(ends: &[Finished; 2]) -> f64 {
    1.0 - Transfer::of(&ends[1], "datagrams") / Transfer::of(&ends[0], "datagrams")
}

#[test]
fn a_rate_that_fits_is_kept_and_nothing_is_lost() {
    let mut world = router(1, false);
    fix(&mut world, 0, 600_000);
    let ends = poured(&mut world, 1_448, Some(20_000));
    assert!((mbit_s(&ends[0]) / 20.0 - 1.0).abs() < 0.01, "{}", mbit_s(&ends[0]));
    assert!((mbit_s(&ends[1]) / 20.0 - 1.0).abs() < 0.01 && lost(&ends) == 0.0);
    assert!((Transfer::of(&ends[0], "rtt_ms") / (1.15 + 245.0 / 600.0) - 1.0).abs() < 0.01);
}

#[test]
fn without_a_rate_the_link_is_filled_and_small_datagrams_carry_less() {
    let rate = |size_bytes| {
        let mut world = router(1, false);
        fix(&mut world, 0, 600_000);
        let ends = poured(&mut world, size_bytes, None);
        assert!(lost(&ends) < 0.001, "the CPU keeps up with the link at 600 MHz: {}", lost(&ends));
        mbit_s(&ends[1])
    };
    let full = rate(1_448);
    assert!((full / 54.143 - 1.0).abs() < 0.01, "{full}");
    // Fewer than full frames a second could be, as each costs the receiver as much; so the test stays above that.
    assert!((rate(1_200) / 54.143 - 1_200.0 / 1_266.0 * 1_514.0 / 1_448.0).abs() < 0.01);
}

#[test]
fn a_receiver_that_does_not_keep_up_loses_the_rest() {
    let mut world = router(1, false);
    fix(&mut world, 0, 125_000);
    let ends = poured(&mut world, 1_448, None);
    let took = 16.0967;
    assert!((mbit_s(&ends[1]) / took - 1.0).abs() < 0.05, "{}", mbit_s(&ends[1]));
    assert!((lost(&ends) - (1.0 - took / 54.143)).abs() < 0.05, "{}", lost(&ends));
}
