//! Figures of state against what is known of a machine: a trace that was played, clocks that were set, counts that were made.
use powerband_machine::{Action, Before, Change, Hold, Look, Sample, Turn, World};
use powerband_meter::state::{AskedFigure, OpenFigure};
use powerband_record::{CpuList, Side};
use powerband_sim::{Profile, SimWorld, Stretch};

use crate::fake::Fake;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const CPU: &str = "/sys/devices/system/cpu";

fn open(name: &str, machine: &mut dyn Look, cpus: &str) -> OpenFigure {
    let cpus: CpuList = cpus.parse().unwrap();
    AskedFigure::named(name).unwrap().open(machine, Some(&cpus)).unwrap()
}

fn read(figure: &OpenFigure, machine: &mut dyn Look, at_ns: u64) -> Sample {
    let mut texts = Vec::new();
    machine.read_many(figure.handles(), &mut texts);
    Sample { at_ns, texts }
}

fn quadcore() -> SimWorld {
    SimWorld::new(Profile::builtin("quadcore").unwrap(), None, 1).unwrap()
}

fn pass(world: &mut SimWorld, until_ns: u64) {
    while world.now_ns() < until_ns {
        world.wait(Some(until_ns));
    }
}

/// What figures tell of a trace on a CPU that is busy for `busy_ms` of every `every_ms`, over two seconds.
fn played(every_ms: u64, busy_ms: u64) -> [f64; 2] {
    let mut world = quadcore();
    let at = |place: u64| place * every_ms * MS;
    let stretch = |place| Stretch { from_ns: at(place), until_ns: at(place) + busy_ms * MS, nice: false };
    world.play(Side::Near, (1..=3_000 / every_ms).map(stretch).collect()).unwrap();
    // The kernel counts a sleep when it is over: both readings are taken while the CPU works.
    let begin_ns = at(500 / every_ms) + busy_ms * MS / 2;
    pass(&mut world, begin_ns);
    let near = world.machine(Side::Near).unwrap();
    let figures = ["idle_share", "wakeups_per_s"].map(|name| open(name, near, "0"));
    let first = figures.each_ref().map(|figure| read(figure, near, begin_ns));
    pass(&mut world, begin_ns + 2 * S);
    let near = world.machine(Side::Near).unwrap();
    let tell = |(figure, first)| -> f64 {
        let figure: &OpenFigure = figure;
        figure.tell(first, &read(figure, near, begin_ns + 2 * S)).unwrap()
    };
    let [share, wakeups]: [f64; 2] = figures.iter().zip(&first).map(tell).collect::<Vec<_>>().try_into().unwrap();
    [share, wakeups]
}

#[test]
fn sleep_and_wake_ups_are_those_of_a_trace_that_was_played() {
    for (every_ms, busy_ms) in [(10, 3), (20, 15), (50, 5)] {
        let [share, wakeups] = played(every_ms, busy_ms);
        assert_eq!(wakeups, 1_000.0 / every_ms as f64);
        // Leaving the deepest state takes 0.2 ms at most, which still counts as sleep.
        let asleep_ms = (every_ms - busy_ms) as f64;
        let (least, most) = (asleep_ms / every_ms as f64, (asleep_ms + 0.2) / every_ms as f64);
        assert!((least..=most).contains(&share), "{share}: {least} to {most}");
    }
}

#[test]
fn changes_of_the_clock_are_those_that_were_made() {
    let mut world = quadcore();
    let write = |near: &mut dyn Change, file: &str, text: &str| {
        let action = Action::WriteFile { path: format!("{CPU}/cpu1/cpufreq/{file}"), text: text.into() };
        let (knob, site, asked) = ("it".into(), "policy1".into(), text.into());
        let (undo, before, read_back, step) = (None, Before::Unknown, None, None);
        let turn = Turn {
            action,
            undo,
            hold: Hold::Held,
            knob,
            site,
            asked,
            before,
            read_back,
            step,
            moves: std::collections::BTreeMap::new(),
        };
        assert_eq!(near.act(&turn).unwrap().errno, None);
    };
    let near = world.machine(Side::Near).unwrap();
    write(near, "scaling_governor", "userspace");
    write(near, "scaling_setspeed", "1600000");
    pass(&mut world, S);
    let near = world.machine(Side::Near).unwrap();
    let figure = open("transitions_per_s", near, "1");
    let first = read(&figure, near, S);
    for (place, khz) in ["2400000", "1600000", "2000000", "2000000", "1600000", "2400000"].iter().enumerate() {
        write(world.machine(Side::Near).unwrap(), "scaling_setspeed", khz);
        pass(&mut world, S + (place as u64 + 1) * 300 * MS);
    }
    pass(&mut world, 3 * S);
    let last = read(&figure, world.machine(Side::Near).unwrap(), 3 * S);
    // Six were asked for, and one of them was so already.
    assert_eq!(figure.tell(&first, &last), Ok(2.5));
}

#[test]
fn throttles_are_counted_once_a_core() {
    let mut fake = Fake::default();
    let count = |cpu: u32| format!("{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count");
    for (cpu, siblings, throttled) in [(0, "0,2", 7), (1, "1,3", 0), (2, "0,2", 7), (3, "1,3", 0), (4, "4", 90)] {
        fake.put(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"), siblings);
        fake.put(&count(cpu), &throttled.to_string());
    }
    let told = |fake: &mut Fake, cpus: &str, changed: &[(u32, u32)]| {
        let figure = open("throttles", fake, cpus);
        let first = read(&figure, fake, 5);
        for (cpu, throttled) in changed {
            fake.put(&count(*cpu), &throttled.to_string());
        }
        let told = figure.tell(&first, &read(&figure, fake, 2 * S));
        figure.close(fake);
        told
    };
    assert_eq!(told(&mut fake, "0-4", &[(0, 10), (2, 10), (4, 95)]), Ok(8.0));
    assert_eq!(told(&mut fake, "0-3", &[(4, 200)]), Ok(0.0));
    // One thread of a core stands for it where the other is not asked for.
    assert_eq!(told(&mut fake, "2-3", &[(0, 14), (1, 2), (2, 14), (3, 2)]), Ok(6.0));
    assert!(told(&mut fake, "4", &[(4, 1)]).unwrap_err().contains("went back"));
    assert_eq!(fake.still_open(), 0);
}
