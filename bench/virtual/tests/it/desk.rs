//! The guest all tests share, and what they ask of it.
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use powerband_bench_virtual::{BenchError, BootOptions, Guest, GuestRig, HeldGuests, Shared, repeat_after_hang};
use serde_json::Value;

/// How long anything may take that is waited for here; far beyond what it takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// What can be turned and what a reader sees of it, a line a file.
pub(crate) const KNOBS: &str = "cd /sys/devices/system/cpu/cpufreq
for file in policy*/scaling_governor policy*/scaling_min_freq policy*/scaling_max_freq policy*/scaling_setspeed \
    ondemand/* conservative/* schedutil/*; do
    if [ -f $file ]; then echo $file: $(cat $file); fi
done";

/// A guest, and how its knobs were after its first boot.
pub(crate) struct Known {
    guest: Guest,
    knobs: String,
}

impl GuestRig for Known {
    fn guests(&mut self) -> Vec<&mut Guest> {
        vec![&mut self.guest]
    }
}

/// The guest of all tests that need no other.
static GUEST: Shared<Known> =
    Shared::new(|| Ok(Known { guest: Guest::boot(&BootOptions::machine("quadcore")?)?, knobs: String::new() }));

/// The shared guest, held by one test.
pub(crate) struct Desk(HeldGuests<'static, Known>);

/// Runs a test on the shared guest; once more where the guest hung. Nothing when it cannot be had here; in CI it must.
#[track_caller]
pub(crate) fn on_desk(test: fn(Desk)) {
    repeated(&GUEST, || {
        if let Some(desk) = desk() {
            test(desk);
        }
    });
}

/// Runs a test on guests of its own, in the same manner.
#[track_caller]
pub(crate) fn on_own(boot: fn() -> powerband_bench_virtual::Result<Guest>, test: fn(&mut Guest)) {
    let own = Shared::new(boot);
    repeated(&own, || {
        if let Some(mut guest) = had(own.hold()) {
            test(&mut guest);
        }
    });
}

/// Runs a test on shared guests; once more where they hung, which is reported past the harness's capture.
#[track_caller]
pub(crate) fn repeated<R: GuestRig>(shared: &Shared<R>, test: impl Fn()) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    repeat_after_hang(name, &mut std::io::stdout(), test, || shared.recover());
}

fn desk() -> Option<Desk> {
    let mut desk = Desk(had(GUEST.hold())?);
    desk.fix_power(None);
    // A test that failed may have left anything; the others begin with what a boot gives.
    let knobs = desk.knobs();
    if desk.0.knobs.is_empty() {
        desk.0.knobs = knobs;
    } else if knobs != desk.0.knobs {
        desk.reset().unwrap();
    }
    Some(desk)
}

/// What was made; nothing when this machine lacks what that takes, which in CI it must not.
pub(crate) fn had<T>(made: powerband_bench_virtual::Result<T>) -> Option<T> {
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

impl Deref for Desk {
    type Target = Guest;
    fn deref(&self) -> &Guest {
        &self.0.guest
    }
}

impl DerefMut for Desk {
    fn deref_mut(&mut self) -> &mut Guest {
        &mut self.0.guest
    }
}

impl Desk {
    /// What a script that ends well prints.
    #[track_caller]
    pub(crate) fn sh(&mut self, script: &str) -> String {
        let ran = self.script(script).unwrap();
        assert_eq!(ran.code, 0, "{script}\n{}{}", ran.text(), String::from_utf8_lossy(&ran.err));
        ran.text()
    }

    /// What powerband prints, having ended with `code`.
    #[track_caller]
    pub(crate) fn powerband(&mut self, code: i32, words: &[&str]) -> String {
        let ran = self.run(&[&["powerband"], words].concat()).unwrap();
        assert_eq!(ran.code, code, "{words:?}\n{}{}", ran.text(), String::from_utf8_lossy(&ran.err));
        ran.text()
    }

    /// The same as JSON, having ended well.
    #[track_caller]
    pub(crate) fn json(&mut self, words: &[&str]) -> Value {
        let text = self.powerband(0, &[words, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// What every cpufreq knob of the guest reads, by its own shell.
    #[track_caller]
    pub(crate) fn knobs(&mut self) -> String {
        self.sh(KNOBS)
    }

    /// Starts a command that runs on in the guest and answers its process.
    #[track_caller]
    pub(crate) fn start(&mut self, command: &str) -> u32 {
        let pid = self.sh(&format!("{command} </dev/null >/run/started 2>&1 & echo $!"));
        pid.trim().parse().unwrap()
    }

    /// P-states of both CPUs as the board's ports hold them: read from outside, past everything in the guest.
    #[track_caller]
    pub(crate) fn states(&mut self) -> [u8; 2] {
        [0, 1].map(|cpu| self.pstate(cpu).unwrap())
    }

    /// Waits for something in the guest.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut condition: impl FnMut(&mut Desk) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            let said = self.sh("cat /run/started; ps");
            assert!(Instant::now() < deadline, "waited in vain: {what}\n{}\n{said}", self.knobs());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until neither powerband nor a guardian of its runs.
    #[track_caller]
    pub(crate) fn until_nobody(&mut self) {
        self.until("no powerband is left", |desk| desk.sh("pidof powerband || true").trim().is_empty());
    }
}
