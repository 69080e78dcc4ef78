//! The same seed gives the same bytes, in every build; another seed gives others.
use powerband_machine::World;
use powerband_record::{CpuList, Demand, Side, Work};

use crate::rig::{SECOND, counter, governor, job, router, spawn, transfer, write};

/// A busy two seconds on two machines: governors, quota-free company, sleepers, a stream; every event as a line.
fn busy(seed: u64) -> String {
    let mut world = router(seed, true);
    world.log_events();
    governor(&mut world, 0, "ondemand");
    let sleeper = Demand { cycles: 3_000_000, memory_share: 0.3, sleep_ns: 7_000_000, repeat: 100 };
    let sleeper = Work::modelled(vec!["sleeper".into()], sleeper);
    spawn(&mut world, Side::Near, &job(sleeper));
    for cpu in 0..4 {
        let mut counter = counter(SECOND);
        counter.cpus = Some(CpuList::new(vec![cpu]));
        spawn(&mut world, Side::Far, &counter);
    }
    write(&mut world, "/tmp/note", "begun").unwrap();
    world.wait(Some(SECOND / 3));
    while world.now_ns() < 2 * SECOND {
        world.wait(Some(2 * SECOND));
    }
    let done = transfer(&mut world, Side::Far, SECOND);
    // Nothing is read around them, and saying so is none of the model's doing.
    let [sender, receiver] = [done.sender, done.receiver].map(|it| format!("{it:?}").replace(", around: []", ""));
    format!("{}{sender}{receiver}", world.take_event_log())
}

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let first = busy(7);
    assert!(first.lines().count() > 2_000, "{}", first.lines().count());
    assert!(first == busy(7));
    assert!(first != busy(8));
}

#[test]
fn debug_and_release_agree() {
    // Changes only when the model changes; a release build must give the same number.
    assert_eq!(fnv1a(&busy(7)), 14_262_868_068_045_293_249);
}
