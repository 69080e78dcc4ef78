//! The same writes and stretches on a simulated machine by the rules of 6.1.
use powerband_machine::{Action, Hold, Turn, World};
use powerband_record::Side;
use powerband_sim::cpufreq::{Governor, Rules};
use powerband_sim::{Profile, SimWorld};

use super::played::{Episode, IDLE_TICK_NS, Played, times};

const POLICY: &str = "/sys/devices/system/cpu/cpufreq/policy0";
/// What the kernel's worker takes until it looks, ns.
const WORKER_NS: u32 = 15_500;
/// What the kernel takes from a tick's time until the scheduler's clock is read in it, ns.
const TICK_NS: u32 = 2_500;
/// What an idle CPU takes until it comes to the worker, beyond what a busy one does, ns.
const EXIT_NS: u32 = 3_000;
/// How often the clock is looked at, ns: more often than it can change and change back.
const LOOK_NS: u64 = 50_000;

/// The guest's machine: one CPU whose signals do not follow its clock, which the scheduler may change at once.
fn machine(phase_ns: u64, edges_ns: u64) -> SimWorld {
    let mut profile = Profile::builtin("quadcore").unwrap();
    for sigma in [&mut profile.noise.sigma, &mut profile.noise.link_sigma, &mut profile.noise.rtt_sigma] {
        *sigma = 0.0;
    }
    let cpufreq = &mut profile.cpufreq;
    (cpufreq.rules, cpufreq.hz, cpufreq.nohz) = (Rules::V6_1, 250, true);
    cpufreq.policies.truncate(1);
    cpufreq.possible_cpus = 1;
    cpufreq.available_governors.push(Governor::Schedutil);
    cpufreq.default_governor = Governor::Schedutil;
    (cpufreq.window_phase_ns, cpufreq.worker_delay_ns) = (phase_ns, WORKER_NS);
    (cpufreq.tick_delay_ns, cpufreq.idle_edges_ns) = (TICK_NS, u32::try_from(edges_ns).unwrap());
    cpufreq.keeps_tick = true;
    (cpufreq.idle_exit_ns, cpufreq.idle_tick_ns) = (EXIT_NS, IDLE_TICK_NS);
    for policy in &mut cpufreq.policies {
        (policy.invariant, policy.fast_switch) = (false, true);
    }
    profile.present = powerband_record::CpuList::new(vec![0]);
    SimWorld::new(profile, None, 1).unwrap()
}

/// The cases as the model has them.
pub(crate) fn replayed(played: &Played) -> Vec<Episode> {
    let mut world = machine(played.phase_ns(), played.edges_ns());
    for stretches in played.stretches() {
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
        before: None,
        read_back: None,
        step: None,
    };
    let acted = world.machine(Side::Near).unwrap().act(&turn).unwrap();
    assert_eq!(acted.errno, None, "{text} to {path}");
}
