//! `info`: the machine as it is, its CPUs and clocks, its meters, what is turned.
use powerband_machine::{Hold, Machine};
use powerband_record::{CpuList, Side, format_duration, format_khz};
use serde_json::{Value, json};

use crate::away;
use crate::cli::{Info, InfoPart, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::left;
use crate::output;
use crate::rig::{self, Purpose, Rig};

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
    for (part, name) in [(InfoPart::Cpu, "cpu"), (InfoPart::Meters, "meters"), (InfoPart::Turned, "turned")] {
        if !wanted(part) {
            continue;
        }
        let told = match part {
            InfoPart::Cpu => cpu(&mut rig, args.part.is_some())?,
            InfoPart::Meters => meters(&mut rig),
            InfoPart::Turned => turned(&mut rig),
        };
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

/// Whoever has looked need not be warned of what is not there.
fn forget_if_clean(rig: &mut Rig, kept: &left::Kept) {
    let Some(there) = &kept.away else { return };
    let holds = |machine: &mut dyn Machine| !left::held(machine).is_empty();
    if !rig.world().machine(kept.side).is_none_or(holds) && !rig::is_lost(rig.world(), kept.side) {
        away::forget(&there.machine);
    }
}

/// Policies; a machine without cpufreq is an answer in the overview and a failure when it was asked for by name.
fn cpu(rig: &mut Rig, asked: bool) -> Result<Told, Failure> {
    let Some(machine) = rig.world().machine(Side::Near) else {
        return Ok(Told { text: String::new(), json: Value::Null });
    };
    let online = online(machine);
    let (policies, offline) = match powerband_knob::cpufreq(machine) {
        Ok(found) => found,
        Err(error) if asked => return Err(rig::knob_failure(error)),
        Err(error) => {
            return Ok(Told {
                text: format!("CPUs online: {online}\n{error}\n"),
                json: json!({ "online": online, "absent": error.to_string() }),
            });
        }
    };
    let mut text = format!("CPUs online: {online}\n");
    let khz = |value: Option<u32>| value.map_or_else(|| "?".into(), format_khz);
    for info in &policies {
        let or = |value: &Option<String>| value.clone().unwrap_or_else(|| "?".into());
        text += &format!(
            "{} (cpus {}): {}, governor {}\n",
            info.policy.name,
            info.policy.cpus,
            or(&info.driver),
            or(&info.governor)
        );
        text += &format!("    now {}, limits {} .. {}", khz(info.current_khz), khz(info.min_khz), khz(info.max_khz));
        text += &format!(", hardware {} .. {}\n", khz(info.lowest_khz), khz(info.highest_khz));
        if !info.steps_khz.is_empty() {
            text += &format!(
                "    steps {}\n",
                info.steps_khz.iter().map(|&khz| format_khz(khz)).collect::<Vec<_>>().join(", ")
            );
        }
        text += &format!("    governors {}", info.available_governors.join(", "));
        text += &info.latency_ns.map(|ns| format!("; a change takes {}", format_duration(ns))).unwrap_or_default();
        text += "\n";
    }
    if !offline.is_empty() {
        text += &format!("offline: {}\n", offline.join(", "));
    }
    Ok(Told { text, json: json!({ "online": online, "policies": policies, "offline": offline }) })
}

/// As the kernel lists them; early 2.6 lists none, and each CPU's folder tells.
fn online(machine: &mut dyn Machine) -> String {
    const CPU: &str = "/sys/devices/system/cpu";
    if let Ok(list) = machine.read(&format!("{CPU}/online")) {
        return list.trim().to_owned();
    }
    let names = machine.list(CPU).unwrap_or_default().into_iter().map(|entry| entry.name);
    let all: Vec<u32> = names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    let is_off = |cpu: u32, machine: &mut dyn Machine| {
        machine.read(&format!("{CPU}/cpu{cpu}/online")).is_ok_and(|text| text.trim() == "0")
    };
    CpuList::new(all.into_iter().filter(|&cpu| !is_off(cpu, machine)).collect()).to_string()
}

fn meters(rig: &mut Rig) -> Told {
    let Some(machine) = rig.world().machine(Side::Near) else { return Told { text: String::new(), json: Value::Null } };
    let found = powerband_meter::find_all(machine);
    let mut text = String::new();
    for meter in &found.meters {
        text += &format!("meter: {} covers {}, read from {}\n", meter.meter, meter.boundary, meter.source);
    }
    text.extend(found.absent.iter().map(|absent| format!("no {} meter: {}\n", absent.meter, absent.why)));
    Told { text, json: json!(found) }
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
