//! Loads behind a shell: what is typed to start them, and what is known when they have ended.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Finished, Job, LeftBehind, ProcessId, Sample, SpawnError};
use powerband_record::{ExitStatus, Output, Usage, Work};

use super::clock::{APART_NS, minutes, nanoseconds};
use super::hand::{Hand, words};
use super::handles::Handles;
use super::invocation::invoked;
use super::link::Ended;
use super::quote::assignment;
use super::watched::Watched;

/// At most this much of each output stream of a load is kept where the job has no limit, bytes.
const OUTPUT_BYTES: usize = 1 << 20;
/// What runs there, or here on its behalf.
#[derive(Debug)]
enum Running {
    /// A command; at most so much of its output is asked for, bytes.
    Command { limit: usize, watched: Watched },
    /// Nothing is done there, and something is read around it.
    Watch { watched: Watched },
    /// Nothing is done, from one moment to another, ns.
    Idle { from_ns: u64, until_ns: u64 },
}

/// Everything that runs.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    running: BTreeMap<u64, Running>,
    ended: BTreeMap<u64, Finished>,
    next: u64,
}

impl Jobs {
    /// Starts work; what takes our own program there is refused.
    pub(super) fn spawn(
        &mut self,
        hand: &Hand,
        handles: &Handles,
        job: &Job,
        machine: &str,
    ) -> Result<ProcessId, SpawnError> {
        let refused = |what: String, errno| Err(SpawnError::Refused { what, errno });
        self.next += 1;
        let number = self.next;
        let argv = match &job.work {
            Work::Command { argv, invocation, .. } => &invoked(argv, invocation),
            Work::Idle { for_ns } if !job.around.is_empty() => &nap(*for_ns),
            Work::Idle { for_ns } => {
                let from_ns = crate::now_ns();
                self.running.insert(number, Running::Idle { from_ns, until_ns: from_ns.saturating_add(*for_ns) });
                return Ok(ProcessId(number));
            }
            work => {
                let hint = "where there is only a shell; name it ssh:HOST, cmd:COMMAND or sh+agent:COMMAND, or take a command as load";
                return refused(format!("{} on {machine}, {hint}", work.kind()), Errno::EOPNOTSUPP);
            }
        };
        if let Some(user) = &job.user {
            return refused(format!("{} as the user {} on {machine}", job.work.kind(), user.name), Errno::EOPNOTSUPP);
        }
        let watched = match Watched::prepare(hand, number, &job.around, handles) {
            Ok(watched) => watched,
            Err(errno) => return refused(format!("reading around {} on {machine}", job.work.kind()), errno),
        };
        let (lines, script) = match start(number, job, argv) {
            Ok(typed) => typed,
            Err(errno) => return refused(job.work.kind().into(), errno),
        };
        let program = match &job.work {
            Work::Command { argv, .. } => argv.first().cloned().unwrap_or_default(),
            _ => String::new(),
        };
        let status = hand.turn::<0>(&lines, &script).map(|(status, _)| status);
        match (status, &job.cpus) {
            (Some(0), _) => {
                let limit = job.output_limit.map_or(OUTPUT_BYTES, |limit| limit.min(OUTPUT_BYTES));
                let idles = matches!(job.work, Work::Idle { .. });
                let running = if idles { Running::Watch { watched } } else { Running::Command { limit, watched } };
                self.running.insert(number, running);
                Ok(ProcessId(number))
            }
            (Some(127), _) => Err(SpawnError::NotFound(program)),
            (Some(126), _) => Err(SpawnError::Denied(program)),
            (Some(125), Some(cpus)) => {
                refused(format!("{} on CPUs {cpus} of {machine}, which has no taskset", job.work.kind()), Errno::ENOSYS)
            }
            (Some(_), _) => {
                let group = job.group.as_deref().unwrap_or_default();
                refused(format!("{} in the control group '{group}'", job.work.kind()), Errno::ENOENT)
            }
            (None, _) => refused(format!("{} on {machine}", job.work.kind()), Errno::ENOLINK),
        }
    }

    /// Asks a process to end, or makes it.
    pub(super) fn end(&mut self, hand: &Hand, process: ProcessId, force: bool) {
        match self.running.get_mut(&process.0) {
            Some(Running::Command { .. } | Running::Watch { .. }) => {
                let signal = if force { "KILL" } else { "TERM" };
                let _ = hand.call::<0>(&[], &format!("pb_end {} {signal}", process.0));
            }
            Some(Running::Idle { until_ns, .. }) => *until_ns = crate::now_ns(),
            None => {}
        }
    }

    /// When the next idle time is over, ns.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let until = |running: &Running| match running {
            Running::Idle { until_ns, .. } => Some(*until_ns),
            Running::Command { .. } | Running::Watch { .. } => None,
        };
        self.running.values().filter_map(until).min()
    }

    /// Ends the idle times that are over; answers whose.
    pub(super) fn over(&mut self, now_ns: u64) -> Vec<ProcessId> {
        let mut over = Vec::new();
        self.running.retain(|&number, running| match running {
            Running::Idle { from_ns, until_ns } if *until_ns <= now_ns => {
                over.push((number, now_ns.saturating_sub(*from_ns)));
                false
            }
            _ => true,
        });
        self.ended.extend(over.iter().map(|&(number, real_ns)| (number, idled(real_ns, Vec::new()))));
        over.into_iter().map(|(number, _)| ProcessId(number)).collect()
    }

    /// Asks for what a load that has ended printed; whose end it was.
    pub(super) fn conclude(&mut self, hand: &Hand, ended: &Ended) -> Option<ProcessId> {
        let (limit, watched) = match self.running.remove(&ended.number)? {
            Running::Command { limit, watched } => (limit, watched),
            // However its sleep was ended, it has idled.
            Running::Watch { watched } => {
                let (_, usage) = cost(&ended.words);
                self.ended.insert(ended.number, idled(usage.real_ns, watched.collect(hand)));
                return Some(ProcessId(ended.number));
            }
            Running::Idle { .. } => return None,
        };
        let script = format!(
            "pb_o=$pb_tmp/load.{}; for pb_f in out err; do pb_x head -c {} \"$pb_o.$pb_f\"; done; rm -f \"$pb_o\".*",
            ended.number,
            limit + 1
        );
        let (_, [stdout, _, stderr, _]) = hand.turn(&[], &script)?;
        let ((stdout, out_cut), (stderr, err_cut)) = (shortened(stdout, limit), shortened(stderr, limit));
        let output = Output { stdout, stderr, cut: out_cut || err_cut };
        let (status, usage) = cost(&ended.words);
        self.ended
            .insert(ended.number, Finished { status, usage, report: None, output, around: watched.collect(hand) });
        Some(ProcessId(ended.number))
    }

    /// What is known of one that has ended.
    pub(super) fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.ended.remove(&process.0)
    }

    /// What loads that have ended left running in their sessions; ended where `end` says so.
    pub(super) fn left_behind(&mut self, hand: &Hand, end: bool) -> LeftBehind {
        let listed = |script: &str| {
            let (_, [words]) = hand.turn::<1>(&[], script)?;
            Some(String::from_utf8_lossy(&words).split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let Some(found) = listed("pb_left; pb_t \"$pb_w\"") else { return LeftBehind::default() };
        let processes = u32::try_from(found.len()).unwrap_or(u32::MAX);
        let alive = if end && processes > 0 { listed("pb_clear; pb_t \"$pb_w\"") } else { None };
        LeftBehind { processes, alive: alive.unwrap_or_default() }
    }

    /// Ends everything at once.
    pub(super) fn abandon(&mut self, hand: &Hand) {
        let is_command = |running: &Running| !matches!(running, Running::Idle { .. });
        if self.running.values().any(is_command) {
            let _ = hand.turn::<0>(&[], "pb_kill \"$pb_g\"");
        }
        self.running.clear();
    }
}

/// A machine that has idled.
fn idled(real_ns: u64, around: Vec<Vec<Sample>>) -> Finished {
    Finished {
        status: ExitStatus::Code(0),
        usage: Usage { real_ns, ..Usage::default() },
        report: Some(serde_json::json!({})),
        output: Output::default(),
        around,
    }
}

/// A program that does nothing for so long; a sleep that knows only whole seconds takes the next longer one.
fn nap(for_ns: u64) -> Vec<String> {
    let (seconds, nanos, whole) = (for_ns / 1_000_000_000, for_ns % 1_000_000_000, for_ns.div_ceil(1_000_000_000));
    let nap = if nanos == 0 {
        format!("exec sleep {seconds}")
    } else {
        format!("if sleep 0.01 2>/dev/null; then exec sleep {seconds}.{nanos:09}; else exec sleep {whole}; fi")
    };
    ["sh", "-c", &nap].map(str::to_owned).to_vec()
}

/// What is typed to start a load.
fn start(number: u64, job: &Job, argv: &[String]) -> Result<(Vec<String>, String), Errno> {
    let mut lines = words(argv)?;
    lines.extend(assignment("pb_a", job.group.as_deref().unwrap_or_default()));
    let pinned = job.cpus.as_ref().map_or_else(String::new, |cpus| format!("taskset -c {cpus}"));
    let needs = if pinned.is_empty() { "" } else { "command -v taskset || pb_c=125; " };
    let script = format!(
        "pb_c=0 pb_cg=\ncase $1 in\n*/*) if [ ! -e \"$1\" ]; then pb_c=127; elif [ ! -x \"$1\" ] || [ -d \"$1\" ]; then \
         pb_c=126; fi ;;\n*) command -v \"$1\" || pb_c=127 ;;\nesac\n{needs}\
         if [ -n \"$pb_a\" ]; then pb_top; pb_cg=$pb_top/$pb_a; [ -d \"$pb_cg\" ] || pb_c=124; fi\n\
         if [ $pb_c = 0 ]; then pb_ensure; pb_load {number} \"$pb_cg\" {pinned} \"$@\" & fi\n(exit $pb_c)"
    );
    Ok((lines, script))
}

/// Text of at most `limit` bytes, and whether it was cut.
fn shortened(mut bytes: Vec<u8>, limit: usize) -> (String, bool) {
    let cut = bytes.len() > limit;
    bytes.truncate(limit);
    if let (true, Err(broken)) = (cut, std::str::from_utf8(&bytes))
        && broken.error_len().is_none()
    {
        // The limit fell inside a character: that one is not the load's fault.
        bytes.truncate(broken.valid_up_to());
    }
    (String::from_utf8_lossy(&bytes).into_owned(), cut)
}

/// How a load ended and what it cost, from: exit status, uptime and fine clock before and behind, user and system time.
fn cost(words: &[String]) -> (ExitStatus, Usage) {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let code: i32 = word(0).parse().unwrap_or(-1);
    // A shell tells a signal by 128 and its number.
    let status = if (129..=192).contains(&code) { ExitStatus::Signal(code - 128) } else { ExitStatus::Code(code) };
    let between = |from: Option<u64>, until: Option<u64>| Some(until?.saturating_sub(from?));
    let coarse = between(nanoseconds(word(1)), nanoseconds(word(3))).unwrap_or(0);
    let fine = between(word(2).parse().ok(), word(4).parse().ok()).filter(|fine| fine.abs_diff(coarse) <= APART_NS);
    let (user_ns, sys_ns) = (minutes(word(5)).unwrap_or(0), minutes(word(6)).unwrap_or(0));
    (status, Usage { real_ns: fine.unwrap_or(coarse), user_ns, sys_ns, peak_rss_kib: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_load_cost_is_read_from_the_shells_words() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (status, usage) =
            cost(&words("0 100.25 1700000000000000000 101.50 1700000001253000000 0m0.990s 1m0.010000s"));
        assert_eq!(status, ExitStatus::Code(0));
        assert_eq!((usage.real_ns, usage.user_ns, usage.sys_ns), (1_253_000_000, 990_000_000, 60_010_000_000));
        // Without a fine clock, or when somebody has set it meanwhile.
        for clocks in ["143 100.25 ? 101.50 ?", "143 100.25 1700000000%N 101.50 1700000001%N", "143 100.25 1 101.50 2"]
        {
            let (status, usage) = cost(&words(clocks));
            assert_eq!((status, usage.real_ns), (ExitStatus::Signal(15), 1_250_000_000), "{clocks}");
        }
    }
}
