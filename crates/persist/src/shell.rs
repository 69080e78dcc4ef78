//! What shell text sets: the commands in it that write a knob. Nothing is run; conditions are not evaluated, and what
//! only a `stop` would do is left out.
mod words;

use std::collections::BTreeMap;

use powerband_record::CpuList;
use powerband_sysfs::proc::{SYSCTL, sysctl};

use crate::keys::joined;
use crate::target::Target;
use words::{Part, commands};

/// Something a text sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Line, from 1.
    pub(crate) line: usize,
    /// The line.
    pub(crate) text: String,
    /// The value; `None` when it is in a variable that is set elsewhere.
    pub(crate) value: Option<String>,
    /// Names of the sites.
    pub(crate) sites: Vec<String>,
}

/// A variable of this many values, or a word that becomes as many, is cut short.
const MAX_WORDS: usize = 64;

/// A word that becomes longer than this is not one of ours, bytes.
const MAX: usize = 4096;

/// Shells in shells are followed so far.
const DEEPEST: usize = 4;

/// What stands for a variable nobody has set.
const UNKNOWN: &str = "*";

/// Everything a script sets of the target, in order.
pub(crate) fn claims(text: &str, target: &Target) -> Vec<Claim> {
    let mut reader = Reader { target, variables: BTreeMap::new(), claims: Vec::new(), depth: 0 };
    let mut stopping = None;
    for (number, line) in joined(text) {
        let trimmed = line.trim();
        if trimmed.starts_with('#') {
            continue;
        }
        if let Some(end) = stopping {
            let over = if end == "}" { line.trim_end() == end } else { trimmed.ends_with(end) };
            stopping = Some(end).filter(|_| !over);
            continue;
        }
        stopping = stops(trimmed);
        if stopping.is_none() {
            reader.line(number, &line);
        }
        // Only where it stands alone is it sure to be reached.
        if line.starts_with("exit") && matches!(trimmed, "exit" | "exit 0") {
            break;
        }
    }
    reader.claims
}

/// Whether a line begins what runs at the end; what that in turn ends with.
fn stops(line: &str) -> Option<&'static str> {
    let name = line.strip_prefix("function ").unwrap_or(line);
    if name.starts_with("stop") && name.contains("()") && !name.ends_with('}') {
        return Some("}");
    }
    let label = line.strip_suffix(')').unwrap_or_default();
    let labels = label.trim_start_matches('(').split('|').map(str::trim);
    let mut labels = labels.map(|label| matches!(label, "stop" | "force-stop" | "poststop")).peekable();
    (labels.peek().is_some() && labels.all(|is| is)).then_some(";;")
}

struct Reader<'t> {
    target: &'t Target,
    variables: BTreeMap<String, Vec<String>>,
    claims: Vec<Claim>,
    depth: usize,
}

impl Reader<'_> {
    fn line(&mut self, number: usize, line: &str) {
        // What a command before a pipe prints.
        let mut printed = None;
        for command in commands(line) {
            let words = self.expand(&command.words);
            let to = self.expand(&command.to);
            let before = printed.take();
            let prints = self.command(number, line, &words, &to, before);
            printed = prints.filter(|_| command.piped);
        }
    }

    fn expand(&self, words: &[Vec<Part>]) -> Vec<String> {
        let mut found = Vec::new();
        for word in words {
            let mut spellings = vec![String::new()];
            for part in word {
                let unknown = [UNKNOWN.to_owned()];
                let values = match part {
                    Part::Text(text) => std::slice::from_ref(text),
                    Part::Variable(name, default) => self.variables.get(name).map_or_else(
                        || default.as_ref().map_or(&unknown[..], std::slice::from_ref),
                        |values| &values[..],
                    ),
                };
                let longer = spellings.iter().flat_map(|before| values.iter().map(move |value| longer(before, value)));
                spellings = longer.take(MAX_WORDS).collect();
            }
            found.extend(spellings);
        }
        found
    }

    /// One command; answers what it prints, if that is known.
    fn command(
        &mut self,
        number: usize,
        line: &str,
        words: &[String],
        to: &[String],
        printed: Option<String>,
    ) -> Option<String> {
        let words = self.assign(words);
        let (program, arguments) = words.split_first()?;
        let name = program.rsplit('/').next().unwrap_or_default();
        let target = self.target;
        match name {
            "echo" | "printf" => {
                let value = printed_by(name, arguments);
                for path in to {
                    self.claim(number, line, Some(value.clone()), target.at_path(path));
                }
                return Some(value);
            }
            "tee" => {
                for path in arguments.iter().filter(|word| word.starts_with(['/', '*'])) {
                    self.claim(number, line, printed.clone(), target.at_path(path));
                }
            }
            "sh" | "bash" | "dash" | "ash" if self.depth < DEEPEST => {
                if let [option, inner, ..] = arguments
                    && option.ends_with('c')
                {
                    self.depth += 1;
                    self.line(number, inner);
                    self.depth -= 1;
                }
            }
            "sysctl" => {
                for (key, value) in arguments.iter().filter_map(|word| word.split_once('=')) {
                    self.claim(number, line, Some(value.to_owned()), target.at_path(&sysctl_path(key.trim())));
                }
            }
            "ethtool" => self.coalesce(number, line, arguments),
            "cpupower" | "cpufreq-set" | "set_cpu_governor" => {
                for (value, sites) in clock(name, arguments, target) {
                    self.claim(number, line, Some(value), sites);
                }
            }
            _ => {}
        }
        None
    }

    /// Takes variables that are set, loops and what stands before a command off its beginning.
    fn assign<'w>(&mut self, words: &'w [String]) -> &'w [String] {
        let mut words = words;
        while let Some((first, rest)) = words.split_first() {
            if let ("for", [name, word, values @ ..]) = (first.as_str(), rest)
                && word == "in"
            {
                let values: Vec<String> = values.iter().take(MAX_WORDS).cloned().collect();
                self.variables.insert(name.clone(), values);
                return &[];
            }
            let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if let Some((name, value)) = first.split_once('=').filter(|(name, _)| is_name(name)) {
                self.variables.insert(name.to_owned(), vec![value.to_owned()]);
            } else if !BEFORE.contains(&first.as_str()) {
                break;
            }
            words = rest;
        }
        words
    }

    fn coalesce(&mut self, number: usize, line: &str, arguments: &[String]) {
        let (Some(parameter), [option, device, pairs @ ..]) = (self.target.parameter(), arguments) else { return };
        if !matches!(option.as_str(), "-C" | "--coalesce") {
            return;
        }
        let Some(pair) = pairs.chunks(2).find(|pair| pair[0] == parameter) else { return };
        if let Some(value) = pair.get(1) {
            self.claim(number, line, Some(value.clone()), self.target.at_device(device));
        }
    }

    /// Something is set. A loop that sets the same at many sites says it once.
    fn claim(&mut self, line: usize, text: &str, value: Option<String>, sites: Vec<String>) {
        let value = value.filter(|value| !value.contains(UNKNOWN));
        match self.claims.last_mut() {
            _ if sites.is_empty() => {}
            Some(last) if (last.line, &last.value) == (line, &value) => {
                let more: Vec<String> = sites.into_iter().filter(|site| !last.sites.contains(site)).collect();
                last.sites.extend(more);
            }
            _ => self.claims.push(Claim { line, text: text.trim().to_owned(), value, sites }),
        }
    }
}

/// Words that may stand before a command.
const BEFORE: [&str; 15] =
    ["sudo", "exec", "do", "then", "else", "nohup", "time", "env", "if", "while", "!", "{", "local", "export", "eval"];

/// A word with a part more. One that grows without end stands for anything.
fn longer(before: &str, value: &str) -> String {
    if before.len() + value.len() > MAX { UNKNOWN.to_owned() } else { format!("{before}{value}") }
}

fn printed_by(name: &str, arguments: &[String]) -> String {
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !is_option_of_echo(word)).collect();
    match (name, &words[..]) {
        ("printf", [format, values @ ..]) if format.contains('%') => values.join(" "),
        ("printf", [format, ..]) => format.trim_end_matches("\\n").to_owned(),
        _ => words.join(" "),
    }
}

fn is_option_of_echo(word: &str) -> bool {
    matches!(word, "-n" | "-e" | "-ne" | "-en")
}

/// The path of a setting as sysctl(8) names it: the first separator says which of the two stands for a slash.
pub(crate) fn sysctl_path(key: &str) -> String {
    let key = key.trim_start_matches('-');
    let dotted = key.find(['.', '/']).is_some_and(|at| key[at..].starts_with('.'));
    if dotted { sysctl(key) } else { format!("{SYSCTL}{key}") }
}

/// What `cpupower frequency-set`, `cpufreq-set` and the old tuned's function set of the target.
pub(crate) fn clock(name: &str, arguments: &[String], target: &Target) -> Vec<(String, Vec<String>)> {
    let mut cpus = None;
    let (mut values, mut fixed) = (Vec::new(), false);
    let setting = name != "cpupower" || arguments.iter().any(|word| word == "frequency-set");
    if name == "set_cpu_governor" && target.is_governor() {
        return arguments.first().map(|value| (value.clone(), target.everywhere())).into_iter().collect();
    }
    let mut words = arguments.iter();
    while let Some(word) = words.next().filter(|_| setting) {
        let (option, attached) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None if word.len() > 2 && !word.starts_with("--") && word.starts_with('-') && word.is_char_boundary(2) => {
                (&word[..2], Some(word[2..].to_owned()))
            }
            None => (word.as_str(), None),
        };
        let knob = match option {
            "-g" | "--governor" => "cpufreq.governor",
            "-d" | "--min" => "cpufreq.min_freq",
            "-u" | "--max" => "cpufreq.max_freq",
            "-f" | "--freq" => "cpufreq.freq",
            "-c" | "--cpu" => "",
            _ => continue,
        };
        let Some(value) = attached.or_else(|| words.next().cloned()) else { break };
        fixed |= knob == "cpufreq.freq";
        match knob {
            "" => cpus = Some(value),
            _ if knob == target.name() => values.push(value),
            _ => {}
        }
    }
    if fixed && target.is_governor() && values.is_empty() {
        values.push("userspace".to_owned());
    }
    // cpufreq-set turns the first CPU unless it is told which.
    let cpus = cpus.or_else(|| (name == "cpufreq-set").then(|| "0".to_owned()));
    let sites = cpus.and_then(|list| list.parse::<CpuList>().ok());
    let sites = sites.map_or_else(|| target.everywhere(), |cpus| target.at_cpus(&cpus));
    values.into_iter().map(|value| (value, sites.clone())).collect()
}

/// The scripts a line may run: its words that are paths of programs.
pub(crate) fn scripts(line: &str) -> Vec<String> {
    let path = |word: &Vec<Part>| match &word[..] {
        [Part::Text(text)] if text.starts_with('/') => Some(text.clone()),
        _ => None,
    };
    let known = ["/sys/", "/proc/", "/dev/"];
    let mut found: Vec<String> =
        commands(line).iter().flat_map(|command| command.words.iter().filter_map(path)).collect();
    found.retain(|path| !known.iter().any(|folder| path.starts_with(folder)));
    found
}

#[cfg(test)]
mod tests;
