//! Faults by themselves: what strikes, whom, and what is left when the owner ends.
use powerband_machine::{Action, Before, Errno, Hold, LedgerError, Machine, Turn, Wake, World};
use powerband_record::Side;
use powerband_sim::SimWorld;
use powerband_testkit::faults::{Ending, Fault, FaultPlan, Faults, Hand};

use crate::rig::{alone, job, quiet};

const PATH: &str = "/etc/x";

fn turn(text: &str) -> Turn {
    Turn {
        undo: Some(Action::WriteFile { path: PATH.into(), text: "old".into() }),
        before: Before::Reads("old".into()),
        ..crate::rig::turn(PATH, text, Hold::Held)
    }
}

fn calm() -> (SimWorld, Faults) {
    let mut world = alone(quiet("pc"));
    near(&mut world).act(&turn("old")).unwrap();
    let faults = Faults::inject(&mut world, FaultPlan { seed: 5, one_in: 0, blunder: None }).unwrap();
    (world, faults)
}

fn near(world: &mut SimWorld) -> &mut dyn Machine {
    world.machine(Side::Near).unwrap()
}

fn reads(world: &mut SimWorld) -> String {
    near(world).read(PATH).unwrap()
}

fn is_ledger_error(result: Result<powerband_machine::Acted, LedgerError>, errno: Errno) {
    assert_eq!(result.unwrap_err().errno(), Some(errno));
}

#[test]
fn an_owner_may_end_before_and_after_each_part_of_an_action() {
    // The intent, the action, the reading back, the record of it, and one step more.
    for (step, acted, open) in [(1, false, 0), (2, false, 1), (3, true, 1), (4, true, 1), (5, true, 1)] {
        for ending in [Ending::Crash, Ending::PowerCut] {
            let (mut world, faults) = calm();
            faults.end_at(step, ending);
            let result = near(&mut world).act(&turn("new"));
            assert_eq!(result.is_ok(), step == 5, "{step}");
            near(&mut world).read(PATH).unwrap_err();
            assert_eq!(faults.ended(), Some(ending));
            assert!(matches!(world.wait(None), Wake::Lost(Side::Near, _)));
            is_ledger_error(near(&mut world).act(&turn("newer")), Errno::EIO);
            faults.succeed(&mut world).unwrap();
            assert_eq!(reads(&mut world), if acted { "new" } else { "old" }, "{ending:?} in step {step}");
            // A record that was being written may have arrived.
            let found = near(&mut world).open_entries().len();
            assert!(found == open || (step == 1 && found <= 1), "{found} open after {ending:?} in step {step}");
        }
    }
}

#[test]
fn a_power_cut_boots_anew_and_keeps_ordinary_files() {
    let (mut world, faults) = calm();
    let boot = near(&mut world).identity().boot_id.clone();
    near(&mut world).act(&turn("new")).unwrap();
    let swappiness = crate::rig::turn("/proc/sys/vm/swappiness", "7", Hold::Held);
    near(&mut world).act(&swappiness).unwrap();
    faults.end_at(0, Ending::PowerCut);
    near(&mut world).read(PATH).unwrap_err();
    faults.succeed(&mut world).unwrap();
    assert_ne!(near(&mut world).identity().boot_id, boot);
    assert_eq!((reads(&mut world).as_str(), world.now_ns()), ("new", 0));
    assert_eq!(near(&mut world).read("/proc/sys/vm/swappiness").unwrap(), "60\n");
    assert_eq!(near(&mut world).open_entries().len(), 1);
}

#[test]
fn loads_die_with_their_owner() {
    let (mut world, faults) = calm();
    let work = powerband_record::Work::Idle { for_ns: 1_000_000_000 };
    near(&mut world).spawn(&job(work)).unwrap();
    faults.end_at(0, Ending::Crash);
    assert!(matches!(world.wait(None), Wake::Lost(..)));
    assert_eq!(world.board(Side::Near).unwrap().running().len(), 1);
    faults.succeed(&mut world).unwrap();
    assert_eq!(world.board(Side::Near).unwrap().running().len(), 0);
    assert_eq!(world.wait(Some(2_000_000_000)), Wake::Deadline, "the next owner hears nothing of it");
}

#[test]
fn what_could_not_be_written_down_is_taken_back_at_once() {
    let (mut world, faults) = calm();
    faults.strike_at(faults.steps() + 4, Fault::DiskFull);
    is_ledger_error(near(&mut world).act(&turn("new")), Errno::ENOSPC);
    assert_eq!(reads(&mut world), "old");
    let hands: Vec<Hand> = faults.written().into_iter().map(|written| written.hand).collect();
    assert!(matches!(hands[..], [Hand::Intent, Hand::Act, Hand::Undo { .. }]), "{hands:?}");
}

#[test]
fn a_lasting_refusal_lasts_until_it_is_healed() {
    let (mut world, faults) = calm();
    faults.strike_at(faults.steps() + 2, Fault::RefusedLasting);
    for _ in 0..5 {
        assert!(near(&mut world).act(&turn("new")).unwrap().errno.is_some());
    }
    faults.heal(&mut world);
    assert_eq!(near(&mut world).act(&turn("new")).unwrap().errno, None);
    assert_eq!(faults.tally().get(&Fault::RefusedLasting), Some(&1));
}

#[test]
fn a_value_may_be_clamped_a_moment_later() {
    let (mut world, faults) = calm();
    faults.strike_at(faults.steps() + 2, Fault::ClampedLate);
    let acted = near(&mut world).act(&crate::rig::turn("/proc/sys/vm/swappiness", "100", Hold::Held)).unwrap();
    assert_eq!(acted.reads_back.as_deref(), Some("100"));
    world.wait(Some(40_000_000));
    assert_ne!(near(&mut world).read("/proc/sys/vm/swappiness").unwrap(), "100\n");
    assert_eq!(faults.written().last().unwrap().hand, Hand::Kernel);
}

#[test]
fn equal_seeds_strike_alike() {
    let life = |seed| {
        let (mut world, _) = calm();
        let faults = Faults::inject(&mut world, FaultPlan { seed, one_in: 3, blunder: None }).unwrap();
        for text in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let _acted = near(&mut world).act(&turn(text));
            let until = world.now_ns() + 1_000_000;
            world.wait(Some(until));
        }
        format!("{:?} {:?}", faults.written(), faults.tally())
    };
    assert_eq!(life(8), life(8));
    assert_ne!(life(8), life(9));
}
