//! Random lives of two machines: whatever is started, ended, throttled, turned off or cut, the sums stay right.
use powerband_machine::{Action, Coalescing, Hold, ProcessId, Turn, World};
use powerband_record::{Arrivals, CpuList, Demand, Protocol, Side, Work};
use powerband_sim::{Profile, RanksSpec, SimWorld};
use proptest::prelude::*;

use crate::rig::{job, quota, turn};

#[derive(Clone, Debug)]
enum Deed {
    Count { cpu: u32, group: bool, for_ns: u64 },
    Demand { cycles: u64, sleep_ns: u64, group: bool },
    Ranks { ranks: u32, group: bool },
    Listen,
    Send { far: bool, for_ns: u64 },
    Echo,
    Ping { far: bool, for_ns: u64, rate: u32 },
    Coalesce { usecs: u32 },
    Kill { which: usize },
    Online { cpu: u32, online: bool },
    Group { make: bool, millionths: u64 },
    Governor { cpu: u32, name: &'static str },
    Wait { ns: u64 },
}

fn deed() -> impl Strategy<Value = Deed> {
    let names = prop::sample::select(vec!["ondemand", "conservative", "schedutil", "powersave", "performance"]);
    prop_oneof![
        (0_u32..5, any::<bool>(), 0_u64..80_000_000).prop_map(|(cpu, group, for_ns)| Deed::Count {
            cpu,
            group,
            for_ns
        }),
        (0_u64..90_000_000, 0_u64..9_000_000, any::<bool>()).prop_map(|(cycles, sleep_ns, group)| Deed::Demand {
            cycles,
            sleep_ns,
            group
        }),
        (1_u32..5, any::<bool>()).prop_map(|(ranks, group)| Deed::Ranks { ranks, group }),
        Just(Deed::Listen),
        (any::<bool>(), 0_u64..60_000_000).prop_map(|(far, for_ns)| Deed::Send { far, for_ns }),
        Just(Deed::Echo),
        (any::<bool>(), 0_u64..60_000_000, 1_u32..20_000).prop_map(|(far, for_ns, rate)| Deed::Ping {
            far,
            for_ns,
            rate
        }),
        prop::sample::select(vec![0, 3, 5, 10, 300, 10_000]).prop_map(|usecs| Deed::Coalesce { usecs }),
        (0_usize..12).prop_map(|which| Deed::Kill { which }),
        (1_u32..4, any::<bool>()).prop_map(|(cpu, online)| Deed::Online { cpu, online }),
        (any::<bool>(), 0_u64..3_000_000).prop_map(|(make, millionths)| Deed::Group { make, millionths }),
        (0_u32..4, names).prop_map(|(cpu, name)| Deed::Governor { cpu, name }),
        (0_u64..50_000_000).prop_map(|ns| Deed::Wait { ns }),
    ]
}

fn act(world: &mut SimWorld, action: Action) {
    let turn = Turn { action, read_back: None, ..turn("/", "", Hold::Held) };
    world.machine(Side::Near).unwrap().act(&turn).unwrap();
}

fn write(world: &mut SimWorld, path: String, text: &str) {
    act(world, Action::WriteFile { path, text: text.into() });
}

fn wait(world: &mut SimWorld, ns: u64) {
    let until = world.now_ns() + ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

fn start(
    world: &mut SimWorld,
    side: Side,
    work: Work,
    cpu: Option<u32>,
    group: bool,
    ids: &mut Vec<(Side, ProcessId)>,
) {
    let mut job = job(work);
    job.cpus = cpu.map(|cpu| CpuList::new(vec![cpu]));
    job.group = group.then(|| "g".into());
    if let Ok(id) = world.machine(side).unwrap().spawn(&job) {
        ids.push((side, id));
    }
}

fn perform(world: &mut SimWorld, deed: Deed, ids: &mut Vec<(Side, ProcessId)>) {
    let cpus = "/sys/devices/system/cpu";
    match deed {
        Deed::Count { cpu, group, for_ns } => {
            let cpu = (cpu < 4).then_some(cpu);
            start(world, Side::Near, Work::Counter { for_ns, align_to_second: false }, cpu, group, ids);
        }
        Deed::Demand { cycles, sleep_ns, group } => {
            let demand = Demand { cycles, memory_share: 0.25, sleep_ns, repeat: 4 };
            let work = Work::modelled(vec!["x".into()], demand);
            start(world, Side::Near, work, None, group, ids);
        }
        Deed::Ranks { ranks, group } => {
            let primes = Work::Primes { ranks: Some(ranks), limit: 200_000, mpirun: false, among: None };
            start(world, Side::Near, primes, None, group, ids);
        }
        Deed::Listen => {
            start(world, Side::Near, Work::StreamReceive { address: "near".into(), port: 0 }, None, false, ids);
        }
        Deed::Send { far, for_ns } => {
            let send = Work::StreamSend {
                address: "near".into(),
                port: 5001,
                for_ns,
                rtt_exchanges: 3,
                window_bytes: None,
                segment_bytes: None,
                write_bytes: None,
            };
            start(world, if far { Side::Far } else { Side::Near }, send, None, false, ids);
        }
        Deed::Echo => {
            let echo = Work::Echo { protocol: Protocol::Udp, address: "near".into(), port: 0 };
            start(world, Side::Near, echo, None, false, ids);
        }
        Deed::Ping { far, for_ns, rate } => {
            let ping = Work::Ping {
                protocol: Protocol::Udp,
                address: "near".into(),
                port: 5001,
                for_ns,
                rate_per_s: f64::from(rate),
                arrivals: Arrivals::Exponential,
                seed: for_ns,
                size_bytes: 56,
            };
            start(world, if far { Side::Far } else { Side::Near }, ping, None, false, ids);
        }
        Deed::Coalesce { usecs } => {
            let values = Coalescing([("rx-usecs".to_owned(), usecs)].into());
            act(world, Action::Coalesce { device: "eth0".into(), values });
        }
        Deed::Kill { which } => {
            if let Some(&(side, id)) = ids.get(which) {
                world.machine(side).unwrap().end(id, which % 2 == 0);
            }
        }
        Deed::Online { cpu, online } => write(world, format!("{cpus}/cpu{cpu}/online"), if online { "1" } else { "0" }),
        Deed::Group { make: true, millionths } => {
            act(world, Action::MakeGroup { group: "g".into(), quota: quota(millionths) });
        }
        Deed::Group { make: false, .. } => act(world, Action::RemoveGroup { group: "g".into() }),
        Deed::Governor { cpu, name } => write(world, format!("{cpus}/cpu{cpu}/cpufreq/scaling_governor"), name),
        Deed::Wait { ns } => wait(world, ns),
    }
}

/// Time each online CPU has been accounted for, in units of 10 ms, and energy, µJ.
fn sums(world: &mut SimWorld) -> (Vec<u64>, u64) {
    let near = world.machine(Side::Near).unwrap();
    let stat = near.read("/proc/stat").unwrap();
    let cpus = stat.lines().skip(1).filter(|line| line.starts_with("cpu"));
    let all = cpus.map(|line| line.split(' ').skip(1).map(|n| n.parse::<u64>().unwrap()).sum()).collect();
    (all, near.read("/sys/kernel/powerband/energy_uj").unwrap().trim().parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_time_is_accounted_for(
        near in prop::sample::select(vec!["pc", "quadcore", "laptop", "board"]),
        deeds in prop::collection::vec(deed(), 1..40),
    ) {
        let [mut near, far] = [near, "omap3530"].map(|name| Profile::builtin(name).unwrap());
        near.ranks = Some(RanksSpec {
            threads: 2,
            start_ns: 3_000_000,
            start_cycles: 100_000,
            millicycles_per_division: 60_000,
            stay_ns: 5_000_000,
        });
        let mut world = SimWorld::new(near, Some(far), 3).unwrap();
        let (mut ids, mut energy_before) = (Vec::new(), 0);
        for deed in deeds {
            perform(&mut world, deed, &mut ids);
            let (cpus, energy) = sums(&mut world);
            let units = world.now_ns() / 10_000_000;
            prop_assert!(cpus.iter().all(|&sum| sum <= units && sum + 4 >= units), "{cpus:?} at {units}");
            prop_assert!(energy >= energy_before);
            energy_before = energy;
        }
        for cpu in 1..4 {
            write(&mut world, format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1");
        }
        // Everything but receivers nobody calls, a group without quota and their like ends in time.
        for &(side, id) in &ids {
            world.machine(side).unwrap().end(id, true);
        }
        wait(&mut world, 1_000_000_000);
        for (side, id) in ids {
            prop_assert!(world.machine(side).unwrap().finished(id).is_some());
        }
        let before = world.events();
        wait(&mut world, 3_600_000_000_000);
        prop_assert!(world.events() - before < 1_000, "an idle hour cost {} events", world.events() - before);
    }
}
