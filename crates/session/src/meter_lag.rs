//! How late meters are: a load of ours that goes on and off on every CPU, and what they showed meanwhile.
use powerband_machine::{Job, Machine, ProcessId, Wake, World};
use powerband_meter::{MeterInstance, Wave, lag_ns};
use powerband_record::{CpuList, Side, Work};
use powerband_rig::RigError;

use crate::SessionError;
use crate::meter_reader::MeterReader;

/// How often meters are read, ns.
const LOOK_NS: u64 = 50_000_000;

/// How late each of a machine's meters is, ns, or why that is not known.
///
/// # Errors
/// When the load cannot be started, or a stop or the loss of a machine came between.
pub(crate) fn estimate(
    world: &mut dyn World,
    side: Side,
    meters: &[MeterInstance],
) -> Result<Vec<Result<u64, String>>, SessionError> {
    let mut load = Load { running: Vec::new(), on: Vec::new() };
    let machine = machine(world, side)?;
    // The parts of a sum come from one driver.
    let parts = meters.iter().filter_map(|meter| meter.read().first().cloned());
    let mut watched: Vec<MeterReader> = parts.map(|meter| MeterReader::open(machine, meter)).collect();
    let done = drive(world, side, &mut load, &mut watched);
    if let Some(machine) = world.machine(side) {
        for &process in &load.running {
            machine.end(process, true);
        }
        watched.iter().for_each(|it| it.close(machine));
    }
    done?;
    let lag = |it: MeterReader| {
        it.handles?;
        lag_ns(&it.meter, &it.read, &load.on).map_err(|error| error.to_string())
    };
    Ok(watched.into_iter().map(lag).collect())
}

/// The load.
struct Load {
    running: Vec<ProcessId>,
    /// When it was on, ns of the world's clock.
    on: Vec<(u64, u64)>,
}

fn machine(world: &mut dyn World, side: Side) -> Result<&mut dyn Machine, SessionError> {
    world.machine(side).ok_or_else(|| RigError::Gone.into())
}

/// Reads all the while, and starts the load when it is due.
fn drive(world: &mut dyn World, side: Side, load: &mut Load, watched: &mut [MeterReader]) -> Result<(), SessionError> {
    let began_ns = world.now_ns();
    let mut due = Wave::on_ns().iter();
    let mut next = due.next();
    loop {
        let now_ns = world.now_ns();
        if let Some(&(from_ns, until_ns)) = next.filter(|(from_ns, _)| now_ns >= began_ns + from_ns) {
            let for_ns = until_ns - from_ns;
            load.start(machine(world, side)?, for_ns)?;
            load.on.push((now_ns, now_ns + for_ns));
            next = due.next();
        }
        let machine = machine(world, side)?;
        watched.iter_mut().for_each(|it| it.look(machine, now_ns));
        if now_ns >= began_ns + Wave::length_ns() {
            return Ok(());
        }
        let until_ns = now_ns + LOOK_NS;
        while world.now_ns() < until_ns {
            match world.wait(Some(until_ns)) {
                Wake::Ended(_, process) => load.running.retain(|running| *running != process),
                Wake::Stop(_) => return Err(SessionError::Stopped("stopped; nothing was changed")),
                Wake::Lost(_, why) => return Err(SessionError::Aborted(why.to_string())),
                _ => {}
            }
        }
    }
}

impl Load {
    /// One counter on each CPU that is in service.
    fn start(&mut self, machine: &mut dyn Machine, for_ns: u64) -> Result<(), SessionError> {
        let online = powerband_sysfs::topology::online(machine).unwrap_or_else(|| CpuList::new(vec![0]));
        for &cpu in online.as_slice() {
            let work = Work::Counter { for_ns, align_to_second: false };
            let cpus = Some(CpuList::new(vec![cpu]));
            let job = Job { work, cpus, group: None, user: None, output_limit: Some(0), around: Vec::new() };
            let process = machine.spawn(&job).map_err(|error| SessionError::LoadFailed(error.to_string()))?;
            self.running.push(process);
        }
        Ok(())
    }
}
