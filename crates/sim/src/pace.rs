//! `powerband pace cpuspeed` as a program on a simulated machine: it puts the policies under `userspace`, decides as the daemon
//! does, and restores governors and clocks when it ends. It takes no CPU time.
use powerband_cpuspeed::DaemonOptions;
use powerband_machine::{Errno, SpawnError};

use crate::board::Board;

/// It while it runs.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The governors that it found: the file and its text.
    found: Vec<(String, String)>,
}

/// What a shell is given to run; one command that takes its place is that command. `None` where no shell is called.
fn line_of_shell(argv: &[String]) -> Option<&str> {
    match argv {
        [shell, flag, line] if shell == "sh" && flag == "-c" => Some(line.strip_prefix("exec ").unwrap_or(line)),
        _ => None,
    }
}

/// What a command line is called where there is no model for it: its program, or the line that a shell is given.
pub(crate) fn name_of(argv: &[String]) -> &str {
    line_of_shell(argv).or(argv.first().map(String::as_str)).unwrap_or_default()
}

/// The options of a command line that runs `powerband pace cpuspeed`; `None` for any other, and where it has an option that this
/// model lacks.
pub(crate) fn options(argv: &[String]) -> Option<DaemonOptions> {
    let line = line_of_shell(argv).map_or_else(|| argv.join(" "), str::to_owned);
    let mut words = line.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    if (program, words.next()?, words.next()?) != ("powerband", "pace", "cpuspeed") {
        return None;
    }
    let mut options = DaemonOptions::default();
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse::<u32>().ok();
        match word {
            "-i" => options.interval_tenths = number()?,
            "-p" => (options.fast_up_percent, options.threshold_percent) = (number()?, number()?),
            "-m" => options.min_khz = Some(number()?),
            "-M" => options.max_khz = Some(number()?),
            "-n" => options.ignore_nice = true,
            "-w" => options.ignore_iowait = true,
            // It always restores the clock it found.
            "-r" => {}
            _ => return None,
        }
    }
    options.check().is_ok().then_some(options)
}

impl Board {
    /// Starts it.
    ///
    /// # Errors
    /// [`SpawnError::Refused`] where the daemon runs already, a policy takes no `userspace`, or the options leave no clock;
    /// governors are then as before.
    pub(crate) fn begin_pace(&mut self, options: DaemonOptions) -> Result<Pace, SpawnError> {
        let refused = |errno| SpawnError::Refused { what: "powerband pace cpuspeed".into(), errno };
        if self.daemon.runs() {
            return Err(refused(Errno::EBUSY));
        }
        let mut pace = Pace { found: Vec::new() };
        let begun = self.take_over(&mut pace).and_then(|()| self.start_daemon(options));
        match begun {
            Ok(()) => Ok(pace),
            Err(errno) => {
                self.end_pace(&pace);
                Err(refused(errno))
            }
        }
    }

    fn take_over(&mut self, pace: &mut Pace) -> Result<(), Errno> {
        for cpus in self.groups_of_cpus() {
            let Some(cpu) = cpus.first() else { continue };
            let file = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
            let governor = self.read(&file)?.trim().to_owned();
            self.write(&file, "userspace")?;
            pace.found.push((file, governor));
        }
        Ok(())
    }

    /// Ends it: the daemon's clocks, then the governors, are as before.
    pub(crate) fn end_pace(&mut self, pace: &Pace) {
        self.stop_daemon();
        for (file, governor) in &pace.found {
            let _refused = self.write(file, governor);
        }
    }
}
