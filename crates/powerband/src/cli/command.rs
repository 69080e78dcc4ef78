//! The words of the command line about commands that are measured: which, how they run, what runs around them.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Which commands, and how they run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Commands {
    /// Measure this command line; give it several times to compare commands with each other
    #[arg(long = "command", value_name = "CMD", conflicts_with_all = ["load", "command"], help_heading = "Load")]
    pub(crate) commands: Vec<String>,
    /// Run command lines by this shell, e.g. 'bash --norc', or none to split them into words (default: sh)
    #[arg(
        short = 'S',
        long,
        value_name = "SHELL",
        conflicts_with = "load",
        help_heading = "Load",
        hide_short_help = true
    )]
    pub(crate) shell: Option<String>,
    /// Run command lines without a shell, as --shell=none
    #[arg(short = 'N', conflicts_with = "shell", help_heading = "Load", hide_short_help = true)]
    pub(crate) no_shell: bool,
    /// Run a command so often within each trial (default: as often as takes 100 ms; once with --prepare or --conclude)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "load", help_heading = "Load", hide_short_help = true)]
    pub(crate) repeat: Option<u32>,
    /// Read the command's standard input from this file (default: null, an empty input)
    #[arg(long, value_name = "FILE|null", conflicts_with = "load", help_heading = "Load", hide_short_help = true)]
    pub(crate) input: Option<String>,
    /// Send the command's output to a file, to null or to inherit, the terminal (default: captured in the journal)
    #[arg(long = "output", value_name = "WHERE", conflicts_with = "load", help_heading = "Load")]
    pub(crate) command_output: Option<String>,
    /// Show the command's output, as --output=inherit
    #[arg(long, conflicts_with_all = ["load", "command_output"], help_heading = "Load", hide_short_help = true)]
    pub(crate) show_output: bool,
}

impl Commands {
    /// Whether any of them is given.
    pub(crate) fn is_given(&self) -> bool {
        let texts = [&self.shell, &self.input, &self.command_output].iter().any(|text| text.is_some());
        texts || !self.commands.is_empty() || self.no_shell || self.repeat.is_some() || self.show_output
    }
}

/// Commands around trials.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Around {
    /// Run this command line before each trial, unmeasured, e.g. to drop caches
    #[arg(short, long, value_name = "CMD", help_heading = "Load")]
    pub(crate) prepare: Option<String>,
    /// Run this command line after each trial, unmeasured
    #[arg(long, value_name = "CMD", help_heading = "Load", hide_short_help = true)]
    pub(crate) conclude: Option<String>,
    /// Run this command line once before the first trial of each setting; once in all if it has no parameter
    #[arg(long, value_name = "CMD", help_heading = "Load", hide_short_help = true)]
    pub(crate) setup: Option<String>,
    /// Run this command line once after the last trial, also after Ctrl-C; once for each value of its parameters
    #[arg(long, value_name = "CMD", help_heading = "Load", hide_short_help = true)]
    pub(crate) cleanup: Option<String>,
}

/// How many trials.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Runs {
    /// Run exactly so many trials of each setting (default: until everything is decided)
    #[arg(short, long, value_name = "N", conflicts_with_all = ["blocks", "min_runs", "max_runs"], help_heading = "Statistics")]
    pub(crate) runs: Option<u32>,
    /// Run at least so many trials of each setting
    #[arg(short, long, value_name = "N", help_heading = "Statistics")]
    pub(crate) min_runs: Option<u32>,
    /// Run at most so many trials of each setting, as --blocks
    #[arg(short = 'M', long, value_name = "N", conflicts_with = "blocks", help_heading = "Statistics")]
    pub(crate) max_runs: Option<u32>,
}

/// Files that are written when the experiment has ended.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Exports {
    /// Write the result to this file as one Markdown table
    #[arg(long, value_name = "FILE", help_heading = super::COMMON)]
    pub(crate) export_markdown: Option<PathBuf>,
    /// Write the result and the values of each trial to this file as JSON
    #[arg(long, value_name = "FILE", help_heading = super::COMMON)]
    pub(crate) export_json: Option<PathBuf>,
    /// Write the result and the values of each trial to this file as CSV
    #[arg(long, value_name = "FILE", help_heading = super::COMMON)]
    pub(crate) export_csv: Option<PathBuf>,
    /// Overwrite these files
    #[arg(long, help_heading = super::COMMON)]
    pub(crate) force: bool,
}

impl Exports {
    /// The files that are written, each with its format and the option that names it.
    pub(crate) fn files(&self) -> impl Iterator<Item = (Format, &'static str, &PathBuf)> {
        let all = [
            (Format::Md, "--export-markdown FILE", &self.export_markdown),
            (Format::Json, "--export-json FILE", &self.export_json),
            (Format::Csv, "--export-csv FILE", &self.export_csv),
        ];
        all.into_iter().filter_map(|(format, option, file)| Some((format, option, file.as_ref()?)))
    }
}

/// Parameters of command lines.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Parameters {
    /// Compare these values of {NAME} in the command, e.g. -L cc gcc,clang '{cc} -O2 main.c'
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "V1,V2"], help_heading = "Load")]
    pub(crate) parameter_list: Vec<String>,
    /// Compare the numbers from MIN to MAX for {NAME} in the command, e.g. -P threads 1 8 'make -j {threads}'
    #[arg(short = 'P', long, num_args = 3, value_names = ["NAME", "MIN", "MAX"], allow_negative_numbers = true, help_heading = "Load")]
    pub(crate) parameter_scan: Vec<String>,
    /// Step of --parameter-scan (default: 1)
    #[arg(
        short = 'D',
        long,
        value_name = "STEP",
        requires = "parameter_scan",
        help_heading = "Load",
        hide_short_help = true
    )]
    pub(crate) parameter_step_size: Option<String>,
}

impl Parameters {
    /// Each as an axis of `try`.
    pub(crate) fn axes(&self) -> impl Iterator<Item = String> {
        let listed = self.parameter_list.chunks_exact(2);
        let listed = listed.map(|words| format!("{}{}={}", powerband_record::PARAMETER, words[0], words[1]));
        let step = self.parameter_step_size.as_deref().unwrap_or("1");
        let scanned = self.parameter_scan.chunks_exact(3);
        let name = powerband_record::PARAMETER;
        listed.chain(scanned.map(move |words| format!("{name}{}={}..{}:{step}", words[0], words[1], words[2])))
    }
}

/// The words with the statuses behind an `-i` joined to it: they are no command, and a lone `-i` has none.
pub(crate) fn with_statuses(words: &[OsString]) -> Vec<OsString> {
    let is_list = |word: &OsString| {
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b',');
        word.to_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()) && digits(text))
    };
    let mut joined: Vec<OsString> = Vec::new();
    let mut ended = false;
    for word in words {
        ended |= word == "--";
        match joined.last_mut() {
            Some(option) if !ended && (*option == "-i" || *option == "--ignore-failure") && is_list(word) => {
                option.push("=");
                option.push(word);
            }
            _ => joined.push(word.clone()),
        }
    }
    joined
}
