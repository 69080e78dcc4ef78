//! What powerband itself has set, which is the answer where the value is ours.
use powerband_machine::{Action, Hold, Turn};
use powerband_persist::{BootPhase, BootStanding};

use crate::tree::{Tree, cpus};

fn machine(governor: &str) -> Tree {
    cpus("acpi-cpufreq", "ondemand performance schedutil", governor).default_governor("schedutil")
}

fn turn(hold: Hold) -> Turn {
    let path = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor".to_owned();
    let write = |text: &str| Action::WriteFile { path: path.clone(), text: text.into() };
    Turn {
        action: write("performance"),
        undo: Some(write("schedutil")),
        hold,
        knob: "cpufreq.governor".into(),
        site: "policy0".into(),
        asked: "performance".into(),
        before: Some("schedutil".into()),
        read_back: Some(path.clone()),
        step: None,
    }
}

#[test]
fn a_set_of_ours_is_the_last_link_of_the_chain() {
    let mut tree = machine("performance");
    tree.set(&turn(Hold::Set));
    let why = tree.why("governor@policy0");
    assert_eq!(
        why.sentence,
        "the kernel starts with schedutil (CONFIG_CPU_FREQ_DEFAULT_GOV_SCHEDUTIL), then powerband (`powerband undo` restores it) sets performance; it reads performance now"
    );
    let ours = why.findings.last().unwrap();
    assert_eq!((ours.phase, ours.explains), (BootPhase::Running, true));
    assert_eq!(why.findings[0].standing, BootStanding::Overridden { by: "powerband".into() });
    assert!(tree.why("governor@policy2").findings.iter().all(|finding| finding.phase == BootPhase::Kernel));
}

#[test]
fn what_somebody_wrote_over_ours_is_not_ours() {
    let mut tree = machine("ondemand");
    tree.set(&turn(Hold::Held));
    let why = tree.why("governor@policy0");
    assert!(why.sentence.contains("held until its owner ends"), "{}", why.sentence);
    assert!(why.sentence.contains("but it reads ondemand now, and nothing found here sets that"), "{}", why.sentence);
    assert!(why.findings.iter().all(|finding| !finding.explains));
}
