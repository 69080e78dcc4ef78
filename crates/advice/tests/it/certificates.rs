//! How often a certificate is wrong, a bound broken and a better setting missed, on surfaces of many kinds.
//!
//! A sweep alone plays these (`POWERBAND_SWEEP=1`), 60 searches a surface unless `POWERBAND_SWEEP_COUNT` says otherwise;
//! those on tables of runs want the folder of the tables in `POWERBAND_SURFACES`. `POWERBAND_SURFACE=flat,law-uneven`
//! plays only these.
use std::collections::BTreeSet;
use std::path::Path;

use powerband_advice::{Ask, Candidate, Observation, Search, SearchConclusion, SearchStage};
use powerband_stats::{Draws, Purpose};

use crate::surfaces::{FAMILIES, Limit, Reading, Surface, drawn, read};
use crate::{first_seed, long, most, quantile};

/// A setting within this share of the best is as good.
const CLOSE: f64 = 0.05;

/// What many searches came to.
#[derive(Debug, Default)]
struct Tally {
    runs: Vec<f64>,
    /// Runs of the start while looking, other settings' first runs and repeats, and runs from the first confirmation on.
    spent: [f64; 4],
    confirmed: usize,
    start_best: usize,
    none_keeps: usize,
    undecided: usize,
    broken: usize,
    close_provable: usize,
    close_feasible: usize,
    certified: usize,
    false_certificates: usize,
    observation: f64,
    told_of: usize,
    covered: usize,
}

impl Tally {
    fn add(&mut self, surface: &Surface, seed: u64) {
        let mut search = Search::new(surface.problem(seed)).unwrap();
        let mut random = Draws::new(seed, Purpose::Noise, 8, 0);
        let (mut runs, mut tried, mut confirming) = (0, BTreeSet::new(), false);
        let end = loop {
            match search.ask() {
                Ask::End(end) => break end,
                Ask::Run(candidate) => {
                    assert!(runs < 3000, "a search that does not end");
                    let (goal, tail) = surface.run(candidate, &mut random);
                    confirming |= matches!(search.phase(), SearchStage::Confirming { .. });
                    let kind = match candidate {
                        _ if confirming => 3,
                        Candidate::Start => 0,
                        Candidate::Point(_) => 1 + usize::from(!tried.insert(candidate)),
                    };
                    self.spent[kind] += 1.0;
                    search.tell(candidate, Observation::Valid { goal, bounds: vec![tail] }, 20.0, 0.0);
                    runs += 1;
                }
            }
        };
        self.runs.push(f64::from(runs));
        let sure = !search.is_cut_short();
        self.judge(surface, &end, sure, search.standing().certificate.map(|it| it.chance_5_percent));
    }

    fn judge(&mut self, surface: &Surface, end: &SearchConclusion, sure: bool, observation: Option<f64>) {
        let answer = match end {
            SearchConclusion::Confirmed(kept) => surface.goal[kept.point],
            _ if surface.start_keeps() => surface.start.0,
            _ => f64::INFINITY,
        };
        let close = |deviations: f64| answer <= surface.best(deviations) + CLOSE.ln_1p();
        self.close_provable += usize::from(close(1.0));
        self.close_feasible += usize::from(close(0.0));
        match end {
            SearchConclusion::Confirmed(kept) => {
                self.confirmed += 1;
                self.broken += usize::from(surface.tail[kept.point] > surface.limit);
                let truth = surface.goal[kept.point] - surface.start.0;
                self.covered += usize::from(kept.gain.is_none_or(|gain| gain.low <= truth && truth <= gain.high));
            }
            SearchConclusion::StartIsBest { .. } => self.start_best += 1,
            SearchConclusion::NoneKeepsTheBound { .. } => self.none_keeps += 1,
            SearchConclusion::Undecided { .. } => self.undecided += 1,
        }
        if let Some(chance) = observation {
            (self.observation, self.told_of) = (self.observation + chance, self.told_of + 1);
        }
        if sure && !matches!(end, SearchConclusion::Undecided { .. }) {
            self.certified += 1;
            self.false_certificates += usize::from(!close(1.0));
        }
    }

    /// A line of the table.
    fn line(&self, name: &str) -> String {
        let all = self.runs.len();
        let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
        format!(
            "{name:<16} runs {:>3}/{:<3} close {:>3.0}/{:<3.0} false {:>2}/{:<2} broken {} covers {:>3.0} observation {:>4.1} \
             ends {} {} {} {} spent {}",
            quantile(&self.runs, 0.5),
            quantile(&self.runs, 0.95),
            share(self.close_feasible, all),
            share(self.close_provable, all),
            self.false_certificates,
            self.certified,
            self.broken,
            share(self.covered, self.confirmed),
            100.0 * self.observation / self.told_of.max(1) as f64,
            self.confirmed,
            self.start_best,
            self.none_keeps,
            self.undecided,
            self.spent.map(|runs| format!("{:.1}", runs / all.max(1) as f64)).join(" "),
        )
    }
}

fn count() -> u64 {
    std::env::var("POWERBAND_SWEEP_COUNT").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

fn wanted(name: &str) -> bool {
    std::env::var("POWERBAND_SURFACE").map_or(true, |only| only.split(',').any(|one| one == name))
}

const TWO: &[&str] = &["freq_khz", "rx_usecs"];
const THREE: &[&str] = &["freq_khz", "rx_usecs", "cap_w"];

const fn reading(name: &'static str, file: &'static str, limit: Limit) -> Reading {
    Reading { name, file, knobs: TWO, limit, louder: 1.0 }
}

const fn readings() -> [Reading; 24] {
    const QUIET: &str = "keyvalue-200k.csv";
    const BUSY: &str = "keyvalue-600k.csv";
    let us = Limit::Us(500.0);
    [
        reading("200k-2", QUIET, us),
        Reading { knobs: THREE, ..reading("200k-3", QUIET, us) },
        Reading { louder: 5.0, ..reading("200k-x5", QUIET, us) },
        reading("200k-edge", QUIET, Limit::Edge(0.5, 300.0)),
        reading("600k-2", BUSY, us),
        Reading { knobs: THREE, ..reading("600k-3", BUSY, us) },
        Reading { louder: 5.0, ..reading("600k-x5", BUSY, us) },
        Reading { louder: 5.0, knobs: THREE, ..reading("600k-3-x5", BUSY, us) },
        reading("600k-edge", BUSY, Limit::Edge(0.5, 500.0)),
        reading("600k-lowest", BUSY, Limit::Lowest(-1.0)),
        reading("600k-none", BUSY, Limit::Us(90.0)),
        reading("corner-hi", "synthetic/corner-hi.csv", us),
        reading("corner-lo", "synthetic/corner-lo.csv", Limit::Us(150.0)),
        reading("flat", "synthetic/flat.csv", us),
        reading("flat2", "synthetic/flat2.csv", Limit::Us(150.0)),
        reading("infeas", "synthetic/infeas.csv", Limit::Us(25.0)),
        reading("interact", "synthetic/interact.csv", Limit::Us(150.0)),
        reading("noise5", "synthetic/noise5.csv", us),
        reading("noise10", "synthetic/noise10.csv", us),
        Reading { knobs: &["freq_khz", "rx_usecs", "zzz"], ..reading("nothing", "synthetic/nothing.csv", us) },
        reading("sine", "synthetic/sine.csv", us),
        reading("spike", "synthetic/spike.csv", Limit::Us(150.0)),
        reading("startbest", "synthetic/startbest.csv", us),
        reading("xor", "synthetic/xor.csv", Limit::Us(150.0)),
    ]
}

#[test]
fn sweep_certificates_on_tables() {
    let Some(folder) = std::env::var_os("POWERBAND_SURFACES").filter(|_| long()) else { return };
    for reading in readings().iter().filter(|reading| wanted(reading.name)) {
        let surface = read(Path::new(&folder), reading);
        let mut tally = Tally::default();
        (0..count()).for_each(|seed| tally.add(&surface, first_seed() + seed));
        println!("{}", tally.line(reading.name));
        assert!(tally.broken * 20 <= tally.confirmed + 20, "{}: {tally:?}", reading.name);
    }
}

/// Plays a family, three searches a surface.
fn family(name: &str, steepness: f64, searches: u64) -> Tally {
    let mut tally = Tally::default();
    for search in 0..searches {
        let seed = first_seed() + search;
        tally.add(&drawn(name, seed / 3, steepness), seed);
    }
    tally
}

/// A short form: all families, with noise that is the same everywhere and noise that grows.
#[test]
fn certificates_are_seldom_wrong_and_bounds_not_broken() {
    let searches = 3;
    let all = FAMILIES.iter().flat_map(|name| [0.0, 0.8].map(|steepness| family(name, steepness, searches)));
    let (mut searched, mut wrong, mut broken) = (0, 0, 0);
    for tally in all {
        searched += tally.runs.len();
        wrong += tally.false_certificates;
        broken += tally.broken;
    }
    assert!(wrong <= most(searched, 0.05), "{wrong} of {searched} searches missed a setting 5 % better");
    assert!(broken <= most(searched, 0.01), "{broken} of {searched} searches confirmed what breaks the bound");
}

#[test]
fn sweep_certificates_on_random_surfaces() {
    if !long() {
        return;
    }
    for (suffix, steepness) in [("", 0.0), ("-uneven", 0.8)] {
        for name in FAMILIES {
            let label = format!("{name}{suffix}");
            if wanted(&label) {
                let tally = family(name, steepness, count());
                println!("{}", tally.line(&label));
                assert!(tally.broken * 20 <= tally.confirmed + 20, "{label}: {tally:?}");
            }
        }
    }
}
