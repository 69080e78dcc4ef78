//! A daemon as a setting: a program that sets knobs by itself while a trial runs. What it may change of cpufreq is held, so
//! that it is restored whatever becomes of the daemon and of us; what it left is reported.
use powerband_knob::{hold_cpufreq, policies};
use powerband_load::failed;
use powerband_machine::{Finished, Job, Look, ProcessId, Turn, Wake};
use powerband_record::{Better, Invocation, Metric, Outcome, Side, Void, Work, placed};

use super::{InForce, WorldBench};
use crate::variants::Variant;
use crate::{Fatal, Halt};

/// The CPU time that a daemon took over a trial, from its start to its end.
const CPU_TIME: &str = "daemon_cpu_s";

/// How long a daemon may take to end after it was asked to, ns.
const GRACE_NS: u64 = 5_000_000_000;

/// Of its output so much is kept, for the sentence about one that fails, bytes.
const OUTPUT_LIMIT: usize = 4096;

/// What a daemon changes of a policy, in the order of restoring, with the knob's name.
const FILES: [(&str, &str); 4] = [
    ("cpufreq.governor", "scaling_governor"),
    ("cpufreq.max_freq", "scaling_max_freq"),
    ("cpufreq.min_freq", "scaling_min_freq"),
    ("cpufreq.freq", "scaling_setspeed"),
];

/// The metric that a comparison shows which has a daemon.
pub(crate) fn daemon_cpu(variants: &[Variant]) -> Option<Metric> {
    let has_daemon = variants.iter().any(|variant| variant.changes.daemon.is_some());
    has_daemon.then(|| Metric { name: CPU_TIME.into(), better: Better::Lower, judged: false, boundary: None })
}

/// One that runs.
pub(super) struct Daemon {
    line: String,
    process: ProcessId,
    found: Vec<Found>,
}

/// What a file read before it was started.
struct Found {
    knob: &'static str,
    site: String,
    path: String,
    text: String,
}

/// One command takes the place of the shell that starts it: that it has ended is then the end of the daemon, which restores what
/// it set before.
fn in_place_of_shell(line: &str) -> String {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_one = !line.contains([';', '&', '|', '(', '`', '\n']) && !first.contains('=');
    if is_one { format!("exec {line}") } else { line.to_owned() }
}

fn found(machine: &mut dyn Look) -> Vec<Found> {
    let mut all = Vec::new();
    for policy in policies(machine, "cpufreq.governor").map(|all| all.active).unwrap_or_default() {
        for (knob, file) in FILES {
            if let Ok(text) = policy.read(machine, file) {
                all.push(Found { knob, site: policy.name.clone(), path: policy.file(file), text });
            }
        }
    }
    all
}

impl WorldBench<'_> {
    /// Starts the daemon of a setting, if it has one, with our own rights.
    pub(super) fn start_daemon(&mut self, setting: u32, in_force: &mut InForce) -> Result<Option<Daemon>, Void> {
        let changes = self.variants.get(setting as usize).map(|variant| &variant.changes);
        let Some(line) = changes.and_then(|changes| Some(changes.filled(changes.daemon.as_deref()?))) else {
            return Ok(None);
        };
        let refused = |why: String| Void::LoadFailed { why: format!("the daemon '{line}': {why}") };
        let near = self.near();
        let machine = self.world.machine(Side::Near).ok_or_else(|| refused("there is no machine".into()))?;
        in_force.push((near, hold_cpufreq(machine).map_err(|error| refused(error.to_string()))?));
        let found = found(machine);
        let argv = ["sh", "-c", &in_place_of_shell(&line)].map(str::to_owned).to_vec();
        let invocation = Invocation { env: self.lent.clone(), ..Invocation::default() };
        let work = Work::Command { argv, demand: None, invocation };
        let job =
            Job { work, cpus: None, group: None, user: None, output_limit: Some(OUTPUT_LIMIT), around: Vec::new() };
        let process = machine.spawn(&job).map_err(|error| refused(error.to_string()))?;
        Ok(Some(Daemon { line, process, found }))
    }

    /// Ends a daemon, restores what it left and says so. Its CPU time belongs to the outcome; one that ended by itself makes
    /// the trial void.
    pub(super) fn end_daemon(
        &mut self,
        daemon: Option<Daemon>,
        outcome: Result<Outcome, Halt>,
    ) -> Result<Outcome, Halt> {
        let Some(daemon) = daemon else { return outcome.map(|outcome| with_cpu_time(outcome, 0.0)) };
        let Daemon { line, process, found } = daemon;
        let early = self.world.machine(Side::Near).and_then(|machine| machine.finished(process));
        let mut stopped = false;
        let ended = if early.is_none() { self.end_process(process, &mut stopped) } else { None };
        // What a shell of several commands started may outlive it.
        if let Some(machine) = self.world.machine(Side::Near) {
            machine.left_behind(true);
        }
        self.clear_up(&line, &found)?;
        let outcome = Halt::split(outcome)?;
        if stopped {
            return Err(Void::Stopped.into());
        }
        let outcome = outcome?;
        let why = match (early, ended) {
            (None, Some(finished)) => {
                let usage = finished.usage;
                return Ok(with_cpu_time(outcome, (usage.user_ns + usage.sys_ns) as f64 / 1e9));
            }
            (Some(finished), _) => {
                let why = failed(&format!("the daemon '{line}'"), &finished);
                format!("{why}, before the trial was over; it has to stay in the foreground")
            }
            (None, None) => format!("the daemon '{line}' did not end when it was killed"),
        };
        Err(Void::LoadFailed { why }.into())
    }

    /// Asks a process to end, and after a grace, or once a stop was asked for, makes it.
    fn end_process(&mut self, process: ProcessId, stopped: &mut bool) -> Option<Finished> {
        let near = self.near();
        for force in [false, true] {
            self.world.machine(Side::Near)?.end(process, force);
            let until_ns = self.world.now_ns() + GRACE_NS;
            loop {
                match self.world.wait(Some(until_ns)) {
                    Wake::Ended(side, ended) if (side, ended) == (near, process) => {
                        return self.world.machine(Side::Near)?.finished(process);
                    }
                    Wake::Deadline => break,
                    Wake::Stop(_) => {
                        *stopped = true;
                        break;
                    }
                    Wake::Lost(side, _) if side == near => return None,
                    _ => {}
                }
            }
        }
        None
    }

    /// Writes back what reads otherwise than before the daemon, and remembers it for the report.
    fn clear_up(&mut self, line: &str, found: &[Found]) -> Result<(), Fatal> {
        let Some(machine) = self.world.machine(Side::Near) else { return Ok(()) };
        let mut left = Vec::new();
        for Found { knob, site, path, text } in found {
            let Ok(now) = machine.read(path) else { continue };
            // The frequency of another governor than userspace is nobody's request.
            if now.trim() == text || text == "<unsupported>" {
                continue;
            }
            machine.act(&Turn::write(path, text)).map_err(|error| Fatal::Ledger { why: error.to_string() })?;
            left.push(format!("{} reading {}", placed(knob, site), now.trim()));
        }
        if !left.is_empty() {
            self.told.insert(format!("the daemon '{line}' left {}; it was restored after each trial", left.join(", ")));
        }
        Ok(())
    }
}

/// The metric of a comparison that has daemons; others do not know it.
fn with_cpu_time(mut outcome: Outcome, cpu_s: f64) -> Outcome {
    if outcome.refused.remove(CPU_TIME).is_some() {
        outcome.metrics.insert(CPU_TIME.into(), cpu_s);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::in_place_of_shell;

    #[test]
    fn one_command_takes_the_place_of_its_shell() {
        assert_eq!(in_place_of_shell("powerband pace cpuspeed -i 10"), "exec powerband pace cpuspeed -i 10");
        for line in ["A=1 daemon", "prepare; daemon", "daemon | tee log", "cd /x && ./daemon"] {
            assert_eq!(in_place_of_shell(line), line);
        }
    }
}
