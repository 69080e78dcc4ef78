//! The load that words on the command line describe.
use powerband_load::{CommandLoad, Load, Reads};
use powerband_record::{parse_duration_ns, split_words};

use crate::cli::{Loading, Shared};
use crate::exit::{Failure, usage};
use crate::rig::is_table;

/// The load the words describe.
pub(crate) fn load(shared: &Shared, args: &Loading) -> Result<Load, Failure> {
    if shared.machine.as_deref().is_some_and(is_table) {
        // What was measured is in the table; the load it was measured under is as good as idle to us.
        return match args.load.is_some() || args.length.is_some() || !args.command.is_empty() {
            true => Err(usage("a table was measured under a load of its own; leave out --load, --for and the command")),
            false => Load::builtin("idle", None).map_err(usage),
        };
    }
    let length =
        args.length.as_deref().map(parse_duration_ns).transpose().map_err(|error| usage(format!("--for: {error}")))?;
    if !args.command.is_empty() {
        if length.is_some() {
            return Err(usage("--for is for built-in loads; a command runs to its own end"));
        }
        let command = CommandLoad {
            argv: args.command.clone(),
            far_command: far_command(args)?,
            far_port: args.far_port,
            pin: args.pin.clone(),
            ignore_failure: args.ignore_failure,
            demand: None,
            reads: args.reads.as_deref().map(Reads::parse).transpose().map_err(usage)?.unwrap_or_default(),
        };
        return Ok(Load::Command(command));
    }
    if args.reads.is_some() || args.far_command.is_some() {
        return Err(usage("--reads and --far-command belong to a command; put it behind --"));
    }
    // Time without a load: whatever runs on the machine anyway is what is measured.
    let name = args.load.as_deref().or(length.map(|_| "idle")).ok_or_else(|| {
        usage("there is nothing to run: name a built-in load (--load counter), put a command behind --, or say --for how long to watch a machine that works by itself")
    })?;
    let mut load = Load::builtin(name, length).map_err(usage)?;
    match &mut load {
        Load::Counter(counter) => counter.pin.clone_from(&args.pin),
        Load::Stream(stream) => stream.pin.clone_from(&args.pin),
        Load::Primes(primes) => primes.pin.clone_from(&args.pin),
        _ => {}
    }
    Ok(load)
}

/// The words of the command's far end.
fn far_command(args: &Loading) -> Result<Vec<String>, Failure> {
    let Some(text) = &args.far_command else { return Ok(Vec::new()) };
    let words = split_words(text).filter(|words| !words.is_empty());
    words.ok_or_else(|| {
        usage("--far-command: a quote is open, or nothing is there; write e.g. --far-command 'iperf3 -s -1'")
    })
}
