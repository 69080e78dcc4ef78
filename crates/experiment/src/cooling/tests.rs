//! Waiting on a simulated machine whose temperature follows what it draws.
use powerband_machine::Job;
use powerband_record::{Event, Side, Work};
use powerband_sim::{Profile, SimWorld};

use super::*;
use crate::JournalError;

const S: u64 = 1_000_000_000;

/// At its fastest it would reach some 60 °C.
const THERMAL: &str =
    "\n[thermal]\nzone = \"x86_pkg_temp\"\nambient_c = 25.0\nresistance_k_w = 3.5\ntime_constant_s = 20.0\n";

fn laptop() -> SimWorld {
    let text = format!("{}{THERMAL}", Profile::builtin_text("laptop").unwrap());
    SimWorld::new(Profile::parse(&text).unwrap(), None, 1).unwrap()
}

/// What is told meanwhile.
#[derive(Default)]
struct Told(Vec<String>);

impl Journal for Told {
    fn record(&mut self, _: &Event) -> Result<(), JournalError> {
        Ok(())
    }

    fn tell(&mut self, line: &str) {
        self.0.push(line.to_owned());
    }
}

/// Works on one CPU for half a minute, a few seconds at a time: the machine stirs when the last of them are over.
fn heat(world: &mut SimWorld) {
    for _ in 0..6 {
        let work = Work::Counter { for_ns: 5 * S, align_to_second: false };
        let job = Job { work, cpus: None, group: None, user: None, output_limit: None, around: Vec::new() };
        world.machine(Side::Near).unwrap().spawn(&job).unwrap();
        let until_ns = world.now_ns() + 5 * S;
        while world.now_ns() < until_ns {
            world.wait(Some(until_ns));
        }
    }
}

#[test]
fn a_hot_machine_is_waited_for_until_it_is_as_cool_as_asked() {
    let mut world = laptop();
    let (mut cooling, mut told) = (Cooling::default(), Told::default());
    let cool = Cool::parse("35C").unwrap();
    for trial in 0..3 {
        cooling.wait(&mut world, &cool, &mut told).unwrap();
        let begins_c = hottest_c(&mut world).unwrap();
        assert!(begins_c <= 35.0, "{begins_c}");
        // Not much cooler either, once it was hot: nobody waits longer than is needed.
        assert!(trial == 0 || begins_c > 33.0, "{begins_c}");
        heat(&mut world);
        let ends_c = hottest_c(&mut world).unwrap();
        assert!(ends_c > 45.0, "{ends_c}");
    }
    assert_eq!(cooling.too_hot.0, 0);
    let waits = told.0.iter().filter(|line| line.starts_with("cooling down: ")).count() as u64;
    assert!(cooling.waited_ns > 20 * S && cooling.waited_ns <= waits * LOOK_NS, "{waits} {}", cooling.waited_ns);
    let notes = cooling.notes(&cool);
    assert!(notes.len() == 1 && notes[0].ends_with(" in all for the machine to cool down"), "{notes:?}");
}

#[test]
fn who_began_hotter_when_the_time_was_over_is_counted() {
    let mut world = laptop();
    let (mut cooling, mut told) = (Cooling::default(), Told::default());
    let cool = Cool::parse("35C:2s").unwrap();
    let mut hottest = 0.0_f64;
    for trial in 0..3 {
        let began_ns = world.now_ns();
        cooling.wait(&mut world, &cool, &mut told).unwrap();
        let waited_ns = world.now_ns() - began_ns;
        assert_eq!(waited_ns, if trial == 0 { 0 } else { 2 * S });
        hottest = hottest.max(hottest_c(&mut world).unwrap());
        heat(&mut world);
    }
    assert_eq!(cooling.too_hot, (2, hottest));
    let notes = cooling.notes(&cool);
    assert!(notes[0].starts_with("2 trials began hotter than 35 °C (up to "), "{notes:?}");
    assert!(notes[0].ends_with("as 2 s were not enough to cool down"), "{notes:?}");
}
