//! The load that words on the command line describe.
use powerband_knob::{KnobError, resolve};
use powerband_load::{CommandLine, CommandLoad, CommandOutput, Load, Reads, Shell, is_shell_text};
use powerband_record::{KnobRef, parse_duration_ns, split_words};
use powerband_rig::MachineName;

use crate::cli::{Loading, Shared};
use crate::exit::{Failure, usage};

/// The load the words describe.
/// `typed` are commands in front of `--`.
pub(crate) fn load(shared: &Shared, args: &Loading, typed: &[String]) -> Result<Load, Failure> {
    let lines = lines(args, typed)?;
    if shared.machine.as_deref().is_some_and(|name| matches!(MachineName::of(name), Some(MachineName::Table(_)))) {
        // What was measured is in the table; the load it was measured under is as good as idle to us.
        return match args.load.is_some() || args.length.is_some() || !lines.is_empty() {
            true => Err(usage("a table was measured under a load of its own; leave out --load, --for and the command")),
            false => Load::builtin("idle", None).map_err(usage),
        };
    }
    let length =
        args.length.as_deref().map(parse_duration_ns).transpose().map_err(|error| usage(format!("--for: {error}")))?;
    if !lines.is_empty() {
        if length.is_some() {
            return Err(usage("--for is for built-in loads; a command runs to its own end"));
        }
        return command(shared, args, lines).map(Load::Command);
    }
    if args.commands.is_given() {
        return Err(usage("--shell, --repeat, --input and --output belong to a command; put it behind --"));
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
        _ if args.pin.is_some() => {
            return Err(usage(format!(
                "--pin is for counter, stream, primes and commands; the load {name} runs where the kernel puts it, leave it out"
            )));
        }
        _ => {}
    }
    Ok(load)
}

/// One command or several, and how they run.
fn command(shared: &Shared, args: &Loading, lines: Vec<CommandLine>) -> Result<CommandLoad, Failure> {
    let how = &args.commands;
    let shell = match &how.shell {
        _ if how.no_shell => Shell::none(),
        Some(text) => Shell::parse(text).map_err(|why| usage(format!("--shell: {why}")))?,
        None => Shell::default(),
    };
    let output = how.command_output.clone().map(CommandOutput::from).unwrap_or_default();
    let output = if how.show_output { CommandOutput::Inherit } else { output };
    if output == CommandOutput::Inherit && shared.json {
        return Err(usage(
            "--json prints one JSON value, and the command's output would be among it; leave out --show-output",
        ));
    }
    let (argv, commands) = match <[CommandLine; 1]>::try_from(lines) {
        Ok([CommandLine::Words(words)]) => (words, Vec::new()),
        Ok([line]) => (Vec::new(), vec![line]),
        Err(lines) => (Vec::new(), lines),
    };
    Ok(CommandLoad {
        argv,
        commands,
        shell,
        input: how.input.clone().filter(|path| path != "null"),
        output,
        repeat: how.repeat,
        far_command: far_command(args)?,
        far_port: args.far_port,
        pin: args.pin.clone(),
        ignore_failure: args.ignore_failure.clone().unwrap_or_default(),
        reads: args.reads.as_deref().map(Reads::parse).transpose().map_err(usage)?.unwrap_or_default(),
        ..CommandLoad::default()
    })
}

/// What separates two commands behind `--`.
pub(crate) const BETWEEN: &str = ":::";

/// The command lines that were typed: in front of `--`, as options, or behind `--`.
fn lines(args: &Loading, typed: &[String]) -> Result<Vec<CommandLine>, Failure> {
    let options = &args.commands.commands;
    let places = [!typed.is_empty(), !options.is_empty(), !args.command.is_empty()];
    if places.iter().filter(|&&given| given).count() > 1 {
        let first = typed.iter().chain(options).next().map_or("", String::as_str);
        return Err(usage(format!(
            "commands are given in two places, '{first}' and elsewhere; give all of them as words, or all by --command"
        )));
    }
    if !typed.is_empty() && args.load.is_some() {
        return Err(usage(format!(
            "'{}' is a command, and --load names another load; leave one of them out",
            typed[0]
        )));
    }
    if !args.command.is_empty() {
        return args.command.split(|word| word == BETWEEN).map(behind).collect();
    }
    Ok(typed.iter().chain(options).map(|text| line(text)).collect())
}

/// The words of one command behind `--`.
fn behind(words: &[String]) -> Result<CommandLine, Failure> {
    match words {
        [] => Err(usage("a command is missing next to ':::'; write e.g. -- cmd a ::: cmd b")),
        [one] => Ok(line(one)),
        words => Ok(CommandLine::Words(words.to_vec())),
    }
}

/// One text: for the shell, unless it is nothing but the name of a program.
fn line(text: &str) -> CommandLine {
    if is_shell_text(text) { CommandLine::Text(text.to_owned()) } else { CommandLine::Words(vec![text.to_owned()]) }
}

/// Words of `try`: knobs with values, and commands.
pub(crate) fn sorted(words: &[String]) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut axes, mut commands) = (Vec::new(), Vec::new());
    for word in words {
        let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let reference = KnobRef::parse(name).ok().filter(|it| it.is_path() || !is_shell_text(name));
        let is_known = reference.as_ref().is_some_and(is_knob);
        match (reference, value) {
            (Some(_), Some(value)) if !is_known && value.contains(char::is_whitespace) => {
                return Err(usage(format!(
                    "'{word}' may be a knob or a command; --command '{word}' runs it, env.{name}=VALUE sets a variable of it"
                )));
            }
            (Some(_), Some(_)) => axes.push(word.clone()),
            (Some(_), None) if is_known => {
                return Err(usage(format!(
                    "the knob {name} has no value; write {name}=V1,V2, or --command {name} to run it as a command"
                )));
            }
            _ => commands.push(word.clone()),
        }
    }
    Ok((axes, commands))
}

/// Whether a knob of this name is known without a plan.
fn is_knob(reference: &KnobRef) -> bool {
    !matches!(resolve(&reference.name), Err(KnobError::Unknown { .. }))
}

/// The words of the command's peer.
fn far_command(args: &Loading) -> Result<Vec<String>, Failure> {
    let Some(text) = &args.far_command else { return Ok(Vec::new()) };
    let words = split_words(text).filter(|words| !words.is_empty());
    words.ok_or_else(|| {
        usage("--far-command: a quote is open, or nothing is there; write e.g. --far-command 'iperf3 -s -1'")
    })
}
