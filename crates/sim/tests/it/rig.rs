//! A small rig for the tests: worlds, turning, running one job, the router's transfer.
use powerband_machine::{Action, Before, CpuQuota, Finished, Hold, Job, ProcessId, Turn, Wake, World};
use powerband_record::{CpuList, Side, Work};
use powerband_sim::{Profile, SimWorld};
use serde_json::Value;

pub(crate) const SECOND: u64 = 1_000_000_000;

/// A built-in machine without its noise.
pub(crate) fn quiet(name: &str) -> Profile {
    let mut profile = Profile::builtin(name).unwrap();
    profile.noise.sigma = 0.0;
    profile.noise.link_sigma = 0.0;
    profile.noise.rtt_sigma = 0.0;
    (profile.noise.interrupt_us, profile.noise.wake_us, profile.noise.late_share) = (0.0, 0.0, 0.0);
    profile
}

pub(crate) fn alone(profile: Profile) -> SimWorld {
    SimWorld::new(profile, None, 1).unwrap()
}

pub(crate) fn router(seed: u64, noisy: bool) -> SimWorld {
    let machine = |name| if noisy { Profile::builtin(name).unwrap() } else { quiet(name) };
    SimWorld::new(machine("omap3530"), Some(machine("pc")), seed).unwrap()
}

pub(crate) fn turn(path: &str, text: &str, hold: Hold) -> Turn {
    Turn {
        action: Action::WriteFile { path: path.into(), text: text.into() },
        undo: None,
        hold,
        knob: "test".into(),
        site: String::new(),
        asked: text.into(),
        before: Before::Unknown,
        read_back: Some(path.into()),
        step: None,
        moves: std::collections::BTreeMap::new(),
    }
}

/// Writes a file; what it reads back.
pub(crate) fn write(world: &mut SimWorld, path: &str, text: &str) -> Result<String, powerband_machine::Errno> {
    let acted = world.machine(Side::Near).unwrap().act(&turn(path, text, Hold::Held)).unwrap();
    acted.errno.map_or(Ok(acted.reads_back.unwrap_or_default()), Err)
}

pub(crate) fn read(world: &mut SimWorld, path: &str) -> String {
    world.machine(Side::Near).unwrap().read(path).unwrap()
}

pub(crate) fn cpufreq(cpu: u32, file: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}")
}

pub(crate) fn governor(world: &mut SimWorld, cpu: u32, name: &str) {
    assert_eq!(write(world, &cpufreq(cpu, "scaling_governor"), name).unwrap(), name);
}

/// Pins a CPU's clock through the userspace governor and lets the change come to its end.
pub(crate) fn fix(world: &mut SimWorld, cpu: u32, khz: u32) {
    governor(world, cpu, "userspace");
    write(world, &cpufreq(cpu, "scaling_setspeed"), &khz.to_string()).unwrap();
    let settled = world.now_ns() + SECOND / 100;
    assert_eq!(world.wait(Some(settled)), Wake::Deadline);
    assert_eq!(read(world, &cpufreq(cpu, "scaling_cur_freq")).trim(), khz.to_string());
}

pub(crate) fn job(work: Work) -> Job {
    Job { work, cpus: None, group: None, user: None, output_limit: Some(1 << 16), around: Vec::new() }
}

pub(crate) fn counter(for_ns: u64) -> Job {
    Job { cpus: Some(CpuList::new(vec![0])), ..job(Work::Counter { for_ns, align_to_second: false }) }
}

pub(crate) fn spawn(world: &mut SimWorld, side: Side, job: &Job) -> ProcessId {
    world.machine(side).unwrap().spawn(job).unwrap()
}

pub(crate) fn until_ended(world: &mut SimWorld, side: Side, id: ProcessId) -> Finished {
    for _ in 0..10_000 {
        match world.wait(None) {
            Wake::Ended(_, ended) if ended == id => return world.machine(side).unwrap().finished(id).unwrap(),
            Wake::Ended(..) | Wake::Said(..) => {}
            other => panic!("{other:?}"),
        }
    }
    panic!("it does not end");
}

/// Waits for a process of the near machine that may have ended while another was waited for.
pub(crate) fn until_told(world: &mut SimWorld, id: ProcessId) -> Finished {
    for _ in 0..10_000 {
        if let Some(done) = world.machine(Side::Near).unwrap().finished(id) {
            return done;
        }
        world.wait(None);
    }
    panic!("it does not end");
}

pub(crate) fn run(world: &mut SimWorld, job: &Job) -> Finished {
    let id = spawn(world, Side::Near, job);
    until_ended(world, Side::Near, id)
}

pub(crate) fn count(finished: &Finished) -> f64 {
    let report = finished.report.as_ref().unwrap();
    report["count"].as_u64().unwrap() as f64
}

pub(crate) fn quota(millionths: u64) -> CpuQuota {
    CpuQuota { millionths }
}

/// What both ends of one transfer report.
pub(crate) struct Transfer {
    pub(crate) sender: Finished,
    pub(crate) receiver: Finished,
}

impl Transfer {
    pub(crate) fn of(finished: &Finished, key: &str) -> f64 {
        finished.report.as_ref().unwrap()[key].as_f64().unwrap()
    }

    pub(crate) fn mbit_s(&self) -> f64 {
        Self::of(&self.sender, "bytes") * 8e-6 / Self::of(&self.sender, "seconds")
    }

    pub(crate) fn share(finished: &Finished) -> f64 {
        100.0 * Self::of(finished, "cpu_seconds") / Self::of(finished, "seconds")
    }
}

/// A bulk transfer from `from` to the near machine.
pub(crate) fn transfer(world: &mut SimWorld, from: Side, for_ns: u64) -> Transfer {
    transfer_in(world, from, for_ns, None)
}

/// A bulk transfer in segments of a size.
pub(crate) fn transfer_in(world: &mut SimWorld, from: Side, for_ns: u64, segment_bytes: Option<u32>) -> Transfer {
    let listen = job(Work::StreamReceive { address: "near".into(), port: 0 });
    let receiver = spawn(world, Side::Near, &listen);
    let Wake::Said(Side::Near, id, Value::Object(said)) = world.wait(None) else { panic!("not ready") };
    assert_eq!(id, receiver);
    let port = u16::try_from(said["ready"]["port"].as_u64().unwrap()).unwrap();
    let address = "near".to_owned();
    let send = job(Work::StreamSend {
        address,
        port,
        for_ns,
        rtt_exchanges: 11,
        window_bytes: None,
        segment_bytes,
        write_bytes: None,
    });
    let sender = spawn(world, from, &send);
    let (mut sent, mut received) = (None, None);
    while sent.is_none() || received.is_none() {
        match world.wait(None) {
            Wake::Ended(side, id) if id == sender => sent = world.machine(side).unwrap().finished(id),
            Wake::Ended(side, id) if id == receiver => received = world.machine(side).unwrap().finished(id),
            other => panic!("{other:?}"),
        }
    }
    Transfer { sender: sent.unwrap(), receiver: received.unwrap() }
}
