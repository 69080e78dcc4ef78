//! One wait for everything: deadlines, several at once.
use powerband_machine::{Wake, World};
use powerband_record::{Side, Work};

use crate::{Stage, command, job};

impl Stage {
    /// The clock, some ms from now.
    pub(crate) fn world_ms(&self, ms: u64) -> u64 {
        self.world.now_ns() + ms * 1_000_000
    }

    /// Waits, and nothing may happen meanwhile.
    pub(crate) fn idle_until(&mut self, until_ns: u64) {
        assert_eq!(self.world.wait(Some(until_ns)), Wake::Deadline);
        assert!(self.world.now_ns() >= until_ns);
    }
}

#[test]
fn a_deadline_comes_in_time_and_a_past_one_at_once() {
    let mut stage = Stage::new();
    let until = stage.world_ms(50);
    stage.idle_until(until);
    stage.idle_until(until);
    stage.idle_until(0);
}

#[test]
fn of_several_that_end_at_once_none_is_lost() {
    let mut stage = Stage::new();
    let mut open: Vec<_> = (0..20).map(|_| stage.spawn(&command(&["true"]))).collect();
    while !open.is_empty() {
        let Wake::Ended(Side::Near, ended) = stage.world.wait(None) else { panic!("only ends") };
        let at = open.iter().position(|&process| process == ended).expect("each once");
        open.swap_remove(at);
        assert!(stage.near().finished(ended).unwrap().status.success());
    }
    let until = stage.world_ms(20);
    stage.idle_until(until);
}

#[test]
fn a_talkative_load_does_not_hide_a_deadline() {
    let mut stage = Stage::new();
    let mut open = 8;
    for _ in 0..open {
        stage.spawn(&command(&["true"]));
    }
    // Every second wait answers the deadline that has passed, whatever else there is; nothing that ended is lost for it.
    while open > 0 {
        let wakes = [0; 2].map(|_| stage.world.wait(Some(0)));
        assert!(wakes.contains(&Wake::Deadline), "{wakes:?}");
        open -= wakes.iter().filter(|wake| matches!(wake, Wake::Ended(..))).count();
    }
}

#[test]
fn the_machine_reads_and_knows_itself() {
    let mut stage = Stage::new();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let near = stage.near();
    let identity = near.identity().clone();
    assert!(identity.name == "local" && identity.system == release.trim());
    assert_eq!(identity.boot_id.len(), 36);
    assert_eq!(near.read("/proc/sys/kernel/osrelease").unwrap(), release);
    let cpus = near.list("/sys/devices/system/cpu").unwrap();
    let of = |name: &str| cpus.iter().find(|entry| entry.name == name).unwrap();
    assert!(of("cpu0").folder && !of("online").folder && of("online").mode == 0o444);
    let paths = ["/proc/sys/kernel/osrelease", "/proc/version"];
    let handles = paths.map(|path| near.open(path).unwrap());
    let mut texts = vec![Ok("stale".to_owned())];
    near.read_many(&handles, &mut texts);
    assert_eq!(texts.len(), 2);
    assert_eq!(texts[0].as_deref(), Ok(release.as_str()));
}

#[test]
fn idle_work_sleeps_and_ends() {
    let mut stage = Stage::new();
    let finished = stage.run(&job(Work::Idle { for_ns: 50_000_000 }));
    assert!(finished.status.success() && finished.report.is_some());
}
