//! Energy adds up: what the meter shows at the end is the sum over states of power × time, computed here apart.
use powerband_machine::{Finished, Job, Sample, Sampling, World};
use powerband_record::{Demand, Side, Work};
use powerband_sim::SimWorld;

use crate::rig::{SECOND, alone, counter, fix, governor, job, quiet, read, run, spawn, until_ended};

const METER: &str = "/sys/kernel/powerband/energy_uj";

fn microjoules(world: &mut powerband_sim::SimWorld) -> f64 {
    read(world, METER).trim().parse().unwrap()
}

/// Running power and leakage of the OMAP at a clock, W, from the formulas.
fn omap_w(mhz: f64, volts: f64) -> (f64, f64) {
    let leakage = 0.040 * volts * f64::exp(2.0 * (volts - 1.2));
    (0.70e-9 * volts * volts * mhz * 1e6, leakage)
}

#[test]
fn a_running_and_a_sleeping_core() {
    let mut world = alone(quiet("omap3530"));
    fix(&mut world, 0, 600_000);
    let (began, before) = (world.now_ns(), microjoules(&mut world));
    run(&mut world, &counter(3 * SECOND));
    let between = microjoules(&mut world);
    let (dynamic, leakage) = omap_w(600.0, 1.35);
    assert!(((between - before) / 1e6 / (3.0 * (1.5 + dynamic + leakage)) - 1.0).abs() < 1e-4);
    assert_eq!(world.now_ns(), began + 3 * SECOND);
    world.wait(Some(began + 5 * SECOND));
    let idle_w = 1.5 + 0.5 * leakage;
    let shallow = 30e-6 * (0.3 * dynamic + leakage) + 270e-6 * (0.15 * dynamic + leakage) - 300e-6 * 0.5 * leakage;
    assert!(((microjoules(&mut world) - between) / 1e6 - (2.0 * idle_w + shallow)).abs() < 1e-4);
    assert_eq!(read(&mut world, "/sys/kernel/powerband/boundary"), "modelled\n");
}

#[test]
fn what_is_read_around_work_on_either_machine_is_what_that_machine_drew() {
    let mut world = SimWorld::new(quiet("omap3530"), Some(quiet("omap3530")), 1).unwrap();
    fix(&mut world, 0, 600_000);
    // Long enough for the far core to be in its deepest sleep.
    let began = world.now_ns() + SECOND;
    while world.now_ns() < began {
        world.wait(Some(began));
    }
    let mut start = |side: Side, job: &Job| {
        let handles = vec![world.machine(side).unwrap().open(METER).unwrap()];
        let around = vec![Sampling { handles, period_ns: None }];
        spawn(&mut world, side, &Job { around, ..job.clone() })
    };
    let busy = start(Side::Near, &counter(3 * SECOND));
    let idle = start(Side::Far, &job(Work::Idle { for_ns: 2 * SECOND }));
    let joules = |finished: &Finished, seconds: u64| {
        let [first, last] = finished.around[0].as_slice() else { panic!("{:?}", finished.around) };
        assert_eq!((first.at_ns, last.at_ns), (began, began + seconds * SECOND), "its own stretch");
        let uj = |sample: &Sample| sample.texts[0].as_ref().unwrap().trim().parse::<f64>().unwrap();
        (uj(last) - uj(first)) / 1e6
    };
    let idled = joules(&until_ended(&mut world, Side::Far, idle), 2);
    let worked = joules(&until_ended(&mut world, Side::Near, busy), 3);
    let (dynamic, leakage) = omap_w(600.0, 1.35);
    assert!((worked / (3.0 * (1.5 + dynamic + leakage)) - 1.0).abs() < 1e-4, "{worked}");
    assert!((idled / (2.0 * (1.5 + 0.5 * leakage)) - 1.0).abs() < 1e-4, "{idled}");
}

#[test]
fn every_state_adds_its_power_times_its_time() {
    let mut world = alone(quiet("omap3530"));
    fix(&mut world, 0, 125_000);
    let (mut expected, before) = (0.0, microjoules(&mut world));
    for (khz, volts) in [(250_000, 1.075), (500_000, 1.2), (550_000, 1.27), (600_000, 1.35), (125_000, 0.975)] {
        let began = world.now_ns();
        fix(&mut world, 0, khz);
        run(&mut world, &counter(SECOND));
        let idle = world.now_ns() + SECOND;
        while world.now_ns() < idle {
            world.wait(Some(idle));
        }
        let (dynamic, leakage) = omap_w(f64::from(khz) / 1e3, volts);
        let seconds = (world.now_ns() - began) as f64 / 1e9;
        let shallow = 30e-6 * (0.3 * dynamic + 0.5 * leakage) + 270e-6 * (0.15 * dynamic + 0.5 * leakage);
        expected += 1.5 * seconds + dynamic + leakage + (seconds - 1.0) * 0.5 * leakage + shallow;
    }
    let found = (microjoules(&mut world) - before) / 1e6;
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} against {expected}");
}

#[test]
fn time_in_state_times_power_is_the_energy_under_ondemand() {
    let mut world = alone(quiet("omap3530"));
    governor(&mut world, 0, "ondemand");
    let demand = Demand { cycles: 90_000_000, memory_share: 0.0, sleep_ns: 400_000_000, repeat: 20 };
    let work = job(Work::modelled(vec!["bursts".into()], demand));
    let id = spawn(&mut world, Side::Near, &work);
    let (mut bound_low, mut bound_high) = (0.0, 0.0);
    let done = until_ended(&mut world, Side::Near, id);
    let states = read(&mut world, "/sys/devices/system/cpu/cpu0/cpufreq/stats/time_in_state");
    let volts = [0.975, 1.075, 1.2, 1.27, 1.35];
    for (line, volts) in states.lines().zip(volts) {
        let (khz, units) = line.split_once(' ').unwrap();
        let (mhz, seconds) = (khz.parse::<f64>().unwrap() / 1e3, units.parse::<f64>().unwrap() / 100.0);
        let (dynamic, leakage) = omap_w(mhz, volts);
        bound_low += seconds * 0.5 * leakage;
        bound_high += seconds * (dynamic + leakage);
    }
    let seconds = world.now_ns() as f64 / 1e9;
    let busy = done.usage.user_ns as f64 / 1e9;
    let core = microjoules(&mut world) / 1e6 - 1.5 * seconds;
    assert!(busy > 3.0 && busy < seconds * 0.8, "{busy} of {seconds}");
    assert!(core > bound_low && core < bound_high, "{bound_low} < {core} < {bound_high}");
}

#[test]
fn a_quad_core_at_full_load_draws_what_its_file_says() {
    let mut world = alone(quiet("quadcore"));
    let mut ids = Vec::new();
    for cpu in 0..4 {
        governor(&mut world, cpu, "performance");
    }
    world.wait(Some(SECOND));
    let before = microjoules(&mut world);
    for cpu in 0..4 {
        let mut counter = counter(2 * SECOND);
        counter.cpus = Some(powerband_record::CpuList::new(vec![cpu]));
        ids.push(spawn(&mut world, Side::Near, &counter));
    }
    until_ended(&mut world, Side::Near, ids[0]);
    let core = 1.722e-9 * 1.1 * 1.1 * 2.4e9;
    let watts = (microjoules(&mut world) - before) / 2e6;
    assert!((watts / (80.0 + 8.0 + 4.0 * core) - 1.0).abs() < 1e-3, "{watts}");
}
