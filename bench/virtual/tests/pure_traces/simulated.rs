//! The same writes and stretches on a simulated machine by the rules of 6.1.
use std::collections::BTreeMap;

use powerband_machine::{Action, Before, Hold, Turn, World};
use powerband_record::Side;
use powerband_sim::cpufreq::{Governor, KernelRules};
use powerband_sim::{Profile, SimWorld};

use super::played::{Episode, IDLE_TICK_NS, Played, times};
use super::score::Chance;

const POLICY: &str = "/sys/devices/system/cpu/cpufreq/policy0";
/// What the kernel's worker takes until it looks, ns.
const WORKER_NS: u32 = 15_500;
/// What the kernel takes from a tick's time until the scheduler's clock is read in it, ns.
const TICK_NS: u32 = 2_500;
/// What an idle CPU takes until it comes to the worker, beyond what a busy one does, ns.
const EXIT_NS: u32 = 3_000;
/// What it takes from waking a task to switching to it, ns.
const SWITCH_IN_NS: u32 = 3_000;

/// By how much the times of a trace and those above may be off either way, ns: the trace shows whole µs, and what the kernel
/// takes depends on the way it came.
const UNSURE_NS: u64 = 2_000;

/// By how much the times of ticks scatter, ns: the time between two was seen to differ by 800.
const SCATTER_NS: u32 = 800;

/// How often the clock is looked at, ns: more often than it can change and change back.
const LOOK_NS: u64 = 50_000;

/// The guest's machine: one CPU whose signals do not follow its clock, which the scheduler may change at once.
fn machine(played: &Played, chance: &mut Option<Chance>) -> SimWorld {
    let mut profile = Profile::builtin("quadcore").unwrap();
    for sigma in [&mut profile.noise.sigma, &mut profile.noise.link_sigma, &mut profile.noise.rtt_sigma] {
        *sigma = 0.0;
    }
    // The guest's kernel has no driver for idle states.
    profile.idle = None;
    let cpufreq = &mut profile.cpufreq;
    (cpufreq.rules, cpufreq.hz, cpufreq.nohz) = (KernelRules::V6_1, 250, true);
    cpufreq.policies.truncate(1);
    cpufreq.possible_cpus = 1;
    cpufreq.available_governors.push(Governor::Schedutil);
    cpufreq.default_governor = Governor::Schedutil;
    (cpufreq.window_phase_ns, cpufreq.worker_delay_ns) = (played.phase_ns(), about(WORKER_NS, chance));
    (cpufreq.tick_delay_ns, cpufreq.idle_edges_ns) =
        (about(TICK_NS, chance), u32::try_from(played.edges_ns()).unwrap());
    cpufreq.tick_scatter_ns = if chance.is_some() { SCATTER_NS } else { 0 };
    cpufreq.switch_in_ns = about(SWITCH_IN_NS, chance);
    cpufreq.keeps_tick = true;
    (cpufreq.idle_exit_ns, cpufreq.idle_tick_ns) = (about(EXIT_NS, chance), IDLE_TICK_NS);
    for policy in &mut cpufreq.policies {
        (policy.invariant, policy.fast_switch) = (false, true);
    }
    profile.present = powerband_record::CpuList::new(vec![0]);
    SimWorld::new(profile, None, chance.as_mut().map_or(1, |chance| chance.between(1, u64::from(u32::MAX)))).unwrap()
}

/// A time that is off by chance, if chance there is.
fn about(ns: u32, chance: &mut Option<Chance>) -> u32 {
    u32::try_from(moved(u64::from(ns), chance)).unwrap()
}

fn moved(ns: u64, chance: &mut Option<Chance>) -> u64 {
    chance.as_mut().map_or(ns, |chance| (ns + chance.between(0, 2 * UNSURE_NS + 1)).saturating_sub(UNSURE_NS))
}

/// The cases as the model has them.
pub(crate) fn replayed(played: &Played) -> Vec<Episode> {
    replay(played, None)
}

/// The same where every time is off by less than it is known to.
pub(crate) fn replayed_about(played: &Played, seed: u64) -> Vec<Episode> {
    replay(played, Some(Chance::new(seed)))
}

fn replay(played: &Played, mut chance: Option<Chance>) -> Vec<Episode> {
    let mut world = machine(played, &mut chance);
    for mut stretches in played.stretches() {
        let mut free_ns = 0;
        for stretch in &mut stretches {
            stretch.from_ns = moved(stretch.from_ns, &mut chance).max(free_ns);
            stretch.until_ns = moved(stretch.until_ns, &mut chance).max(stretch.from_ns);
            free_ns = stretch.until_ns;
        }
        world.play(Side::Near, stretches).unwrap();
    }
    let spans = played.spans();
    let mut seen = Seen { khz: 0, changes: Vec::new() };
    let mut episodes = Vec::new();
    let mut spans = spans.iter().peekable();
    for (at_ns, path, text) in &played.writes {
        while let Some(span) = spans.next_if(|span| span.1 <= *at_ns) {
            episodes.push(ended(&mut world, &mut seen, *span));
        }
        seen.until(&mut world, *at_ns);
        write(&mut world, path, text);
    }
    for span in spans {
        episodes.push(ended(&mut world, &mut seen, *span));
    }
    episodes
}

fn ended(world: &mut SimWorld, seen: &mut Seen, span: (u64, u64)) -> Episode {
    seen.until(world, span.1);
    let said = (times(&read(world, "stats/time_in_state")), read(world, "stats/total_trans").trim().parse().unwrap());
    Episode::cut(span, &seen.changes, said)
}

/// Every change of clock that was seen.
struct Seen {
    khz: u32,
    changes: Vec<(u64, u32)>,
}

impl Seen {
    fn until(&mut self, world: &mut SimWorld, at_ns: u64) {
        while world.now_ns() < at_ns {
            let next = at_ns.min(world.now_ns() + LOOK_NS);
            while world.now_ns() < next {
                world.wait(Some(next));
            }
            let khz = read(world, "scaling_cur_freq").trim().parse().unwrap();
            if std::mem::replace(&mut self.khz, khz) != khz {
                self.changes.push((world.now_ns(), khz));
            }
        }
    }
}

fn read(world: &mut SimWorld, file: &str) -> String {
    world.machine(Side::Near).unwrap().read(&format!("{POLICY}/{file}")).unwrap()
}

fn write(world: &mut SimWorld, path: &str, text: &str) {
    let turn = Turn {
        action: Action::WriteFile { path: path.to_owned(), text: text.to_owned() },
        undo: None,
        hold: Hold::Held,
        knob: "traces".into(),
        site: String::new(),
        asked: String::new(),
        before: Before::Unknown,
        read_back: None,
        step: None,
        moves: BTreeMap::new(),
    };
    let acted = world.machine(Side::Near).unwrap().act(&turn).unwrap();
    assert_eq!(acted.errno, None, "{text} to {path}");
}
