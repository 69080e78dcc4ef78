//! What a story is: the machine, how it was found, what its owners do one after the other, drawn from the seed.
use powerband_testkit::faults::{Blunder, Ending};

use super::course::Course;
use super::draw::Draw;
use super::files::MACHINES;

/// What one owner does, as a command would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// `try`: settings against the baseline.
    Try { settings: Vec<String>, blocks: u32 },
    /// `with`: one setting around one load.
    With { setting: String },
    /// `set`.
    Set { setting: String },
    /// `undo`, of the last step or of all.
    Undo { all: bool, force: bool },
    /// What the guardian does, and every command before its own work: restore what is held.
    PutBack,
}

/// One command, and when it is made to end in the middle.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) deed: Deed,
    /// Time that passes before it, ms.
    pub(super) after_ms: u64,
    /// Steps after its beginning, and how.
    pub(super) ends: Option<(u64, Ending)>,
}

/// A whole story.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) seed: u64,
    pub(super) machine: &'static str,
    /// What somebody had set up before powerband came.
    pub(super) found: String,
    /// CPUs that are turned, for all commands.
    pub(super) cpus: Option<&'static str>,
    /// A fault in one of this many steps, 0 for none.
    pub(super) one_in: u64,
    pub(super) commands: Vec<Command>,
    /// What is asked for at the very end, when nothing fails any more.
    pub(super) last: Deed,
    /// An experiment next to all this that is interrupted and gone on with.
    pub(super) course: Option<Course>,
    pub(super) blunder: Option<Blunder>,
    /// The mutant that takes back the oldest first.
    pub(super) backwards: bool,
}

impl Story {
    /// The story of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let mut draw = Draw::new(seed, 0);
        let machine = draw.pick(&MACHINES);
        let cpus = if machine != "omap3530" && draw.chance(1, 3) { Some(draw.pick(&["0", "1", "0-2"])) } else { None };
        let one_in = draw.pick(&[0, 5, 10, 20, 20, 40, 150]);
        let found = if draw.chance(1, 2) { setting(&mut draw, machine, false) } else { String::new() };
        let mut commands: Vec<Command> =
            deeds(&mut draw, machine).into_iter().map(|deed| Command::of(&mut draw, deed, 11)).collect();
        for _ in 0..draw.below(4) {
            commands.push(Command::of(&mut draw, Deed::PutBack, 6));
        }
        let last = match draw.below(4) {
            0 => Deed::PutBack,
            1 => Deed::Undo { all: true, force: false },
            _ => Deed::Undo { all: true, force: true },
        };
        Story {
            seed,
            machine,
            found,
            cpus,
            one_in,
            commands,
            last,
            course: Some(Course::of(seed)),
            blunder: None,
            backwards: false,
        }
    }
}

impl Command {
    /// One that may end in the middle, after up to 2 to the power of `bits` steps.
    fn of(draw: &mut Draw, deed: Deed, bits: u64) -> Self {
        let how = draw.pick(&[None, None, Some(Ending::Crash), Some(Ending::Crash), Some(Ending::PowerCut)]);
        let when = draw.spread(bits);
        Command { deed, after_ms: draw.below(40), ends: how.map(|how| (when, how)) }
    }

    /// One that runs to its end.
    pub(super) fn whole(deed: Deed) -> Self {
        Command { deed, after_ms: 40, ends: None }
    }
}

fn deeds(draw: &mut Draw, machine: &str) -> Vec<Deed> {
    match draw.below(3) {
        0 => {
            let others = 1 + draw.below(2);
            let settings = (0..others).map(|_| setting(draw, machine, true)).collect();
            vec![Deed::Try { settings, blocks: 2 + u32::try_from(draw.below(2)).unwrap() }]
        }
        1 => vec![Deed::With { setting: setting(draw, machine, true) }],
        _ => {
            let mut deeds = Vec::new();
            for _ in 0..2 + draw.below(3) {
                deeds.push(Deed::Set { setting: setting(draw, machine, false) });
                if draw.chance(1, 3) {
                    deeds.push(Deed::Undo { all: draw.chance(1, 3), force: draw.chance(1, 4) });
                }
            }
            if draw.chance(1, 4) {
                deeds.push(Deed::With { setting: setting(draw, machine, true) });
            }
            deeds
        }
    }
}

/// A setting of one to three knobs for a machine, as it is typed.
pub(super) fn setting(draw: &mut Draw, machine: &str, load: bool) -> String {
    let steps: &[&str] = match machine {
        "omap3530" => &["125000", "250000", "500000", "550000", "600000"],
        "pc" => &["1200000", "1800000", "2400000", "3000000"],
        _ => &["1600000", "1867000", "2133000", "2400000"],
    };
    let mut kinds = vec![0, 1, 2, 3, 4, 5, 6, 7];
    let mut words = Vec::new();
    for _ in 0..1 + draw.below(3) {
        let kind = draw.pick(&kinds);
        // Each once, and one governor.
        kinds.retain(|&other| other != kind && (kind > 2 || other > 2));
        words.push(assignment(draw, kind, steps, load));
    }
    words.retain(|word| !word.is_empty());
    if words.is_empty() { "sysctl.vm.swappiness=7".into() } else { words.join(" ") }
}

fn assignment(draw: &mut Draw, kind: u32, steps: &[&str], load: bool) -> String {
    match kind {
        0 => format!("governor={}", draw.pick(&["performance", "powersave", "ondemand", "conservative"])),
        1 => format!("governor=userspace freq={}", draw.pick(steps)),
        2 => match draw.below(2) {
            0 => {
                format!(
                    "governor=conservative up_threshold={} down_threshold={}",
                    60 + draw.below(30),
                    12 + draw.below(40)
                )
            }
            _ => format!("governor=ondemand up_threshold={} ignore_nice_load={}", 40 + draw.below(50), draw.below(2)),
        },
        3 => format!("sysctl.vm.swappiness={}", draw.below(200)),
        4 => format!("sysctl.kernel.numa_balancing=1 sysctl.net.core.busy_poll={}", 1 + draw.below(90)),
        5 => format!("file:/etc/kept.conf={}", draw.below(9)),
        6 => format!("file:/tmp/new.conf={}", draw.below(9)),
        _ if load && draw.chance(1, 2) => format!("cpu_quota={}%", 20 + draw.below(60)),
        _ => match draw.below(3) {
            0 => format!("max_freq={}", draw.pick(steps)),
            1 => format!("min_freq={}", draw.pick(steps)),
            _ => {
                let low = draw.pick(steps);
                format!("min_freq={low} max_freq={low}")
            }
        },
    }
}
