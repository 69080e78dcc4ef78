//! Pacing a simulated machine: it does what the machine's own daemon does, keeps one ledger entry a file, and is restored.
use powerband_machine::{Job, OpenEntry, Turn};
use powerband_record::{Demand, Work};
use powerband_sim::{Profile, SimWorld};

use super::*;

const SECOND: u64 = 1_000_000_000;

fn cpufreq(cpu: u32, file: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}")
}

fn read(world: &mut SimWorld, path: &str) -> String {
    world.machine(Side::Near).unwrap().read(path).unwrap().trim().to_owned()
}

fn write(world: &mut SimWorld, path: &str, text: &str) {
    let acted = world.machine(Side::Near).unwrap().act(&Turn::write(path, text)).unwrap();
    assert_eq!(acted.errno, None, "{path}");
}

fn speeds(world: &mut SimWorld) -> Vec<String> {
    (0..8).map(|cpu| read(world, &cpufreq(cpu, "scaling_cur_freq"))).collect()
}

/// Work of several kinds, on some of the CPUs, for different times.
fn begin_load(world: &mut SimWorld) {
    let job = |work: Work, cpus: &str| Job {
        work,
        cpus: Some(cpus.parse::<CpuList>().unwrap()),
        group: None,
        user: None,
        output_limit: None,
        around: Vec::new(),
    };
    let counter = |seconds: u64| Work::Counter { for_ns: seconds * SECOND, align_to_second: false };
    let bursts = |cycles, sleep_ns| {
        Work::modelled(vec!["burst".into()], Demand { cycles, memory_share: 0.0, sleep_ns, repeat: u32::MAX })
    };
    let machine = world.machine(Side::Near).unwrap();
    for job in [
        job(counter(9), "0"),
        job(counter(23), "1"),
        job(bursts(120_000_000, 21_000_000), "2"),
        job(bursts(900_000_000, 170_000_000), "3-4"),
        job(bursts(5_000_000_000, 4_000_000_000), "5"),
    ] {
        machine.spawn(&job).unwrap();
    }
}

fn pass(world: &mut SimWorld, until_ns: u64) {
    while world.now_ns() < until_ns {
        world.wait(Some(until_ns));
    }
}

fn server() -> SimWorld {
    SimWorld::new(Profile::builtin("x3650").unwrap(), None, 3).unwrap()
}

/// Keeps what is decided.
#[derive(Default)]
struct Kept(Vec<Decided>);

impl PaceListener for Kept {
    fn decided(&mut self, decided: &Decided) -> bool {
        self.0.push(decided.clone());
        true
    }

    fn terminal_is_gone(&mut self) -> bool {
        false
    }
}

#[test]
fn it_sets_the_frequencies_that_the_simulated_daemon_sets_under_the_same_load() {
    let (mut own, mut paced) = (server(), server());
    for cpu in 0..8 {
        write(&mut own, &cpufreq(cpu, "scaling_governor"), "userspace");
    }
    write(&mut own, "/sys/kernel/powerband/cpuspeed", "1");
    let mut pacing = Pacing::begin(&mut paced, &DaemonOptions::default(), &Selection::default()).unwrap();
    begin_load(&mut own);
    begin_load(&mut paced);
    let (mut kept, mut seen) = (Kept::default(), std::collections::BTreeSet::new());
    for tenth in 1..=600 {
        // Between two steps, which are at multiples of 10 ms.
        let at_ns = tenth * SECOND / 10 + 3_000_000;
        pass(&mut own, at_ns);
        assert_eq!(pacing.run(&mut paced, Some(at_ns), &mut kept).unwrap(), PaceEnd::Time);
        let frequencies = speeds(&mut own);
        assert_eq!(speeds(&mut paced), frequencies, "after {} s", tenth as f64 / 10.0);
        seen.insert(frequencies);
    }
    assert!(seen.len() > 10, "the load makes them move: {seen:?}");
    let stays = kept.0.iter().filter(|decided| decided.wish == Wished::Stay).count();
    assert!(kept.0.len() >= 8 * 29 && stays < kept.0.len(), "{} decisions", kept.0.len());
    assert!(kept.0.iter().all(|decided| decided.refused.is_none()));
}

fn open(world: &mut SimWorld) -> Vec<OpenEntry> {
    world.machine(Side::Near).unwrap().open_entries()
}

#[test]
fn however_long_it_paces_there_is_an_entry_for_each_governor_and_frequency() {
    let mut world = server();
    write(&mut world, &cpufreq(3, "scaling_governor"), "ondemand");
    let before: Vec<String> = (0..8).map(|cpu| read(&mut world, &cpufreq(cpu, "scaling_governor"))).collect();
    let options = DaemonOptions { interval_tenths: 1, ..DaemonOptions::default() };
    let mut pacing = Pacing::begin(&mut world, &options, &Selection::default()).unwrap();
    let held = open(&mut world);
    let speeds =
        held.iter().filter(|it| matches!(&it.turn.action, Action::WriteFile { path, .. } if path.ends_with(SPEED)));
    assert_eq!((speeds.count(), pacing.policies()), (8, 8));
    assert!(held.iter().all(|entry| entry.turn.hold == Hold::Held));
    begin_load(&mut world);
    pacing.run(&mut world, Some(200 * SECOND), &mut Kept::default()).unwrap();
    assert!(pacing.counts().1 > 500, "{:?}", pacing.counts());
    let ids = |entries: &[OpenEntry]| entries.iter().map(|entry| entry.id).collect::<Vec<EntryId>>();
    assert_eq!(ids(&open(&mut world)), ids(&held));
    let restored = restore(world.machine(Side::Near).unwrap(), &pacing.into_applied().entries, false);
    assert!(restored.complete(), "{:?}", restored.not_restored());
    let after: Vec<String> = (0..8).map(|cpu| read(&mut world, &cpufreq(cpu, "scaling_governor"))).collect();
    assert_eq!((after, open(&mut world).len()), (before, 0));
}

#[test]
fn some_cpus_alone_are_paced_between_two_speeds() {
    let mut world = server();
    let options = DaemonOptions { min_khz: Some(2_300_000), max_khz: Some(2_700_000), ..DaemonOptions::default() };
    let narrow = Selection { cpus: Some("1-2".parse().unwrap()), ..Selection::default() };
    let mut pacing = Pacing::begin(&mut world, &options, &narrow).unwrap();
    let mut kept = Kept::default();
    pacing.run(&mut world, Some(9 * SECOND), &mut kept).unwrap();
    let policies: Vec<&str> = kept.0.iter().map(|decided| decided.policy.as_str()).collect();
    assert_eq!(policies[..2], ["policy1", "policy2"]);
    assert_eq!(speeds(&mut world)[..4], ["3000000", "2333000", "2333000", "3000000"]);
    let error = Pacing::begin(&mut world, &DaemonOptions { max_khz: Some(1), ..options }, &narrow).err().unwrap();
    assert!(error.to_string().contains("the lowest speed"), "{error}");
    let none = DaemonOptions { min_khz: None, max_khz: Some(1), ..options };
    let error = Pacing::begin(&mut world, &none, &narrow).err().unwrap();
    assert!(error.to_string().starts_with("no frequency of policy1 lies between"), "{error}");
}

#[test]
fn a_governor_that_somebody_else_sets_is_reported_and_not_fought() {
    let mut world = server();
    let mut pacing = Pacing::begin(&mut world, &DaemonOptions::default(), &Selection::default()).unwrap();
    let mut kept = Kept::default();
    pacing.run(&mut world, Some(SECOND), &mut kept).unwrap();
    write(&mut world, &cpufreq(5, "scaling_governor"), "powersave");
    pacing.run(&mut world, Some(3 * SECOND), &mut kept).unwrap();
    let refused: Vec<&str> = kept.0.iter().filter(|it| it.refused.is_some()).map(|it| it.policy.as_str()).collect();
    assert_eq!(refused, ["policy5"]);
    assert_eq!(read(&mut world, &cpufreq(5, "scaling_governor")), "powersave");
}
