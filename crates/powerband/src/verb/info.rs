//! `info`: the machine as it is, part by part; how each part reads is in `info/`.
mod cpu;
mod idle;
mod lines;
mod meters;
mod net;
mod power;

use powerband_knob::look;
use powerband_machine::{Hold, Identity, Machine, OpenEntry};
use powerband_record::{CpuList, Side, placed};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::away;
use crate::cli::{Info, InfoPart, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::left;
use crate::output;
use crate::rig::{self, Purpose, Rig};
use lines::Lines;

/// One part as it was found.
#[derive(Serialize)]
#[serde(untagged)]
enum Part {
    Cpu(Box<Cpu>),
    Idle(look::Idle),
    Power(look::Power),
    Net(Net),
    Meters(Meters),
    Turned(Vec<TurnedRow>),
}

/// CPUs and policies.
#[derive(Serialize)]
struct Cpu {
    #[serde(flatten)]
    clocks: Option<look::Clocks>,
    online: String,
    cpus: look::Cpus,
    /// Why there are no policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
}

/// Network devices, and what probing their drivers found.
#[derive(Serialize)]
struct Net {
    #[serde(flatten)]
    devices: look::Devices,
    #[serde(skip_serializing_if = "Option::is_none")]
    probed: Option<Vec<powerband_knob::Probed>>,
}

/// Meters, and what was heard of those that were listened to.
#[derive(Serialize)]
struct Meters {
    #[serde(flatten)]
    found: powerband_meter::Inventory,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Vec<meters::Heard>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lags: Option<Vec<meters::Lag>>,
}

/// A knob that is turned.
#[derive(Serialize)]
struct TurnedRow {
    #[serde(flatten)]
    entry: OpenEntry,
    held_by: Option<u32>,
    /// Its line for people.
    #[serde(skip)]
    line: String,
}

/// The machine and its parts, as they are printed.
struct All {
    identity: Identity,
    parts: Vec<(&'static str, Part)>,
}

impl Serialize for All {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &1)?;
        map.serialize_entry("machine", &self.identity.name)?;
        map.serialize_entry("system", &self.identity.system)?;
        map.serialize_entry("privileged", &self.identity.privileged)?;
        for (name, part) in &self.parts {
            map.serialize_entry(name, part)?;
        }
        map.end()
    }
}

pub(crate) fn run(shared: &Shared, args: &Info) -> Answer {
    if args.probe.is_some() && args.part != Some(InfoPart::Net) {
        return Err(usage("--probe is for network devices; write `powerband info net --probe`"));
    }
    if args.measure && args.part != Some(InfoPart::Meters) {
        return Err(usage("--measure is for meters; write `powerband info meters --measure`"));
    }
    if args.lag && args.part != Some(InfoPart::Meters) {
        return Err(usage("--lag is for meters; write `powerband info meters --lag`"));
    }
    let purpose = if args.probe.is_some() || args.lag { Purpose::Turn } else { Purpose::Look };
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, purpose)?;
    let identity = rig.world().machine(Side::Near).map(|machine| machine.identity().clone());
    let identity = identity.ok_or_else(|| Failure::new(Exit::CannotGoOn, "the machine is gone"))?;
    let mut all = All { identity, parts: Vec::new() };
    let mut lacks = None;
    let wanted = |part| args.part.is_none_or(|only| only == part);
    for (part, name) in PARTS.into_iter().filter(|(part, _)| wanted(*part)) {
        let (found, lack) = find(&mut rig, part, args, shared.cpus.as_ref())?;
        all.parts.push((name, found));
        // That a machine has no cpufreq is an answer in the overview, and a failure when it was asked for by name.
        lacks = lacks.or(lack.filter(|_| args.part.is_some()));
    }
    // What a lost machine does not answer is not what it is.
    rig::lost(rig.world()).map_or(Ok(()), Err)?;
    rig.kept().iter().for_each(|kept| forget_if_clean(&mut rig, kept));
    left::warn(&rig.kept());
    if shared.json {
        output::say_json(&all)?;
    } else {
        let mut lines = Lines::default();
        lines.row(&format!("{}: {}", all.identity.name, all.identity.system));
        all.parts.iter().for_each(|(_, part)| tell(&mut lines, part, args.part.is_some()));
        output::say(&lines.0);
    }
    lacks.map_or(Ok(Exit::Fine as u8), Err)
}

/// In the order they are told.
const PARTS: [(InfoPart, &str); 6] = [
    (InfoPart::Cpu, "cpu"),
    (InfoPart::Idle, "idle"),
    (InfoPart::Power, "power"),
    (InfoPart::Net, "net"),
    (InfoPart::Meters, "meters"),
    (InfoPart::Turned, "turned"),
];

/// One part, of the CPUs in `narrow` alone if there is one, and what it has not.
fn find(
    rig: &mut Rig,
    part: InfoPart,
    args: &Info,
    narrow: Option<&CpuList>,
) -> Result<(Part, Option<Failure>), Failure> {
    match part {
        InfoPart::Turned => return Ok((Part::Turned(turned(rig)), None)),
        InfoPart::Meters => return Ok((Part::Meters(meters(rig, args)?), None)),
        _ => {}
    }
    let machine = rig.world().machine(Side::Near);
    let machine = machine.ok_or_else(|| Failure::new(Exit::CannotGoOn, "the machine is gone"))?;
    let found = match part {
        InfoPart::Cpu => return cpu(machine, narrow),
        InfoPart::Idle => Part::Idle(look::idle(machine, narrow).map_err(rig::knob_failure)?),
        InfoPart::Power => Part::Power(look::power(machine, narrow).map_err(rig::knob_failure)?),
        InfoPart::Net | InfoPart::Meters | InfoPart::Turned => Part::Net(net(machine, args)?),
    };
    Ok((found, None))
}

/// One part in words; `asked`: it was asked for by name.
fn tell(lines: &mut Lines, part: &Part, asked: bool) {
    match part {
        Part::Cpu(found) => tell_cpu(lines, found, asked),
        Part::Idle(found) => {
            idle::idle(lines, found);
            lines.unread(&found.unread);
        }
        Part::Power(found) => {
            power::power(lines, found);
            lines.unread(&found.unread);
        }
        Part::Net(found) => {
            net::net(lines, &found.devices);
            lines.unread(&found.devices.unread);
            if let Some(probed) = &found.probed {
                net::probed(lines, probed);
            }
        }
        Part::Meters(Meters { found, measured, lags }) => {
            let (measured, lags) = (measured.as_deref().unwrap_or_default(), lags.as_deref().unwrap_or_default());
            meters::meters(lines, found, measured, lags);
            lines.unread(&found.unread);
        }
        Part::Turned(rows) if rows.is_empty() => lines.row("nothing is turned"),
        Part::Turned(rows) => rows.iter().for_each(|row| lines.row(&row.line)),
    }
}

/// Whoever has looked need not be warned of what is not there.
fn forget_if_clean(rig: &mut Rig, kept: &left::Kept) {
    let Some(there) = &kept.away else { return };
    let holds = |machine: &mut dyn Machine| !left::held(machine).is_empty();
    if !rig.world().machine(kept.side).is_none_or(holds) && !rig::is_lost(rig.world(), kept.side) {
        away::forget(&there.machine);
    }
}

fn cpu(machine: &mut dyn Machine, narrow: Option<&CpuList>) -> Result<(Part, Option<Failure>), Failure> {
    let cpus = look::cpus(machine, narrow).map_err(rig::knob_failure)?;
    let (clocks, lack) = match look::clocks(machine, narrow) {
        Ok(found) => (Some(found), None),
        Err(error) => (None, Some(error)),
    };
    let absent = lack.as_ref().map(ToString::to_string);
    let found = Cpu { clocks, online: cpus.online.clone(), cpus, absent };
    Ok((Part::Cpu(Box::new(found)), lack.map(rig::knob_failure)))
}

fn tell_cpu(lines: &mut Lines, found: &Cpu, asked: bool) {
    cpu::all(lines, &found.cpus, asked);
    if let Some(clocks) = &found.clocks {
        cpu::policies(lines, &clocks.policies, asked);
        if !clocks.offline.is_empty() {
            lines.say(0, &format!("offline: {}", clocks.offline.join(", ")));
        }
    }
    if let (Some(absent), false) = (&found.absent, asked) {
        lines.say(0, absent);
    }
    lines.unread(&found.cpus.unread);
    lines.unread(found.clocks.as_ref().map_or(&[][..], |clocks| &clocks.unread));
}

fn net(machine: &mut dyn Machine, args: &Info) -> Result<Net, Failure> {
    let probe = |device: &Option<String>| powerband_knob::probe(machine, device.as_deref()).map_err(rig::knob_failure);
    let probed = args.probe.as_ref().map(probe).transpose()?;
    // Looked at afterwards, so that what is told is what is there again.
    Ok(Net { devices: look::devices(machine), probed })
}

/// What can be measured; with `measure`, also how it behaves for a while.
fn meters(rig: &mut Rig, args: &Info) -> Result<Meters, Failure> {
    let world = rig.world();
    let found = world.machine(Side::Near).map(powerband_meter::find_all).unwrap_or_default();
    let measured = if args.measure { Some(meters::listen(world, &found.meters)?) } else { None };
    let lags = if args.lag { Some(meters::lags(world, &found.meters)?) } else { None };
    Ok(Meters { found, measured, lags })
}

fn turned(rig: &mut Rig) -> Vec<TurnedRow> {
    let mut rows = Vec::new();
    for side in [Side::Near, Side::Far] {
        let entries = rig.world().machine(side).map(|machine| left::in_force(machine)).unwrap_or_default();
        let there = if side == Side::Far { "far/" } else { "" };
        for entry in entries.into_iter().filter(|entry| left::tells(&entry.turn)) {
            let turn = &entry.turn;
            let (held_by, how) = match turn.hold {
                Hold::Held => left::holder_words(rig.kept_of(side)),
                Hold::Set => (None, "set; `powerband undo` takes it back".into()),
            };
            let line = format!("turned: {there}{} to {} ({how})", placed(&turn.knob, &turn.site), turn.asked);
            rows.push(TurnedRow { entry, held_by, line });
        }
    }
    rows
}
