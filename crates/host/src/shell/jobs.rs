//! Loads and samplers behind a shell: what is typed to start them, and what is known when they have ended.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Finished, Handle, Job, ProcessId, Sample, SpawnError};
use powerband_record::{ExitStatus, Output, Usage, Work};

use super::hand::{Hand, words};
use super::link::Ended;
use super::quote::assignment;

/// At most this much of each output stream of a load is kept where the job has no limit, bytes.
const OUTPUT_BYTES: usize = 1 << 20;
/// A fine clock is believed when it tells the same time as the clock of the boot, which knows hundredths, ns.
const APART_NS: u64 = 50_000_000;

/// What runs there, or here on its behalf.
#[derive(Debug)]
enum Running {
    /// A command; at most so much of its output is asked for, bytes.
    Command { limit: usize },
    /// Nothing is done, from one moment to another, ns.
    Idle { from_ns: u64, until_ns: u64 },
}

/// A sampler there.
#[derive(Debug)]
struct Sampler {
    files: usize,
    /// What our clock is ahead of the one there, ns.
    ahead_ns: u64,
}

/// Everything that runs.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    running: BTreeMap<u64, Running>,
    samplers: BTreeMap<u32, Sampler>,
    ended: BTreeMap<u64, Finished>,
    next: u32,
}

impl Jobs {
    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Starts work; what takes our own program there is refused.
    pub(super) fn spawn(&mut self, hand: &Hand, job: &Job, machine: &str) -> Result<ProcessId, SpawnError> {
        let refused = |what: String, errno| Err(SpawnError::Refused { what, errno });
        let number = u64::from(self.number());
        let argv = match &job.work {
            Work::Command { argv, .. } => argv,
            Work::Idle { for_ns } => {
                let from_ns = crate::now_ns();
                self.running.insert(number, Running::Idle { from_ns, until_ns: from_ns.saturating_add(*for_ns) });
                return Ok(ProcessId(number));
            }
            work => {
                let hint = "where there is only a shell; name it ssh:HOST or cmd:COMMAND, or take a command as load";
                return refused(format!("{} on {machine}, {hint}", work.kind()), Errno::EOPNOTSUPP);
            }
        };
        if let Some(user) = &job.user {
            return refused(format!("{} as the user {} on {machine}", job.work.kind(), user.name), Errno::EOPNOTSUPP);
        }
        let (lines, script) = match start(number, job, argv) {
            Ok(typed) => typed,
            Err(errno) => return refused(job.work.kind().into(), errno),
        };
        let program = argv.first().cloned().unwrap_or_default();
        let status = hand.turn::<0>(&lines, &script).map(|(status, _)| status);
        match (status, &job.cpus) {
            (Some(0), _) => {
                let limit = job.output_limit.map_or(OUTPUT_BYTES, |limit| limit.min(OUTPUT_BYTES));
                self.running.insert(number, Running::Command { limit });
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
            Some(Running::Command { .. }) => {
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
            Running::Command { .. } => None,
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
        let finished = |real_ns| Finished {
            status: ExitStatus::Code(0),
            usage: Usage { real_ns, ..Usage::default() },
            report: Some(serde_json::json!({})),
            output: Output::default(),
        };
        self.ended.extend(over.iter().map(|&(number, real_ns)| (number, finished(real_ns))));
        over.into_iter().map(|(number, _)| ProcessId(number)).collect()
    }

    /// Asks for what a load that has ended printed; whose end it was.
    pub(super) fn conclude(&mut self, hand: &Hand, ended: &Ended) -> Option<ProcessId> {
        let Running::Command { limit } = self.running.remove(&ended.number)? else { return None };
        let script = format!(
            "pb_o=$pb_tmp/load.{}; for pb_f in out err; do pb_x head -c {} \"$pb_o.$pb_f\"; done; rm -f \"$pb_o\".*",
            ended.number,
            limit + 1
        );
        let (_, [stdout, _, stderr, _]) = hand.turn(&[], &script)?;
        let ((stdout, out_cut), (stderr, err_cut)) = (shortened(stdout, limit), shortened(stderr, limit));
        let output = Output { stdout, stderr, cut: out_cut || err_cut };
        let (status, usage) = cost(&ended.words);
        self.ended.insert(ended.number, Finished { status, usage, report: None, output });
        Some(ProcessId(ended.number))
    }

    /// What is known of one that has ended.
    pub(super) fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.ended.remove(&process.0)
    }

    /// Starts a sampler there.
    pub(super) fn record(&mut self, hand: &Hand, files: &[&str], period_ns: u64) -> u32 {
        let number = self.number();
        let argv: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        let lines = if argv.is_empty() { Ok(vec!["set --".into()]) } else { words(&argv) };
        let (seconds, millis) = (period_ns / 1_000_000_000, period_ns / 1_000_000 % 1000);
        // A sleep that knows only whole seconds takes the next longer one.
        let script = format!(
            "pb_s={seconds}.{millis:03}; sleep 0.01 || pb_s={}; : >\"$pb_tmp/rec.{number}.on\"; pb_ensure; \
             pb_rec {number} \"$pb_s\" \"$@\" &\nread -r pb_up pb_l </proc/uptime; pb_t \"$pb_up\"",
            period_ns.div_ceil(1_000_000_000)
        );
        if let Some((_, [up])) = lines.ok().and_then(|lines| hand.turn(&lines, &script)) {
            let up_ns = nanoseconds(&String::from_utf8_lossy(&up)).unwrap_or(0);
            let ahead_ns = crate::now_ns().saturating_sub(up_ns);
            self.samplers.insert(number, Sampler { files: files.len(), ahead_ns });
        }
        number
    }

    /// Ends a sampler; what it saw.
    pub(super) fn end_record(&mut self, hand: &Hand, number: u32) -> Vec<Sample> {
        let Some(sampler) = self.samplers.remove(&number) else { return Vec::new() };
        let script = format!("pb_o=$pb_tmp/rec.{number}; rm -f \"$pb_o.on\"; pb_x cat \"$pb_o\"; rm -f \"$pb_o\"");
        let Some((_, [text, _])) = hand.call(&[], &script) else { return Vec::new() };
        samples(&String::from_utf8_lossy(&text), &sampler)
    }

    /// Ends everything at once.
    pub(super) fn abandon(&mut self, hand: &Hand) {
        let is_command = |running: &Running| matches!(running, Running::Command { .. });
        if self.running.values().any(is_command) {
            let _ = hand.turn::<0>(&[], "pb_kill \"$pb_g\"");
        }
        self.running.clear();
    }
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

/// `12.34`: seconds to ns.
fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let part: String = part.chars().chain(std::iter::repeat('0')).take(9).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part.parse().ok()?)
}

/// `1m2.345s`, as `times` prints it, to ns.
fn minutes(text: &str) -> Option<u64> {
    let (minutes, seconds) = text.trim().strip_suffix('s')?.split_once('m')?;
    nanoseconds(seconds)?.checked_add(minutes.parse::<u64>().ok()?.checked_mul(60_000_000_000)?)
}

/// The whole samples of a sampler's file: `@UPTIME`, then `=TEXT` or `!` for each file.
fn samples(text: &str, sampler: &Sampler) -> Vec<Sample> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut samples = Vec::new();
    for line in whole.lines() {
        let last: Option<&mut Sample> = samples.last_mut();
        match (line.split_at_checked(1), last) {
            (Some(("@", up)), _) => {
                let at_ns = nanoseconds(up).unwrap_or(0).saturating_add(sampler.ahead_ns);
                samples.push(Sample { at_ns, texts: Vec::new() });
            }
            (Some(("=", text)), Some(sample)) => sample.texts.push(Ok(format!("{text}\n"))),
            (Some(("!", _)), Some(sample)) => sample.texts.push(Err(Errno::EIO)),
            _ => {}
        }
    }
    samples.retain(|sample| sample.texts.len() == sampler.files);
    samples
}

/// Where the files of a machine's handles are.
#[derive(Debug, Default)]
pub(super) struct Handles(Vec<Option<String>>);

impl Handles {
    /// Another one.
    pub(super) fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        let free = self.0.iter().position(Option::is_none).unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[free] = Some(path.to_owned());
        u32::try_from(free).map(Handle).map_err(|_| Errno::ENOMEM)
    }

    /// Its path.
    pub(super) fn path(&self, handle: Handle) -> Option<&str> {
        self.0.get(handle.0 as usize)?.as_deref()
    }

    /// No longer needed.
    pub(super) fn close(&mut self, handle: Handle) {
        if let Some(path) = self.0.get_mut(handle.0 as usize) {
            *path = None;
        }
    }
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

    #[test]
    fn a_sample_counts_when_it_is_whole() {
        let sampler = Sampler { files: 2, ahead_ns: 5 };
        let seen = samples("@1.00\n=1\n!\n@1.10\n=3\n=4\n@1.20\n=5\n=6", &sampler);
        let texts: Vec<_> = seen.iter().map(|sample| sample.texts.clone()).collect();
        let ok = |text: &str| Ok(format!("{text}\n"));
        assert_eq!(texts, [vec![ok("1"), Err(Errno::EIO)], vec![ok("3"), ok("4")]]);
        assert_eq!(seen[1].at_ns, 1_100_000_005);
    }
}
