//! What a bench runs besides the load that is measured: commands before and after trials, and the run of a short command
//! that decides how often it is repeated.
use std::collections::{BTreeMap, BTreeSet};

use powerband_load::{CommandLine, CommandLoad, Load, MetricSpec, Shell, Source, failed};
use powerband_record::{Event, Hooks, Invocation, LoadVariant, PlannedTrial, Void, format_duration};

use super::WorldBench;
use crate::execution::Place;
use crate::{Fatal, Halt, Journal, Resolved};

/// A command shorter than this is repeated within a trial until they take as long, ns.
const LONG_NS: f64 = 100e6;
/// Most runs in a trial.
const MAX_RUNS: f64 = 10_000.0;
/// Runs of an empty command line that show what the shell itself takes.
const SHELL_RUNS: u32 = 20;
/// A share of the command's time from which that is reported.
const SHELL_SHARE: f64 = 0.01;

/// What runs around trials, and what of it has run.
pub(super) struct Around {
    hooks: Hooks,
    shell: Shell,
    /// Command lines that ran before the first trial of a setting.
    set_up: BTreeSet<Line>,
    /// Command lines that are to run after the last trial, in the order their settings came.
    cleanups: Vec<Line>,
    /// Whether a short command is repeated in a trial by itself, and how often if that is given.
    repeatable: bool,
    given: Option<u32>,
    /// Runs in each trial of a setting, once that is known.
    repeats: BTreeMap<u32, u32>,
    /// What the shell itself takes, once that is known, ns.
    shell_ns: Option<f64>,
}

/// A command line with its parameters in their places, and the environment it runs in.
type Line = (String, BTreeMap<String, String>);

impl Around {
    pub(super) fn new(resolved: &Resolved) -> Self {
        let hooks = resolved.started.hooks.clone();
        let command = if let Load::Command(command) = &resolved.load { Some(command) } else { None };
        let is_read = |pick: &MetricSpec| !matches!(pick.source, Source::Measured(_) | Source::Ratio(..));
        let each_run = hooks.prepare.is_some() || hooks.conclude.is_some();
        let repeatable = resolved.load.is_repeatable() && !each_run && !resolved.picks.iter().any(is_read);
        Around {
            hooks,
            shell: command.map(|command| command.shell.clone()).unwrap_or_default(),
            set_up: BTreeSet::new(),
            cleanups: Vec::new(),
            repeatable,
            given: command.and_then(|command| command.repeat),
            repeats: BTreeMap::new(),
            shell_ns: None,
        }
    }

    /// Whether somebody said how often the command runs within a trial.
    pub(super) fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// Whether commands run of which nobody knows how long they take.
    pub(super) fn is_timeless(&self) -> bool {
        self.hooks.all().next().is_some()
    }

    /// Hears from the journal how often the command of a setting runs.
    pub(super) fn recall(&mut self, event: &Event) {
        if let Event::Repeats { setting, runs, .. } = event {
            self.repeats.insert(*setting, *runs);
        }
    }
}

fn line(text: &str, variant: &LoadVariant) -> Line {
    (variant.filled(text), variant.env.iter().cloned().collect())
}

impl WorldBench<'_> {
    /// Runs the setup command of a setting before its first trial, and remembers its cleanup.
    pub(super) fn set_up(&mut self, setting: u32) -> Result<(), Halt> {
        let variant = &self.variants[setting as usize].changes;
        if let Some(cleanup) = self.around.hooks.cleanup.as_deref().map(|text| line(text, variant))
            && !self.around.cleanups.contains(&cleanup)
        {
            self.around.cleanups.push(cleanup);
        }
        let Some(setup) = self.around.hooks.setup.as_deref().map(|text| line(text, variant)) else { return Ok(()) };
        if self.around.set_up.contains(&setup) {
            return Ok(());
        }
        self.hook("setup", &setup)?;
        self.around.set_up.insert(setup);
        Ok(())
    }

    /// Runs the command before a trial.
    pub(super) fn prepare(&mut self, setting: u32) -> Result<(), Halt> {
        let prepare = self.around.hooks.prepare.clone();
        prepare.map_or(Ok(()), |text| self.hook("prepare", &line(&text, &self.variants[setting as usize].changes)))
    }

    /// Runs the command after a trial.
    pub(super) fn conclude(&mut self, setting: u32) -> Result<(), Halt> {
        let conclude = self.around.hooks.conclude.clone();
        conclude.map_or(Ok(()), |text| self.hook("conclude", &line(&text, &self.variants[setting as usize].changes)))
    }

    /// Runs the commands after the last trial. One that fails is reported and does not keep others from running.
    pub(super) fn clean_up(&mut self) {
        for cleanup in std::mem::take(&mut self.around.cleanups) {
            let why = match self.hook("cleanup", &cleanup) {
                Ok(()) => continue,
                Err(Halt::Void(Void::Stopped)) => format!("the cleanup command '{}' was stopped", cleanup.0),
                Err(Halt::Void(void)) => void.to_string(),
                Err(Halt::Fatal(fatal)) => format!("the cleanup command '{}' did not run: {fatal}", cleanup.0),
            };
            self.told.insert(why);
        }
    }

    /// Runs one command line as the load's user.
    fn hook(&mut self, name: &str, (text, env): &Line) -> Result<(), Halt> {
        let wrong = |why: String| Void::LoadFailed { why: format!("the {name} command '{text}': {why}") };
        let argv = self.around.shell.argv(text).map_err(wrong)?;
        let set = Invocation { env: env.clone(), ..Invocation::default() };
        let commands = vec![CommandLine::Text(text.clone())];
        let load = Load::Command(CommandLoad { argv, commands, set, ..CommandLoad::default() });
        let place = Place { user: self.user.clone(), ..Place::default() };
        let ran = self.announced(self.longest_ns, &load, place, BTreeMap::new()).map_err(|halt| match halt {
            Halt::Void(Void::LoadFailed { why }) => wrong(why).into(),
            halt => halt,
        })?;
        let all_well = ran.finishes.values().all(|finished| finished.status.success());
        if ran.left_behind > 0 && all_well {
            self.told.insert(format!(
                "the {name} command '{text}' left processes behind, which were ended before anything else ran; what the load \
                 needs is started before powerband"
            ));
        }
        match ran.finishes.get("load").filter(|finished| !finished.status.success()) {
            Some(finished) => {
                Err(Void::LoadFailed { why: failed(&format!("the {name} command '{text}'"), finished) }.into())
            }
            None => Ok(()),
        }
    }

    /// How often the command runs within a trial; found out by running it, the first time.
    pub(super) fn repeats(
        &mut self,
        trial: &PlannedTrial,
        place: &Place,
        journal: &mut dyn Journal,
    ) -> Result<u32, Halt> {
        let known = self.around.repeats.get(&trial.setting).copied();
        let fixed = if self.around.repeatable { known } else { Some(1) };
        if let Some(runs) = self.around.given.or(fixed) {
            return Ok(runs);
        }
        let load = self.variants[trial.setting as usize].load.clone();
        let left_before = self.leftovers.runs();
        let mut real_ns = f64::INFINITY;
        // A short command once more: its first run found nothing in the caches.
        for _ in 0..2 {
            real_ns = real_ns.min(self.timed(&load, place)?);
            if real_ns < LONG_NS && self.leftovers.runs() > left_before {
                return Ok(self.once(trial, real_ns, journal)?);
            }
            if real_ns >= 2.0 * LONG_NS {
                break;
            }
        }
        let mut runs = (LONG_NS / real_ns.max(1.0)).ceil().clamp(1.0, MAX_RUNS) as u32;
        // Repeating takes our own program, which the load's user may not be allowed to execute.
        if runs > 1
            && self.user.is_some()
            && let Err(Void::LoadFailed { why }) = Halt::split(self.timed(&load.clone().repeated(2), place))?
        {
            self.told.insert(format!("the command runs once in each trial, although it is short: {why}"));
            runs = 1;
        }
        self.around.repeats.insert(trial.setting, runs);
        if runs > 1 {
            let event = Event::Repeats { trial: trial.trial, setting: trial.setting, runs, real_ns: real_ns as u64 };
            journal.record(&event)?;
        }
        self.report_shell(&load, real_ns, place)?;
        Ok(runs)
    }

    /// A short command leaves processes running: repeated within a trial it would run next to them, as nobody ends them
    /// before the trial is over.
    pub(super) fn once(&mut self, trial: &PlannedTrial, real_ns: f64, journal: &mut dyn Journal) -> Result<u32, Fatal> {
        self.told.insert(
            "the command runs once in each trial, although it is short: repeated, it would run next to the processes it leaves"
                .to_owned(),
        );
        self.around.repeats.insert(trial.setting, 1);
        let event = Event::Repeats { trial: trial.trial, setting: trial.setting, runs: 1, real_ns: real_ns as u64 };
        journal.record(&event)?;
        Ok(1)
    }

    /// Notes what the shell takes of each run, where that is not little.
    fn report_shell(&mut self, load: &Load, real_ns: f64, place: &Place) -> Result<(), Halt> {
        let Load::Command(command) = load else { return Ok(()) };
        let by_shell = !command.commands.is_empty() && self.around.shell.is_there();
        if !by_shell || self.around.shell_ns.is_some() || real_ns > LONG_NS {
            return Ok(());
        }
        let Ok(argv) = self.around.shell.argv("") else { return Ok(()) };
        let set = Invocation { runs: SHELL_RUNS, ..Invocation::default() };
        let empty = Load::Command(CommandLoad { argv, set, ..CommandLoad::default() });
        let shell_ns = self.timed(&empty, place)?;
        self.around.shell_ns = Some(shell_ns);
        if shell_ns > SHELL_SHARE * real_ns {
            let takes = format_duration((shell_ns / 1e4).round() as u64 * 10_000);
            let shell = self.around.shell.name();
            self.told.insert(format!("the shell ({shell}) takes {takes} of each run; -N runs commands without one"));
        }
        Ok(())
    }

    /// Runs a command under no meter: how long one run of it took, ns.
    fn timed(&mut self, load: &Load, place: &Place) -> Result<f64, Halt> {
        let ran = self.run_in_silence(load, place.clone(), BTreeMap::new())?;
        let concluded = load.conclude(&ran.finishes)?;
        Ok(concluded.values.get("real_s").copied().unwrap_or(f64::INFINITY) * 1e9)
    }
}
