//! Limits on CPU time: the one around powerband, as in a container, and that of a load's own group.
use powerband_knob::look::cpus;
use powerband_sysfs::cgroup::{CpuLimit, HeldBack};

use crate::fake::{Fake, Rules, cpufreq};

fn limited() -> Fake {
    let mut fake = cpufreq(1, 1, Rules::default());
    for (file, text) in [
        ("/proc/self/cgroup", "0::/pod/own\n"),
        ("/sys/fs/cgroup/pod/cpu.max", "50000 100000\n"),
        ("/sys/fs/cgroup/pod/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 5000\n"),
        ("/sys/fs/cgroup/pod/powerband-load-7-1/cpu.max", "2000 10000\n"),
        ("/sys/fs/cgroup/pod/powerband-load-7-1/cpu.stat", "nr_throttled 40\nthrottled_usec 700000\n"),
        ("/sys/devices/system/cpu/online", "0\n"),
        ("/sys/devices/system/cpu/cpu0/uevent", "\n"),
    ] {
        fake.files.insert(file.into(), text.into());
    }
    fake
}

#[test]
fn the_limit_around_powerband_is_shown_with_what_it_delayed() {
    let limit = cpus(&mut limited(), None).unwrap().time_limit.unwrap();
    assert_eq!((limit.cpus, limit.delayed_periods, limit.delayed_ms), (0.5, Some(3), Some(5)));
    assert_eq!(limit.path, "/sys/fs/cgroup/pod/cpu.max");
    assert_eq!(cpus(&mut cpufreq(1, 1, Rules::default()), None).ok().and_then(|cpus| cpus.time_limit), None);
}

#[test]
fn the_group_of_a_load_is_found_next_to_powerbands_own() {
    let mut fake = limited();
    let limit = CpuLimit::of_group(&mut fake, "powerband-load-7-1").unwrap();
    assert_eq!(limit.cpus, 0.2);
    assert_eq!(limit.held_back(&mut fake), Some(HeldBack { periods: 40, ns: 700_000_000 }));
    assert_eq!(CpuLimit::of_group(&mut fake, "powerband-load-7-2"), None);
}
