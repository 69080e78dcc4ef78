//! ondemand: what its periods and its bias do over time; samples one by one are in the stories.
use powerband_sim::cpufreq::{Governor, KernelRules, Util};

use super::bench::{Bench, OMAP, SRV, Window, config};

fn modern(table: &[u32], khz: u32) -> Bench {
    Bench::new(config(KernelRules::V6_1, table, khz, Governor::Ondemand))
}

fn set(bench: &mut Bench, tunable: &str, value: u32) {
    bench.write_at(&format!("cpufreq/ondemand/{tunable}"), &format!("{value}\n")).unwrap();
}

#[test]
fn t03_sampling_down_factor() {
    let mut bench = modern(&OMAP, 125_000);
    set(&mut bench, "sampling_down_factor", 3);
    bench.pass(Window::load(10_000, 100));
    let mut sampled = Vec::new();
    for ms in 0..=70u64 {
        if ms > 0 {
            bench.pass(Window::load(1000, if ms <= 30 { 100 } else { 40 }));
        }
        bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
        let samples = bench.cpufreq.next_due_ns() == Some(bench.now_ns);
        bench.run();
        if samples {
            sampled.push((ms, bench.mhz()));
        }
    }
    assert_eq!(sampled, [(0, 600), (30, 600), (60, 250), (70, 250)]);
}

/// Clocks (MHz) and how long each was kept (µs), over four changes.
fn split(table: &[u32], load: u64) -> Vec<(u32, u64)> {
    let mut bench = modern(table, table[0]);
    set(&mut bench, "powersave_bias", 100);
    bench.pass(Window::load(10_000, load));
    let mut kept: Vec<(u32, u64)> = Vec::new();
    let mut since = bench.now_ns;
    bench.event();
    let mut at = bench.mhz();
    while kept.len() < 4 {
        // The load is stated over each stretch of 1 µs: the same share whenever a sample falls.
        bench.now_ns += 1000;
        bench.sums.idle_ns[0] += 10 * (100 - load);
        bench.event();
        let mhz = bench.mhz();
        if mhz != at {
            kept.push((at, (bench.now_ns - since) / 1000));
            (at, since) = (mhz, bench.now_ns);
        }
    }
    kept
}

#[test]
fn t05_powersave_bias() {
    assert_eq!(split(&OMAP, 100), [(550, 8000), (500, 2000), (550, 8000), (500, 2000)]);
    assert_eq!(split(&SRV, 100), [(2267, 2015), (2133, 7985), (2267, 2015), (2133, 7985)]);
    assert_eq!(split(&OMAP, 50), [(500, 8000), (250, 2000), (500, 8000), (250, 2000)]);
}

#[test]
fn the_old_bias_counts_in_ticks() {
    let mut old = config(KernelRules::V2_6_32, &OMAP, 600_000, Governor::Ondemand);
    old.hz = 1000;
    let mut bench = Bench::new(old);
    set(&mut bench, "powersave_bias", 100);
    let mut seen = Vec::new();
    for _ in 0..30 {
        bench.pass(Window::load(1000, 100));
        bench.run();
        seen.push(bench.mhz());
    }
    let pattern: Vec<u32> = [[550; 8].as_slice(), &[500; 2]].concat();
    assert_eq!(seen[9..29], [pattern.clone(), pattern].concat());
}
