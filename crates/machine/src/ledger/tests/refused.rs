//! An undo that a driver refuses, because it does not take what it showed.
use std::cell::Cell;

use super::*;

/// A timer that counts steps of 256 clocks and refuses fewer steps than `least`: it shows the time that a step comes to, rounded down,
/// and takes that for the step below.
#[derive(Clone, Copy)]
struct Timer {
    clocks_per_us: u32,
    least: u32,
    steps: u32,
}

impl Timer {
    fn shown(self) -> u32 {
        self.steps * 256 / self.clocks_per_us
    }

    fn set(self, usecs: u32) -> Result<Timer, Errno> {
        let steps = usecs * self.clocks_per_us / 256;
        if (self.least..256).contains(&steps) { Ok(Timer { steps, ..self }) } else { Err(Errno::EINVAL) }
    }
}

/// Undoes a change of `before` to `now`, values of rx-usecs and tx-usecs, of a card whose second value is exact up to 1,000; what came of
/// it, what the card shows then, and how many requests it took.
fn undone(first: Timer, before: [u32; 2], now: [u32; 2]) -> (Undone, [u32; 2], u32) {
    let set = |[rx, tx]: [u32; 2]| coalescing("eth0", &[("rx-usecs", rx), ("tx-usecs", tx)]);
    let place = "coalesce:eth0/rx-usecs,tx-usecs";
    let mut turn = turn(place, &format!("{} {}", before[0], before[1]), "", Hold::Set);
    (turn.action, turn.undo) = (set(now), Some(set(before)));
    let card = Cell::new((first.set(now[0]).unwrap(), now[1]));
    let reads = || format!("{} {}", card.get().0.shown(), card.get().1);
    let mut ledger = load(&MemoryLedger::default());
    let id = begin(&mut ledger, &turn, None, &reads());
    let mut requests = 0;
    let mut read = |path: &str| if path == place { Ok(reads() + "\n") } else { Err(Errno::ENOENT) };
    let outcome = ledger.undo(id, false, &mut read, &mut |action| {
        requests += 1;
        let Action::Coalesce { values, .. } = action else { return Err(Errno::EINVAL) };
        let [rx, tx] = ["rx-usecs", "tx-usecs"].map(|name| values.get(name).unwrap());
        let timer = first.set(rx)?;
        let is_exact = (1..=1_000).contains(&tx);
        is_exact.then(|| card.set((timer, tx))).ok_or(Errno::EINVAL)
    });
    (outcome.unwrap(), [card.get().0.shown(), card.get().1], requests)
}

#[test]
fn what_a_driver_shows_and_refuses_comes_back_as_it_read() {
    for clocks_per_us in [50, 100, 125, 250] {
        for least in [1, 16, 32] {
            let timer = Timer { clocks_per_us, least, steps: least };
            let floor = timer.shown();
            let ceiling = Timer { steps: 255, ..timer }.shown();
            for before in [[floor, 1_000], [floor, 1], [ceiling, 1_000], [ceiling, 7]] {
                let (outcome, shown, _) = undone(timer, before, [ceiling / 2, 500]);
                assert_eq!((outcome, shown), (Undone::Undone, before), "{clocks_per_us} MHz, {least} steps");
            }
        }
    }
}

/// Nothing the driver takes reads so: the card was changed by something else than a request, or never was like that.
#[test]
fn what_no_request_brings_back_is_left_as_it_was_found() {
    let timer = Timer { clocks_per_us: 250, least: 32, steps: 32 };
    // Far below what it takes, and next to it.
    for before in [[5, 1_000], [31, 1_000], [32, 1_001]] {
        let (outcome, shown, requests) = undone(timer, before, [50, 500]);
        assert!(matches!(&outcome, Undone::Failed { why } if why.contains("EINVAL")), "{outcome:?}");
        assert_eq!(shown, [timer.set(50).unwrap().shown(), 500], "{before:?}");
        assert!(requests < 200, "{requests}");
    }
}

#[test]
fn a_driver_that_is_gone_is_asked_once() {
    let place = "coalesce:eth0/rx-usecs";
    let mut turn = turn(place, "32", "50", Hold::Set);
    (turn.action, turn.undo) = (coalescing("eth0", &[("rx-usecs", 50)]), Some(coalescing("eth0", &[("rx-usecs", 32)])));
    for errno in [Errno::ENODEV, Errno::EPERM, Errno::EOPNOTSUPP] {
        let mut ledger = load(&MemoryLedger::default());
        let id = begin(&mut ledger, &turn, None, "50");
        let mut requests = 0;
        let mut refuse = |_: &Action| {
            requests += 1;
            Err(errno)
        };
        let outcome = ledger.undo(id, false, &mut |_| Ok("50\n".into()), &mut refuse).unwrap();
        assert!(matches!(outcome, Undone::Failed { .. }));
        assert_eq!(requests, 1);
    }
}
