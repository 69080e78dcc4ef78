//! Governors next to a mode of their driver that is not in force yet: which there will be, as far as anything tells it.
use powerband_knob::{Beside, Selection, Value, expand, plan};
use powerband_record::{Axis, Setting};

use crate::fake::{Fake, Rules, cpufreq};

const CONFIG: &str = "# Linux/x86 6.1.192 Kernel Configuration\nCONFIG_X86=y\nCONFIG_CPU_FREQ=y\n\
    CONFIG_CPU_FREQ_GOV_PERFORMANCE=y\nCONFIG_CPU_FREQ_GOV_POWERSAVE=y\nCONFIG_CPU_FREQ_GOV_USERSPACE=y\n\
    CONFIG_CPU_FREQ_GOV_ONDEMAND=m\nCONFIG_CPU_FREQ_GOV_CONSERVATIVE=m\nCONFIG_CPU_FREQ_GOV_SCHEDUTIL=y\n";

/// A driver with rules of its own, and modes.
fn active() -> Fake {
    let mut fake = cpufreq(2, 1, Rules::default());
    fake.files.insert("/sys/devices/system/cpu/intel_pstate/status".into(), "active\n".into());
    for number in 0..2 {
        let file = |name| format!("/sys/devices/system/cpu/cpufreq/policy{number}/{name}");
        fake.files.insert(file("scaling_available_governors"), "performance powersave\n".into());
        fake.files.insert(file("scaling_governor"), "powersave\n".into());
    }
    fake
}

/// The same where the kernel's configuration can be read; of its two modules one is loaded.
fn configured() -> Fake {
    let mut fake = active();
    fake.files.insert("/proc/sys/kernel/osrelease".into(), "6.1.0-1-amd64\n".into());
    fake.files.insert("/boot/config-6.1.0-1-amd64".into(), CONFIG.into());
    fake.files.insert("/sys/module/cpufreq_ondemand/initstate".into(), "live\n".into());
    fake
}

/// The values of an axis of governors next to these modes, which mode lacks which, and the notes; or why not.
fn governors(fake: &mut Fake, values: &str, modes: &[&str]) -> Result<(String, String, Vec<String>), String> {
    let modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
    let beside = Beside { modes, ..Beside::default() };
    let axis = Axis::parse(&format!("governor={values}")).unwrap();
    let expanded = expand(&axis, fake, &Selection::everywhere(), &beside).map_err(|error| error.to_string())?;
    let lacking: Vec<String> = expanded.lacking.iter().map(|(mode, value)| format!("{mode} {value}")).collect();
    let values: Vec<String> = expanded.values.iter().map(Value::typed).collect();
    Ok((values.join(","), lacking.join(","), expanded.notes))
}

#[test]
fn all_governors_beside_a_mode_are_those_of_that_mode() {
    let here = governors(&mut configured(), "all", &["active"]).unwrap();
    assert_eq!(here, ("performance,powersave".into(), String::new(), Vec::new()));
    let (values, lacking, notes) = governors(&mut configured(), "all", &["passive"]).unwrap();
    assert_eq!((values.as_str(), lacking.as_str()), ("performance,powersave,ondemand,schedutil", ""));
    assert!(notes.len() == 1 && notes[0].starts_with("userspace is left out"), "{notes:?}");
    // Where no configuration is to be read, Linux's own are tried, and it is said.
    let (values, lacking, notes) = governors(&mut active(), "all", &["passive"]).unwrap();
    let all = "conservative,ondemand,performance,powersave,schedutil";
    assert_eq!((values.as_str(), lacking.as_str()), (all, ""));
    assert!(notes[1].contains("not known before it is in force: these are Linux's own"), "{notes:?}");
}

#[test]
fn a_governor_must_be_in_one_of_the_modes_and_is_left_out_of_the_other() {
    let (values, lacking, _) = governors(&mut configured(), "powersave,OnDemand", &["active", "passive"]).unwrap();
    assert_eq!((values.as_str(), lacking.as_str()), ("powersave,ondemand", "active ondemand"));
    let why = governors(&mut configured(), "powersave,conservative", &["active", "passive"]).unwrap_err();
    assert_eq!(
        why,
        "cpufreq.governor: 'conservative' is no governor of the mode active, which has performance and powersave alone; \
         leave out pstate=active, or choose one of them"
    );
    let why = governors(&mut configured(), "conservative", &["passive"]).unwrap_err();
    assert!(
        why.contains("the mode passive, which has performance, powersave, userspace, ondemand and schedutil"),
        "{why}"
    );
    assert!(why.ends_with("or load it if it is a module: modprobe cpufreq_conservative"), "{why}");
    // What the kernel's configuration says is known to a setting as well, before anything is written.
    let setting = Setting::parse("pstate=passive governor=conservative").unwrap();
    let refused = plan(&setting, &mut configured(), &Selection::everywhere()).unwrap_err().to_string();
    assert_eq!(refused, why);
    // A governor that is none of Linux's own may be there nevertheless.
    assert_eq!(governors(&mut configured(), "interactive", &["passive"]).unwrap().0, "interactive");
    assert!(governors(&mut configured(), "ondemand,", &["passive"]).unwrap_err().contains("is empty"));
}
