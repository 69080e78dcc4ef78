//! What the command prints: one write a result, one line a failure. A reader that went away (`| head`) is no failure.
mod clean;
mod document;
mod indented;
#[cfg(test)]
mod schemas;

use std::io::{self, BufWriter, Write};

use indicatif::ProgressBar;
use powerband_host::variable;
use powerband_record::system_words;
use powerband_rig::Note;

use crate::exit::{Answer, Exit, Failure};
use crate::streams;
pub(crate) use clean::one_line;
pub(crate) use document::Document;
use document::Printed;
use indented::Indented;

/// The code the command ends with: not 0 where its result could not be printed.
pub(crate) fn end(code: u8) -> u8 {
    let Some(why) = streams::unprinted() else { return code };
    error(&format!("the result could not be written to standard output: {}", system_words(&why)));
    if code == 0 { Exit::CannotGoOn as u8 } else { code }
}

/// Prints a result.
pub(crate) fn print(text: &str) {
    let text = clean::lines(text, colour());
    let text = if streams::terminals().out() { folded(&text, width()) } else { text.into_owned() };
    let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    streams::print(|out| write!(out, "{text}{newline}"));
}

/// Lines that are too long for a terminal, folded: the rest stands below the last column of the line. Commands stay whole, so
/// that they can be copied, and so does what has colours, as reports fit already.
fn folded(text: &str, width: usize) -> String {
    let line = |line: &str| {
        let (begins, has_colours) = (line.trim_start(), line.contains('\u{1b}'));
        if line.len() <= width || has_colours || COMMANDS.iter().any(|program| begins.starts_with(program)) {
            return line.to_owned();
        }
        let leading = line.len() - begins.len();
        let gap = begins.rfind("  ").map(|at| leading + line[leading..leading + at + 2].chars().count());
        let hang = gap.filter(|at| *at <= width / 2).unwrap_or(leading + 2);
        powerband_report::text::folded(line, width, hang).join("\n")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// How lines begin that are typed.
const COMMANDS: [&str; 3] = ["powerband ", "sudo ", "$ "];

/// Prints what programs read, a page or a table: as it is, unless a terminal would get it.
pub(crate) fn print_raw(bytes: &[u8]) {
    let text = streams::terminals().out().then(|| String::from_utf8_lossy(bytes).replace("\r\n", "\n"));
    let clean = text.as_deref().map(|text| clean::lines(text, false));
    streams::print(|out| out.write_all(clean.as_deref().map_or(bytes, str::as_bytes)));
}

/// Prints a line of what programs read, as it comes; answers whether anybody still reads.
pub(crate) fn print_line(line: &str) -> bool {
    let clean = streams::terminals().out().then(|| one_line(line));
    streams::print(|out| writeln!(out, "{}", clean.as_deref().unwrap_or(line)))
}

/// What a line of progress says.
pub(crate) fn progress(bar: &ProgressBar, words: &str) {
    bar.set_message(one_line(words));
}

/// Prints a document of a kind for programs.
///
/// # Errors
/// As [`print_json`].
pub(crate) fn print_document(told: &impl Document) -> Answer {
    print_json(&Printed::of(told))
}

/// A document on one line, of which many are printed.
///
/// # Errors
/// As [`print_json`].
pub(crate) fn document_line(told: &impl Document) -> Result<String, Failure> {
    serde_json::to_string(&Printed::of(told)).map_err(|error| Failure::new(Exit::Failed, error))
}

/// Prints a JSON value, as it is made: what is told of very many CPUs is long.
///
/// # Errors
/// Never in practice: the shapes hold only strings and finite numbers.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Answer {
    let mut failed = None;
    streams::print(|out| {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        match value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Indented::default())) {
            Err(error) if !error.is_io() => failed = Some(Failure::new(Exit::Failed, error)),
            told => told.map_err(io::Error::from).and_then(|()| out.write_all(b"\n"))?,
        }
        out.flush()
    });
    failed.map_or(Ok(Exit::Fine as u8), Err)
}

/// Prints what a command of `with` printed elsewhere, each stream to its own: as it is, as when it runs here.
///
/// The only text that is not made clean: anyone who types a command is shown what it prints.
pub(crate) fn pass_on(stdout: &str, stderr: &str) {
    streams::print(|out| out.write_all(stdout.as_bytes()));
    streams::complain(stderr);
}

/// Words this long are not read, and push away what is said about them.
const MAX_WORD: usize = 300;

/// A sentence whose longest words have lost their middle.
fn shortened(sentence: &str) -> String {
    let short = |word: &str| {
        let length = word.chars().count();
        if length <= MAX_WORD {
            return word.to_owned();
        }
        let (begin, end) = (MAX_WORD / 2, length - MAX_WORD / 4);
        let part = |range: std::ops::Range<usize>| word.chars().skip(range.start).take(range.len()).collect::<String>();
        format!("{}… ({} characters) …{}", part(0..begin), length, part(end..length))
    };
    sentence.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

/// Prints one line about what went wrong.
pub(crate) fn error(sentence: &str) {
    let line = sentence.split('\n').map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    // What introduces a list needs no semicolon behind it.
    let line = line.replace(":; ", ": ");
    streams::complain(&format!("powerband: {}\n", shortened(&one_line(&line))));
}

/// Prints lines that belong to what went wrong.
pub(crate) fn complain_lines(lines: &str) {
    streams::complain(&format!("{}\n", clean::lines(lines, false)));
}

/// Prints a question, to be answered on the same line.
pub(crate) fn ask(question: &str) {
    streams::complain(&clean::lines(question, false));
}

/// Prints a note, which is no failure, with what to type next.
pub(crate) fn note(note: impl Into<Note>) {
    let note = note.into();
    let sentence = format!("{}{}", note.text, crate::hint::behind(note.hint.as_ref()));
    streams::complain(&format!("note: {}\n", one_line(&sentence)));
}

/// What clap has to say: help and version as they are, anything else in one line with where to look.
pub(crate) fn usage_error(refused: &clap::Error) -> u8 {
    use clap::error::ErrorKind;
    if matches!(refused.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        print(&refused.to_string());
        return end(Exit::Fine as u8);
    }
    // Without a verb there is nothing to be precise about: say what the command is for.
    if matches!(refused.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand) {
        let verb = crate::typed::as_text().skip(1).find(|word| crate::cli::has_verbs(word));
        // With options in front of it a verb says no more than alone.
        let alone = verb.and_then(|verb| help_of(&verb));
        let text = alone.map_or_else(crate::cli::first_screen, |alone| alone.to_string());
        streams::complain(&format!("{}\n", text.trim_end()));
        return Exit::Usage as u8;
    }
    let text = refused.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let what = text.split("\n\nUsage:").next().unwrap_or(text).split("\n\nFor more").next().unwrap_or(text);
    let command = crate::cli::command();
    let verb = crate::typed::as_text().skip(1).find(|word| command.find_subcommand(word).is_some());
    let next = match verb {
        Some(verb) => format!("`powerband {verb} --help` shows its options"),
        None => "`powerband --help` shows the verbs".to_owned(),
    };
    error(&format!("{what}; {next}"));
    Exit::Usage as u8
}

/// What clap says of a verb without its words.
fn help_of(verb: &str) -> Option<clap::Error> {
    crate::cli::with_environment(crate::cli::command()).try_get_matches_from(["powerband", verb]).err()
}

/// The words that were typed, with one more option: behind the verb's own, before what follows `--`.
pub(crate) fn again_with(option: &str) -> String {
    let mut words: Vec<String> = crate::typed::words().collect();
    let place = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(place, option.to_owned());
    if let Some(program) = words.first_mut() {
        // As it is found by its name: the path of a build is nobody's to type.
        *program = "powerband".to_owned();
    }
    powerband_record::quoted_line(&words)
}

/// Columns to print to: COLUMNS where it is set, else the terminal's, else 80; never fewer than 40.
pub(crate) fn width() -> usize {
    let asked = powerband_host::text_variable("COLUMNS").and_then(|text| text.parse().ok());
    asked.or_else(|| streams::terminals().columns()).unwrap_or(80).clamp(40, 200)
}

/// Whether to colour standard output: a terminal that is not `dumb`, and NO_COLOR not set.
pub(crate) fn colour() -> bool {
    let dumb = variable("TERM").is_some_and(|name| name == "dumb");
    streams::terminals().out() && !dumb && variable("NO_COLOR").is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn what_is_too_long_for_a_terminal_goes_on_below_its_last_column() {
        let text = "  calibrate    Measure the noise, and what can be detected\nshort\nnothing found here sets ondemand at all\n\
            powerband try governor=ondemand,performance --load counter";
        let lines = "  calibrate    Measure the\n               noise, and what\n               can be detected\nshort\n\
            nothing found here sets\n  ondemand at all\npowerband try governor=ondemand,performance --load counter";
        assert_eq!(folded(text, 30), lines);
    }
}
