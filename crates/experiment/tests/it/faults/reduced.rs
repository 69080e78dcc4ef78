//! Stories that once did not end well, reduced to what made them so.
use powerband_knob::{Restored, Selection, apply, restore};
use powerband_machine::{Action, Before, EntryId, Hold, Machine, Turn, World};
use powerband_record::{Setting, Side};
use powerband_sim::SimWorld;
use powerband_testkit::faults::{Fault, FaultPlan, Faults};

use super::files::{profile, snapshot, write};
use super::judge;
use super::play::play;
use super::story::{Command, Deed, Story};

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";

/// A machine on which only what is planned strikes.
struct Scene {
    world: SimWorld,
    faults: Faults,
}

impl Scene {
    fn new(machine: &str, found: &str) -> Self {
        let mut world = SimWorld::new(profile(machine), None, 1).unwrap();
        if !found.is_empty() {
            let near = world.machine(Side::Near).unwrap();
            apply(near, &Setting::parse(found).unwrap(), Hold::Set, &Selection::everywhere()).unwrap();
        }
        let faults = Faults::inject(&mut world, FaultPlan { seed: 1, one_in: 0, blunder: None }).unwrap();
        Scene { world, faults }
    }

    fn near(&mut self) -> &mut dyn Machine {
        self.world.machine(Side::Near).unwrap()
    }

    fn turn(&mut self, setting: &str, hold: Hold) -> Result<Vec<EntryId>, String> {
        let setting = Setting::parse(setting).unwrap();
        let applied = apply(self.near(), &setting, hold, &Selection::everywhere());
        applied.map(|applied| applied.entries).map_err(|error| error.to_string())
    }

    /// Another hand, which leaves no entry.
    fn by_hand(&mut self, path: &str, text: &str) {
        self.near().act(&write(path, text)).unwrap();
    }

    /// Takes back all that is open, as a new owner.
    fn undo(&mut self, force: bool) -> Restored {
        self.faults.succeed(&mut self.world).unwrap();
        let open: Vec<EntryId> = self.near().open_entries().iter().map(|entry| entry.id).collect();
        restore(self.near(), &open, force)
    }

    fn strike(&self, after: u64, fault: Fault) {
        self.faults.strike_at(self.faults.steps() + after, fault);
    }

    fn reads(&mut self, path: &str) -> String {
        self.near().read(path).unwrap().trim().to_owned()
    }
}

#[test]
fn a_tunable_whose_governor_has_left_is_let_go_of() {
    let mut scene = Scene::new("quadcore", "");
    scene.turn("governor=conservative up_threshold=90", Hold::Held).unwrap();
    for cpu in 0..4 {
        scene.by_hand(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"), "ondemand");
    }
    let restored = scene.undo(false);
    assert_eq!(restored.left(), [""; 0]);
    assert!(scene.near().open_entries().is_empty());
}

#[test]
fn a_set_speed_whose_governor_has_left_is_let_go_of() {
    let mut scene = Scene::new("omap3530", "");
    scene.turn("governor=userspace freq=250000", Hold::Held).unwrap();
    scene.by_hand("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
    assert_eq!(scene.undo(false).left(), [""; 0]);
    assert!(scene.near().open_entries().is_empty());
}

#[test]
fn what_is_kept_for_a_governor_waits_for_it_and_not_for_ever() {
    let mut scene = Scene::new("omap3530", "governor=ondemand up_threshold=70");
    let entries = scene.turn("governor=performance", Hold::Held).unwrap();
    let (switch, kept) = entries.split_last().unwrap();
    let before = scene.near().open_entries().len();
    let told = restore(scene.near(), kept, false);
    assert_eq!((told.failed.len(), scene.near().open_entries().len()), (0, before - kept.len()), "{told:?}");
    // The switch alone is left, and the governor's values with it.
    restore(scene.near(), &[*switch], false);
    assert!(scene.near().open_entries().is_empty());

    let mut scene = Scene::new("omap3530", "governor=ondemand up_threshold=70");
    scene.turn("governor=performance", Hold::Set).unwrap();
    scene.by_hand("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
    assert_eq!(scene.undo(false).foreign.len(), 1);
    assert!(scene.near().open_entries().len() > 1, "as long as the governor is not back, what is kept for it is kept");
    scene.undo(true);
    assert!(scene.near().open_entries().is_empty());
    assert_eq!(scene.reads("/sys/devices/system/cpu/cpufreq/ondemand/up_threshold"), "70");
}

#[test]
fn a_set_speed_is_back_after_the_limit_that_clamped_it() {
    for machine in ["omap3530", "quadcore", "pc"] {
        let [low, high] = match machine {
            "omap3530" => ["125000", "600000"],
            "pc" => ["1200000", "2400000"],
            _ => ["1600000", "2133000"],
        };
        let mut story = Story::of(1);
        (story.machine, story.one_in, story.cpus) = (machine, 0, None);
        story.found = format!("governor=userspace freq={high}");
        story.last = Deed::PutBack;
        let setting = format!("max_freq={low} governor=userspace freq={low}");
        story.commands = vec![Command::whole(Deed::With { setting })];
        judge(&play(&story)).unwrap();
    }
}

#[test]
fn a_file_that_was_made_and_then_written_by_another_hand_is_left() {
    let mut scene = Scene::new("pc", "");
    scene.turn("file:/tmp/new.conf=1", Hold::Set).unwrap();
    scene.by_hand("/tmp/new.conf", "theirs\n");
    assert_eq!(scene.undo(false).foreign.len(), 1);
    assert_eq!(scene.reads("/tmp/new.conf"), "theirs");
    assert!(scene.undo(true).complete());
    assert!(scene.near().read("/tmp/new.conf").is_err());
}

#[test]
fn what_cannot_be_compared_is_left() {
    for (path, setting, found) in [
        (SWAPPINESS, "sysctl.vm.swappiness=10", "33"),
        ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "max_freq=500000", "550000"),
    ] {
        for after in 1..6 {
            let mut scene = Scene::new("omap3530", "");
            scene.turn(setting, Hold::Set).unwrap();
            scene.by_hand(path, found);
            scene.strike(after, Fault::Unreadable);
            scene.undo(false);
            assert_eq!(scene.reads(path), found, "unreadable in step {after}");
        }
    }
}

#[test]
fn an_older_value_does_not_overtake_a_newer_one_that_could_not_be_closed() {
    let mut scene = Scene::new("pc", "");
    scene.turn("sysctl.vm.swappiness=10", Hold::Set).unwrap();
    scene.turn("sysctl.vm.swappiness=20", Hold::Set).unwrap();
    // Compared, undone, and no room for saying so.
    scene.strike(3, Fault::DiskFullLasting);
    assert!(!scene.undo(false).complete());
    scene.faults.heal(&mut scene.world);
    assert!(scene.undo(true).complete());
    assert_eq!(scene.reads(SWAPPINESS), "60");
}

#[test]
fn what_the_kernel_refused_is_not_taken_back() {
    let mut scene = Scene::new("pc", "");
    // The intent, the refusal, the reading, what came of it, and no room for closing it.
    scene.strike(2, Fault::RefusedOnce);
    scene.strike(5, Fault::DiskFull);
    let undo = Some(Action::WriteFile { path: SWAPPINESS.into(), text: "60\n".into() });
    let (before, read_back) = (Before::Reads("60".into()), Some(SWAPPINESS.into()));
    let turn = Turn { undo, before, read_back, hold: Hold::Set, ..write(SWAPPINESS, "10") };
    scene.near().act(&turn).unwrap_err();
    assert_eq!(scene.near().open_entries().len(), 1);
    scene.faults.heal(&mut scene.world);
    scene.by_hand(SWAPPINESS, "10");
    assert!(scene.undo(false).complete());
    assert_eq!(scene.reads(SWAPPINESS), "10");
}

#[test]
fn what_was_set_to_the_value_it_had_is_no_reason_to_write_over_another_hand() {
    let mut scene = Scene::new("pc", "");
    scene.turn("sysctl.net.core.busy_poll=0", Hold::Set).unwrap();
    scene.by_hand("/proc/sys/net/core/busy_poll", "50");
    assert_eq!(scene.undo(false).foreign.len(), 1);
    assert_eq!(scene.reads("/proc/sys/net/core/busy_poll"), "50");
}

#[test]
fn what_was_refused_in_part_or_too_late_is_restored() {
    for fault in [Fault::RefusedInPart, Fault::RefusedTooLate] {
        for (path, setting) in [
            (SWAPPINESS, "sysctl.vm.swappiness=10"),
            ("/etc/kept.conf", "file:/etc/kept.conf=something-longer"),
            ("/tmp/new.conf", "file:/tmp/new.conf=1234"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "max_freq=500000"),
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "governor=powersave"),
        ] {
            for hold in [Hold::Held, Hold::Set] {
                let mut struck = 0;
                for after in 1..30 {
                    let mut scene = Scene::new("omap3530", "governor=ondemand up_threshold=70");
                    scene.by_hand("/etc/kept.conf", "as found\n");
                    let before = snapshot(scene.near());
                    scene.strike(after, fault);
                    let turned = scene.turn(setting, hold);
                    if !scene.faults.tally().contains_key(&fault) {
                        scene.undo(false);
                        continue;
                    }
                    struck += 1;
                    let said = turned.expect_err("it was refused");
                    let now_ns = scene.world.now_ns();
                    scene.world.wait(Some(now_ns + 40_000_000));
                    assert_eq!(snapshot(scene.near()), before, "{fault:?} of {path} in step {after}: {said}");
                    assert!(scene.near().open_entries().is_empty(), "{fault:?} of {path} in step {after}: {said}");
                }
                assert!(
                    struck > 0 || fault == Fault::RefusedInPart && path.starts_with("/sys/"),
                    "{fault:?} of {path}"
                );
            }
        }
    }
}

#[test]
fn any_reading_of_a_switch_may_fail() {
    for after in 1..90 {
        let mut scene = Scene::new("quadcore", "governor=ondemand up_threshold=70 ignore_nice_load=1");
        let before = snapshot(scene.near());
        scene.strike(after, Fault::Unreadable);
        let _turned = scene.turn("governor=performance", Hold::Held);
        assert_eq!(scene.undo(false).left(), [""; 0], "in step {after}");
        assert_eq!(snapshot(scene.near()), before, "in step {after}");
    }
}
