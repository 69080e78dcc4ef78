//! The table of known tools, `tools.toml`: the shape of its rows, and which row a command line belongs to.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use powerband_record::Better;
use regex_lite::Regex;
use serde::Deserialize;
use serde_json_path::JsonPath;

use super::options::Options;
use crate::pick::Take;

static TABLE: LazyLock<Table> = LazyLock::new(|| toml::from_str(include_str!("../tools.toml")).unwrap_or_default());

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Load tools that are not read: without a note their run time would pass for what they measure.
    pub(super) unread: Vec<String>,
    #[serde(rename = "tool")]
    pub(super) tools: Vec<Tool>,
}

/// A tool: how it is recognised, what is read of its output, and when that is no measurement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    /// Its name in a plan and after `--reads`.
    pub(super) name: String,
    /// What it is called in sentences; the first of its programs if absent.
    title: Option<String>,
    /// Beginnings of command lines: a program, and words right after it.
    #[serde(default)]
    pub(super) programs: Vec<String>,
    /// Whether it asks a server, which does the work.
    #[serde(default)]
    pub(super) asks: bool,
    /// Whether `busybox` and `toybox` have it as well.
    #[serde(default)]
    in_boxes: bool,
    /// Reader of tools that need more than this table has.
    #[serde(default)]
    pub(super) reader: Reader,
    /// Short options that take a value.
    #[serde(default)]
    pub(super) valued: String,
    /// What a call must have to be read.
    #[serde(default)]
    pub(super) needs: Vec<Condition>,
    /// How to call it so that it can be read; without one, other calls are not of this tool.
    pub(super) hint: Option<String>,
    /// Environment of its runs, which keeps its numbers and words as they are read here.
    #[serde(default = "untranslated")]
    pub(super) env: BTreeMap<String, String>,
    /// The same as `needs`, for the documentation of a reader in code.
    pub(super) documented_needs: Option<String>,
    /// Metrics as the documentation names them, if they are not in `metrics`.
    pub(super) documented: Option<String>,
    /// Numbers that are read for the checks only.
    #[serde(default)]
    pub(super) figures: Vec<Figure>,
    /// Numbers that become metrics, in the order of a report. Rows of one name are alternatives: the first that matches counts.
    #[serde(default)]
    pub(super) metrics: Vec<Figure>,
    /// What makes a run void.
    #[serde(default)]
    pub(super) voids: Vec<Sign>,
    /// What is reported with the values.
    #[serde(default)]
    pub(super) notes: Vec<Sign>,
    /// What was asked for and must be reached.
    #[serde(default)]
    pub(super) asked: Vec<Asked>,
    /// Figures of which 0 makes a run void.
    #[serde(default)]
    pub(super) positive: Vec<String>,
    /// The figure that says how long the tool ran, s.
    pub(super) ran_s: Option<String>,
    /// The figure that says how much was observed.
    pub(super) observations: Option<String>,
    /// A rate that must be a count over the time that the tool ran.
    pub(super) agree: Option<Agree>,
    /// Metrics that must not fall from one to the next.
    #[serde(default)]
    pub(super) ordered: Vec<String>,
    /// What `lost_percent` is computed of.
    pub(super) lost: Option<Lost>,
}

/// A number in the output.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// Name, its unit last.
    pub(super) name: String,
    /// Pattern with a group around the number.
    pub(super) regex: Option<Pattern>,
    /// JSON path of the number.
    pub(super) json: Option<JsonPath>,
    /// Which of several numbers counts; several are an error if absent.
    #[serde(default)]
    pub(super) take: Take,
    /// Unit of the number if the output has none next to it; the one in its name if absent.
    pub(super) unit: Option<String>,
    /// Calls whose output has it.
    #[serde(default)]
    pub(super) when: Vec<Condition>,
    /// Which way is better, if its name does not say that.
    pub(super) better: Option<Better>,
    /// Calls in which it decides; never if absent.
    pub(super) judged: Option<Vec<Condition>>,
    /// Why it may be missing; without a reason, a figure for checks or one that decides must be there.
    pub(super) missing: Option<String>,
    /// How many observations it takes.
    #[serde(default)]
    pub(super) least: f64,
}

/// Something in the output that a sentence is about, with `{1}` for what the group or the path found.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sign {
    pub(super) regex: Option<Pattern>,
    pub(super) json: Option<JsonPath>,
    pub(super) why: String,
}

/// What an option asks for and a figure must reach.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    pub(super) figure: String,
    /// Names of the option, without dashes.
    pub(super) option: Vec<String>,
    /// How the option's value is written.
    #[serde(rename = "as")]
    pub(super) form: Form,
    /// Value without the option.
    pub(super) default: Option<f64>,
    /// Calls of which it does not hold.
    pub(super) unless: Option<Condition>,
    /// What the tool did: "sent".
    pub(super) did: String,
    /// What it is counted in: "messages/s".
    pub(super) of: String,
    /// What to do about it.
    #[serde(default)]
    pub(super) hint: String,
    /// Whether the figure is a count and the option a rate.
    #[serde(default)]
    pub(super) per_s: bool,
    /// Whether the figure is of what came, and `lost_percent` must be added to it.
    #[serde(default)]
    pub(super) of_received: bool,
}

/// How an option's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// A length of time in s, or with `s`, `m`, `h`, `d`.
    Seconds,
    /// A number, which must be reached in full.
    Count,
    /// A number with `k`, `M` or `G`.
    Rate,
    /// kbit/s, or with `k`, `m`, `g`; an `i` before it and a burst after it are left out. In Mbit/s.
    KbitRate,
}

/// A rate that must be a count over time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Agree {
    pub(super) rate: String,
    pub(super) count: String,
    /// Units of the rate in one of the count.
    #[serde(default = "one")]
    pub(super) times: f64,
}

/// Figures of what was sent, and of what came or did not come.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lost {
    pub(super) sent: String,
    pub(super) received: Option<String>,
    pub(super) lost: Option<String>,
    /// What is sent: "packets".
    pub(super) of: String,
    #[serde(default)]
    pub(super) hint: String,
}

/// Readers in code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reader {
    /// None: the row says it all.
    #[default]
    Row,
    /// Streams of events, two directions, and versions that name fewer sums.
    Iperf3,
    /// Percentiles from the histograms of all threads.
    Cyclictest,
    /// Metrics that the call names.
    PerfStat,
    /// No figures, but words of its own among those of the program that it starts.
    Mpirun,
}

/// A regular expression.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(pub(super) Regex);

impl Pattern {
    /// Characters that every text has which the pattern matches, as a person looks for them in the output: the word before the
    /// number, or else the longest run of them.
    pub(super) fn words(&self) -> String {
        let (mut runs, mut run, mut before) = (Vec::<String>::new(), String::new(), None);
        let mut chars = self.0.as_str().chars().peekable();
        let mut ends = |run: &mut String| {
            runs.push(std::mem::take(run).trim().to_owned());
            runs.len()
        };
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek().is_some_and(|next| !next.is_alphanumeric()) => run.extend(chars.next()),
                '\\' => {
                    chars.next();
                    ends(&mut run);
                }
                '[' => {
                    // A bracket right after the opening one is one of the characters.
                    chars.by_ref().skip(1).take_while(|c| *c != ']').for_each(drop);
                    ends(&mut run);
                }
                '(' if chars.peek() == Some(&'?') => {
                    chars.by_ref().take_while(|c| !matches!(c, ':' | ')')).for_each(drop);
                    ends(&mut run);
                }
                // What stands before may be absent.
                '*' | '?' | '{' => {
                    run.pop();
                    ends(&mut run);
                    if c == '{' {
                        chars.by_ref().take_while(|c| *c != '}').for_each(drop);
                    }
                }
                '(' => {
                    let ended = ends(&mut run);
                    before.get_or_insert(ended);
                }
                '.' | '+' | ')' | '|' | '^' | '$' => drop(ends(&mut run)),
                c => run.push(c),
            }
        }
        ends(&mut run);
        let is_word = |run: &&String| run.chars().filter(|c| c.is_alphabetic()).count() >= 3;
        let nearest = runs.iter().take(before.unwrap_or_default()).rev().find(is_word);
        nearest.or_else(|| runs.iter().max_by_key(|run| run.chars().count())).cloned().unwrap_or_default()
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Regex::new(&text).map(Pattern).map_err(|error| error.to_string())
    }
}

/// What a call has: `-u|--udp`, `--output-format=json`, a word such as `memory`; with `!` in front, what it does not have. A `*`
/// stands for anything.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Condition(String);

impl Condition {
    pub(super) fn holds(&self, words: &[String], options: &Options) -> bool {
        let (wanted, text) = match self.0.strip_prefix('!') {
            Some(text) => (false, text),
            None => (true, self.0.as_str()),
        };
        let has = |alternative: &str| match alternative.strip_prefix('-') {
            None => options.operands.iter().any(|operand| fits(alternative, operand)),
            Some(dashed) => {
                let (name, value) = dashed.trim_start_matches('-').split_once('=').unwrap_or((dashed, ""));
                let name = name.trim_start_matches('-');
                let given = if value.is_empty() {
                    options.has(&[name])
                } else {
                    options.values(&[name]).last().is_some_and(|given| fits(value, given))
                };
                given || words.iter().any(|word| word.starts_with('-') && fits(alternative, word))
            }
        };
        text.split('|').any(has) == wanted
    }

    /// Whether one of the two holds of every call.
    pub(super) fn is_reverse_of(&self, other: &Condition) -> bool {
        self.0.strip_prefix('!') == Some(&other.0) || other.0.strip_prefix('!') == Some(&self.0)
    }

    /// As the documentation writes it.
    pub(super) fn text(&self) -> String {
        let (without, text) = self.0.strip_prefix('!').map_or(("", self.0.as_str()), |text| ("without ", text));
        let names: Vec<String> = text.split('|').map(|name| format!("`{name}`")).collect();
        format!("{without}{}", names.join(" or "))
    }
}

/// Whether all of some conditions hold.
pub(super) fn all_hold(conditions: &[Condition], words: &[String], options: &Options) -> bool {
    conditions.iter().all(|condition| condition.holds(words, options))
}

/// Whether a text fits a pattern, in which `*` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    (0..=rest.len()).filter_map(|at| rest.get(at..)).any(|rest| fits(after, rest))
}

fn untranslated() -> BTreeMap<String, String> {
    BTreeMap::from([("LC_ALL".to_owned(), "C".to_owned())])
}

fn one() -> f64 {
    1.0
}

impl Tool {
    pub(super) fn title(&self) -> &str {
        self.title.as_deref().or_else(|| self.programs.first().map(String::as_str)).unwrap_or(&self.name)
    }

    /// Whether it prints JSON, which shows itself where it ends.
    pub(super) fn prints_json(&self) -> bool {
        self.reader == Reader::Iperf3 || self.metrics.iter().any(|figure| figure.json.is_some())
    }

    /// The words after the tool's name, if words begin with it.
    pub(super) fn after<'w>(&self, words: &'w [String]) -> Option<&'w [String]> {
        let (program, rest) = words.split_first()?;
        let (program, rest) = match basename(program) {
            "busybox" | "toybox" if self.in_boxes => rest.split_first()?,
            _ => (program, rest),
        };
        self.programs.iter().find_map(|name| {
            let (first, verbs) = name.split_once(' ').map_or((name.as_str(), ""), |(first, verbs)| (first, verbs));
            let mut rest = rest;
            for verb in verbs.split_whitespace() {
                let (word, further) = rest.split_first()?;
                rest = (word == verb).then_some(further)?;
            }
            (basename(program) == first).then_some(rest)
        })
    }
}

/// All rows.
pub(super) fn table() -> &'static Table {
    &TABLE
}

/// A row by the tool's name.
pub(super) fn by_name(name: &str) -> Option<&'static Tool> {
    table().tools.iter().find(|tool| tool.name == name)
}

/// A row by the tool's name or one of its programs.
pub(super) fn called(name: &str) -> Option<&'static Tool> {
    by_name(name).or_else(|| table().tools.iter().find(|tool| tool.programs.iter().any(|program| program == name)))
}

/// The tool a command begins with, and the words after its name.
pub(super) fn recognised(argv: &[String]) -> Option<(&'static Tool, &[String])> {
    table().tools.iter().find_map(|tool| Some((tool, tool.after(argv)?)))
}

pub(super) fn basename(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
