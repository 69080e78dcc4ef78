//! A description of a simulated machine, in words.
use std::fmt::Write as _;

use powerband_record::{format_duration, format_khz, format_number};

use super::Description;

impl Description {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let machine = self;
        let mut text = format!("sim:{}: {}\n", machine.name, machine.title);
        let us = |us: f64| format_duration((us * 1e3) as u64);
        let mut line = |name: &str, value: String| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name:<12} {value}");
        };
        line("kernel", format!("published: {}; rules of {}: {}", machine.kernel, machine.rules, machine.rules_why));
        line("loads", machine.loads.join(" "));
        line("CPUs", format!("{} (possible {}), {} ticks a second", machine.present, machine.possible, machine.hz));
        line("policies", machine.policies.join(" "));
        line("governors", format!("{}; {} at boot", machine.governors.join(" "), machine.default_governor));
        line("a change", format!("takes {}", us(machine.transition_latency_us)));
        for clock in &machine.clocks {
            let draws = format!(
                "a running CPU draws {} W and leaks {} W",
                format_number(clock.running_w),
                format_number(clock.leakage_w)
            );
            line("frequency", format!("{:<9} {draws}", format_khz(clock.khz)));
        }
        line("platform", format!("{} W", format_number(machine.platform_w)));
        for idle in &machine.idle {
            let kept = format!(
                "{} % of running power, {} % of leakage",
                format_number(100.0 * idle.running_share),
                format_number(100.0 * idle.leakage_share)
            );
            let when = match idle.exit_us {
                Some(exit_us) => format!("worth it from {}, left in {}", us(idle.after_us), us(exit_us)),
                None => format!("after {}", us(idle.after_us)),
            };
            line("idle", format!("{} {when}: {kept}", idle.name));
        }
        let costs = (format_number(machine.receive_cycles_per_bit), format_number(machine.send_cycles_per_bit));
        let client = |mbit_s| format!(" (a channel; one client {} Mbit/s)", format_number(mbit_s));
        let client = machine.client_mbit_s.map_or_else(String::new, client);
        let link = format!("{} Mbit/s{client}, {} one way", format_number(machine.link_mbit_s), us(machine.latency_us));
        let driver = machine.network_driver.map_or_else(String::new, |driver| format!("; driver {driver}"));
        line("network", format!("{link}; a bit costs {} cycles to receive, {} to send{driver}", costs.0, costs.1));
        line("counter", format!("{} cycles an iteration", format_number(machine.counter_cycles)));
        let percent = |share: f64| format!("{} %", format_number(100.0 * share));
        let noise = (percent(machine.noise_sigma), percent(machine.noise_link_sigma), percent(machine.noise_rtt_sigma));
        line("noise", format!("from run to run: CPU {}, link {}, round trip {}", noise.0, noise.1, noise.2));
        let (interrupt, wake) = (machine.noise_interrupt_us, machine.noise_wake_us);
        line("lateness", format!("of pings: interrupts {interrupt} us, wake-ups {wake:.1} us on average"));
        line("drift", format!("{} an hour", percent(machine.noise_drift_per_hour)));
        text += "what it cannot do:\n";
        text.extend(machine.cannot.iter().map(|sentence| format!("    {sentence}\n")));
        text += "where the parameters come from:\n";
        text.extend(machine.sources.iter().map(|(name, source)| format!("    {name}: {source}\n")));
        text
    }
}
