//! A sample as OpenMetrics text, which node_exporter's textfile collector reads too.
use std::fmt::Write as _;

use crate::{Cost, MachineSample, Scene};

/// One family: name, which ends with its unit, the unit, and what it says.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Without what its kind appends.
    pub name: &'static str,
    /// Whether its samples only grow, and so end with `_total`.
    pub counts: bool,
    /// The last part of the name, or nothing.
    pub unit: &'static str,
    /// A sentence.
    pub help: &'static str,
}

/// Labels and the value of one of a family's samples.
pub type LabelledValue = (Vec<(&'static str, String)>, f64);

/// What ends the text.
pub const OPENMETRICS_END: &str = "# EOF\n";

/// The text of a sample, from its first line to `# EOF`. What is not known is left out; nothing has a time, as its
/// readers give it their own.
#[must_use]
pub fn openmetrics(scene: &Scene, sample: &MachineSample, cost: Cost) -> String {
    let mut text = String::new();
    let mut say = |name, unit, help, points: Vec<LabelledValue>| {
        family(&mut text, &Family { name, counts: false, unit, help }, &points)
    };
    let of_cpus = |value: &dyn Fn(&crate::CpuNow) -> Option<f64>| -> Vec<LabelledValue> {
        let cpus = scene.cpus.iter().zip(&sample.cpus);
        cpus.filter_map(|((cpu, _), now)| Some((vec![("cpu", cpu.to_string())], value(now)?))).collect()
    };
    let hertz = |khz: u32| f64::from(khz) * 1e3;
    let clock = of_cpus(&|now| now.clock_khz.map(hertz));
    say("powerband_cpu_clock_hertz", "hertz", "Frequency of the CPU as reported by the kernel.", clock);
    let busy = of_cpus(&|now| now.busy);
    say("powerband_cpu_busy_ratio", "ratio", "Share of the time in which the CPU was busy.", busy);
    let mut idle = Vec::new();
    for ((cpu, states), now) in scene.cpus.iter().zip(&sample.cpus) {
        for (state, share) in states.iter().zip(&now.idle) {
            let labels = vec![("cpu", cpu.to_string()), ("state", state.clone())];
            idle.extend(share.map(|share| (labels, share)));
        }
    }
    say("powerband_cpu_idle_ratio", "ratio", "Share of the time the CPU spent in an idle state.", idle);
    let interrupts = of_cpus(&|now| now.interrupts_per_s);
    say("powerband_cpu_interrupts_per_second", "per_second", "Interrupts of the CPU a second.", interrupts);
    let wakeups = of_cpus(&|now| now.wakeups_per_s);
    say("powerband_cpu_wakeups_per_second", "per_second", "Idle states entered by the CPU a second.", wakeups);
    let (mut limits, mut governors) = (Vec::new(), Vec::new());
    for (policy, now) in scene.policies.iter().zip(&sample.policies) {
        for (limit, khz) in [("min", now.min_khz), ("max", now.max_khz)] {
            let labels = vec![("policy", policy.name.clone()), ("limit", limit.to_owned())];
            limits.extend(khz.map(|khz| (labels, hertz(khz))));
        }
        let labels = |governor: &String| vec![("policy", policy.name.clone()), ("governor", governor.clone())];
        governors.extend(now.governor.as_ref().map(|governor| (labels(governor), 1.0)));
    }
    say("powerband_clock_limit_hertz", "hertz", "Frequency limit of a policy.", limits);
    say("powerband_governor", "", "Governor in force, as a label.", governors);
    let meters = scene.meters.iter().zip(&sample.watts).filter_map(|(meter, watts)| {
        let labels = vec![
            ("meter", meter.meter.to_owned()),
            ("boundary", meter.boundary.clone()),
            ("source", meter.source.clone()),
        ];
        Some((labels, (*watts)?))
    });
    let help = "Power by a meter, of what its boundary covers; boundaries may overlap, so do not add them up.";
    say("powerband_power_watts", "watts", help, meters.collect());
    let help = "CPU time powerband itself has used for watching.";
    say("powerband_observer_cpu_seconds", "seconds", help, vec![(Vec::new(), (cost.cpu_s * 1e6).round() * 1e-6)]);
    let help = "How often powerband itself has woken for watching.";
    say("powerband_observer_wakeups", "", help, vec![(Vec::new(), cost.wakeups as f64)]);
    text + OPENMETRICS_END
}

/// Adds a family; one without a sample is not told of.
pub fn family(text: &mut String, family: &Family, points: &[LabelledValue]) {
    if points.is_empty() {
        return;
    }
    let Family { name, counts, unit, help } = family;
    let (kind, total) = if *counts { ("counter", "_total") } else { ("gauge", "") };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
    for (labels, value) in points {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let braced = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "{name}{total}{braced} {value}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
