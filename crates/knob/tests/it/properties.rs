//! What holds for every knob, and for machines of any size.
use powerband_knob::look::{clocks, cpus, idle, power};
use powerband_knob::*;

use crate::fake::{Rules, cpufreq};

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
}

#[test]
fn a_thousand_cpus_take_no_more_reads_each_than_a_few() {
    let [few, many] = [8, 1024].map(|count| {
        let mut machine = cpufreq(count, 1, Rules::default());
        for at in 0..count * 4 {
            let state = format!("/sys/devices/system/cpu/cpu{}/cpuidle/state{}", at / 4, at % 4);
            for file in "name latency residency disable usage time".split(' ') {
                machine.files.insert(format!("{state}/{file}"), "5\n".into());
            }
        }
        cpus(&mut machine, None).unwrap();
        power(&mut machine, None).unwrap();
        assert_eq!(clocks(&mut machine, None).unwrap().policies.len(), count as usize);
        let idle = idle(&mut machine, None).unwrap().cpus;
        assert_eq!(idle.iter().map(|cpu| cpu.states.len()).collect::<Vec<_>>(), vec![4; count as usize]);
        machine.reads
    });
    let each = (many - few) / (1024 - 8);
    assert_eq!((many - few) % (1024 - 8), 0, "the same for each CPU");
    // Four states with nine files, a policy with about twenty: what all policies have in common is read once.
    assert!((45..=60).contains(&each), "{each} reads for each CPU");
    assert!(few - 8 * each < 60, "{few} reads on a machine of 8");
}
