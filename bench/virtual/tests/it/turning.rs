//! Turned by powerband, read by the guest's own shell, seen at the board's ports; and back to the letter.
use crate::desk::{Desk, on_desk};

/// A setting, lines the guest must then show, and the P-states of the board where they are fixed.
const CASES: [(&str, &str, Option<[u8; 2]>); 7] = [
    ("governor=powersave", "policy0/scaling_governor: powersave|policy1/scaling_governor: powersave", Some([3, 3])),
    ("governor@policy1=performance", "policy0/scaling_governor: schedutil|policy1/scaling_governor: performance", None),
    (
        "governor=userspace freq@policy1=2133MHz freq@policy0=1867MHz",
        "policy0/scaling_setspeed: 1867000|policy1/scaling_setspeed: 2133000",
        Some([2, 1]),
    ),
    (
        "governor=performance max_freq=1867MHz min_freq=1867MHz",
        "policy0/scaling_max_freq: 1867000|policy1/scaling_min_freq: 1867000",
        Some([2, 2]),
    ),
    (
        "governor=ondemand up_threshold=70 sampling_down_factor=5 ignore_nice_load=1",
        "ondemand/up_threshold: 70|ondemand/sampling_down_factor: 5|ondemand/ignore_nice_load: 1",
        None,
    ),
    (
        "governor=conservative up_threshold=98 down_threshold=95 freq_step=20",
        "conservative/up_threshold: 98|conservative/down_threshold: 95|conservative/freq_step: 20",
        None,
    ),
    ("schedutil.rate_limit_us=4321", "schedutil/rate_limit_us: 4321", None),
];

#[test]
fn what_is_set_lands_and_goes_back_to_the_letter() {
    on_desk(|desk| {
        for (settings, expected, states) in CASES {
            let before = desk.knobs();
            let said = desk.json(&format!("set {settings}"));
            for step in said["steps"].as_array().unwrap() {
                let landed = step["turned"]["landed"].as_str().unwrap();
                assert!(["applied", "already so"].contains(&landed), "{settings}: {step}");
            }
            let now = desk.knobs();
            if let Some(states) = states {
                assert_eq!(desk.states(), states, "{settings}");
            }
            let mut names: Vec<&str> = settings.split(' ').filter_map(|it| it.split(['=', '@']).next()).collect();
            names.dedup();
            let read = desk.json(&format!("get {}", names.join(" "))).to_string();
            for line in expected.split('|') {
                assert!(now.lines().any(|found| found == line), "{settings}: no {line} in\n{now}");
                let value = line.rsplit(' ').next().unwrap();
                assert!(read.contains(&format!("\"value\":\"{value}\"")), "{settings}: no {value} in {read}");
            }
            desk.powerband(0, "undo");
            desk.is_as(&before, settings);
        }
    });
}

#[test]
fn a_value_the_kernel_would_refuse_turns_nothing_and_with_holds_for_its_command_and_passes_its_code() {
    on_desk(|desk| {
        let before = desk.knobs();
        for setting in ["governor=fastest", "max_freq=-1", "freq=1000MHz"] {
            let ran = desk.run(&["powerband", "set", setting]).unwrap();
            assert_ne!(ran.code, 0, "{setting}: {}", ran.text());
            assert_eq!(desk.knobs(), before, "{setting}");
        }
        let script =
            "with governor=powersave -- sh -c 'cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor; exit 7'";
        assert_eq!(desk.powerband(7, script), "powersave\npowersave\n");
        assert_eq!(desk.knobs(), before);
    });
}
