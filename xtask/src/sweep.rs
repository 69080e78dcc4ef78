//! `cargo xtask sweep`: stories of faults, tables of error rates, the long Monte Carlo forms of tests and garbled texts, from a seed nobody has
//! seen before; and by its name alone what needs a kernel's source.
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::architecture::{self, Architecture};
use crate::boards;
use crate::cargo::{cargo, counted, succeeds};
use crate::kernel_source;
use crate::metadata::packages;
use crate::tally::Tally;
use crate::test::needs::Fetch;
use crate::test::tiers::Tier;
use crate::value;

/// Where the stories of faults are: package, and the arguments behind `--` that pick and show them.
const FAULTS: (&str, &[&str]) = ("powerband-experiment", &["sweep_faults", "--nocapture"]);

/// The program whose tables are the error rates of statistics and searches.
const TABLES: &str = "bench-chance";

/// Where the long statistical forms of what uses them are; without arguments the tests look at [`LONG`] themselves.
const CHANCE: [(&str, &[&str]); 3] = [
    ("powerband-report", &["chance::", "fleets::"]),
    ("powerband-experiment", &["required::sweep_", "tuned::where_nothing"]),
    (
        "powerband",
        &["sweep_", "--skip", "clusters::", "--skip", "fuzzed::", "--skip", "broken::", "--skip", "kconfig::"],
    ),
];

/// What of them also runs under an emulator of another architecture, in its short form, as that takes ten times as long; and what
/// differs by the width of a machine's times.
const CHANCE_ELSEWHERE: [(&str, &[&str]); 3] =
    [("powerband-stats", &[]), ("powerband-host", &["after_2038"]), ("powerband-load", &["after_2038"])];

/// Where the statistics of fleets are alone, which are a part of the long statistical forms.
const FLEET_STATISTICS: [(&str, &[&str]); 1] = [("powerband-report", &["fleets::"])];

/// Where tasks and daemons of a real Slurm of 64 nodes are killed.
const FLEET: (&str, &[&str]) = ("powerband", &["clusters::sweep_", "--nocapture"]);

/// Where governors of real kernels in guests play random loads next to the model, and where guests' experiments are killed.
const GUESTS: (&str, &[&str]) = ("powerband-bench-virtual", &["sweep_", "--skip", "built::"]);

/// Where the guests alone are that the pure tier replays.
const TRACES: (&str, &[&str]) = ("powerband-bench-virtual", &["traces::sweep_record"]);

/// Where outputs with numbers are generated, everything that is read is garbled and files are broken.
const TEXTS: [(&str, &[&str]); 2] =
    [("powerband-load", &["generated_outputs"]), ("powerband", &["fuzzed::sweep_", "broken::sweep_"])];

/// Where the doctor's fragments are merged into a kernel's configuration, and where such a kernel is built and booted.
const DOCTOR: [(&str, &[&str]); 2] =
    [("powerband", &["kconfig::sweep_"]), ("powerband-bench-virtual", &["built::sweep_"])];

/// What names the kernel's source and Debian's configuration of it there, and the programs its `make` calls; what the guest
/// needs, the tier of that name knows.
const SOURCE: [&str; 2] = ["POWERBAND_KERNEL_SOURCE", "POWERBAND_KERNEL_CONFIG"];
const BUILDS: [&str; 7] = ["cc", "make", "flex", "bison", "bc", "libelf.h", "xz"];

/// Asks tests for their long forms.
const LONG: &str = "POWERBAND_SWEEP";

/// The seed they start from.
const SEED: &str = "POWERBAND_SWEEP_SEED";

/// How many seeds from there on, where each is a story.
const COUNT: &str = "POWERBAND_SWEEP_COUNT";

/// Stories when no number is given.
const STORIES: u32 = 1_000;

/// A kind of sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Machines on which things go wrong.
    Faults,
    /// How often a claim is wrong.
    Chance,
    /// How often a claim about a fleet is wrong, with the tables printed. The usual sweep has it among the claims.
    FleetStatistics,
    /// Fleets on a Slurm of 64 nodes while it is killed in parts. Takes minutes a fleet, so that it must be asked for.
    Fleet,
    /// What real kernels do in guests, at random.
    Guests,
    /// What the pure tier replays of them, recorded anew. Real kernels do it too.
    Traces,
    /// Texts that nobody would write.
    Texts,
    /// A kernel's own configurator, and a kernel built and booted. Takes minutes and a kernel's source, so that it must be
    /// asked for.
    Doctor,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Faults,
        Kind::Chance,
        Kind::FleetStatistics,
        Kind::Fleet,
        Kind::Guests,
        Kind::Traces,
        Kind::Texts,
        Kind::Doctor,
    ];

    /// Whether it takes part when nothing is asked for.
    fn is_usual(self) -> bool {
        !matches!(self, Kind::Traces | Kind::Doctor | Kind::FleetStatistics | Kind::Fleet)
    }

    /// Whether it also runs under an emulator: arithmetic on simulated machines alone.
    fn runs_elsewhere(self) -> bool {
        matches!(self, Kind::Faults | Kind::Chance)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Faults => "faults",
            Kind::Chance => "chance",
            Kind::FleetStatistics => "fleet-statistics",
            Kind::Fleet => "fleet",
            Kind::Guests => "guests",
            Kind::Traces => "traces",
            Kind::Texts => "texts",
            Kind::Doctor => "doctor",
        }
    }
}

/// What to sweep.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Stories of faults, at consecutive seeds.
    seeds: u32,
    /// The first seed; a fresh one when absent.
    seed: Option<u64>,
    /// One kind alone.
    only: Option<Kind>,
    /// For another architecture than this machine's, under its emulator.
    target: Option<&'static Architecture>,
}

impl Asked {
    /// Whether a kind takes part.
    fn takes(&self, kind: Kind) -> bool {
        self.only.map_or(kind.is_usual(), |only| only == kind) && (self.target.is_none() || kind.runs_elsewhere())
    }
}

/// Reads the words behind `sweep`.
///
/// # Errors
/// When a word is not an option or not a number.
pub(crate) fn parse(words: &[String]) -> Result<Asked> {
    let mut asked = Asked { seeds: STORIES, seed: None, only: None, target: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => {
                let text = value(word, &mut words)?;
                asked.seeds = text.parse().ok().filter(|seeds| *seeds > 0).context("--seeds needs a number from 1")?;
            }
            "--seed" => {
                let text = value(word, &mut words)?;
                asked.seed = Some(text.parse().ok().context("--seed needs a number, as a sweep prints it")?);
            }
            "--only" => {
                let text = value(word, &mut words)?;
                let kind = Kind::ALL.into_iter().find(|kind| kind.name() == text);
                asked.only = Some(kind.context(
                    "--only takes faults, chance, fleet-statistics, fleet, guests, traces, texts or doctor",
                )?);
            }
            "--target" => asked.target = Some(architecture::named(word, value(word, &mut words)?)?),
            _ => bail!("'{word}' means nothing to sweep\n\n{}", crate::USAGE),
        }
    }
    if let Some(only) = asked.only.filter(|only| asked.target.is_some() && !only.runs_elsewhere()) {
        bail!("--target goes with --only faults or chance, not {}", only.name());
    }
    Ok(asked)
}

impl Asked {
    /// What a kind of sweep is called, and the tests that it runs.
    fn parts(&self, kind: Kind) -> (String, &'static [(&'static str, &'static [&'static str])]) {
        match kind {
            Kind::Faults => (format!("{} stories of faults", self.seeds), &[FAULTS][..]),
            Kind::Chance if self.target.is_some() => ("the statistics".to_owned(), &CHANCE_ELSEWHERE[..]),
            Kind::Chance => ("the long statistical forms".to_owned(), &CHANCE[..]),
            Kind::FleetStatistics => ("the statistics of fleets".to_owned(), &FLEET_STATISTICS[..]),
            Kind::Fleet => ("fleets on 64 nodes".to_owned(), &[FLEET][..]),
            Kind::Guests => ("real kernels in guests".to_owned(), &[GUESTS][..]),
            Kind::Traces => ("a recording of governors in real kernels".to_owned(), &[TRACES][..]),
            Kind::Texts => ("garbled texts and broken files".to_owned(), &TEXTS[..]),
            Kind::Doctor => ("the kernel's configurator and a kernel built by it".to_owned(), &DOCTOR[..]),
        }
    }
}

/// Fetches or builds what a kind of sweep needs besides tests, and answers the variables that name it to them.
fn surroundings(kind: Kind) -> Result<Vec<(String, PathBuf)>> {
    let mut names = Vec::new();
    if kind == Kind::Doctor {
        let programs = [&BUILDS[..], Tier::Guest.programs()].concat();
        Fetch::begin(&programs).ready(&programs).map_err(anyhow::Error::msg)?;
        let kept = kernel_source::get()?;
        names.extend(SOURCE.map(str::to_owned).into_iter().zip([kept.source, kept.config]));
    }
    if kind == Kind::Guests {
        for name in ["armhf", "arm64"] {
            let programs = [&boards::PROGRAMS[..], &architecture::named("a board", name)?.needs()].concat();
            Fetch::begin(&programs).ready(&programs).map_err(anyhow::Error::msg)?;
            names.push(boards::built(name)?);
        }
    }
    Ok(names)
}

/// Sweeps and answers whether nothing failed.
///
/// # Errors
/// When cargo cannot be started at all.
pub(crate) fn run(asked: &Asked) -> Result<bool> {
    let packages = packages()?;
    let seed = asked.seed.unwrap_or_else(fresh_seed);
    let mut sum = Tally::default();
    let mut again = Vec::new();
    if let Some(target) = asked.target {
        let programs = target.needs();
        Fetch::begin(&programs).ready(&programs).map_err(anyhow::Error::msg)?;
    }
    for kind in Kind::ALL.into_iter().filter(|&kind| asked.takes(kind)) {
        let (what, swept) = asked.parts(kind);
        let names = surroundings(kind)?;
        println!("── {what} from seed {seed}");
        let mut tally = Tally::default();
        if matches!(kind, Kind::Chance | Kind::FleetStatistics) && asked.target.is_none() {
            tally.add(tables(if kind == Kind::Chance { "" } else { kind.name() }, seed)?);
        }
        for (package, arguments) in swept {
            if packages.iter().any(|known| known.name == *package) {
                let count = (kind == Kind::Faults).then_some(asked.seeds);
                let mut command = cargo();
                command.envs(names.iter().map(|(name, path)| (name, path)));
                // Elsewhere the statistics are those of every test run, whose limits are for their own seeds.
                if asked.target.is_none() || kind == Kind::Faults {
                    command.env(LONG, "1").env(SEED, seed.to_string());
                }
                command.envs(count.map(|count| (COUNT, count.to_string())));
                tally.add(one(command, package, arguments, asked.target)?);
            }
        }
        if !tally.well() {
            let seeds = if kind == Kind::Faults { format!(" --seeds {}", asked.seeds) } else { String::new() };
            let target = asked.target.map_or(String::new(), |target| format!(" --target {}", target.debian));
            again.push(format!("failed; again: cargo xtask sweep --only {}{target}{seeds} --seed {seed}", kind.name()));
        }
        sum.add(tally);
    }
    println!();
    for line in again {
        println!("{line}");
    }
    if sum == Tally::default() {
        println!("no test took part");
    }
    for failure in &sum.failures {
        println!("{failure}");
    }
    println!("{sum}");
    Ok(sum.well() && sum.passed > 0)
}

/// Has the tables of error rates printed, or those of a part, and answers whether all limits hold.
fn tables(part: &str, seed: u64) -> Result<Tally> {
    let seed = seed.to_string();
    let words = ["run", "--profile", "sweep", "-p", TABLES, "--", "--seed", &seed, "--only", part];
    Ok(Tally::check(succeeds(cargo().args(words))?, "error rates: the lines BROKEN above"))
}

/// Has `cargo` test a package, for this machine or another architecture.
fn one(mut cargo: Command, package: &str, arguments: &[&str], target: Option<&Architecture>) -> Result<Tally> {
    cargo.args(["test", "--profile", "sweep", "--no-fail-fast", "-p", package]);
    if let Some(target) = target {
        target.target(&mut cargo)?;
    }
    if !arguments.is_empty() {
        cargo.arg("--").args(arguments);
    }
    counted(&mut cargo)
}

/// The time of day, stirred: two sweeps never start alike.
fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    next_seed(since.as_secs().wrapping_mul(1_000_000_007) ^ u64::from(since.subsec_nanos()))
}

/// One step of splitmix64 (Steele, Lea and Flood 2014), kept below 2^53 so that every tool can hold it.
fn next_seed(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Asked> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        assert_eq!(parsed(&[]).unwrap(), Asked { seeds: STORIES, seed: None, only: None, target: None });
        let asked = parsed(&["--seeds", "20", "--seed", "7", "--only", "faults"]).unwrap();
        assert_eq!(asked, Asked { seeds: 20, seed: Some(7), only: Some(Kind::Faults), target: None });
        for kind in Kind::ALL {
            assert_eq!(parsed(&["--only", kind.name()]).unwrap().only, Some(kind));
        }
        for bad in [&["--seeds", "0"][..], &["--seeds"], &["--seed", "x"], &["7"], &["--only", "luck"]] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
        let elsewhere = parsed(&["--target", "armv7-unknown-linux-gnueabihf"]).unwrap();
        assert!(elsewhere.takes(Kind::Faults) && elsewhere.takes(Kind::Chance) && !elsewhere.takes(Kind::Guests));
        assert_eq!(elsewhere, parsed(&["--target", "armhf"]).unwrap());
        let refused = parsed(&["--only", "guests", "--target", "armhf"]).unwrap_err().to_string();
        assert_eq!(refused, "--target goes with --only faults or chance, not guests");
    }

    #[test]
    fn fresh_seeds_are_spread_and_small() {
        let seeds: Vec<u64> = std::iter::successors(Some(1), |seed| Some(next_seed(*seed))).take(1000).collect();
        let mut unique = seeds.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), 1000);
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
        assert_eq!(next_seed(0), 0xe220_a839_7b1d_cdaf >> 11, "the generator's published first value");
    }
}
