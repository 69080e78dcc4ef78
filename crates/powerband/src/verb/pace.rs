//! `pace`: a governor in user space, until it is ended.

use powerband_cpuspeed::{DaemonOptions, FileOptions};
use powerband_machine::World;
use powerband_record::{Side, format_duration, parse_duration_ns, quoted};
use powerband_rig::{MAX_WRITTEN_BYTES, read_text};
use powerband_session::{Decided, PaceEnd, PaceListener, Pacing};

use crate::cli::{Cpuspeed, Pace, PaceRule, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::held::{put_back, unguarded};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};
use crate::verb::sim;

/// A decision, a line each.
impl Document for Decided {
    const KIND: &'static str = "pace";
}

pub(crate) fn run(shared: &Shared, args: &Pace) -> Answer {
    let PaceRule::Cpuspeed(args) = &args.rule;
    let names = rig::names(shared);
    let options = options(args)?;
    let for_ns = args.length.as_deref().map(parse_duration_ns).transpose();
    let for_ns = for_ns.map_err(|error| usage(format!("--for: {error}")))?;
    if let Some(far) = &shared.far {
        return Err(usage(format!("pace sets one machine; write --machine {} for that one", quoted(far))));
    }
    if names.simulated() && for_ns.is_none() {
        return Err(usage("the time of a simulated machine passes at once; say how much of it, e.g. --for 60s"));
    }
    if args.load.is_some() && !names.simulated() {
        return Err(usage("--load is for simulated machines; here, start the load separately"));
    }
    let narrow = rig::selection(shared)?;
    let mut rig = rig::open(shared, Purpose::Measure)?;
    let world = rig.world();
    world.hear_user_signals().map_err(|errno| Failure::new(Exit::CannotGoOn, errno))?;
    if let (Some(load), Some(machine)) = (args.load, world.machine(Side::Near)) {
        sim::start(machine, load)?;
    }
    let mut pacing = Pacing::begin(world, &options, &narrow)?;
    let paced = follow(world, shared, &options, for_ns, &mut pacing);
    let (looks, changes) = pacing.counts();
    let held = [(Side::Near, pacing.into_applied())];
    let restored = put_back(world, &held, &names);
    let end = match paced {
        Ok(end) => restored.map(|()| end)?,
        Err(failure) => {
            restored.inspect_err(|_| output::error(&failure.sentence))?;
            return Err(failure);
        }
    };
    rig::check_lost(world)?;
    rig.in_place()?;
    if !shared.json {
        let looks = if looks == 1 { "1 look".to_owned() } else { format!("{looks} looks") };
        output::print(&format!("{looks}, {changes} changed the frequency; governor and frequencies are restored"));
    }
    Ok(if end == PaceEnd::Time { Exit::Fine } else { Exit::Stopped } as u8)
}

/// Says what holds, and paces.
fn follow(
    world: &mut dyn World,
    shared: &Shared,
    options: &DaemonOptions,
    for_ns: Option<u64>,
    pacing: &mut Pacing,
) -> Result<PaceEnd, Failure> {
    let held = [(Side::Near, pacing.applied().clone())];
    let applied = pacing.applied();
    applied.notes.iter().for_each(output::note);
    if let Some(why) = unguarded(world, &held) {
        output::note(format!(
            "no guardian process could be started ({why}): if powerband is killed, the governor stays until the next powerband command"
        ));
    }
    if !shared.json {
        let (policies, interval) = (pacing.policies(), format_duration(options.interval_ms() * 1_000_000));
        let policies = if policies == 1 { "1 policy".to_owned() } else { format!("{policies} policies") };
        output::print(&format!(
            "governor userspace on {policies}, a look every {interval}; Ctrl-C ends it and restores"
        ));
    }
    let mut listener = Listener { json: shared.json, verbose: shared.verbose, had_terminal: on_a_terminal() };
    Ok(pacing.run(world, for_ns, &mut listener)?)
}

/// The daemon's options: its own defaults, what a file says, what was typed.
fn options(args: &Cpuspeed) -> Result<DaemonOptions, Failure> {
    if let Some(why) = args.other.refusal() {
        return Err(usage(why));
    }
    let mut options = DaemonOptions::default();
    if let Some(file) = &args.config {
        let text = read_text(file, "the configuration", MAX_WRITTEN_BYTES)?;
        let in_file = FileOptions::parse(&text).map_err(|error| usage(format!("{}: {error}", file.display())))?;
        if let Some(governor) = &in_file.other_governor {
            output::note(format!("{} names the governor {governor}; pace sets userspace", file.display()));
        }
        for unused in &in_file.unused {
            output::note(format!("{}: {unused} is not read; give its options to pace", file.display()));
        }
        options = in_file.over(options);
    }
    if let Some([fast_up, threshold]) = args.thresholds.as_deref() {
        (options.fast_up_percent, options.threshold_percent) = (*fast_up, *threshold);
    }
    options.interval_tenths = args.interval.unwrap_or(options.interval_tenths);
    options.min_khz = args.lowest.or(options.min_khz);
    options.max_khz = args.highest.or(options.max_khz);
    options.ignore_nice |= args.ignore_nice;
    options.ignore_iowait |= args.ignore_iowait;
    options.check().map_err(usage)?;
    Ok(options)
}

/// Prints what is decided.
struct Listener {
    json: bool,
    verbose: bool,
    had_terminal: bool,
}

impl PaceListener for Listener {
    fn decided(&mut self, decided: &Decided) -> bool {
        if self.json {
            return output::document_line(decided).is_ok_and(|line| output::print_line(&line));
        }
        if self.verbose {
            output::print(&line(decided));
        }
        true
    }

    fn terminal_is_gone(&mut self) -> bool {
        self.had_terminal && !on_a_terminal()
    }
}

/// A terminal that has hung up is none any more.
fn on_a_terminal() -> bool {
    let terminals = crate::streams::terminals();
    terminals.input() || terminals.out() || terminals.err()
}

fn line(decided: &Decided) -> String {
    let Decided { at_s, policy, cpus, wish, khz, .. } = decided;
    let idle = decided.idle_percent.map_or_else(|| "no time".to_owned(), |percent| format!("{percent} % idle"));
    let mhz = f64::from(*khz) / 1_000.0;
    let refused = decided.refused.as_ref().map(|why| format!(", refused: {why}")).unwrap_or_default();
    format!("{at_s:9.2} s  {policy} (cpus {cpus}): {idle}, {wish}: {mhz:.0} MHz{refused}")
}
