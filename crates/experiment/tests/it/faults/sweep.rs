//! Many seeds: a few hundred fixed ones in every test run, as many as asked for in a sweep, and what struck in them.
use std::collections::BTreeMap;
use std::ops::AddAssign;

use powerband_testkit::faults::{Ending, Fault};

use super::judge;
use super::play::{Record, play};
use super::story::{Command, Deed, Story};

/// Seeds of an ordinary run.
const SEEDS: u64 = 400;
const FIRST: u64 = 801;

/// What struck in a number of stories.
#[derive(Clone, Debug, Default)]
struct Tally {
    stories: u64,
    crashed: u64,
    cut: u64,
    /// Experiments that were gone on with, and their owners.
    gone_on: u64,
    owners: u64,
    /// Stories that met each fault, and how often it struck.
    met: BTreeMap<Fault, (u64, u64)>,
    failed: Vec<(u64, String)>,
}

impl Tally {
    fn of(seed: u64) -> Self {
        let record = play(&Story::of(seed));
        let ended = |how| u64::from(record.done.iter().any(|done| done.ended == Some(how)));
        let owners = record.told.as_ref().map_or(0, |told| told.legs.len() as u64);
        Tally {
            stories: 1,
            crashed: ended(Ending::Crash),
            cut: ended(Ending::PowerCut),
            gone_on: u64::from(owners > 1),
            owners: if owners > 1 { owners } else { 0 },
            met: record.tally.iter().map(|(fault, times)| (*fault, (1, u64::from(*times)))).collect(),
            failed: judge(&record).err().map(|(name, said)| (seed, format!("{name}: {said}"))).into_iter().collect(),
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.stories += more.stories;
        self.crashed += more.crashed;
        self.cut += more.cut;
        self.gone_on += more.gone_on;
        self.owners += more.owners;
        for (fault, (stories, times)) in more.met {
            let met = self.met.entry(fault).or_default();
            *met = (met.0 + stories, met.1 + times);
        }
        self.failed.extend(more.failed);
    }
}

/// Plays consecutive seeds, on every core when there are many.
fn sweep(first: u64, seeds: u64) -> Tally {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let cores = if seeds < 1_000 { 1 } else { cores };
    let part = |core: u64| {
        let mut tally = Tally::default();
        for seed in (core..seeds).step_by(usize::try_from(cores).unwrap()) {
            tally += Tally::of(first.wrapping_add(seed));
        }
        tally
    };
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..cores).map(|core| scope.spawn(move || part(core))).collect();
        for part in parts {
            tally += part.join().unwrap();
        }
    });
    tally
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// In an ordinary run from a seed after which each fault strikes; in a sweep from the seed and as many as it says.
#[test]
fn sweep_faults_leave_every_machine_as_it_was() {
    let long = number("POWERBAND_SWEEP") == Some(1);
    let (first, seeds) = if long {
        (number("POWERBAND_SWEEP_SEED").unwrap_or(1), number("POWERBAND_SWEEP_COUNT").unwrap_or(SEEDS))
    } else {
        (FIRST, SEEDS)
    };
    let tally = sweep(first, seeds);
    println!("{} stories, {} with a crash, {} with a power cut", tally.stories, tally.crashed, tally.cut);
    println!("{} experiments were gone on with, by {} owners", tally.gone_on, tally.owners);
    for (fault, (stories, times)) in &tally.met {
        println!("    {:<16} in {stories} stories, {times} times", format!("{fault:?}"));
    }
    for (seed, said) in tally.failed.iter().take(20) {
        println!("{said}\n    again: cargo xtask sweep --only faults --seeds 1 --seed {seed}");
    }
    if let (1, Some((seed, _))) = (seeds, tally.failed.first()) {
        println!("{}", tell(*seed));
    }
    assert!(tally.failed.is_empty(), "{} of {seeds} stories are not as they must be", tally.failed.len());
    if seeds >= SEEDS {
        let missing: Vec<Fault> = Fault::ALL.into_iter().filter(|fault| !tally.met.contains_key(fault)).collect();
        assert!(missing.is_empty(), "{missing:?} never struck");
    }
}

/// A story that did not end well: what was done, every hand on every file, and each owner of the experiment.
fn tell(seed: u64) -> String {
    let story = Story::of(seed);
    let record = play(&story);
    let mut lines = vec![format!("{story:#?}")];
    lines.extend(record.done.iter().map(|done| format!("{done:?}")));
    lines.extend(record.written.iter().map(|written| format!("{written:?}")));
    lines.extend(record.open.iter().map(|entry| format!("{entry:?}")));
    lines.extend(record.told.iter().flat_map(|told| &told.legs).map(|leg| format!("{leg:?}")));
    lines.join("\n")
}

/// A story without any other fault, ended at one step.
fn ended_at(step: u64, ending: Ending, deed: &Deed) -> Record {
    let mut story = Story::of(7);
    (story.machine, story.one_in, story.cpus, story.course) = ("quadcore", 0, None, None);
    story.found = "governor=ondemand up_threshold=70".into();
    story.commands = vec![Command { ends: Some((step, ending)), ..Command::whole(deed.clone()) }];
    if matches!(deed, Deed::Undo { .. }) {
        let set = |setting: &str| Command::whole(Deed::Set { setting: setting.into() });
        story.commands.splice(0..0, [set("governor=powersave"), set("sysctl.vm.swappiness=7 file:/tmp/new.conf=1")]);
    }
    story.last = Deed::Undo { all: true, force: false };
    play(&story)
}

#[test]
fn any_step_may_be_the_last() {
    let with = "governor=conservative up_threshold=90 max_freq=1867000 cpu_quota=50% file:/etc/kept.conf=2";
    for deed in [Deed::With { setting: with.into() }, Deed::Undo { all: true, force: false }] {
        for ending in [Ending::Crash, Ending::PowerCut] {
            let mut step = 1;
            loop {
                let record = ended_at(step, ending, &deed);
                if let Err((name, said)) = judge(&record) {
                    panic!("{ending:?} in step {step} of {deed:?}: {name}: {said}");
                }
                if record.done.iter().all(|done| done.ended.is_none()) {
                    break;
                }
                step += 1;
            }
            assert!(step > 40, "{deed:?} has only {step} steps");
        }
    }
}

#[test]
fn one_seed_replays_a_story() {
    for seed in [3, 14, 159] {
        let [one, other] = [(); 2].map(|()| format!("{:?}", play(&Story::of(seed))));
        assert_eq!(one, other);
    }
}
