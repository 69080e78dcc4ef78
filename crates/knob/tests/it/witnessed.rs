//! What landed and yet is not what runs: CPUs that share a clock, and the clock as a witness.
use powerband_knob::{Applied, Landed, Selection, Witness, apply};
use powerband_machine::{Change, Hold};
use powerband_record::Setting;

use crate::fake::{Fake, ROOT, Rules, cpufreq};

fn turn(machine: &mut Fake, setting: &str) -> Applied {
    apply(machine, &Setting::parse(setting).unwrap(), Hold::Held, &Selection::everywhere()).unwrap()
}

/// Two policies of one CPU each, whose clock the hardware changes together.
fn one_domain() -> Fake {
    let mut machine = cpufreq(2, 1, Rules::default());
    for policy in 0..2 {
        machine.files.insert(format!("{ROOT}/policy{policy}/freqdomain_cpus"), "0 1\n".into());
    }
    machine
}

#[test]
fn a_sibling_in_the_clock_domain_that_asks_for_more_overrides() {
    let mut machine = one_domain();
    turn(&mut machine, "governor=userspace freq=2400MHz");
    let applied = turn(&mut machine, "freq@policy0=1600MHz");
    assert_eq!(
        applied.sites[0].landed.to_string(),
        "accepted, but 2400 MHz is in force: overridden by policy1, which shares its frequency (cpus 0-1) and asks for 2400 MHz"
    );
    // Once both ask for it, it is in force: what counts is how all of them stand at the end.
    let applied = turn(&mut machine, "freq=1600MHz");
    assert!(applied.inexact().is_empty(), "{:?}", applied.sites);
    let applied = turn(&mut machine, "freq@policy1=2000MHz");
    assert!(applied.inexact().is_empty(), "the one that asks for more gets it");
}

#[test]
fn old_kernels_name_the_clock_domain_otherwise() {
    let mut machine = cpufreq(2, 1, Rules::default());
    // Each CPU has a folder of its own, and no policy has one.
    let of_a_cpu =
        |path: &str, cpu| path.replace(&format!("/cpu/cpufreq/policy{cpu}/"), &format!("/cpu/cpu{cpu}/cpufreq/"));
    let files = std::mem::take(&mut machine.files).into_iter();
    machine.files = files.map(|(path, text)| (of_a_cpu(&of_a_cpu(&path, 0), 1), text)).collect();
    for cpu in 0..2 {
        machine.files.insert(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/related_cpus"), "0 1\n".into());
    }
    turn(&mut machine, "governor=userspace freq=2400MHz");
    let applied = turn(&mut machine, "freq@policy0=1600MHz");
    assert_eq!(applied.sites.len(), 1, "{:?}", applied.sites);
    assert!(
        applied.sites[0].landed.to_string().contains("policy1, which shares its frequency (cpus 0-1)"),
        "{:?}",
        applied.sites
    );
}

#[test]
fn a_sibling_that_may_ask_for_more_is_a_note() {
    let mut machine = one_domain();
    let applied = turn(&mut machine, "max_freq@policy0=1600MHz");
    assert_eq!(applied.sites[0].landed, Landed::Applied);
    let note = "policy1, which shares its frequency (cpus 0-1) and may ask for 2400 MHz: the frequency of policy0 rises with it";
    assert_eq!(applied.notes, [note]);
    // Where each CPU has a clock of its own, nobody is in the way.
    let mut machine = cpufreq(2, 1, Rules::default());
    assert!(turn(&mut machine, "max_freq@policy0=1600MHz").notes.is_empty());
}

#[test]
fn several_sites_are_summed_up_with_the_reason_of_each_other_one() {
    let mut machine = one_domain();
    turn(&mut machine, "governor@policy1=performance");
    let applied = turn(&mut machine, "max_freq@policy0=1700MHz min_freq=1600MHz");
    let summary = applied.summary().unwrap();
    assert!(
        summary.starts_with("applied to 2 of 3 targets; cpufreq.max_freq at policy0: accepted, but 2400 MHz"),
        "{summary}"
    );
    assert_eq!(turn(&mut machine, "governor=ondemand").summary().unwrap(), "applied to 2 of 2 targets");
    assert_eq!(turn(&mut machine, "governor@policy0=ondemand").summary(), None);
}

/// Time at each step, 10 ms each, and how long CPU 0 worked and rested, ticks.
fn spend(machine: &mut Fake, times: [u32; 3], worked: u32, rested: u32) {
    let [top, middle, low] = times;
    let text = format!("2400000 {top}\n2000000 {middle}\n1600000 {low}\n");
    machine.files.insert(format!("{ROOT}/policy0/stats/time_in_state"), text);
    machine
        .files
        .insert("/proc/stat".into(), format!("cpu  {worked} 0 0 {rested} 0\ncpu0 {worked} 0 0 {rested} 0 0 0 0 0 0\n"));
}

fn witness_lines(machine: &mut Fake, setting: &str, then: impl FnOnce(&mut Fake)) -> Vec<String> {
    spend(machine, [100, 10, 1], 50, 50);
    let applied = turn(machine, setting);
    let witness = Witness::begin(machine, &applied);
    then(machine);
    witness.tell(machine)
}

#[test]
fn a_clock_witnesses_what_was_asked_of_it() {
    let mut machine = cpufreq(1, 1, Rules::default());
    let fixed = "governor=userspace freq=1600MHz";
    let lines = witness_lines(&mut machine, fixed, |machine| spend(machine, [100, 10, 6], 55, 50));
    assert_eq!(lines, ["witness: policy0: asked 1600 MHz, runs at 1600 MHz by time_in_state"]);
    // One tick at another frequency may have passed before the setting; two, or nothing else, are evidence.
    let lines = witness_lines(&mut machine, fixed, |machine| spend(machine, [101, 10, 6], 55, 50));
    assert_eq!(lines, ["witness: policy0: asked 1600 MHz, runs at 1600 MHz by time_in_state"]);
    let lines = witness_lines(&mut machine, fixed, |machine| spend(machine, [104, 10, 2], 55, 50));
    assert_eq!(lines, ["witness: policy0: asked 1600 MHz, but runs at 2240 MHz by time_in_state"]);
    let lines = witness_lines(&mut machine, fixed, |machine| spend(machine, [102, 10, 4], 55, 50));
    assert_eq!(lines, ["witness: policy0: asked 1600 MHz, but runs at 1920 MHz by time_in_state"]);
    let lines = witness_lines(&mut machine, fixed, |machine| spend(machine, [101, 10, 1], 55, 50));
    assert_eq!(lines, ["witness: policy0: asked 1600 MHz, but runs at 2400 MHz by time_in_state"]);
    let lines = witness_lines(&mut machine, fixed, |machine| spend(machine, [100, 10, 6], 50, 55));
    let idle = "cannot verify the frequency while the CPU is idle; the kernel kept it at 1600 MHz by time_in_state";
    assert_eq!(lines, [format!("witness: policy0: asked 1600 MHz; {idle}")]);
    // What the hardware averaged is worth more than the kernel's own books.
    machine.files.insert(format!("{ROOT}/policy0/cpuinfo_avg_freq"), "1596000\n".into());
    let lines = witness_lines(&mut machine, fixed, |machine| spend(machine, [104, 10, 2], 55, 50));
    assert_eq!(lines, ["witness: policy0: asked 1600 MHz, runs at 1596 MHz by cpuinfo_avg_freq"]);
    // Limits are met by anything between them; a governor that chooses asks for nothing.
    let lines = witness_lines(&mut machine, "governor=ondemand max_freq=2000MHz", |machine| {
        spend(machine, [100, 15, 1], 55, 50)
    });
    assert_eq!(lines, ["witness: policy0: asked at most 2000 MHz, runs at 1596 MHz by cpuinfo_avg_freq"]);
    assert!(witness_lines(&mut machine, "governor=conservative", |_| ()).is_empty());
}

#[test]
fn where_nothing_measures_the_clock_that_is_said() {
    let mut machine = cpufreq(1, 1, Rules::default());
    let applied = turn(&mut machine, "governor=performance");
    let lines = Witness::begin(&mut machine, &applied).tell(&mut machine);
    let hearsay = "nothing here measures the frequency; 2400 MHz is what the kernel asked for (scaling_cur_freq)";
    assert_eq!(lines, [format!("witness: policy0: asked 2400 MHz; {hearsay}")]);
    machine.files.insert(format!("{ROOT}/policy0/cpuinfo_cur_freq"), "1600000\n".into());
    let lines = Witness::begin(&mut machine, &applied).tell(&mut machine);
    assert_eq!(lines, ["witness: policy0: asked 2400 MHz, but the hardware answers 1600 MHz (cpuinfo_cur_freq)"]);
}

#[test]
fn what_one_command_turns_is_one_step_also_where_something_kept_was_needless() {
    let mut machine = cpufreq(2, 1, Rules::default());
    // policy1 stays under ondemand, so its tunables are there still and need not be kept.
    turn(&mut machine, "governor@policy0=userspace freq@policy0=1600MHz");
    let steps: Vec<_> = machine.open_entries().iter().map(|entry| entry.step).collect();
    assert!(steps.len() >= 2 && steps.iter().all(|step| *step == steps[0]), "{steps:?}");
}
