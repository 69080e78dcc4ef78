//! How many events a second the whole model handles on one core, compared with a bare event queue.
//!
//! `bench-simulator [--json] [--seconds VIRTUAL]`: one run of two machines under ondemand with sleepers, spinners, a group
//! with a quota and a stream between them; then a queue alone with as many events planned; both in this process. That queue
//! is the standard library's heap by time, class and order, and not the model's own: it stays the same when that gets faster.
#![expect(clippy::print_stdout, reason = "a benchmark prints its result")]
#![expect(clippy::print_stderr, reason = "and its complaints")]
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;
use std::time::Instant;

use powerband_machine::{Action, Before, CpuQuota, Hold, Job, Turn, Wake, World};
use powerband_record::{CpuList, Demand, Side, Work};
use powerband_sim::{Profile, SimWorld};

const SECOND_NS: u64 = 1_000_000_000;

/// Events planned at once in a machine of four busy CPUs.
const PLANNED: u64 = 24;

fn job(work: Work, cpus: Option<CpuList>, group: Option<&str>) -> Job {
    Job { work, cpus, group: group.map(str::to_owned), user: None, output_limit: Some(0), around: Vec::new() }
}

fn turn(action: Action) -> Turn {
    Turn {
        action,
        undo: None,
        hold: Hold::Held,
        knob: "bench".into(),
        site: String::new(),
        asked: String::new(),
        before: Before::Unknown,
        read_back: None,
        step: None,
        moves: std::collections::BTreeMap::new(),
    }
}

/// Two machines with everything the model has at work, and the virtual time at which it all ends.
fn busy_world(for_ns: u64) -> Result<SimWorld, Box<dyn std::error::Error>> {
    let mut world = SimWorld::new(Profile::builtin("pc")?, Some(Profile::builtin("omap3530")?), 1)?;
    let near = world.machine(Side::Near).ok_or("no machine")?;
    for cpu in 0..4 {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        near.act(&turn(Action::WriteFile { path, text: "ondemand".into() }))?;
    }
    let quota = CpuQuota { millionths: 300_000 };
    near.act(&turn(Action::MakeGroup { group: "bench".into(), quota }))?;
    near.spawn(&job(Work::Counter { for_ns, align_to_second: false }, Some(CpuList::new(vec![0])), None))?;
    near.spawn(&job(Work::Counter { for_ns, align_to_second: false }, None, Some("bench")))?;
    for number in 0..12 {
        let cycles = 60_000 + 37_000 * number;
        let demand = Demand { cycles, memory_share: 0.2, sleep_ns: 90_000 + 11_000 * number, repeat: u32::MAX };
        let work = Work::modelled(vec!["sleeper".into()], demand);
        near.spawn(&job(work, None, None))?;
    }
    near.spawn(&job(Work::StreamReceive { address: "near".into(), port: 5001 }, None, None))?;
    let send = Work::StreamSend {
        address: "near".into(),
        port: 5001,
        for_ns,
        rtt_exchanges: 10,
        window_bytes: None,
        segment_bytes: None,
        write_bytes: None,
    };
    world.machine(Side::Far).ok_or("no machine")?.spawn(&job(send, None, None))?;
    Ok(world)
}

/// Events a second of the whole model, and how many there were.
fn model_rate(for_ns: u64) -> Result<(f64, u64), Box<dyn std::error::Error>> {
    let mut world = busy_world(for_ns)?;
    let began = Instant::now();
    while world.wait(Some(for_ns)) != Wake::Deadline {}
    Ok((world.events() as f64 / began.elapsed().as_secs_f64(), world.events()))
}

/// Pairs of pop and push a second of a queue alone.
fn queue_rate(pairs: u64) -> f64 {
    let mut queue: BinaryHeap<Reverse<(u64, u64, u64)>> =
        (0..PLANNED).map(|number| Reverse((number * 1_000, number, number))).collect();
    let began = Instant::now();
    let mut state = 1_u64;
    for order in PLANNED..PLANNED + pairs {
        if let Some(Reverse((at_ns, _, event))) = queue.pop() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            queue.push(Reverse((at_ns + (state >> 44), (event % 3) << 48 | order, event)));
        }
    }
    pairs as f64 / began.elapsed().as_secs_f64()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let seconds = arguments.iter().position(|argument| argument == "--seconds");
    let seconds = seconds.and_then(|place| arguments.get(place + 1)?.parse().ok()).unwrap_or(60_u64);
    let (model, events) = match model_rate(seconds.saturating_mul(SECOND_NS)) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("the benchmark cannot run: {error}");
            return ExitCode::FAILURE;
        }
    };
    let queue = queue_rate(events);
    if json {
        let result = serde_json::json!({
            "events": events,
            "model_events_per_s": model,
            "queue_pairs_per_s": queue,
            "ratio": model / queue,
        });
        println!("{result}");
    } else {
        println!("whole model  {:8.2} million events/s  ({events} events)", model / 1e6);
        println!("bare queue   {:8.2} million pop and push/s", queue / 1e6);
        println!("ratio        {:8.3}", model / queue);
    }
    ExitCode::SUCCESS
}
