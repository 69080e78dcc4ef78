//! What people type: names, values, lists, sites, and the sentences they get back.
use powerband_knob::*;
use powerband_machine::Errno;
use powerband_record::{Axis, KnobRef, Setting};

use crate::fake::{Fake, ROOT, Rules, bare, cpufreq, cpus};

fn quad() -> Fake {
    cpufreq(1, 4, Rules::default())
}

fn values(machine: &mut Fake, axis: &str) -> Result<String, String> {
    let expanded = expand(&Axis::parse(axis).unwrap(), machine, &Selection::everywhere(), &Beside::default());
    let expanded = expanded.map_err(|error| error.to_string())?;
    let values: Vec<String> = expanded.values.iter().map(Value::typed).collect();
    let notes: String = expanded.notes.iter().map(|note| format!(" [{note}]")).collect();
    Ok(format!("{}{notes}", values.join(",")))
}

#[test]
fn axes_expand() {
    let mut machine = quad();
    machine.files.insert("/proc/sys/vm/swappiness".into(), "60\n".into());
    for (axis, expected) in [
        (
            "governor=all",
            "conservative,ondemand,powersave,performance,schedutil [userspace is left out: it does nothing without a \
             frequency; compare it with its frequencies, governor=userspace freq=all]",
        ),
        ("governor=OnDemand,performance", "ondemand,performance"),
        ("max_freq=all", "1600000,2000000,2400000"),
        ("max-freq=1.6GHz..2000MHz", "1600000,2000000"),
        ("max_freq=1600MHz..2400MHz:400MHz", "1600000,2000000,2400000"),
        ("ondemand.up_threshold=10..40:10,95,20", "10,20,30,40,95"),
        ("up_threshold=98", "98"),
        ("powersave_bias=0..3", "0,1,2,3"),
        ("io_is_busy=all", "0,1"),
        ("cpu_quota=25,50%,250 %", "25%,50%,250%"),
        ("cpu_quota=10..40:10", "10%,20%,30%,40%"),
        ("cpu_quota=98..101", "98%,99%,100%,101%"),
        ("sysctl.vm.swappiness=0..100:50", "0,50,100"),
        ("file:/tmp/x=a,b", "a,b"),
        ("conservative.freq_step=5..7", "5,6,7"),
    ] {
        machine.files.insert("/tmp/y".into(), String::new());
        assert_eq!(values(&mut machine, axis).as_deref(), Ok(expected), "{axis}");
    }
    let all = values(&mut machine, "ondemand.up_threshold=all").unwrap();
    assert!(all.starts_with("1,3,5,7,") && all.contains(",100 [ondemand.up_threshold: 50 of 100 values"), "{all}");
    let rates = values(&mut machine, "ondemand.sampling_rate=10000..20000").unwrap();
    assert!(rates.starts_with("10000,10204,") && rates.contains(",20000 ["), "{rates}");
}

#[test]
fn what_is_wrong_with_a_value_is_one_sentence() {
    let mut machine = quad();
    for (axis, sentence) in [
        ("max_freq=2400", "cpufreq.max_freq: 2400 kHz is 2.4 MHz, below this CPU's 1600 MHz; did you mean 2400MHz?"),
        ("max_freq=2.4", "cpufreq.max_freq: 2.4 kHz is 0.002 MHz, below this CPU's 1600 MHz; did you mean 2.4GHz?"),
        (
            "max_freq=500",
            "cpufreq.max_freq: 500 kHz is 0.5 MHz, below this CPU's 1600 MHz; write a unit, e.g. max_freq=1600MHz",
        ),
        (
            "freq=2000000000",
            "cpufreq.freq: 2000000000 kHz is 2000000 MHz, above this CPU's 2400 MHz; did you mean 2000000000Hz?",
        ),
        ("max_freq=3GHz", "cpufreq.max_freq: 3000 MHz is above this CPU's 2400 MHz; it goes from 1600 MHz to 2400 MHz"),
        (
            "governor=nonsense",
            "cpufreq.governor: 'nonsense' is not a governor here; there are: conservative, ondemand, performance, \
             powersave, schedutil, userspace",
        ),
        (
            "governor=a..b",
            "cpufreq.governor: 'a' is not a governor here; there are: conservative, ondemand, performance, powersave, schedutil, userspace",
        ),
        (
            "governor=ondemand..userspace",
            "cpufreq.governor: it takes names, not a range; write e.g. governor=ondemand,performance",
        ),
        (
            "up_threshold=101",
            "ondemand.up_threshold: 101 is out of range; it takes a whole number from 1 to 100 percent",
        ),
        ("up_threshold=10,,20", "ondemand.up_threshold: an entry of its list is empty; write e.g. 10,20 or 10..100:10"),
        ("up_threshold=,", "ondemand.up_threshold: an entry of its list is empty; write e.g. 10,20 or 10..100:10"),
        ("up_threshold=90..10:10", "ondemand.up_threshold: the range 90..10 ends below its beginning"),
        ("up_threshold=10..90:0", "ondemand.up_threshold: the step of 10..90:0 is 0; write e.g. 10..100:10"),
        (
            "sampling_rate=10000..900000:1",
            "ondemand.sampling_rate: 10000..900000:1 gives 890001 values, and at most 1000 are taken; widen the step",
        ),
        (
            "cpu_quota=all",
            "cgroup.cpu_quota: its values cannot all be listed; write a list or a range, e.g. cpu_quota=A,B or cpu_quota=A..B:STEP",
        ),
        ("cpu_quota=0.25", "cgroup.cpu_quota: 0.25 without a % sign is 0.25 percent of one CPU; did you mean 25%?"),
        ("cpu_quota=0", "cgroup.cpu_quota: 0 is out of range; it takes 1% to 6553600%, a bare number is percent"),
        ("file:x=1", "file:x: the path must begin with '/': write e.g. file:/tmp/x=1"),
        ("govenor=x", "'govenor' is not a knob; did you mean 'governor'? `powerband knobs` lists them all"),
    ] {
        assert_eq!(values(&mut machine, axis).unwrap_err(), sentence, "{axis}");
    }
}

#[test]
fn governors_that_may_be_modules_get_a_hint() {
    let mut machine = quad();
    machine.files.insert(format!("{ROOT}/policy0/scaling_available_governors"), "performance \n".into());
    assert_eq!(
        values(&mut machine, "governor=ondemand").unwrap_err(),
        "cpufreq.governor: 'ondemand' is not a governor here; there are: performance; if it is a module, load it with: \
         modprobe cpufreq_ondemand"
    );
}

#[test]
fn a_machine_without_cpufreq_says_what_works_instead() {
    let mut machine = bare();
    for setting in ["governor=performance", "up_threshold=95", "freq=1GHz", "ondemand.up_threshold=5"] {
        let error = plan(&Setting::parse(setting).unwrap(), &mut machine, &Selection::everywhere()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Absent, "{setting}");
        assert!(error.to_string().contains("rehearse with cgroup.cpu_quota"), "{error}");
    }
    assert!(plan(&Setting::parse("cpu_quota=50%").unwrap(), &mut machine, &Selection::everywhere()).is_ok());
}

#[test]
fn sites_are_narrowed_and_shared_clocks_are_named() {
    let mut machine = cpufreq(36, 4, Rules::default());
    let lines = |machine: &mut Fake, text: &str, narrow: &Selection| {
        plan(&Setting::parse(text).unwrap(), machine, narrow).map(|steps| describe_steps(&steps))
    };
    assert_eq!(
        lines(&mut machine, "governor@cpu1=performance", &Selection::everywhere()).unwrap(),
        [
            "cpufreq.governor at policy0 (cpus 0-3): ondemand → performance",
            "note: policy0 drives cpus 0-3 together, so cpufreq.governor applies to all 4 of them",
        ]
    );
    let two = Selection::cpus(cpus("4-11,900"));
    assert_eq!(
        lines(&mut machine, "governor=performance", &two).unwrap(),
        [
            "cpufreq.governor at policy4 (cpus 4-7): ondemand → performance",
            "cpufreq.governor at policy8 (cpus 8-11): ondemand → performance",
            "note: no policy drives cpu 900: left out",
        ]
    );
    assert_eq!(lines(&mut machine, "governor@policy140=powersave", &two).unwrap().len(), 1, "a site beats -c");
    let error = lines(&mut machine, "governor@policy1=powersave", &two).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cpufreq.governor has no site 'policy1' here; there are policy0 to policy140 (36 of them)"
    );
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(lines(&mut machine, "cpu_quota@policy0=5%", &two).unwrap_err().to_string().ends_with("there is only load"));
}

#[test]
fn kernels_without_policy_folders_have_policies_too() {
    let mut machine = bare();
    for (cpu, mates) in [(0, "0 1"), (1, "0 1"), (2, "2")] {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
        machine.files.insert(format!("{folder}/affected_cpus"), format!("{mates}\n"));
        machine.files.insert(format!("{folder}/scaling_governor"), "performance\n".into());
        machine.files.insert(format!("{folder}/ondemand/up_threshold"), "80\n".into());
    }
    let found = get(&mut machine, &KnobRef::parse("governor").unwrap(), &Selection::everywhere()).unwrap();
    let sites: Vec<_> =
        found.iter().map(|reading| (reading.site.as_str(), reading.cpus.clone().unwrap().len())).collect();
    assert_eq!(sites, [("policy0", 2), ("policy2", 1)]);
}

#[test]
fn policies_asleep_are_left_out_and_named() {
    let mut machine = cpufreq(2, 1, Rules::default());
    machine.files.remove(&format!("{ROOT}/policy1/affected_cpus"));
    let steps = plan(&Setting::parse("governor=powersave").unwrap(), &mut machine, &Selection::everywhere()).unwrap();
    assert_eq!(steps.lines.len(), 1);
    assert_eq!(steps.notes, ["left out, as their CPUs are offline: policy1"]);
    let (infos, asleep) = powerband_knob::cpufreq(&mut machine).unwrap();
    assert_eq!((infos.len(), asleep), (1, vec!["policy1".to_owned()]));
    assert_eq!(infos[0].steps_khz, [1_600_000, 2_000_000, 2_400_000]);
    assert_eq!((infos[0].driver.as_deref(), infos[0].latency_ns), (Some("fake"), Some(10_000)));
}

#[test]
fn a_policy_is_asleep_where_all_its_files_are_busy_and_broken_where_one_is() {
    let mut machine = cpufreq(2, 1, Rules::default());
    let [one, other] = ["affected_cpus", "related_cpus"].map(|list| format!("{ROOT}/policy1/{list}"));
    machine.files.insert(other.clone(), "1\n".into());
    machine.unreadable.insert(one.clone(), Errno::EBUSY);
    let found = policies(&mut machine, "cpufreq").unwrap();
    assert_eq!((found.active.len(), found.asleep.len()), (2, 0));
    assert_eq!(found.active[1].cpus, found.active[1].online);
    let told: Vec<&str> = found.unread.iter().map(|unread| unread.path.as_str()).collect();
    assert_eq!(told, [&one]);
    machine.unreadable.insert(other, Errno::EBUSY);
    let found = policies(&mut machine, "cpufreq").unwrap();
    assert_eq!((found.active.len(), found.asleep, found.unread), (1, vec!["policy1".to_owned()], vec![]));
}

#[test]
fn looking_shows_values_and_choices() {
    let mut machine = quad();
    machine.files.insert("/proc/sys/net/ipv4/tcp_rmem".into(), "4096\t131072\t6291456\n".into());
    let mut look = |name: &str| get(&mut machine, &KnobRef::parse(name).unwrap(), &Selection::everywhere());
    let max = &look("max_freq").unwrap()[0];
    assert_eq!((max.value.as_deref(), max.shown.as_str()), (Some("2400000"), "2400 MHz"));
    assert_eq!(max.choices, ["1600000", "2000000", "2400000"]);
    assert_eq!(look("up_threshold").unwrap()[0].knob, "ondemand.up_threshold");
    assert_eq!(look("sysctl.net.ipv4.tcp_rmem").unwrap()[0].shown, "4096 131072 6291456");
    assert_eq!(look("file:/tmp/none").unwrap_err().kind(), ErrorKind::Absent);
    assert_eq!(look("cpu_quota").unwrap()[0].value, None);
    assert!(matches!(look("conservative.freq_step"), Err(KnobError::NeedsFirst { .. })));
}

#[test]
fn the_documentation_covers_every_knob() {
    let page: String = docs::pages().into_iter().map(|(_, page)| page).collect();
    for knob in catalogue::ALL {
        let about = knob.about();
        assert!(page.contains(&format!("## `{}`: {}\n", about.name, about.summary)), "{}", about.name);
        for text in [about.summary, about.doc, about.accepts, about.source, about.short] {
            assert!(!text.is_empty() && !text.contains("  "), "{}: {text:?}", about.name);
        }
        assert!(about.summary.chars().next().unwrap().is_lowercase() && about.doc.ends_with('.'), "{}", about.name);
    }
    assert!(docs::explain("freq").unwrap().contains("- also: `freq`, `scaling_setspeed`"));
}
