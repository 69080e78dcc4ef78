//! What tests ask of a guest, and the guests they get: one each, a copy of the machine that the first of them booted.
use std::time::{Duration, Instant};

use powerband_bench_virtual::{BenchError, BootOptions, Cable, Guest, GuestRig, Result, on_guests, tools};
use serde_json::{Value, json};

/// How long anything may take that is waited for here; far beyond what it takes.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a healthy guest may take for a command that does nothing; it takes milliseconds where CPUs are free.
const ANSWER: Duration = Duration::from_secs(60);

/// What can be turned and what a reader sees of it, a line a file.
const KNOBS: &str = "cd /sys/devices/system/cpu/cpufreq; grep -s . policy*/scaling_governor policy*/scaling_m??_freq \
                     policy*/scaling_setspeed ondemand/* conservative/* schedutil/* | sed 's/:/: /'";

/// A PC, at one end of a cable, with tools for it; that of all tests but a few, so that one is booted.
pub(crate) fn pc(cable: Cable) -> Result<BootOptions> {
    Ok(BootOptions { cable: Some(cable), tools: tools::for_cables(), ..BootOptions::machine("quadcore")? })
}

/// Runs a test on a PC of its own, which runs as fast as it can.
#[track_caller]
pub(crate) fn on_desk(test: impl Fn(&mut Guest)) {
    on_own(
        || Guest::boot(&pc(Cable::Open)?),
        |guest| {
            guest.set_paced(false);
            test(guest);
        },
    );
}

/// The same on one whose speed follows its clock: for what measures.
#[track_caller]
pub(crate) fn on_paced_desk(test: impl Fn(&mut Guest)) {
    on_own(|| Guest::boot(&pc(Cable::Open)?), test);
}

/// Runs a test on guests of its own; once more where one hung, which is reported past the harness's capture. Nothing when they
/// cannot be had here; in CI they must.
#[track_caller]
pub(crate) fn on_own<R: GuestRig>(boot: impl Fn() -> Result<R>, test: impl Fn(&mut R)) {
    let thread = std::thread::current();
    had(on_guests(thread.name().unwrap_or("a test"), &mut std::io::stdout(), ANSWER, boot, test));
}

/// What was made; nothing when this machine lacks what that takes, which in CI it must not.
pub(crate) fn had<T>(made: Result<T>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(error @ (BenchError::Missing(_) | BenchError::Program { .. })) => {
            let must = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!must, "{error}, and CI=true lets nothing be skipped");
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether this is a sweep, which does more of what takes long.
pub(crate) fn sweeps() -> bool {
    std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1")
}

/// The seed of a sweep.
pub(crate) fn sweep_seed() -> u64 {
    std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// What is asked of a guest.
pub(crate) trait Desk {
    /// Standard output and standard error of a script that ends with `code`.
    fn ended(&mut self, code: i32, script: &str) -> (String, String);
    /// Waits for something in the guest.
    fn until(&mut self, what: &str, condition: impl FnMut(&mut Self) -> bool);
    /// Lets the guest run so many million instructions, or fall idle.
    fn run_on(&mut self, millions: u64);
    /// P-states of both CPUs as the board's ports hold them: read from outside, past everything in the guest.
    fn states(&mut self) -> [u8; 2];

    /// What a script that ends well prints.
    #[track_caller]
    fn sh(&mut self, script: &str) -> String {
        self.ended(0, script).0
    }

    /// What powerband prints, having ended with `code`.
    #[track_caller]
    fn powerband(&mut self, code: i32, words: &str) -> String {
        self.ended(code, &format!("powerband {words}")).0
    }

    /// What it prints and reports.
    #[track_caller]
    fn told(&mut self, code: i32, words: &str) -> String {
        let (out, err) = self.ended(code, &format!("powerband {words}"));
        out + &err
    }

    /// What it prints as JSON, having ended well.
    #[track_caller]
    fn json(&mut self, words: &str) -> Value {
        let text = self.powerband(0, &format!("--json {words}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What every cpufreq knob of the guest reads, by its own shell.
    #[track_caller]
    fn knobs(&mut self) -> String {
        self.sh(KNOBS)
    }

    /// All knobs read as before, and powerband knows of nothing that is changed.
    #[track_caller]
    fn is_as(&mut self, before: &str, what: &str) {
        assert_eq!(self.knobs(), before, "{what}");
        assert_eq!(self.json("info turned")["turned"], json!([]), "{what}");
    }

    /// Starts a command that runs on in the guest and answers its process.
    #[track_caller]
    fn start(&mut self, command: &str) -> u32 {
        let pid = self.sh(&format!("{command} </dev/null >/run/started 2>&1 & echo $!"));
        pid.trim().parse().unwrap()
    }

    /// Waits until neither powerband nor a guardian of its runs.
    #[track_caller]
    fn until_nobody(&mut self) {
        self.until("no powerband is left", |desk| desk.sh("pidof powerband || true").trim().is_empty());
    }
}

impl Desk for Guest {
    #[track_caller]
    fn ended(&mut self, code: i32, script: &str) -> (String, String) {
        let ran = self.script(script).unwrap();
        let err = String::from_utf8_lossy(&ran.err).into_owned();
        assert_eq!(ran.code, code, "{script}\n{}{err}", ran.text());
        (ran.text(), err)
    }

    #[track_caller]
    fn until(&mut self, what: &str, mut condition: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            if Instant::now() > deadline {
                panic!("waited in vain: {what}\n{}\n{}", self.knobs(), self.sh("cat /run/started; ps"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn run_on(&mut self, millions: u64) {
        let run = |guest: &Guest| guest.instructions(0).unwrap() + guest.instructions(1).unwrap();
        let (begun, deadline) = (run(self), Instant::now() + Duration::from_secs(3));
        while run(self) < begun + millions * 1_000_000 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn states(&mut self) -> [u8; 2] {
        [0, 1].map(|cpu| self.pstate(cpu).unwrap())
    }
}
