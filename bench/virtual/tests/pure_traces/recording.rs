//! The recording of a kernel's governors: what it is of, where it is kept, and whether it is still of what would be played.
use std::path::PathBuf;

use powerband_bench_virtual::{BootOptions, GuestKernel, Result, counted_inputs, emulator_version};

use super::score::{self, Case, score};
use super::trace::Trace;

/// Makes the recording anew.
const RECORD: &str = "cargo xtask sweep --only traces";

/// Records every change of frequency and every thread's stretches, plays the score, and shows all of it.
pub(crate) const SCRIPT: &str = "mount -t tracefs tracefs /sys/kernel/tracing
cd /sys/kernel/tracing
echo local >trace_clock
echo 60000 >buffer_size_kb
for event in power/cpu_frequency sched/sched_switch sched/sched_waking workqueue/workqueue_execute_start; do
    echo 1 >events/$event/enable
done
chmod 755 /root/player
mount -t debugfs debugfs /sys/kernel/debug
clocks() { sed -n 's/^\\(ktime\\|sched_clk\\|cpu_clk\\) *: /\\1 /p' /sys/kernel/debug/sched/debug; }
asleep() { sed -n 's/^ *.idle_sleeptime *: \\([0-9]*\\) nsecs/asleep \\1/p' /proc/timer_list; }
clocks
asleep
/root/player /root/score
asleep
clocks
echo 0 >tracing_on
grep -v '^#' trace | sed 's/^ *//; s/ \\+/ /g'";

/// What is recorded.
pub(crate) fn cases() -> Vec<Case> {
    score::chosen(20_120_417)
}

/// A guest that plays cases.
pub(crate) fn options(player: Vec<u8>, cases: &[Case]) -> BootOptions {
    let mut options = BootOptions::machine("quadcore").unwrap();
    options.files.push(("root/player".into(), player));
    options.files.push(("root/score".into(), score(cases).into_bytes()));
    options
}

/// A trace with what it is a trace of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// A hash of everything of this workspace that decides what the guest does.
    pub(crate) inputs: String,
    /// Kernel and emulator.
    pub(crate) under: String,
    pub(crate) trace: Trace,
}

impl Recording {
    /// Of what was just played here.
    pub(crate) fn made(trace: Trace) -> Result<Recording> {
        Ok(Recording { inputs: inputs(), under: under()?, trace })
    }

    /// The one that is kept.
    pub(crate) fn kept() -> Recording {
        let text = std::fs::read_to_string(path()).unwrap();
        let mut lines = text.splitn(3, '\n');
        let mut of = |name: &str| lines.next().and_then(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
        let (inputs, under) = (of("inputs "), of("under "));
        Recording { inputs, under, trace: Trace::read(lines.next().unwrap_or_default()) }
    }

    /// Keeps it.
    pub(crate) fn keep(&self) {
        let text = format!("inputs {}\nunder {}\n{}", self.inputs, self.under, self.trace.recorded());
        std::fs::write(path(), text).unwrap();
    }

    /// Fails when something else would be played now.
    #[track_caller]
    pub(crate) fn assert_current(&self) {
        let now = inputs();
        assert!(
            self.inputs == now,
            "the recording is of inputs {}, and now they are {now}: record it anew by `{RECORD}`",
            self.inputs
        );
    }

    /// Whether this machine's kernel and emulator are those of the recording. They change with Debian's packages, and then the
    /// guest tier plays all cases.
    pub(crate) fn is_of_this_machine(&self) -> Result<bool> {
        let here = under()?;
        if self.under != here {
            eprintln!("the recording was made under {}, and here is {here}: record it anew by `{RECORD}`", self.under);
        }
        Ok(self.under == here)
    }
}

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pure_traces/recorded.txt"))
}

/// The player is hashed as its source: its bytes differ from build to build.
fn inputs() -> String {
    let player = include_bytes!("../../src/player.rs").to_vec();
    format!("{:016x}", fnv1a(&counted_inputs(&options(player, &cases()), SCRIPT).unwrap()))
}

fn under() -> Result<String> {
    Ok(format!("Linux {}, {}", GuestKernel::get()?.release().unwrap_or("unknown"), emulator_version()?))
}

/// The 64-bit FNV-1a hash.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
