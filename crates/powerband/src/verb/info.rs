//! `info`: the machine as it is, part by part.
use powerband_knob::look::text::Lines;
use powerband_knob::look::{self, text};
use powerband_machine::{Change, Hold, Identity, Look, Machine, OpenEntry};
use powerband_record::{CpuList, Side, placed};
use powerband_rig::LedgerLocation;
use powerband_rig::leftovers::{self, HeldBy};
use powerband_session::meters;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Info, InfoPart, Shared};
use crate::corrected::on_these_machines;
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output::{self, Document};
use crate::rig::{self, Purpose, Rig};

/// A machine as it is; a part that was not asked for is left out.
#[derive(Serialize, JsonSchema)]
pub(crate) struct All {
    /// As it is named on the command line: `local`, `sim:omap3530`, `ssh:HOST`.
    machine: String,
    /// Kernel release, or the rules a simulated machine follows and the nearest published kernel.
    system: String,
    /// Whether the caller may write what only root may.
    privileged: bool,
    /// CPUs and policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<Cpu>,
    /// Idle states.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<look::Idle>,
    /// Limits of power and heat.
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<look::Power>,
    /// Network devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    net: Option<Net>,
    /// Meters.
    #[serde(skip_serializing_if = "Option::is_none")]
    meters: Option<Meters>,
    /// What is turned.
    #[serde(skip_serializing_if = "Option::is_none")]
    turned: Option<Vec<TurnedRow>>,
}

/// CPUs and policies.
#[derive(Serialize, JsonSchema)]
struct Cpu {
    /// Absent where there is no cpufreq.
    #[serde(flatten)]
    clocks: Option<look::PolicyFrequencies>,
    /// CPUs in service.
    online: String,
    /// What is known of CPUs.
    cpus: look::Cpus,
    /// Why there are no policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
}

/// Network devices, and what probing their drivers found.
#[derive(Serialize, JsonSchema)]
struct Net {
    /// What is there.
    #[serde(flatten)]
    devices: look::Devices,
    /// Each device that was probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    probed: Option<Vec<powerband_knob::Probed>>,
}

/// Meters, and what was heard of those that were listened to.
#[derive(Serialize, JsonSchema)]
struct Meters {
    /// What is there and what is not.
    #[serde(flatten)]
    found: powerband_meter::Inventory,
    /// Each meter, read for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Vec<meters::Heard>>,
    /// How late each meter is.
    #[serde(skip_serializing_if = "Option::is_none")]
    lags: Option<Vec<meters::Lag>>,
}

/// A knob that is turned.
#[derive(Serialize, JsonSchema)]
struct TurnedRow {
    /// As the ledger has it.
    #[serde(flatten)]
    entry: OpenEntry,
    /// The process that holds it, until it ends; null where `set` has turned it.
    held_by: Option<u32>,
    /// Its line for people.
    #[serde(skip)]
    line: String,
}

impl Document for All {
    const KIND: &'static str = "info";
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
    let mut rig = rig::open(shared, purpose)?;
    let mut all = All::of(rig.machine(Side::Near)?.identity().clone());
    let mut lacks = None;
    for part in PARTS.into_iter().filter(|part| args.part.is_none_or(|only| only == *part)) {
        let lack = find(&mut all, &mut rig, part, args, shared)?;
        // That a machine has no cpufreq is an answer in the overview, and a failure when it was asked for by name.
        lacks = lacks.or(lack.filter(|_| args.part.is_some()));
    }
    // What a lost machine does not answer is not what it is.
    rig::check_lost(rig.world())?;
    rig.forget_clean();
    leftovers::report(&rig.ledgers(), &mut output::note);
    if shared.json {
        output::print_document(&all)?;
    } else {
        let mut lines = Lines::default();
        lines.row(&format!("{}: {}", all.machine, all.system));
        all.tell(&mut lines, args.part.is_some());
        output::print(lines.text());
    }
    lacks.map_or(Ok(Exit::Fine as u8), Err)
}

/// In the order they are told.
const PARTS: [InfoPart; 6] =
    [InfoPart::Cpu, InfoPart::Idle, InfoPart::Power, InfoPart::Net, InfoPart::Meters, InfoPart::Turned];

/// Finds one part, of the CPUs that the options pick; answers what the machine has not.
fn find(
    all: &mut All,
    rig: &mut Rig,
    part: InfoPart,
    args: &Info,
    shared: &Shared,
) -> Result<Option<Failure>, Failure> {
    let narrow = shared.cpus.as_ref();
    match part {
        InfoPart::Turned => all.turned = Some(turned(rig, shared)),
        InfoPart::Meters => all.meters = Some(meters(rig, args)?),
        InfoPart::Cpu => {
            let (found, lack) = cpu(near(rig)?, narrow)?;
            all.cpu = Some(found);
            return Ok(lack);
        }
        InfoPart::Idle => all.idle = Some(look::idle(near(rig)?, narrow)?),
        InfoPart::Power => all.power = Some(look::power(near(rig)?, narrow)?),
        InfoPart::Net => all.net = Some(net(near(rig)?, args)?),
    }
    Ok(None)
}

fn near(rig: &mut Rig) -> Result<&mut dyn Machine, Failure> {
    Ok(rig.machine(Side::Near)?)
}

impl All {
    /// A machine of which no part was looked at.
    fn of(identity: Identity) -> Self {
        All {
            machine: identity.name,
            system: identity.system,
            privileged: identity.privileged,
            cpu: None,
            idle: None,
            power: None,
            net: None,
            meters: None,
            turned: None,
        }
    }

    /// The parts in words; `asked`: one was asked for by name.
    fn tell(&self, lines: &mut Lines, asked: bool) {
        if let Some(found) = &self.cpu {
            tell_cpu(lines, found, asked);
        }
        if let Some(found) = &self.idle {
            text::idle(lines, found);
            lines.unread(&found.unread);
        }
        if let Some(found) = &self.power {
            text::power(lines, found);
            lines.unread(&found.unread);
        }
        if let Some(found) = &self.net {
            text::devices(lines, &found.devices);
            lines.unread(&found.devices.unread);
            if let Some(probed) = &found.probed {
                text::probed(lines, probed);
            }
        }
        if let Some(Meters { found, measured, lags }) = &self.meters {
            let (measured, lags) = (measured.as_deref().unwrap_or_default(), lags.as_deref().unwrap_or_default());
            meters::text(lines, found, measured, lags);
            lines.unread(&found.unread);
        }
        match self.turned.as_deref() {
            Some([]) => lines.row("nothing is changed"),
            rows => rows.unwrap_or_default().iter().for_each(|row| lines.row(&row.line)),
        }
    }
}

fn cpu(machine: &mut dyn Look, narrow: Option<&CpuList>) -> Result<(Cpu, Option<Failure>), Failure> {
    let cpus = look::cpus(machine, narrow)?;
    let (clocks, lack) = match look::clocks(machine, narrow) {
        Ok(found) => (Some(found), None),
        Err(error) => (None, Some(error)),
    };
    let absent = lack.as_ref().map(ToString::to_string);
    let found = Cpu { clocks, online: cpus.online.clone(), cpus, absent };
    Ok((found, lack.map(Failure::from)))
}

fn tell_cpu(lines: &mut Lines, found: &Cpu, asked: bool) {
    text::cpus(lines, &found.cpus, asked);
    if let Some(clocks) = &found.clocks {
        text::policies(lines, &clocks.policies, asked);
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

fn net(machine: &mut dyn Change, args: &Info) -> Result<Net, Failure> {
    let probe = |device: &Option<String>| powerband_knob::probe(machine, device.as_deref());
    let probed = args.probe.as_ref().map(probe).transpose()?;
    // Looked at afterwards, so that what is told is what is there again.
    Ok(Net { devices: look::devices(machine), probed })
}

/// What can be measured; with `measure`, also how it behaves for a while.
fn meters(rig: &mut Rig, args: &Info) -> Result<Meters, Failure> {
    let world = rig.world();
    let found = world.machine(Side::Near).map(|machine| powerband_meter::find_all(machine)).unwrap_or_default();
    let measured = if args.measure { Some(meters::listen(world, &found.meters)?) } else { None };
    let lags = if args.lag { Some(meters::lags(world, &found.meters)?) } else { None };
    Ok(Meters { found, measured, lags })
}

/// How an entry that is held is told of: by whom, if its owner lives.
fn held_by(ledger: Option<&LedgerLocation>) -> (Option<u32>, String) {
    match ledger.map_or(HeldBy::Nobody, LedgerLocation::held_by) {
        HeldBy::There(held) => (None, format!("held there: {held}")),
        HeldBy::Here(Some(pid)) => (Some(pid), format!("held by powerband {pid}")),
        HeldBy::Here(None) => (None, "held by another powerband".into()),
        HeldBy::Nobody => (None, "left by an interrupted powerband; `powerband undo --left` restores it".into()),
    }
}

fn turned(rig: &mut Rig, shared: &Shared) -> Vec<TurnedRow> {
    let mut rows = Vec::new();
    for side in [Side::Near, Side::Far] {
        let entries = rig.world().machine(side).map(leftovers::in_force).unwrap_or_default();
        let there = side.prefix();
        for entry in entries.into_iter().filter(|entry| leftovers::is_requested(&entry.turn)) {
            let turn = &entry.turn;
            let (held_by, how) = match turn.hold {
                Hold::Held => held_by(rig.ledger_of(side)),
                Hold::Set => (None, "set; `powerband undo` restores it".into()),
            };
            let how = on_these_machines(&how, shared);
            let line = format!("changed: {there}{} to {} ({how})", placed(&turn.knob, &turn.site), turn.asked);
            rows.push(TurnedRow { entry, held_by, line });
        }
    }
    rows
}
