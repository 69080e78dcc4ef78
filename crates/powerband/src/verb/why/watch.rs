//! `why --watch`: every change of the knobs as it happens, and who made it.
use powerband_knob::machines_of;
use powerband_machine::{Wake, World};
use powerband_persist::{KnobChange, KnobWatch};
use powerband_record::{KnobRef, Side, Writer, parse_duration_ns};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Shared, WhyKnob};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output::{self, Document};
use crate::rig::{self, Purpose, Rig};

/// How often everything is read again, for what the kernel changes by itself and for who cannot be seen, ns.
const LOOK_NS: u64 = 1_000_000_000;

/// How long after the first write the knobs are read: programs write several in a row, and empty a file before they
/// write it, ns.
const GATHER_NS: u64 = 20_000_000;

/// One change, on a line of its own.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Changed {
    /// When, Unix ms.
    at_unix_ms: u64,
    /// On which machine.
    side: Side,
    /// What was changed, and by whom.
    #[serde(flatten)]
    change: KnobChange,
}

impl Document for Changed {
    const KIND: &'static str = "why-watch";
}

pub(super) fn run(shared: &Shared, args: &WhyKnob) -> Answer {
    let length_ns = args.length.as_deref().map(parse_duration_ns).transpose();
    let length_ns = length_ns.map_err(|error| usage(format!("--for: {error}")))?;
    let knobs = args.knobs.iter().map(|name| KnobRef::parse(name)).collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let names = rig::names(shared);
    names.changed_by_others()?;
    let mut rig = rig::open(shared, Purpose::Look)?;
    let mut watches = begin(shared, &mut rig, &knobs)?;
    introduce(&watches);
    let until_ns = length_ns.map(|length_ns| rig.world().now_ns().saturating_add(length_ns));
    loop {
        let ended = gather(rig.world(), until_ns);
        if !tell(shared, &mut rig, &mut watches)? {
            return Ok(Exit::Fine as u8);
        }
        if let Some(exit) = ended {
            rig::check_lost(rig.world())?;
            return Ok(exit as u8);
        }
    }
}

/// On each machine that is meant.
fn begin(shared: &Shared, rig: &mut Rig, knobs: &[KnobRef]) -> Result<Vec<(Side, KnobWatch)>, Failure> {
    let mut watches = Vec::new();
    for knob in knobs {
        machines_of(knob, rig.world())?;
    }
    for side in rig::ends_or_list(rig.world()) {
        let wanted: Vec<KnobRef> = knobs.iter().filter(|knob| knob.side.covers(side)).cloned().collect();
        if wanted.is_empty() && !knobs.is_empty() {
            continue;
        }
        let Some(machine) = rig.world().machine(side) else {
            match wanted.first() {
                Some(knob) => return Err(rig::no_far(&knob.name)),
                None => continue,
            }
        };
        let watch = KnobWatch::begin(machine, &wanted, &rig::selection(shared)?)?;
        watches.push((side, watch));
    }
    rig::check_lost(rig.world())?;
    if watches.iter().all(|(_, watch)| watch.counts().1 == 0) {
        let sentence =
            "there is nothing to watch here; `powerband doctor` says why, and `sysctl.…` or `file:PATH` can be named";
        return Err(Failure::new(Exit::Unsupported, sentence));
    }
    Ok(watches)
}

fn introduce(watches: &[(Side, KnobWatch)]) {
    for (side, watch) in watches {
        let whose = if *side == Side::Near { String::new() } else { format!(" of the {}", side.words()) };
        let (knobs, places) = watch.counts();
        output::note(format!(
            "watching {knobs} knob{}{whose} at {places} place{}; times are UTC, Ctrl-C ends it",
            if knobs == 1 { "" } else { "s" },
            if places == 1 { "" } else { "s" },
        ));
        if let Some(why) = &watch.unseen {
            output::note(format!(
                "it cannot be seen who writes{whose}: {why}; the knobs are read every second instead"
            ));
        }
    }
}

/// Waits for somebody's writes or the next look; answers how to end, if that is asked.
fn gather(world: &mut dyn World, until_ns: Option<u64>) -> Option<Exit> {
    let mut look_ns = world.now_ns().saturating_add(LOOK_NS);
    loop {
        let wake_ns = until_ns.map_or(look_ns, |until_ns| until_ns.min(look_ns));
        match world.wait(Some(wake_ns)) {
            Wake::Deadline => return until_ns.filter(|&until_ns| until_ns <= wake_ns).map(|_| Exit::Fine),
            Wake::Wrote(_) => look_ns = look_ns.min(world.now_ns().saturating_add(GATHER_NS)),
            Wake::Stop(_) => return Some(Exit::Stopped),
            Wake::Lost(..) => return Some(Exit::CannotGoOn),
            _ => {}
        }
    }
}

/// Looks, and prints what is new; answers whether anybody reads it.
fn tell(shared: &Shared, rig: &mut Rig, watches: &mut [(Side, KnobWatch)]) -> Result<bool, Failure> {
    for (side, watch) in watches {
        let Some(machine) = rig.world().machine(*side) else { continue };
        for change in watch.look(machine) {
            let at_unix_ms = powerband_host::unix_time_ms().saturating_sub(change.ago_ns / 1_000_000);
            let line = if shared.json {
                output::document_line(&Changed { at_unix_ms, side: *side, change })?
            } else {
                words(*side, at_unix_ms, &change, watch)
            };
            if !output::print_line(&line) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// `23:40:07.113 cpufreq.governor@policy0: ondemand → performance, by pid 4711 (tuned, tuned.service)`.
fn words(side: Side, at_unix_ms: u64, change: &KnobChange, watch: &KnobWatch) -> String {
    let what = what_changed(side, at_unix_ms, change);
    let by: Vec<String> = change.by.iter().map(Writer::to_string).collect();
    let who = match (by.is_empty(), &watch.unseen) {
        (false, _) => format!(", by {}", by.join(" and ")),
        (true, None) => ", and no program was seen writing it".to_owned(),
        (true, Some(_)) => String::new(),
    };
    what + &who
}

/// The same without who made it.
pub(crate) fn what_changed(side: Side, at_unix_ms: u64, change: &KnobChange) -> String {
    let (seconds, ms) = (at_unix_ms / 1000 % 86_400, at_unix_ms % 1000);
    let time = format!("{:02}:{:02}:{:02}.{ms:03}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let far = side.prefix();
    let (old, new) = &change.shown;
    let what = if change.is_same() { format!("{new}, written again") } else { format!("{old} → {new}") };
    format!("{time} {far}{}@{}: {what}", change.knob, change.site)
}
