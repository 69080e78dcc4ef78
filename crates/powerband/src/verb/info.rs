//! `info`: the machine as it is, part by part; how each part reads is in `info/`.
mod cpu;
mod idle;
mod lines;
mod meters;
mod net;
mod power;

use powerband_knob::look;
use powerband_machine::{Hold, Machine};
use powerband_record::{CpuList, Side};
use serde_json::{Value, json};

use crate::away;
use crate::cli::{Info, InfoPart, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::left;
use crate::output;
use crate::rig::{self, Purpose, Rig};
use lines::Lines;

/// One part, as text and as JSON.
struct Told {
    text: String,
    json: Value,
    /// What it was asked for by name and has not.
    lacks: Option<Failure>,
}

impl Told {
    fn of(lines: Lines, json: Value) -> Told {
        Told { text: lines.0, json, lacks: None }
    }
}

pub(crate) fn run(shared: &Shared, args: &Info) -> Answer {
    if args.probe.is_some() && args.part != Some(InfoPart::Net) {
        return Err(usage("--probe is for network devices; write `powerband info net --probe`"));
    }
    if args.measure && args.part != Some(InfoPart::Meters) {
        return Err(usage("--measure is for meters; write `powerband info meters --measure`"));
    }
    let purpose = if args.probe.is_some() { Purpose::Turn } else { Purpose::Look };
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, purpose)?;
    let identity = rig.world().machine(Side::Near).map(|machine| machine.identity().clone());
    let identity = identity.ok_or_else(|| Failure::new(Exit::CannotGoOn, "the machine is gone"))?;
    let mut text = format!("{}: {}\n", identity.name, identity.system);
    let mut all =
        json!({ "version": 1, "machine": identity.name, "system": identity.system, "privileged": identity.privileged });
    let mut lacks = None;
    let wanted = |part| args.part.is_none_or(|only| only == part);
    for (part, name) in PARTS {
        if !wanted(part) {
            continue;
        }
        let told = match &args.probe {
            Some(device) => probed(&mut rig, device.as_deref())?,
            None => tell(&mut rig, part, args, shared.cpus.as_ref())?,
        };
        text += &told.text;
        all[name] = told.json;
        lacks = lacks.or(told.lacks);
    }
    // What a lost machine does not answer is not what it is.
    rig::lost(rig.world()).map_or(Ok(()), Err)?;
    rig.kept().iter().for_each(|kept| forget_if_clean(&mut rig, kept));
    left::warn(&rig.kept());
    if shared.json {
        output::say_json(&all)?;
    } else {
        output::say(&text);
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

/// One part, of the CPUs in `narrow` alone if there is one.
fn tell(rig: &mut Rig, part: InfoPart, args: &Info, narrow: Option<&CpuList>) -> Result<Told, Failure> {
    let asked = args.part.is_some();
    let Some(machine) = rig.world().machine(Side::Near) else {
        return Ok(Told::of(Lines::default(), Value::Null));
    };
    match part {
        InfoPart::Meters => meters(rig, args.measure),
        InfoPart::Cpu => cpu(machine, narrow, asked),
        InfoPart::Idle => idle(machine, narrow),
        InfoPart::Power => power(machine, narrow),
        InfoPart::Net => Ok(net(machine)),
        InfoPart::Turned => Ok(turned(rig)),
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

/// CPUs and policies; that a machine has no cpufreq is an answer in the overview, and ends in failure when it was asked for
/// by name.
fn cpu(machine: &mut dyn Machine, narrow: Option<&CpuList>, asked: bool) -> Result<Told, Failure> {
    let cpus = look::cpus(machine, narrow).map_err(rig::knob_failure)?;
    let mut lines = Lines::default();
    cpu::all(&mut lines, &cpus, asked);
    let clocks = match look::clocks(machine, narrow) {
        Ok(found) => found,
        Err(error) => {
            let json = json!({ "online": cpus.online, "cpus": cpus, "absent": error.to_string() });
            if !asked {
                lines.say(0, &error.to_string());
            }
            lines.unread(&cpus.unread);
            return Ok(Told { lacks: asked.then(|| rig::knob_failure(error)), ..Told::of(lines, json) });
        }
    };
    cpu::policies(&mut lines, &clocks.policies, asked);
    if !clocks.offline.is_empty() {
        lines.say(0, &format!("offline: {}", clocks.offline.join(", ")));
    }
    lines.unread(&cpus.unread);
    lines.unread(&clocks.unread);
    let mut json = json!(clocks);
    json["online"] = json!(cpus.online);
    json["cpus"] = json!(cpus);
    Ok(Told::of(lines, json))
}

fn idle(machine: &mut dyn Machine, narrow: Option<&CpuList>) -> Result<Told, Failure> {
    let found = look::idle(machine, narrow).map_err(rig::knob_failure)?;
    let mut lines = Lines::default();
    idle::idle(&mut lines, &found);
    lines.unread(&found.unread);
    Ok(Told::of(lines, json!(found)))
}

fn power(machine: &mut dyn Machine, narrow: Option<&CpuList>) -> Result<Told, Failure> {
    let found = look::power(machine, narrow).map_err(rig::knob_failure)?;
    let mut lines = Lines::default();
    power::power(&mut lines, &found);
    lines.unread(&found.unread);
    Ok(Told::of(lines, json!(found)))
}

fn net(machine: &mut dyn Machine) -> Told {
    let found = look::devices(machine);
    let mut lines = Lines::default();
    net::net(&mut lines, &found);
    lines.unread(&found.unread);
    Told::of(lines, json!(found))
}

/// The network devices, and what probing their drivers finds.
fn probed(rig: &mut Rig, device: Option<&str>) -> Result<Told, Failure> {
    let Some(machine) = rig.world().machine(Side::Near) else { return Ok(Told::of(Lines::default(), Value::Null)) };
    let found = powerband_knob::probe(machine, device).map_err(rig::knob_failure)?;
    // Looked at afterwards, so that what is told is what is there again.
    let told = net(machine);
    let mut lines = Lines(told.text);
    net::probed(&mut lines, &found);
    let mut json = told.json;
    json["probed"] = json!(found);
    Ok(Told::of(lines, json))
}

/// What can be measured; with `measure`, also how it behaves for a while.
fn meters(rig: &mut Rig, measure: bool) -> Result<Told, Failure> {
    let world = rig.world();
    let found = world.machine(Side::Near).map(powerband_meter::find_all).unwrap_or_default();
    let heard = if measure { meters::listen(world, &found.meters)? } else { Vec::new() };
    let mut lines = Lines::default();
    meters::meters(&mut lines, &found, &heard);
    let mut json = json!(found);
    if measure {
        json["measured"] = json!(heard);
    }
    Ok(Told::of(lines, json))
}

fn turned(rig: &mut Rig) -> Told {
    let (mut lines, mut rows) = (Lines::default(), Vec::new());
    for side in [Side::Near, Side::Far] {
        let entries = rig.world().machine(side).map(|machine| left::in_force(machine)).unwrap_or_default();
        let there = if side == Side::Far { "far/" } else { "" };
        for entry in entries.into_iter().filter(|entry| left::tells(&entry.turn)) {
            let turn = &entry.turn;
            let (held_by, how) = match turn.hold {
                Hold::Held => left::holder_words(rig.kept_of(side)),
                Hold::Set => (None, "set; `powerband undo` takes it back".into()),
            };
            lines.row(&format!("turned: {there}{} at {} to {} ({how})", turn.knob, turn.site, turn.asked));
            let mut row = json!(entry);
            row["held_by"] = json!(held_by);
            rows.push(row);
        }
    }
    if lines.0.is_empty() {
        lines.row("nothing is turned");
    }
    Told::of(lines, json!(rows))
}
