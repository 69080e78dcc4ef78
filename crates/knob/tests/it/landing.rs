//! Turning: order, what lands, what is refused, what moved meanwhile.
use powerband_knob::*;
use powerband_machine::{Errno, Hold};
use powerband_record::{Setting, Side};

use crate::fake::{Fake, ROOT, Rules, bare, cpufreq, cpus};

fn turn(machine: &mut Fake, text: &str) -> Result<Applied, KnobError> {
    apply(machine, &Setting::parse(text).unwrap(), Hold::Held, &Selection::everywhere())
}

fn landed(applied: &Applied) -> Vec<String> {
    applied.sites.iter().map(|it| format!("{}@{}: {}", it.named.name, it.site.name, it.landed)).collect()
}

#[test]
fn a_whole_setting_is_turned_in_order() {
    let mut machine = cpufreq(2, 2, Rules::default());
    let text = "freq=1850MHz max_freq=2GHz governor=userspace sysctl.vm.swappiness=10 cpu_quota=25%";
    machine.files.insert("/proc/sys/vm/swappiness".into(), "60\n".into());
    let applied = turn(&mut machine, text).unwrap();
    assert_eq!(
        landed(&applied),
        [
            "cpufreq.governor@policy0: applied",
            "cpufreq.governor@policy2: applied",
            "cpufreq.max_freq@policy0: applied",
            "cpufreq.max_freq@policy2: applied",
            "cpufreq.freq@policy0: clamped to 2000 MHz",
            "cpufreq.freq@policy2: clamped to 2000 MHz",
            "cgroup.cpu_quota@load: applied (nothing shows it)",
            "sysctl.vm.swappiness@-: applied",
        ]
    );
    assert_eq!(applied.group.as_deref(), Some(machine.groups[0].as_str()));
    assert_eq!(applied.reach[0].to_string(), "cpufreq.governor: set on policies 2 of 2");
    assert_eq!(applied.inexact().len(), 2);
    assert_eq!(applied.sites[4].record().landed, "clamped to 2000 MHz");
    assert!(verify(&mut machine, &applied).is_empty());
}

#[test]
fn tunables_follow_the_governor_the_setting_chooses() {
    for rules in [Rules::default(), Rules { per_policy: true, ..Rules::default() }] {
        let mut machine = cpufreq(2, 1, rules);
        let setting =
            Setting::parse("up_threshold=15 down_threshold=10 governor=conservative ignore-nice-load=5").unwrap();
        let steps = plan(&setting, &mut machine, &Selection::everywhere()).unwrap();
        assert_eq!(steps.lines[2].to_string(), "conservative.down_threshold: → 10");
        let applied = apply_steps(&mut machine, &steps, Hold::Held).unwrap();
        let folder =
            if rules.per_policy { format!("{ROOT}/policy1/conservative") } else { format!("{ROOT}/conservative") };
        assert_eq!(machine.show(&format!("{folder}/up_threshold")), "15");
        assert_eq!(machine.show(&format!("{folder}/down_threshold")), "10");
        assert!(applied.inexact().is_empty(), "5 for a switch is 1: {:?}", landed(&applied));
        let of = if rules.per_policy { 2 } else { 0 };
        let reach = applied.reach.iter().find(|reach| reach.knob == "conservative.up_threshold");
        assert_eq!(reach.map_or(0, |reach| reach.of), of);
    }
}

#[test]
fn thresholds_and_limits_never_cross_on_the_way() {
    for (first, second) in [("up_threshold=15 down_threshold=10", "up_threshold=99 down_threshold=98")] {
        let mut machine = cpufreq(1, 1, Rules::default());
        for setting in [first, second, first] {
            turn(&mut machine, &format!("governor=conservative {setting}")).unwrap();
        }
    }
    for rules in [Rules { old_limits: true, ..Rules::default() }, Rules::default()] {
        let mut machine = cpufreq(1, 1, rules);
        for (min, max) in [(1600, 1600), (2400, 2400), (2000, 2000), (1600, 2400), (2000, 2400), (1600, 2000)] {
            let applied = turn(&mut machine, &format!("max_freq={max}MHz min_freq={min}MHz")).unwrap();
            assert_eq!(machine.policy(0, "scaling_min_freq"), format!("{min}000"));
            assert_eq!(machine.policy(0, "scaling_max_freq"), format!("{max}000"));
            assert!(applied.inexact().is_empty());
        }
    }
}

#[test]
fn what_contradicts_itself_is_refused_before_anything_is_written() {
    let mut machine = cpufreq(2, 1, Rules::default());
    for (text, sentence) in [
        (
            "min_freq=2GHz max_freq=1.6GHz",
            "cpufreq.min_freq: 2000 MHz is above max_freq 1600 MHz; exchange them or leave one out",
        ),
        (
            "governor=conservative up_threshold=30 down_threshold=30",
            "conservative.down_threshold: 30 is not below up_threshold 30; exchange them or leave one out",
        ),
        (
            "governor=performance governor=powersave",
            "cpufreq.governor is set twice at policy0; leave one of the two out",
        ),
        (
            "freq=2GHz",
            "cpufreq.freq acts only under the governor userspace (policy0 has ondemand); write governor=userspace freq=2GHz together",
        ),
        (
            "governor@policy0=userspace freq=2GHz",
            "cpufreq.freq acts only under the governor userspace (policy1 has ondemand); write governor=userspace freq=2GHz together",
        ),
        (
            "governor=performance up_threshold=5 ",
            "ondemand.up_threshold acts only under the governor ondemand (policy0 has performance); write governor=ondemand up_threshold=5 together",
        ),
        (
            "sysctl.no.such=1",
            "sysctl.no.such is not here: /proc/sys/no/such does not exist on this kernel; `sysctl -a` lists what does",
        ),
    ] {
        assert_eq!(turn(&mut machine, text).unwrap_err().to_string(), sentence, "{text}");
    }
    assert!(machine.written.is_empty());
    assert!(turn(&mut machine, "governor@policy0=performance governor@policy1=powersave").is_ok());
}

#[test]
fn a_shared_folder_is_turned_for_all_and_says_so() {
    let mut machine = cpufreq(3, 1, Rules::default());
    let setting = Setting::parse("ondemand.up_threshold=50").unwrap();
    let applied = apply(&mut machine, &setting, Hold::Held, &Selection::cpus(cpus("1"))).unwrap();
    assert_eq!(landed(&applied), ["ondemand.up_threshold@-: applied"]);
    assert_eq!(
        applied.notes,
        ["the tunables of ondemand are shared here: ondemand.up_threshold is set for all policies that run it"]
    );
}

#[test]
fn what_is_so_already_is_not_written() {
    let mut machine = cpufreq(2, 1, Rules::default());
    let applied = turn(&mut machine, "governor=ondemand up_threshold=95").unwrap();
    assert!(machine.written.is_empty() && applied.entries.is_empty());
    assert_eq!(applied.sites.len(), 3);
    assert!(verify(&mut machine, &applied).is_empty());
}

#[test]
fn refusals_say_why_and_leave_nothing_turned() {
    let rules = Rules { old_limits: true, ..Rules::default() };
    let mut machine = cpufreq(2, 1, rules);
    let before = machine.files.clone();
    machine.refuse.insert(format!("{ROOT}/policy1/scaling_max_freq"), Errno::EACCES);
    let error = turn(&mut machine, "governor=performance max_freq=2GHz").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the kernel refused cpufreq.max_freq=2000000 at policy1: permission denied (EACCES); write `sudo \
         powerband …`, or let the group powerband write it by a line in /etc/tmpfiles.d/powerband.conf: `z \
         /sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq 0664 root powerband`; nothing is changed"
    );
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(machine.files, before);
    machine.refuse.clear();
    let error = turn(&mut machine, "sampling_rate=10").unwrap_err();
    assert!(error.to_string().contains("it lies below two scheduler ticks"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Refused);
    turn(&mut machine, "max_freq=1.6GHz").unwrap();
    let error = turn(&mut machine, "min_freq=2GHz").unwrap_err();
    assert!(error.to_string().contains("it lies above max_freq: set max_freq as well"), "{error}");
}

#[test]
fn a_failing_way_back_is_said_with_what_is_left() {
    let mut machine = cpufreq(2, 1, Rules::default());
    machine.stuck_once_written = Some(format!("{ROOT}/policy0/scaling_governor"));
    machine.refuse.insert(format!("{ROOT}/policy1/scaling_governor"), Errno::EBUSY);
    let error = turn(&mut machine, "governor=performance").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CannotRestore);
    assert!(error.to_string().contains("cpufreq.governor at policy0 (device or resource busy (EBUSY))"), "{error}");
}

#[test]
fn somebody_elses_hand_is_seen_at_the_end() {
    let mut machine = cpufreq(2, 1, Rules::default());
    let applied = turn(&mut machine, "governor=userspace freq=2GHz").unwrap();
    machine.meddle(&format!("{ROOT}/policy1/scaling_setspeed"), "1600000");
    let moved = verify(&mut machine, &applied);
    let (knob, site) = ("cpufreq.freq".to_owned(), "policy1".to_owned());
    let path = moved[0].path.clone();
    assert!(path.ends_with("/policy1/scaling_setspeed"), "{path}");
    assert_eq!(moved, [MovedKnob { knob, site, path, expected: "2000 MHz".into(), found: "1600 MHz".into() }]);
    machine.meddle(&format!("{ROOT}/policy0/scaling_governor"), "performance");
    assert_eq!(verify(&mut machine, &applied).len(), 3, "the governor, and the frequency that died with userspace");
}

#[test]
fn limits_that_take_effect_late_are_looked_at_again() {
    let mut machine = cpufreq(1, 1, Rules { late: true, ..Rules::default() });
    let applied = turn(&mut machine, "max_freq=2100MHz").unwrap();
    assert_eq!(landed(&applied), ["cpufreq.max_freq@policy0: clamped to 2000 MHz"]);
    assert_eq!(applied.sites[0].reads_back.as_deref(), Some("2000000"));
}

#[test]
fn quotas_are_for_loads_and_sides_are_kept_apart() {
    let mut machine = bare();
    let quota = Setting::parse("cpu_quota=50%").unwrap();
    let error = apply(&mut machine, &quota, Hold::Set, &Selection::everywhere()).unwrap_err();
    assert!(error.to_string().contains("powerband with"), "{error}");
    for (asked, reads, expected) in [
        ("50%", "50%", "applied"),
        ("12.345%", "12.34%", "applied"),
        ("250%", "150%", "clamped to 150%"),
        ("50%", "max", "clamped to max"),
    ] {
        machine.quota_reads = Some(reads);
        let applied = turn(&mut machine, &format!("cpu_quota={asked}")).unwrap();
        assert_eq!(landed(&applied), [format!("cgroup.cpu_quota@load: {expected}")]);
        assert!(machine.groups.contains(applied.group.as_ref().unwrap()));
    }
    assert_eq!(machine.groups.len(), 4, "each with a name of its own");
    let both = Setting::parse("both/cpu_quota=50% far/governor=performance").unwrap();
    assert_eq!(for_side(&both, Side::Near).assignments.len(), 1);
    assert_eq!(for_side(&both, Side::Far).assignments.len(), 2);
}
