//! Hearing the physical witnesses of what was set, for a moment: frequencies of the CPUs, watts of the power zones.
use powerband_knob::{Applied, Witness};
use powerband_machine::{Machine, Wake, World};
use powerband_meter::{Wrap, advance_uj};
use powerband_record::{Side, format_duration, format_number};
use powerband_sysfs::parsed;

/// How long a moment is, ns.
const MOMENT_NS: u64 = 50_000_000;

/// More than any package draws, W: a counter that came round twice in a moment would have had to draw more.
const AT_MOST_W: u32 = 2_000;

/// The witnesses of a setting, from the beginning of the moment on.
pub struct Witnesses {
    began_ns: u64,
    sides: Vec<(Side, Witness, Vec<Zone>)>,
}

/// A power zone under a limit that was set.
struct Zone {
    limit: String,
    folder: String,
    limit_uw: u64,
    energy_uj: u64,
}

impl Witnesses {
    /// Begins to look.
    pub fn begin(world: &mut dyn World, applied: &[(Side, Applied)]) -> Self {
        let mut sides = Vec::new();
        for (side, applied) in applied {
            let Some(machine) = world.machine(*side) else { continue };
            let (witness, zones) = (Witness::begin(machine, applied), zones(machine, applied));
            if !(witness.is_empty() && zones.is_empty()) {
                sides.push((*side, witness, zones));
            }
        }
        Witnesses { began_ns: world.now_ns(), sides }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sides.is_empty()
    }

    /// When the moment is over, ns.
    #[must_use]
    pub fn until_ns(&self) -> u64 {
        self.began_ns + MOMENT_NS
    }

    /// What they say.
    pub fn tell(&self, world: &mut dyn World) -> Vec<(Side, String)> {
        let now_ns = world.now_ns();
        let mut told = Vec::new();
        for (side, witness, zones) in &self.sides {
            let Some(machine) = world.machine(*side) else { continue };
            told.extend(witness.tell(machine).into_iter().map(|words| (*side, words)));
            let watts = zones.iter().filter_map(|zone| zone.told(machine, self.began_ns, now_ns));
            told.extend(watts.collect::<Vec<_>>().into_iter().map(|words| (*side, words)));
        }
        told
    }
}

/// Looks for a moment; nothing is waited for where there is no witness.
pub fn hear(world: &mut dyn World, applied: &[(Side, Applied)]) -> Vec<(Side, String)> {
    let witnesses = Witnesses::begin(world, applied);
    if witnesses.is_empty() {
        return Vec::new();
    }
    loop {
        match world.wait(Some(witnesses.until_ns())) {
            Wake::Deadline => return witnesses.tell(world),
            // What was turned is turned; anyone who is in a hurry does without.
            Wake::Stop(_) | Wake::Lost(..) => return Vec::new(),
            _ => {}
        }
    }
}

/// The zones whose limits a setting turned and whose energy can be read.
fn zones(machine: &mut dyn Machine, applied: &Applied) -> Vec<Zone> {
    let limits = applied.sites.iter().filter(|it| it.named.name == "powercap.power_limit_uw");
    let zone = |it: &powerband_knob::Reached| {
        let (folder, _) = it.site.path.as_deref()?.rsplit_once('/')?;
        let limit_uw = it.reads_back.as_deref()?.trim().parse().ok()?;
        let energy_uj = parsed(machine, &format!("{folder}/energy_uj"))?;
        Some(Zone { limit: it.site.name.clone(), folder: folder.to_owned(), limit_uw, energy_uj })
    };
    limits.filter_map(zone).collect()
}

impl Zone {
    fn told(&self, machine: &mut dyn Machine, began_ns: u64, now_ns: u64) -> Option<String> {
        let now_uj = parsed(machine, &format!("{}/energy_uj", self.folder))?;
        let range: Option<u64> = parsed(machine, &format!("{}/max_energy_range_uj", self.folder));
        let wrap = range.map(|at_uj| Wrap { at_uj, at_most_w: AT_MOST_W });
        let uj = advance_uj(&[(began_ns, self.energy_uj), (now_ns, now_uj)], wrap).ok()?;
        let (over_ns, limit_w) = (now_ns.saturating_sub(began_ns).max(1), self.limit_uw as f64 / 1e6);
        let watts = uj as f64 * 1e3 / over_ns as f64;
        let shown = |watts: f64| format!("{} W", format_number((watts * 100.0).round() / 100.0));
        // A limit holds on average over its own, longer time.
        let above = if watts > limit_w { ", which a moment may; the limit is a mean" } else { "" };
        Some(format!(
            "witness: {}: asked at most {}, draws {} by energy_uj over {}{above}",
            self.limit,
            shown(limit_w),
            shown(watts),
            format_duration(over_ns)
        ))
    }
}
