//! `watch`: a machine as it runs, on the terminal or as rows and metrics in files.

use powerband_record::{Side, parse_duration_ns, quoted};
use powerband_watch::{LogTarget, Pace, Sampler, Time, WatchEnd, WatchError, Watched};

use crate::cli::{Shared, Watch};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::rig::{self, Names, Purpose, Rig};
use crate::verb::sim;
use crate::{file, output};

/// Ten samples a second at most.
const MIN_NS: u64 = 100_000_000;
/// Of a model, which is not disturbed by being read: as often as the quickest governor decides.
const MIN_SIMULATED_NS: u64 = 10_000_000;

/// How long a simulated machine rests before its load begins, ns.
const REST_NS: u64 = 10_000_000_000;

pub(crate) fn run(shared: &Shared, args: &Watch) -> Answer {
    let names = rig::names(shared);
    let log = LogTarget::of(args.log.as_deref(), shared.json).map_err(usage)?;
    // A pipe or a device has nothing in it that could be lost.
    if let Some(path) = args.log.as_deref().filter(|path| path.is_file()) {
        file::is_free(path, args.force, "--log FILE.csv")?;
    }
    let silent = log.is_some() || (args.openmetrics.is_some() && !on_a_terminal());
    if !silent && !on_a_terminal() {
        return Err(usage(
            "the picture needs a terminal; write --log - for rows of CSV, --json for lines of JSON, or --log FILE.csv",
        ));
    }
    let screen = (!silent).then(screen).transpose()?;
    let interval_ns = interval(&args.interval, names.simulated())?;
    let length_ns = args.length.as_deref().map(parse_duration_ns).transpose();
    let length_ns = length_ns.map_err(|error| usage(format!("--for: {error}")))?;
    let mut rig = open(shared, args, &names)?;
    let machine = rig.world().machine(Side::Near).ok_or_else(no_machine)?;
    // Neither a model nor a recording is disturbed by being read.
    let sampler = Sampler::open(machine, shared.cpus.as_ref(), names.simulated() || names.recorded());
    let found = sampler.scene().cpus.len();
    rig::check_lost(rig.world())?;
    if found == 0 {
        return Err(match &shared.cpus {
            Some(cpus) => usage(format!("there is no cpu {cpus} here; `powerband info cpu` lists those there are")),
            None => Failure::new(Exit::Unsupported, "no CPUs are listed in /sys/devices/system/cpu here"),
        });
    }
    let time = match (names.simulated(), names.recorded()) {
        (true, _) => Time::Virtual,
        (_, true) => Time::Still,
        _ => Time::Real,
    };
    let pace = Pace::new(time, rig.world().now_ns(), interval_ns, length_ns, args.count);
    let watched = Watched::new(rig, sampler, pace, args.openmetrics.clone(), args.cost);
    let end = match screen {
        None => watched.log(log, &mut output::print_line, &mut output::note)?,
        Some(show) => show(watched)?,
    };
    Ok(if end == WatchEnd::Done { Exit::Fine } else { Exit::Stopped } as u8)
}

/// What shows the machine on the terminal.
type Screen = fn(Watched) -> Result<WatchEnd, WatchError>;

#[cfg(feature = "tui")]
fn screen() -> Result<Screen, Failure> {
    Ok(|watched| watched.show(output::colour(), &mut output::note))
}

#[cfg(not(feature = "tui"))]
fn screen() -> Result<Screen, Failure> {
    Err(crate::failure::lacks("the screen of `watch`", "write --log - for rows of CSV, or ", "tui"))
}

fn on_a_terminal() -> bool {
    let terminals = crate::streams::terminals();
    terminals.out() && terminals.input()
}

fn interval(text: &str, simulated: bool) -> Result<u64, Failure> {
    let ns = parse_duration_ns(text).map_err(|error| usage(format!("--interval: {error}")))?;
    if simulated && ns < MIN_SIMULATED_NS {
        return Err(usage(format!("--interval {text} is too short; write 10ms or more")));
    }
    if !simulated && ns < MIN_NS {
        return Err(usage(format!(
            "--interval {text} is too short: looking more than ten times a second would change what is seen; write 100ms or more"
        )));
    }
    Ok(ns)
}

fn open(shared: &Shared, args: &Watch, names: &Names) -> Result<Rig, Failure> {
    if let Some(far) = &shared.far {
        return Err(usage(format!("watch looks at one machine; write --machine {} for that one", quoted(far))));
    }
    if args.load.is_some() && !names.simulated() {
        return Err(usage("--load is for simulated machines; here, start the load separately"));
    }
    let mut rig = rig::open(shared, Purpose::Look)?;
    if let Some(load) = args.load {
        // The machine rests before, so that what the load does to it can be seen.
        let from_ns = rig.world().now_ns();
        while rig.world().now_ns() < from_ns + REST_NS {
            rig.world().wait(Some(from_ns + REST_NS));
        }
        let machine = rig.world().machine(Side::Near).ok_or_else(no_machine)?;
        sim::start(machine, load)?;
    }
    Ok(rig)
}

fn no_machine() -> Failure {
    Failure::new(Exit::CannotGoOn, "there is no machine to watch")
}
