//! Waiting until machines are cool enough for a load, so that each trial begins at the same temperature.
#[cfg(test)]
mod tests;

use powerband_machine::{Look, World};
use powerband_meter::state::ThermalZones;
use powerband_record::{Cool, format_duration, format_number};

use crate::{Halt, Journal};

/// How often the temperature is looked at, ns.
const LOOK_NS: u64 = 1_000_000_000;

/// What waiting came to, over all trials.
#[derive(Debug, Default)]
pub(crate) struct Cooling {
    /// Trials that began too hot, and the hottest of them, °C.
    too_hot: (u32, f64),
    waited_ns: u64,
}

impl Cooling {
    /// Waits until every machine that tells its temperature is as cool as asked, or the time is over.
    pub(crate) fn wait(&mut self, world: &mut dyn World, cool: &Cool, journal: &mut dyn Journal) -> Result<(), Halt> {
        let began_ns = world.now_ns();
        let until_ns = began_ns.saturating_add(cool.timeout_ns);
        loop {
            let hottest_c = hottest_c(world);
            let now_ns = world.now_ns();
            let Some(hottest_c) = hottest_c.filter(|hottest_c| *hottest_c > cool.at_most_c) else { break };
            if now_ns >= until_ns {
                self.too_hot = (self.too_hot.0 + 1, self.too_hot.1.max(hottest_c));
                break;
            }
            journal.tell(&format!(
                "cooling down: {} °C, waiting for {} °C",
                format_number(hottest_c),
                format_number(cool.at_most_c)
            ));
            Halt::check(world.wait(Some(until_ns.min(now_ns + LOOK_NS))))?;
        }
        self.waited_ns += world.now_ns() - began_ns;
        Ok(())
    }

    /// What is to be known of it next to the verdicts.
    pub(crate) fn notes(&self, cool: &Cool) -> Vec<String> {
        let (trials, hottest_c) = self.too_hot;
        let hot = (trials > 0).then(|| {
            let (noun, verb) = if trials == 1 { ("trial", "was") } else { ("trials", "were") };
            format!(
                "{trials} {noun} began hotter than {} °C (up to {} °C), as {} {verb} not enough to cool down",
                format_number(cool.at_most_c),
                format_number(hottest_c),
                format_duration(cool.timeout_ns)
            )
        });
        let waited = (self.waited_ns >= LOOK_NS)
            .then(|| format!("waited {} in all for the machine to cool down", format_duration(self.waited_ns)));
        hot.into_iter().chain(waited).collect()
    }
}

/// Whether a machine tells a temperature.
pub(crate) fn tells(machine: &mut dyn Look) -> bool {
    !ThermalZones::find(machine).is_empty()
}

/// The hottest zone of all machines of a rig, °C.
fn hottest_c(world: &mut dyn World) -> Option<f64> {
    let sides = world.sides();
    let of = |side| world.machine(side).and_then(|machine| ThermalZones::find(machine).hottest_c(machine));
    sides.into_iter().filter_map(of).reduce(f64::max)
}
