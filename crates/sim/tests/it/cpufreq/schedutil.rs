//! schedutil and the signals below it.
use powerband_sim::cpufreq::pelt::Signal;
use powerband_sim::cpufreq::{
    FrequencyTable, Governor, KernelRules, OtherClasses, Step, TableRelation, Util, demand, raw_khz,
};

use super::bench::{Bench, OMAP, SRV, config};

const MS: u64 = 1_000_000;
const WINDOW_NS: u64 = 1024 * 1024;

/// A schedutil machine without a rate limit that states its utilisation.
fn bench(table: &[u32]) -> Bench {
    let mut bench = Bench::new(config(KernelRules::V6_1, table, table[0], Governor::Schedutil));
    bench.write_at("cpufreq/schedutil/rate_limit_us", "0").unwrap();
    bench
}

/// Through idle and back, then a callback of the scheduler; the clock chosen, MHz.
fn callback(bench: &mut Bench, util: u32, why: Util) -> u32 {
    bench.cpufreq.current(0, None, bench.now_ns);
    bench.cpufreq.current(0, Some(1), bench.now_ns);
    bench.sums.fair_util = Some(util);
    bench.cpufreq.utilisation(0, bench.now_ns, why, &bench.sums);
    bench.run();
    bench.mhz()
}

fn at_util(bench: &mut Bench, util: u32) -> u32 {
    bench.now_ns += MS;
    callback(bench, util, Util::Direct)
}

#[test]
fn t16_schedutil_mapping() {
    let points = [
        (300, 878_906, 1600),
        (546, 1_598_437, 1600),
        (547, 1_600_781, 1733),
        (620, 1_816_406, 1867),
        (700, 2_050_781, 2133),
        (819, 2_397_656, 2400),
    ];
    let mut server = bench(&SRV);
    for (util, raw, mhz) in points {
        assert_eq!((raw_khz(util, 1024, 2_400_000), at_util(&mut server, util)), (raw, mhz), "util {util}");
    }
    assert_eq!(at_util(&mut server, 1024), 2400);
    let mut board = bench(&OMAP);
    for (util, mhz) in [(341, 250), (342, 500), (683, 500), (684, 550), (751, 550), (752, 600)] {
        assert_eq!(at_util(&mut board, util), mhz, "util {util}");
    }
    let raws = [684, 751, 752].map(|util| raw_khz(util, 1024, 600_000));
    assert_eq!(raws, [500_976, 549_609, 550_781]);
    assert_eq!(raw_khz(200, 446, 1_500_000), 840_807);
}

#[test]
fn an_idle_time_without_a_tick_is_not_seen_where_the_tick_is_kept() {
    let clocks = |keeps_tick| {
        let mut config = config(KernelRules::V6_1, &SRV, SRV[0], Governor::Schedutil);
        config.keeps_tick = keeps_tick;
        let tenth_ns = config.tick_ns() / 10;
        let mut bench = Bench::new(config);
        bench.write_at("cpufreq/schedutil/rate_limit_us", "0").unwrap();
        let mut chosen = Vec::new();
        for (idle, awake, util) in [(5, 100, 1024), (102, 107, 300), (108, 113, 300)] {
            bench.cpufreq.current(0, None, idle * tenth_ns);
            bench.now_ns = awake * tenth_ns;
            chosen.push(callback(&mut bench, util, Util::Direct));
        }
        chosen
    };
    assert_eq!(clocks(true), [2400, 2400, 1600]);
    assert_eq!(clocks(false), [2400, 1600, 1600]);
}

#[test]
fn t17_schedutil_io_boost() {
    let mut bench = bench(&OMAP);
    bench.now_ns = 1000 * MS;
    let mut chosen = Vec::new();
    for i in 0..9 {
        bench.now_ns += MS;
        let why = if i < 5 { Util::IoWake } else { Util::Direct };
        chosen.push(callback(&mut bench, 100, why));
    }
    assert_eq!(chosen, [125, 250, 500, 600, 600, 500, 250, 125, 125]);
    bench.now_ns += 5 * MS;
    assert_eq!(callback(&mut bench, 100, Util::IoWake), 125, "starts again at 128");
    bench.now_ns += MS;
    assert_eq!(callback(&mut bench, 100, Util::IoWake), 250);
    bench.now_ns += 5 * MS;
    assert_eq!(callback(&mut bench, 100, Util::IoWake), 125, "and once more after a gap");
}

#[test]
fn t18_pelt() {
    let mut signal = Signal::zero(0);
    let mut seen = Vec::new();
    for n in 1..=345u64 {
        signal.update(n * WINDOW_NS, true);
        if [1, 2, 4, 8, 16, 32, 64, 96, 128, 256, 345].contains(&n) {
            seen.push(signal.util());
        }
    }
    assert_eq!(seen, [21, 43, 85, 163, 300, 512, 768, 896, 960, 1020, 1024]);
    let idle = [1, 8, 16, 32, 64, 128].map(|n| {
        let mut signal = signal;
        signal.update((345 + n) * WINDOW_NS, false);
        signal.util()
    });
    assert_eq!(idle, [1002, 861, 724, 512, 256, 64]);

    let mut signal = Signal::zero(0);
    let by_tick = [1u64, 2, 3, 4, 5, 6, 7, 8].map(|n| {
        signal.update(n * 4 * MS, true);
        signal.util()
    });
    assert_eq!(by_tick, [81, 156, 224, 288, 346, 400, 449, 495]);
}

#[test]
fn t18_pelt_through_the_queue() {
    let mut server = bench(&SRV);
    server.cpufreq.current(0, Some(1), 0);
    let mut seen = Vec::new();
    for n in 1..=8 {
        server.cpufreq.utilisation(0, n * 4 * MS, Util::Tick, &server.sums);
        seen.push(server.cpufreq.tracked_util(0));
    }
    assert_eq!(seen, [81, 156, 224, 288, 346, 400, 449, 495], "at the highest clock");
}

#[test]
fn a_busy_cpu_is_not_slowed_down() {
    let mut server = bench(&SRV);
    assert_eq!(at_util(&mut server, 1024), 2400);
    server.sums.fair_util = Some(300);
    let mut busy = |ms: u64| {
        server.now_ns = ms * MS;
        server.cpufreq.utilisation(0, server.now_ns, Util::Direct, &server.sums);
        server.run();
        server.mhz()
    };
    assert_eq!([busy(2), busy(3)], [2400, 2400]);
    assert_eq!(at_util(&mut server, 300), 1600, "has been idle");
}

#[test]
fn the_rate_limit_holds_and_limits_pass_it() {
    let mut server = Bench::new(config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Schedutil));
    assert_eq!(server.read_at("cpufreq/schedutil/rate_limit_us").unwrap(), "10000\n");
    server.now_ns = 100 * MS;
    assert_eq!(callback(&mut server, 300, Util::Direct), 1600);
    server.now_ns += 9 * MS;
    assert_eq!(callback(&mut server, 1024, Util::Direct), 1600, "too soon");
    server.now_ns += MS;
    assert_eq!(callback(&mut server, 1024, Util::Direct), 2400);
    server.write("scaling_max_freq", "2000000").unwrap();
    assert_eq!(server.mhz(), 2000);
    server.write("scaling_max_freq", "2400000").unwrap();
    server.now_ns += MS;
    assert_eq!(callback(&mut server, 1024, Util::Direct), 2400, "a change of limits counts at once");
    server.now_ns += MS;
    assert_eq!(callback(&mut server, 300, Util::Direct), 2400, "and only once");
}

#[test]
fn estimates_of_runnable_tasks_count_before_they_run() {
    let mut server = bench(&SRV);
    let go = |server: &mut Bench, task, from: u64, to: u64| {
        server.cpufreq.enqueued(0, task, from * MS);
        server.cpufreq.current(0, Some(task), from * MS);
        server.cpufreq.dequeued(0, task, true, to * MS);
        server.cpufreq.current(0, None, to * MS);
    };
    go(&mut server, 0, 0, 80);
    server.now_ns = 600 * MS;
    server.cpufreq.enqueued(0, 0, server.now_ns);
    server.cpufreq.current(0, Some(0), server.now_ns);
    server.cpufreq.utilisation(0, server.now_ns, Util::Enqueue, &server.sums);
    server.run();
    assert!(server.cpufreq.tracked_util(0) < 10, "the signal itself has decayed");
    assert_eq!(server.mhz(), 2400, "the task's estimate has not");
    server.cpufreq.dequeued(0, 0, false, server.now_ns);
    server.now_ns += 20 * MS;
    server.cpufreq.current(0, None, server.now_ns);
    server.cpufreq.utilisation(0, server.now_ns, Util::Direct, &server.sums);
    server.run();
    assert_eq!(server.mhz(), 1600, "gone with the task");
}

#[test]
fn a_boost_doubles_once_an_evaluation() {
    let mut board = config(KernelRules::V6_1, &OMAP, 125_000, Governor::Schedutil);
    board.hz = 100;
    let mut bench = Bench::new(board);
    bench.write_at("cpufreq/schedutil/rate_limit_us", "10000").unwrap();
    bench.now_ns = 1000 * MS;
    let mut chosen = Vec::new();
    for _ in 0..5 {
        chosen.push(callback(&mut bench, 100, Util::IoWake));
        bench.now_ns += 3 * MS;
    }
    assert_eq!(chosen, [125, 125, 125, 125, 250], "from 128 to 256 in five wake-ups");
}

/// Two CPUs in one domain under schedutil without a rate limit.
fn pair() -> Bench {
    let mut shared = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Schedutil);
    shared.policies[0].cpus = vec![0, 1];
    shared.possible_cpus = 2;
    let mut bench = Bench::new(shared);
    bench.write_at("cpufreq/schedutil/rate_limit_us", "0").unwrap();
    bench
}

/// Task 0 runs on `cpu` for this stretch, then sleeps.
fn activation(bench: &mut Bench, cpu: u32, from: u64, to: u64) {
    bench.cpufreq.enqueued(cpu, 0, from * MS);
    bench.cpufreq.current(cpu, Some(0), from * MS);
    bench.cpufreq.dequeued(cpu, 0, true, to * MS);
    bench.cpufreq.current(cpu, None, to * MS);
}

/// The clock when task 0 wakes on `cpu` with nothing else of late, MHz.
fn on_waking(bench: &mut Bench, cpu: u32, at: u64) -> u32 {
    bench.now_ns = at * MS;
    bench.cpufreq.enqueued(cpu, 0, bench.now_ns);
    bench.cpufreq.utilisation(cpu, bench.now_ns, Util::Direct, &bench.sums);
    bench.run();
    bench.mhz()
}

#[test]
fn a_task_that_wakes_elsewhere_has_slept_all_the_same() {
    let mut bench = pair();
    activation(&mut bench, 0, 0, 80);
    activation(&mut bench, 1, 600, 620);
    // 835, then 353 from nothing: 835 - 482 / 4 = 714, and a quarter on top.
    assert_eq!(on_waking(&mut bench, 1, 1200), 2133);
}

#[test]
fn what_ran_before_being_pushed_aside_counts() {
    let mut bench = pair();
    bench.cpufreq.enqueued(0, 0, 0);
    bench.cpufreq.current(0, Some(0), 0);
    bench.cpufreq.current(0, Some(1), 80 * MS);
    bench.cpufreq.dequeued(0, 0, true, 81 * MS);
    bench.cpufreq.current(0, None, 90 * MS);
    assert_eq!(on_waking(&mut bench, 0, 600), 2400);
}

#[test]
fn a_shared_domain_takes_the_most_demanding_cpu() {
    let mut shared = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Schedutil);
    shared.policies[0].cpus = vec![0, 1];
    shared.possible_cpus = 2;
    let mut bench = Bench::new(shared);
    bench.write_at("cpufreq/schedutil/rate_limit_us", "0").unwrap();
    bench.cpufreq.current(1, Some(7), 0);
    bench.now_ns = 200 * MS;
    bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
    bench.run();
    assert_eq!(bench.mhz(), 2400);
    bench.cpufreq.current(1, None, bench.now_ns);
    bench.now_ns += 200 * MS;
    bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
    bench.run();
    assert_eq!(bench.mhz(), 1600);
}

#[test]
fn other_classes_add_up() {
    let none = OtherClasses::default();
    assert_eq!(demand(300, &none, 1024), 300);
    assert_eq!(demand(300, &OtherClasses { rt_runnable: true, ..none }, 1024), 1024);
    assert_eq!(demand(300, &OtherClasses { irq: 512, ..none }, 1024), 150 + 512);
    assert_eq!(demand(300, &OtherClasses { rt: 100, dl_bandwidth: 50, ..none }, 1024), 450);
    assert_eq!(demand(300, &OtherClasses { dl: 724, ..none }, 1024), 1024);
}

#[test]
fn more_deadline_bandwidth_passes_the_rate_limit() {
    let mut server = Bench::new(config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Schedutil));
    server.now_ns = 100 * MS;
    assert_eq!(callback(&mut server, 300, Util::Direct), 1600);
    server.sums.other.dl_bandwidth = 400;
    server.now_ns += MS;
    assert_eq!(callback(&mut server, 300, Util::Direct), 2133);
    server.sums.other.dl_bandwidth = 0;
    server.now_ns += MS;
    assert_eq!(callback(&mut server, 300, Util::Direct), 2133, "less of it does not");
}

#[test]
fn without_invariance_the_present_clock_is_the_reference() {
    let mut config = config(KernelRules::V6_1, &SRV, 1_600_000, Governor::Schedutil);
    config.policies[0].invariant = false;
    let mut server = Bench::new(config);
    server.write_at("cpufreq/schedutil/rate_limit_us", "0").unwrap();
    server.now_ns = 100 * MS;
    assert_eq!(at_util(&mut server, 819), 1600, "80 % of the present clock is where it tips");
    assert_eq!(at_util(&mut server, 821), 1733);
    assert_eq!(at_util(&mut server, 1000), 2133, "from 1733");
    assert_eq!(at_util(&mut server, 500), 1600);
}

#[test]
fn fast_switching_is_immediate() {
    let mut fast = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Schedutil);
    fast.policies[0].fast_switch = true;
    let mut bench = Bench::new(fast);
    bench.now_ns = 50 * MS;
    bench.sums.fair_util = Some(300);
    bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
    assert_eq!(bench.cpufreq.khz(0), 1_600_000);
    assert_eq!(bench.changes()[0].at_ns, bench.now_ns);
}

#[test]
fn inefficient_entries_are_passed_over() {
    let steps = SRV.map(|khz| Step { khz, boost: false, inefficient: khz == 2_133_000 });
    let mut config = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Schedutil);
    config.policies[0].table = steps.to_vec();
    let mut bench = Bench::new(config);
    bench.now_ns = 50 * MS;
    assert_eq!(callback(&mut bench, 700, Util::Direct), 2267);
    let table = FrequencyTable::new(steps.to_vec(), KernelRules::V6_1).unwrap();
    assert_eq!(table.resolve(2_050_781, (0, 2_400_000), TableRelation::AtLeast, false), Some(2_133_000));
}
