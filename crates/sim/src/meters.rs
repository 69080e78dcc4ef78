//! Meters a machine file declares: what each covers of the energy the machine draws, how it counts or averages that, and
//! what is wrong with it. The energy is exact; what is not exact about a number is the meter's.
use std::collections::VecDeque;

use powerband_machine::Errno;
use rand_core::Rng as _;

use crate::board::Board;
use crate::noise::keyed;
use crate::power::WHOLE_PPM;

/// fJ in a nJ and in a uJ.
const FJ_PER_NJ: u128 = 1_000_000;
const FJ_PER_UJ: u128 = 1_000_000_000;
const FJ_PER_J: u128 = 1_000_000_000_000_000;

/// How fine a package's counter is, and what perf makes of it: powers of two.
const STEPS_PER_J_LOG2: u32 = 14;
const COUNTS_PER_J_LOG2: u32 = 32;

/// A spike of a gauge shows so many times what is true.
const SPIKE: u128 = 1_000;

/// How much of the machine's energy a meter covers, millionths of each part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The one package it is for; all of them when `None`.
    pub package: Option<u32>,
    /// Of what the CPUs draw.
    pub cpus_ppm: u64,
    /// Of what packages draw next to their CPUs.
    pub packages_ppm: u64,
    /// Of what never changes.
    pub platform_ppm: u64,
}

/// What a meter shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Energy counted up in steps of so many nJ; after `range_uj` it starts again from 0.
    Energy {
        /// One step, nJ.
        unit_nj: u64,
        /// The highest number, uJ.
        range_uj: Option<u64>,
    },
    /// Energy counted up in 2^-32 J, in steps of 2^-14 J: RAPL as perf counts it.
    Counts,
    /// The mean power of so long before its update, in steps of so many uW.
    Power {
        /// That time, ns; whole updates.
        window_ns: u64,
        /// One step, uW.
        unit_uw: u64,
    },
}

/// What is wrong with a meter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrong {
    /// From then on it shows 0, ns since boot.
    pub dead_at_ns: Option<u64>,
    /// From then on it is not updated, ns since boot.
    pub frozen_at_ns: Option<u64>,
    /// From then on reading it fails, ns since boot, with this.
    pub gone_at_ns: Option<(u64, Errno)>,
    /// Share of its updates that show nonsense, millionths.
    pub spikes_ppm: u64,
    /// It shows what was so long ago, ns; whole updates.
    pub late_ns: u64,
}

/// One meter of a machine file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterSpec {
    /// The file that shows it.
    pub path: String,
    /// Files next to it that only say something, with their texts.
    pub beside: Vec<(String, String)>,
    /// Files next to it that keep a number which changes nothing: path, value, lowest and highest.
    pub kept: Vec<(String, i64, i64, i64)>,
    /// Who may read the number: the file's mode.
    pub mode: u32,
    /// What it covers.
    pub share: Share,
    /// How it shows that.
    pub shows: Shows,
    /// How often its number changes, ns.
    pub every_ns: u64,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// Energy since boot by part, fJ: of each package its CPUs' and its own, and at the end the platform's.
type Parts = Box<[u128]>;

/// The latest energies at whole multiples of one time, for all meters that are updated then.
#[derive(Debug)]
struct Beat {
    every_ns: u64,
    /// No update comes after this.
    until_ns: u64,
    /// So many of the latest are kept.
    keep: u64,
    /// The number of the update that comes next.
    next: u64,
    /// Those before it, the latest last.
    latest: VecDeque<Parts>,
}

/// The meters of one machine while it runs.
#[derive(Debug)]
pub(crate) struct Meters {
    seed: u64,
    component: String,
    beats: Vec<Beat>,
    /// By the place of the meter in the machine file, its beat.
    of: Vec<usize>,
}

impl Meters {
    pub(crate) fn new(specs: &[MeterSpec], packages: u32, seed: u64, component: &str) -> Self {
        let mut meters =
            Meters { seed, component: format!("meters of {component}"), beats: Vec::new(), of: Vec::new() };
        let nothing = vec![0; packages as usize * 2 + 1];
        for spec in specs {
            let window_ns = if let Shows::Power { window_ns, .. } = spec.shows { window_ns } else { 0 };
            let keep = (spec.wrong.late_ns + window_ns) / spec.every_ns + 2;
            let until_ns = spec.wrong.frozen_at_ns.unwrap_or(u64::MAX);
            let known =
                meters.beats.iter().position(|beat| (beat.every_ns, beat.until_ns) == (spec.every_ns, until_ns));
            let place = known.unwrap_or(meters.beats.len());
            if known.is_none() {
                let latest = VecDeque::from([nothing.clone().into_boxed_slice()]);
                meters.beats.push(Beat { every_ns: spec.every_ns, until_ns, keep, next: 1, latest });
            }
            meters.beats[place].keep = meters.beats[place].keep.max(keep);
            meters.of.push(place);
        }
        meters
    }
}

impl Beat {
    /// The last update there is at a time.
    fn number_at(&self, at_ns: u64) -> u64 {
        at_ns.min(self.until_ns) / self.every_ns
    }

    /// When the next update is, ns.
    fn next_ns(&self) -> Option<u64> {
        self.next.checked_mul(self.every_ns).filter(|at_ns| *at_ns <= self.until_ns)
    }

    /// What one of the latest updates found.
    fn parts(&self, number: u64) -> Option<&Parts> {
        let back = usize::try_from(self.next.checked_sub(number)?).ok()?;
        self.latest.len().checked_sub(back).and_then(|place| self.latest.get(place))
    }
}

impl Share {
    fn of(&self, parts: &Parts) -> u128 {
        let (platform, packages) = parts.split_last().unwrap_or((&0, &[]));
        let own = packages.chunks_exact(2).zip(0..).filter(|(_, number)| self.package.is_none_or(|own| own == *number));
        let own: u128 =
            own.map(|(of, _)| of[0] * u128::from(self.cpus_ppm) + of[1] * u128::from(self.packages_ppm)).sum();
        (own + platform * u128::from(self.platform_ppm)) / u128::from(WHOLE_PPM)
    }
}

impl Board {
    /// Time passes to `now_ns`; the meters are updated as often as they are meanwhile. Nothing has happened since the time
    /// before, or it would have been passed to.
    pub(crate) fn pass_to(&mut self, now_ns: u64) {
        if now_ns >= self.noted_until_ns {
            self.note_to(now_ns);
        }
        self.now_ns = now_ns;
    }

    /// Updates meters and temperature as often as they are until `now_ns`, and finds out when they are next.
    #[cold]
    fn note_to(&mut self, now_ns: u64) {
        for place in 0..self.meters.beats.len() {
            let beat = &self.meters.beats[place];
            let (last, next, every_ns, keep) = (beat.number_at(now_ns), beat.next, beat.every_ns, beat.keep);
            // Of a long time in which nothing happened only the end will be asked for.
            for number in next.max((last + 1).saturating_sub(keep))..=last {
                let parts = self.parts_at(number * every_ns);
                let beat = &mut self.meters.beats[place];
                if number != beat.next {
                    beat.latest.clear();
                }
                beat.latest.push_back(parts);
                beat.next = number + 1;
                if beat.latest.len() as u64 > keep {
                    beat.latest.pop_front();
                }
            }
        }
        self.warm_to(now_ns);
        let beats_ns = self.meters.beats.iter().filter_map(Beat::next_ns);
        self.noted_until_ns = beats_ns.chain(self.next_warming_ns()).min().unwrap_or(u64::MAX);
    }

    /// What all CPUs and packages have drawn until then, without the rest of the machine, fJ.
    pub(crate) fn heating_fj(&self, at_ns: u64) -> u128 {
        self.parts_at(at_ns).split_last().map_or(0, |(_, packages)| packages.iter().sum())
    }

    fn parts_at(&self, at_ns: u64) -> Parts {
        let spec = &self.profile.power;
        let mut parts: Vec<u128> =
            self.packages.iter().flat_map(|package| [0, package.energy_fj(spec, at_ns)]).collect();
        for cpu in &self.cpus {
            parts[cpu.package * 2] += cpu.energy_fj(spec, at_ns);
        }
        parts.push(spec.platform_fj(at_ns));
        parts.into_boxed_slice()
    }

    /// What a meter shows now, by its place in the machine file.
    pub(crate) fn show_meter(&self, meter: usize) -> Result<String, Errno> {
        let spec = &self.profile.meters[meter];
        let (now_ns, wrong) = (self.now_ns, &spec.wrong);
        if let Some((_, errno)) = wrong.gone_at_ns.filter(|(at_ns, _)| now_ns >= *at_ns) {
            return Err(errno);
        }
        if wrong.dead_at_ns.is_some_and(|at_ns| now_ns >= at_ns) {
            return Ok("0\n".into());
        }
        let beat = &self.meters.beats[self.meters.of[meter]];
        let number = beat.number_at(now_ns).saturating_sub(wrong.late_ns / spec.every_ns);
        let energy_fj = |number| beat.parts(number).map(|parts| spec.share.of(parts)).ok_or(Errno::ENODEV);
        let spikes = self.spikes(spec, number);
        let shown = match spec.shows {
            Shows::Energy { unit_nj, range_uj } => {
                let unit_fj = u128::from(unit_nj) * FJ_PER_NJ;
                let counted_uj = energy_fj(number)? / unit_fj * unit_fj / FJ_PER_UJ;
                let round_uj = range_uj.map_or(u128::from(u64::MAX), u128::from) + 1;
                (counted_uj + if spikes { round_uj / 2 } else { 0 }) % round_uj
            }
            Shows::Counts => {
                let steps = (energy_fj(number)? << STEPS_PER_J_LOG2) / FJ_PER_J;
                (steps << (COUNTS_PER_J_LOG2 - STEPS_PER_J_LOG2)) + if spikes { 1 << 63 } else { 0 }
            }
            Shows::Power { window_ns, unit_uw } => {
                let before = number.saturating_sub(window_ns / spec.every_ns);
                let mean_uw = (energy_fj(number)? - energy_fj(before)?) / u128::from(window_ns);
                mean_uw / u128::from(unit_uw) * u128::from(unit_uw) * if spikes { SPIKE } else { 1 }
            }
        };
        Ok(format!("{shown}\n"))
    }

    /// Whether an update shows nonsense.
    fn spikes(&self, spec: &MeterSpec, number: u64) -> bool {
        let Meters { seed, component, .. } = &self.meters;
        spec.wrong.spikes_ppm > 0
            && keyed(*seed, &format!("{component}: {}", spec.path), number).next_u64() % WHOLE_PPM
                < spec.wrong.spikes_ppm
    }
}
