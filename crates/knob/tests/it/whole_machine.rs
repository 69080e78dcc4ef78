//! Knobs beyond the policies' own: boost, hints, Intel's driver, idle states, CPUs, power limits; and what overrides limits.
use powerband_knob::*;
use powerband_machine::{Errno, Hold, LATENCY_DEVICE, Look};
use powerband_record::{KnobRef, Setting};

use crate::fake::{Fake, ROOT, Rules, bare, cpufreq};

const CPU: &str = "/sys/devices/system/cpu";

fn with(mut fake: Fake, files: &[(&str, &str)]) -> Fake {
    for (path, text) in files {
        fake.files.insert((*path).to_owned(), format!("{text}\n"));
    }
    fake
}

fn turn(machine: &mut Fake, setting: &str) -> Result<Applied, KnobError> {
    apply(machine, &Setting::parse(setting).unwrap(), Hold::Held, &Selection::everywhere())
}

fn landed(machine: &mut Fake, setting: &str) -> Vec<String> {
    turn(machine, setting).unwrap().sites.iter().map(Reached::words).collect()
}

/// A laptop of two CPUs under intel_pstate in active mode, with two idle states.
fn laptop() -> Fake {
    let mut fake = cpufreq(2, 1, Rules::default());
    for policy in 0..2 {
        let file = |name: &str| format!("{ROOT}/policy{policy}/{name}");
        fake.files.insert(file("energy_performance_preference"), "balance_performance\n".into());
        fake.files.insert(
            file("energy_performance_available_preferences"),
            "default performance balance_performance balance_power power \n".into(),
        );
        fake.files.insert(format!("{CPU}/cpu{policy}/power/energy_perf_bias"), "6\n".into());
        fake.files.insert(format!("{CPU}/cpu{policy}/power/pm_qos_resume_latency_us"), "0\n".into());
        for (state, name) in ["POLL", "C1", "C6"].iter().enumerate() {
            fake.files.insert(format!("{CPU}/cpu{policy}/cpuidle/state{state}/name"), format!("{name}\n"));
            fake.files.insert(format!("{CPU}/cpu{policy}/cpuidle/state{state}/disable"), "0\n".into());
        }
    }
    with(
        fake,
        &[
            (&format!("{CPU}/intel_pstate/status"), "active"),
            (&format!("{CPU}/intel_pstate/no_turbo"), "0"),
            (&format!("{CPU}/intel_pstate/max_perf_pct"), "100"),
            (&format!("{CPU}/cpu1/online"), "1"),
            (&format!("{CPU}/smt/control"), "on"),
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0/constraint_0_name", "long_term"),
            ("/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "15000000"),
            ("/sys/class/powercap/intel-rapl:0/constraint_1_name", "short_term"),
            ("/sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw", "25000000"),
            ("/sys/class/powercap/intel-rapl:0:0/name", "core"),
            ("/sys/class/powercap/intel-rapl:0:0/constraint_0_name", "long_term"),
            ("/sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw", "0"),
        ],
    )
}

#[test]
fn everything_of_a_laptop_is_turned_and_put_back() {
    let mut machine = laptop();
    let before = machine.files.clone();
    let setting = "pstate=passive cpu.online@cpu1=1 no_turbo=1 max_perf_pct=80 governor=powersave epp=power epb=balance-power \
                   disable@cpu1/C6=1 disable@C1=1 pmqos.resume_latency_us@cpu0=n/a smt=off \
                   power_limit_uw=12000000 power_limit_uw@package-0/short_term=20000000";
    let applied = turn(&mut machine, setting).unwrap();
    assert!(applied.inexact().is_empty(), "{:?}", applied.inexact());
    for (path, text) in [
        ("intel_pstate/status", "passive"),
        ("intel_pstate/no_turbo", "1"),
        ("cpufreq/policy1/energy_performance_preference", "power"),
        ("cpu0/power/energy_perf_bias", "8"),
        ("cpu0/cpuidle/state1/disable", "1"),
        ("cpu0/cpuidle/state2/disable", "0"),
        ("cpu1/cpuidle/state2/disable", "1"),
        ("cpu0/power/pm_qos_resume_latency_us", "n/a"),
        ("smt/control", "off"),
    ] {
        assert_eq!(machine.show(&format!("{CPU}/{path}")), text, "{path}");
    }
    assert_eq!(machine.show("/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"), "12000000");
    assert_eq!(machine.show("/sys/class/powercap/intel-rapl:0:0/constraint_0_power_limit_uw"), "0", "packages alone");
    // The driver's mode comes first, the hint after the governor.
    let order: Vec<&str> = applied.sites.iter().map(|it| it.named.name.as_str()).collect();
    let place = |name: &str| order.iter().position(|other| *other == name).unwrap();
    assert!(place("pstate.status") < place("cpu.online") && place("cpu.smt") < place("pstate.no_turbo"));
    assert!(place("pstate.no_turbo") < place("cpufreq.governor") && place("cpufreq.governor") < place("cpufreq.epp"));
    assert!(
        place("cpufreq.epp") < place("cpuidle.disable") && place("cpuidle.disable") < place("powercap.power_limit_uw")
    );
    let restored = restore(&mut machine, &applied.entries, false);
    assert!(restored.complete() && restored.inexact.is_empty(), "{restored:?}");
    assert_eq!(machine.files, before);
}

#[test]
fn a_change_of_the_drivers_mode_loses_nothing_of_the_policies() {
    let mut machine = laptop();
    machine.meddle(&format!("{ROOT}/policy0/energy_performance_preference"), "power");
    machine.meddle(&format!("{ROOT}/policy1/scaling_max_freq"), "2000000");
    let before = machine.files.clone();
    let applied = turn(&mut machine, "pstate=passive").unwrap();
    assert_eq!(machine.policy(0, "energy_performance_preference"), "balance_performance");
    assert_eq!(machine.policy(1, "scaling_max_freq"), "2400000", "the driver starts from its defaults");
    let restored = restore(&mut machine, &applied.entries, false);
    assert!(restored.complete() && restored.inexact.is_empty(), "{restored:?}");
    assert_eq!(machine.files, before);
}

#[test]
fn what_a_machine_lacks_is_said_with_its_reason() {
    for (knob, told) in [
        (
            "sched_mc",
            "sched.mc_power_savings is not here: it was removed in Linux 3.5; kernels from 2.6.18 have it where there \
                      is more than one package (mc) or thread (smt)",
        ),
        (
            "epp",
            "cpufreq.epp is not here: this driver passes no preference on; intel_pstate with hardware P-states and \
                 amd-pstate do",
        ),
        (
            "boost",
            "there is no /sys/devices/system/cpu/cpufreq/boost for it: this driver has nothing above the nominal \
                   frequency, or does not let it be switched",
        ),
        ("pstate.no_turbo", "not driven by intel_pstate"),
        ("cpuidle.disable", "no idle states to choose from here"),
        ("powercap.power_limit_uw", "a virtual machine has none"),
        ("cpu_dma_latency", "there is no /dev/cpu_dma_latency"),
        ("smt", "Linux 4.19"),
    ] {
        let mut machine = cpufreq(1, 1, Rules::default());
        let error = get(&mut machine, &KnobRef::parse(knob).unwrap(), &Selection::everywhere()).unwrap_err();
        assert!(error.to_string().contains(told), "{knob}: {error}");
        assert_eq!(error.kind(), ErrorKind::Absent, "{knob}");
    }
    let mut intel = with(cpufreq(1, 1, Rules::default()), &[(&format!("{CPU}/intel_pstate/no_turbo"), "0")]);
    let error = turn(&mut intel, "boost=0").unwrap_err().to_string();
    assert!(error.contains("pstate.no_turbo, 1 being off"), "{error}");
    let error = turn(&mut laptop(), "disable@cpu1/C7=1").unwrap_err().to_string();
    assert!(error.contains("no site 'cpu1/C7' here; there are cpu1/POLL, cpu1/C1, cpu1/C6"), "{error}");
}

#[test]
fn a_refusal_says_what_it_means_for_that_knob() {
    let preference = format!("{ROOT}/policy1/energy_performance_preference");
    for (path, errno, setting, told) in [
        (preference.as_str(), Errno::EBUSY, "epp=power", "set governor=powersave as well"),
        (
            "/sys/devices/system/cpu/intel_pstate/no_turbo",
            Errno::EPERM,
            "no_turbo=1",
            "the firmware has switched turbo off",
        ),
        ("/sys/devices/system/cpu/cpu1/online", Errno::EBUSY, "online@cpu1=0", "the last CPU"),
        ("/sys/devices/system/cpu/smt/control", Errno::ENODEV, "smt=off", "one thread each"),
    ] {
        let mut machine = laptop();
        let before = machine.files.clone();
        machine.refuse.insert(path.to_owned(), errno);
        let error = turn(&mut machine, setting).unwrap_err().to_string();
        assert!(error.contains(told), "{setting}: {error}");
        assert_eq!(machine.files, before, "nothing is left of {setting}");
    }
}

#[test]
fn a_latency_is_held_and_never_set() {
    let mut machine = with(bare(), &[(LATENCY_DEVICE, "2000000000")]);
    let setting = Setting::parse("cpu_dma_latency=10").unwrap();
    let error = apply(&mut machine, &setting, Hold::Set, &Selection::everywhere()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("the kernel drops it as soon as no process holds it; use it with"), "{error}");
    let applied = turn(&mut machine, "cpu_dma_latency=10").unwrap();
    assert_eq!(applied.sites[0].words(), "pmqos.cpu_dma_latency: 10, applied");
    assert!(restore(&mut machine, &applied.entries, false).complete());
    assert_eq!(machine.show(LATENCY_DEVICE), "2000000000");
    machine.held.push(5);
    let words = landed(&mut machine, "cpu_dma_latency=10");
    assert!(
        words[0].ends_with("accepted, but 5 is in force: overridden by a smaller request that another program holds")
    );
}

#[test]
fn what_overrides_a_limit_is_named() {
    let bios = format!("{ROOT}/policy0/bios_limit");
    let cooler = "/sys/class/thermal/cooling_device0";
    for (files, told) in [
        (vec![(bios.as_str(), "2000000")], "overridden by the firmware (bios_limit is 2000 MHz)"),
        (vec![("/sys/devices/system/cpu/intel_pstate/no_turbo", "1")], "overridden by pstate.no_turbo=1"),
        (vec![("/sys/devices/system/cpu/intel_pstate/max_perf_pct", "70")], "overridden by pstate.max_perf_pct=70"),
        (
            vec![
                ("/sys/class/thermal/cooling_device0/type", "Processor"),
                ("/sys/class/thermal/cooling_device0/cur_state", "3"),
                ("/sys/class/thermal/cooling_device0/max_state", "10"),
            ],
            "overridden by thermal control (cooling_device0 of type Processor is at 3 of 10)",
        ),
    ] {
        let mut machine = with(cpufreq(1, 1, Rules::default()), &files);
        machine.ceiling = Some(2_000_000);
        machine.meddle(&format!("{ROOT}/policy0/scaling_max_freq"), "2400000");
        let applied = turn(&mut machine, "max_freq=2400MHz").unwrap();
        let words = applied.sites[0].words();
        assert!(words.contains("accepted, but 2000 MHz is in force: overridden by") && words.contains(told), "{words}");
        let note = applied.notes.join(" ");
        assert!(note.contains("what was asked for before cannot be read"), "{note}");
    }
    let mut idle = with(
        cpufreq(1, 1, Rules::default()),
        &[(&format!("{cooler}/type"), "Fan"), (&format!("{cooler}/cur_state"), "1")],
    );
    idle.ceiling = Some(2_000_000);
    let words = landed(&mut idle, "max_freq=2400MHz min_freq=2400MHz");
    assert!(
        words.iter().any(|it| it.contains("min_freq") && it.contains("overridden by max_freq=2000 MHz")),
        "{words:?}"
    );
    let mut late = cpufreq(1, 1, Rules::default());
    late.deaf = Some(format!("{ROOT}/policy0/scaling_max_freq"));
    assert!(landed(&mut late, "max_freq=1600MHz")[0].ends_with("accepted, not in force yet (reads 2400 MHz)"));
}

#[test]
fn a_limit_nobody_had_set_goes_back_to_nobodys() {
    let mut machine = cpufreq(1, 1, Rules::default());
    let max = format!("{ROOT}/policy0/scaling_max_freq");
    let applied = turn(&mut machine, "max_freq=1600MHz min_freq=1600MHz").unwrap();
    assert!(restore(&mut machine, &applied.entries, false).inexact.is_empty());
    assert_eq!(machine.show(&max), "2400000");
    assert!(machine.written.contains(&(max.clone(), "2147483647".to_owned())));
    // One that somebody had set is his again.
    machine.meddle(&max, "2000000");
    let applied = turn(&mut machine, "max_freq=1600MHz").unwrap();
    restore(&mut machine, &applied.entries, false);
    assert_eq!(machine.written.last().unwrap(), &(max.clone(), "2000000".to_owned()));
    assert_eq!(machine.read(&max).unwrap().trim(), "2000000");
}
