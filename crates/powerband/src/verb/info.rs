//! `info`: the machine as it is, part by part; how each part reads is in `info/`.
mod cpu;
mod idle;
mod lines;
mod net;
mod power;

use powerband_knob::look;
use powerband_machine::{Hold, Machine};
use powerband_record::{CpuList, Side};
use serde_json::{Value, json};

use crate::away;
use crate::cli::{Info, InfoPart, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::left;
use crate::output;
use crate::rig::{self, Purpose, Rig};
use lines::Lines;

/// One part, as text and as JSON.
struct Told {
    text: String,
    json: Value,
}

pub(crate) fn run(shared: &Shared, args: &Info) -> Answer {
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, Purpose::Look)?;
    let identity = rig.world().machine(Side::Near).map(|machine| machine.identity().clone());
    let identity = identity.ok_or_else(|| Failure::new(Exit::CannotGoOn, "the machine is gone"))?;
    let mut text = format!("{}: {}\n", identity.name, identity.system);
    let mut all =
        json!({ "version": 1, "machine": identity.name, "system": identity.system, "privileged": identity.privileged });
    let wanted = |part| args.part.is_none_or(|only| only == part);
    for (part, name) in PARTS {
        if !wanted(part) {
            continue;
        }
        let told = tell(&mut rig, part, shared.cpus.as_ref(), args.part.is_some())?;
        text += &told.text;
        all[name] = told.json;
    }
    // What a lost machine does not answer is not what it is.
    rig::lost(rig.world()).map_or(Ok(()), Err)?;
    rig.kept().iter().for_each(|kept| forget_if_clean(&mut rig, kept));
    left::warn(&rig.kept());
    if shared.json {
        return output::say_json(&all);
    }
    output::say(&text);
    Ok(Exit::Fine as u8)
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

/// One part, of the CPUs in `narrow` alone if there is one; `asked`: it was asked for by name.
fn tell(rig: &mut Rig, part: InfoPart, narrow: Option<&CpuList>, asked: bool) -> Result<Told, Failure> {
    let Some(machine) = rig.world().machine(Side::Near) else {
        return Ok(Told { text: String::new(), json: Value::Null });
    };
    match part {
        InfoPart::Cpu => cpu(machine, narrow, asked),
        InfoPart::Idle => idle(machine, narrow),
        InfoPart::Power => power(machine, narrow),
        InfoPart::Net => Ok(net(machine)),
        InfoPart::Meters => Ok(meters(machine)),
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

/// CPUs and policies; a machine without cpufreq is an answer in the overview and a failure when it was asked for by name.
fn cpu(machine: &mut dyn Machine, narrow: Option<&CpuList>, asked: bool) -> Result<Told, Failure> {
    let cpus = look::cpus(machine, narrow).map_err(rig::knob_failure)?;
    let mut lines = Lines::default();
    cpu::all(&mut lines, &cpus, asked);
    let clocks = match look::clocks(machine, narrow) {
        Ok(found) => found,
        Err(error) if asked => return Err(rig::knob_failure(error)),
        Err(error) => {
            lines.say(0, &error.to_string());
            lines.unread(&cpus.unread);
            let json = json!({ "online": cpus.online, "cpus": cpus, "absent": error.to_string() });
            return Ok(Told { text: lines.0, json });
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
    Ok(Told { text: lines.0, json })
}

fn idle(machine: &mut dyn Machine, narrow: Option<&CpuList>) -> Result<Told, Failure> {
    let found = look::idle(machine, narrow).map_err(rig::knob_failure)?;
    let mut lines = Lines::default();
    idle::idle(&mut lines, &found);
    lines.unread(&found.unread);
    Ok(Told { text: lines.0, json: json!(found) })
}

fn power(machine: &mut dyn Machine, narrow: Option<&CpuList>) -> Result<Told, Failure> {
    let found = look::power(machine, narrow).map_err(rig::knob_failure)?;
    let mut lines = Lines::default();
    power::power(&mut lines, &found);
    lines.unread(&found.unread);
    Ok(Told { text: lines.0, json: json!(found) })
}

fn net(machine: &mut dyn Machine) -> Told {
    let found = look::devices(machine);
    let mut lines = Lines::default();
    net::net(&mut lines, &found);
    lines.unread(&found.unread);
    Told { text: lines.0, json: json!(found) }
}

fn meters(machine: &mut dyn Machine) -> Told {
    let found = powerband_meter::find_all(machine);
    let mut lines = Lines::default();
    for meter in &found.meters {
        lines.say(0, &format!("meter: {} covers {}, read from {}", meter.meter, meter.boundary, meter.source));
    }
    for absent in &found.absent {
        lines.say(0, &format!("no {} meter: {}", absent.meter, absent.why));
    }
    Told { text: lines.0, json: json!(found) }
}

fn turned(rig: &mut Rig) -> Told {
    let (mut text, mut rows) = (String::new(), Vec::new());
    for side in [Side::Near, Side::Far] {
        let entries = rig.world().machine(side).map(|machine| left::in_force(machine)).unwrap_or_default();
        let there = if side == Side::Far { "far/" } else { "" };
        for entry in entries.into_iter().filter(|entry| left::tells(&entry.turn)) {
            let turn = &entry.turn;
            let (held_by, how) = match turn.hold {
                Hold::Held => left::holder_words(rig.kept_of(side)),
                Hold::Set => (None, "set; `powerband undo` takes it back".into()),
            };
            text += &format!("turned: {there}{} at {} to {} ({how})\n", turn.knob, turn.site, turn.asked);
            let mut row = json!(entry);
            row["held_by"] = json!(held_by);
            rows.push(row);
        }
    }
    if text.is_empty() {
        text = "nothing is turned\n".into();
    }
    Told { text, json: json!(rows) }
}
